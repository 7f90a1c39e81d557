"""Forecasts with intervals, in the form of the data (`Forecast`), and forecasts of the past with their errors (`Backtest`).

A backtest makes forecasts from earlier origins as if the future were unknown, and compares them with the values that came.
`beside` puts backtests of several methods into one table, with simple methods at the same origins of the same data:

    MASE = mean |y - forecast| / mean |y(t) - y(t-m)| of the training data        (Hyndman and Koehler 2006)
    pinball = 2 / |P| sum over p of max(p (y - q_p), (p - 1) (y - q_p)), over the same scale; P the bounds and the forecast
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from echoscale._internal.plots import new_axes
from echoscale._internal.table import Table
from echoscale._internal.types import Floats
from echoscale.data import differencing
from echoscale.data.clock import Clock
from echoscale.data.frames import Form, returned
from echoscale.forecasting.model import NAIVE_NAMES, Naive
from echoscale.forecasting.problem import LEAST_STEPS, held

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from echoscale.forecasting.forecaster import Forecaster

MOST_ORIGINS = 4
ROUNDING = 1e-6  # a smaller MASE is rounding
EXACT = "Errors are rounding errors: intervals have next to no width, and the shares inside them say nothing."


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


@dataclass(frozen=True, eq=False)
class Backtest:
    """Forecasts from earlier origins, and what came; made by `Forecaster.backtest`.

    Attributes
    ----------
    forecasts : tuple of Forecast
        One for every origin.
    truths : tuple of list of (horizon,)
        What came, of every series; gaps are NaN.
    scales : tuple of (B,)
        The mean change over a season (or a step) before every origin.
    seasons : tuple of list of int or None
        The season of every series as known at every origin.
    """

    forecasts: tuple[Forecast, ...]
    truths: tuple[list[Floats], ...]
    scales: tuple[Floats, ...]
    seasons: tuple[list[int | None], ...]

    @property
    def levels(self) -> tuple[float, ...]:
        """Levels of the intervals, in percent."""
        return tuple(self.forecasts[0].bounds)

    def mase(self) -> float:
        """Mean absolute error over the mean absolute change of the training data in a season (a step, where there is none)."""
        return float(np.nanmean([[np.abs(t - f) / s for t, f, s in each] for each in self._each()]))

    def pinball(self) -> float:
        """Mean pinball loss of the forecast and of all bounds, over the same scale."""
        losses = []
        for forecast, truth, scale in zip(self.forecasts, self.truths, self.scales, strict=True):
            for b, y in enumerate(truth):
                quantiles = [(0.5, forecast.means[b])]
                for level, bounds in forecast.bounds.items():
                    quantiles += [(0.5 - level / 200, bounds[b][0]), (0.5 + level / 200, bounds[b][1])]
                each = [np.maximum(p * (y - q), (p - 1) * (y - q)) for p, q in quantiles]
                losses.append(2 * np.nanmean(each) / scale[b])
        return float(np.nanmean(losses))

    def coverage(self, level: float) -> float:
        """The share of values inside the interval.

        Parameters
        ----------
        level : float
            In percent.
        """
        inside, count = 0, 0
        for forecast, truth in zip(self.forecasts, self.truths, strict=True):
            for b, y in enumerate(truth):
                low, high = forecast._level(level)[b]
                known = ~np.isnan(y)
                inside += int(((y >= low) & (y <= high) & known).sum())
                count += int(known.sum())
        return inside / count if count else float("nan")

    def _each(self) -> list[list[tuple[Floats, Floats, float]]]:
        return [
            [(t, f, float(s)) for t, f, s in zip(truth, forecast.means, scale, strict=True)]
            for forecast, truth, scale in zip(self.forecasts, self.truths, self.scales, strict=True)
        ]

    @property
    def table(self) -> Table:
        """One row for every origin, and one for all."""
        rows = []
        for k, forecast in enumerate(self.forecasts):
            one = Backtest((forecast,), (self.truths[k],), (self.scales[k],), (self.seasons[k],))
            last = forecast.clocks[0].index(0, 1)[0]
            rows.append(
                (
                    str(last).removesuffix(" 00:00:00"),
                    one.mase(),
                    one.pinball(),
                    *(one.coverage(level) for level in self.levels),
                )
            )
        rows.append(("all", self.mase(), self.pinball(), *(self.coverage(level) for level in self.levels)))
        heads = ("origin", "MASE", "pinball", *(f"inside {level:g} %" for level in self.levels))
        steps, count = len(self.truths[0][0]), len(self.forecasts)
        title = f"Forecasts of {steps} step{'s' * (steps != 1)} from {count} origin{'s' * (count != 1)}"
        return Table(heads, tuple(rows), title)

    def plot(self, axes: Axes | None = None, *, series: int = 0) -> Axes:
        """What came, and the forecasts with their intervals, of one series.

        Parameters
        ----------
        axes : matplotlib.axes.Axes, optional
            Where to draw; a new figure unless given.
        series : int
            Which, from 0.
        """
        axes = new_axes() if axes is None else axes
        draw_backtest(axes, self, series)
        return axes

    def __repr__(self) -> str:
        return str(self.table)


def scale_of(values: Floats, period: int | None) -> float:
    """The mean change over a season, or over a step where there is none; gaps do not count."""
    lag = period or 1
    changes = np.abs(values[lag:] - values[:-lag])
    mean = float(np.nanmean(changes)) if np.isfinite(changes).any() else 0.0
    return mean if mean > 0 else 1.0


# ------------------------------------------------------------------------------------------------- beside other methods


def reach(model: Forecaster, most: int = MOST_ORIGINS) -> tuple[int, int]:
    """Steps and origins that can be judged: the horizon of the model, or less where the data are few.

    A horizon that nobody asked for gives way to three origins; one that was asked for is judged from as many as there are.
    """
    shortest = model._data.shortest
    horizon = min(model.horizon_, shortest // (6 if model.horizon is None else 4), shortest - LEAST_STEPS)
    if horizon < 1:
        return 0, 0
    return horizon, max(min(most, (shortest - max(LEAST_STEPS, 3 * horizon)) // horizon), 0)


def beside(model: Forecaster, own: str, backtests: Mapping[str, Backtest]) -> Table:
    """One row for every method, the best first; persistence and the seasonal naive are added."""
    judged = backtests[own]
    forecasts = {name: [each.means for each in one.forecasts] for name, one in backtests.items()}
    periods = [each for one in judged.seasons for each in one]
    for difference, name in NAIVE_NAMES.items():
        if difference == differencing.LAST or any(periods):
            forecasts[name] = _naive(model, judged, difference)
    names = model.targets_ if len(model.targets_) > 1 else ()
    rows: list[tuple[object, ...]] = []
    for name, each in forecasts.items():
        errors = _mase(judged, each)
        inside = [backtests[name].coverage(level) if name in backtests else None for level in judged.levels]
        rows.append((name, float(np.mean(errors)), *(map(float, errors) if names else ()), *inside))
    rows.sort(key=lambda row: row[1])  # type: ignore[arg-type,return-value]
    heads = ("method", "MASE", *(f"MASE {name}" for name in names), *(f"inside {level:g} %" for level in judged.levels))
    steps, count = len(judged.truths[0][0]), len(judged.truths)
    title = f"Forecasts of {steps} step{'s' * (steps != 1)} from {count} earlier origin{'s' * (count != 1)}"
    season = "a step" if not any(periods) else "a season" if all(periods) else "a season or a step"
    note = f"MASE: mean absolute error over the mean absolute change of the training data in {season}; less is better."
    notes = (note,) if float(rows[0][1]) > ROUNDING else (note, EXACT)  # type: ignore[arg-type]
    return Table(heads, tuple(rows), title, notes)


def _naive(model: Forecaster, judged: Backtest, difference: str) -> list[list[Floats]]:
    """Forecasts that need no fit, for every origin and series; the last value where no season was known at the origin."""
    found = []
    steps = len(judged.truths[0][0])
    for k, periods in enumerate(judged.seasons):
        each = []
        for values, period in zip(model._data.values, periods, strict=True):
            history = held(values[: len(values) - (len(judged.seasons) - k) * steps])
            each.append(Naive(difference if period else differencing.LAST, period).forecasts(history, -1, steps))
        found.append(each)
    return found


def _mase(judged: Backtest, forecasts: Sequence[Sequence[Floats]]) -> Floats:
    """MASE of every series, (B,)."""
    found = []
    for b in range(len(judged.truths[0])):
        each = [
            np.abs(truth[b] - means[b]) / scale[b]
            for truth, means, scale in zip(judged.truths, forecasts, judged.scales, strict=True)
        ]
        known = np.concatenate(each)
        known = known[~np.isnan(known)]
        found.append(known.mean() if len(known) else np.nan)
    return np.array(found)


# -------------------------------------------------------------------------------------------------------------- pictures


def places(index: Any) -> Any:
    """What matplotlib draws times at: time stamps without a zone, or numbers."""
    if hasattr(index, "to_timestamp"):
        index = index.to_timestamp()
    if getattr(index, "tz", None) is not None:
        index = index.tz_localize(None)
    return np.asarray(index)


def name_dates(axes: Axes, index: Any) -> None:
    """Few and short names of dates, so that they do not overlap; whole numbers of steps."""
    if np.asarray(index[:1]).dtype.kind == "M" or hasattr(index, "to_timestamp") or hasattr(index, "tz"):
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator(minticks=3, maxticks=8)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
        return
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))


def draw_history(axes: Axes, values: Floats, clock: Clock, name: str, color: str) -> None:
    """The end of a series."""
    axes.plot(places(clock.index(1 - len(values), 1)), values, color=color, linewidth=1, label=name)


def draw_forecast(axes: Axes, forecast: Forecast, only: int | None = None, labels: bool = True) -> None:
    """Forecasts as lines, intervals as bands."""
    shown = range(len(forecast.means)) if only is None else [only]
    for color, b in enumerate(shown):
        times = places(forecast.clocks[b].index(1, len(forecast.means[b]) + 1))
        hue = f"C{(2 * color + 1) % 10}"
        for k, (level, bounds) in enumerate(sorted(forecast.bounds.items(), reverse=True)):
            # Opaque, so that the legend has the colours of the bands where they lie over each other.
            shade = _lighter(hue, 0.22 + 0.22 * k)
            axes.fill_between(times, *bounds[b], color=shade, linewidth=0, label=f"{level:g} %" if labels else None)
        axes.plot(times, forecast.means[b], color=hue, linewidth=1.5, label="forecast" if labels else None)
    name_dates(axes, forecast.clocks[0].index(1, 2))


def _lighter(color: str, share: float) -> tuple[float, float, float]:
    """A colour mixed with white; this share of the colour stays."""
    from matplotlib.colors import to_rgb

    red, green, blue = (1 - (1 - each) * min(share, 1.0) for each in to_rgb(color))
    return red, green, blue


def draw_backtest(axes: Axes, backtest: Backtest, series: int) -> None:
    """What came in black, every forecast from its origin."""
    for k, (forecast, truth) in enumerate(zip(backtest.forecasts, backtest.truths, strict=True)):
        times = places(forecast.clocks[series].index(1, len(truth[series]) + 1))
        axes.plot(times, truth[series], color="black", linewidth=1, label=forecast.form.names[series] if k == 0 else None)
        draw_forecast(axes, forecast, series, labels=k == 0)
    axes.legend(frameon=False)
