"""What the command line does with sweeps: run with a progress bar, list, show. Imported only when one of them is called."""

from __future__ import annotations

import json
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from echoscale._internal.table import Table
from echoscale.sweeps.archive import best_points, check_target, export, recall
from echoscale.sweeps.cluster import Cluster
from echoscale.sweeps.executors import Executor, InProcess
from echoscale.sweeps.grid import SweepWarning, sweep
from echoscale.sweeps.ledger import Ledger
from echoscale.sweeps.spec import read

if TYPE_CHECKING:
    import xarray


def run(
    spec: Path, ledger: Path, out: Path | None, scheduler: str | None, workers: int | None, *, progress: bool = True
) -> int:
    """Run or resume the sweep of a file; the exit status: 0, 1 where jobs failed, 130 for Ctrl-C. Bad input raises."""
    try:
        if out is not None:
            check_target(out)
        plan = read(spec)
        with ExitStack() as stack:
            executor: Executor = InProcess()
            if scheduler or workers:
                executor = stack.enter_context(Cluster(scheduler, workers))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SweepWarning)  # said below, in words
                data = sweep(
                    plan.network,
                    plan.problem,
                    plan.axes,
                    protocol=plan.protocol,
                    ledger=ledger,
                    executor=executor,
                    progress=progress,
                )
    except KeyboardInterrupt:
        typer.echo(f"Stopped. Finished jobs are in {ledger}: the same command goes on from there.", err=True)
        return 130
    typer.echo(str(best_points(data)))
    typer.echo(f"Sweep {data.attrs['sweep']} in {ledger}.")
    _say_errors(data)
    if out is not None:
        typer.echo(f"Results: {export(data, out)}")
    return 1 if data.attrs["failed_jobs"] else 0


def list_sweeps(ledger: Path) -> Table:
    """A table of all sweeps."""
    with Ledger(ledger) as opened:
        rows = tuple(
            (each["id"], each["created"], each["jobs"], each["done"], each["failed"], round(each["seconds"], 1))
            for each in opened.sweeps()
        )
    title = f"{len(rows)} sweep{'s' * (len(rows) != 1)} in {ledger}"
    return Table(("id", "created", "jobs", "done", "failed", "seconds"), rows, title)


def show(ledger: Path, name: str) -> None:
    """Settings, axes, the best points and the errors of one sweep."""
    data = recall(ledger, name)
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
