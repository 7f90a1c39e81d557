"""Prediction intervals: quantiles of the errors at judged origins, by horizon.

    y(t+h) = forecast + g s_h q_p,   s_h the root mean square of e / g at horizon h

q_p is a mean of two quantiles: of Student's t distribution with n_h degrees of freedom, and of e / (g s_h) - b at neighbouring
horizons. The quantile of the errors has the weight n_h / (n_h + 40): few errors say little of their distribution. n_h counts
origins that are about half a horizon apart, since overlapping errors are alike.

Errors grow with a series whose logarithm is forecast: g = (forecast / geometric mean of y)^a, a the weight of the candidates in
logarithms.

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

# Wider, since weights were chosen on the same errors. Set for the coverage of 930 real and drawn series of 20 to 220 values; a
# larger second number makes intervals of drawn series too wide.
CHOSEN, FEW = 1.08, 0.8
# Errors are clipped at this many 95 % quantiles of their sizes: a few outliers would decide s_h.
OUTLIER = 3.0
# n_h at which the quantiles of the errors count half, and horizons on either side whose errors are looked at. Set for the
# coverage of 144 real series that judge nothing.
MANY, NEAR = 40, 2
# Probabilities at which quantiles are kept; others lie between. Rarer ones could not be seen in judged errors.
GRID = np.round(np.concatenate([[0.005, 0.01, 0.025], np.linspace(0.05, 0.95, 19), [0.975, 0.99, 0.995]]), 3)
MIDDLE = len(GRID) // 2


def quantiles(errors: Floats) -> Floats:
    """Offsets from a forecast, (probabilities of `GRID`, H): at most 0 in the lower half, at least 0 in the upper."""
    from scipy.special import stdtrit

    counts = np.isfinite(errors).sum(axis=0)
    if not counts.any():
        raise ValueError("no error could be judged.")
    # Horizons that could not be judged are like the last one that could.
    horizon, last = len(counts), int(np.flatnonzero(counts)[-1])
    errors = errors[:, : last + 1]
    far = OUTLIER * np.nanquantile(np.abs(errors), 0.95, axis=0)
    size = np.sqrt(np.nanmean(np.clip(errors, -far, far) ** 2, axis=0))
    scaled, found = errors / np.where(size > 0, size, 1.0), np.empty((len(GRID), horizon))
    for h in range(horizon):
        at = min(h, last)
        near = scaled[:, max(0, at - NEAR) : at + NEAR + 1]
        near = near[np.isfinite(near)]
        each = np.quantile(near, GRID, method="hazen")
        mean, median = near.mean(), each[MIDDLE]
        bias = np.clip(0.0, min(mean, median), max(mean, median))
        count = max(counts[at] / (1 + h / 2), 1.0)
        share = count / (count + MANY)
        shape = share * (each - bias) + (1 - share) * stdtrit(count, GRID)
        found[:, h] = CHOSEN * (1 + FEW / count) * shape * size[at] * np.sqrt((h + 1) / (at + 1))
    found[:MIDDLE], found[MIDDLE], found[MIDDLE + 1 :] = np.minimum(found[:MIDDLE], 0), 0, np.maximum(found[MIDDLE + 1 :], 0)
    return found


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
    most = 100 * (GRID[-1] - GRID[0])
    if found > most:
        raise ValueError(
            f"level must be at most {most:g} percent, got {found}: the errors at judged origins are too few "
            f"to show rarer ones; give level={most:g} or less."
        )
    return found
