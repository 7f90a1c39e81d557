"""Where jobs run: in this process, or on the workers of a Dask cluster. Both run the same function on the same jobs."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import NamedTuple, Protocol

from echoscale._internal import checks
from echoscale.sweeps.job import Arrays, Check, Job, unchecked

AWAKE = 0.2  # seconds between looks at what the user wants


class Outcome(NamedTuple):
    """What became of a job: its results, or what went wrong."""

    results: Arrays | None
    error: str | None
    seconds: float
    raised: Exception | None = None
    """The error itself, where the job ran in this process."""
    kept: bool = False
    """Whether the ledger had it, and nothing was run."""


class Stopped(BaseException):
    """A job was told to stop half-way. No error of the job, so that nobody takes it for one."""


class Executor(Protocol):
    """Takes jobs when it has room for them, and yields outcomes as they come, in any order."""

    def run(self, jobs: Iterable[tuple[str, Job]]) -> Iterator[tuple[str, Outcome]]:
        """Keys and jobs -> keys and outcomes."""
        ...


def attempt(job: Job, check: Check = unchecked) -> Outcome:
    """Run a job; what it raises becomes part of the outcome, so that others go on."""
    start = time.perf_counter()
    check()
    try:
        results = job.run(check)
    except Exception as error:  # whatever a user's task raises
        message = "".join(traceback.format_exception_only(error)).strip()
        return Outcome(None, message, time.perf_counter() - start, error)
    return Outcome(results, None, time.perf_counter() - start)


class InProcess:
    """Jobs in this process.

    Parameters
    ----------
    threads : int
        How many run at once. With one, which is enough for jobs that use all cores for their lanes, they run in the calling
        thread. With more, whatever ends the run (an error, Ctrl-C) is told to the running jobs by their `check`.

    Examples
    --------
    >>> import echoscale as es
    >>> from echoscale.sweeps import InProcess, Protocol
    >>> short = Protocol(washout=50, train=300, validation=100, test=100)
    >>> result = es.sweep(es.single(20), "narma", {"seed": range(2)}, protocol=short, executor=InProcess(threads=2))
    >>> result.sizes["seed"]
    2
    """

    def __init__(self, threads: int = 1) -> None:
        self.threads = checks.integer(threads, "threads", minimum=1)

    def run(self, jobs: Iterable[tuple[str, Job]]) -> Iterator[tuple[str, Outcome]]:
        """Run jobs, and yield what became of them as they are done.

        Parameters
        ----------
        jobs : iterable of (key, Job)
            Taken one by one, when there is room for them.

        Yields
        ------
        key : str
            Of a job that is done.
        outcome : Outcome
            What became of it.
        """
        if self.threads == 1:
            for key, job in jobs:
                yield key, attempt(job)
            return
        yield from self._on_threads(iter(jobs))

    def _on_threads(self, jobs: Iterator[tuple[str, Job]]) -> Iterator[tuple[str, Outcome]]:
        stop = threading.Event()

        def check() -> None:
            if stop.is_set():
                raise Stopped

        with ThreadPoolExecutor(self.threads) as pool:
            running: dict[Future[Outcome], str] = {}
            try:
                while True:
                    for key, job in islice(jobs, self.threads - len(running)):
                        running[pool.submit(attempt, job, check)] = key
                    if not running:
                        return
                    # Waited for in the order of their beginning: of several that are done, the oldest comes first.
                    # With a timeout, since Ctrl-C just before the wait is seen only after it.
                    done = wait(running, timeout=AWAKE, return_when=FIRST_COMPLETED).done
                    for future in [each for each in running if each in done]:
                        yield running.pop(future), future.result()
            finally:
                stop.set()  # whoever reads no further, by an error or by choice, stops those that run
