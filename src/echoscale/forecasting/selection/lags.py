"""Inputs of earlier steps as features, and the simple methods, all of which are linear maps of them.

y(t) = A (u(t - l_1), ..., u(t - l_n)) + b         ridge on lags
y(t) = ... + sum of B_ij z_i z_j                   ridge on products of lags, z = (u(t - l_1), ..., u(t - l_n))
y(t) = u_f(t)                                      persistence: nothing changes
y(t) = u_f(t + h - m ceil(h / m))                  seasonal naive: as m steps before
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Floats
from echoscale.data.lags import lagged, latest, season_lag
from echoscale.data.series import Series
from echoscale.forecasting.selection.problem import Question

WINDOWS = (1, 2, 3, 5, 8, 13, 21, 34, 49)
MOST_COLUMNS = 120
# Rows for every column of the longest window.
ROWS_PER_COLUMN = 5
# Columns of lags and their products, and rows that are multiplied out together.
MOST_PRODUCTS, BLOCK = 400, 4096


def windows(question: Question) -> list[tuple[int, ...]]:
    """The sets of lags that are tried: the last L steps, and where there is a longer season, the steps about one season ago."""
    features = question.series.features
    most = max(min(MOST_COLUMNS // features, question.rows // (ROWS_PER_COLUMN * features)), 1)
    found = [tuple(range(length)) for length in WINDOWS if length <= most]
    period = question.season
    if period is not None:
        whole = period + 1
        if WINDOWS[-1] < whole <= most:
            found.append(tuple(range(whole)))
        ahead = [each.steps for each in question.ahead if each]
        back = [season_lag(h, period) for h in sorted(set(ahead))]
        seasonal = {lag for at in back for lag in (at - 1, at, at + 1) if lag >= 0}
        for length in (1, 3, 8):
            lags = tuple(sorted({*range(length), *seasonal}))
            if len(lags) <= most and lags not in found:
                found.append(lags)
    return found


def product_windows(question: Question) -> list[tuple[int, ...]]:
    """The last L steps whose products are tried, the shortest first; none where there are too few rows."""
    most = min(MOST_PRODUCTS, question.rows // ROWS_PER_COLUMN)
    sizes = [length * question.series.features for length in WINDOWS]
    return [tuple(range(length)) for length, size in zip(WINDOWS, sizes, strict=True) if size * (size + 3) // 2 <= most]


def products(z: Floats) -> Floats:
    """z_i z_j for i <= j, (rows, n (n + 1) / 2)."""
    i, j = np.triu_indices(z.shape[1])
    return np.asarray(z[:, i] * z[:, j])


def every(sets: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """All lags of several sets, the nearest first."""
    return tuple(sorted({lag for each in sets for lag in each}))


def columns(lags: Sequence[int], among: Sequence[int], features: int) -> npt.NDArray[np.int64]:
    """The columns of `lags` in a matrix with lags `among`."""
    place = {lag: at for at, lag in enumerate(among)}
    return np.concatenate([np.arange(features) + features * place[lag] for lag in lags]).astype(np.int64)


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

    def on(self, lags: tuple[int, ...]) -> LinearMap:
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


def persistence(question: Question) -> LinearMap | None:
    """Nothing changes; None where an output is not the future of an input."""
    return _copied(question, [0] * question.outputs)


def seasonal_naive(question: Question) -> LinearMap | None:
    """As one season before; None where there is no season, or an output is not the future of an input."""
    period = question.season
    if period is None:
        return None
    return _copied(question, [season_lag(each.steps, period) if each else 0 for each in question.ahead])


def constant(question: Question) -> LinearMap:
    """The mean of the targets, or the shares of the classes."""
    rows = np.concatenate(list(question.targets.values))
    return LinearMap((0,), np.zeros((question.outputs, question.series.features)), np.nanmean(rows, axis=0))


def _copied(question: Question, lags: Sequence[int]) -> LinearMap | None:
    if any(each is None for each in question.ahead):
        return None
    used = every([tuple(lags)])
    features = question.series.features
    coef = np.zeros((question.outputs, len(used) * features))
    for o, (each, lag) in enumerate(zip(question.ahead, lags, strict=True)):
        assert each is not None
        coef[o, used.index(lag) * features + each.column] = 1
    return LinearMap(used, coef, np.zeros(question.outputs))


def beside(question: Question, lags: Sequence[int]) -> Series:
    """What stands beside the states in the statistics, (T_b, lags * F + 2 O): lags, targets, and targets less the present."""
    values = []
    for u, y in zip(question.series.values, question.targets.values, strict=True):
        now = np.zeros_like(y)
        for o, each in enumerate(question.ahead):
            if each is not None:
                now[:, o] = u[:, each.column]
        values.append(lagged(u, lags, beside=np.concatenate([y, y - now], axis=1)))
    return Series(values, question.series.kind, "beside")
