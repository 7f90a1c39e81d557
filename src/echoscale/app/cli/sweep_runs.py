"""Sweeps on the command line: run with a progress bar, list, show. Imported only when needed."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from echoscale._internal.table import Table
from echoscale.sweeps.grid import SweepWarning, sweep
from echoscale.sweeps.jobs import sweeps
from echoscale.sweeps.results import best_points, check_target, export, recall
from echoscale.sweeps.runner import processes
from echoscale.sweeps.spec import read

if TYPE_CHECKING:
    import xarray

PATIENCE = 10.0  # seconds to wait for a Dask scheduler, and for its first worker


def run(spec: Path, folder: Path, out: Path | None, scheduler: str | None, count: int | None, *, progress: bool = True) -> int:
    """Run or resume the sweep of a file; returns the exit status: 0, 1 if jobs failed, 130 for Ctrl-C. Bad input raises."""
    try:
        if out is not None:
            check_target(out)
        plan = read(spec)
        with _executor(scheduler, count) as executor, warnings.catch_warnings():
            warnings.simplefilter("ignore", SweepWarning)  # said below, in words
            data = sweep(
                plan.network,
                plan.problem,
                plan.axes,
                protocol=plan.protocol,
                folder=folder,
                executor=executor,
                progress=progress,
            )
    except KeyboardInterrupt:
        typer.echo(f"Stopped. Finished jobs are in {folder}: the same command goes on from there.", err=True)
        return 130
    typer.echo(str(best_points(data)))
    typer.echo(f"Sweep {data.attrs['sweep']} in {folder}.")
    _say_errors(data)
    if out is not None:
        typer.echo(f"Results: {export(data, out)}")
    return 1 if data.attrs["failed_jobs"] else 0


@contextmanager
def _executor(scheduler: str | None, count: int | None) -> Iterator[Executor | None]:
    """The executor of the jobs: a Dask cluster, processes of this machine, or none."""
    if scheduler and count:
        raise ValueError("give either --scheduler or --processes.")
    if scheduler:
        with _client(scheduler) as client:
            yield client.get_executor()
    else:
        with processes(count) if count else nullcontext() as executor:
            yield executor


def _client(scheduler: str) -> Any:
    """A client of a Dask scheduler with workers, which does not become the default of the process."""
    try:
        import distributed
    except ImportError as error:
        raise ImportError("a cluster needs Dask: pip install 'echoscale[distributed]'.") from error
    try:
        client = distributed.Client(scheduler, timeout=PATIENCE, set_as_default=False)  # type: ignore[no-untyped-call]
    except ValueError as error:
        raise ValueError(f"{scheduler!r} is no address of a scheduler ({error}): give one like 'tcp://host:8786'.") from error
    except (OSError, TimeoutError) as error:
        raise ConnectionError(f"{scheduler} did not answer within {PATIENCE:g} s: is the scheduler running?") from error
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError as error:
        client.close()  # type: ignore[no-untyped-call]
        raise ConnectionError(f"{scheduler} has no workers after {PATIENCE:g} s: are workers connected to it?") from error
    return client


def list_sweeps(folder: Path) -> Table:
    """A table of all sweeps."""
    rows = tuple(tuple(each.values()) for each in sweeps(folder))
    return Table(("id", "created", "jobs", "done", "failed"), rows, f"{len(rows)} sweep{'s' * (len(rows) != 1)} in {folder}")


def show(folder: Path, name: str) -> None:
    """Settings, axes, the best points and the errors of one sweep."""
    data = recall(folder, name)
    settings = json.loads(data.attrs["settings"])
    for part in ("network", "problem", "protocol"):
        typer.echo(f"{part}: {json.dumps(settings[part])}")
    for axis, _, labels, _ in settings["axes"]:
        typer.echo(f"{axis}: {', '.join(f'{each:.6g}' if isinstance(each, float) else str(each) for each in labels)}")
    typer.echo(str(best_points(data)))
    _say_errors(data)


def _say_errors(data: xarray.Dataset) -> None:
    for failure in json.loads(data.attrs["errors"]):
        typer.echo(f"Failed: {failure}", err=True)
