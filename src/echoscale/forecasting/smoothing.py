"""Exponential smoothing of level, slope and season: step by step for `Forecaster`, and as linear maps of lags for `es.auto`.

`Smoothing` takes a series value by value, with many smoothing factors at once on lanes (Holt 1957; Winters 1960; Gardner and
McKenzie 1985):

    e(t)   = z(t) - l - phi b - s(t mod m)
    l <- l + phi b + alpha e,   b <- phi b + alpha beta e,   s(t mod m) <- s(t mod m) + (1 - alpha) gamma e
    z(t+h) = l + (phi + ... + phi^h) b + s((t+h) mod m)

One pass over a series gives the forecasts of every origin. Lanes are averaged with weights exp(-n/2 log sum e^2 - k), where n
errors count and k is the penalty of Akaike: m with a season, 0 without. No lane is chosen, and no lane is fitted by a search.

`smoothing` makes linear maps that give y(t) = u(t + h) from u(t), u(t - 1), ...:

    s(t) = sum_j g_j u(t - j m),   j = 1, 2, ...        the same phase of the last seasons; 0 without a season
    y(t) = s(t + h) + c sum_k f_k (u(t - k) - s(t - k))

f_k is the response of a lane without a season to an impulse k steps ago. Its factors are from a small grid. Smoothers whose
errors before a split cannot be told from the least error are averaged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from echoscale._internal.types import Floats, Indices
from echoscale.data.lags import lagged, season_lag
from echoscale.data.targets import Ahead
from echoscale.forecasting.lags import LinearMap, every, of_weights
from echoscale.forecasting.problem import Line, Problem
from echoscale.forecasting.weights import ALIKE, LEAST_WEIGHT
from echoscale.readouts.splits import Split

# Smoothing factors of the lanes: a finer grid takes longer, and its lanes forecast nearly the same.
ALPHAS = (0.01, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 0.999)
BETAS = (0.01, 0.05, 0.15, 0.4)
PHIS = (0.8, 0.9, 0.97)
NO_TREND, DAMPED, LINEAR = "smoothing", "damped trend", "linear trend"
TRENDS = (NO_TREND, DAMPED, LINEAR)

# The grid of the linear maps: levels without a slope, and fewer levels with a slope that is damped.
FILTERS = (*((alpha, 0.0, 1.0) for alpha in ALPHAS), *((a, b, PHIS[-1]) for a in ALPHAS[3::2] for b in BETAS[1:3]))
SEASONS = ((1.0,), (2 / 3, 1 / 3), (0.46, 0.32, 0.22))  # g
SHARES = (0.3, 0.6, 1.0)  # c, where there is a season
MOST_LAGS = 40  # k
# Share of the shortest series that a smoother may look back: the first steps cannot judge it, since it has no inputs there.
REACH = 0.25
MOST_ROWS = 20_000  # that judge the smoothers, the last ones: more take longer

Weights = dict[int, float]  # of lags


@dataclass(eq=False)
class Smoothing:
    """All lanes at one time.

    Attributes
    ----------
    period : int
        m; 1 without a season.
    time : int
        Steps so far, by which the phase is known.
    factors : (5, L)
        alpha, beta, phi, gamma, and which of `TRENDS`.
    level, slope : (L,)
        l and b.
    seasons : (m, L)
        s.
    squares : (L,)
        Sum of e^2.
    count : int
        Number of errors in the sum.
    skip : int
        Steps at the start whose errors do not count.
    """

    period: int
    time: int
    factors: Floats
    level: Floats
    slope: Floats
    seasons: Floats
    squares: Floats
    count: int
    skip: int

    def step(self, value: float) -> None:
        """Take one more value; a gap (NaN) moves all on as forecast."""
        alpha, beta, phi, gamma, _ = self.factors
        phase = self.time % self.period
        slope = phi * self.slope
        self.level = self.level + slope
        self.slope = slope
        if value == value:
            error = value - self.level - self.seasons[phase]
            if self.time >= self.skip:
                self.squares = self.squares + error**2
                self.count += 1
            self.level = self.level + alpha * error
            self.slope = slope + alpha * beta * error
            self.seasons[phase] += (1 - alpha) * gamma * error
        self.time += 1

    def forecasts(self, steps: int) -> Floats:
        """z(t+1), ..., z(t+steps) for every one of `TRENDS`, (trends, steps): means over its lanes."""
        weights = self.weights()
        used = np.flatnonzero(weights.max(axis=0) > 0)
        ahead = np.arange(1, steps + 1)[:, None]
        slopes = _slopes(self.factors[2, used], ahead)
        found = (
            self.level[used] + slopes * self.slope[used] + self.seasons[(self.time + ahead[:, 0] - 1) % self.period][:, used]
        )
        return np.asarray(weights[:, used] @ found.T)

    def weights(self) -> Floats:
        """The weight of every lane within each of `TRENDS`, (trends, L)."""
        kinds = self.factors[4]
        seasonal = self.factors[3] > 0
        size = np.maximum(self.squares, 1e-12 * max(self.count, 1))
        score = -0.5 * self.count * np.log(size) - np.where(seasonal, self.period, 0)
        found = np.zeros((len(TRENDS), len(score)))
        for k in range(len(TRENDS)):
            mine = np.flatnonzero(kinds == k)
            each = np.exp(score[mine] - score[mine].max())
            each = np.where(each > LEAST_WEIGHT, each, 0)
            found[k, mine] = each / each.sum()
        return found


def begin(values: Floats, period: int | None) -> Smoothing:
    """Lanes before the first value, with levels, slopes and seasons from the first few of them."""
    m = period or 1
    gammas = (0.0, *BETAS) if m > 1 else (0.0,)
    lanes = [(a, 0.0, 1.0, g, 0.0) for a in ALPHAS for g in gammas]
    lanes += [(a, b, p, g, 1.0) for a in ALPHAS for b in BETAS for p in PHIS for g in gammas]
    lanes += [(a, b, 1.0, g, 2.0) for a in ALPHAS for b in BETAS for g in gammas]
    factors = np.array(lanes).T
    first = values[: max(2 * m, 6)]
    times = np.arange(len(first)) - (len(first) - 1) / 2
    slope = float(times @ first / (times @ times)) if len(first) > 2 else 0.0
    if m > 1:
        # A line through two whole seasons sees their rise, but hardly their form.
        cycles = [first[:m].mean(), first[m : 2 * m].mean()] if len(first) >= 2 * m else [first.mean()] * 2
        slope = (cycles[1] - cycles[0]) / m
    line = first.mean() + slope * times
    rest = first - line
    seasons = np.array([rest[phase::m].mean() if m > 1 else 0.0 for phase in range(m)])
    seasonal = factors[3] > 0
    trending = factors[4] > 0
    level = np.where(seasonal, line[0] - slope, np.where(trending, line[0] - slope, first[: max(len(first) // 2, 1)].mean()))
    return Smoothing(
        m,
        0,
        factors,
        level,
        np.where(trending, slope, 0.0),
        np.where(seasonal, seasons[:, None], 0.0),
        np.zeros(factors.shape[1]),
        0,
        min(len(first), len(values) // 4),
    )


def after(line: Line, period: int | None, fitted: int) -> Smoothing:
    """The lanes after a line, which began with its first `fitted` steps."""
    lanes = begin(line.values[:fitted], period)
    for value in np.where(line.known, line.values, np.nan).tolist():
        lanes.step(value)
    return lanes


def responses(factors: Sequence[tuple[float, float, float]], horizon: int, count: int) -> list[Floats]:
    """f_k, k = 0, 1, ..., of every (alpha, beta, phi): what an impulse k steps ago adds to the forecast of `horizon` steps.

    They add up to 1: a constant stays as it is.
    """
    alpha, beta, phi = np.array(factors).T
    none = np.zeros(len(factors))
    lanes = Smoothing(1, 0, np.stack([alpha, beta, phi, none, none]), none, none, np.zeros((1, len(factors))), none, 0, count)
    slopes = _slopes(phi, horizon)
    found = np.empty((count, len(factors)))
    for k in range(count):
        lanes.step(float(k == 0))
        found[k] = lanes.level + slopes * lanes.slope
    left = np.cumsum(np.abs(found)[::-1], axis=0)[::-1]
    kept = [each[rest > LEAST_WEIGHT * rest[0]] for each, rest in zip(found.T, left.T, strict=True)]
    return [each / each.sum() for each in kept]


def _slopes(phi: Floats, ahead: int | Indices) -> Floats:
    """phi + ... + phi^h: how much of the slope is in the forecast of h steps."""
    return np.where(phi < 1, phi * (1 - phi**ahead) / np.where(phi < 1, 1 - phi, 1), ahead)


def grid(horizon: int, season: int | None, reach: int) -> list[Weights]:
    """All smoothers whose lags lie within the reach."""
    count = max(min(MOST_LAGS, reach), 1)
    filters = responses(FILTERS, horizon, count)
    found = [dict(enumerate(each.tolist())) for each in filters]
    if season:
        back = season_lag(horizon, season)
        for shares in SEASONS:
            forecast = {back + season * j: g for j, g in enumerate(shares)}
            found += [forecast, *(_corrected(forecast, c * f, shares, season) for f in filters for c in SHARES)]
    return [each for each in found if max(each) <= reach]


def smoothing(problem: Problem, split: Split) -> LinearMap:
    """The mean of the best smoothers by their errors before a split; every output is the future of an input."""
    reach = int(REACH * problem.series.lengths.min())
    ends = [int(each[split.train[-1] + 1]) for each in problem.splits.edges]
    return of_weights(problem, [_chosen(problem, o, each, reach, ends) for o, each in enumerate(problem.ahead) if each])


def _chosen(problem: Problem, output: int, ahead: Ahead, reach: int, ends: list[int]) -> Weights:
    """The mean of an output's best smoothers."""
    found = grid(ahead.steps, problem.season, reach)
    lags = every([tuple(each) for each in found])
    weights = np.array([[each.get(lag, 0.0) for lag in lags] for each in found])
    squares = np.zeros(len(found))
    for u, y, end in zip(problem.series.values, problem.targets.values, ends, strict=True):
        begin = max(lags[-1], end - MOST_ROWS)
        column = np.asarray(u)[max(begin - lags[-1], 0) : end, ahead.column : ahead.column + 1]
        truth = np.asarray(y)[begin:end, output]
        errors = lagged(column, lags)[len(column) - len(truth) :] @ weights.T - truth[:, None]
        squares += np.nansum(errors**2, axis=0)
    best = weights[squares <= ALIKE**2 * squares.min()].mean(axis=0)
    return {lag: float(each) for lag, each in zip(lags, best, strict=True) if each}


def _corrected(forecast: Weights, f: Floats, shares: tuple[float, ...], season: int) -> Weights:
    """The seasonal forecast, and f of how far the last steps were from theirs."""
    weights = dict(forecast)
    for k, each in enumerate(f.tolist()):
        for lag, weight in ((k, each), *((k + season * (j + 1), -g * each) for j, g in enumerate(shares))):
            weights[lag] = weights.get(lag, 0.0) + weight
    return weights
