"""Where jobs run: in this process, or on the workers of a Dask cluster. Both run the same function on the same jobs."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from echoscale.experiments import job
from echoscale.experiments.job import Job, Results


class Outcome(NamedTuple):
    """What became of a job: its results, or what went wrong."""

    results: Results | None
    error: str | None
    seconds: float


class Executor(Protocol):
    """Takes jobs when it has room for them, and yields outcomes as they come, in any order."""

    def run(self, jobs: Iterable[tuple[str, Job]]) -> Iterator[tuple[str, Outcome]]:
        """Keys and jobs -> keys and outcomes."""
        ...


def attempt(task: Job) -> Outcome:
    """Run a job; what it raises becomes part of the outcome, so that others go on."""
    start = time.perf_counter()
    try:
        results = job.run(task)
    except Exception as error:  # whatever a user's task raises
        message = "".join(traceback.format_exception_only(error)).strip()
        return Outcome(None, message, time.perf_counter() - start)
    return Outcome(results, None, time.perf_counter() - start)


class InProcess:
    """One job after another; each uses all cores for its lanes."""

    def run(self, jobs: Iterable[tuple[str, Job]]) -> Iterator[tuple[str, Outcome]]:
        """See `Executor`."""
        for key, task in jobs:
            yield key, attempt(task)
