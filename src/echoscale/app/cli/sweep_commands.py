"""Sweeps: run and resume, list, show, export."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from echoscale.app.cli.output import Json, Quiet, keep_compiled_programs, loading, print_json, refusing

FOLDER = Path("sweeps")
KeptIn = Annotated[Path, typer.Option("--folder", help="Folder of finished jobs.", exists=True, file_okay=False)]

sweeps_app = typer.Typer(help="Sweeps whose jobs are kept in a folder.", no_args_is_help=True, rich_markup_mode=None)


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(sweep)
    app.add_typer(sweeps_app, name="sweeps")


def sweep(
    spec: Annotated[Path, typer.Argument(help="A TOML file with [network], [task], [axes] and, if need be, [protocol].")],
    folder: Annotated[Path, typer.Option(help="Folder that keeps finished jobs; the same command resumes.")] = FOLDER,
    out: Annotated[Path | None, typer.Option(help="Where to write the results: .nc, .csv or .parquet.")] = None,
    scheduler: Annotated[str | None, typer.Option(help="Address of a running Dask scheduler, tcp://host:8786.")] = None,
    processes: Annotated[int | None, typer.Option(min=1, help="Processes to start here, with one core each.")] = None,
    quiet: Quiet = False,
) -> None:
    """Score a network at every point of a grid. Finished work is never lost: the same command resumes."""
    keep_compiled_programs()
    with refusing():
        with loading(quiet):
            from echoscale.app.cli import sweep_runs

        status = sweep_runs.run(spec, folder, out, scheduler, processes, progress=not quiet)
    raise typer.Exit(status)


@sweeps_app.command("list")
def sweeps_list(folder: KeptIn = FOLDER, json: Json = False) -> None:
    """All sweeps: id, date, and jobs: all, done, failed."""
    from echoscale.app.cli import sweep_runs

    with refusing():
        table = sweep_runs.list_sweeps(folder)
    print_json(table) if json else typer.echo(str(table))


@sweeps_app.command("show")
def sweeps_show(
    sweep: Annotated[str, typer.Argument(help="The id of a sweep, or its beginning.")],
    folder: KeptIn = FOLDER,
) -> None:
    """One sweep: settings, axes, the best points, errors."""
    from echoscale.app.cli import sweep_runs

    with refusing():
        sweep_runs.show(folder, sweep)


@sweeps_app.command("export")
def sweeps_export(
    sweep: Annotated[str, typer.Argument(help="The id of a sweep, or its beginning.")],
    target: Annotated[Path, typer.Argument(help="A file that ends in .nc, .csv or .parquet, or .html for a page.")],
    folder: KeptIn = FOLDER,
) -> None:
    """Write the results of a sweep to a file. As far as it is finished: numbers, or a page with the surface and best points."""
    from echoscale.app.report import write_report
    from echoscale.sweeps.results import export, recall

    with refusing():
        write = write_report if target.suffix.lower() == ".html" else export
        typer.echo(write(recall(folder, sweep), target))
