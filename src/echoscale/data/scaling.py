"""Units of the data and units of the network: z = (x - mean) / spread, column by column.

tanh saturates at about 1 in any units. Means and spreads come from the training data, are stored with a model, and scale all
later data.
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
# Share of a column's largest number: a smaller variation is rounding, and the column counts as constant.
ROUNDING = 16 * np.finfo(np.float64).eps


def is_constant(rows: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Whether each column of (T, F) varies by no more than rounding, (F,); gaps (NaN) do not count."""
    low, high = np.nanmin(rows, axis=0), np.nanmax(rows, axis=0)
    return np.asarray(high - low <= ROUNDING * np.maximum(np.abs(low), np.abs(high)))


class Scaling(NamedTuple):
    """Standard scaling z = (x - mean) / spread, and back, x = mean + spread z.

    Attributes
    ----------
    mean : (F,)
        Mean of every column.
    spread : (F,)
        Standard deviation of every column; 1 for a constant column, which becomes 0.
    """

    mean: Floats
    spread: Floats

    @classmethod
    def of(cls, values: Sequence[npt.NDArray[Any]] | npt.NDArray[Any]) -> Scaling:
        """Returns the scaling with means and standard deviations over the steps of all series; gaps (NaN) do not count."""
        rows = np.concatenate([np.asarray(each, np.float64) for each in values])
        known = ~np.isnan(rows)
        if not known.any(axis=0).all():
            empty = int(np.flatnonzero(~known.any(axis=0))[0])
            raise ValueError(f"column {empty} holds no number at all: leave it out.")
        # Relative to one of its values: a large offset then costs no digits.
        first = rows[np.argmax(known, axis=0), np.arange(rows.shape[1])]
        apart = np.where(known, rows - first, 0.0)
        count = known.sum(axis=0)
        largest = np.abs(apart).max(axis=0)
        size = np.where(largest > 0, largest, 1.0)  # keeps the squares of very large or small numbers in range
        offset = (apart / size).sum(axis=0) / count
        variance = (np.where(known, apart / size - offset, 0.0) ** 2).sum(axis=0) / count
        mean, spread = first + size * offset, size * np.sqrt(variance)
        constant = spread <= ROUNDING * (np.abs(first) + largest)
        return cls(np.where(constant, first, mean), np.where(constant, 1.0, spread))

    @classmethod
    def none(cls, features: int) -> Scaling:
        """Returns the scaling z = x for this number of columns."""
        return cls(np.zeros(features), np.ones(features))

    @property
    def is_none(self) -> bool:
        """Whether z = x."""
        return not self.mean.any() and bool((self.spread == 1).all())

    def apply(self, series: Series) -> Series:
        """Returns the series in units of the network."""
        return series if self.is_none else series.mapped(self.forward)

    def forward(self, x: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Returns (x - mean) / spread for an array whose last axis is the columns."""
        return np.asarray((x - self.mean) / self.spread)

    def back(self, z: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Returns mean + spread z for an array whose last axis is the columns."""
        return np.asarray(self.mean + self.spread * z)


def scaling_of(scale: object, series: Series) -> Scaling:
    """The scaling for the user's option: "standard", from this training data, or None."""
    if scale is None:
        return Scaling.none(series.features)
    checks.choice(scale, (STANDARD, None), "scale")
    return Scaling.of(series.values)
