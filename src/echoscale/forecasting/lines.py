"""One series in units of the model, with what is known beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Line:
    """z(t), and inputs.

    Attributes
    ----------
    values : (T,)
        z, gaps bridged by straight lines.
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
        """The last so many steps.

        Parameters
        ----------
        count : int
            How many; all where there are fewer.
        """
        return self.between(max(len(self) - count, 0), None)

    def between(self, low: int, high: int | None) -> Line:
        """Steps low to high, the end left out; None: all that is known.

        Parameters
        ----------
        low, high : int
            As places.
        """
        some = slice(low, high)
        return replace(
            self,
            values=self.values[some],
            known=self.known[some],
            future=self.future[some],
            past=self.past[some],
            first=self.first + low,
        )
