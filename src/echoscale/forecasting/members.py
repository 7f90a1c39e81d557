"""The forecasters that are combined: ridge readouts of lags, alone or beside a network, direct or in closed loop."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from echoscale.forecasting import direct
from echoscale.forecasting.lag_rows import Recipe, Rows
from echoscale.forecasting.lines import Line
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
    statistics : Statistics
        Of all rows, with a leading axis of horizons.
    """

    recipe: Recipe
    net: Net | None
    loop: bool
    relative: Floats
    statistics: Statistics

    @property
    def horizons(self) -> range:
        """Those that are fitted."""
        return range(1, len(self.relative) + 1)

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

    def learn(self, rows: Rows, first: int) -> None:
        """Add the rows whose targets stand at place `first` of the line or later.

        Parameters
        ----------
        rows : Rows
            Features of one series.
        first : int
            As a place in the line.
        """
        edges = np.array([first, len(rows.line)])
        [more] = direct.statistics([rows], [edges], self.horizons)
        self.statistics = self.statistics + more
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

    def line(self, b: int) -> Line:
        """Series b."""
        return self.rows[b].line
