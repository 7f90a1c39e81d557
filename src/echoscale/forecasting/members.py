"""The forecasters that are combined: ridge readouts of lags, alone or beside a network, direct or in closed loop."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from echoscale.forecasting import direct
from echoscale.forecasting.lag_rows import Recipe, Rows
from echoscale.forecasting.loops import closed_loop
from echoscale.forecasting.reservoirs import Net
from echoscale.readouts.ridge import Readout
from echoscale.readouts.statistics import Statistics

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


@dataclass(eq=False)
class Reader:
    """z(t+h) = start(t, h) + w_h . f(t, h) + c_h for every horizon, or for one step that is fed back.

    Attributes
    ----------
    recipe : Recipe
        Which features.
    net : Net or None
        Whose states are features too.
    loop : bool
        Whether one step is fitted, and forecasts are fed back.
    relative : (H,) or (1,)
        Penalties, in units of the mean squared singular value.
    settled : Statistics or None
        Statistics of the data at fit and of the whole blocks since then, with a leading axis of horizons. None in a reader
        from a file: the first update computes them from the data.
    recent : Statistics or None
        Statistics of the rows after these blocks.
    """

    recipe: Recipe
    net: Net | None
    loop: bool
    relative: Floats
    settled: Statistics | None
    recent: Statistics | None = None

    @property
    def horizons(self) -> range:
        """Those that are fitted."""
        return range(1, len(self.relative) + 1)

    @property
    def statistics(self) -> Statistics:
        """Statistics of all rows."""
        assert self.settled is not None
        return self.settled if self.recent is None else self.settled + self.recent

    @cached_property
    def readout(self) -> Readout:
        """Of every horizon that is fitted."""
        return direct.solve(self.statistics, self.relative)

    def forecasts(self, rows: Rows, steps: int, which: Indices) -> Floats:
        """Of some origins, (R, steps).

        Parameters
        ----------
        rows : Rows
            Features of one series.
        steps : int
            How many.
        which : (R,)
            Rows.
        """
        if self.loop:
            return closed_loop(rows, self.readout, steps, which, self.net)
        return direct.forecasts(rows, self.readout, range(1, steps + 1), which)

    def learn(self, blocks: Iterable[Statistics], whole: int) -> None:
        """Add the rows of some blocks, in place of the recent ones.

        Parameters
        ----------
        blocks : iterable of Statistics
            From the first that is not settled.
        whole : int
            How many of them are complete.
        """
        assert self.settled is not None
        self.recent = None
        for place, each in enumerate(blocks):
            if place < whole:
                self.settled = self.settled + each
            else:
                self.recent = each if self.recent is None else self.recent + each
        self.__dict__.pop("readout", None)


@dataclass(frozen=True, eq=False)
class Option:
    """Features that a reader may have.

    Attributes
    ----------
    recipe : Recipe
        Of the lags.
    net : Net or None
        Of the states.
    rows : list of Rows
        Of every series.
    """

    recipe: Recipe
    net: Net | None
    rows: list[Rows]
