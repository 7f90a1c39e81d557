"""MNIST, 60,000 + 10,000 handwritten digits of 28 x 28 pixels: from a directory, from the cache, or by download.

The four files are recognised by their SHA-256, gzipped as published or unpacked. A download from public mirrors, through
pooch, is kept only if its SHA-256 is correct.

The format is IDX: a magic number, the sizes of all axes, and the numbers themselves.

    0 0 | type | axes | size of axis 1 | ... | size of axis `axes` | numbers, the last axis running fastest

Type and number of axes have one byte each, sizes four, the highest first. MNIST has only type 8: numbers of one byte.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import os
import struct
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.files import cache_of, home
from echoscale._internal.progress import Progress, shown


class File(NamedTuple):
    """One of the four files: name without .gz, size and SHA-256 of the gzipped file, SHA-256 of its content."""

    name: str
    size: int
    packed: str
    unpacked: str


FILES = {  # images and labels of each split
    "train": (
        File(
            "train-images-idx3-ubyte",
            9_912_422,
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        ),
        File(
            "train-labels-idx1-ubyte",
            28_881,
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        ),
    ),
    "test": (
        File(
            "t10k-images-idx3-ubyte",
            1_648_877,
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        ),
        File(
            "t10k-labels-idx1-ubyte",
            4_542,
            "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ),
    ),
}

VARIABLE = "ECHOSCALE_DATA"
NAMES = ", ".join(f"{file.name}.gz" for pair in FILES.values() for file in pair)
REMEDY = (
    f"Put the four files ({NAMES}; gzipped or not) into a directory and "
    f"name it by the argument `directory` or by the environment variable {VARIABLE}. For a quick run without them: psdigits()."
)

PLACES = ("", "mnist", "MNIST/raw")  # inside a folder; the last is torchvision's
LARGEST = 1 << 26  # bytes; the largest file has 47 MB unpacked

MIRRORS = ("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/")
SILENCE = 10.0  # seconds that a mirror may be silent
LIMIT = 600.0  # seconds for the whole download
CHUNK = 1 << 14  # bytes

Bytes = npt.NDArray[np.uint8]


def read(
    split: str,
    directory: str | os.PathLike[str] | None = None,
    *,
    download: bool = True,
    progress: bool | Progress = False,
) -> tuple[Bytes, Bytes]:
    """Images (B, 28, 28), 0 to 255, and labels (B,)."""
    wanted = FILES[checks.choice(split, tuple(FILES), "split")]
    if not isinstance(download, bool):
        raise TypeError(f"download must be True or False, got {download!r}.")
    given = _given(directory)
    place = given or cache()
    try:
        images, labels = contents(place, wanted)
    except (FileNotFoundError, ValueError):
        if given or not download:
            raise
        with shown(progress, "MNIST") as tell:
            _download(place, tell)
        images, labels = contents(place, wanted)
    return parse(images), parse(labels)


def available(directory: str | os.PathLike[str] | None = None) -> bool:
    """Whether all four files are there; nothing is downloaded."""
    given = _given(directory)
    try:
        contents(given or cache(), every())
    except FileNotFoundError:
        return False
    except ValueError:
        if given:
            raise
        return False
    return True


def folder(directory: str | os.PathLike[str] | None = None) -> Path:
    """The folder to search for the files."""
    return _given(directory) or cache()


def _given(directory: str | os.PathLike[str] | None) -> Path | None:
    """The directory given by the argument, or else by the environment; an error if it does not exist."""
    by_argument = directory is not None
    named = directory if by_argument else os.environ.get(VARIABLE)
    if not by_argument and not named:
        return None
    if not isinstance(named, str | os.PathLike):
        raise TypeError(f"directory must be a path, got {named!r} of type {type(named).__name__}.")
    path = Path(named).expanduser()
    if not path.is_dir():
        source = "the argument `directory`" if by_argument else f"the environment variable {VARIABLE}"
        raise NotADirectoryError(f"{source} names {str(path)!r}, which is not a directory. {REMEDY}")
    return path


def every() -> list[File]:
    """All four files."""
    return [file for pair in FILES.values() for file in pair]


def cache() -> Path:
    """The folder for downloads; it need not exist."""
    return cache_of(sys.platform, os.environ, home()) / "mnist"


def contents(folder: Path, files: Sequence[File]) -> list[bytes]:
    """Unpacked content of each file. ValueError if a file is damaged, FileNotFoundError if files are missing."""
    found = [_content(folder, file) for file in files]
    missing = [file.name for file, content in zip(files, found, strict=True) if content is None]
    if missing:
        raise FileNotFoundError(f"{folder} has no {' and no '.join(missing)}. {REMEDY}")
    return [content for content in found if content is not None]


def _content(folder: Path, file: File) -> bytes | None:
    """The content of the first correct file of this name. Only a file with the right SHA-256 is unpacked."""
    names = (f"{file.name}.gz", file.name, file.name.replace("-idx", ".idx"))  # some archives use the last
    paths = [path for path in (folder / place / name for place in PLACES for name in names) if path.is_file()]
    for path in paths:
        content = path.read_bytes() if path.stat().st_size <= LARGEST else b""
        digest = hashlib.sha256(content).hexdigest()
        if digest in (file.packed, file.unpacked):
            return gzip.decompress(content) if digest == file.packed else content
    if paths:
        raise ValueError(
            f"{paths[0]} ({paths[0].stat().st_size:,} bytes) is not the file of MNIST with this name: its SHA-256 is neither "
            f"{file.packed} (gzipped, {file.size:,} bytes) nor {file.unpacked} (unpacked). Replace it. {REMEDY}"
        )
    return None


def parse(content: bytes) -> Bytes:
    """The array in the content of a file, as a read-only view. The SHA-256 was correct, so the sizes are correct."""
    axes = content[3]
    header = 4 * (1 + axes)
    return np.frombuffer(content, np.uint8, offset=header).reshape(struct.unpack(f">{axes}I", content[4:header]))


def _download(folder: Path, progress: Progress) -> None:
    """Download the four files into the folder, trying mirror after mirror; `progress` gets the bytes so far and in all."""
    import pooch  # here, since it is seldom needed
    import requests

    began, missing, reasons = time.monotonic(), every(), []
    total = sum(file.size for file in missing)

    def tell(received: int) -> None:
        so_far = total - sum(file.size for file in missing) + received
        try:
            progress(so_far, total, "")
        except Exception as error:  # an error of `progress`, not of the mirror
            raise RuntimeError(f"progress({so_far}, {total}) failed: {error}") from error

    def get(url: str, path: str, _: Any) -> None:
        # Servers must not unpack on the way: the checksum belongs to the file as published.
        answer = requests.get(url, stream=True, timeout=SILENCE, headers={"Accept-Encoding": "identity"})
        with answer, open(path, "wb") as file:
            answer.raise_for_status()
            for chunk in answer.iter_content(CHUNK):
                received = file.tell() + file.write(chunk)
                if time.monotonic() - began > LIMIT:
                    raise TimeoutError(f"not finished within {LIMIT:g} s")
                if received > missing[0].size:
                    raise ValueError(f"more than the {missing[0].size:,} bytes that the file has")
                tell(received)

    for mirror in MIRRORS:
        try:
            while missing:
                name = f"{missing[0].name}.gz"
                path = pooch.retrieve(mirror + name, missing[0].packed, name, folder, downloader=get)  # or it is there
                with contextlib.suppress(PermissionError):  # the file belongs to another user
                    os.chmod(path, 0o644)  # temporary files are not readable for others
                del missing[0]
                tell(0)
        except (OSError, ValueError) as error:
            reasons.append(f"{mirror}: {error}")
    if missing:
        told = f"MNIST could not be downloaded into {folder} (ECHOSCALE_CACHE can name another folder):"
        raise FileNotFoundError("\n  ".join([told, *reasons]) + f"\n{REMEDY}")
