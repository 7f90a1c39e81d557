"""Units of the data and units of the network: z = (x - mean) / spread, column by column.

tanh saturates at about 1 in any units. Means and spreads come from the training data, are stored with a model, and scale all
later data.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.executors import results
from echoscale._internal.types import Floats, Indices
from echoscale.data.series import Series
from echoscale.data.stored import PIECE_BYTES, is_stored, places, to_send, view, walk

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
        return measured(values).scaling

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


@dataclass(frozen=True)
class Measured:
    """Numbers of the columns of a piece of data, (F,) each, which add up: `one + other`.

    largest  bound of the absolute values
    """

    count: Indices
    mean: Floats
    spread: Floats
    largest: Floats

    def __add__(self, other: Measured) -> Measured:
        count = np.maximum(self.count + other.count, 1)
        mine, theirs = self.count / count, other.count / count
        within = np.hypot(np.sqrt(mine) * self.spread, np.sqrt(theirs) * other.spread)
        apart = np.where((self.count > 0) & (other.count > 0), other.mean - self.mean, 0.0)
        mean = np.where(self.count > 0, self.mean + theirs * apart, other.mean)
        spread = np.hypot(within, np.sqrt(mine * theirs) * apart)
        return Measured(self.count + other.count, mean, spread, np.maximum(self.largest, other.largest))

    @property
    def scaling(self) -> Scaling:
        """The scaling to mean 0 and standard deviation 1."""
        if not self.count.all():
            raise ValueError(f"column {int(np.argmin(self.count > 0))} holds no number at all: leave it out.")
        return Scaling(self.mean, np.where(self.spread <= ROUNDING * self.largest, 1.0, self.spread))


def measured(values: Sequence[npt.NDArray[Any]] | npt.NDArray[Any]) -> Measured:
    """Means and standard deviations over the steps of all series; gaps (NaN) do not count."""
    rows = np.concatenate([np.asarray(each, np.float64) for each in values])
    known = ~np.isnan(rows)
    count = known.sum(axis=0)
    # Relative to one of its values: a large offset then costs no digits.
    first = np.nan_to_num(rows[np.argmax(known, axis=0), np.arange(rows.shape[1])])
    apart = np.where(known, rows - first, 0.0)
    largest = np.abs(apart).max(axis=0)
    size = np.where(largest > 0, largest, 1.0)  # keeps the squares of very large or small numbers in range
    some = np.maximum(count, 1)
    offset = (apart / size).sum(axis=0) / some
    variance = (np.where(known, apart / size - offset, 0.0) ** 2).sum(axis=0) / some
    mean, spread, bound = first + size * offset, size * np.sqrt(variance), np.abs(first) + largest
    return Measured(count, np.where(spread <= ROUNDING * bound, first, mean), spread, bound)


def measured_in_pieces(series: Series) -> Measured:
    """The same for series that may be stored: they are read once."""
    return reduce(operator.add, (measured(piece.values) for _, [piece] in walk(series)))


def scaling_of(scale: object, series: Series, executor: Executor | None = None) -> Scaling:
    """The scaling for the user's option: "standard", from this training data, or None. An executor reads stored data."""
    if scale is None:
        return Scaling.none(series.features)
    checks.choice(scale, (STANDARD, None), "scale")
    if executor is None or not is_stored(series):
        return measured_in_pieces(series).scaling
    calls = ((place, (to_send(view(series, place)),)) for place in places(series, PIECE_BYTES))
    return reduce(operator.add, (found for _, found in results(calls, measured_in_pieces, executor))).scaling
