"""Descriptions as plain dictionaries, lists, strings and numbers, fit for JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from echoscale import _checks
from echoscale.network.matrix import Matrix
from echoscale.network.topologies import Concentric

if TYPE_CHECKING:
    from echoscale.network.description import Coupling, Reservoir

    Member = TypeVar("Member", Reservoir, Coupling)

# Fields that may be a matrix, beside the topology.
MATRICES = ("residual", "input_weights")


def to_dict(member: Reservoir | Coupling) -> dict[str, Any]:
    """The fields of a reservoir or coupling as plain values."""
    plain = {field.name: getattr(member, field.name) for field in fields(member)}
    topology = plain["topology"]
    if isinstance(topology, Matrix):
        plain["topology"] = {"matrix": topology.to_dict()}
    elif isinstance(topology, Concentric):
        plain["topology"] = {"concentric": {"rings": topology.rings, "jump": topology.jump}}
    for name in MATRICES:
        if isinstance(plain.get(name), Matrix):
            plain[name] = {"matrix": plain[name].to_dict()}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()}


def from_dict(kind: type[Member], plain: Mapping[str, Any]) -> Member:
    """The inverse of `to_dict`."""
    check_known(plain, [field.name for field in fields(kind)], kind.__name__)
    values = dict(plain)
    topology = values.get("topology", "normal")
    if isinstance(topology, Mapping):
        if len(topology) != 1:
            raise ValueError(f"a topology is of one kind, got {sorted(topology)}.")
        [(name, content)] = topology.items()
        _checks.choice(name, ("matrix", "concentric"), "the kind of topology")
        if name == "concentric":
            check_known(content, [field.name for field in fields(Concentric)], "Concentric")
        values["topology"] = Matrix.from_dict(content) if name == "matrix" else Concentric(**content)
    for name in MATRICES:
        if isinstance(values.get(name), Mapping):
            check_known(values[name], ["matrix"], name)
            values[name] = Matrix.from_dict(values[name].get("matrix", {}))
    return kind(**values)


def check_known(plain: Mapping[str, Any], names: Sequence[str], what: str) -> None:
    """Raise where a name is not one of `names`."""
    unknown = sorted(set(plain) - set(names))
    if unknown:
        raise ValueError(f"{what} has no {', '.join(map(repr, unknown))}; it knows {', '.join(names)}.")
