"""What the networks hear: the inputs, but the changes of those that have a trend.

    s(t) = u(t),   or   s(t) = (u(t) - u(t-1)) / spread        where a straight line explains most of u

A network knows what it has heard. A level that goes on to rise leads it where it has never been; its changes do not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale.series import Series
from echoscale.timescales.season import trend

Floats = npt.NDArray[np.float64]

# The share of the variance that a straight line explains.
TREND = 0.6


class Drive(NamedTuple):
    """Which inputs are heard as changes, (F,), and the standard deviation of these changes, (F,)."""

    changes: npt.NDArray[np.bool_]
    spread: Floats

    @classmethod
    def of(cls, series: Series) -> Drive:
        """By the trends of the longest series.

        Parameters
        ----------
        series : Series
            Inputs.
        """
        longest = np.asarray(max(series.values, key=len))
        changes = np.array([len(longest) > 2 and trend(column) > TREND for column in longest.T], bool)
        spread = np.std(np.concatenate([np.diff(np.asarray(each), axis=0) for each in series.values]), axis=0)
        return cls(changes, np.where(changes & (spread > 0), spread, 1.0))

    def heard(self, values: Floats, before: Floats | None = None) -> Floats:
        """s(t) of every step, (T, F).

        Parameters
        ----------
        values : (T, F)
            Inputs.
        before : (F,), optional
            The input before the first; unless given, the first change is 0.
        """
        if not self.changes.any():
            return values
        earlier = np.concatenate([values[:1] if before is None else before[None], values[:-1]])
        return np.asarray(np.where(self.changes, (values - earlier) / self.spread, values))

    def over(self, series: Series) -> Series:
        """s(t) of whole series.

        Parameters
        ----------
        series : Series
            Inputs.
        """
        if not self.changes.any():
            return series
        values = [self.heard(np.asarray(each)) for each in series.values]
        return Series(values if series.kind == "list" else np.stack(values), series.kind, series.name)
