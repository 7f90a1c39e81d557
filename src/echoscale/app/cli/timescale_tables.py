"""`echoscale timescales`: the timescales in data, or in the networks of a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

import echoscale as es
from echoscale._internal.files import make_folder, write_atomically
from echoscale._internal.plots import drawn, new_axes
from echoscale._internal.table import Table
from echoscale.app.cli.output import check_file, note, print_json
from echoscale.data import tables
from echoscale.engine.esn import ESN
from echoscale.timescales.season import bridged
from echoscale.timescales.signal import COLOURS, SignalTimescales
from echoscale.timescales.spectrum import table as spectra_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from echoscale.data.tables import DataFile, Notation
    from echoscale.engine.hyper import Hyper

PICTURES = (".png", ".svg")
LEAST_ROWS = 12


def show(
    source: Path,
    columns: list[str],
    time: str | None,
    every: str | None,
    notation: Notation,
    out: Path | None,
    json: bool,
) -> None:
    """Print the table and write the picture."""
    data = source.suffix.lower() in tables.READERS
    picture = out or (Path("out") / f"{source.stem}-timescales.png" if data else source.with_name("timescales.png"))
    check_file(picture, PICTURES)
    if data:
        table, axes = of_data(tables.read(source, time, every, notation), columns)
    else:
        table, axes = of_model(es.load(source), source)
    content = drawn(axes, picture.suffix[1:].lower())
    make_folder(picture.parent)
    write_atomically(picture, content)
    print_json({"table": table, "picture": picture}) if json else typer.echo(str(table))
    note(f"Picture: {picture}")


def of_data(data: DataFile, columns: list[str]) -> tuple[Table, Axes]:
    """Autocorrelation, trend and season of every column; gaps are bridged by straight lines."""
    names = columns or [name for name in data.numeric() if name != "row"]
    if not names:
        raise ValueError(f"{data.path} has no column of numbers.")
    values = data.numbers(names)
    if len(values) < LEAST_ROWS:
        raise ValueError(f"{data.path} has {len(values)} row{'s' * (len(values) != 1)}, at least {LEAST_ROWS} are needed.")
    gaps = int(values.isna().to_numpy().sum())
    if gaps:
        note(f"{gaps} gap{'s' * (gaps != 1)}: bridged by straight lines.")
    rows, kept = [], []
    for name in names:
        column = values[name].to_numpy()
        if not np.isfinite(column).any() or np.nanmin(column) == np.nanmax(column):
            if columns:
                raise ValueError(f"{data.path}: column {name!r} is constant: it has no timescale.")
            note(f"Column {name!r} is constant: left out.")
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
            "below_1/e: lag at which the autocorrelation has decayed to 1/e. – : none found.",
            "trend: share of the variance that a straight line explains.",
        ),
    )
    return table, _curves(kept)


def _curves(kept: list[tuple[str, SignalTimescales]]) -> Axes:
    """The autocorrelations of the first columns, as many as there are colours."""
    axes = new_axes(height=3.2)
    for colour, (name, found) in zip(COLOURS, kept, strict=False):
        values, marked = found.inputs[:, 0], found.significant_inputs[:, 0]
        axes.plot(found.lags, values, color=colour, linewidth=1, label=name)
        axes.plot(found.lags[marked], values[marked], ".", color=colour, markersize=3)
    axes.axhline(0, color="0.6", linewidth=0.5)
    axes.axhline(float(np.exp(-1)), color="0.6", linewidth=0.5, linestyle=":")
    axes.set(xlabel="lag in steps", ylabel="autocorrelation", title="dots: significant; dotted line: 1/e")
    axes.legend(frameon=False, fontsize=8)
    return axes


def of_model(model: Any, source: Path) -> tuple[Table, Axes]:
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
    axes = new_axes(height=0.6 + 0.25 * len(spectra))
    for place, spectrum in enumerate(reversed(spectra.values())):
        times = spectrum.timescales[np.isfinite(spectrum.timescales)]
        axes.plot(times, np.full(len(times), place), "|", color=COLOURS[0], markersize=8)
    axes.set_yticks(range(len(spectra)), list(reversed(spectra)))
    axes.set(xscale="log", xlabel="timescale in steps, one mark per mode")
    return table, axes


def networks_of(model: Any) -> list[tuple[ESN, Hyper | None]]:
    """The built networks of a model, without repetition, each with the hyper-parameters of its lane, or None for its own."""
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
