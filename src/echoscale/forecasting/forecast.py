"""Forecasts with intervals, in the form of the data (`Forecast`), and forecasts of the past with their errors (`Backtest`).

A backtest makes forecasts from earlier origins as if the future were unknown, and compares them with the values that came.
`Backtest.beside` puts backtests of several methods into one table, with simple methods at the same origins of the same data:

    MASE = mean |y - forecast| / mean |y(t) - y(t-m)| of the training data        (Hyndman and Koehler 2006)
    pinball = 2 / |P| sum over p of max(p (y - q_p), (p - 1) (y - q_p)), over the same scale; P the bounds and the forecast
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.plots import new_axes
from echoscale._internal.table import Table
from echoscale._internal.types import Floats
from echoscale.data import differencing
from echoscale.data.clock import Clock
from echoscale.data.frames import LEVELS, LONG, ONE, Form, joined, returned
from echoscale.data.series import held
from echoscale.forecasting import intervals
from echoscale.forecasting.model import NAIVE_NAMES, Naive

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

ROUNDING = 1e-6  # a smaller MASE is rounding
EXACT = "Errors are rounding errors: intervals have next to no width, and the shares inside them say nothing."


@dataclass(frozen=True, eq=False)
class Forecast:
    """forecast(h) and lower(h) <= y(t+h) <= upper(h) with a probability of 80 %, 95 %, ...; made by `Forecaster.predict`.

    Attributes
    ----------
    means : list of (steps,)
        Forecasts of every series.
    quantiles : list of (probabilities, steps)
        Quantiles of every series, at the probabilities of `intervals.GRID`.
    levels : tuple of float
        Levels of the intervals that are shown, in percent.
    clocks : list of Clock
        Where every series ended.
    form : Form
        How y was given.
    """

    means: list[Floats]
    quantiles: list[Floats]
    levels: tuple[float, ...]
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
            Level of the interval in percent, at most 99.
        """
        return returned([each[0] for each in self._interval(level)], self.clocks, self.form)

    def upper(self, level: float) -> Any:
        """The upper bounds, in the form of y.

        Parameters
        ----------
        level : float
            Level of the interval in percent, at most 99.
        """
        return returned([each[1] for each in self._interval(level)], self.clocks, self.form)

    def quantile(self, probability: float) -> Any:
        """What the values stay below with this probability, in the form of y; `quantile(0.1)` is `lower(80)`.

        Parameters
        ----------
        probability : float
            Between 0.005 and 0.995; 0.5 gives the forecast.
        """
        found = checks.number(probability, "probability")
        if not intervals.GRID[0] <= found <= intervals.GRID[-1]:
            raise ValueError(
                f"probability must lie between {intervals.GRID[0]:g} and {intervals.GRID[-1]:g}, got {found:g}: the errors at "
                "judged origins are too few to show rarer ones."
            )
        return returned([intervals.at(each, found) for each in self.quantiles], self.clocks, self.form)

    @cached_property
    def bounds(self) -> dict[float, list[Floats]]:
        """Lower and upper bounds at all `levels`, (2, steps) of every series."""
        return {level: self._interval(level) for level in self.levels}

    def _interval(self, level: float) -> list[Floats]:
        tail = intervals.checked_level(level) / 200
        return [np.stack([intervals.at(each, 0.5 - tail), intervals.at(each, 0.5 + tail)]) for each in self.quantiles]

    def frame(self) -> pd.DataFrame:
        """All as one DataFrame: columns `forecast`, `lower 80`, `upper 80`, ...

        Names of several series stand above the columns; where y is in long form, they stand beside the rows as in y.
        """
        import pandas as pd

        tables = []
        for b, clock in enumerate(self.clocks):
            columns = {"forecast": self.means[b]}
            for level, bounds in self.bounds.items():
                columns[f"lower {level:g}"], columns[f"upper {level:g}"] = bounds[b]
            tables.append(pd.DataFrame(columns, index=clock.index(1, len(self.means[b]) + 1)))
        if self.form.shape in (LONG, LEVELS):
            stacked: pd.DataFrame = joined(tables, self.form)
            return stacked
        if len(tables) == 1 and self.form.shape == ONE:
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
        stacked = self.means[0] if self.form.shape == ONE else np.stack(self.means, axis=1)
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
    histories : tuple of list of (T,)
        Values of every series before every origin.
    seasons : tuple of list of int or None
        The season of every series as known at every origin.
    """

    forecasts: tuple[Forecast, ...]
    truths: tuple[list[Floats], ...]
    histories: tuple[list[Floats], ...]
    seasons: tuple[list[int | None], ...]

    @cached_property
    def scales(self) -> list[Floats]:
        """The mean change over a season (or a step) before every origin, (B,) each."""
        return [
            np.array([_scale(values, period) for values, period in zip(*each, strict=True)])
            for each in zip(self.histories, self.seasons, strict=True)
        ]

    @property
    def levels(self) -> tuple[float, ...]:
        """Levels of the intervals, in percent."""
        return self.forecasts[0].levels

    def mase(self) -> float:
        """Mean absolute error over the mean absolute change of the training data in a season, or in a step without a season.

        NaN where no value came; so are the pinball loss and the coverage.
        """
        return _mean(np.concatenate(_errors(self, [each.means for each in self.forecasts])))

    def pinball(self) -> float:
        """Mean pinball loss of the forecast and of all bounds, over the same scale."""
        losses = []
        for forecast, truth, scale in zip(self.forecasts, self.truths, self.scales, strict=True):
            for b, y in enumerate(truth):
                if np.isnan(y).all():
                    continue
                quantiles = [(0.5, forecast.means[b])]
                for level, bounds in forecast.bounds.items():
                    quantiles += [(0.5 - level / 200, bounds[b][0]), (0.5 + level / 200, bounds[b][1])]
                each = [np.maximum(p * (y - q), (p - 1) * (y - q)) for p, q in quantiles]
                losses.append(2 * np.nanmean(each) / scale[b])
        return _mean(np.array(losses))

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
                low, high = forecast._interval(level)[b]
                known = ~np.isnan(y)
                inside += int(((y >= low) & (y <= high) & known).sum())
                count += int(known.sum())
        return inside / count if count else float("nan")

    @property
    def table(self) -> Table:
        """One row for every origin, and one for all."""
        rows = []
        for k, forecast in enumerate(self.forecasts):
            one = Backtest((forecast,), (self.truths[k],), (self.histories[k],), (self.seasons[k],))
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

    def beside(self, others: Mapping[str, Backtest], name: str = "echoscale") -> Table:
        """One row for every method, the best first: this one, others, and persistence and the seasonal naive.

        Parameters
        ----------
        others : mapping of str to Backtest
            Backtests of other methods at the same origins of the same data.
        name : str
            What this method is called.
        """
        backtests = {name: self, **others}
        forecasts = {key: [each.means for each in one.forecasts] for key, one in backtests.items()}
        periods = [each for one in self.seasons for each in one]
        for difference, key in NAIVE_NAMES.items():
            if difference == differencing.LAST or any(periods):
                forecasts[key] = naive_forecasts(self, difference)
        series = self.forecasts[0].form.names
        series = series if len(series) > 1 else ()
        rows: list[tuple[object, ...]] = []
        for key, each in forecasts.items():
            errors = mase_of(self, each)
            inside = [backtests[key].coverage(level) if key in backtests else None for level in self.levels]
            rows.append((key, float(np.mean(errors)), *(map(float, errors) if series else ()), *inside))
        rows.sort(key=lambda row: row[1])  # type: ignore[arg-type,return-value]
        heads = ("method", "MASE", *(f"MASE {each}" for each in series), *(f"inside {level:g} %" for level in self.levels))
        steps, count = len(self.truths[0][0]), len(self.truths)
        title = f"Forecasts of {steps} step{'s' * (steps != 1)} from {count} earlier origin{'s' * (count != 1)}"
        season = "a step" if not any(periods) else "a season" if all(periods) else "a season or a step"
        note = f"MASE: mean absolute error over the mean absolute change of the training data in {season}; less is better."
        notes = (note,) if float(rows[0][1]) > ROUNDING else (note, EXACT)  # type: ignore[arg-type]
        return Table(heads, tuple(rows), title, notes)

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


def _mean(values: Floats) -> float:
    """The mean; NaN of nothing."""
    return float(values.mean()) if values.size else float("nan")


def _scale(values: Floats, period: int | None) -> float:
    """The mean change over a season, or over a step where there is none; gaps do not count."""
    lag = period or 1
    changes = np.abs(values[lag:] - values[:-lag])
    mean = float(np.nanmean(changes)) if np.isfinite(changes).any() else 0.0
    return mean if mean > 0 else 1.0


def naive_forecasts(judged: Backtest, difference: str) -> list[list[Floats]]:
    """Forecasts that need no fit, for every origin and series; the last value where no season was known at the origin."""
    steps = len(judged.truths[0][0])
    return [
        [
            Naive(difference if period else differencing.LAST, period).forecasts(held(values), -1, steps)
            for values, period in zip(histories, periods, strict=True)
        ]
        for histories, periods in zip(judged.histories, judged.seasons, strict=True)
    ]


def mase_of(judged: Backtest, forecasts: Sequence[Sequence[Floats]]) -> Floats:
    """MASE of every series, (B,)."""
    return np.array([_mean(each) for each in _errors(judged, forecasts)])


def _errors(judged: Backtest, forecasts: Sequence[Sequence[Floats]]) -> list[Floats]:
    """|y - forecast| over the scale at all origins and steps, without gaps, of every series."""
    found = []
    for b in range(len(judged.truths[0])):
        origins = zip(judged.truths, forecasts, judged.scales, strict=True)
        each = np.concatenate([np.abs(truth[b] - means[b]) / scale[b] for truth, means, scale in origins])
        found.append(each[~np.isnan(each)])
    return found


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
