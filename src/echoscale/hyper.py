"""The tunable numbers of a built network, one leaf per reservoir or coupling, each a scalar or one value per lane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale import _checks
from echoscale.network import Network

Leaf = npt.NDArray[np.float64]


class Hyper(NamedTuple):
    """leak_rate_k, spectral_radius_k, input_scaling_k, bias_scaling_k for reservoir k; coupling_j for coupling j.

    Every leaf is an array of shape () or (lanes,): lanes are networks that share one set of weights and run together
    in one scan. A `Hyper` is a plain tuple of tuples, so JAX differentiates and maps through it as it is.
    """

    leak_rate: tuple[Any, ...]
    spectral_radius: tuple[Any, ...]
    input_scaling: tuple[Any, ...]
    bias_scaling: tuple[Any, ...]
    coupling: tuple[Any, ...]

    @classmethod
    def of(cls, network: Network) -> Hyper:
        """The numbers that the network was described with."""

        def column(name: str) -> tuple[Leaf, ...]:
            return tuple(np.asarray(getattr(reservoir, name), np.float64) for reservoir in network.reservoirs)

        return cls(
            column("leak_rate"),
            column("spectral_radius"),
            column("input_scaling"),
            column("bias_scaling"),
            tuple(np.asarray(coupling.strength, np.float64) for coupling in network.couplings),
        )

    @property
    def lanes(self) -> int | None:
        """The number of lanes, or None where every leaf is a scalar."""
        counts = {np.size(leaf) for leaves in self for leaf in leaves if np.ndim(leaf)}
        if len(counts) > 1:
            raise ValueError(f"all leaves of a Hyper must have the same number of lanes, got {sorted(counts)}.")
        return counts.pop() if counts else None

    def replace(self, **leaves: Any) -> Hyper:
        """A copy with other values, checked.

        `replace(leak_rate=[a1, a2])` gives one entry per reservoir (`coupling`: one per coupling), each a number or an array
        with one value per lane; `replace(leak_rate=0.3)` sets all of them.
        """
        unknown = sorted(set(leaves) - set(self._fields))
        if unknown:
            raise ValueError(f"Hyper has no {', '.join(map(repr, unknown))}; it knows {', '.join(self._fields)}.")
        changed = self._replace(**{name: _leaves(name, value, len(getattr(self, name))) for name, value in leaves.items()})
        _ = changed.lanes  # raises where the numbers of lanes differ
        return changed


def _leaves(name: str, value: Any, count: int) -> tuple[Leaf, ...]:
    if isinstance(value, Sequence):
        if len(value) != count:
            what = "couplings" if name == "coupling" else "reservoirs"
            raise ValueError(f"{name} has {len(value)} entries for {count} {what}: give {count}, or one value for all.")
        return tuple(_leaf(name, each) for each in value)
    return (_leaf(name, value),) * count


def _leaf(name: str, value: Any) -> Leaf:
    leaf = np.asarray(value, dtype=np.float64)
    if leaf.ndim > 1 or leaf.size == 0:
        raise ValueError(f"an entry of {name} must be a number or one value per lane, got shape {leaf.shape}.")
    check = {"leak_rate": _checks.leak_rate, "coupling": _checks.number}.get(name, _checks.non_negative)
    # The extremes stand for all the others; NaN is the extreme of whatever holds it.
    check(float(leaf.min()), name)
    check(float(leaf.max()), name)
    return leaf
