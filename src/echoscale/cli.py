"""The command line: parse, call, print. Nothing heavy is imported before a command needs it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from echoscale.paper import Result

app = typer.Typer(
    help="Echo state networks with several timescales.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


# Paths are printed as they are: brackets are no markup, and long lines are not broken.
PLAIN: dict[str, Any] = {"highlight": False, "markup": False, "soft_wrap": True}
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
    from rich.console import Console

    console = Console()
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
        console.print(f"{_made(number, scale, made)}, data in {made.file}", **PLAIN)


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
    from rich.console import Console
    from rich.table import Table

    console = Console()
    keep_compiled_programs()
    from echoscale.paper import FIGURES
    from echoscale.paper import reproduce as work

    with _refusing():
        numbers = [_number(each) for each in figures.split(",")] if figures else list(FIGURES)
        data = {}
        for number, made in work.made(scale, numbers, out, fresh=fresh, progress=True):
            console.print(_made(number, scale, made), **PLAIN)
            data[number] = made.data
        rows, file = work.write_table(data, scale, out)
    if rows:
        table = Table(*work.HEADER, title=f"Headline, {scale} scale")
        for row in rows:
            table.add_row(*row)
        console.print(table)
    console.print(f"Table: {file}", **PLAIN)


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
    from rich.console import Console

    console = Console()
    keep_compiled_programs()
    from echoscale.sweeps import commands

    raise typer.Exit(commands.run(spec, ledger, out, scheduler, workers, console))


sweeps_app = typer.Typer(help="What a ledger of sweeps holds.", no_args_is_help=True)
app.add_typer(sweeps_app, name="sweeps")
LedgerOption = Annotated[Path, typer.Option(help="The SQLite file.", exists=True, dir_okay=False)]


@sweeps_app.command("list")
def sweeps_list(ledger: LedgerOption = Path("sweeps.sqlite")) -> None:
    """All sweeps: id, jobs done, failed and open, seconds."""
    from rich.console import Console

    from echoscale.sweeps import commands

    with _refusing():
        commands.list_sweeps(ledger, Console())


@sweeps_app.command("show")
def sweeps_show(
    sweep: Annotated[str, typer.Argument(help="The id of a sweep, or its beginning.")],
    ledger: LedgerOption = Path("sweeps.sqlite"),
) -> None:
    """One sweep: settings, axes, the best points, errors."""
    from rich.console import Console

    from echoscale.sweeps import commands

    with _refusing():
        commands.show(ledger, sweep, Console())


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


@contextmanager
def _refusing() -> Iterator[None]:
    """What the user can mend is told in a line, with exit status 2."""
    try:
        yield
    except (ValueError, ImportError, OSError) as error:
        raise typer.BadParameter(str(error)) from error


def keep_compiled_programs() -> None:
    """Keep what JAX compiles between runs of the program, in the user's cache folder, unless the user chose a place."""
    from echoscale.files import cache_of

    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache_of(sys.platform, os.environ, Path.home()) / "jax"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")


def main() -> None:
    """The entry point of the `echoscale` command."""
    app()
