"""Differencing: the start of a prediction h steps ahead, and the changes d of a series.

              start                                       d(t)
    none      0                                           z(t)
    last      z(t)                                        z(t) - z(t-1)
    season    z(t - l)                                    z(t) - z(t-m)
    both      z(t - l) + k (z(t) - z(t-m))                z(t) - z(t-1) - z(t-m) + z(t-m-1)

    l = m ceil(h/m) - h,   k = ceil(h / m),   m steps in a season

A readout learns the difference between the target and the start. With a large penalty it therefore predicts the mean, the last
value, or the value of the last season.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from echoscale._internal.types import Array, Floats, Indices
from echoscale.data.lags import season_lag
from echoscale.data.scaling import Scaling

NONE, LAST, SEASON, BOTH = "none", "last", "season", "both"
DIFFERENCES = (NONE, LAST, SEASON, BOTH)
# The differences that need no season.
WITHOUT_SEASON = (NONE, LAST)


def reach(difference: str, period: int | None) -> int:
    """The number of steps that d(t) looks back."""
    m = period or 0
    return {NONE: 0, LAST: 1, SEASON: m, BOTH: m + 1}[difference]


def start(difference: str, period: int | None, values: Array, at: int | Indices, ahead: int | Indices) -> Array:
    """The start of the prediction of z(t + ahead), (..., F), with t = `at` and z = `values` (T, F), along the first axis."""
    if difference == NONE:
        return np.zeros_like(values[at])
    if difference == LAST:
        return np.asarray(values[at])
    assert period is not None
    lag = season_lag(np.asarray(ahead), period)
    before = values[at - lag]
    if difference == SEASON:
        return np.asarray(before)
    seasons = np.asarray((ahead + lag) // period)
    return np.asarray(before + seasons.reshape(seasons.shape + (1,) * (values.ndim - 1)) * (values[at] - values[at - period]))


def change(difference: str, period: int | None, values: Array, at: int | Indices) -> Array:
    """d(t), (..., F), with t = `at` and z = `values` (T, F), along the first axis."""
    if difference == NONE:
        return np.asarray(values[at])
    if difference == LAST:
        return np.asarray(values[at] - values[at - 1])
    assert period is not None
    seasonal = values[at] - values[at - period]
    return np.asarray(seasonal if difference == SEASON else seasonal - (values[at - 1] - values[at - 1 - period]))


def changes(difference: str, period: int | None, values: Array) -> Array:
    """d of a whole series (T, F), (T - reach, F)."""
    return change(difference, period, values, np.arange(reach(difference, period), len(values)))


class LastValue(NamedTuple):
    """The last known value of a target, v(t) = shift + gain z(t), from an input in units of its own.

    Attributes
    ----------
    shift, gain : (O,)
        Conversion from units of the inputs to units of the targets.
    """

    shift: Floats
    gain: Floats

    @classmethod
    def of(cls, inputs: Scaling, outputs: Scaling) -> LastValue:
        """v for inputs in units of `inputs` and targets in units of `outputs`."""
        return cls(outputs.forward(inputs.mean), inputs.spread / outputs.spread)

    def taken_off(self, targets: Array, inputs: Array) -> Array:
        """y(t) - v(t), (T, O)."""
        return np.asarray(targets - self.shift - self.gain * inputs)

    def added_back(self, coef: Array, intercept: Array, first: int) -> tuple[Array, Array]:
        """The readout of y(t) from the readout of y(t) - v(t); v(t) is in its columns from `first` on."""
        places = np.arange(len(self.gain))
        coef = np.array(coef)
        coef[places, first + places] += self.gain
        return coef, intercept + self.shift
