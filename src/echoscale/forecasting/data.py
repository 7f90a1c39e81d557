"""One series in units of the model, with the inputs that are known beside it, and its units.

z = (g(y) - mean) / spread        y in units of the data, g the identity or the logarithm
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Floats

# The logarithm is tried where the largest values are this many times the smallest: below that it is nearly a straight line.
LEAST_RATIO = 1.3
# The largest exponent: e^700 is still a finite number.
MOST = 700.0


@dataclass(frozen=True, eq=False)
class Line:
    """z(t), and inputs.

    Attributes
    ----------
    values : (T,)
        z; gaps hold the last value before them.
    known : (T,) of bool
        Where there is no gap: only those are targets.
    future : (T + more, K)
        Inputs that are known ahead; as long as is known.
    past : (T, Q)
        Inputs that are known up to now.
    first : int
        The time of the first value, by which phases of the season count.
    """

    values: Floats
    known: npt.NDArray[np.bool_]
    future: Floats
    past: Floats
    first: int = 0

    def __len__(self) -> int:
        return len(self.values)

    def last(self, count: int) -> Line:
        """The last `count` steps."""
        return self.between(max(len(self) - count, 0), None)

    def between(self, low: int, high: int | None) -> Line:
        """Steps low to high, the end left out; None: all that is known."""
        some = slice(low, high)
        return replace(
            self,
            values=self.values[some],
            known=self.known[some],
            future=self.future[some],
            past=self.past[some],
            first=self.first + low,
        )


class Units(NamedTuple):
    """The units of one series.

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
        """From training data; gaps (NaN) do not count, and what is constant has the spread 1."""
        known = values[~np.isnan(values)]
        known = np.log(known) if log else known
        mean, spread = float(known.mean()), float(known.std())
        return cls(log, mean, spread if spread > 1e-12 * np.abs(known).max() else 1.0)

    def forward(self, y: Floats) -> Floats:
        """z."""
        return np.asarray(((np.log(y) if self.log else y) - self.mean) / self.spread)

    def back(self, z: Floats) -> Floats:
        """y."""
        found = self.mean + self.spread * z
        return np.exp(np.minimum(found, MOST)) if self.log else np.asarray(found)


def worth_a_logarithm(values: Floats) -> bool:
    """Whether a series is positive and spans enough for a logarithm to matter."""
    known = values[~np.isnan(values)]
    if not (known > 0).all():
        return False
    low, high = np.quantile(known, [0.05, 0.95])
    return bool(high > LEAST_RATIO * low)


def held(values: Floats) -> Floats:
    """Gaps (NaN) filled with the last value before them: what is known at the time, and no later."""
    table = values[:, None] if values.ndim == 1 else values
    known = ~np.isnan(table)
    place = np.maximum.accumulate(np.where(known, np.arange(len(table))[:, None], 0), axis=0)
    found = np.nan_to_num(np.take_along_axis(table, place, axis=0))
    return found[:, 0] if values.ndim == 1 else found
