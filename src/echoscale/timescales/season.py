"""Trend and season of one series.

    x(t) = a + b t + z(t)                   b by least squares; the line's share of the variance of x is the trend
    e(t) = z(t) - phi z(t-1)                phi by least squares, again while phi > 1/2: slow noise and walks become white
    R(p) = sum_t m(t mod p)^2 / sum_t e(t)^2    m: the means of e at the p phases

For white e, F = R / (1 - R) (T - p) / (p - 1) has the distribution F(p - 1, T - p). The season is the p whose R is least
probable by chance (Buys-Ballot's table with Fisher's test), if this R is significant.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.types import Floats
from echoscale.data.series import as_numbers
from echoscale.timescales.signal import correlation

LEVEL = 0.01  # probability that chance makes any p a season
CYCLES = 3  # least number of cycles in the series
LEAST = 0.15  # correlation of a phase with the next one: a smaller one does not help a forecast
SLOW, WHITENINGS, FAR = 0.5, 3, 3.0
LEAST_PHI = -0.8  # least phi: a series that alternates more strictly has the season 2
LONGEST, MOST_STEPS = 1000, 10_000


def season(values: npt.ArrayLike, longest: int | None = None) -> int | None:
    """Season p of a series: the number of steps after which the series repeats itself.

        F(p) = R / (1 - R) (T - p) / (p - 1),   R(p): share of the variance that the means of the p phases explain

    A straight line and slow noise are removed first. The season is the p with the most significant F(p). The probability of a
    season by chance is at most 1 %.

    Parameters
    ----------
    values : (T,)
        Evenly spaced series. Gaps (NaN) are bridged by straight lines. Only the last 10,000 values are used.
    longest : int or None
        Longest season to look for, in steps; None: a third of the series, at most 1,000 steps.

    Returns
    -------
    int or None
        Season in steps; None if no season is significant.

    Examples
    --------
    >>> import echoscale as es, numpy as np
    >>> t, noise = np.arange(144), np.random.default_rng(0).normal(size=144)
    >>> es.timescales.season(5 * t + 10 * np.sin(2 * np.pi * t / 12) + noise)
    12
    >>> es.timescales.season(noise.cumsum()) is None
    True
    """
    return next(iter(seasons(values, longest, 1)), None)


def seasons(values: npt.ArrayLike, longest: int | None = None, most: int = 2) -> list[int]:
    """The season of a series, the season of what its phase means leave, and so on: at most this number."""
    rest, found = without_line(bridged(values)[-MOST_STEPS:]), list[int]()
    last = min(len(rest) // CYCLES, LONGEST if longest is None else checks.integer(longest, "longest", minimum=2))
    while len(found) < most and (period := _strongest(rest, last)) is not None:
        found.append(period)
        rest = rest - phase_means(rest, period)[np.arange(len(rest)) % period]
    return found


def _strongest(rest: Floats, last: int) -> int | None:
    """The most significant season of a series without a trend."""
    if last < 2 or not rest.any():
        return None
    e = whitened(rest)
    steps, size = len(e), float(e @ e)
    if not size > 1e-24 * steps:  # a straight line, or one step of memory explains everything
        return None
    e = e / np.sqrt(size)
    periods = np.arange(2, last + 1)
    # A smooth series is not white: by chance it repeats once, but not twice.
    r = correlation([e[:, None]], [e[:, None]], 2 * last)[:, 0, 0]
    once, twice = (r[k * periods] * steps / (steps - k * periods) for k in (1, 2))
    likely = periods[np.minimum(once, twice) > LEAST]
    if not len(likely):
        return None
    chance = log_chance(e, likely)
    best = int(np.argmin(chance))
    return int(likely[best]) if chance[best] < np.log(LEVEL / len(periods)) else None


def phase_means(e: Floats, period: int) -> Floats:
    """Means of the phases, (period,)."""
    phase = np.arange(len(e)) % period
    return np.bincount(phase, e, period) / np.bincount(phase, minlength=period)


def log_chance(e: Floats, periods: npt.NDArray[np.int64]) -> Floats:
    """For every period, the logarithm of the probability that the phases of white noise differ as much as the phases of e."""
    from scipy.special import fdtrc  # scipy.stats would take a second to import

    e = (e - e.mean()) / np.sqrt(((e - e.mean()) ** 2).sum())
    shares = []
    for p in periods.tolist():
        shares.append(float(phase_means(e, p)[np.arange(len(e)) % p] @ e))
    R = np.minimum(shares, 1 - 1e-15)
    freedom = periods - 1, len(e) - periods
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(fdtrc(*freedom, R / (1 - R) * freedom[1] / freedom[0])), np.float64)


def trend(values: npt.ArrayLike) -> float:
    """Share of the variance of a series that a straight line explains.

        1 - sum (x - a - b t)^2 / sum (x - mean x)^2

    Random walks have a large share too. Take differences of both kinds of series.

    Parameters
    ----------
    values : (T,)
        Evenly spaced series. Gaps (NaN) are bridged by straight lines.

    Returns
    -------
    float
        Share in [0, 1]; 0 for a constant series.

    Examples
    --------
    >>> import echoscale as es, numpy as np
    >>> round(es.timescales.trend(np.arange(100) + np.tile([1, -1], 50)), 3)
    0.999
    """
    x = bridged(values)
    apart = x - x.mean()
    whole = float(apart @ apart)
    rest = without_line(x)
    return 0.0 if whole == 0 else float(np.clip(1 - (rest @ rest) / whole, 0, 1))


def bridged(values: npt.ArrayLike) -> Floats:
    """Values around 0 of at most size 1, (T,); straight lines fill gaps, and the nearest value fills a gap at an end."""
    x = as_numbers(values, "values", np.float64)
    if x.ndim == 2 and x.shape[1] == 1:
        x = x[:, 0]
    if x.ndim != 1:
        raise ValueError(f"one series (T,) is needed, got shape {x.shape}: look at the columns one by one.")
    if np.isinf(x).any():
        raise ValueError(f"values must be finite, found {x[np.isinf(x)][0]} at step {int(np.isinf(x).argmax())}; gaps are NaN.")
    known = ~np.isnan(x)
    if not known.any():
        raise ValueError(f"all {len(x)} values of the series are missing: at least one number is needed.")
    times = np.arange(len(x))
    x = np.interp(times, times[known], x[known])
    x = x - x.mean()
    largest = np.abs(x).max()
    # A series that varies by rounding alone is constant.
    rounding = 1e-14 * np.abs(np.asarray(values, np.float64)[known]).max()
    return np.asarray(x / largest if largest > rounding else 0 * x, np.float64)


def without_line(x: Floats) -> Floats:
    """x minus its least-squares line."""
    times = np.arange(len(x)) - (len(x) - 1) / 2
    apart = x - x.mean()
    return np.asarray(apart - times * (times @ apart) / max(float(times @ times), 1.0), np.float64)


def whitened(z: Floats) -> Floats:
    """e(t) = z(t) - phi z(t-1) minus its mean, repeated while phi is large."""
    e = z
    for _ in range(WHITENINGS):
        phi = max(float(e[1:] @ e[:-1]) / max(float(e[:-1] @ e[:-1]), np.finfo(np.float64).tiny), LEAST_PHI)
        e = e[1:] - phi * e[:-1]
        e = e - e.mean()
        if phi < SLOW:
            break
    # A few outliers would decide alone: values are clipped at this number of standard deviations, estimated by the median.
    far = FAR * float(np.median(np.abs(e))) / NormalDist().inv_cdf(0.75)
    e = np.clip(e, -far, far) if far > 0 else e
    return np.asarray(e - e.mean(), np.float64)
