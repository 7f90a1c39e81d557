"""Which numbers of a network are learned: `"leak_rate"` names those of all reservoirs, `"leak_rate[0]"` that of the first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from echoscale.hyper import Hyper
from echoscale.network import Network


class Parameter(NamedTuple):
    """One leaf of `Hyper`: that of reservoir (or, for "coupling", of coupling) number `place`."""

    name: str
    place: int

    def __str__(self) -> str:
        return f"{self.name}[{self.place}]"

    def of(self, hyper: Hyper) -> Any:
        """Its value."""
        return getattr(hyper, self.name)[self.place]


def chosen(parameters: str | Parameter | Sequence[str | Parameter], hyper: Hyper) -> tuple[Parameter, ...]:
    """The leaves that these names mean, in the order given, none of them twice."""
    names = [parameters] if isinstance(parameters, str | Parameter) else list(parameters)
    found: dict[Parameter, None] = {}
    for name in names:
        found |= dict.fromkeys(_matching(name, hyper))
    if not names:
        raise ValueError("parameters is empty: name at least one, for example 'leak_rate'.")
    if not found:
        raise ValueError(f"there is nothing to learn in {', '.join(map(str, names))}: the network has no couplings.")
    return tuple(found)


def _matching(name: str | Parameter, hyper: Hyper) -> list[Parameter]:
    match = re.fullmatch(r"(\w+)(?:\[(\d+)\])?", str(name))
    known = match.group(1) if match else None
    if not match or known not in hyper._fields:
        raise ValueError(
            f"unknown parameter {str(name)!r}: a network has {', '.join(hyper._fields)}; leak_rate[0] is that of its first "
            "reservoir alone."
        )
    count = len(getattr(hyper, known))
    if match.group(2) is None:
        return [Parameter(known, place) for place in range(count)]
    place = int(match.group(2))
    if place >= count:
        what = "couplings" if known == "coupling" else "reservoirs"
        raise ValueError(f"there is no {name}: the network has {count} {what}, counted from 0.")
    return [Parameter(known, place)]


def put(hyper: Hyper, learned: Sequence[Parameter], values: Sequence[Any]) -> Hyper:
    """The numbers with other values for the leaves that are learned. Nothing is checked: this runs inside compiled programs."""
    leaves = {name: list(getattr(hyper, name)) for name in hyper._fields}
    for parameter, value in zip(learned, values, strict=True):
        leaves[parameter.name][parameter.place] = value
    return Hyper(**{name: tuple(each) for name, each in leaves.items()})


def into_network(network: Network, learned: Sequence[Parameter], values: Sequence[float]) -> Network:
    """The description with the learned numbers in it."""
    reservoirs, couplings = list(network.reservoirs), list(network.couplings)
    for parameter, value in zip(learned, values, strict=True):
        if parameter.name == "coupling":
            couplings[parameter.place] = replace(couplings[parameter.place], strength=float(value))
        else:
            changed: dict[str, Any] = {parameter.name: float(value)}
            reservoirs[parameter.place] = replace(reservoirs[parameter.place], **changed)
    return replace(network, reservoirs=tuple(reservoirs), couplings=tuple(couplings))
