"""Prediction intervals: quantiles of the errors at judged origins, by horizon.

    y(t+h) = forecast + g s_h q_p,   s_h the root mean square of e / g at horizon h

q_p is a mean of two quantiles: of Student's t distribution with n_h degrees of freedom, and of e / (g s_h) - b at neighbouring
horizons. The quantile of the errors has the weight n_h / (n_h + 20): few errors say little of their distribution. n_h counts
origins that are about half a horizon apart, since overlapping errors are alike. Later origins count more.

g is the product of two factors. Errors grow with a series whose logarithm is forecast: the first factor is
(forecast / geometric mean of y)^a, a the weight of the candidates in logarithms. The second factor makes intervals wider where
the members differ more than they did at judged origins:

    1 - c + c d^2 / (mean of d^2 at judged origins), its square root,   d^2 the weighted mean square of the members about the
                                                                        forecast

Members are the forecasters in use. c = n / (2 n + 400) for n judged origins: the mean of d^2 over few origins says little.

b is the bias of the errors: the number between their mean and their median that is nearest to 0. A forecast may be the mean
or the median of a skewed distribution, and neither is biased. On a series that is mostly 0 the forecast is a mean: the median
of its errors lies far below 0, their mean at 0, and b = 0 keeps the zeros inside the interval. An outlier moves the mean of
the errors, but not their median. The forecast itself always lies inside the interval.

Weights and penalties were chosen on the same errors, so that s_h is too small, most where errors are few: intervals are wider
by the factor CHOSEN (1 + FEW / n_h).
"""

from __future__ import annotations

import numpy as np

from echoscale._internal import checks
from echoscale._internal.types import Floats

# Wider, since weights were chosen on the same errors. Set for the coverage of 930 real and drawn series of 20 to 220 values.
CHOSEN, FEW = 1.08, 0.8
# Errors are clipped at this many 95 % quantiles of their sizes: a few outliers would decide s_h.
OUTLIER = 3.0
# Origins after this share of the judged span count half.
HALF = 0.5
# n_h at which the quantiles of the errors count half; and n_h at the least.
MANY, LEAST_COUNT = 20.0, 1.5
# c for many origins; the number of origins at which c is half of it; the largest d^2, in units of its mean.
SHARE, ORIGINS, FAR = 0.5, 200, 4.0
# Probabilities at which quantiles are kept; others lie between.
GRID = np.array([0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5])
GRID = np.concatenate([GRID, 1 - GRID[-2::-1]])
MIDDLE = len(GRID) // 2
# The widest interval, in percent: probabilities beyond `GRID` are too rare to be seen in judged errors.
MOST_LEVEL = 99.0


def quantiles(errors: Floats) -> Floats:
    """Offsets from a forecast, (probabilities of `GRID`, H): at most 0 in the lower half, at least 0 in the upper."""
    from scipy.special import stdtrit

    origins, horizon = errors.shape
    age = (origins - 1 - np.arange(origins)) / max(HALF * origins, 1.0)
    weights = np.where(np.isfinite(errors), 0.5 ** age[:, None], 0.0)
    total = weights.sum(axis=0)
    if not total.any():
        raise ValueError("no error could be judged.")
    # Horizons that could not be judged are like the last one that could.
    last = int(np.flatnonzero(total)[-1])
    far = OUTLIER * np.nanquantile(np.abs(errors[:, : last + 1]), 0.95, axis=0)
    errors, weights, total = np.nan_to_num(errors[:, : last + 1]), weights[:, : last + 1], total[: last + 1]
    size = _smoothed(np.sqrt((np.clip(errors, -far, far) ** 2 * weights).sum(axis=0) / total))
    scaled = errors / np.where(size > 0, size, 1.0)
    counts = total**2 / (weights**2).sum(axis=0)
    found, reach = np.empty((len(GRID), horizon)), max(2, horizon // 4)
    for h in range(horizon):
        at = min(h, last)
        near = slice(max(0, at - reach), at + reach + 1)
        use = weights[:, near] > 0
        near_errors, near_weights = scaled[:, near][use], weights[:, near][use]
        each = _weighted(near_errors, near_weights)
        mean, median = np.average(near_errors, weights=near_weights), each[MIDDLE]
        bias = np.clip(0.0, min(mean, median), max(mean, median))
        count = max(counts[at] / (1 + h / 2), LEAST_COUNT)
        share = count / (count + MANY)
        shape = share * (each - bias) + (1 - share) * stdtrit(count, GRID)
        found[:, h] = CHOSEN * (1 + FEW / count) * shape * size[at] * np.sqrt((h + 1) / (at + 1))
    found[:MIDDLE], found[MIDDLE], found[MIDDLE + 1 :] = np.minimum(found[:MIDDLE], 0), 0, np.maximum(found[MIDDLE + 1 :], 0)
    return found


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
