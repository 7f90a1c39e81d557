"""Direct forecasts: a ridge readout for every horizon h, from features of the history that ends at the origin t.

    z(t+h) = start(t, h) + w_h . f(t, h) + c_h
    f(t, h) = d(t), d(t-1), ...;  d about one season before t + h;  the phase of the season;  known inputs at t + h, changed as
              z is;  inputs known up to now;  states of a network

Fits, forecasts, closed loops and updates use the same functions of histories, so their features cannot differ.

    w_h, c_h = argmin sum over t of (z(t+h) - start(t, h) - w . f(t, h) - c)^2 + r_h unit |w|^2

The statistics of this fit add up over parts of time and over series. The penalty r_h is chosen at a few horizons, by folds that
are blocks of time. Between these horizons it is interpolated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Floats, Indices
from echoscale.data import differencing
from echoscale.data.lags import season_lag
from echoscale.engine.devices import one_thread
from echoscale.forecasting.data import Line
from echoscale.readouts import splits
from echoscale.readouts.penalties import UNCHOSEN, choose_by_group, in_units
from echoscale.readouts.ridge import Readout, ridge
from echoscale.readouts.splits import Split
from echoscale.readouts.statistics import Statistics

# Harmonics of the phase of a season: more follow a sharper form, and need more seasons to be fitted.
HARMONICS = 3
# Steps about one season before the target.
ABOUT = (-1, 0, 1)
# Lags of the inputs that are known up to now: more of them cost features.
PAST_LAGS = (0, 1, 2)
# Relative penalties to choose from: a finer path takes longer, and the errors of the folds hardly tell its penalties apart.
RELATIVE = 10.0 ** np.arange(-9, 3.1, 0.5)
# Training rows of a fold, at least: fewer say nothing of penalties.
LEAST_ROWS = 8
# Mean square of a feature up to which it counts as constant: its variation is rounding.
STILL = 1e-20
# Forecasts stay within this many times the largest value of a history: a smaller bound would cut off real growth, a larger one
# lets closed loops run away.
FAR = 10.0


class Recipe(NamedTuple):
    """Which features.

    Attributes
    ----------
    difference : str
        One of `differencing.DIFFERENCES`.
    window : int
        How many of the last changes.
    period : int or None
        m.
    """

    difference: str
    window: int
    period: int | None

    @property
    def memory(self) -> int:
        """W, the values of a history that are looked at."""
        back = self.window - 1
        if self.period is not None:
            back = max(back, self.period + 1)
        return back + differencing.reach(self.difference, self.period) + 1


def far(history: Floats) -> Floats:
    """Bound on the forecasts from every history, (R,): many times the largest value seen. Forecasts are held there."""
    return np.asarray(FAR * np.maximum(np.abs(history).max(axis=-1), 1.0))


def common(recipe: Recipe, values: Floats, at: int | Indices, times: Indices) -> Floats:
    """The features that all horizons share but for states and inputs, (R, ...), for origins `at` in z = `values`."""
    m = recipe.period
    columns = []
    if m is not None:
        for k in range(1, min(HARMONICS, m // 2) + 1):
            angle = 2 * np.pi * k * times / m
            columns.append(np.cos(angle))
            if 2 * k < m:
                columns.append(np.sin(angle))
    changes = _changes(recipe, values, at, np.arange(recipe.window))
    return np.concatenate([changes, np.stack(columns, axis=-1)], axis=-1) if columns else changes


def ahead(recipe: Recipe, values: Floats, at: int | Indices, steps: int) -> Floats:
    """The changes about one season before the target, (R, 3 or 0), for origins `at` in z = `values`."""
    m = recipe.period
    if m is None:
        return np.empty((*np.shape(values[at]), 0))
    return _changes(recipe, values, at, np.maximum(season_lag(steps, m) - np.array(ABOUT), 0))


def _changes(recipe: Recipe, values: Floats, at: int | Indices, lags: Indices) -> Floats:
    """d(t - lag) of every lag, (R, lags), for origins t = `at` in z = `values`, or for the columns of z at one origin."""
    found = differencing.change(recipe.difference, recipe.period, values, np.asarray(at)[..., None] - lags)
    return np.ascontiguousarray(found.T) if np.ndim(at) == 0 else found


def inputs(recipe: Recipe, line: Line, at: Indices, steps: int, seen: Indices | None = None) -> Floats:
    """Known inputs at t + h, changed as the series is, and the inputs known up to now with their lags, (R, K + 3 Q)."""
    x = line.future
    found = [np.empty((len(at), 0))]
    if x.shape[1]:
        found.append(x[at + steps] - differencing.start(recipe.difference, recipe.period, x, at, steps))
    if line.past.shape[1]:
        latest = at if seen is None else seen
        found += [line.past[np.maximum(np.minimum(at - lag, latest), 0)] for lag in PAST_LAGS]
    return np.concatenate(found, axis=1)


class Rows:
    """All origins of one line.

    Parameters
    ----------
    recipe : Recipe
        Which features.
    line : Line
        The series.
    states : (T, N), optional
        States of a network at every step.
    """

    def __init__(self, recipe: Recipe, line: Line, states: Floats | None = None) -> None:
        self.recipe, self.line = recipe, line
        self.at = np.arange(recipe.memory - 1, len(line))
        self.shared = common(recipe, line.values, self.at, line.first + self.at)
        if states is not None:
            self.shared = np.concatenate([states[self.at], self.shared], axis=1)

    def history(self, rows: Indices) -> Floats:
        """The last values before some origins, (R, memory), the newest last."""
        return np.asarray(self.line.values[self.at[rows, None] + np.arange(1 - self.recipe.memory, 1)])

    def features(self, steps: int, rows: slice | Indices = slice(None)) -> Floats:
        """f(t, h) of some origins, (R, F)."""
        recipe, line, at = self.recipe, self.line, self.at[rows]
        parts = [self.shared[rows], ahead(recipe, line.values, at, steps), inputs(recipe, line, at, steps)]
        return np.concatenate(parts, axis=1)

    def starts(self, steps: int, rows: slice | Indices = slice(None)) -> Floats:
        """start(t, h) of some origins, (R,)."""
        return differencing.start(self.recipe.difference, self.recipe.period, self.line.values, self.at[rows], steps)

    def learned(self, steps: int) -> tuple[Floats, Floats, Indices]:
        """Features (R, F), what has to be added to the start (R,), and the times of the targets (R,), gaps left out."""
        count = max(len(self.at) - steps, 0)
        targets = self.at[:count] + steps
        use = np.flatnonzero(self.line.known[targets])
        return (
            self.features(steps, use),
            self.line.values[targets[use]] - self.starts(steps, use),
            targets[use],
        )


def some_horizons(horizon: int) -> list[int]:
    """The first, one between, the last: where penalties are chosen."""
    return sorted({1, -(-horizon // 3), horizon})


def statistics(rows: Sequence[Rows], edges: Sequence[npt.NDArray[np.int64]], steps: Sequence[int]) -> list[Statistics]:
    """Statistics of every segment of time, all series together, with a leading axis of horizons."""
    segments = len(edges[0]) - 1
    width = rows[0].features(1, slice(0, 0)).shape[1]
    count = np.zeros((segments, len(steps)))
    mean = np.zeros((segments, len(steps), width + 1))
    scatter = np.zeros((segments, len(steps), width + 1, width + 1))
    with one_thread():  # products of some hundred rows: waking other threads takes longer
        for k, each in enumerate(steps):
            found = [one.learned(each) for one in rows]
            for s in range(segments):
                parts = []
                for (features, targets, times), edge in zip(found, edges, strict=True):
                    low, high = np.searchsorted(times, edge[s : s + 2])
                    if low < high:
                        parts.append(np.concatenate([features[low:high], targets[low:high, None]], axis=1))
                if parts:
                    piece = np.concatenate(parts)
                    count[s, k], mean[s, k] = len(piece), piece.mean(axis=0)
                    apart = piece - mean[s, k]
                    scatter[s, k] = apart.T @ apart
    return [Statistics(count[s], mean[s], scatter[s], width) for s in range(segments)]


def penalties(parts: Sequence[Statistics], origin: Split, horizons: Sequence[int]) -> tuple[Floats, Floats]:
    """log10 of the relative penalty, and the root mean squared error of the folds, at every one of the horizons."""
    width = parts[0].features
    pairs = [pair for pair in splits.pairs(parts, origin.folds) if np.min(pair[0].count) >= LEAST_ROWS]
    if not pairs:
        return np.full(len(horizons), np.log10(UNCHOSEN)), np.full(len(horizons), np.inf)
    best = choose_by_group(pairs, np.arange(width), [np.array([width])], RELATIVE)
    return np.log10(best.relative[..., 0]), best.error[..., 0]


def spread_out(chosen: Floats, some: Sequence[int], horizon: int) -> Floats:
    """The relative penalty of every horizon 1 .. H, on straight lines between logarithms."""
    return np.asarray(10.0 ** np.interp(np.log(np.arange(1, horizon + 1)), np.log(some), chosen))


def solve(whole: Statistics, relative: Floats) -> Readout:
    """w_h and c_h of every horizon: coef (H, 1, F), intercept (H, 1)."""
    f = whole.features
    squares = np.einsum("hff->h", whole.scatter[:, :f, :f])
    # Series are standardised: features that vary by rounding alone say nothing.
    still = squares <= STILL * np.maximum(whole.count, 1)
    scatter = np.where(still[:, None, None], 0.0, whole.scatter)
    return ridge(in_units(Statistics(whole.count, whole.mean, scatter, f)), relative)


def forecasts(rows: Rows, readout: Readout, steps: Sequence[int], which: npt.NDArray[np.int64]) -> Floats:
    """z(t+h) of some origins, (R, H); those whose known inputs are not there yet are NaN."""
    found = np.full((len(which), len(steps)), np.nan)
    bounds = far(rows.history(which))
    limit = len(rows.line.future) - 1 if rows.line.future.shape[1] else np.inf
    for k, each in enumerate(steps):
        use = np.flatnonzero(rows.at[which] + each <= limit)
        if len(use):
            some = which[use]
            value = rows.starts(each, some) + rows.features(each, some) @ readout.coef[k, 0] + readout.intercept[k, 0]
            found[use, k] = np.clip(value, -bounds[use], bounds[use])
    return found
