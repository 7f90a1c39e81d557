"""Jobs and the files of finished jobs.

A job is the importable name of a function and its arguments; the results are named arrays. The same job gives the same results
on every machine.

    <key>.npz      a finished job: its results as named arrays, and the seconds that it took
    <key>.failed   the error of a job whose last run failed
    <id>.json      the settings and the jobs of a sweep

Every file is written completely or not at all, so a killed process leaves no partial results. Several processes or machines can
share a folder: if two of them run the same job, both write the same results. A damaged file fails its checksum and counts as
missing.
"""

from __future__ import annotations

import inspect
import io
import json
import sys
import warnings
import zipfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import echoscale
from echoscale._internal.files import write_atomically
from echoscale.network.fingerprint import fingerprint
from echoscale.sweeps.problem import Task, name_of, named

# Increased when a change of the code changes results, so that results of older code are not reused.
NUMERICS = 1
SECONDS = "job/seconds"  # stored with the results; the slash distinguishes it from their names

Arrays = dict[str, npt.NDArray[Any]]
Check = Callable[[], None]


def unchecked() -> None:
    """Do nothing: the default for the argument `check` of a function that runs as a job.

    Examples
    --------
    >>> from echoscale.sweeps import Check, unchecked
    >>> def total(steps: int, check: Check = unchecked) -> dict:
    ...     for _ in range(steps):
    ...         check()  # raises an error if the run was interrupted
    ...     return {"total": steps}
    >>> total(3)
    {'total': 3}
    """


class Job(NamedTuple):
    """A function and its arguments, which determine the results.

    Parameters
    ----------
    function : str
        Name "module:function" of a function that returns named arrays. A slow function can have a parameter `check` and call
        check() from time to time, which raises an error if the run was interrupted.
    arguments : mapping
        Keyword arguments without `check`: numbers, strings, arrays, networks, dataclasses (see
        `echoscale.network.fingerprint`).

    Examples
    --------
    >>> import numpy as np
    >>> from echoscale.sweeps import Job
    >>> job = Job.of(np.linspace, start=0.0, stop=1.0, num=3)
    >>> job.function
    'numpy:linspace'
    >>> job.key() == Job.of(np.linspace, num=3, stop=1.0, start=0.0).key()
    True
    """

    function: str
    arguments: Mapping[str, Any]

    @classmethod
    def of(cls, function: Callable[..., Any], /, **arguments: Any) -> Job:
        """Describe the call of a function.

        Parameters
        ----------
        function : callable
            Function at the top of a module that can be imported.
        **arguments : object
            Arguments of the function, by name.
        """
        return cls(name_of(function), arguments)

    def key(self) -> str:
        """Fingerprint of function, arguments, sources and version: the name of the file with the results.

        The version and `NUMERICS` represent the code of echoscale. The functions and classes of the user (of the job and of its
        tasks) are represented by their source. The source of other functions that they call is not checked: delete the folder
        of results when such a helper changes.
        """
        return fingerprint(
            {
                "function": self.function,
                "arguments": dict(self.arguments),
                "numerics": NUMERICS,
                "version": echoscale.__version__,
                "source": self._sources(),
            }
        )

    def _sources(self) -> dict[str, str]:
        """The sources of all functions and classes of the user, by name."""
        tasks = [each for each in self.arguments.values() if isinstance(each, Task)]
        values = [*self.arguments.values(), *(value for each in tasks for value in each.parameters.values())]
        used = {name: named(name) for name in (self.function, *(str(each.function) for each in tasks))}
        used |= {f"{type(each).__module__}:{type(each).__qualname__}": type(each) for each in values}
        return {name: _source_of(each) for name, each in used.items() if not _is_own(each)}

    def run(self, check: Check = unchecked) -> Arrays:
        """Call the function.

        Parameters
        ----------
        check : function
            Function that is passed to the job if it has a parameter of this name.
        """
        function, arguments = named(self.function), dict(self.arguments)
        if "check" in inspect.signature(function).parameters:
            arguments["check"] = check
        results = {name: np.asarray(values) for name, values in function(**arguments).items()}
        for name, values in results.items():
            if values.dtype.kind not in "biufc":
                raise TypeError(f"results[{name!r}] must hold numbers or truth values, got {values!r}.")
        return results


def _is_own(value: object) -> bool:
    """Whether a function or class belongs to echoscale (its version stands for its code), Python or NumPy."""
    home = str(getattr(value, "__module__", "") or "").partition(".")[0]
    return home in ("echoscale", "numpy") or home in sys.stdlib_module_names


