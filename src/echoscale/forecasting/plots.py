"""Pictures of forecasts and of backtests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from echoscale._internal.types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from echoscale.data.clock import Clock
    from echoscale.forecasting.forecast import Backtest, Forecast


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
