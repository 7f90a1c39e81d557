"""Runs of the network at many points of the search at once: statistics of states and targets, and of the tangents' projections.

Lanes are (point, series) pairs, point-major. They are cut into blocks that run on one thread each; nothing grows with the
length of the series, except for the validation rows that a loss asks to keep.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jax
import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Floats, Indices
from echoscale.data.series import Series
from echoscale.engine import devices, feed, lanes
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Hyper
from echoscale.engine.traces import reaches
from echoscale.learning.tuning import gradient
from echoscale.learning.tuning.gradient import TangentCarry
from echoscale.learning.tuning.space import Space
from echoscale.learning.tuning.split import known_steps
from echoscale.readouts import splits
from echoscale.readouts.columns import Columns
from echoscale.readouts.moments import HostMoments
from echoscale.readouts.penalties import RELATIVE, fold_errors, least
from echoscale.readouts.ridge import Readout
from echoscale.readouts.splits import Split, Splits
from echoscale.readouts.statistics import Statistics, beside_states, gather, split_statistics, with_noise

BLOCK_LANES = 128
CHUNK_BYTES, LONGEST_CHUNK = 8 << 20, 512
ROUNDING = 1e-13  # relative to the mean squared singular value of the states: below it a Gram matrix holds rounding alone
STATISTICS_BYTES = 256 << 20  # of the points that are judged together


class Tangents(NamedTuple):
    """At S points, for P learned numbers, K folds and O outputs, of columns (states, v_p, inputs if direct, targets).

    train, held_out  statistics of every fold, (S, ...) each
    cross            the sums c_p over the training steps of every fold, (S, features, P, K O); zero for inputs
    growth           the sums of (x - mean) . dx/dtheta_p over the training steps of every fold, (S, P, K)
    rows             the states of all held-out steps and v_p of their folds, (S, rows, N + P O), if they were asked for
    """

    train: list[Statistics]
    held_out: list[Statistics]
    cross: Floats
    growth: Floats
    rows: Floats | None


@dataclass(frozen=True, eq=False)
class Runs:
    """The data and what is fixed.

    edges    of the segments of every series; folds: which of them train and which are held out
    penalty  the ridge penalty where it is not learned
    noise    standard deviation of noise on the states
    rows     that ridge penalties belong to: a fold with fewer has a smaller one in proportion; None: all have it as it is
    floor    the least penalty, relative to the mean squared singular value of the states
    """

    esn: ESN
    space: Space
    series: Series
    targets: Series
    edges: Sequence[Indices]
    penalty: float
    direct: bool = False
    folds: tuple[Split, ...] = (Split((0,), (1,)),)
    noise: float = 0.0
    rows: float | None = None
    floor: float = 0.0

    @cached_property
    def outputs(self) -> int:
        """O."""
        return self.targets.features

    @cached_property
    def extra(self) -> list[Floats]:
        """What the statistics hold besides states, (T_b, E) of every series."""
        return beside_states(self.series, self.targets, Columns(int(self.direct)))

    @cached_property
    def features(self) -> int:
        """What the readout sees: states, and inputs if direct."""
        return self.esn.units + (self.series.features if self.direct else 0)

    @cached_property
    def steps(self) -> int:
        """Steps of one network over all series."""
        return int(self.series.lengths.sum())

    def hyper(self, z: Floats) -> Hyper:
        """Every leaf with one value per point."""
        return self.space.hyper(self.esn.hyper, z).map(lambda leaf: np.broadcast_to(np.asarray(leaf, float), (len(z),)))

    @cached_property
    def train_rows(self) -> Floats:
        """Rows that the readout of every fold is fitted to, (K,)."""
        steps = known_steps(self.edges, self.targets)
        return np.array([steps[list(each.train)].sum() for each in self.folds], np.float64)

    @cached_property
    def judged(self) -> list[list[tuple[int, int, int]]]:
        """(fold, first step, end) of what is held out, in order of time, of every series."""
        order = sorted(range(len(self.folds)), key=lambda k: self.folds[k].held_out)
        held_out = [Splits(list(self.edges)).held_out(self.folds[k]) for k in order]
        return [[(k, *spans[b]) for k, spans in zip(order, held_out, strict=True)] for b in range(len(self.edges))]

    @cached_property
    def fold_of_rows(self) -> Indices:
        """The fold of every held-out row, series after series, (rows,)."""
        return np.concatenate([np.full(end - begin, k) for each in self.judged for k, begin, end in each])

    def held_out(self, values: Sequence[Floats] | Floats) -> Floats:
        """The held-out rows of (T_b, C), series after series."""
        return np.concatenate([values[b][begin:end] for b, each in enumerate(self.judged) for _, begin, end in each])

    def learned_penalties(self, z: Floats) -> Floats:
        """The part of the penalties that follows the learned or given one, (S, K): in proportion to the rows of the fold."""
        share = 1.0 if self.rows is None else self.train_rows / self.rows
        return np.asarray(self.space.penalties(z, self.penalty)[:, None] * (share * np.ones(len(self.folds))))

    def penalties(self, z: Floats) -> Floats:
        """Penalties of every fold at points z, (S, K). Noise of variance s^2 on n rows adds n s^2 I to the Gram matrix."""
        return self.learned_penalties(z) + self.noise**2 * self.train_rows

    @property
    def path(self) -> Floats:
        """The penalties to choose from, relative to the states; none is below the floor."""
        return above(self.floor)

    def parts(self, hyper: Hyper) -> list[Statistics]:
        """Statistics of features and targets in every segment, (S, ...) each with hyper-parameters of S lanes."""
        columns = Columns(int(self.direct))
        return split_statistics(self.esn, self.series, self.targets, self.edges, columns=columns, hyper=hyper)[0]

    def statistics(self, hyper: Hyper) -> tuple[Statistics, Statistics]:
        """Statistics of training and of held-out data, (S, K, ...), with hyper-parameters of S lanes."""
        return self.folded(self.parts(hyper))

    def folded(self, parts: Sequence[Statistics]) -> tuple[Statistics, Statistics]:
        """Statistics of training and of held-out data for every fold, (S, K, ...), from statistics of segments."""
        return stacked(self.trains(parts)), stacked(self.held(parts))

    def best_penalties(self, hyper: Hyper) -> Floats:
        """The penalty of `path` with the least squared error of the folds, per step, (S,)."""
        found, path = [], self.path
        for batch in self.batches(hyper.lanes or 1):
            train, held_out = self.statistics(hyper.map(operator.itemgetter(batch)))
            pairs = list(zip(unstacked(with_noise(train, self.noise**2)), unstacked(held_out), strict=True))
            best = least(fold_errors(pairs, path).mean(axis=-1))
            found.append(path[best.place] * unit_per_step(train))
        return np.concatenate(found)

    def above_floor(self, train: Statistics, penalties: Floats) -> Floats:
        """Penalties (S, K), not below the floor."""
        return np.maximum(penalties, self.floor * train.unit) if self.floor else penalties

    def batches(self, count: int, tangents: int = 0) -> list[slice]:
        """Points whose statistics, and the statistics of their tangents, are held in memory together."""
        columns = self.features + self.outputs * (1 + tangents * len(self.folds))
        each = (len(self.edges[0]) + 2 * len(self.folds)) * columns**2 * 8
        size = max(STATISTICS_BYTES // each, 1)
        return [slice(begin, begin + size) for begin in range(0, count, size)]

    def trains(self, parts: Sequence[Statistics]) -> list[Statistics]:
        """The statistics of the segments that train, for every fold."""
        return [each for each in splits.complements(parts, self.folds) if each is not None]

    def held(self, parts: Sequence[Statistics]) -> list[Statistics]:
        """The statistics of the segments that are held out, for every fold."""
        return [splits.total([parts[s] for s in each.held_out]) for each in self.folds]

    def held_out_outputs(self, hyper: Hyper, readout: Readout) -> Floats:
        """Outputs of every fold's readout at the steps that it has not seen, (S, rows, O), series after series."""
        found = np.empty((len(readout.coef), len(self.fold_of_rows), self.outputs))
        starts = self._starts()

        def collect(point: int, b: int, steps: slice, states: Floats) -> None:
            for (k, first, end), at in zip(self.judged[b], starts[b], strict=True):
                low, high = max(first, steps.start), min(end, steps.stop)
                if low < high:
                    kept = [np.asarray(states[low - steps.start : high - steps.start], np.float64)]
                    if self.direct:
                        kept.append(np.asarray(self.series.values[b][low:high], np.float64))
                    out = np.concatenate(kept, axis=1) @ readout.coef[point, k].T + readout.intercept[point, k]
                    found[point, at + low - first : at + high - first] = out

        self.esn.run_chunks(self.series, feed.one_by_one(self.series, collect), hyper=hyper)
        return found

    def _starts(self) -> list[list[int]]:
        """The first row of every piece of `judged`."""
        sizes = [[end - begin for _, begin, end in each] for each in self.judged]
        ends = np.cumsum([size for each in sizes for size in each]).tolist()
        firsts = iter([0, *ends])
        return [[next(firsts) for _ in each] for each in sizes]

    def tangents(self, z: Floats, readout: Readout, keep_rows: bool = False) -> Tangents:
        """One more run, now that the readouts are known: how their outputs and their residuals move with the numbers."""
        esn, series, learned, dtype = self.esn, self.series, self.space.learned, np.dtype(self.esn.dtype)
        folds = len(self.folds)
        many, wide = len(z) * series.count, folds * self.outputs
        moved = len(learned) * wide
        parts = max(-(-many // BLOCK_LANES), min(devices.cores(), many // 8), 1)
        blocks = np.array_split(np.arange(many), parts)
        width, longest = lanes.lane_count(len(blocks[0])), int(series.lengths.max())
        steps = lanes.chunk_steps(longest, width * (esn.units + moved) * dtype.itemsize, CHUNK_BYTES, LONGEST_CHUNK)
        fixed, hyper, slices = esn.weights(width), self.hyper(z), esn.network.slices
        coef_of_all = readout.coef.reshape(len(z), wide, self.features)
        coefs = np.split(coef_of_all, np.cumsum(esn.sizes), axis=2)[: len(esn.sizes) + self.direct]
        moments = [HostMoments(block, series.count, esn.units + moved, self.extra, self.edges) for block in blocks]
        cross = np.zeros((many, self.features, len(learned), wide + folds))
        squares = np.zeros((many, len(learned), folds))
        kept: list[list[Floats]] = [[np.empty((0, esn.units + moved // folds))] for _ in range(many)]
        # Of a held-out row only the tangents of its own fold are kept.
        own = esn.units + np.arange(moved).reshape(len(learned), folds, self.outputs)
        columns = [np.concatenate([np.arange(esn.units), own[:, k].ravel()]) for k in range(folds)]

        @np.errstate(over="ignore", invalid="ignore")
        def run(place: int, stop: threading.Event) -> None:
            block = blocks[place]
            padded = np.pad(block, (0, width - len(block)), mode="edge")  # idle lanes repeat the last one
            point, which = np.divmod(padded, series.count)
            numbers = hyper.on(point, dtype)
            coef = tuple(np.asarray(part[point].transpose(2, 1, 0), dtype) for part in coefs)
            intercept = np.asarray(readout.intercept.reshape(len(z), wide)[point].T, dtype)

            def advance(carry: TangentCarry, begin: int) -> tuple[TangentCarry, jax.Array]:
                u, y = (feed.inputs(each, which, begin, steps, dtype) for each in (series, self.targets))
                counts = self._counts(which, begin, steps, dtype) * ~np.isnan(y).any(axis=1, keepdims=True)
                y = np.nan_to_num(y)  # steps without a target train nothing
                made: tuple[TangentCarry, jax.Array] = gradient.scan(
                    fixed, numbers, coef, intercept, carry, u, y, counts, learned
                )
                return made

            def hand_on(begin: int, rows: jax.Array) -> None:
                states = np.asarray(rows)[:, : len(block)]
                moments[place].add(begin, states)
                for lane, b in enumerate(which[: len(block)] if keep_rows else ()):
                    for k, first, last in self.judged[b]:
                        low, high = np.clip([first - begin, last - begin], 0, len(states))
                        kept[block[lane]].append(np.array(states[low:high, lane][:, columns[k]]))

            start = gradient.start(fixed, learned, width, wide, folds)
            end = feed.over_chunks(advance, start, hand_on, longest, steps, stop)
            for p, (parameter, sums) in enumerate(zip(learned, end.cross, strict=True)):
                squares[block[0] : block[-1] + 1, p] = np.asarray(end.squares[p])[:, : len(block)].T
                for k, each in zip(reaches(fixed, parameter), sums, strict=True):
                    cross[block[0] : block[-1] + 1, slices[k], p] = np.asarray(each)[..., : len(block)].transpose(2, 0, 1)

        feed.over_blocks(run, range(parts), min(devices.cores(), parts), dtype, esn.device)
        parts_of_time = gather(moments, len(z), self.features)
        by_lane = [np.concatenate(each) for each in kept]
        rows = [np.concatenate(by_lane[lane : lane + series.count]) for lane in range(0, many, series.count)]
        cross, squares = (each.reshape(len(z), series.count, *each.shape[1:]).sum(axis=1) for each in (cross, squares))
        held, trains = self.held(parts_of_time), self.trains(parts_of_time)
        means = np.stack([each.mean[:, : esn.units] for each in trains], axis=-1)  # (S, N, K)
        growth = squares - np.einsum("snk,snpk->spk", means, cross[:, : esn.units, :, wide:])
        return Tangents(trains, held, cross[..., :wide], growth, np.stack(rows) if keep_rows else None)

    def _counts(self, which: Indices, begin: int, steps: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """(steps, K, lanes or 1): 1 where a step of these series trains fold k."""
        ends = np.array([self.edges[b] for b in (which[:1] if self.series.count == 1 else which)])
        at = begin + np.arange(steps)[:, None, None]
        inside = (at >= ends[:, :-1]) & (at < ends[:, 1:])  # (steps, lanes, segments)
        trains = [inside[..., list(each.train)].any(axis=-1) for each in self.folds]
        return np.stack(trains, axis=1).astype(dtype)


def above(floor: float) -> Floats:
    """`RELATIVE` from the floor up, the floor itself among them."""
    return np.array([floor, *RELATIVE[floor * (1 + 1e-9) < RELATIVE]]) if floor > RELATIVE[0] else RELATIVE


def stacked(parts: Sequence[Statistics]) -> Statistics:
    """Statistics (S, ...) of every fold as one, (S, K, ...)."""
    return Statistics(
        np.stack([part.count for part in parts], axis=1),
        np.stack([part.mean for part in parts], axis=1),
        np.stack([part.scatter for part in parts], axis=1),
        parts[0].features,
    )


def unstacked(statistics: Statistics) -> list[Statistics]:
    """(S, K, ...) as a list of (S, ...)."""
    return [
        Statistics(statistics.count[:, k], statistics.mean[:, k], statistics.scatter[:, k], statistics.features)
        for k in range(statistics.count.shape[1])
    ]


def unit_per_step(train: Statistics) -> Floats:
    """The mean square of the states about their means, averaged over the folds, (S,)."""
    return np.asarray((train.unit / train.count).mean(axis=1))
