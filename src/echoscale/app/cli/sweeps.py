"""Sweeps: run and resume, list, show, export."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from echoscale.app.cli.output import FAILED, STOPPED, Json, Quiet, keep_compiled_programs, loading, print_json, refusing, say

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import xarray

FOLDER = Path("sweeps")
PATIENCE = 10.0  # seconds to wait for a Dask scheduler and for its first worker

KeptIn = Annotated[Path, typer.Option("--folder", help="Folder of finished jobs.", exists=True, file_okay=False)]
SweepArgument = Annotated[str, typer.Argument(metavar="SWEEP", help="Id of a sweep, or the beginning of the id.")]

sweeps_app = typer.Typer(
    help="List, show and export sweeps whose jobs are kept in a folder.", no_args_is_help=True, rich_markup_mode=None
)


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("sweep")(run)
    app.add_typer(sweeps_app, name="sweeps")


@refusing()
def run(
    spec: Annotated[Path, typer.Argument(help="A TOML file with [network], [task], [axes] and optionally [protocol].")],
    folder: Annotated[Path, typer.Option(help="Folder that keeps finished jobs; the same command resumes.")] = FOLDER,
    out: Annotated[Path | None, typer.Option(help="File for the results: .nc, .csv or .parquet.")] = None,
    scheduler: Annotated[str | None, typer.Option(help="Address of a running Dask scheduler, such as tcp://host:8786.")] = None,
    processes: Annotated[
        int | None, typer.Option(min=1, help="Number of processes on this machine, with one core each.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Score a network at every point of a grid. Finished work is never lost: the same command resumes."""
    keep_compiled_programs()
    with loading():
        from echoscale.sweeps.grid import SweepWarning, sweep
        from echoscale.sweeps.results import best_points, check_target, export
        from echoscale.sweeps.spec import read

    if out is not None:
        check_target(out)
    plan = read(spec)
    try:
        with _executor(scheduler, processes) as executor, warnings.catch_warnings():
            warnings.simplefilter("ignore", SweepWarning)  # errors are printed below
            data = sweep(
                plan.network,
                plan.problem,
                plan.axes,
                protocol=plan.protocol,
                folder=folder,
                executor=executor,
                progress=not quiet,
            )
    except KeyboardInterrupt:
        say(f"Stopped. Finished jobs are in {folder}: the same command resumes.")
        raise typer.Exit(STOPPED) from None
    typer.echo(str(best_points(data)))
    typer.echo(f"Sweep {data.attrs['sweep']} in {folder}.")
    _say_errors(data)
    if out is not None:
        typer.echo(f"Results: {export(data, out)}")
    if data.attrs["failed_jobs"]:
        raise typer.Exit(FAILED)


@contextmanager
def _executor(scheduler: str | None, count: int | None) -> Iterator[Executor | None]:
    """The executor of the jobs: a Dask cluster, processes on this machine, or none."""
    from echoscale.sweeps.runner import processes

    if scheduler and count:
        raise ValueError("give either --scheduler or --processes, not both.")
    if scheduler:
        with _client(scheduler) as client:
            yield client.get_executor()
    else:
        with processes(count) if count else nullcontext() as executor:
            yield executor


def _client(scheduler: str) -> Any:
    """A client of a Dask scheduler with workers; it does not become the default client of the process."""
    try:
        import distributed
    except ImportError as error:
        raise ImportError("a cluster needs Dask: pip install 'echoscale[distributed]'.") from error
    try:
        client = distributed.Client(scheduler, timeout=PATIENCE, set_as_default=False)  # type: ignore[no-untyped-call]
    except ValueError as error:
        raise ValueError(
            f"{scheduler!r} is not the address of a scheduler ({error}): give one like 'tcp://host:8786'."
        ) from error
    except (OSError, TimeoutError) as error:
        raise ConnectionError(f"{scheduler} did not answer within {PATIENCE:g} s: is the scheduler running?") from error
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError as error:
        client.close()  # type: ignore[no-untyped-call]
        raise ConnectionError(f"{scheduler} has no workers after {PATIENCE:g} s: are workers connected to it?") from error
    return client


@sweeps_app.command("list")
@refusing()
def list_sweeps(folder: KeptIn = FOLDER, json: Json = False) -> None:
    """List all sweeps: id, date, and number of jobs (all, done, failed)."""
    from echoscale._internal.table import Table
    from echoscale.sweeps.jobs import sweeps

    rows = tuple(tuple(each.values()) for each in sweeps(folder))
    title = f"{len(rows)} sweep{'s' * (len(rows) != 1)} in {folder}"
    table = Table(("id", "created", "jobs", "done", "failed"), rows, title)
    print_json(table) if json else typer.echo(str(table))


@sweeps_app.command("show")
@refusing()
def show(sweep: SweepArgument, folder: KeptIn = FOLDER) -> None:
    """Show one sweep: settings, axes, best points, errors."""
    from echoscale.app.report.sweeps import short
    from echoscale.sweeps.results import best_points, recall

    data = recall(folder, sweep)
    settings = json.loads(data.attrs["settings"])
    for part in ("network", "problem", "protocol"):
        typer.echo(f"{part}: {json.dumps(settings[part])}")
    for axis, _, labels, _ in settings["axes"]:
        typer.echo(f"{axis}: {', '.join(map(short, labels))}")
    typer.echo(str(best_points(data)))
    _say_errors(data)


@sweeps_app.command("export")
@refusing()
def export_sweep(
    sweep: SweepArgument,
    target: Annotated[Path, typer.Argument(help="A file ending in .nc, .csv or .parquet, or .html for a page.")],
    folder: KeptIn = FOLDER,
) -> None:
    """Write the finished results of a sweep to a file. A page shows the error surface and the best points."""
    from echoscale.app.report import write_report
    from echoscale.sweeps.results import export, recall

    write = write_report if target.suffix.lower() == ".html" else export
    typer.echo(write(recall(folder, sweep), target))


def _say_errors(data: xarray.Dataset) -> None:
    for failure in json.loads(data.attrs["errors"]):
        say(f"Failed: {failure}")
