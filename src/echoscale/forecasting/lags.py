"""Earlier values as features: of the inputs, with the linear maps of them, and of the history that ends at an origin.

Of `es.auto`, for a target at every step t:

    y(t) = A (u(t - l_1), ..., u(t - l_n)) + b         ridge on lags
    y(t) = ... + sum of B_ij z_i z_j                   ridge on products of lags, z = (u(t - l_1), ..., u(t - l_n))
    y(t) = u_f(t)                                      persistence: nothing changes
    y(t) = u_f(t + h - m ceil(h / m))                  seasonal naive: as m steps before

Of `Forecaster`, for the value h steps after the origin t:

    f(t, h) = d(t), d(t-1), ...;  d about one season before t + h;  the phase of the season;  known inputs at t + h, changed as
              z is;  inputs known up to now

Fits, forecasts, closed loops and updates use the same functions of histories, so their features cannot differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from echoscale._internal.types import Floats, Indices
from echoscale.data import differencing
from echoscale.data.lags import lagged, latest, season_lag
from echoscale.forecasting.problem import Line, Problem

Lags = tuple[int, ...]

# Windows of lags that `es.auto` tries, columns of one of them at most, and rows for every column of the longest.
WINDOWS = (1, 2, 3, 5, 8, 13, 21, 34, 49)
MOST_COLUMNS = 120
ROWS_PER_COLUMN = 5
# Columns of lags and their products, and rows that are multiplied out together.
MOST_PRODUCTS, BLOCK = 400, 4096

# Harmonics of the phase of a season: more follow a sharper form, and need more seasons to be fitted.
HARMONICS = 3
# Steps about one season before the target.
ABOUT = (-1, 0, 1)
# Lags of the inputs that are known up to now: more of them cost features.
PAST_LAGS = (0, 1, 2)


# ------------------------------------------------------------------------------------------------ inputs at every step


def windows(problem: Problem) -> list[Lags]:
    """The sets of lags that are tried: the last L steps, and where there is a longer season, the steps about one season ago."""
    most = max(most_columns(problem) // problem.series.features, 1)
    found = [tuple(range(length)) for length in WINDOWS if length <= most]
    period = problem.season
    if period is not None:
        whole = period + 1
        if WINDOWS[-1] < whole <= most:
            found.append(tuple(range(whole)))
        ahead = [each.steps for each in problem.ahead if each]
        back = [season_lag(h, period) for h in sorted(set(ahead))]
        seasonal = {lag for at in back for lag in (at - 1, at, at + 1) if lag >= 0}
        for length in (1, 3, 8):
            lags = tuple(sorted({*range(length), *seasonal}))
            if len(lags) <= most and lags not in found:
                found.append(lags)
    return found


def most_columns(problem: Problem) -> int:
    """Columns that a window of lags may have."""
    return min(MOST_COLUMNS, problem.rows // ROWS_PER_COLUMN)


def most_products(problem: Problem) -> int:
    """Columns and their products that a window of lags may have."""
    return min(MOST_PRODUCTS, problem.rows // ROWS_PER_COLUMN)


def product_windows(problem: Problem) -> list[Lags]:
    """The last L steps whose products are tried, the shortest first; none where there are too few rows."""
    most = most_products(problem)
    sizes = [length * problem.series.features for length in WINDOWS]
    return [tuple(range(length)) for length, size in zip(WINDOWS, sizes, strict=True) if size * (size + 3) // 2 <= most]


def products(z: Floats) -> Floats:
    """z_i z_j for i <= j, (rows, n (n + 1) / 2)."""
    i, j = np.triu_indices(z.shape[1])
    return np.asarray(z[:, i] * z[:, j])


def every(sets: Sequence[Lags]) -> Lags:
    """All lags of several sets, the nearest first."""
    return tuple(sorted({lag for each in sets for lag in each}))


def columns(lags: Sequence[int], among: Sequence[int], features: int) -> Indices:
    """The columns of `lags` in a matrix with lags `among`."""
    place = {lag: at for at, lag in enumerate(among)}
    return (features * np.array([place[lag] for lag in lags], np.int64)[:, None] + np.arange(features)).ravel()


@dataclass(frozen=True, eq=False)
class ProductMap:
    """y = coef (z_i z_j, i <= j), z = (u(t - l_1), ..., u(t - l_n)): coef (O, n F (n F + 1) / 2)."""

    lags: tuple[int, ...]
    coef: Floats


@dataclass(frozen=True, eq=False)
class LinearMap:
    """y = coef (u(t - l_1), ..., u(t - l_n)) + intercept: coef (O, lags * F), intercept (O,); and products of some lags."""

    lags: tuple[int, ...]
    coef: Floats
    intercept: Floats
    products: tuple[ProductMap, ...] = ()

    def outputs(self, features: Floats) -> Floats:
        """(rows, O) from a matrix of these lags."""
        made = np.asarray(features @ self.coef.T + self.intercept)
        for each in self.products:
            used = columns(each.lags, self.lags, self.coef.shape[1] // len(self.lags))
            for low in range(0, len(made), BLOCK):
                made[low : low + BLOCK] += products(features[low : low + BLOCK, used]) @ each.coef.T
        return made

    def along(self, values: Floats, past: Floats | None = None) -> Floats:
        """(T, O) along a series (T, F), block by block; past (most, F) are the steps before it, the newest first, or 0."""
        most = max(self.lags)
        found = np.empty((len(values), len(self.coef)))
        for low in range(0, len(values), BLOCK):
            before = latest(values[max(low - most, 0) : low], most, past)
            found[low : low + BLOCK] = self.outputs(lagged(values[low : low + BLOCK], self.lags, before))
        return found

    def on(self, lags: Lags) -> LinearMap:
        """The same map written on more lags."""
        features = self.coef.shape[1] // max(len(self.lags), 1)
        coef = np.zeros((len(self.coef), len(lags) * features))
        coef[:, columns(self.lags, lags, features)] = self.coef
        return LinearMap(lags, coef, self.intercept, self.products)


def mean_of(maps: Sequence[LinearMap], weights: Sequence[float] | None = None) -> LinearMap:
    """The mean of several maps, all alike or with weights that add up to 1."""
    lags = every([each.lags for each in maps])
    wide = [each.on(lags) for each in maps]
    coef = np.average([each.coef for each in wide], axis=0, weights=weights)
    shares = [1 / len(maps)] * len(maps) if weights is None else weights
    scaled = [ProductMap(one.lags, w * one.coef) for each, w in zip(maps, shares, strict=True) for one in each.products]
    return LinearMap(lags, coef, np.average([each.intercept for each in wide], axis=0, weights=weights), tuple(scaled))


def persistence(problem: Problem) -> LinearMap:
    """Nothing changes; every output is the future of an input."""
    return of_weights(problem, [{0: 1.0}] * problem.outputs)


def seasonal_naive(problem: Problem, period: int) -> LinearMap:
    """As one season before; every output is the future of an input."""
    return of_weights(problem, [{season_lag(each.steps, period): 1.0} for each in problem.ahead if each])


def constant(problem: Problem, values: Floats | None = None) -> LinearMap:
    """These outputs at every step; None: the mean of the targets, or the shares of the classes."""
    means = np.nanmean(np.concatenate(list(problem.targets.values)), axis=0) if values is None else values
    return LinearMap((0,), np.zeros((problem.outputs, problem.series.features)), means)


def of_weights(problem: Problem, weights: Sequence[Mapping[int, float]]) -> LinearMap:
    """For every output, weights of the lags of the input whose future it is."""
    used = every([tuple(each) for each in weights])
    features = problem.series.features
    coef = np.zeros((problem.outputs, len(used) * features))
    for o, (each, ahead) in enumerate(zip(weights, problem.ahead, strict=True)):
        assert ahead is not None
        for lag, weight in each.items():
            coef[o, used.index(lag) * features + ahead.column] = weight
    return LinearMap(used, coef, np.zeros(problem.outputs))


# ---------------------------------------------------------------------------------------------- histories before an origin


class Recipe(NamedTuple):
    """Which features a history has.

    Attributes
    ----------
    difference : str
        One of `differencing.DIFFERENCES`.
    window : int
        How many of the last changes.
    periods : tuple of int
        m of every season; differences are taken over the first one.
    """

    difference: str
    window: int
    periods: tuple[int, ...] = ()

    @property
    def period(self) -> int | None:
        """The season that differences are taken over."""
        return self.periods[0] if self.periods else None

    @property
    def memory(self) -> int:
        """W, the values of a history that are looked at."""
        back = max(self.window - 1, *(m + 1 for m in self.periods), 0)
        return back + differencing.reach(self.difference, self.period) + 1


def common(recipe: Recipe, values: Floats, at: int | Indices, times: Indices) -> Floats:
    """The features that all horizons share but for states and inputs, (R, ...), for origins `at` in z = `values`."""
    columns = []
    for m in recipe.periods:
        for k in range(1, min(HARMONICS, m // 2) + 1):
            angle = 2 * np.pi * k * times / m
            columns.append(np.cos(angle))
            if 2 * k < m:
                columns.append(np.sin(angle))
    changes = _changes(recipe, values, at, np.arange(recipe.window))
    return np.concatenate([changes, np.stack(columns, axis=-1)], axis=-1) if columns else changes


def ahead(recipe: Recipe, values: Floats, at: int | Indices, steps: int | Indices) -> Floats:
    """The changes about one season before the target, (R, 3 for every season), for origins `at` in z = `values`."""
    lags = [np.maximum(season_lag(np.asarray(steps), m)[..., None] - np.array(ABOUT), 0) for m in recipe.periods]
    if not lags:
        return np.empty((*np.shape(values[at]), 0))
    return _changes(recipe, values, at, np.concatenate(lags, axis=-1))


def _changes(recipe: Recipe, values: Floats, at: int | Indices, lags: Indices) -> Floats:
    """d(t - lag) of every lag, (R, lags), for origins t = `at` in z = `values`, or for the columns of z at one origin."""
    found = differencing.change(recipe.difference, recipe.period, values, np.asarray(at)[..., None] - lags)
    return np.ascontiguousarray(found.T) if np.ndim(at) == 0 else found


def inputs(recipe: Recipe, line: Line, at: Indices, steps: int | Indices, seen: Indices | None = None) -> Floats:
    """Known inputs at t + h, changed as the series is, and the inputs known up to now with their lags, (R, K + 3 Q)."""
    x = line.future
    found = [np.empty((*at.shape, 0))]
    if x.shape[1]:
        now, then = (np.minimum(each, len(x) - 1) for each in (at, at + steps))
        found.append(x[then] - differencing.start(recipe.difference, recipe.period, x, now, steps))
    if line.past.shape[1]:
        latest = at if seen is None else seen
        found += [line.past[np.maximum(np.minimum(at - lag, latest), 0)] for lag in PAST_LAGS]
    return np.concatenate(found, axis=-1)
