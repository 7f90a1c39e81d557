"""Axes of a sweep: their names and values, and the network, task and hyper-parameters at every point of the grid.

leak_rate, spectral_radius, input_scaling, bias_scaling   the same for all reservoirs; "leak_rate[0]": for the first alone
feedback_scaling, leak_spread                             likewise, if the network has output feedback or spread leak rates
coupling                                                  strength of all couplings; "coupling[0]": of the first alone
units, connections, topology, normalise,                  fields of all reservoirs; "units[0]": of the first alone
residual, activation, input_connections                   likewise
coupling_delay                                            field of the network
network                                                   mapping of names to networks
task.<keyword>                                            keyword of the task, such as "task.order"
seed                                                      random seed of weights and series; or weights_seed, task_seed
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from echoscale._internal import checks
from echoscale.engine.hyper import ABSENT, Hyper
from echoscale.network import Network

LEAVES = Hyper._fields
SEEDS = ("seed", "weights_seed", "task_seed")
RESERVOIR_FIELDS = ("units", "connections", "topology", "normalise", "residual", "activation", "input_connections")


@dataclass(frozen=True)
class Axis:
    """One dimension: its name, its labels (numbers or strings) and their meaning.

    kind   "leaf" (on lanes), "field", "network", "task" or "seed"
    what   name of the leaf, field or keyword
    place  index of the reservoir or coupling; None for all
    """

    name: str
    labels: tuple[Any, ...]
    values: tuple[Any, ...]
    kind: str
    what: str
    place: int | None = None


def parse(axes: Mapping[str, Any]) -> list[Axis]:
    """Axes by name, in the order given."""
    if not axes:
        raise ValueError("a sweep needs at least one axis.")
    return [_axis(name, values) for name, values in axes.items()]


def _axis(name: str, values: object) -> Axis:
    labels: tuple[Any, ...]
    if isinstance(values, Mapping):
        labels, content = tuple(map(str, values)), tuple(_plain(each) for each in values.values())
    else:
        several = isinstance(values, Iterable) and not isinstance(values, str) and np.ndim(values) != 0  # type: ignore[arg-type]
        content = tuple(_plain(each) for each in (values if isinstance(values, Iterable) and several else [values]))
        labels = tuple(each if type(each) in (bool, int, float, str) else repr(each) for each in content)
    if not content:
        raise ValueError(f"the axis {name!r} is empty: give it at least one value.")
    if len(set(labels)) < len(labels):
        raise ValueError(f"the axis {name!r} holds a value twice: {labels}.")
    what, place = _place(name)
    if what in LEAVES:
        return Axis(name, labels, tuple(checks.leaf(what)(each, what) for each in content), "leaf", what, place)
    if name in SEEDS:
        return Axis(name, labels, tuple(checks.integer(each, name) for each in content), "seed", name)
    if name == "network":
        if not all(isinstance(each, Network) for each in content):
            raise TypeError("the axis 'network' is a mapping of names to networks, as in {'single': single(100), ...}.")
        return Axis(name, labels, content, "network", name)
    if what in RESERVOIR_FIELDS or name == "coupling_delay":
        return Axis(name, labels, content, "field", what, place)
    if name.startswith("task.") and name != "task.":
        return Axis(name, labels, content, "task", name.removeprefix("task."))
    raise ValueError(
        f"unknown axis {name!r}: use one of {', '.join((*LEAVES, *RESERVOIR_FIELDS))} (with [k] for one reservoir or "
        f"coupling), coupling_delay, network, task.<keyword>, {', '.join(SEEDS)}."
    )


def _place(name: str) -> tuple[str, int | None]:
    found = re.fullmatch(r"(\w+)\[(\d+)\]", name)
    return (found[1], int(found[2])) if found else (name, None)


def _plain(value: object) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def outer_points(axes: Sequence[Axis]) -> list[dict[str, Any]]:
    """All combinations of values that cannot share weights or series, by name."""
    outer = [axis for axis in axes if axis.kind != "leaf"]
    names = [axis.name for axis in outer]
    return [dict(zip(names, values, strict=True)) for values in product(*(axis.values for axis in outer))]


def network_at(network: Network | None, axes: Sequence[Axis], values: Mapping[str, Any]) -> Network:
    """The network of an outer point."""
    made: Network | None = values.get("network", network)
    if made is None:
        raise ValueError("a sweep needs a network: give one, or an axis 'network'.")
    # All at once, since some fields are checked against each other; fields of one reservoir come last.
    fields = sorted((axis for axis in axes if axis.kind == "field"), key=lambda axis: axis.place is not None)
    changed: list[dict[str, Any]] = [{} for _ in made.reservoirs]
    delay = made.coupling_delay
    for axis in fields:
        if axis.what == "coupling_delay":
            delay = values[axis.name]
            continue
        _check_place(axis, len(changed), "reservoirs")
        for k in range(len(changed)) if axis.place is None else (axis.place,):
            changed[k][axis.what] = values[axis.name]
    members = [replace(each, **new) for each, new in zip(made.reservoirs, changed, strict=True)]
    return replace(made, reservoirs=members, coupling_delay=delay) if fields else made


def lanes_of(axes: Sequence[Axis], network: Network) -> dict[str, list[float]]:
    """The values of all leaves on the lanes of their product, by name of the axis; empty if no leaf varies."""
    leaves = [axis for axis in axes if axis.kind == "leaf"]
    for axis in leaves:
        coupling = axis.what == "coupling"
        if axis.what in ABSENT and not getattr(Hyper.of(network), axis.what):
            raise ValueError(f"the axis {axis.name!r} varies nothing: {ABSENT[axis.what]}")
        count = len(network.couplings if coupling else network.reservoirs)
        _check_place(axis, count, "couplings" if coupling else "reservoirs")
    points = list(product(*(axis.values for axis in leaves)))
    return {axis.name: [point[j] for point in points] for j, axis in enumerate(leaves)}


def _check_place(axis: Axis, count: int, what: str) -> None:
    if axis.place is not None and axis.place >= count:
        raise ValueError(f"the axis {axis.name!r} names number {axis.place}, but the network has {count} {what}.")
    if not count:
        raise ValueError(f"the axis {axis.name!r} varies nothing: the network has no {what}.")
