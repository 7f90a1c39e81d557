"""Finished jobs as files of a folder.

    <key>.npz      a finished job: its results as named arrays, and the seconds that it took
    <key>.failed   the error of a job whose last run failed
    <id>.json      the settings and the jobs of a sweep

Every file is written whole or not at all, so a killed process leaves no half results. Several processes or machines may share
a folder: where two of them run the same job, both write the same results. A damaged file fails its checksum and counts as
missing.
"""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from echoscale._internal.files import write_atomically
from echoscale.network.fingerprint import fingerprint
from echoscale.sweeps.job import Arrays, Outcome

SECONDS = "job/seconds"  # beside the results; the slash keeps it apart from their names


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
        # From one place, so that Python shows it only once, although the file is read again before the job runs.
        warnings.warn(f"{file} is damaged ({error}): its job is not finished and runs again.", UserWarning, stacklevel=1)
        return None


def write(file: Path, results: Arrays, seconds: float) -> None:
    """Save the results of a job."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, values in {**results, SECONDS: np.asarray(seconds)}.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, values, allow_pickle=False)
    try:
        write_atomically(file, buffer.getvalue())
    except OSError as error:
        raise OSError(
            error.errno, f"{file} was not saved ({error}). Jobs finished before are kept: free some space, and run again"
        ) from error
    _failed(file).unlink(missing_ok=True)


def write_error(file: Path, error: str) -> None:
    """Save why a job failed."""
    write_atomically(_failed(file), error.encode("utf-8", "backslashreplace"))  # file names in messages may not be UTF-8


def error_in(file: Path) -> str | None:
    """Why the last run of a job failed; None if it did not."""
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


def write_sweep(folder: Path, name: str, settings: Mapping[str, Any], keys: Sequence[str]) -> None:
    """Save the settings and the jobs of a sweep, unless they are saved already."""
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
        # The name of a sweep is the fingerprint of its settings.
        whole = digest == fingerprint(content) and fingerprint(content["settings"])[:12] == name
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return content if whole else None


def sweep_names(folder: Path) -> list[str]:
    """The ids of the sweeps of a folder."""
    return sorted(each.stem for each in folder.glob("*.json"))


def sweeps(folder: Path) -> list[dict[str, Any]]:
    """Every sweep of a folder, oldest first: id, created, and the numbers of jobs, of finished and of failed ones."""
    found = []
    for name in sweep_names(folder):
        content = read_sweep(folder, name) or {"created": "damaged: run it again", "jobs": []}
        files = [file_of(folder, key) for key in dict.fromkeys(content["jobs"])]
        done = sum(each.exists() for each in files)
        failed = sum(_failed(each).exists() for each in files)
        found.append({"id": name, "created": content["created"], "jobs": len(files), "done": done, "failed": failed})
    return sorted(found, key=lambda each: str(each["created"]))
