"""`echoscale timescales`: the timescales in data, or in the networks of a model."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

import echoscale as es
from echoscale._internal.files import make_folder, write_atomically
from echoscale._internal.table import Table
from echoscale.app.cli.output import check_file, print_json, say
from echoscale.app.report import style
from echoscale.data import tables
from echoscale.engine.esn import ESN
from echoscale.timescales.season import bridged
from echoscale.timescales.signal import SignalTimescales
from echoscale.timescales.spectrum import table as spectra_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from echoscale.data.tables import DataFile, Notation
    from echoscale.engine.hyper import Hyper

PICTURES = (".png", ".svg")
LEAST_ROWS = 12
MOST_CURVES = 6


def show(
    source: Path,
    columns: list[str],
    time: str | None,
    every: str | None,
    notation: Notation,
    out: Path | None,
    json: bool,
    quiet: bool,
) -> None:
    """Print the table, and write the picture."""
    data = source.suffix.lower() in tables.READERS
    picture = out or (Path("out") / f"{source.stem}-timescales.png" if data else source.with_name("timescales.png"))
    check_file(picture, PICTURES)
    if data:
        table, figure = of_data(tables.read(source, time, every, notation), columns, quiet)
    else:
        table, figure = of_model(es.load(source), source)
    file = io.BytesIO()
    figure.savefig(file, format=picture.suffix[1:].lower(), dpi=160)
    make_folder(picture.parent)
    write_atomically(picture, file.getvalue())
    print_json({"table": table, "picture": picture}) if json else typer.echo(str(table))
    say(f"Picture: {picture}", quiet)


def of_data(data: DataFile, columns: list[str], quiet: bool) -> tuple[Table, Figure]:
    """Autocorrelation, trend and season of every column; gaps are bridged by straight lines."""
    names = columns or [name for name in data.numeric() if name != "row"]
    if not names:
        raise ValueError(f"{data.path} has no column of numbers.")
    values = data.numbers(names)
    if len(values) < LEAST_ROWS:
        raise ValueError(f"{data.path} has {len(values)} row{'s' * (len(values) != 1)}, at least {LEAST_ROWS} are needed.")
    gaps = int(values.isna().to_numpy().sum())
    if gaps:
        say(f"{gaps} gap{'s' * (gaps != 1)}: bridged by straight lines.", quiet)
    rows, kept = [], []
    for name in names:
        column = values[name].to_numpy()
        if not np.isfinite(column).any() or np.nanmin(column) == np.nanmax(column):
            if columns:
                raise ValueError(f"{data.path}: column {name!r} is constant: it has no timescale.")
            say(f"Column {name!r} is constant, and left out.", quiet)
            continue
        x = bridged(column)
        found = es.timescales.of_signal(x)
        _, below, strongest, correlation, last, _ = found.table.rows[0]
        rows.append((name, below, es.timescales.season(column), es.timescales.trend(column), strongest, correlation, last))
        kept.append((name, found))
    if not rows:
        raise ValueError(f"{data.path}: every column is constant: there are no timescales.")
    table = Table(
        ("column", "below_1/e", "season", "trend", "strongest_lag", "correlation", "last_significant"),
        tuple(rows),
        f"Timescales of {data.path.name}, in steps",
        (
            "below_1/e: where the autocorrelation has decayed. – : none found.",
            "trend: the share of the variance that a straight line explains.",
        ),
    )
    return table, _curves(kept[:MOST_CURVES])


def _curves(kept: list[tuple[str, SignalTimescales]]) -> Figure:
    figure: Figure = style.figure(3.2, 7.0)
    ax = figure.subplots()
    colours = (style.BLUE, style.ORANGE, style.GREEN, style.RED, style.PINK, style.SKY)
    for colour, (name, found) in zip(colours, kept, strict=False):
        values, marked = found.inputs[:, 0], found.significant_inputs[:, 0]
        ax.plot(found.lags, values, color=colour, linewidth=1, label=name)
        ax.plot(found.lags[marked], values[marked], ".", color=colour, markersize=3)
    ax.axhline(0, color="0.6", linewidth=0.5)
    ax.axhline(float(np.exp(-1)), color="0.6", linewidth=0.5, linestyle=":")
    style.panel(ax, "", x="lag in steps", y="autocorrelation", title="dots: more than chance gives; dotted line: 1/e")
    ax.legend(frameon=False, fontsize=8)
    return figure


def of_model(model: Any, source: Path) -> tuple[Table, Figure]:
    """Timescales of every network in a model, measured in its linear regime, reservoir by reservoir."""
    networks = networks_of(model)
    if not networks:
        raise ValueError(f"{source} holds a {type(model).__name__} without a network: it has no timescales of its own.")
    spectra: dict[str, Any] = {}
    for k, (esn, hyper) in enumerate(networks, start=1):
        for r in range(len(esn.sizes)):
            words = [f"network {k}"] * (len(networks) > 1) + [f"level {r + 1}"] * (len(esn.sizes) > 1)
            spectra[" ".join(words) or "network"] = esn.spectrum(r, hyper=hyper)
    table = spectra_table(spectra, turns=any(esn.network.turns for esn, _ in networks))
    figure: Figure = style.figure(0.6 + 0.25 * len(spectra), 7.0)
    ax = figure.subplots()
    for place, spectrum in enumerate(reversed(spectra.values())):
        times = spectrum.timescales[np.isfinite(spectrum.timescales)]
        ax.plot(times, np.full(len(times), place), "|", color=style.BLUE, markersize=8)
    ax.set_yticks(range(len(spectra)), list(reversed(spectra)))
    ax.set_xscale("log")
    style.panel(ax, "", x="timescale in steps, a mark for every mode")
    return table, figure


def networks_of(model: Any) -> list[tuple[ESN, Hyper | None]]:
    """The built networks of a model, each once, with the hyper-parameters of its lane if they differ from its own."""
    if isinstance(model, es.Forecaster):
        from echoscale.forecasting.readers import Reader

        readers = [part.method for core in model._cores for part in core.parts if isinstance(part.method, Reader)]
        nets = {id(each.net): each.net for each in readers if each.net is not None}
        return [(net.esn, net.hyper) for net in nets.values()]
    if isinstance(model, es.forecasting.AutoModel):
        return [(group.esn, group.hyper.lane(lane)) for group in model.groups for lane in range(len(group.coef))]
    if isinstance(model, es.forecasting.SequenceModel):
        return [(member.transformer.esn_, None) for member in model.members]
    for name in ("esn_", "esn"):
        if hasattr(model, name):
            return [(getattr(model, name), None)]
    return [(model, None)] if isinstance(model, ESN) else []
