"""The command line: parse, call, print. Nothing heavy is imported before a command needs it.

Results go to standard output as they are: no line is broken, nothing is markup. Progress and errors go to standard error. An
error is a line; `echoscale --debug ...` shows where it came from.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from echoscale.lab.command import lab

if TYPE_CHECKING:
    from echoscale.paper import Result

app = typer.Typer(
    help="Echo state networks with several timescales.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


_debugging = ContextVar("debugging", default=False)


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error came from.")] = False,
) -> None:
    """Echo state networks with several timescales."""
    _debugging.set(debug)


Fresh = Annotated[bool, typer.Option("--fresh", help="Compute anew, even where data of the same settings are there.")]


@app.command()
def figure(
    numbers: Annotated[list[int], typer.Argument(help="Numbers of figures in the paper: 1 to 9.")],
    scale: Annotated[
        str,
        typer.Option(
            help="smoke (a second), quick (seconds), or paper (all seeds and sizes: minutes; 4 and 6 hours without a GPU)."
        ),
    ] = "quick",
    out: Annotated[Path, typer.Option(help="Folder for pictures and data.")] = Path("out"),
    variant: Annotated[
        str | None, typer.Option(help='Of figure 3, e.g. "lag 1, ridge free"; of figure 4, e.g. "ridge, rho 0.1".')
    ] = None,
    fresh: Fresh = False,
) -> None:
    """Compute and draw figures of the paper: a PNG, and the data as netCDF with all settings and seeds."""
    keep_compiled_programs()
    from echoscale import paper

    unknown = [number for number in numbers if number not in paper.FIGURES]
    if unknown:
        raise typer.BadParameter(f"no figure {unknown[0]}; there are {', '.join(map(str, paper.FIGURES))}.")
    if scale not in paper.SCALES:
        raise typer.BadParameter(f"no scale {scale!r}; there are {', '.join(paper.SCALES)}.")
    for number in numbers:
        with _refusing():
            made = paper.make(number, scale, out, fresh=fresh, progress=True, variant=variant)
        typer.echo(f"{_made(number, scale, made)}, data in {made.file}")


@app.command()
def reproduce(
    scale: Annotated[
        str, typer.Option(help="smoke (seconds), quick (minutes), or paper (all seeds and sizes: hours without a GPU).")
    ] = "quick",
    figures: Annotated[str | None, typer.Option(help="Numbers of figures, 1,3,4; all of them unless given.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for pictures, data and the table.")] = Path("out"),
    fresh: Fresh = False,
) -> None:
    """All figures of the paper, and a table of its main results beside ours. The same command goes on after an interruption."""
    keep_compiled_programs()
    from echoscale.paper import FIGURES
    from echoscale.paper import reproduce as work
    from echoscale.report import reproduction
    from echoscale.table import Table

    with _refusing():
        numbers = [_number(each) for each in figures.split(",")] if figures else list(FIGURES)
        data = {}
        for number, made in work.made(scale, numbers, out, fresh=fresh, progress=True):
            typer.echo(_made(number, scale, made))
            data[number] = made.data
        rows, file = work.write_table(data, scale, out)
        if rows:
            typer.echo(str(Table(work.HEADER, tuple(map(tuple, rows)), f"Headline, {scale} scale")))
        typer.echo(f"Table: {file}")
        typer.echo(f"Report: {reproduction.write(out, scale)}")


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="Where `echoscale reproduce` or `echoscale figure` wrote.")],
    scale: Annotated[str | None, typer.Option(help="smoke, quick or paper; unless given, the largest that is there.")] = None,
) -> None:
    """One page of what the figures in a folder show: claims and verdicts, pictures, data, origin. It opens in any browser."""
    from echoscale.report import reproduction

    with _refusing():
        typer.echo(reproduction.write(folder, scale))


def _made(number: int, scale: str, made: Result) -> str:
    origin = "data of an earlier run" if made.reused else f"computed in {made.data.attrs['seconds']:g} s"
    return f"Figure {number} ({scale}, {origin}): {made.picture}"


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"figures are numbers with commas between them, 1,3,4; got {text!r}.") from None


@app.command()
def sweep(
    spec: Annotated[Path, typer.Argument(help="A TOML file with [network], [task], [axes] and, if need be, [protocol].")],
    ledger: Annotated[Path, typer.Option(help="SQLite file that keeps finished jobs; the same command resumes.")] = Path(
        "sweeps.sqlite"
    ),
    out: Annotated[Path | None, typer.Option(help="Where to write the results: .nc, .csv or .parquet.")] = None,
    scheduler: Annotated[str | None, typer.Option(help="A running Dask scheduler, tcp://host:8786.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Local Dask workers to start.")] = None,
) -> None:
    """Score a network at every point of a grid. Finished work is never lost: the same command resumes."""
    keep_compiled_programs()
    from echoscale.sweeps import commands

    with _refusing():
        status = commands.run(spec, ledger, out, scheduler, workers)
    raise typer.Exit(status)


sweeps_app = typer.Typer(help="What a ledger of sweeps holds.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(sweeps_app, name="sweeps")
LedgerOption = Annotated[Path, typer.Option(help="The SQLite file.", exists=True, dir_okay=False)]


@sweeps_app.command("list")
def sweeps_list(ledger: LedgerOption = Path("sweeps.sqlite")) -> None:
    """All sweeps: id, jobs done, failed and open, seconds."""
    from echoscale.sweeps import commands

    with _refusing():
        commands.list_sweeps(ledger)


@sweeps_app.command("show")
def sweeps_show(
    sweep: Annotated[str, typer.Argument(help="The id of a sweep, or its beginning.")],
    ledger: LedgerOption = Path("sweeps.sqlite"),
) -> None:
    """One sweep: settings, axes, the best points, errors."""
    from echoscale.sweeps import commands

    with _refusing():
        commands.show(ledger, sweep)


@sweeps_app.command("export")
def sweeps_export(
    sweep: Annotated[str, typer.Argument(help="The id of a sweep, or its beginning.")],
    target: Annotated[Path, typer.Argument(help="A file that ends in .nc, .csv or .parquet.")],
    ledger: LedgerOption = Path("sweeps.sqlite"),
) -> None:
    """Write the results of a sweep to a file, as far as it is finished."""
    from echoscale.sweeps.archive import export, recall

    with _refusing():
        typer.echo(export(recall(ledger, sweep), target))


@app.command()
def version() -> None:
    """The version of echoscale and of what it computes with."""
    from importlib.metadata import version as installed

    import echoscale

    typer.echo(f"echoscale {echoscale.__version__}")
    for name in ("jax", "numpy", "scipy", "scikit-learn"):
        typer.echo(f"{name} {installed(name)}")


app.command()(lab)


@contextmanager
def _refusing() -> Iterator[None]:
    """What the user can mend is told in a line, with exit status 2; all else too, with 1. Nothing is shown but by --debug."""
    try:
        yield
    except (typer.Exit, typer.Abort, typer.BadParameter, BrokenPipeError):
        raise
    except Exception as error:
        if _debugging.get():
            raise
        if isinstance(error, ValueError | TypeError | ImportError | OSError):
            typer.echo(f"Error: {error or type(error).__name__}", err=True)
            raise typer.Exit(2) from error
        said = f"{type(error).__name__}: {error}"
        typer.echo(f"Error: {said}. This should not happen: please report it, with what `echoscale --debug` shows.", err=True)
        raise typer.Exit(1) from error


def keep_compiled_programs() -> None:
    """Keep what JAX compiles between runs of the program, in the user's cache folder, unless the user chose a place."""
    from echoscale.files import cache_of

    try:
        home = Path.home()
    except RuntimeError:  # nobody's: programs are never taken from where others may write
        return
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache_of(sys.platform, os.environ, home) / "jax"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")


def main() -> None:
    """The entry point of the `echoscale` command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without the signs of a table is no reason to fail
            stream.reconfigure(errors="backslashreplace")
    app()
