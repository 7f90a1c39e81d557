"""The sweep itself: jobs from axes, finished ones from the ledger, the others from an executor, all as a labelled Dataset."""

from __future__ import annotations

import json
import math
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import echoscale
from echoscale._internal.progress import Progress, shown
from echoscale.network import Network
from echoscale.network.fingerprint import fingerprint, plain
from echoscale.sweeps.axes import Axis, lanes_of, network_at, outer_points, parse
from echoscale.sweeps.executors import Executor, InProcess, Outcome
from echoscale.sweeps.job import Arrays, Job
from echoscale.sweeps.protocol import Protocol
from echoscale.sweeps.runner import Runner
from echoscale.sweeps.scores import point_scores
from echoscale.sweeps.task import Data, Task

if TYPE_CHECKING:
    import xarray

# More lanes in one job would gain no speed, but lose more work when a run is killed.
MOST_LANES = 1024


class Piece(NamedTuple):
    """A job, and where its points stand: the place on every outer axis, the first of its lanes, and how many they are."""

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
    ledger: str | Path | None = None,
    executor: Executor | None = None,
    progress: bool | Progress = False,
) -> xarray.Dataset:
    """Score a network at every point of a grid of hyper-parameters, structures, task parameters and seeds.

    Parameters
    ----------
    network : Network or None
        What does not vary; None where an axis "network" gives it.
    problem : Task, Data, str or callable
        What is solved: a `Task`, the name of one of `echoscale.tasks`, a function of your own, or `Data(u, y)`.
    axes : mapping of names to values
        What varies: "leak_rate[0]", "spectral_radius", "units", "network", "task.order", "seed" and others; all of them are
        listed in `echoscale.sweeps.axes`. Points that share weights and series run together.
    protocol : Protocol, optional
        How the series are cut, fitted and scored.
    ledger : path, optional
        An SQLite file that keeps finished jobs: the same call resumes, whatever ended it.
    executor : Executor, optional
        Where jobs run: `InProcess()` unless given, or a `Cluster`.
    progress : bool or function
        True for a bar in the terminal; a function is called as progress(done, total, note) with the number of jobs done.

    Returns
    -------
    xarray.Dataset
        One dimension per axis, and the variables test, validation, train (errors) and ridge (the penalty that was chosen on
        the validation steps). Where a job failed there is NaN, a `SweepWarning`, and its error in the ledger and in the
        attribute "errors".

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
    source = problem if isinstance(problem, Task | Data) else Task(problem)
    parsed = parse(axes)
    pieces = _pieces(network, source, parsed, chosen)
    settings = _settings(network, source, parsed, chosen)
    start = time.perf_counter()
    outcomes = _outcomes(pieces, Runner(ledger, settings), executor or InProcess(), progress)
    errors: dict[str, str] = {key: each.error for key, each in outcomes.items() if each.error}
    slots = [Slot(piece.places, piece.first, outcomes[piece.key].results) for piece in pieces]
    data = dataset([(axis.name, axis.kind, axis.labels) for axis in parsed], slots, settings, errors.values())
    data.attrs.update(
        job_seconds=round(sum(each.seconds for each in outcomes.values()), 2),
        seconds=round(time.perf_counter() - start, 2),
        echoscale=echoscale.__version__,
        **{name: version(name) for name in ("numpy", "scipy", "jax")},
    )
    if errors:
        first = next(iter(errors.values()))
        message = f"{len(errors)} of {len(outcomes)} jobs failed, their points are NaN. The first: {first}"
        warnings.warn(message, SweepWarning, stacklevel=2)
    return data


def _outcomes(pieces: Sequence[Piece], runner: Runner, executor: Executor, progress: bool | Progress) -> dict[str, Outcome]:
    """What became of every job, by key; told on the way, with the points that are computed in a second."""
    points = {piece.key: piece.points for piece in pieces}
    outcomes: dict[str, Outcome] = {}
    start, computed = time.perf_counter(), 0
    with shown(progress, "Jobs") as tell:
        tell(0, len(points), "")
        for key, outcome in runner.outcomes({piece.key: piece.job for piece in pieces}, executor):
            outcomes[key] = outcome
            computed += 0 if outcome.kept else points[key]
            rate = computed / max(time.perf_counter() - start, 1e-9)
            tell(len(outcomes), len(points), f"{rate:,.0f} points/s" if computed else "")
    return outcomes


def _pieces(network: Network | None, problem: Task | Data, axes: Sequence[Axis], protocol: Protocol) -> list[Piece]:
    """The jobs of a sweep, in order."""
    pieces = []
    if isinstance(problem, Data) and any(axis.kind == "task" for axis in axes):
        raise ValueError("an axis of the task needs a Task: Data have no parameters.")
    if isinstance(problem, Data):
        problem.series(protocol.length, 0)  # raises where they are too short
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
    """Where the lanes of a grid of leaves are cut into jobs: whole slices of its first axis, so that every piece is a grid."""
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
            # A list, since their order counts: it is that of the dimensions and of the lanes.
            "axes": [[axis.name, axis.kind, axis.labels, [_written(each) for each in axis.values]] for axis in axes],
            "lanes_per_job": MOST_LANES,
        }
    )
    return described


def _written(value: object) -> object:
    """Networks as `Network.from_dict` reads them."""
    return value.to_dict() if isinstance(value, Network) else value


class Slot(NamedTuple):
    """Where results belong: the place on every outer axis, and their lanes."""

    places: tuple[int, ...]
    begin: int
    results: Arrays | None


def dataset(
    names: Sequence[tuple[str, str, Sequence[Any]]],
    slots: Sequence[Slot],
    settings: Mapping[str, Any],
    errors: Collection[str],
) -> xarray.Dataset:
    """Results with named axes, given as (name, kind, labels); NaN where there are none. `errors`: one of every failed job."""
    import xarray

    outer, leaves = ([each for each in names if (each[1] == "leaf") == on_lanes] for on_lanes in (False, True))
    lanes = math.prod(len(labels) for _, _, labels in leaves)
    variables = ("test", "validation", "train", "ridge")
    flat = {name: np.full((*(len(labels) for _, _, labels in outer), lanes), np.nan) for name in variables}
    for slot in slots:
        if slot.results is not None:
            place: Any = (*slot.places, slice(slot.begin, slot.begin + len(slot.results["test"])))
            for name in variables:
                flat[name][place] = slot.results[name]
    shape = [len(labels) for _, _, labels in (*outer, *leaves)]
    dims = [name for name, _, _ in (*outer, *leaves)]
    data = xarray.Dataset(
        {name: (dims, values.reshape(shape)) for name, values in flat.items()},
        coords={name: list(labels) for name, _, labels in names},
    )
    data.attrs.update(
        settings=json.dumps(settings, sort_keys=True),
        sweep=fingerprint(settings)[:12],
        failed_jobs=len(errors),
        errors=json.dumps(sorted(set(errors))),
    )
    return data.transpose(*(name for name, _, _ in names))
