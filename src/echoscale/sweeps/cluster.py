"""Jobs on the workers of a Dask cluster: an existing one by its address, or a local one. Needs the extra `distributed`.

Dask runs a job again elsewhere when its worker dies. The driver alone writes the ledger, so workers need no shared disk. A job
uses all cores of its machine: one worker a machine is enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from types import TracebackType
from typing import Any

from echoscale._internal import checks
from echoscale.sweeps.executors import Outcome, attempt
from echoscale.sweeps.job import Job


class Cluster:
    """Jobs on the workers of a Dask cluster: an executor, and a context manager that connects and takes leave.

    Parameters
    ----------
    scheduler : str, optional
        The address of a running scheduler, "tcp://host:8786".
    workers : int, optional
        Or the number of local worker processes to start.
    timeout : float
        Seconds to wait for the scheduler, and for its first worker.

    Examples
    --------
    >>> from echoscale.sweeps import Cluster
    >>> with Cluster(workers=2) as cluster:  # doctest: +SKIP
    ...     es.sweep(es.single(100), "narma", {"seed": range(20)}, executor=cluster)
    """

    def __init__(self, scheduler: str | None = None, workers: int | None = None, timeout: float = 10.0) -> None:
        if (scheduler is None) == (workers is None):
            raise ValueError("give either the address of a scheduler or a number of local workers.")
        self.scheduler = scheduler
        self.workers = None if workers is None else checks.integer(workers, "workers", minimum=1)
        self.timeout = timeout
        self._client: Any = None
        self._local: Any = None

    def __enter__(self) -> Cluster:
        try:
            import distributed
        except ImportError as error:
            raise ImportError("a cluster needs Dask: pip install 'echoscale[distributed]'.") from error
        if self.workers is not None:
            self._local = distributed.LocalCluster(  # type: ignore[no-untyped-call]
                n_workers=self.workers, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
            )
        try:
            place = self._local or self.scheduler
            # Not the default of the process: what else the user computes with Dask stays where it was.
            self._client = distributed.Client(  # type: ignore[no-untyped-call]
                place, timeout=self.timeout, set_as_default=False
            )
            self._client.wait_for_workers(1, timeout=self.timeout)
        except ValueError as error:
            self.close()
            raise ValueError(
                f"{self.scheduler!r} is no address of a scheduler ({error}): give one like 'tcp://host:8786'."
            ) from error
        except (OSError, TimeoutError) as error:
            self.close()
            place = self.scheduler or "the local cluster"
            raise ConnectionError(
                f"{place} did not answer within {self.timeout:g} s, or has no workers: is the scheduler running, and are "
                "workers connected to it?"
            ) from error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Leave the cluster; a local one ends."""
        for each in (self._client, self._local):
            if each is not None:
                each.close()
        self._client = self._local = None

    def run(self, jobs: Iterable[tuple[str, Job]]) -> Iterator[tuple[str, Outcome]]:
        """Run jobs on the workers. Two for every worker are under way, so that none waits for the driver.

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
        from distributed import as_completed

        if self._client is None:
            raise RuntimeError("not connected: use the cluster in a `with` statement.")
        source = iter(jobs)
        keys: dict[str, str] = {}

        def submit(count: int) -> list[Any]:
            made = []
            for key, job in islice(source, count):
                future = self._client.submit(_attempt, job, pure=False)
                keys[future.key] = key
                made.append(future)
            return made

        running: Any = as_completed(  # type: ignore[no-untyped-call]
            submit(2 * max(len(self._client.scheduler_info()["workers"]), 1)), loop=self._client.loop
        )
        try:
            for future in running:
                yield keys.pop(future.key), self._outcome(future)
                for each in submit(1):
                    running.add(each)
        finally:
            for future in list(running.futures):
                future.cancel()

    def _outcome(self, future: Any) -> Outcome:
        """What the job returned, or why the cluster gave it up (its workers died again and again)."""
        if future.cancelled():
            raise ConnectionError(
                f"the connection to {self.scheduler or 'the local cluster'} was lost: finished jobs are kept."
            )
        error = future.exception()
        return future.result() if error is None else Outcome(None, f"{type(error).__name__}: {error}", 0.0)


def _attempt(job: Job) -> Outcome:
    """On a worker. The error itself stays there: not every one can be sent."""
    return attempt(job)._replace(raised=None)
