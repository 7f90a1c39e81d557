"""`sweep`: jobs from axes, run or read from a folder, and their results as a Dataset with named axes."""

from __future__ import annotations

import json
import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import asdict
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import echoscale
from echoscale._internal import executors
from echoscale._internal.files import make_folder
from echoscale._internal.progress import Progress, shown
from echoscale.network import Network
from echoscale.network.fingerprint import plain
from echoscale.sweeps.axes import Axis, lanes_of, network_at, outer_points, parse
from echoscale.sweeps.jobs import Job, Outcome, id_of, write_sweep
from echoscale.sweeps.problem import Data, Protocol, Task
from echoscale.sweeps.runner import outcomes
from echoscale.sweeps.scores import point_scores

if TYPE_CHECKING:
    import xarray

# More lanes in one job would not be faster, and a killed run would lose more work.
MOST_LANES = 1024


class SweepWarning(UserWarning):
    """Some points of a sweep failed; their results are NaN."""


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
        Description of the network; None if an axis "network" gives it.
    problem : Task, Data, str or callable
        Problem to solve: a `Task`, the name of a task in `echoscale.tasks`, your own function, or `Data(u, y)`.
    axes : mapping of names to values
        Axes of the grid: "leak_rate[0]", "spectral_radius", "units", "network", "task.order", "seed" and others, all listed
        in `echoscale.sweeps.axes`. Points that share weights and series run together.
    protocol : Protocol, optional
        How the series are divided, fitted and scored.
    folder : path, optional
        Folder for finished jobs, made if it does not exist. After an interruption, the same call resumes. Several processes
        or machines can share the folder. Delete it when a helper of your task changes: only the source of the task is checked.
    executor : concurrent.futures.Executor, optional
        Executor of the jobs, such as `echoscale.sweeps.processes`, or `Client.get_executor()` of Dask for a cluster. By default
        jobs run one after another in this process.
    progress : bool or function
        True shows a bar; a function is called as progress(done, total, note) with the number of finished jobs.

    Returns
    -------
    xarray.Dataset
        One dimension per axis, and the variables test, validation, train (errors) and ridge (penalty chosen on the validation
        steps). A failed job gives NaN, a `SweepWarning`, and its error and point in the attribute "errors".

    See Also
    --------
    tune : Learn hyper-parameters by gradients instead of a grid.

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
    executors.check(executor)
    source = problem if isinstance(problem, Task | Data) else Task(problem)
    parsed = parse(axes)
    jobs = _jobs(network, source, parsed, chosen)
    keys = [job.key() for job in jobs]
    settings = _settings(network, source, parsed, chosen)
    if folder is not None:
        make_folder(Path(folder))
        write_sweep(Path(folder), settings, keys)
    start = time.perf_counter()
    found = _outcomes(dict(zip(keys, jobs, strict=True)), folder, executor, progress)
    data = dataset(settings, [found[key] for key in keys])
    data.attrs.update(
        job_seconds=round(sum(each.seconds for each in found.values()), 2),
        seconds=round(time.perf_counter() - start, 2),
        echoscale=echoscale.__version__,
        **{name: version(name) for name in ("numpy", "scipy", "jax")},
    )
    if failed := data.attrs["failed_jobs"]:
        first = json.loads(data.attrs["errors"])[0]
        message = f"{failed} of {len(jobs)} jobs failed, their points are NaN. First error: {first}"
        warnings.warn(message, SweepWarning, stacklevel=2)
    return data


def _outcomes(
    jobs: Mapping[str, Job], folder: str | Path | None, executor: Executor | None, progress: bool | Progress
) -> dict[str, Outcome]:
    """The outcome of every job, by key; progress reports the number of points per second."""
    found: dict[str, Outcome] = {}
    start, computed = time.perf_counter(), 0
    with shown(progress, "Jobs") as tell, closing(outcomes(jobs, folder, executor)) as ran:
        tell(0, len(jobs), "")
        for key, outcome in ran:
            found[key] = outcome
            computed += 0 if outcome.kept or outcome.results is None else len(outcome.results["test"])
            rate = computed / max(time.perf_counter() - start, 1e-9)
            tell(len(found), len(jobs), f"{rate:,.0f} points/s" if computed else "")
    return found


