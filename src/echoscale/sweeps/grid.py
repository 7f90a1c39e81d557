"""The sweep itself: jobs from axes, finished ones from the ledger, the others from an executor, all as a labelled Dataset."""

from __future__ import annotations

import json
import math
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import echoscale
from echoscale.experiments.executors import Executor, InProcess, Outcome
from echoscale.experiments.job import Job, Results
from echoscale.experiments.ledger import Ledger
from echoscale.experiments.problem import Data, Protocol, Task
from echoscale.fingerprint import fingerprint, plain
from echoscale.network import Network
from echoscale.sweeps.axes import Axis, lanes_of, network_at, outer_points, parse

if TYPE_CHECKING:
    import xarray

# More lanes in one job would gain no speed, but lose more work when a run is killed.
MOST_LANES = 1024
HEARTBEAT, POLL = 5.0, 0.5  # seconds

# told(done, total, points): after every job.
Progress = Callable[[int, int, int], None]


class Piece(NamedTuple):
    """A job, and where its points stand: the place on every outer axis, and the first of its lanes."""

    job: Job
    key: str
    places: tuple[int, ...]
    first: int


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
    progress: Progress | None = None,
) -> xarray.Dataset:
    """Score a network at every point of a grid of hyper-parameters, structures, task parameters and seeds.

    network   what does not vary; None where an axis "network" gives it
    problem   a `Task`, the name of one of `echoscale.tasks`, a function of your own, or `Data(u, y)`
    axes      name -> values, see `echoscale.sweeps.axes`; points that share weights and series run together
    protocol  how the series are cut, fitted and scored
    ledger    an SQLite file that keeps finished jobs: the same call resumes, whatever ended it
    executor  where jobs run; in this process unless given

    Returns a Dataset with one dimension per axis and the variables test, validation, train and ridge (the chosen penalty).
    Where a job failed there is NaN, a `SweepWarning`, and its error in the ledger and in the attribute "errors".
    """
    chosen = Protocol() if protocol is None else protocol
    if not isinstance(chosen, Protocol):
        raise TypeError(f"protocol must be a Protocol, got {protocol!r}.")
    source = problem if isinstance(problem, Task | Data) else Task(problem)
    parsed = parse(axes)
    pieces = _pieces(network, source, parsed, chosen)
    settings = _settings(network, source, parsed, chosen)
    start = time.perf_counter()
    outcomes = _outcomes(pieces, settings, ledger, executor or InProcess(), progress)
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
            job = Job(made, source, protocol, *seeds, {name: each[begin:end] for name, each in lanes.items()})
            pieces.append(Piece(job, job.key(), places, begin))
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
            "network": network,
            "problem": problem.describe(),
            "protocol": protocol,
            # A list, since their order counts: it is that of the dimensions and of the lanes.
            "axes": [[axis.name, axis.kind, axis.labels, axis.values] for axis in axes],
            "lanes_per_job": MOST_LANES,
        }
    )
    return described


def _outcomes(
    pieces: Sequence[Piece],
    settings: Mapping[str, Any],
    ledger: str | Path | None,
    executor: Executor,
    progress: Progress | None,
) -> dict[str, Outcome]:
    """What became of every job, by key; jobs that stand in the ledger are not run again."""
    jobs = {piece.key: piece.job for piece in pieces}
    outcomes: dict[str, Outcome] = {}

    def tell() -> None:
        if progress:
            progress(len(outcomes), len(jobs), sum(jobs[key].points for key in outcomes))

    with ExitStack() as stack:
        kept = stack.enter_context(Ledger(ledger)) if ledger is not None else None
        name = fingerprint(settings)[:12]
        if kept:
            kept.begin(name, settings)
            kept.link(name, [piece.key for piece in pieces])
            stack.enter_context(_beating(kept))
        waiting = deque(jobs)
        while waiting:
            waiting = _collect(kept, waiting, outcomes)
            tell()
            elsewhere: deque[str] = deque()
            with closing(_claimed(kept, waiting, elsewhere, jobs)) as claimed:
                for key, outcome in executor.run(claimed):
                    outcomes[key] = outcome
                    if kept:
                        _record(kept, key, name, outcome)
                    tell()
            waiting = elsewhere  # another process is at these: look again until they are done, or free to be taken over
            if waiting:
                time.sleep(POLL)
    return outcomes


def _collect(kept: Ledger | None, keys: deque[str], outcomes: dict[str, Outcome]) -> deque[str]:
    """Take finished jobs out of the ledger; the keys that are left."""
    if kept is None:
        return keys
    for key, record in kept.finished(list(keys)).items():
        outcomes[key] = Outcome(record.results, None, record.seconds)
    return deque(key for key in keys if key not in outcomes)


def _claimed(
    kept: Ledger | None, waiting: deque[str], elsewhere: deque[str], jobs: Mapping[str, Job]
) -> Generator[tuple[str, Job], None, None]:
    """The jobs that nobody else is at, claimed one by one as the executor asks for them; given back if it is stopped."""
    mine: list[str] = []
    try:
        for key in waiting:
            if kept is not None and not kept.claim(key):
                elsewhere.append(key)
                continue
            mine.append(key)
            yield key, jobs[key]
    finally:
        if kept is not None:
            for key in mine:
                kept.release(key)  # nothing happens to those that are finished


def _record(kept: Ledger, key: str, name: str, outcome: Outcome) -> None:
    if outcome.results is not None:
        kept.finish(key, name, outcome.results, outcome.seconds)
    else:
        kept.fail(key, name, outcome.error or "unknown", outcome.seconds)


@contextmanager
def _beating(kept: Ledger) -> Iterator[None]:
    """Say every few seconds that this process is alive, so that nobody takes over its jobs."""
    stop = threading.Event()

    def beat() -> None:
        while not stop.wait(HEARTBEAT):
            with suppress(OSError, ValueError):  # a beat that cannot be written is no reason to stop working
                kept.heartbeat()

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


class Slot(NamedTuple):
    """Where results belong: the place on every outer axis, and their lanes."""

    places: tuple[int, ...]
    begin: int
    results: Results | None


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
