"""Jobs to outcomes: each is run once, kept in a ledger as soon as it is done, and never run again.

    run = Runner("ledger.sqlite", settings)        # or Runner(): nothing is kept
    for results in run(jobs): ...                  # in the order of the jobs; an interrupted run goes on where it stopped

Before a job is run it is claimed in the ledger. What another process is at is waited for, or taken over when that process dies.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import Any

from echoscale._internal.progress import Progress, shown
from echoscale.network.fingerprint import fingerprint, plain
from echoscale.sweeps.executors import Executor, InProcess, Outcome
from echoscale.sweeps.job import Arrays, Job
from echoscale.sweeps.ledger import Ledger

HEARTBEAT, POLL = 5.0, 0.5  # seconds


class JobError(RuntimeError):
    """A job failed in another process; its message says how."""


class Runner:
    """Runs the jobs of one experiment.

    Parameters
    ----------
    ledger : path, optional
        The SQLite file that keeps finished jobs, made if it is not there. Without it nothing is kept.
    settings : mapping
        What the experiment is, as `echoscale.network.fingerprint.plain` takes it. It stands in the ledger beside the jobs; its
        fingerprint is the experiment's id.
    fresh : bool
        Whether jobs that the ledger has are forgotten and run again.
    progress : bool or function
        True for a bar in the terminal; a function is called as progress(done, total, note) with the number of jobs done.
    what : str
        The word that stands before the bar.

    Examples
    --------
    >>> import echoscale as es
    >>> from echoscale.sweeps import Job
    >>> from echoscale.sweeps import Runner
    >>> from echoscale.sweeps.scores import point_scores
    >>> from echoscale.sweeps import Protocol, Task
    >>> protocol = Protocol(washout=50, train=300, validation=100, test=100)
    >>> jobs = [
    ...     Job.of(point_scores, network=es.single(20), problem=Task("narma"), protocol=protocol, lanes={},
    ...            weights_seed=seed, task_seed=seed)
    ...     for seed in range(2)
    ... ]
    >>> [sorted(results) for results in Runner()(jobs)]
    [['ridge', 'test', 'train', 'validation'], ['ridge', 'test', 'train', 'validation']]
    """

    def __init__(
        self,
        ledger: str | os.PathLike[str] | None = None,
        settings: Mapping[str, Any] | None = None,
        *,
        fresh: bool = False,
        progress: bool | Progress = False,
        what: str = "Jobs",
    ) -> None:
        self.ledger = ledger
        self.settings: dict[str, Any] = plain(dict(settings or {}))
        self.name = fingerprint(self.settings)[:12]
        self.fresh = fresh
        self.progress, self.what = progress, what
        self.seconds = 0.0  # of all jobs one after another, those of earlier runs too

    def __call__(self, jobs: Sequence[Job], threads: int = 1) -> Iterator[Arrays]:
        """The results of jobs in this process, in their order. The first error ends them all; what was done is kept."""
        keys = [job.key() for job in jobs]
        by_key = dict(zip(keys, jobs, strict=True))
        found: dict[str, Arrays] = {}
        waiting = deque(keys)
        with (
            shown(self.progress, self.what) as tell,
            closing(self.outcomes(by_key, InProcess(threads))) as outcomes,
        ):
            tell(0, len(by_key), "")
            for key, outcome in outcomes:
                if outcome.results is None:
                    raise outcome.raised or JobError(outcome.error)
                found[key] = outcome.results
                tell(len(found), len(by_key), "")
                while waiting and waiting[0] in found:
                    yield found[waiting.popleft()]

    def outcomes(self, jobs: Mapping[str, Job], executor: Executor) -> Generator[tuple[str, Outcome], None, None]:
        """What became of every job, by key, as they come: first those that the ledger has, which are not run again.

        Parameters
        ----------
        jobs : mapping of keys to Job
            What to do, each under its `Job.key()`.
        executor : Executor
            Where.
        """
        with ExitStack() as stack:
            kept = stack.enter_context(Ledger(self.ledger)) if self.ledger is not None else None
            if kept:
                kept.begin(self.name, self.settings)
                kept.link(self.name, list(jobs))
                if self.fresh:
                    kept.forget(list(jobs))
                stack.enter_context(_beating(kept))
            waiting = deque(jobs)
            while waiting:
                for key, outcome in _collected(kept, waiting):
                    self.seconds += outcome.seconds
                    yield key, outcome
                elsewhere: deque[str] = deque()
                with closing(_claimed(kept, waiting, elsewhere, jobs)) as claimed, _closing(executor.run(claimed)) as ran:
                    for key, outcome in ran:
                        if kept:
                            _record(kept, key, self.name, outcome)
                        self.seconds += outcome.seconds
                        yield key, outcome
                waiting = elsewhere  # another process is at these: look again until they are done, or free to be taken over
                if waiting:
                    time.sleep(POLL)


def _collected(kept: Ledger | None, waiting: deque[str]) -> list[tuple[str, Outcome]]:
    """Finished jobs out of the ledger; the others stay in `waiting`."""
    if kept is None:
        return []
    found = {key: Outcome(each.results, None, each.seconds, kept=True) for key, each in kept.finished(list(waiting)).items()}
    rest = [key for key in waiting if key not in found]
    waiting.clear()
    waiting.extend(rest)
    return list(found.items())


def _claimed(
    kept: Ledger | None, waiting: Sequence[str], elsewhere: deque[str], jobs: Mapping[str, Job]
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
def _closing(outcomes: Iterator[tuple[str, Outcome]]) -> Iterator[Iterator[tuple[str, Outcome]]]:
    """An executor that is a generator stops its jobs at once when nobody reads on."""
    try:
        yield outcomes
    finally:
        close = getattr(outcomes, "close", None)
        if close:
            close()


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
