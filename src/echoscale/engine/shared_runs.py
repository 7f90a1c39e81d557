"""Runs that a grid of hyper-parameters shares: a reservoir does not depend on later reservoirs.

In a hierarchy the first level depends on its own numbers alone. A 20 x 20 grid of leak rates therefore holds 20 different runs
of the first level, not 400; two parallel reservoirs have 20 each. A plan says which lanes share a run, reservoir by
reservoir, and orders the lanes such that lanes with a shared run are neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Indices
from echoscale.engine.hyper import Hyper
from echoscale.network import Network

# Sharing pays if it leaves at most this share of the neurons to run.
WORTH_IT = 0.6


class SharedRuns(NamedTuple):
    """Lanes that share runs.

    lanes   (h,) the hyper lanes of this plan, ordered
    run_of  per reservoir, (h,): the number of its distinct run for each of these lanes
    hyper   the numbers of the distinct runs: leaves of reservoir k (runs_k,), of a coupling (runs_target,), or (1,) for all

    The runs of a coupling's source stand for consecutive, equally long groups of runs of its target. The partners of a run in
    another reservoir are consecutive too.
    """

    lanes: Indices
    run_of: tuple[Indices, ...]
    hyper: Hyper

    @property
    def runs(self) -> tuple[int, ...]:
        """Number of distinct runs of every reservoir."""
        return tuple(int(each.max()) + 1 for each in self.run_of)


def plans(network: Network, hyper: Hyper, parts: int) -> list[SharedRuns] | None:
    """Up to `parts` plans that cover all lanes, for as many threads; None if sharing does not pay, or if groups are unequal."""
    lanes = hyper.lanes or 1
    if lanes < 2:
        return None
    identity = _identities(network, hyper, lanes)
    order = np.lexsort(tuple(reversed(identity)))
    pieces = _cut(identity[0][order], parts)
    made = [_plan(network, hyper, order[piece], [each[order[piece]] for each in identity]) for piece in pieces]
    sound = [each for each in made if each is not None]
    if len(sound) < len(made):
        return None
    sizes = [each.units for each in network.reservoirs]
    shared = sum(size * runs for each in sound for size, runs in zip(sizes, each.runs, strict=True))
    return sound if shared <= WORTH_IT * lanes * sum(sizes) else None


def _identities(network: Network, hyper: Hyper, lanes: int) -> list[Indices]:
    """A number for every reservoir and lane, (H,) each: lanes with the same number have the same run of this reservoir."""
    found = []
    for k in range(len(network.reservoirs)):
        heard = _ancestors(network, k)
        leaves = [getattr(hyper, name)[i] for name in _of_reservoirs(hyper) for i in sorted(heard)]
        leaves += [hyper.coupling[j] for j, each in enumerate(network.couplings) if each.target in heard]
        rows = np.stack([np.broadcast_to(np.asarray(leaf, np.float64), (lanes,)) for leaf in leaves], axis=1)
        found.append(np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64))
    return found


def _of_reservoirs(hyper: Hyper) -> list[str]:
    """The names of the leaves that belong to reservoirs."""
    return [name for name in hyper._fields if name != "coupling" and getattr(hyper, name)]


def _ancestors(network: Network, k: int) -> set[int]:
    """The reservoir itself and all reservoirs whose states reach it."""
    heard, new = {k}, {k}
    while new:
        new = {each.source for each in network.couplings if each.target in new} - heard
        heard |= new
    return heard


def _cut(first: Indices, parts: int) -> list[slice]:
    """Consecutive lanes, cut between runs of the first reservoir if it has enough runs, and anywhere if it has one."""
    starts = np.flatnonzero(np.diff(first, prepend=first[0] - 1))
    if len(starts) == 1:
        starts = np.arange(len(first))
    edges = [int(part[0]) for part in np.array_split(starts, min(parts, len(starts)))] + [len(first)]
    return [slice(begin, end) for begin, end in pairwise(edges)]


def _plan(network: Network, hyper: Hyper, lanes: Indices, identity: Sequence[Indices]) -> SharedRuns | None:
    run_of = tuple(_by_appearance(each) for each in identity)
    if not all(_consecutive(earlier, later) for k, later in enumerate(run_of) for earlier in run_of[:k]):
        return None
    if not all(_grouped(run_of[each.source], run_of[each.target]) for each in network.couplings):
        return None
    first_lane = [lanes[np.unique(each, return_index=True)[1]] for each in run_of]
    numbers = {
        name: tuple(_taken(leaf, first_lane[k]) for k, leaf in enumerate(getattr(hyper, name)))
        for name in _of_reservoirs(hyper)
    }
    coupling = tuple(
        _taken(leaf, first_lane[each.target]) for leaf, each in zip(hyper.coupling, network.couplings, strict=True)
    )
    return SharedRuns(lanes, run_of, Hyper(**numbers, coupling=coupling))


def _by_appearance(identity: Indices) -> Indices:
    """The same partition of the lanes, numbered in order of first appearance."""
    _, first, inverse = np.unique(identity, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse.reshape(-1)]


def _consecutive(before: Indices, after: Indices) -> bool:
    """Whether the partners of every run of `before` are consecutive runs of `after`."""
    pairs = np.unique(np.stack([before, after], axis=1), axis=0)
    steps = np.diff(pairs, axis=0)
    return bool((steps[steps[:, 0] == 0, 1] == 1).all())


def _grouped(source: Indices, target: Indices) -> bool:
    """Whether every run of the source drives the same number of consecutive runs of the target."""
    driver = source[np.unique(target, return_index=True)[1]]
    runs = int(source.max()) + 1
    return len(driver) % runs == 0 and bool((driver == np.arange(len(driver)) // (len(driver) // runs)).all())


def _taken(leaf: npt.ArrayLike, lanes: Indices) -> npt.NDArray[np.float64]:
    values = np.asarray(leaf, np.float64)
    return values[lanes] if values.ndim else values.reshape(1)
