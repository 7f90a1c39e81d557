"""The sweep itself: jobs from axes, run or read from a folder, and their results as a Dataset with named axes."""

from __future__ import annotations

import json
import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import echoscale
from echoscale._internal.files import make_folder
from echoscale._internal.progress import Progress, shown
from echoscale.network import Network
from echoscale.network.fingerprint import fingerprint, plain
from echoscale.sweeps.axes import Axis, lanes_of, network_at, outer_points, parse
from echoscale.sweeps.folder import write_sweep
from echoscale.sweeps.job import Arrays, Job, Outcome
from echoscale.sweeps.problem import Data, Protocol, Task
from echoscale.sweeps.runner import outcomes
from echoscale.sweeps.scores import point_scores

if TYPE_CHECKING:
    import xarray

# More lanes in one job would not be faster, and a killed run would lose more work.
MOST_LANES = 1024


class Piece(NamedTuple):
    """A job and the place of its points: the place on every outer axis, the first lane, and the number of lanes."""

    job: Job
    key: str
    places: tuple[int, ...]
    first: int
    points: int


class SweepWarning(UserWarning):
    """Some points of a sweep failed; their places hold NaN."""


def sweep(
    network: Network | None,
    problem: Task | Data | str | Callable[..., Any],
    axes: Mapping[str, Any],
    *,
    protocol: Protocol | None = None,
    folder: str | Path | None = None,
    executor: Executor | None = None,
    progress: bool | Progress = False,
) -> xarray.Dataset:
    """Score a network at every point of a grid of hyper-parameters, structures, task parameters and seeds.

    Parameters
    ----------
    network : Network or None
        Network with a fixed description; None if an axis "network" gives it.
    problem : Task, Data, str or callable
        Problem to solve: a `Task`, the name of one of `echoscale.tasks`, your own function, or `Data(u, y)`.
    axes : mapping of names to values
        Axes of the grid: "leak_rate[0]", "spectral_radius", "units", "network", "task.order", "seed" and others, all listed
        in `echoscale.sweeps.axes`. Points that share weights and series run together.
    protocol : Protocol, optional
        How the series are divided, fitted and scored.
    folder : path, optional
        Folder for finished jobs, made if it does not exist. After any interruption, the same call resumes. Several processes
        or machines may share it. Delete it when a helper of your task changes: only the source of the task itself counts.
    executor : concurrent.futures.Executor, optional
        Where jobs run; one after another in this process by default. `echoscale.sweeps.processes` starts processes, and
        `Client.get_executor()` of Dask uses a cluster.
    progress : bool or function
        True for a bar in the terminal; a function is called as progress(done, total, note) with the number of jobs done.

    Returns
    -------
    xarray.Dataset
        One dimension per axis, and the variables test, validation, train (errors) and ridge (the penalty chosen on the
        validation steps). A failed job gives NaN, a `SweepWarning`, and its error and point in the attribute
        "errors".

    Examples
    --------
    >>> import echoscale as es
    >>> from echoscale.sweeps import Protocol
    >>> short = Protocol(washout=100, train=500, validation=200, test=200)
    >>> net = es.hierarchical([20, 20], input_scaling=0.2)
    >>> result = es.sweep(net, "narma", {"seed": range(2), "leak_rate[1]": [0.2, 0.5, 1.0]}, protocol=short)
    >>> dict(result["test"].mean("seed").sizes)
    {'leak_rate[1]': 3}
    """
    chosen = Protocol() if protocol is None else protocol
    if not isinstance(chosen, Protocol):
        raise TypeError(f"protocol must be a Protocol, got {protocol!r}.")
    if executor is not None and not isinstance(executor, Executor):
        raise TypeError(
            f"executor must be an Executor of concurrent.futures, got {executor!r}: use sweeps.processes(n), or "
            "client.get_executor() of a Dask client."
        )
    source = problem if isinstance(problem, Task | Data) else Task(problem)
    parsed = parse(axes)
    pieces = _pieces(network, source, parsed, chosen)
    settings = _settings(network, source, parsed, chosen)
    if folder is not None:
        make_folder(Path(folder))
        write_sweep(Path(folder), _id(settings), settings, [piece.key for piece in pieces])
    start = time.perf_counter()
    found = _outcomes(pieces, folder, executor, progress)
    slots = [Slot(piece.places, piece.first, found[piece.key].results, found[piece.key].error) for piece in pieces]
    data = dataset([(axis.name, axis.kind, axis.labels) for axis in parsed], slots, settings)
    data.attrs.update(
        job_seconds=round(sum(each.seconds for each in found.values()), 2),
        seconds=round(time.perf_counter() - start, 2),
        echoscale=echoscale.__version__,
        **{name: version(name) for name in ("numpy", "scipy", "jax")},
    )
    if failed := data.attrs["failed_jobs"]:
        first = json.loads(data.attrs["errors"])[0]
        message = f"{failed} of {len(pieces)} jobs failed, their points are NaN. The first: {first}"
        warnings.warn(message, SweepWarning, stacklevel=2)
    return data


