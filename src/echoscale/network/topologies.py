"""Which neurons of a reservoir hear which others: the kinds of matrices that a description may name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from echoscale import _checks
from echoscale.network.matrix import Matrix

RANDOM_TOPOLOGIES = ("normal", "uniform")
TOPOLOGIES = (*RANDOM_TOPOLOGIES, "delay_line", "ring", "concentric")


@dataclass(frozen=True)
class Concentric:
    """Concentric rings: one-way cycles of (nearly) equal size, and two-way jumps between neighbouring rings.

    Unit i of a ring is joined both ways with unit i of the next ring (after Bacciu and Bongiorno 2018, the paper's
    reference). All ring weights are 1 and all jumps `jump`; the whole is then normalised to unit spectral radius.
    """

    rings: int = 2
    jump: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "rings", _checks.integer(self.rings, "rings", minimum=1))
        object.__setattr__(self, "jump", _checks.number(self.jump, "jump"))


Topology = str | Concentric | Matrix


def check_topology(value: Any, units: int) -> Topology:
    if isinstance(value, str):
        _checks.choice(value, TOPOLOGIES, "topology")
        value = Concentric() if value == "concentric" else value
    elif not isinstance(value, Concentric):
        value = Matrix.of(value, "topology")
        if value.shape != (units, units):
            raise ValueError(f"a topology matrix must have shape (units, units) = ({units}, {units}), got {value.shape}.")
    if isinstance(value, Concentric) and value.rings > units:
        raise ValueError(f"rings={value.rings} is above the {units} units; use at most {units}.")
    return value  # type: ignore[no-any-return]
