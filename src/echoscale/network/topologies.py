"""Topologies: the kinds of recurrent matrices that a description may name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from echoscale._internal import checks
from echoscale.network.matrix import Matrix

if TYPE_CHECKING:
    import numpy.typing as npt

    from echoscale.network.matrix import SparseLike

# Name -> file in `echoscale.engine.topologies`: a new topology is a file there and a line here.
FILES = {
    "normal": "random_links",
    "uniform": "random_links",
    "delay_line": "delay_line",
    "ring": "ring",
    "concentric": "concentric",
    "diagonal": "diagonal",
}
TOPOLOGIES = tuple(FILES)
# Topologies that take `connections`, and that may couple reservoirs.
RANDOM_TOPOLOGIES = tuple(name for name, home in FILES.items() if home == "random_links")


@dataclass(frozen=True)
class Concentric:
    """Topology of concentric rings: one-way cycles of (nearly) equal size, and two-way links between neighbouring rings.

    Unit i of a ring is linked in both directions with unit i of the next ring (after Bacciu and Bongiorno 2018, the paper's
    reference). Ring weights are 1, and links between rings have the weight `jump`. The matrix is then normalised to unit
    spectral radius.

    Parameters
    ----------
    rings : int, default 2
        Number of rings, at most the number of units.
    jump : float, default 0.5
        Weight of the links between rings, before normalisation.

    Examples
    --------
    >>> import echoscale as es
    >>> es.single(12, topology=es.Concentric(rings=3, jump=0.2)).build(1).drawn.recurrent[0].nnz
    28
    """

    rings: int = 2
    jump: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "rings", checks.integer(self.rings, "rings", minimum=1))
        object.__setattr__(self, "jump", checks.number(self.jump, "jump"))


Topology: TypeAlias = str | Concentric | Matrix
if TYPE_CHECKING:
    # Types that users may pass.
    TopologyLike: TypeAlias = Topology | npt.ArrayLike | SparseLike


def check_topology(value: TopologyLike, units: int) -> Topology:
    """Checked topology of a description: a name, `Concentric`, or a `Matrix` (units, units)."""
    if isinstance(value, str):
        name: str = checks.choice(value, tuple(FILES), "topology")
        kept: Topology = Concentric() if name == "concentric" else name
    elif isinstance(value, Concentric):
        kept = value
    else:
        kept = Matrix.of(value, "topology")
        if kept.shape != (units, units):
            raise ValueError(f"a topology matrix must have shape (units, units) = ({units}, {units}), got {kept.shape}.")
    if isinstance(kept, Concentric) and kept.rings > units:
        raise ValueError(f"rings={kept.rings} is above the {units} units; use at most {units}.")
    return kept


def name_of(topology: Topology) -> str:
    """ "ring", "concentric", "matrix", ..."""
    return topology if isinstance(topology, str) else type(topology).__name__.lower()
