"""The rows that candidates learn from and are judged on: time steps of `es.auto`, origins of `Forecaster`.

A row of `Steps` holds the states of a network, lags of the inputs and the targets of one time step. A row of `Origins` holds
the features of the history that ends at an origin, for one horizon h, and what the target is away from the start:

    f(t, h),   z(t+h) - start(t, h)

Both are kept as statistics of parts of time. Statistics add up, so a fit to some parts, or to several series, costs a solve.
Only the lags grow with the length of a series: states are summed up or read out chunk by chunk.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from echoscale._internal.types import Array, Flags, Floats, Indices
from echoscale.data import differencing
from echoscale.data.lags import lagged
from echoscale.data.series import Series
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Hyper
from echoscale.forecasting import lags
from echoscale.forecasting.integrals import Integrals
from echoscale.forecasting.lags import Lags, LinearMap, Recipe
from echoscale.forecasting.networks import Drive
from echoscale.forecasting.problem import Line, Problem
from echoscale.readouts.splits import Split, total
from echoscale.readouts.statistics import Statistics, of_rows, split_statistics

# Targets that are summed up together: more of them take more memory.
PIECE = 256


class Steps:
    """The time steps of a problem with a target at every step.

    Columns of the statistics: states (N), lags (lag by lag), targets (O), targets less the present (O).
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.sets = lags.windows(problem)
        self.lags = lags.every(self.sets)
        self.drive = Drive.of(problem)
        self.heard = self.drive.over(problem.series)

    @cached_property
    def beside(self) -> Series:
        """What stands beside the states, (T_b, lags * F + 2 O): lags, targets, and targets less the present."""
        values, series = [], self.problem.series
        for u, y in zip(series.values, self.problem.targets.values, strict=True):
            now = np.zeros_like(y)
            for o, each in enumerate(self.problem.ahead):
                if each is not None:
                    now[:, o] = u[:, each.column]
            values.append(lagged(u, self.lags, beside=np.concatenate([y, y - now], axis=1)))
        return Series(values, series.kind, "beside")

    @property
    def features(self) -> int:
        """Columns of one lag."""
        return self.problem.series.features

    @property
    def width(self) -> int:
        """Columns of all lags."""
        return len(self.lags) * self.features

    def columns(self, chosen: Lags) -> Indices:
        """Which of the lag columns belong to a set of lags."""
        return lags.columns(chosen, self.lags, self.features)

    def targets_after(self, features: int) -> list[Indices]:
        """Columns of the targets, and of their changes, after this number of columns of features."""
        outputs = self.problem.outputs
        kinds = [features + np.arange(outputs)]
        if any(each is not None for each in self.problem.ahead):
            kinds.append(features + outputs + np.arange(outputs))
        return kinds

    @cached_property
    def simple(self) -> list[Statistics]:
        """Statistics of lags and targets alone, for every segment."""
        return [_summed(rows[:, : self.width], rows[:, self.width :]) for rows in self._segments()]

    @cached_property
    def product_sets(self) -> list[Lags]:
        """Windows whose products are tried; none where an input has a trend, which products would carry away."""
        return [] if self.problem.trends.any() else lags.product_windows(self.problem)

    @cached_property
    def products(self) -> list[Statistics]:
        """Statistics of the lags of the longest of these windows, their products, and targets, for every segment."""
        found, used = [], self.columns(self.product_sets[-1])
        for rows in self._segments():
            z = rows[:, used]
            found.append(_summed(np.concatenate([z, lags.products(z)], axis=1), rows[:, self.width :]))
        return found

    @cached_property
    def integrals(self) -> Integrals:
        """The leaky integrals that are tried."""
        return Integrals(self.problem, self.heard)

    @cached_property
    def integrated(self) -> list[Floats]:
        """Leaky integrals and their products, of every series."""
        return [self.integrals.of(np.asarray(values)) for values in self.heard.values]

    @cached_property
    def slow(self) -> list[Statistics]:
        """Statistics of leaky integrals, their products, lags and targets, for every segment."""
        width = self.integrals.width + self.width
        return [_summed(rows[:, :width], rows[:, width:]) for rows in self._segments(self.integrated)]

    def _segments(self, *columns: Sequence[Floats]) -> Iterator[Floats]:
        """Columns, then lags, targets and changes, of the steps of every segment that have a target."""
        edges = self.problem.splits.edges
        for s in range(len(edges[0]) - 1):
            parts = [
                np.concatenate([np.asarray(each[cuts[s] : cuts[s + 1]]) for each, cuts in zip(values, edges, strict=True)])
                for values in (*columns, self.beside.values)
            ]
            rows = np.concatenate(parts, axis=1)
            yield rows[~np.isnan(rows).any(axis=1)]

    def statistics(self, esn: ESN, hyper: Hyper) -> list[Statistics]:
        """Statistics of states, lags and targets, for every segment, with lanes."""
        found, _ = split_statistics(esn, self.heard, self.beside, self.problem.splits.edges, hyper=hyper)
        return found

    def held_out(self, series: Sequence[Array] | Array, split: Split) -> Floats:
        """The steps that judge a split, of all series one below the other."""
        cut = zip(series, self.problem.splits.held_out(split), strict=True)
        return np.concatenate([np.asarray(values[low:high]) for values, (low, high) in cut])

    def truth(self, split: Split) -> Floats:
        """Targets of the steps that judge a split, (rows, O), gaps included."""
        return self.held_out(self.problem.targets.values, split)

    def answered(self, linear: LinearMap, integrals: Floats | None = None, *, split: Split) -> Floats:
        """What a map of lags, and weights of leaky integrals, make of the steps that judge a split, (rows, O)."""
        cut = zip(self.problem.series.values, self.problem.splits.held_out(split), strict=True)
        found = np.concatenate([linear.along(values[low:high], values[:low][::-1]) for values, (low, high) in cut])
        return found if integrals is None else found + self.held_out(self.integrated, split) @ integrals.T


