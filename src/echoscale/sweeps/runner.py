"""Run jobs, save each job as soon as it is finished, and never run a finished job again.

    run = Runner("folder")             # or Runner(): nothing is saved
    for results in run(jobs): ...      # in the order of the jobs; an interrupted run resumes

Jobs run in this process, or on any executor of `concurrent.futures`: threads, `processes`, or a Dask cluster by its
`Client.get_executor()`. Only this process writes files, so workers need no shared disk.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext, suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from random import SystemRandom
from uuid import uuid4

from echoscale._internal import checks
from echoscale._internal.executors import finished
from echoscale._internal.files import make_folder
from echoscale._internal.progress import Progress, shown
from echoscale.sweeps.jobs import Arrays, Check, Job, Outcome, file_of, forget, read, unchecked, write

# Jobs given to an executor at once: enough for a thousand workers; the arguments of more jobs would only fill its memory.
AHEAD = 1000
PATIENCE = 1.0  # seconds for processes to drop waiting jobs
# Set before NumPy is imported: processes that each use all cores would slow each other down.
ONE_CORE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class JobError(RuntimeError):
    """A job failed in another process; the message holds its error."""


class Stopped(BaseException):
    """A running job was stopped. It is not an Exception, so that no job handles it as its own error."""


class Runner:
    """Run jobs in this process and return their results in order.

    Parameters
    ----------
    folder : path, optional
        Folder for finished jobs, made if it does not exist. By default nothing is saved.
    fresh : bool
        Whether to forget finished jobs and run them again.
    progress : bool or function
        True shows a bar; a function is called as progress(done, total, note) with the number of finished jobs.
    what : str
        Word before the bar.

    Examples
    --------
    >>> import echoscale as es
    >>> from echoscale.sweeps import Job, Protocol, Runner, Task
    >>> from echoscale.sweeps.scores import point_scores
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
        folder: str | os.PathLike[str] | None = None,
        *,
        fresh: bool = False,
        progress: bool | Progress = False,
        what: str = "Jobs",
    ) -> None:
        self.folder, self.fresh = folder, fresh
        self.progress, self.what = progress, what
        self.seconds = 0.0  # total time of all jobs, also of finished jobs of earlier runs

    def __call__(self, jobs: Sequence[Job], threads: int = 1) -> Iterator[Arrays]:
        """Results of jobs in their order. The first error ends the run; finished jobs are kept."""
        keys = [job.key() for job in jobs]
        by_key = dict(zip(keys, jobs, strict=True))
        found: dict[str, Arrays] = {}
        waiting = deque(keys)
        threads = checks.integer(threads, "threads", minimum=1)
        pool = ThreadPoolExecutor(threads) if threads > 1 else nullcontext()
        with (
            shown(self.progress, self.what) as tell,
            pool as executor,
            closing(outcomes(by_key, self.folder, executor, fresh=self.fresh, at_once=threads)) as ran,
        ):
            tell(0, len(by_key), "")
            for key, outcome in ran:
                if outcome.results is None:
                    raise outcome.raised or JobError(outcome.error)
                self.seconds += outcome.seconds
                found[key] = outcome.results
                tell(len(found), len(by_key), "")
                while waiting and waiting[0] in found:
                    yield found[waiting.popleft()]


def outcomes(
    jobs: Mapping[str, Job],
    folder: str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
    *,
    fresh: bool = False,
    at_once: int = AHEAD,
    until: float = math.inf,
) -> Generator[tuple[str, Outcome], None, None]:
    """Yield key and outcome of every job in the order they finish; finished jobs of the folder come first, without a run.

    Parameters
    ----------
    jobs : mapping of keys to Job
        Jobs, each under its `Job.key()`.
    folder : path, optional
        Folder for finished jobs.
    executor : concurrent.futures.Executor, optional
        Executor of the jobs; by default jobs run one after another in this process.
    fresh : bool
        Whether to forget finished jobs and run them again.
    at_once : int
        Number of jobs given to the executor at once.
    until : float
        Time of `time.monotonic` after which no further job begins.
    """
    place = None if folder is None else Path(folder)
    waiting = list(jobs)
    if place is not None:
        make_folder(place)
        waiting = []
        for key in jobs:
            if fresh:
                forget(file_of(place, key))
            if (outcome := read(file_of(place, key))) is None:
                waiting.append(key)
            else:
                yield key, outcome
        SystemRandom().shuffle(waiting)  # processes that share the folder rarely meet at the same job
    calls = ((key, (jobs[key], place and file_of(place, key))) for key in waiting if time.monotonic() < until)
    ran = ((key, attempt(*call)) for key, call in calls) if executor is None else _submitted(calls, executor, at_once)
    with closing(ran):
        for key, outcome in ran:
            if place is not None and not outcome.kept:
                write(file_of(place, key), outcome)
            yield key, outcome


