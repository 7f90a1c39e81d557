"""Figures of the paper, all of them, and the page about them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from echoscale.app.cli.output import Quiet, keep_compiled_programs, loading, refusing

if TYPE_CHECKING:
    from paper import Result

Fresh = Annotated[bool, typer.Option("--fresh", help="Compute anew, even where data of the same settings are there.")]
GO_ON = "Finished figures are kept: the same command goes on from there."


def add_to(app: typer.Typer) -> None:
    """Add the commands.

    Parameters
    ----------
    app : typer.Typer
        Of the whole program.
    """
    app.command()(figure)
    app.command()(reproduce)
    app.command()(report)


def figure(
    numbers: Annotated[list[int], typer.Argument(help="Numbers of figures in the paper: 1 to 9.")],
    scale: Annotated[
        str,
        typer.Option(
            help="smoke (seconds), quick (up to a minute), or paper (all seeds and sizes: minutes; figures 4 and 6 take hours "
            "without a GPU)."
        ),
    ] = "quick",
    out: Annotated[Path, typer.Option(help="Folder for pictures and data.")] = Path("out"),
    variant: Annotated[
        str | None, typer.Option(help='Of figure 3, e.g. "lag 1, ridge free"; of figure 4, e.g. "ridge, rho 0.1".')
    ] = None,
    fresh: Fresh = False,
    quiet: Quiet = False,
) -> None:
    """Compute and draw figures of the paper. A PNG each, and the data as netCDF with all settings and seeds."""
    keep_compiled_programs()
    with refusing(), loading(quiet):
        import paper

    unknown = [number for number in numbers if number not in paper.FIGURES]
    if unknown:
        raise typer.BadParameter(f"no figure {unknown[0]}; there are {', '.join(map(str, paper.FIGURES))}.")
    if scale not in paper.SCALES:
        raise typer.BadParameter(f"no scale {scale!r}; there are {', '.join(paper.SCALES)}.")
    for number in numbers:
        with refusing(GO_ON):
            made = paper.make(number, scale, out, fresh=fresh, progress=not quiet, variant=variant)
        typer.echo(f"{_made(number, scale, made)}, data in {made.file}")


def reproduce(
    scale: Annotated[
        str, typer.Option(help="smoke (a minute), quick (minutes), or paper (all seeds and sizes: hours without a GPU).")
    ] = "quick",
    figures: Annotated[str | None, typer.Option(help="Numbers of figures, 1,3,4; all of them unless given.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for pictures, data and the table.")] = Path("out"),
    fresh: Fresh = False,
    quiet: Quiet = False,
) -> None:
    """All figures of the paper, and its main results beside ours. The same command goes on after an interruption."""
    keep_compiled_programs()
    with refusing(), loading(quiet):
        from echoscale._internal.table import Table
        from paper import FIGURES
        from paper import report as reproduction
        from paper import reproduce as work

    with refusing(GO_ON):
        numbers = [_number(each) for each in figures.split(",")] if figures else list(FIGURES)
        data, start = {}, time.perf_counter()
        for number, made in work.made(scale, numbers, out, fresh=fresh, progress=not quiet):
            data[number] = made.data
            typer.echo(f"{_made(number, scale, made)} ({len(data)} of {len(numbers)})")
        if not quiet:
            typer.echo(f"All figures: {time.perf_counter() - start:.0f} s", err=True)
        rows, file = work.write_table(data, scale, out)
        if rows:
            typer.echo(str(Table(work.HEADER, tuple(map(tuple, rows)), f"Headline, {scale} scale")))
            if scale != "paper" and not quiet:
                typer.echo(work.CAUTION, err=True)
        typer.echo(f"Table: {file}")
        typer.echo(f"Report: {reproduction.write(out, scale)}")


def report(
    folder: Annotated[Path, typer.Argument(help="Where `echoscale reproduce` or `echoscale figure` wrote.")],
    scale: Annotated[str | None, typer.Option(help="smoke, quick or paper; unless given, the largest that is there.")] = None,
) -> None:
    """One page of what the figures in a folder show. Claims and verdicts, pictures, data, origin. It opens in any browser."""
    from paper import report as reproduction

    with refusing():
        typer.echo(reproduction.write(folder, scale))


def _made(number: int, scale: str, made: Result) -> str:
    origin = "data of an earlier run" if made.reused else f"computed in {made.data.attrs['seconds']:g} s"
    return f"Figure {number} ({scale}, {origin}): {made.picture}"


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"figures are numbers with commas between them, 1,3,4; got {text!r}.") from None
