"""Units of the data, units of the model: z = (g(y) - mean) / spread, with g the identity or the logarithm."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# The logarithm is tried where the largest values are that much larger than the smallest.
LEAST_RATIO = 1.3
# Of the exponent: e^700 is still a number.
MOST = 700.0


class Units(NamedTuple):
    """Of one series.

    Attributes
    ----------
    log : bool
        Whether g is the logarithm.
    mean, spread : float
        Of g(y) over the training data.
    """

    log: bool
    mean: float
    spread: float

    @classmethod
    def of(cls, values: Floats, log: bool) -> Units:
        """From training data; gaps (NaN) do not count, and what is constant has the spread 1.

        Parameters
        ----------
        values : (T,)
            y.
        log : bool
            Whether g is the logarithm.
        """
        known = values[~np.isnan(values)]
        known = np.log(known) if log else known
        mean, spread = float(known.mean()), float(known.std())
        return cls(log, mean, spread if spread > 1e-12 * np.abs(known).max() else 1.0)

    def forward(self, y: Floats) -> Floats:
        """z.

        Parameters
        ----------
        y : any shape
            In units of the data.
        """
        return np.asarray(((np.log(y) if self.log else y) - self.mean) / self.spread)

    def back(self, z: Floats) -> Floats:
        """y.

        Parameters
        ----------
        z : any shape
            In units of the model.
        """
        found = self.mean + self.spread * z
        return np.exp(np.minimum(found, MOST)) if self.log else np.asarray(found)


def worth_a_logarithm(values: Floats) -> bool:
    """Whether a series is positive and spans enough for a logarithm to matter.

    Parameters
    ----------
    values : (T,)
        y, gaps as NaN.
    """
    known = values[~np.isnan(values)]
    if not (known > 0).all():
        return False
    low, high = np.quantile(known, [0.05, 0.95])
    return bool(high > LEAST_RATIO * low)


def held(values: Floats) -> Floats:
    """Gaps (NaN) filled with the last value before them: what is known at the time, and no later.

    Parameters
    ----------
    values : (T,) or (T, F)
        Columns; one that begins with a gap has 0 there.
    """
    table = values[:, None] if values.ndim == 1 else values
    known = ~np.isnan(table)
    place = np.maximum.accumulate(np.where(known, np.arange(len(table))[:, None], 0), axis=0)
    found = np.nan_to_num(np.take_along_axis(table, place, axis=0))
    return found[:, 0] if values.ndim == 1 else found