class Origins:
    """All origins of one line.

    Parameters
    ----------
    recipe : Recipe
        Which features.
    line : Line
        The series.
    states : (T, N), optional
        States of a network at every step.
    first : int
        Origins before this step are left out.
    """

    def __init__(self, recipe: Recipe, line: Line, states: Floats | None = None, first: int = 0) -> None:
        self.recipe, self.line, self.first = recipe, line, max(recipe.memory - 1, first)
        self.at = np.arange(self.first, len(line))
        self.shared = lags.common(recipe, line.values, self.at, line.first + self.at)
        if states is not None:
            self.shared = np.concatenate([states[self.at], self.shared], axis=1)

    def history(self, rows: Indices) -> Floats:
        """The last values before some origins, (R, memory), the newest last."""
        return np.asarray(self.line.values[self.at[rows, None] + np.arange(1 - self.recipe.memory, 1)])

    def own(self, steps: int | Indices, rows: Indices) -> Floats:
        """The features of some origins that differ between horizons, (R, ...)."""
        recipe, line, at = self.recipe, self.line, self.at[rows]
        at = np.broadcast_to(at, np.broadcast_shapes(at.shape, np.shape(steps)))
        return np.concatenate([lags.ahead(recipe, line.values, at, steps), lags.inputs(recipe, line, at, steps)], axis=-1)

    def features(self, steps: int | Indices, rows: Indices) -> Floats:
        """f(t, h) of some origins, (R, F)."""
        return np.concatenate([self.shared[rows], self.own(steps, rows)], axis=-1)

    def starts(self, steps: int | Indices, rows: Indices) -> Floats:
        """start(t, h) of some origins, (R,)."""
        return differencing.start(self.recipe.difference, self.recipe.period, self.line.values, self.at[rows], steps)

    def learned(self, steps: Indices, low: int, high: int) -> tuple[Floats, Flags]:
        """f(t, h) and what has to be added to the start, (H, R, F + 1), of the targets at low to high; and which are known."""
        targets = np.arange(max(low, self.first + int(steps.min())), high)
        rows = targets - steps[:, None] - self.first
        use = (rows >= 0) & self.line.known[targets]
        rows = np.where(use, rows, 0)
        apart = self.line.values[targets] - self.starts(steps[:, None], rows)
        return np.concatenate([self.features(steps[:, None], rows), apart[..., None]], axis=-1), use


def statistics(origins: Sequence[Origins], edges: Indices | Sequence[Indices], steps: Sequence[int]) -> list[Statistics]:
    """Statistics of every segment of time, all series together, with a leading axis of horizons."""
    found = []
    for low, high in itertools.pairwise(np.stack(list(edges), axis=1)):  # of every series
        starts = [low + k for k in range(0, max(int((high - low).max()), 1), PIECE)]
        pieces = [np.minimum([start, start + PIECE], high) for start in starts]
        found.append(total([_of_targets(origins, each.T.tolist(), np.asarray(steps)) for each in pieces]))
    return found


def _of_targets(origins: Sequence[Origins], bounds: Sequence[Sequence[int]], steps: Indices) -> Statistics:
    """Statistics of the targets between bounds, all series together."""
    parts = [one.learned(steps, *each) for one, each in zip(origins, bounds, strict=True)]
    rows, use = (np.concatenate(each, axis=1) for each in zip(*parts, strict=True))
    count = use.sum(axis=1).astype(np.float64)
    rows *= use[..., None]
    mean = rows.sum(axis=1) / np.maximum(count, 1)[:, None]
    rows -= mean[:, None]
    rows *= use[..., None]
    return Statistics(count, mean, rows.swapaxes(1, 2) @ rows, rows.shape[2] - 1)


def _summed(features: Floats, targets: Floats) -> Statistics:
    """The statistics of rows, of none too."""
    if len(features):
        return of_rows(features, targets)
    columns = features.shape[1] + targets.shape[1]
    return Statistics(np.zeros(()), np.zeros(columns), np.zeros((columns, columns)), features.shape[1])
