"""Moment matrices of states and targets, summed in float64 chunk by chunk: with BLAS on the host, with JAX on a GPU.

    M = sum r r^T   with rows   r = (1, z - shift),   z = (states, inputs if direct, targets)

The shift is the mean of the first rows, near the mean of all rows, so that centring at the end loses no digits. Rows whose
targets have a gap (NaN) do not count.

If lanes share runs (`SharedMoments`), the products of two runs are summed once for all lanes that have both. There are sums of
a reservoir with itself for each of its runs, of two reservoirs for each pair of runs that occurs, and of all runs with the
columns that every lane has, (1, inputs, targets).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Floats
from echoscale.engine.devices import to_device
from echoscale.engine.shared_runs import SharedRuns

# Number of lanes or rows that are multiplied together: enough to hide the cost of a call, few enough to stay in the cache.
SLAB_LANES, SLAB_ROWS = 16, 1024
SHIFT_ROWS = 64
# Number of runs that are multiplied together: in float64 they should stay in the cache.
SLAB_BYTES = 1 << 21


class Moments:
    """Moments of one block of lanes, (segments, groups, 1 + P, 1 + P): one group per hyper lane, with all its series."""

    def __init__(
        self,
        lanes: npt.NDArray[np.int64],
        n_series: int,
        units: int,
        extra: Sequence[Floats],
        edges: Sequence[npt.NDArray[np.int64]],
    ) -> None:
        which, self.series = np.divmod(lanes, n_series)
        self.hyper_lanes, self.group = np.unique(which, return_inverse=True)
        self.shared = n_series == 1
        self.units, self.edges = units, edges
        # 1 for rows that count and 0 for gaps, (T_b, 1) of every series; None if all count.
        self.known: list[Floats] | None = None
        self.extra = extra
        if any(np.isnan(each).any() for each in extra):
            self.known = [np.asarray(~np.isnan(each).any(axis=1, keepdims=True), np.float64) for each in extra]
            self.extra = [np.nan_to_num(each) for each in extra]
        self.width = 1 + units + extra[0].shape[1]
        # Per group; unknown (NaN) before the first rows that count.
        self.shift: Any = np.full((len(self.hyper_lanes), self.width - 1), np.nan)
        self.sums: Any = np.zeros((len(edges[0]) - 1, len(self.hyper_lanes), self.width, self.width))
        self.apart = len(self.hyper_lanes) == len(self.group)  # every lane has a matrix of its own
        # Kept from chunk to chunk, so that a sweep does not allocate memory at every product.
        self.rows = np.empty((0, self.width))
        self.product = np.empty((0, self.width, self.width))

    def add(self, start: int, states: Any) -> None:
        """Count the states (steps, lanes, N) that begin at time step `start`."""
        raise NotImplementedError

    def centred(self) -> tuple[Floats, Floats, Floats]:
        """Counts (segments, groups), means (segments, groups, P) and centred scatters (segments, groups, P, P)."""
        moments = np.asarray(self.sums)
        count, sums = moments[..., 0, 0].copy(), moments[..., 0, 1:]
        known = np.maximum(count, 1)[..., None]  # a group without a step that counts has sums of 0 and an unknown shift
        scatter = sums[..., :, None] * sums[..., None, :]
        scatter /= known[..., None]
        np.subtract(moments[..., 1:, 1:], scatter, out=scatter)
        return count, np.where(count[..., None] > 0, self.shift, 0) + sums / known, scatter

    def _of_lanes(self, parts: Sequence[Floats], lanes: slice, begin: int, end: int) -> Floats:
        """Columns of the lanes' series, (steps, lanes, E); (steps, 1, E) where all share one. Zero past a series' end."""
        if self.shared and end <= len(parts[0]):
            return parts[0][begin:end, None]
        which = self.series[:1] if self.shared else self.series[lanes]
        rows = np.zeros((end - begin, len(which), parts[0].shape[1]))
        for place, b in enumerate(which):
            part = parts[b][begin:end]
            rows[: len(part), place] = part
        return rows

    def _set_shifts(self, start: int, states: Any) -> None:
        """The mean of the first counted rows of each group, which is near the mean of all its rows."""
        for lane, (group, b) in enumerate(zip(self.group, self.series, strict=True)):
            low = max(int(self.edges[b][0]) - start, 0)
            high = min(int(self.edges[b][-1]) - start, len(states), low + SHIFT_ROWS)
            if np.isnan(self.shift[group, 0]) and low < high:
                rows = np.asarray(states[low:high, lane])
                means = rows.mean(axis=0, dtype=np.float64), self.extra[b][start + low : start + high].mean(axis=0)
                self.shift[group] = np.concatenate(means)


class HostMoments(Moments):
    """Moments on the host, a few lanes at a time: a matrix per lane (a sweep over one series), or one for all (a batch)."""

    @cached_property
    def alike(self) -> bool:
        """Whether the segments of all series have the same edges."""
        return all(np.array_equal(self.edges[b], self.edges[self.series[0]]) for b in self.series)

    def add(self, start: int, states: npt.NDArray[Any]) -> None:
        """See `Moments.add`."""
        if np.isnan(self.shift[:, 0]).any():
            self._set_shifts(start, states)
        together = 1
        if self.alike and self.apart:
            together = SLAB_LANES
        elif self.alike and len(self.hyper_lanes) == 1:
            together = max(SLAB_ROWS // len(states), 1)
        for first in range(0, states.shape[1], together):
            slab = slice(first, first + together)
            stops = np.clip(self.edges[self.series[first]] - start, 0, len(states))
            for segment, (low, high) in enumerate(pairwise(stops)):
                if low < high:
                    steps = start + low, start + high
                    counts = None if self.known is None else self._of_lanes(self.known, slab, *steps)
                    self._add(segment, slab, states[low:high, slab], self._of_lanes(self.extra, slab, *steps), counts)

    def _add(self, segment: int, slab: slice, states: npt.NDArray[Any], extra: Floats, counts: Floats | None) -> None:
        groups = self.group[slab]
        steps, lanes = states.shape[:2]
        if len(self.rows) < steps * lanes:
            self.rows = np.empty((steps * lanes, self.width))
        if len(self.product) < lanes:
            self.product = np.empty((lanes, self.width, self.width))
        # Step by step, as the scan wrote the states: both sides of the copy are then read and written in order.
        rows = self.rows[: steps * lanes].reshape(steps, lanes, self.width)
        rows[:, :, 0] = 1
        rows[:, :, 1 : self.units + 1] = states
        rows[:, :, self.units + 1 :] = extra
        rows.reshape(steps, -1)[:] -= np.pad(self.shift[groups], ((0, 0), (1, 0))).ravel()
        if counts is not None:
            rows *= counts
        rows = rows.transpose(1, 0, 2) if self.apart else rows.reshape(1, -1, self.width)
        # NumPy sees a product with itself and computes only half of it (syrk).
        product = np.matmul(rows.transpose(0, 2, 1), rows, out=self.product[: len(rows)])
        if self.apart:
            place: Any = slice(groups[0], groups[-1] + 1) if (np.diff(groups) == 1).all() else groups
            self.sums[segment, place] += product
        else:
            self.sums[segment, groups[0]] += product[0]


class DeviceMoments(Moments):
    """Moments on the device, all lanes at once; steps that do not count are masked, so that shapes stay the same."""

    def add(self, start: int, states: jax.Array) -> None:
        """See `Moments.add`."""
        if np.isnan(self.shift[:, 0]).any():
            self._set_shifts(start, states)
        with jax.enable_x64(True):
            if isinstance(self.sums, np.ndarray):
                self.sums = [to_device(each, np.float64) for each in self.sums]
            steps = start + np.arange(len(states))[:, None]
            extra = self._of_lanes(self.extra, slice(None), start, start + len(states))
            edges = np.stack([self.edges[b] for b in self.series])
            for segment in range(len(self.sums)):
                live = (steps >= edges[:, segment]) & (steps < edges[:, segment + 1])
                if self.known is not None:
                    live = live & (self._of_lanes(self.known, slice(None), start, start + len(states))[..., 0] > 0)
                if live.any():
                    self.sums[segment] = _add_on_device(
                        self.sums[segment], np.nan_to_num(self.shift), states, extra, live, self.group, len(self.hyper_lanes)
                    )

    def centred(self) -> tuple[Floats, Floats, Floats]:
        """See `Moments.centred`."""
        if isinstance(self.sums, list):  # fetched once, when all is summed
            self.sums = np.stack([np.asarray(each) for each in self.sums])
        return super().centred()


@partial(jax.jit, static_argnames="groups")
def _add_on_device(
    sums: jax.Array, shift: jax.Array, states: jax.Array, extra: jax.Array, live: jax.Array, group: jax.Array, groups: int
) -> jax.Array:
    shape = states.shape[:2]
    parts = [states.astype(jnp.float64), jnp.broadcast_to(extra, (*shape, extra.shape[-1]))]
    centred = jnp.concatenate(parts, axis=2) - shift[group]
    rows = jnp.concatenate([jnp.ones((*shape, 1)), centred], axis=2) * live[..., None]
    if groups == 1:
        rows = rows.reshape(-1, 1, rows.shape[-1])
        return sums + jnp.einsum("tbp,tbq->bpq", rows, rows, precision="highest")
    return sums + jax.ops.segment_sum(jnp.einsum("tbp,tbq->bpq", rows, rows, precision="highest"), group, groups)


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
            # Earlier reservoirs are kept for their products with later reservoirs, which have more runs.
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
        # The columns (1, states, extra): the first and the last are shared by all lanes.
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
