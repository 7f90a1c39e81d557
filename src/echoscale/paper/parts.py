"""Long figures are made of jobs: over all cores, each kept as soon as it is done, so that an interrupted run goes on.

The parts of a figure lie in a folder beside its file until the whole is there. Its name holds a digest of all that determines
the numbers: parts of other settings are never mixed in.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import threading
import time
import zipfile
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale.files import write_atomically
from echoscale.paper.provenance import Track

Arrays = Mapping[str, npt.NDArray[Any]]


class Stopped(Exception):
    """A job was told to stop half-way."""


class Parts:
    """Where finished jobs are kept; without a folder, nowhere."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self.seconds = 0.0  # of all jobs one after another, those of earlier runs too

    @classmethod
    def beside(cls, file: Path, described: Mapping[str, Any]) -> Parts:
        """Those of the figure that will be saved as `file`."""
        digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()[:12]
        return cls(file.with_name(f"{file.stem}-{digest}.parts"))

    def load(self, name: str) -> Arrays | None:
        """A finished job; None where it is not there, or not whole."""
        if self.folder is None:
            return None
        try:
            # Read as a whole: NumPy leaves a broken archive open.
            content = io.BytesIO((self.folder / f"{name}.npz").read_bytes())
            with np.load(content, allow_pickle=False) as file:
                return {key: file[key] for key in file.files}
        except (OSError, ValueError, TypeError, KeyError, EOFError, zipfile.BadZipFile):
            return None

    def keep(self, name: str, arrays: Arrays) -> None:
        """Write a finished job; whole or not at all."""
        if self.folder is None:
            return
        if wrong := [key for key, array in arrays.items() if np.asarray(array).dtype.hasobject]:
            raise ValueError(f"{wrong[0]} of the job {name} holds an object: parts are numbers and text, never pickled.")
        content = io.BytesIO()
        np.savez(content, **dict[str, Any](arrays))
        self.folder.mkdir(parents=True, exist_ok=True)
        write_atomically(self.folder / f"{name}.npz", content.getvalue())

    def remove(self) -> None:
        """The whole is there: the parts are no longer needed."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


def finished(
    jobs: Sequence[Hashable],
    work: Callable[[Any, Callable[[], None]], Arrays],
    track: Track,
    parts: Parts,
    threads: int,
) -> Iterator[tuple[Any, Arrays]]:
    """(job, its arrays) of all jobs in their order; those that are kept are not done again.

    work(job, check)  does one; it calls check() now and then, which raises where the run was interrupted
    """
    stop = threading.Event()

    def check() -> None:
        if stop.is_set():
            raise Stopped

    def done(job: Any) -> Arrays:
        name = _name(job)
        found = parts.load(name)
        if found is None:
            check()
            start = time.perf_counter()
            found = {**work(job, check), "seconds": np.array(time.perf_counter() - start)}
            parts.keep(name, found)
        return found

    with ThreadPoolExecutor(threads) as pool:
        waiting = [pool.submit(done, job) for job in jobs]
        try:
            for job, one in track(list(zip(jobs, waiting, strict=True))):
                found = one.result()
                parts.seconds += float(found["seconds"])
                yield job, found
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise


def _name(job: Any) -> str:
    """A file name of a job: its words and numbers."""
    words = job if isinstance(job, tuple) else (job,)
    return "-".join(f"{each:g}" if isinstance(each, float) else str(each) for each in words).replace(" ", "_")
