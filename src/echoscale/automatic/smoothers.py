"""Exponential smoothing of level, slope and season, as linear maps of lags: y(t) = u(t + h) out of u(t), u(t - 1), ...

    s(t) = sum_j g_j u(t - j m),   j = 1, 2, ...        the same phase of the last seasons; 0 without a season
    y(t) = s(t + h) + c sum_k f_k (u(t - k) - s(t - k))

f_k is what a smoother (Holt 1957; Gardner and McKenzie 1985) makes of an impulse k steps ago. Its factors are of a small grid:
those whose errors before an origin cannot be told from the least are averaged.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from echoscale.automatic.lags import LinearMap, every, matrix
from echoscale.automatic.origins import Judging, Origin
from echoscale.automatic.pool import ALIKE
from echoscale.automatic.question import Ahead, Question

Floats = npt.NDArray[np.float64]

LEVELS = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0)  # alpha without a slope
SLOPES = ((0.2, 0.05), (0.2, 0.2), (0.5, 0.05), (0.5, 0.2), (0.9, 0.05), (0.9, 0.2))  # alpha and beta of a damped slope
DAMPED = 0.95
SEASONS = ((1.0,), (2 / 3, 1 / 3), (0.46, 0.32, 0.22))  # g
SHARES = (0.3, 0.6, 1.0)  # c, where there is a season
MOST_LAGS = 40  # k
LEAST = 0.02  # of the sum of |f|: lags behind which less is left are dropped
# Of the shortest series, as far back a smoother may look: the steps before cannot judge it.
REACH = 0.25
MOST_ROWS = 20_000

Weights = dict[int, float]  # of lags


def answers(alpha: float, beta: float, phi: float, horizon: int, count: int) -> Floats:
    """f_k, k = 0, 1, ...: what an impulse k steps ago adds to the forecast. They add up to 1: a constant stays as it is.

        e = u - l - phi b,   l <- l + phi b + alpha e,   b <- phi b + alpha beta e,   y(t + h) = l + (phi + ... + phi^h) b

    Parameters
    ----------
    alpha, beta, phi : float
        Factors of level and slope, and how the slope is damped.
    horizon : int
        h.
    count : int
        Lags at most.
    """
    ahead = sum(phi**i for i in range(1, horizon + 1))
    level, slope, found = alpha, alpha * beta, []
    for _ in range(count):
        found.append(level + ahead * slope)
        error = -level - phi * slope
        level, slope = level + phi * slope + alpha * error, phi * slope + alpha * beta * error
    left = np.cumsum(np.abs(found)[::-1])[::-1]
    kept = np.array(found)[left > LEAST * left[0]]
    return np.asarray(kept / kept.sum())


def grid(horizon: int, season: int | None, reach: int) -> list[Weights]:
    """All smoothers whose lags lie within the reach.

    Parameters
    ----------
    horizon : int
        h.
    season : int or None
        m.
    reach : int
        The longest lag.
    """
    count = max(min(MOST_LAGS, reach), 1)
    filters = [answers(alpha, 0.0, 1.0, horizon, count) for alpha in LEVELS]
    filters += [answers(alpha, beta, DAMPED, horizon, count) for alpha, beta in SLOPES]
    found = [dict(enumerate(each.tolist())) for each in filters]
    if season:
        back = season * math.ceil(horizon / season) - horizon
        for shares in SEASONS:
            forecast = {back + season * j: g for j, g in enumerate(shares)}
            found += [forecast, *(_corrected(forecast, c * f, shares, season) for f in filters for c in SHARES)]
    return [each for each in found if max(each) <= reach]


def _corrected(forecast: Weights, f: Floats, shares: tuple[float, ...], season: int) -> Weights:
    """The seasonal forecast, and f of how far the last steps were from theirs."""
    weights = dict(forecast)
    for k, each in enumerate(f.tolist()):
        for lag, weight in ((k, each), *((k + season * (j + 1), -g * each) for j, g in enumerate(shares))):
            weights[lag] = weights.get(lag, 0.0) + weight
    return weights


def smoothing(question: Question, judging: Judging, origin: Origin) -> LinearMap | None:
    """The mean of the best smoothers by their errors before an origin; None where an output is not the future of an input.

    Parameters
    ----------
    question : Question
        The data.
    judging : Judging
        Their parts.
    origin : Origin
        Rows before it choose.
    """
    if any(each is None for each in question.ahead):
        return None
    reach = int(REACH * question.series.lengths.min())
    ends = [int(each[2 * origin.trained - 1]) for each in judging.edges]
    chosen = [_chosen(question, o, each, reach, ends) for o, each in enumerate(question.ahead) if each]
    lags = every([tuple(each) for each in chosen])
    features = question.series.features
    coef = np.zeros((question.outputs, len(lags) * features))
    for o, (each, ahead) in enumerate(zip(chosen, question.ahead, strict=True)):
        assert ahead is not None
        for lag, weight in each.items():
            coef[o, lags.index(lag) * features + ahead.column] = weight
    return LinearMap(lags, coef, np.zeros(question.outputs))


def _chosen(question: Question, output: int, ahead: Ahead, reach: int, ends: list[int]) -> Weights:
    """The mean of an output's best smoothers."""
    found = grid(ahead.steps, question.season, reach)
    lags = every([tuple(each) for each in found])
    weights = np.array([[each.get(lag, 0.0) for lag in lags] for each in found])
    squares = np.zeros(len(found))
    for u, y, end in zip(question.series.values, question.targets.values, ends, strict=True):
        begin = max(lags[-1], end - MOST_ROWS)
        column = np.asarray(u)[max(begin - lags[-1], 0) : end, ahead.column : ahead.column + 1]
        truth = np.asarray(y)[begin:end, output]
        errors = matrix(column, lags)[len(column) - len(truth) :] @ weights.T - truth[:, None]
        squares += np.nansum(errors**2, axis=0)
    best = weights[squares <= ALIKE**2 * squares.min()].mean(axis=0)
    return {lag: float(each) for lag, each in zip(lags, best, strict=True) if each}