def _jobs(network: Network | None, problem: Task | Data, axes: Sequence[Axis], protocol: Protocol) -> list[Job]:
    """The jobs of a sweep: outer points one after another, and the pieces of the grid of lanes for each."""
    if isinstance(problem, Data):
        if any(axis.kind == "task" for axis in axes):
            raise ValueError("an axis of the task needs a Task: Data have no parameters.")
        problem.series(protocol.length, 0)  # raises if they are too short
    jobs = []
    cuts = _cuts([len(axis.values) for axis in axes if axis.kind == "leaf"], MOST_LANES)
    for values in outer_points(axes):
        made = network_at(network, axes, values)
        changed = {axis.what: values[axis.name] for axis in axes if axis.kind == "task"}
        source = problem.with_parameters(**changed) if isinstance(problem, Task) and changed else problem
        seed = values.get("seed", 0)
        lanes = lanes_of(axes, made)
        jobs += [
            Job.of(
                point_scores,
                network=made,
                problem=source,
                protocol=protocol,
                weights_seed=values.get("weights_seed", seed),
                task_seed=values.get("task_seed", seed),
                lanes={name: each[some] for name, each in lanes.items()},
            )
            for some in cuts
        ]
    return jobs


def _cuts(leaves: Sequence[int], most: int) -> list[slice]:
    """The cuts of a grid of lanes into jobs: whole slices of the first axis, so every piece is a grid."""
    count = math.prod(leaves)
    inner = count // (leaves[0] if leaves else 1)
    width = max(most // inner, 1) * inner
    return [slice(begin, min(begin + width, count)) for begin in range(0, count, width)]


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


def dataset(settings: Mapping[str, Any], found: Sequence[Outcome]) -> xarray.Dataset:
    """The outcomes of all jobs of a sweep, in order, with named axes; NaN where results are missing."""
    import xarray

    names = [(name, kind, labels) for name, kind, labels, _ in settings["axes"]]
    outer, leaves = ([each for each in names if (each[1] == "leaf") == on_lanes] for on_lanes in (False, True))
    cuts = _cuts([len(labels) for _, _, labels in leaves], settings["lanes_per_job"])
    places: Any = product(*(range(len(labels)) for _, _, labels in outer), cuts)
    lanes = math.prod(len(labels) for _, _, labels in leaves)
    variables = ("test", "validation", "train", "ridge")
    flat = {name: np.full((*(len(labels) for _, _, labels in outer), lanes), np.nan) for name in variables}
    errors: dict[str, list[str]] = {}
    for place, outcome in zip(places, found, strict=True):
        if outcome.results is not None:
            for name in variables:
                flat[name][place] = outcome.results[name]
        elif outcome.error is not None:
            point = ", ".join(f"{name} = {labels[k]}" for (name, _, labels), k in zip(outer, place[:-1], strict=True))
            errors.setdefault(outcome.error, []).append(point or "all points")
    shape = [len(labels) for _, _, labels in (*outer, *leaves)]
    dims = [name for name, _, _ in (*outer, *leaves)]
    data = xarray.Dataset(
        {name: (dims, values.reshape(shape)) for name, values in flat.items()},
        coords={name: list(labels) for name, _, labels in names},
    )
    data.attrs.update(
        settings=json.dumps(settings, sort_keys=True),
        sweep=id_of(settings),
        failed_jobs=sum(map(len, errors.values())),
        errors=json.dumps(
            [f"{error} (at {points[0]}{f'; {len(points) - 1} more' * (len(points) > 1)})" for error, points in errors.items()]
        ),
    )
    return data.transpose(*(name for name, _, _ in names))
