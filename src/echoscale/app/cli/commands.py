"""Commands: fit, predict, forecast, timescales; live page, versions and devices, download of data sets."""

from __future__ import annotations

import logging
import os
import platform
import sys
import warnings
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from echoscale.app.cli.output import Json, Quiet, keep_compiled_programs, loading, named, print_json, refusing, say, working

if TYPE_CHECKING:
    from echoscale.data.tables import Notation

DataArgument = Annotated[Path, typer.Argument(metavar="DATA", help="A .csv, .tsv, .txt, .parquet or .npz file.")]
ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file from `echoscale fit` or `es.save`.")]
TimeOption = Annotated[
    str | None,
    typer.Option("--time", metavar="NAME", help="Column of times, or none; by default a column of dates, if there is one."),
]
EveryOption = Annotated[
    str | None,
    typer.Option("--every", metavar="STEP", help="Time step between rows, such as D, h, MS or 1; missing rows become gaps."),
]
DecimalOption = Annotated[
    str | None,
    typer.Option("--decimal", metavar="SIGN", help="Decimal sign, . or a comma; needed if 1,950 may be 1.95 or 1950."),
]
ThousandsOption = Annotated[
    str | None, typer.Option("--thousands", metavar="SIGN", help="Separator of thousands, such as , in 1,950 for 1950.")
]
DayfirstOption = Annotated[
    bool | None,
    typer.Option(
        "--dayfirst/--monthfirst", show_default=False, help="Order of dates: 01/02/2020 is 1 February (dayfirst) or 2 January."
    ),
]
SequenceOption = Annotated[
    str | None,
    typer.Option("--sequence", metavar="NAME", help="Column that names sequences with one label each; none: one series."),
]
LevelOption = Annotated[str, typer.Option("--level", metavar="LIST", help="Levels of the prediction intervals, in percent.")]

# Packages whose versions `doctor` shows: required and optional ones.
PACKAGES = ("jax", "jaxlib", "numpy", "scipy", "scikit-learn", "safetensors", "matplotlib", "xarray", "pandas", "typer")
OPTIONAL = ("pyarrow", "distributed", "sktime", "aeon", "bokeh")

data_app = typer.Typer(help="Download data sets.", no_args_is_help=True, rich_markup_mode=None)


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (fit, predict, forecast, timescales, doctor, lab):
        app.command()(command)
    app.add_typer(data_app, name="data")


@refusing()
def fit(
    data: DataArgument,
    target: Annotated[
        list[str] | None,
        typer.Option("--target", "-t", metavar="NAMES", help="Columns to predict; for several, a,b or the option again."),
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--inputs", "-i", metavar="NAMES", help="Input columns whose future is known: calendar, prices, controls."
        ),
    ] = None,
    past: Annotated[
        list[str] | None, typer.Option("--past", metavar="NAMES", help="Input columns that are known only up to the present.")
    ] = None,
    time: TimeOption = None,
    every: EveryOption = None,
    decimal: DecimalOption = None,
    thousands: ThousandsOption = None,
    dayfirst: DayfirstOption = None,
    sequence: SequenceOption = None,
    horizon: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Number of steps to forecast, by default as many as the data can judge; 0: predict the target from the inputs "
            "up to its row.",
        ),
    ] = None,
    season: Annotated[str, typer.Option(metavar="STEPS", help="Length of the season in steps, none, or auto.")] = "auto",
    seconds: Annotated[float, typer.Option(help="Approximate time limit in seconds.")] = 60.0,
    level: LevelOption = "80,95",
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the model, the picture and the page; by default out/NAME.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fit a forecaster to a data file. Prints a comparison with simple methods; writes a model, a picture and a page.

    Empty cells are missing values. The last rows, if they have no target, are the future: their targets are forecast.
    """
    keep_compiled_programs()
    with loading():
        from echoscale.app.cli import fit as fit_data

    asked = fit_data.FitRequest(
        data=data,
        targets=named(target),
        inputs=named(inputs),
        past=named(past),
        time=time,
        every=every,
        notation=notation_of(decimal, thousands, dayfirst),
        sequence=sequence,
        horizon=horizon,
        season=fit_data.season_of(season),
        seconds=seconds,
        levels=levels_of(level),
        seed=seed,
        out=out or Path("out") / data.stem,
    )
    fit_data.fit(asked, json)


@refusing()
def predict(
    model: ModelArgument,
    data: DataArgument,
    inputs: Annotated[
        list[str] | None,
        typer.Option("--inputs", "-i", metavar="NAMES", help="Input columns, if the model does not know their names."),
    ] = None,
    time: TimeOption = None,
    every: EveryOption = None,
    decimal: DecimalOption = None,
    thousands: ThousandsOption = None,
    dayfirst: DayfirstOption = None,
    sequence: SequenceOption = None,
    level: LevelOption = "80,95",
    out: Annotated[Path | None, typer.Option(help="A .csv or .parquet file; by default standard output.")] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Predict the target of every row of a data file. The output also holds the target, if the file has it.

    A forecaster uses all earlier rows; other models use the inputs up to the row. A model of sequences gives one label per
    sequence.
    """
    keep_compiled_programs()
    with loading():
        from echoscale.app.cli import predict as use_model

    notation = notation_of(decimal, thousands, dayfirst)
    use_model.predict(model, data, named(inputs), time, every, notation, sequence, levels_of(level), out, json)