def attempt(job: Job, file: Path | None = None, check: Check = unchecked) -> Outcome:
    """Run a job, unless another process has written its file in the meantime. An error becomes part of the outcome."""
    if file is not None and (found := read(file)) is not None:
        return found
    start = time.perf_counter()
    check()
    try:
        results = job.run(check)
    except Exception as error:  # any error of a user's function
        message = "".join(traceback.format_exception_only(error)).strip()
        return Outcome(None, message, time.perf_counter() - start, error)
    return Outcome(results, None, time.perf_counter() - start)


def _elsewhere(run: str, job: Job, file: Path | None) -> Outcome:
    """Run a job in another process. Errors come back as text, since not every error can be sent.

    Dask treats equal calls as one, even if the first is just being cancelled: `run` distinguishes the calls of two runs.
    """
    return attempt(job, file)._replace(raised=None)


def _submitted(
    calls: Iterator[tuple[str, tuple[Job, Path | None]]], executor: Executor, at_once: int
) -> Generator[tuple[str, Outcome], None, None]:
    """Outcomes of jobs on an executor; when the caller stops reading, by an error or by choice, running jobs stop."""
    stop = threading.Event()

    def check() -> None:
        if stop.is_set():
            raise Stopped

    here = isinstance(executor, ThreadPoolExecutor)
    work: Callable[..., Outcome] = partial(attempt, check=check) if here else partial(_elsewhere, uuid4().hex)
    try:
        with closing(finished(calls, work, executor, at_once, "Finished jobs are kept: run again.")) as ended:
            for key, future in ended:
                yield key, _outcome(future)
    finally:
        stop.set()


def _outcome(future: Future[Outcome]) -> Outcome:
    """The result of a job, or the error of the executor, such as a Dask worker that died repeatedly."""
    error = future.exception()
    return future.result() if error is None else Outcome(None, f"{type(error).__name__}: {error}", 0.0)


@contextmanager
def processes(count: int) -> Iterator[Executor]:
    """Start processes with one core each, as an executor for `sweep`; they end with the `with` statement.

    The processes import the main script, so a script must guard its call by `if __name__ == "__main__":`. An error or Ctrl-C in
    the `with` statement, or the end of this process, ends them at once.

    Parameters
    ----------
    count : int
        Number of processes.

    Yields
    ------
    executor : concurrent.futures.Executor
        Runs jobs on the processes.

    Examples
    --------
    >>> import echoscale as es
    >>> with es.sweeps.processes(4) as executor:  # doctest: +SKIP
    ...     es.sweep(es.single(100), "narma", {"seed": range(20)}, executor=executor)
    """
    context = multiprocessing.get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    settings = {"JAX_PLATFORMS": os.environ.get("JAX_PLATFORMS", "cpu"), **ONE_CORE}
    number = checks.integer(count, "processes", minimum=1)
    with reader, writer, _environment(settings), ProcessPoolExecutor(number, context, _follow, (reader,)) as pool:
        try:
            yield pool
        except BaseException:
            try:
                _forget_waiting(pool)
            finally:
                writer.close()
            raise


def _forget_waiting(pool: ProcessPoolExecutor) -> None:
    """Drop waiting jobs before the processes end: Python 3.11 shows a traceback for a pool that ends with cancelled jobs."""
    with suppress(BrokenExecutor, CancelledError, TimeoutError):
        last = pool.submit(int)
        pool.shutdown(wait=False, cancel_futures=True)
        last.result(timeout=PATIENCE)  # cancelled when the pool has dropped all waiting jobs


def _follow(reader: Connection) -> None:
    """End this process of `processes` when the other end of the pipe closes; leave Ctrl-C to the main process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def follow() -> None:
        with suppress(OSError):
            reader.poll(None)
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


@contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    """Environment of the processes that start within this context."""
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
