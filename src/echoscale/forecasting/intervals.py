"""Prediction intervals: quantiles of the errors at judged origins, by horizon.

    y(t+h) = forecast + g s_h (q_p - b),   s_h the root mean square of e / g at horizon h, q_p quantiles of e / (g s_h)
    g^2 = 1 - c + c d^2 / (mean of d^2 at judged origins),   d^2 the weighted mean square of the members about the forecast

Members are the forecasters in use, and within each its windows of lags or lanes of networks. Where they agree less than they
did at judged origins, the interval is wider. c = n / (2 n + 400) for n judged origins: of few, the mean of d^2 says little.

b is the bias of the errors: the number between their mean and their median that is nearest to 0. A forecast may be the mean
or the median of a skewed distribution, and neither is biased. On a series that is mostly 0 the forecast is a mean: the median
of its errors lies far below 0, their mean at 0, and b = 0 keeps the zeros inside the interval. An outlier moves the mean of
the errors, but not their median. The forecast itself always lies inside the interval.

s_h is smoothed over horizons; quantiles are those of neighbouring horizons together, later origins counting more. Both sides
have their own. Overlapping errors of long horizons tell less than their number: intervals widen by 1 + 3 / n_h, where n_h
counts origins that are about half a horizon apart. Weights and penalties were chosen on the same errors: a little more is
added for that, most in the tails.
"""

from __future__ import annotations

import numpy as np

from echoscale._internal import checks
from echoscale._internal.types import Floats

FEW, CHOSEN, TAIL = 3.0, 1.05, 1.08
# Origins after this share of the judged span count half.
HALF = 0.5
LEAST_COUNT = 1.5
# c for many origins; the number of origins at which c is half of it; the largest d^2, in units of its mean.
SHARE, ORIGINS, FAR = 0.5, 200, 4.0
# Least ratio of the 95 % interval to the 80 % interval: among few errors, the largest is not far out.
LEAST_RATIO = 1.4
# Probabilities at which quantiles are kept; others lie between.
GRID = np.array([0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5])
GRID = np.concatenate([GRID, 1 - GRID[-2::-1]])
MIDDLE = len(GRID) // 2
# The widest interval, in percent: probabilities beyond `GRID` are too rare to be seen in judged errors.
MOST_LEVEL = 99.0


def quantiles(errors: Floats) -> Floats:
    """Offsets from a forecast, (probabilities of `GRID`, H): at most 0 in the lower half, at least 0 in the upper."""
    origins, horizon = errors.shape
    age = (origins - 1 - np.arange(origins)) / max(HALF * origins, 1.0)
    weights = np.where(np.isfinite(errors), 0.5 ** age[:, None], 0.0)
    known = weights.sum(axis=0) > 0
    if not known.any():
        raise ValueError("no error could be judged.")
    # Horizons that could not be judged are like the last one that could.
    last = int(np.flatnonzero(known)[-1])
    errors, weights = errors[:, : last + 1], weights[:, : last + 1]
    squares = (np.where(weights > 0, errors, 0.0) ** 2 * weights).sum(axis=0) / weights.sum(axis=0)
    size = _smoothed(np.sqrt(squares))
    scaled = np.where(weights > 0, errors, 0.0) / np.where(size > 0, size, 1.0)
    found = np.empty((len(GRID), horizon))
    for h in range(horizon):
        at = min(h, last)
        near = slice(max(0, at - max(2, horizon // 4)), at + max(2, horizon // 4) + 1)
        use = weights[:, near] > 0
        each = _weighted(scaled[:, near][use], weights[:, near][use])
        mean, median = np.average(scaled[:, near][use], weights=weights[:, near][use]), each[MIDDLE]
        bias = np.clip(0.0, min(mean, median), max(mean, median))
        count = weights[:, at].sum() ** 2 / (weights[:, at] ** 2).sum()
        wider = CHOSEN * (1 + FEW / max(count / (1 + h / 2), LEAST_COUNT))
        found[:, h] = wider * (each - bias) * size[at] * np.sqrt((h + 1) / (at + 1))
    found[:MIDDLE], found[MIDDLE], found[MIDDLE + 1 :] = np.minimum(found[:MIDDLE], 0), 0, np.maximum(found[MIDDLE + 1 :], 0)
    return _with_tails(found)


def usual(scatter: Floats) -> Floats:
    """Mean of d^2 at judged origins, (H,); 0 where there is none."""
    known = np.isfinite(scatter)
    return np.asarray(np.where(known, scatter, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1))


def share_of(origins: int) -> float:
    """c."""
    return SHARE * origins / (origins + ORIGINS)


def wider(scatter: Floats, usual: Floats, share: float) -> Floats:
    """g, of the shape of `scatter`; 1 where members never differ."""
    ratio = np.where(usual > 0, scatter / np.where(usual > 0, usual, 1.0), 1.0)
    return np.asarray(np.sqrt(1 - share + share * np.minimum(ratio, FAR)))


def at(table: Floats, probability: float) -> Floats:
    """The quantiles of one probability, (H,), interpolated between the probabilities of `GRID`."""
    probability = round(probability, 12)  # 0.5 - 0.4 is 0.1
    above = int(np.clip(np.searchsorted(GRID, probability), 1, len(GRID) - 1))
    share = (probability - GRID[above - 1]) / (GRID[above] - GRID[above - 1])
    return np.asarray((1 - share) * table[above - 1] + share * table[above])


def checked_level(level: float) -> float:
    """The level of an interval in percent, if judged errors can show it."""
    found = checks.number(level, "level")
    if not 0 < found < 100:
        raise ValueError(f"level must lie between 0 and 100 percent, got {found:g}.")
    if found > MOST_LEVEL:
        raise ValueError(
            f"level must be at most {MOST_LEVEL:g} percent, got {found}: the errors at judged origins are too few "
            f"to show rarer ones; give level={MOST_LEVEL:g} or less."
        )
    return found


def _smoothed(size: Floats) -> Floats:
    """Means of logarithms over neighbouring horizons, as many on either side: errors rise fast at first."""
    if len(size) < 3 or not (size > 0).all():
        return size
    most, logs = max(1, len(size) // 8), np.log(size)
    reach = np.minimum(most, np.minimum(np.arange(len(size)), np.arange(len(size))[::-1]))
    return np.asarray(np.exp([logs[k - each : k + each + 1].mean() for k, each in enumerate(reach)]))


def _weighted(values: Floats, weights: Floats) -> Floats:
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]
    place = np.cumsum(weights)
    return np.asarray(np.interp(GRID, (place - weights / 2) / place[-1], values))


def _with_tails(found: Floats) -> Floats:
    """Outside of 80 %, wider; and never less than a little wider than 80 %."""
    result = found.copy()
    for inner, sign in ((0.1, -1), (0.9, 1)):
        edge = found[np.argmin(np.abs(GRID - inner))]
        for k, p in enumerate(GRID):
            beyond = (inner - p) / 0.075 if sign < 0 else (p - inner) / 0.075
            if beyond > 1e-9:
                share = min(beyond, 1.0)
                least = edge * (1 + (LEAST_RATIO - 1) * share)
                wider = found[k] * (1 + (TAIL - 1) * share)
                result[k] = np.minimum(wider, least) if sign < 0 else np.maximum(wider, least)
    return result
