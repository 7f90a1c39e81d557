"""Sweeps: run and resume, list, show, export."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from echoscale.app.cli.output import Json, Quiet, keep_compiled_programs, loading, print_json, refusing

sweeps_app = typer.Typer(help="What a ledger of sweeps holds.", no_args_is_help=True, rich_markup_mode=None)
LedgerOption = Annotated[Path, typer.Option(help="The SQLite file.", exists=True, dir_okay=False)]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(sweep)
    app.add_typer(sweeps_app, name="sweeps")


def sweep(
    spec: Annotated[Path, typer.Argument(help="A TOML file with [network], [task], [axes] and, if need be, [protocol].")],
    ledger: Annotated[Path, typer.Option(help="SQLite file that keeps finished jobs; the same command resumes.")] = Path(
        "sweeps.sqlite"
    ),
    out: Annotated[Path | None, typer.Option(help="Where to write the results: .nc, .csv or .parquet.")] = None,
    scheduler: Annotated[str | None, typer.Option(help="A running Dask scheduler, tcp://host:8786.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Local Dask workers to start.")] = None,
    quiet: Quiet = False,
) -> None:
    """Score a network at every point of a grid. Finished work is never lost: the same command resumes."""
    keep_compiled_programs()
    with refusing():
        with loading(quiet):
            from echoscale.app.cli import sweep_runs

        status = sweep_runs.run(spec, ledger, out, scheduler, workers, progress=not quiet)
    raise typer.Exit(status)


@sweeps_app.command("list")
def sweeps_list(ledger: LedgerOption = Path("sweeps.sqlite"), json: Json = False) -> None:
    """All sweeps: id, jobs done, failed and open, seconds."""
    from echoscale.app.cli import sweep_runs

    with refusing():
        table = sweep_runs.list_sweeps(ledger)
    print_json(table) if json else typer.echo(str(table))


@sweeps_app.command("show")
def sweeps_show(
    sweep: Annotated[str, typer.Argument(help="The id of a sweep, or its beginning.")],
    ledger: LedgerOption = Path("sweeps.sqlite"),
) -> None:
    """One sweep: settings, axes, the best points, errors."""
    from echoscale.app.cli import sweep_runs

    with refusing():
        sweep_runs.show(ledger, sweep)


@sweeps_app.command("export")
def sweeps_export(
    sweep: Annotated[str, typer.Argument(help="The id of a sweep, or its beginning.")],
    target: Annotated[Path, typer.Argument(help="A file that ends in .nc, .csv or .parquet, or .html for a page.")],
    ledger: LedgerOption = Path("sweeps.sqlite"),
) -> None:
    """Write the results of a sweep to a file. As far as it is finished: numbers, or a page with the surface and best points."""
    from echoscale.app.report import write_report
    from echoscale.sweeps.archive import export, recall

    with refusing():
        write = write_report if target.suffix.lower() == ".html" else export
        typer.echo(write(recall(ledger, sweep), target))