@lru_cache(maxsize=256)  # read once: a file that is edited later is not the code that was imported
def _source_of(value: Callable[..., Any]) -> str:
    """The source of a function or class; empty if there is none, as for compiled code."""
    try:
        return inspect.getsource(value)
    except (OSError, TypeError):
        return ""


class Outcome(NamedTuple):
    """Results of a job, or the error that ended it."""

    results: Arrays | None
    error: str | None
    seconds: float
    raised: Exception | None = None
    """The error itself, if the job ran in this process."""
    kept: bool = False
    """Whether the results were read from a file, without a run."""


# ------------------------------------------------------------------------------------------------------------------ files


def file_of(folder: Path, key: str) -> Path:
    """The file of a finished job."""
    return folder / f"{key}.npz"


def read(file: Path) -> Outcome | None:
    """The results of a finished job; None if there is no file. A damaged file gives a warning and None."""
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return None
    try:
        # All checksums first: a damaged header could ask for any amount of memory.
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if (member := archive.testzip()) is not None:
                raise zipfile.BadZipFile(f"{member} fails its checksum")
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            results = {name: arrays[name] for name in arrays.files}
        return Outcome(results, None, float(results.pop(SECONDS)), kept=True)
    except Exception as error:  # damaged bytes can raise almost anything
        # From one place: Python then shows it only once, although the file is read again before the job runs.
        warnings.warn(f"{file} is damaged ({error}): its job is not finished and runs again.", UserWarning, stacklevel=1)
        return None


def write(file: Path, outcome: Outcome) -> None:
    """Save the results of a job, or its error."""
    if outcome.results is None:
        error = outcome.error or "unknown"
        write_atomically(
            _failed(file), error.encode("utf-8", "backslashreplace")
        )  # errors may hold file names that are not UTF-8
        return
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, values in {**outcome.results, SECONDS: np.asarray(outcome.seconds)}.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, values, allow_pickle=False)
    try:
        write_atomically(file, buffer.getvalue())
    except OSError as error:
        raise OSError(
            error.errno, f"{file} was not saved ({error}). Earlier jobs are kept: free some space and run again"
        ) from error
    _failed(file).unlink(missing_ok=True)


def error_in(file: Path) -> str | None:
    """The error of the last run of a job; None if it did not fail."""
    try:
        return _failed(file).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None


def forget(file: Path) -> None:
    """Drop results and error of a job, so that it runs again."""
    for each in (file, _failed(file)):
        each.unlink(missing_ok=True)


def _failed(file: Path) -> Path:
    return file.with_suffix(".failed")


def id_of(settings: Mapping[str, Any]) -> str:
    """The id of a sweep."""
    return fingerprint(settings)[:12]


def write_sweep(folder: Path, settings: Mapping[str, Any], keys: Sequence[str]) -> None:
    """Save the settings and the jobs of a sweep, unless they are saved already."""
    name = id_of(settings)
    found = read_sweep(folder, name) if (folder / f"{name}.json").exists() else None
    if found is not None and found["jobs"] == list(keys):
        return
    content = {"created": datetime.now(UTC).isoformat(timespec="seconds"), "settings": settings, "jobs": list(keys)}
    write_atomically(folder / f"{name}.json", json.dumps({**content, "digest": fingerprint(content)}).encode())


def read_sweep(folder: Path, name: str) -> dict[str, Any] | None:
    """Start time, settings and jobs of a sweep; None if the file is damaged."""
    try:
        content = json.loads((folder / f"{name}.json").read_bytes())
        digest = content.pop("digest")
        whole = digest == fingerprint(content) and id_of(content["settings"]) == name
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return content if whole else None


def sweep_names(folder: Path) -> list[str]:
    """The ids of the sweeps of a folder."""
    return sorted(each.stem for each in folder.glob("*.json"))


def sweeps(folder: Path) -> list[dict[str, Any]]:
    """Every sweep of a folder, oldest first: id, created, and the numbers of all, finished and failed jobs."""
    found = []
    for name in sweep_names(folder):
        content = read_sweep(folder, name) or {"created": "damaged: run it again", "jobs": []}
        files = [file_of(folder, key) for key in dict.fromkeys(content["jobs"])]
        done = sum(each.exists() for each in files)
        failed = sum(_failed(each).exists() for each in files)
        found.append({"id": name, "created": content["created"], "jobs": len(files), "done": done, "failed": failed})
    return sorted(found, key=lambda each: str(each["created"]))