def _outcomes(
    pieces: Sequence[Piece], folder: str | Path | None, executor: Executor | None, progress: bool | Progress
) -> dict[str, Outcome]:
    """The outcome of every job, by key; progress reports the number of points per second."""
    jobs = {piece.key: piece.job for piece in pieces}
    points = {piece.key: piece.points for piece in pieces}
    found: dict[str, Outcome] = {}
    start, computed = time.perf_counter(), 0
    with shown(progress, "Jobs") as tell, closing(outcomes(jobs, folder, executor)) as ran:
        tell(0, len(jobs), "")
        for key, outcome in ran:
            found[key] = outcome
            computed += 0 if outcome.kept else points[key]
            rate = computed / max(time.perf_counter() - start, 1e-9)
            tell(len(found), len(jobs), f"{rate:,.0f} points/s" if computed else "")
    return found


def _pieces(network: Network | None, problem: Task | Data, axes: Sequence[Axis], protocol: Protocol) -> list[Piece]:
    """The jobs of a sweep, in order."""
    pieces = []
    if isinstance(problem, Data) and any(axis.kind == "task" for axis in axes):
        raise ValueError("an axis of the task needs a Task: Data have no parameters.")
    if isinstance(problem, Data):
        problem.series(protocol.length, 0)  # raises if they are too short
    widths = list(cuts([len(axis.values) for axis in axes if axis.kind == "leaf"], MOST_LANES))
    for places, values in outer_points(axes):
        made = network_at(network, axes, values)
        changed = {axis.what: values[axis.name] for axis in axes if axis.kind == "task"}
        source = problem.with_parameters(**changed) if isinstance(problem, Task) and changed else problem
        seed = values.get("seed", 0)
        seeds = values.get("weights_seed", seed), values.get("task_seed", seed)
        lanes = lanes_of(axes, made)
        for begin, end in widths:
            job = Job.of(
                point_scores,
                network=made,
                problem=source,
                protocol=protocol,
                weights_seed=seeds[0],
                task_seed=seeds[1],
                lanes={name: each[begin:end] for name, each in lanes.items()},
            )
            pieces.append(Piece(job, job.key(), places, begin, end - begin))
    return pieces


def cuts(leaves: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """The cuts of a grid of lanes into jobs: whole slices of its first axis, so that every piece is a grid."""
    count = math.prod(leaves)
    inner = count // (leaves[0] if leaves else 1)
    width = max(most // inner, 1) * inner
    for begin in range(0, count, width):
        yield begin, min(begin + width, count)


def _settings(network: Network | None, problem: Task | Data, axes: Sequence[Axis], protocol: Protocol) -> dict[str, Any]:
    described: dict[str, Any] = plain(
        {
            "network": _written(network),
            "problem": problem.describe(),
            "protocol": asdict(protocol),
            # A list, since the order of the axes is the order of the dimensions and of the lanes.
            "axes": [[axis.name, axis.kind, axis.labels, [_written(each) for each in axis.values]] for axis in axes],
            "lanes_per_job": MOST_LANES,
        }
    )
    return described


def _written(value: object) -> object:
    """Networks in the form that `Network.from_dict` reads."""
    return value.to_dict() if isinstance(value, Network) else value


def _id(settings: Mapping[str, Any]) -> str:
    """The id of a sweep."""
    return fingerprint(settings)[:12]


class Slot(NamedTuple):
    """Results of a job, or its error, with their place on every outer axis and their first lane."""

    places: tuple[int, ...]
    begin: int
    results: Arrays | None
    error: str | None


def dataset(
    names: Sequence[tuple[str, str, Sequence[Any]]], slots: Sequence[Slot], settings: Mapping[str, Any]
) -> xarray.Dataset:
    """Results with named axes, given as (name, kind, labels); NaN where results are missing."""
    import xarray

    outer, leaves = ([each for each in names if (each[1] == "leaf") == on_lanes] for on_lanes in (False, True))
    lanes = math.prod(len(labels) for _, _, labels in leaves)
    variables = ("test", "validation", "train", "ridge")
    flat = {name: np.full((*(len(labels) for _, _, labels in outer), lanes), np.nan) for name in variables}
    errors: dict[str, list[str]] = {}
    for slot in slots:
        if slot.results is not None:
            place: Any = (*slot.places, slice(slot.begin, slot.begin + len(slot.results["test"])))
            for name in variables:
                flat[name][place] = slot.results[name]
        elif slot.error is not None:
            point = ", ".join(f"{name} = {labels[k]}" for (name, _, labels), k in zip(outer, slot.places, strict=True))
            errors.setdefault(slot.error, []).append(point or "all points")
    shape = [len(labels) for _, _, labels in (*outer, *leaves)]
    dims = [name for name, _, _ in (*outer, *leaves)]
    data = xarray.Dataset(
        {name: (dims, values.reshape(shape)) for name, values in flat.items()},
        coords={name: list(labels) for name, _, labels in names},
    )
    data.attrs.update(
        settings=json.dumps(settings, sort_keys=True),
        sweep=_id(settings),
        failed_jobs=sum(map(len, errors.values())),
        errors=json.dumps(
            [f"{error} (at {points[0]}{f'; {len(points) - 1} more' * (len(points) > 1)})" for error, points in errors.items()]
        ),
    )
    return data.transpose(*(name for name, _, _ in names))