@refusing()
def forecast(
    model: ModelArgument,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Number of steps; by default as many as in the fit, or as --future has.")
    ] = None,
    future: Annotated[
        Path | None,
        typer.Option(metavar="DATA", help="Inputs of the future steps, one row per step; earlier rows are skipped."),
    ] = None,
    after: Annotated[
        Path | None, typer.Option(metavar="DATA", help="New rows, which update the model first; rows it knows are skipped.")
    ] = None,
    decimal: DecimalOption = None,
    thousands: ThousandsOption = None,
    dayfirst: DayfirstOption = None,
    level: LevelOption = "80,95",
    out: Annotated[Path | None, typer.Option(help="A .csv or .parquet file; by default standard output.")] = None,
    picture: Annotated[Path | None, typer.Option(help="A .png or .svg file for a picture.")] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Forecast the next values, with prediction intervals, as CSV. One row per step and target."""
    keep_compiled_programs()
    with loading():
        from echoscale.app.cli import predict as use_model

    notation = notation_of(decimal, thousands, dayfirst)
    use_model.forecast(model, steps, future, after, notation, levels_of(level), out, picture, json)


@refusing()
def timescales(
    source: Annotated[Path, typer.Argument(metavar="DATA|MODEL", help="A data file, or a saved model.")],
    columns: Annotated[
        list[str] | None, typer.Option("--columns", "-c", metavar="NAMES", help="Columns; by default all columns of numbers.")
    ] = None,
    time: TimeOption = None,
    every: EveryOption = None,
    decimal: DecimalOption = None,
    thousands: ThousandsOption = None,
    dayfirst: DayfirstOption = None,
    out: Annotated[
        Path | None, typer.Option(help="A .png or .svg file; by default out/NAME-timescales.png, or next to the model.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show the timescales of data or of a model. Prints a table and writes a picture."""
    with loading():
        from echoscale.app.cli import timescale_tables

    notation = notation_of(decimal, thousands, dayfirst)
    timescale_tables.show(source, named(columns), time, every, notation, out, json)


@refusing()
def doctor(json: Json = False, quiet: Quiet = False) -> None:
    """Show versions and devices."""
    with loading():
        import jax

        import echoscale
        from echoscale.engine.devices import cores

    with working("Looking for devices"):
        devices = [f"{each.platform}:{each.id} ({each.device_kind})" for each in jax.devices()]
    versions = {"echoscale": echoscale.__version__, "python": platform.python_version()}
    for name in (*PACKAGES, *OPTIONAL):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            if name in PACKAGES:
                versions[name] = "missing"
    system = f"{platform.system()} {platform.machine()}, {cores()} cores for echoscale"
    if json:
        print_json({"versions": versions, "system": system, "devices": devices})
        return
    typer.echo("\n".join(f"{name} {number}" for name, number in versions.items()))
    typer.echo(f"system: {system}")
    typer.echo(f"devices: {', '.join(devices)}")


@refusing()
def lab(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")] = 5006,
    host: Annotated[str, typer.Option(help="Address to listen on; by default only this machine can reach it.")] = "127.0.0.1",
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST:PORT", help="Name by which other machines reach the page; can be repeated."),
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
) -> None:
    """Open a live page with sliders for a network. It shows the timescales and the error. Needs echoscale[lab]."""
    if find_spec("bokeh") is None:
        raise ImportError("the lab needs Bokeh: pip install 'echoscale[lab]'.")
    with loading():
        from echoscale.app.live.server import in_url, start

    logging.getLogger("bokeh").setLevel(logging.ERROR)
    logging.getLogger("tornado").setLevel(logging.ERROR)  # no line for every refused request
    warnings.simplefilter("ignore", UserWarning)  # warnings are shown on the page
    server = start(host, port, allow_origin or ())
    typer.echo(f"http://{in_url(host)}:{server.port}/")
    say("Press Ctrl-C to stop.")
    if browser:
        server.io_loop.add_callback(server.show, "/")
    try:
        server.io_loop.start()
    except KeyboardInterrupt:
        # There is nothing to save, but Python would wait for all threads.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


@data_app.command("fetch")
@refusing("Finished files are kept: the same command resumes.")
def data_fetch(
    name: Annotated[str, typer.Argument(help="Name of the data set: mnist.")],
    quiet: Quiet = False,
) -> None:
    """Download a data set into the cache and print its folder. Files in the cache are not downloaded again."""
    from echoscale.tasks import mnist

    if name.lower() != "mnist":
        raise ValueError(f"there is no data set {name!r}: choose mnist.")
    mnist.read("train", progress=not quiet)
    typer.echo(mnist.folder())


def notation_of(decimal: str | None, thousands: str | None, dayfirst: bool | None) -> Notation:
    """The notation of numbers and dates in a data file."""
    from echoscale.data.tables import Notation

    return Notation(decimal, thousands, dayfirst)


def levels_of(text: str) -> tuple[float, ...]:
    """Levels in percent from a list in text."""
    try:
        found = tuple(float(each) for each in text.split(",") if each.strip())
    except ValueError:
        found = ()
    if not found or not all(0 < each < 100 for each in found):
        raise ValueError(f"--level takes percentages separated by commas, such as 80,95; got {text!r}.")
    return tuple(dict.fromkeys(found))
