"""Jobs on several processes: each runs on one core and writes its results into the folder of jobs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import as_completed
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from echoscale.engine import one_thread
from echoscale.sweeps import Arrays, Job, Runner, processes

TOLD = 10  # lines about the progress of each list of jobs


class Processes(Runner):
    """A `Runner` whose jobs run in `count` processes, in the order in which they are given: give the longest ones first.

    The processes start with the `with` statement and end with it, so that all lists of jobs share their compiled programs.
    """

    def __init__(self, folder: Path, count: int, **options: Any) -> None:
        super().__init__(folder, **options)
        self.count, self._open = count, ExitStack()

    def __enter__(self) -> Processes:
        self._open.enter_context(_one_core())
        self._pool = self._open.enter_context(processes(self.count))
        return self

    def __exit__(self, *error: Any) -> None:
        self._open.__exit__(*error)

    def __call__(self, jobs: Sequence[Job], threads: int = 1) -> Iterator[Arrays]:
        """Results of jobs in their order; finished jobs of earlier runs are used again."""
        running = [self._pool.submit(_finish, str(self.folder), job, self.fresh) for job in jobs]
        for done, finished in enumerate(as_completed(running), start=1):
            finished.result()
            if self.progress and done * TOLD // len(jobs) > (done - 1) * TOLD // len(jobs):
                print(f"{self.what}: {done} of {len(jobs)} jobs", file=sys.stderr, flush=True)
        kept = Runner(self.folder)
        yield from kept(jobs, threads)
        self.seconds += kept.seconds


def _finish(folder: str, job: Job, fresh: bool) -> None:
    """Run a job on one thread, unless its results are in the folder."""
    with one_thread():
        for _ in Runner(folder, fresh=fresh)([job]):
            pass


@contextmanager
def _one_core() -> Iterator[None]:
    """Runs inside the processes are laid out for one core each."""
    before = os.environ.get("ECHOSCALE_CORES")
    os.environ["ECHOSCALE_CORES"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["ECHOSCALE_CORES"]
        else:
            os.environ["ECHOSCALE_CORES"] = before
