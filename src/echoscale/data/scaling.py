"""Units of the data, and units of the network: z = (x - mean) / spread, column by column.

A network knows no units: its tanh bends at 1. Means and spreads come from the training data, are stored with a model, and
are applied to whatever it is shown later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.types import Floats
from echoscale.data.series import Series

STANDARD = "standard"
# Of a column's largest number: what varies by less than that is rounding, and counts as constant.
ROUNDING = 16 * np.finfo(np.float64).eps


def is_constant(rows: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Which columns of (T, F) do not vary by more than rounding, (F,); gaps (NaN) do not count."""
    low, high = np.nanmin(rows, axis=0), np.nanmax(rows, axis=0)
    return np.asarray(high - low <= ROUNDING * np.maximum(np.abs(low), np.abs(high)))


class Scaling(NamedTuple):
    """z = (x - mean) / spread, and back: x = mean + spread z.

    Attributes
    ----------
    mean : (F,)
        Of every column.
    spread : (F,)
        The standard deviation of every column; 1 for a column that is constant, which becomes 0 everywhere.
    """

    mean: Floats
    spread: Floats

    @classmethod
    def of(cls, values: Sequence[npt.NDArray[Any]] | npt.NDArray[Any]) -> Scaling:
        """Means and standard deviations over the steps of all series; gaps (NaN) do not count."""
        rows = np.concatenate([np.asarray(each, np.float64) for each in values])
        known = ~np.isnan(rows)
        if not known.any(axis=0).all():
            empty = int(np.flatnonzero(~known.any(axis=0))[0])
            raise ValueError(f"column {empty} holds no number at all: leave it out.")
        # About a value of its own first: a large offset then costs no digits.
        first = rows[np.argmax(known, axis=0), np.arange(rows.shape[1])]
        apart = np.where(known, rows - first, 0.0)
        count = known.sum(axis=0)
        largest = np.abs(apart).max(axis=0)
        size = np.where(largest > 0, largest, 1.0)  # so that squares of very large or small numbers stay numbers
        offset = (apart / size).sum(axis=0) / count
        variance = (np.where(known, apart / size - offset, 0.0) ** 2).sum(axis=0) / count
        mean, spread = first + size * offset, size * np.sqrt(variance)
        constant = spread <= ROUNDING * (np.abs(first) + largest)
        return cls(np.where(constant, first, mean), np.where(constant, 1.0, spread))

    @classmethod
    def none(cls, features: int) -> Scaling:
        """z = x, for this number of columns."""
        return cls(np.zeros(features), np.ones(features))

    @property
    def is_none(self) -> bool:
        """Whether z = x."""
        return not self.mean.any() and bool((self.spread == 1).all())

    def apply(self, series: Series) -> Series:
        """The series in units of the network."""
        return series if self.is_none else series.mapped(self.forward)

    def forward(self, x: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """(x - mean) / spread of an array whose last axis are the columns."""
        return np.asarray((x - self.mean) / self.spread)

    def back(self, z: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """mean + spread z of an array whose last axis are the columns."""
        return np.asarray(self.mean + self.spread * z)


def scaling_of(scale: object, series: Series) -> Scaling:
    """The scaling that a user asked for: "standard", from this training data, or None."""
    if scale is None:
        return Scaling.none(series.features)
    checks.choice(scale, (STANDARD, None), "scale")
    return Scaling.of(series.values)
