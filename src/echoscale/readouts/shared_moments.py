"""Moment matrices of lanes that share runs: the products of two runs are summed once, whatever number of lanes has both.

    M = sum r r^T   with rows   r = (1, z - shift),   z = (states of every reservoir, inputs if direct, targets)

block by block: of a reservoir with itself for each of its runs, of two reservoirs for each pair of runs that occurs, and of all
with the columns that every lane has, (1, inputs, targets).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Floats
from echoscale.engine.shared_runs import SharedRuns
from echoscale.readouts.moments import SHIFT_ROWS

# Runs that are multiplied together: as float64 they should stay in the cache.
SLAB_BYTES = 1 << 21


class SharedMoments:
    """Moments of one plan and one series, for consecutive segments of time.

    extra  (T, E) inputs and targets
    edges  (S + 1,) segment s is steps edges[s] to edges[s + 1]
    """

    def __init__(self, plan: SharedRuns, sizes: tuple[int, ...], extra: Floats, edges: npt.NDArray[np.int64]) -> None:
        self.plan, self.sizes, self.extra, self.edges = plan, sizes, extra, edges
        segments, runs = len(edges) - 1, plan.runs
        self.shift: list[Floats] | None = None  # the means of the first rows that count
        self.extra_shift = extra[edges[0] : edges[0] + SHIFT_ROWS].mean(axis=0)
        width = 1 + extra.shape[1]
        self.common = np.zeros((segments, width, width))
        self.mixed = [np.zeros((segments, width, r, n)) for r, n in zip(runs, sizes, strict=True)]
        self.own = [np.zeros((segments, r, n, n)) for r, n in zip(runs, sizes, strict=True)]
        # Of reservoirs i < k: for every run of i, the products with its partners in k, (segments, n_i, partners, n_k).
        self.partners = {(i, k): _partners(plan, i, k) for k in range(len(sizes)) for i in range(k)}
        self.cross = {
            (i, k): [np.zeros((segments, sizes[i], high - low, sizes[k])) for low, high in ranges]
            for (i, k), ranges in self.partners.items()
        }

    def add(self, start: int, states: tuple[npt.NDArray[Any], ...]) -> None:
        """Count the states (steps, runs_k, n_k) of every reservoir, which begin at time step `start`."""
        stops = np.clip(self.edges - start, 0, len(states[0]))
        for segment, (low, high) in enumerate(pairwise(stops)):
            if low < high:
                if self.shift is None:
                    self.shift = [each[low : min(high, low + SHIFT_ROWS)].mean(axis=0, dtype=np.float64) for each in states]
                part = [each[low:high] for each in states]
                self._add(segment, part, self.extra[start + low : start + high], self.shift)

    def _add(self, segment: int, states: list[npt.NDArray[Any]], extra: Floats, shift: list[Floats]) -> None:
        common = np.concatenate([np.ones((len(extra), 1)), extra - self.extra_shift], axis=1)
        self.common[segment] += common.T @ common
        whole: list[Floats] = []
        for k, chunk in enumerate(states):
            steps, runs, size = chunk.shape
            # Earlier reservoirs are kept whole for their products with later ones, which have more runs.
            kept = np.empty((steps, runs, size)) if k + 1 < len(states) else None
            together = max(SLAB_BYTES // (8 * steps * size), 1)
            for first in range(0, runs, together):
                slab = slice(first, min(first + together, runs))
                rows = np.empty((steps, slab.stop - first, size)) if kept is None else kept[:, slab]
                rows[:] = chunk[:, slab]
                rows -= shift[k][slab]
                self._add_slab(segment, k, slab, rows, common, whole)
            if kept is not None:
                whole.append(kept)

    def _add_slab(self, segment: int, k: int, slab: slice, rows: Floats, common: Floats, whole: list[Floats]) -> None:
        steps, runs, size = rows.shape
        flat = rows.reshape(steps, -1)
        self.mixed[k][segment, :, slab] += (common.T @ flat).reshape(-1, runs, size)
        # NumPy sees a product with itself and computes only half of it (syrk).
        self.own[k][segment, slab] += np.matmul(rows.transpose(1, 2, 0), rows.transpose(1, 0, 2))
        for i, earlier in enumerate(whole):
            for run, (low, high) in enumerate(self.partners[i, k]):
                begin, end = max(low, slab.start), min(high, slab.stop)
                if begin < end:
                    part = flat[:, (begin - slab.start) * size : (end - slab.start) * size]
                    product = (earlier[:, run].T @ part).reshape(-1, end - begin, size)
                    self.cross[i, k][run][segment, :, begin - low : end - low] += product

    def statistics(self, segment: int) -> tuple[Floats, Floats, Floats]:
        """Count (h,), mean (h, P) and centred scatter (h, P, P) of the plan's lanes, columns in the order of z."""
        lanes, units = len(self.plan.lanes), sum(self.sizes)
        moments = np.empty((lanes, 1 + units + self.extra.shape[1], 1 + units + self.extra.shape[1]))
        # The columns (1, states, extra): those that all lanes have stand first and last.
        outer = np.r_[0, 1 + units : moments.shape[1]]
        moments[:, outer[:, None], outer] = self.common[segment]
        means = np.empty((lanes, moments.shape[1] - 1))
        means[:, units:] = self.extra_shift
        ends = np.cumsum((1, *self.sizes))
        for k, run_of in enumerate(self.plan.run_of):
            own = slice(ends[k], ends[k + 1])
            moments[:, own, own] = self.own[k][segment, run_of]
            mixed = self.mixed[k][segment][:, run_of].transpose(1, 0, 2)  # (h, 1 + E, n)
            moments[:, outer, own] = mixed
            moments[:, own, outer] = mixed.transpose(0, 2, 1)
            if self.shift is not None:
                means[:, ends[k] - 1 : ends[k + 1] - 1] = self.shift[k][run_of]
            for i in range(k):
                other = slice(ends[i], ends[i + 1])
                block = self._crossed(segment, i, k)
                moments[:, other, own] = block
                moments[:, own, other] = block.transpose(0, 2, 1)
        count, sums = moments[:, 0, 0].copy(), moments[:, 0, 1:]
        if not count.all():  # a segment without steps
            return count, np.zeros_like(means), np.zeros_like(moments[:, 1:, 1:])
        scatter = moments[:, 1:, 1:] - sums[:, :, None] * sums[:, None, :] / count[:, None, None]
        return count, means + sums / count[:, None], scatter

    def _crossed(self, segment: int, i: int, k: int) -> Floats:
        """The products of reservoirs i and k for every lane, (h, n_i, n_k)."""
        block = np.empty((len(self.plan.lanes), self.sizes[i], self.sizes[k]))
        for run, (low, _) in enumerate(self.partners[i, k]):
            lanes = np.flatnonzero(self.plan.run_of[i] == run)
            block[lanes] = self.cross[i, k][run][segment][:, self.plan.run_of[k][lanes] - low].transpose(1, 0, 2)
        return block


def _partners(plan: SharedRuns, i: int, k: int) -> list[tuple[int, int]]:
    """For every run of reservoir i the consecutive runs of reservoir k that a lane has together with it."""
    return [
        (int(partners.min()), int(partners.max()) + 1)
        for partners in (plan.run_of[k][plan.run_of[i] == run] for run in range(plan.runs[i]))
    ]
