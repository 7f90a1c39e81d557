"""Pictures and pages of fitted models: results of `es.auto`, and forecasts of a `Forecaster`."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import echoscale
from echoscale._internal.plots import drawn, new_axes
from echoscale.app.report import page
from echoscale.app.report.page import Html
from echoscale.data.tables import when

if TYPE_CHECKING:
    import pandas as pd

    from echoscale._internal.table import Table
    from echoscale.forecasting import Backtest, Forecast, Forecaster, Found
    from echoscale.network import Network

MOST_PANELS = 6
SHOWN = 300  # plotted steps of a target and its model
DIAGRAMS = 3  # networks with a diagram


def auto_page(found: Found, about: str = "", picture: bytes | None = None, commands: Sequence[str] = ()) -> str:
    """The page of a result of `es.auto`; the command line adds a line about the data, a picture and the next commands."""
    if picture is None:
        shown = page.picture(drawn(found.plot()), "Errors of all methods.")
    else:
        shown = page.picture(picture, "Errors of all methods, and the end of the data with the model.")
    rounds = f"{found.rounds} round{'s' * (found.rounds != 1)} in {found.seconds:.1f} s, echoscale {echoscale.__version__}."
    return page.page(
        "From data to a model",
        page.paragraph(f"Selected: {found.winner}. {found.table.columns[1]} {found.error:.4g} on held-out data.", "verdict"),
        page.items([page.text(each) for each in found.reasons]),
        *([page.paragraph(about, "quiet")] if about else []),
        shown,
        page.section("Comparison with simple methods", page.table_of(found.table)),
        page.section("Networks", *_networks(found.networks)),
        page.section("About this result", page.paragraph(rounds, "quiet")),
        *([_next(commands)] if commands else []),
    )


def _networks(networks: tuple[Network, ...]) -> list[Html]:
    if not networks:
        return [page.paragraph("None: a simple method is at least as good.")]
    words = f"{len(networks)} networks are averaged" if len(networks) > 1 else "One network is used"
    words += f"; the first {DIAGRAMS} are shown." if len(networks) > DIAGRAMS else "."
    parts = [page.paragraph(words)]
    for number, network in enumerate(networks[:DIAGRAMS], 1):
        seen = f"Diagram of a network of {len(network.reservoirs)} reservoirs with {network.units} neurons."
        parts.append(page.picture(drawn(network.plot()), seen, page.text(f"Network {number}.")))
        parts.append(page.table_of(network.timescales()))
    return parts


def forecast_picture(model: Forecaster, forecast: Forecast | None, judged: Backtest | None, ending: str = "png") -> bytes:
    """One panel per target: the end of the data with the forecast, or with past forecasts if there is none."""
    from matplotlib.figure import Figure

    from echoscale.forecasting.forecast import draw_backtest, draw_forecast, draw_history

    names = model.targets_[:MOST_PANELS]
    figure = Figure(figsize=(7.0, 2.4 * len(names) + 0.2), layout="constrained")
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
    return drawn(figure, ending)


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
    parts.append(page.picture(picture, seen))
    if table is not None:
        parts.append(page.section("Comparison with simple methods", _errors(table), page.table_of(table)))
    if judged is not None:
        if forecast is not None:
            again = forecast_picture(model, None, judged)
            words = "Past values, and the forecasts from earlier origins."
            parts.append(page.section("Past forecasts", page.picture(again, words)))
        parts.append(page.section("Errors by origin", page.table_of(judged.table)))
    if forecast is not None:
        parts.append(page.section("Forecast", _numbers(forecast)))
    weighed = page.table_of(model.candidates_)
    words = f"For {model.targets_[0]}." if len(model.targets_) > 1 else ""
    parts.append(page.section("Candidates", weighed, *([page.paragraph(words, "quiet")] if words else [])))
    parts.append(_next(commands))
    return page.page(f"Forecasts of {', '.join(model.targets_)} ({name})", *parts)


def _verdict(table: Table | None) -> str:
    if table is None:
        return "There were too few values, or there was too little time, for a test at earlier origins."
    best = table.rows[0]
    return f"{table.title}: {best[0]} has the least error, MASE {best[1]:.3g}."


def _errors(table: Table) -> Html:
    """The MASE of all methods as bars."""
    names, errors = [str(row[0]) for row in table.rows], [float(row[1]) for row in table.rows]
    axes = new_axes(height=0.8 + 0.25 * len(names))
    axes.bar_label(axes.barh(names, errors, height=0.6), fmt="%.3g", padding=3)
    axes.margins(x=0.15)
    axes.invert_yaxis()  # the best at the top
    axes.set_xlabel("MASE (smaller is better)")
    return page.picture(drawn(axes), "MASE of all methods (smaller is better).")


def forecast_rows(forecast: Forecast) -> pd.DataFrame:
    """One row per step and target: time, target, forecast, lower_80, upper_80, ..."""
    import pandas as pd

    tables = []
    for b, (name, clock) in enumerate(zip(forecast.form.names, forecast.clocks, strict=True)):
        times = clock.index(1, len(forecast.means[b]) + 1)
        columns: dict[str, Any] = {str(times.name or "step"): times, "target": name, "forecast": forecast.means[b]}
        for level, bounds in forecast.bounds.items():
            columns[f"lower_{level:g}"], columns[f"upper_{level:g}"] = bounds[b]
        tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)


def _numbers(forecast: Forecast) -> Html:
    frame = forecast_rows(forecast)
    header = [name.replace("_", " ") for name in frame.columns]
    rows = [[when(time), target, *(f"{each:.5g}" for each in numbers)] for time, target, *numbers in frame.to_numpy()]
    return page.table(header, rows, "Forecast", range(2, len(header)))


def same_row_picture(
    found: Found,
    index: pd.Index[Any],
    names: Sequence[str],
    y: npt.NDArray[Any],
    guess: npt.NDArray[np.float64] | None,
) -> bytes:
    """PNG of the errors of all methods, and of the end of every target with its model on training data."""
    from matplotlib.figure import Figure

    from echoscale.forecasting.forecast import name_dates, places

    shown = 0 if guess is None else min(len(names), MOST_PANELS)
    figure = Figure(figsize=(7.0, 2.2 * (1 + shown) + 0.2), layout="constrained")
    first, *others = figure.subplots(1 + shown, 1, squeeze=False)[:, 0]
    found.plot(first).tick_params(axis="y", labelsize=8)
    for o, ax in enumerate(others):
        assert guess is not None
        at = places(index[-SHOWN:])
        ax.plot(at, y[-SHOWN:, o], color="black", linewidth=1, label=names[o])
        ax.plot(at, guess[-SHOWN:, o], color="C1", linewidth=1, label="model on its training data")
        name_dates(ax, index)
        ax.set_ylabel(names[o])
        ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    return drawn(figure)


def _next(commands: Sequence[str]) -> Html:
    made = f"echoscale {echoscale.__version__}, Python {platform.python_version()}."
    return page.section("Next", page.command("\n".join(commands)), page.paragraph(made, "quiet"))
