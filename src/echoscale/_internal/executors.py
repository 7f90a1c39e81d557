"""Calls on an executor of `concurrent.futures`, such as processes or a Dask cluster: results as they arrive."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import closing
from functools import partial
from itertools import islice
from typing import Any, TypeVar
from uuid import uuid4

Key = TypeVar("Key")
Result = TypeVar("Result")

AWAKE = 0.2  # seconds between checks for Ctrl-C
AT_ONCE = 64  # pieces of data given to the executor at once: enough for its workers, few enough for the memory between


def check(executor: object) -> None:
    """Raises an error unless the object is an executor or None."""
    if executor is not None and not isinstance(executor, Executor):
        raise TypeError(
            f"executor must be an Executor of concurrent.futures, got {executor!r}: use sweeps.processes(n), or "
            "client.get_executor() of a Dask client."
        )


def finished(
    calls: Iterator[tuple[Key, tuple[Any, ...]]],
    work: Callable[..., Result],
    executor: Executor,
    at_once: int,
    remedy: str,
) -> Generator[tuple[Key, Future[Result]], None, None]:
    """Key and future of every call work(*arguments), as they end; calls that wait are cancelled if the caller stops reading."""
    running: dict[Future[Result], Key] = {}
    try:
        while True:
            for key, arguments in islice(calls, at_once - len(running)):
                running[executor.submit(work, *arguments)] = key
            if not running:
                return
            # With a timeout, since Ctrl-C just before the wait is noticed only after it.
            done = wait(running, timeout=AWAKE, return_when=FIRST_COMPLETED).done
            for future in [each for each in running if each in done]:  # the oldest first
                if isinstance(error := future.exception(), BrokenExecutor | CancelledError):
                    raise error
                yield running.pop(future), future
    except (BrokenExecutor, CancelledError) as error:
        why = str(error) or "its calls were cancelled"
        raise ConnectionError(f"the workers of {executor!r} are gone ({why}). {remedy}") from error
    finally:
        for future in running:
            future.cancel()


def results(
    calls: Iterator[tuple[Key, tuple[Any, ...]]], work: Callable[..., Result], executor: Executor
) -> Generator[tuple[Key, Result], None, None]:
    """Key and result of every call, as they end; the first error is raised."""
    named = partial(_called, uuid4().hex, work)
    with closing(finished(calls, named, executor, AT_ONCE, "Nothing was kept: run again with other workers.")) as ended:
        for key, future in ended:
            yield key, future.result()


def _called(run: str, work: Callable[..., Result], *arguments: Any) -> Result:
    """One call. Dask treats equal calls as one, even if the first is just being cancelled: `run` tells two runs apart."""
    return work(*arguments)
