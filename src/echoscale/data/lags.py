"""Earlier steps of a series as columns, and lags that reach back by whole seasons.

u(t - l_1), u(t - l_2), ...          `lagged`: row t of a matrix
u(T), u(T - 1), ...                  `latest`: the steps before the next piece of a series
l = m ceil(h / m) - h                `season_lag`: the smallest l >= 0 with t + h whole seasons of m steps after t - l
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from echoscale._internal.types import AnyInt, Array


def lagged(values: Array, lags: Sequence[int], before: npt.ArrayLike | None = None, beside: Array | None = None) -> Array:
    """(T, lags F + E) from (T, F): row t holds values[t - l] for every lag l, lag by lag, then the row t of `beside` (T, E).

    `before` holds the steps before the first, newest first; steps that it does not hold are 0.
    """
    length, most = len(values), max(lags, default=0)
    padded = _continued(values, most, before)
    last = values[:, :0] if beside is None else beside
    return np.concatenate([*(padded[most - lag : most - lag + length] for lag in lags), last], axis=1)


def latest(values: Array, count: int, before: npt.ArrayLike | None = None) -> Array:
    """(count, F): the last steps, newest first, to be passed as `before` with the next piece."""
    return _continued(values, count, before)[::-1][:count]


def season_lag(ahead: AnyInt, period: int) -> AnyInt:
    """The smallest l >= 0 with t + ahead a whole number of seasons after t - l."""
    return -ahead % period


def _continued(values: Array, count: int, before: npt.ArrayLike | None) -> Array:
    """(count + T, F), oldest first: `count` steps before the first, then the values."""
    past = np.zeros((count, values.shape[1]))
    if before is not None:
        known = np.reshape(before, (-1, values.shape[1]))[:count]
        past[count - len(known) :] = known[::-1]
    return np.concatenate([past, values])
