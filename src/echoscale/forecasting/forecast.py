"""A forecast with its intervals, in the form of the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Floats
from echoscale.data.clock import Clock
from echoscale.data.frames import Form, returned

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Forecast:
    """forecast(h) and lower(h) <= y(t+h) <= upper(h) with a probability of 80 %, 95 %, ...; made by `Forecaster.predict`.

    Attributes
    ----------
    means : list of (steps,)
        Of every series.
    bounds : dict of level to list of (2, steps)
        Lower and upper bounds of every series.
    clocks : list of Clock
        Where every series ended.
    form : Form
        How y was given.
    """

    means: list[Floats]
    bounds: Mapping[float, list[Floats]]
    clocks: Sequence[Clock]
    form: Form

    @property
    def mean(self) -> Any:
        """The forecast in the form of y: array, Series, DataFrame, DataArray, dict or list."""
        return returned(self.means, self.clocks, self.form)

    def lower(self, level: float) -> Any:
        """The lower bounds, in the form of y.

        Parameters
        ----------
        level : float
            In percent, one of those that were asked for.
        """
        return returned([each[0] for each in self._level(level)], self.clocks, self.form)

    def upper(self, level: float) -> Any:
        """The upper bounds, in the form of y.

        Parameters
        ----------
        level : float
            In percent, one of those that were asked for.
        """
        return returned([each[1] for each in self._level(level)], self.clocks, self.form)

    def _level(self, level: float) -> list[Floats]:
        if level not in self.bounds:
            given = ", ".join(f"{each:g}" for each in self.bounds)
            raise KeyError(f"there is no interval of {level} %: predict was asked for level=({given}).")
        return self.bounds[level]

    def frame(self) -> pd.DataFrame:
        """All as one DataFrame: columns `forecast`, `lower 80`, `upper 80`, ...; of several series, their names above."""
        import pandas as pd

        tables = []
        for b, clock in enumerate(self.clocks):
            columns = {"forecast": self.means[b]}
            for level, bounds in self.bounds.items():
                columns[f"lower {level:g}"], columns[f"upper {level:g}"] = bounds[b]
            tables.append(pd.DataFrame(columns, index=clock.index(1, len(self.means[b]) + 1)))
        if len(tables) == 1 and self.form.shape == "one":
            return tables[0]
        return pd.concat(tables, axis=1, keys=list(self.form.names))

    def plot(self, axes: Axes | None = None) -> Axes:
        """Forecasts and intervals.

        Parameters
        ----------
        axes : matplotlib.axes.Axes, optional
            Where to draw; a new figure unless given.
        """
        from echoscale.forecasting.plots import draw_forecast, new_axes

        axes = new_axes() if axes is None else axes
        draw_forecast(axes, self)
        return axes

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        stacked = self.means[0] if self.form.shape == "one" else np.stack(self.means, axis=1)
        return np.array(stacked, dtype=dtype)

    def __len__(self) -> int:
        return len(self.means[0])

    def __repr__(self) -> str:
        return repr(self.frame())
