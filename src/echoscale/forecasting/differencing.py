"""Where a forecast starts, the changes that a readout learns, and the changes that networks receive in place of rising inputs.

A base is a start together with its changes d. A history is a row with the newest value last.

    level:    0                                        d(t) = z(t)
    last:     z(t)                                     d(t) = z(t) - z(t-1)
    season:   z(t + h - k m)                           d(t) = z(t) - z(t-m)                       k = ceil(h / m)
    both:     z(t + h - k m) + k (z(t) - z(t-m))       d(t) = z(t) - z(t-1) - z(t-m) + z(t-m-1)

A readout learns what has to be added to the start. A readout shrunk to nothing leaves the mean, persistence, or the seasonal
naive forecast.

`Drive` replaces the inputs of a network that have a trend by their changes:

    s(t) = u(t),   or   s(t) = (u(t) - u(t-1)) / spread        where a straight line explains most of u

A level that keeps rising leads a network out of the range seen in training. Its changes stay in this range.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Floats
from echoscale.data.series import Series
from echoscale.timescales.season import trend

LEVEL, LAST, SEASON, BOTH = "level", "last", "season", "both"
BASES = (LEVEL, LAST, SEASON, BOTH)
# Forecasts stay within this many times the largest value of a history: a smaller bound would cut off real growth, a larger one
# lets closed loops run away.
FAR = 10.0
# Share of the variance of an input that a straight line explains, above which the network receives its changes.
TREND = 0.6


def far(history: Floats) -> Floats:
    """Bound on the forecasts from every history, (...,): many times the largest value seen. Forecasts are held there."""
    return np.asarray(FAR * np.maximum(np.abs(history).max(axis=-1), 1.0))


def reach(base: str, period: int | None) -> int:
    """How many steps back d(t) looks."""
    m = period or 0
    return {LEVEL: 0, LAST: 1, SEASON: m, BOTH: m + 1}[base]


def start(base: str, period: int | None, history: Floats, ahead: int) -> Floats:
    """Where the forecast `ahead` steps from the end of every history starts from, (...,)."""
    if base == LEVEL:
        return np.zeros(history.shape[:-1])
    last = history[..., -1]
    if base == LAST:
        return np.asarray(last)
    assert period is not None
    k = -(-ahead // period)
    before = history[..., -1 + ahead - k * period]
    return np.asarray(before if base == SEASON else before + k * (last - history[..., -1 - period]))


def change(base: str, period: int | None, history: Floats, lag: int) -> Floats:
    """d(t - lag), with t the end of every history, (...,)."""
    at = history.shape[-1] - 1 - lag
    now = history[..., at]
    if base == LEVEL:
        return np.asarray(now)
    if base == LAST:
        return np.asarray(now - history[..., at - 1])
    assert period is not None
    year = now - history[..., at - period]
    return np.asarray(year if base == SEASON else year - (history[..., at - 1] - history[..., at - 1 - period]))


def changes(base: str, period: int | None, values: Floats) -> Floats:
    """d of a whole series, (T - reach, ...), along its first axis."""
    found = values
    if base in (SEASON, BOTH):
        assert period is not None
        found = found[period:] - found[:-period]
    return found[1:] - found[:-1] if base in (LAST, BOTH) else found


class Drive(NamedTuple):
    """Which inputs are heard as changes, (F,), and the standard deviation of these changes, (F,)."""

    changes: npt.NDArray[np.bool_]
    spread: Floats

    @classmethod
    def of(cls, series: Series) -> Drive:
        """By the trends of the longest series."""
        longest = np.asarray(max(series.values, key=len))
        changes = np.array([len(longest) > 2 and trend(column) > TREND for column in longest.T], bool)
        spread = np.std(np.concatenate([np.diff(np.asarray(each), axis=0) for each in series.values]), axis=0)
        return cls(changes, np.where(changes & (spread > 0), spread, 1.0))

    def heard(self, values: Floats, before: Floats | None = None) -> Floats:
        """s(t) of every step, (T, F)."""
        if not self.changes.any():
            return values
        earlier = np.concatenate([values[:1] if before is None else before[None], values[:-1]])
        return np.asarray(np.where(self.changes, (values - earlier) / self.spread, values))

    def over(self, series: Series) -> Series:
        """s(t) of whole series."""
        if not self.changes.any():
            return series
        values = [self.heard(np.asarray(each)) for each in series.values]
        return Series(values if series.kind == "list" else np.stack(values), series.kind, series.name)
