"""The pictures and pages of `echoscale fit`: forecasts with the true values, or a target with its model."""

from __future__ import annotations

import io
import platform
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import echoscale
from echoscale.app.report import auto, page, style
from echoscale.app.report.page import Dot, Html, dots

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from echoscale._internal.table import Table
    from echoscale.forecasting import Backtest, Forecast, Forecaster, Found

MOST_PANELS = 6
SHOWN = 300  # steps of a target beside its model


def forecast_picture(model: Forecaster, forecast: Forecast | None, judged: Backtest | None, ending: str = "png") -> bytes:
    """For every target the end of the data and its forecast, or past forecasts if there is none."""
    from echoscale.forecasting.forecast import draw_backtest, draw_forecast, draw_history

    names = model.targets_[:MOST_PANELS]
    figure = style.figure(2.4 * len(names) + 0.2, 7.0)
    for b, (ax, name) in enumerate(zip(figure.subplots(len(names), 1, squeeze=False)[:, 0], names, strict=True)):
        if forecast is not None:
            draw_history(ax, model._data.values[b][-max(5 * len(forecast), 60) :], model._data.clocks[b], name, "black")
            draw_forecast(ax, forecast, b)
        elif judged is not None:
            draw_backtest(ax, judged, b)
        else:
            draw_history(ax, model._data.values[b], model._data.clocks[b], name, "black")
        ax.set_ylabel(name)
        ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=4)
    return _drawn(figure, ending)


def forecast_page(
    model: Forecaster,
    name: str,
    about: str,
    table: Table | None,
    forecast: Forecast | None,
    judged: Backtest | None,
    picture: bytes,
    commands: Sequence[str],
) -> str:
    """The page of a forecaster."""
    parts = [page.paragraph(_verdict(table), "verdict"), page.paragraph(about, "quiet")]
    seen = (
        f"The end of {', '.join(model.targets_)} and {'the forecast with its intervals' if forecast else 'earlier forecasts'}."
    )
    parts.append(page.picture(picture, seen, page.text(seen)))
    if table is not None:
        lines = [Dot(str(row[0]), float(row[1]), 0.0) for row in table.rows]
        parts.append(page.section("Beside simple methods", dots(lines, "MASE, less is better"), auto.table_of(table)))
    if judged is not None:
        if forecast is not None:
            again = forecast_picture(model, None, judged)
            words = "What came, and the forecasts that would have been made before."
            parts.append(page.section("Forecasts of the past", page.picture(again, words, page.text(words))))
        parts.append(page.section("Origin by origin", auto.table_of(judged.table)))
    if forecast is not None:
        parts.append(page.section("Forecast", _numbers(forecast)))
    weighed = auto.table_of(model.candidates_)
    words = f"Of {model.targets_[0]}." if len(model.targets_) > 1 else ""
    parts.append(page.section("What was weighed", weighed, *([page.paragraph(words, "quiet")] if words else [])))
    parts.append(_origin(commands))
    return page.page(f"Forecasts of {', '.join(model.targets_)} ({name})", *parts)


def _verdict(table: Table | None) -> str:
    if table is None:
        return "Too few values, or too little time, for a test at earlier origins."
    best = table.rows[0]
    return f"{table.title}: least error by {best[0]}, MASE {best[1]:.3g}."


def _numbers(forecast: Forecast) -> Html:
    heads = ["target", "time", "forecast", *(f"{end} {level:g}" for level in forecast.bounds for end in ("lower", "upper"))]
    rows = []
    for b, name in enumerate(forecast.form.names):
        times = forecast.clocks[b].index(1, len(forecast.means[b]) + 1)
        for k, time in enumerate(times):
            ends = [f"{each[b][end][k]:.5g}" for each in forecast.bounds.values() for end in (0, 1)]
            rows.append([name, str(time).removesuffix(" 00:00:00"), f"{forecast.means[b][k]:.5g}", *ends])
    return page.table(heads, rows, "Forecast", range(2, len(heads)))


def same_row_picture(
    found: Found,
    index: pd.Index[Any],
    names: Sequence[str],
    y: npt.NDArray[Any],
    guess: npt.NDArray[np.float64] | None,
) -> bytes:
    """PNG of the errors of all methods, and of the end of every target with its model, which has seen these data."""
    from echoscale.forecasting.forecast import name_dates, places

    shown = 0 if guess is None else min(len(names), MOST_PANELS)
    figure = style.figure(2.2 * (1 + shown) + 0.2, 7.0)
    first, *others = figure.subplots(1 + shown, 1, squeeze=False)[:, 0]
    found.plot(first).tick_params(axis="y", labelsize=8)
    for o, ax in enumerate(others):
        assert guess is not None
        at = places(index[-SHOWN:])
        ax.plot(at, y[-SHOWN:, o], color="black", linewidth=1, label=names[o])
        ax.plot(at, guess[-SHOWN:, o], color="C1", linewidth=1, label="model, which has seen these data")
        name_dates(ax, index)
        ax.set_ylabel(names[o])
        ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    return _drawn(figure)


def same_row_page(found: Found, about: str, picture: bytes, commands: Sequence[str]) -> str:
    """The page of a result of `es.auto`."""
    seen = "Errors of all methods, and the end of the data beside the model."
    more = [page.paragraph(about, "quiet"), page.picture(picture, seen, page.text(seen))]
    return auto.document(found, more, [_origin(commands)])


def _origin(commands: Sequence[str]) -> Html:
    made = f"echoscale {echoscale.__version__}, Python {platform.python_version()}."
    return page.section("Next", page.command("\n".join(commands)), page.paragraph(made, "quiet"))


def _drawn(figure: Figure, ending: str = "png") -> bytes:
    picture = io.BytesIO()
    figure.savefig(picture, format=ending, dpi=160)
    return picture.getvalue()
