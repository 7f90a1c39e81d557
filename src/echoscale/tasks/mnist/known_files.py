"""The four files of MNIST: what they are called, what they are (by SHA-256), and their contents in a folder.

A file counts by its content, wherever it comes from: gzipped as it was published, or unpacked.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from echoscale.files import cache_of, home

PLACES = ("", "mnist", "MNIST/raw")  # in a folder; the last is torchvision's
LARGEST = 1 << 26  # bytes; the largest of the files has 47 MB unpacked


class File(NamedTuple):
    """One of the four: name without .gz; size in bytes and SHA-256 as published, gzipped; SHA-256 of what is in it."""

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


def every() -> list[File]:
    """All four."""
    return [file for pair in FILES.values() for file in pair]


def cache() -> Path:
    """The folder that downloads are kept in; it need not exist."""
    return cache_of(sys.platform, os.environ, home()) / "mnist"


def contents(folder: Path, files: Sequence[File]) -> list[bytes]:
    """Each file's content, unpacked. ValueError where one is damaged, FileNotFoundError where the folder lacks some."""
    found = [_content(folder, file) for file in files]
    missing = [file.name for file, content in zip(files, found, strict=True) if content is None]
    if missing:
        raise FileNotFoundError(f"{folder} has no {' and no '.join(missing)}")
    return [content for content in found if content is not None]


def _content(folder: Path, file: File) -> bytes | None:
    """What is in the first right file of this name, unpacked. Nothing but a right one is ever unpacked."""
    names = (f"{file.name}.gz", file.name, file.name.replace("-idx", ".idx"))  # the last is what some archives have
    paths = [path for path in (folder / place / name for place in PLACES for name in names) if path.is_file()]
    for path in paths:
        content = path.read_bytes() if path.stat().st_size <= LARGEST else b""
        digest = hashlib.sha256(content).hexdigest()
        if digest in (file.packed, file.unpacked):
            return gzip.decompress(content) if digest == file.packed else content
    if paths:
        raise ValueError(
            f"{paths[0]} ({paths[0].stat().st_size:,} bytes) is not what MNIST has under this name: its SHA-256 is neither "
            f"{file.packed} (gzipped, {file.size:,} bytes) nor {file.unpacked} (unpacked). Replace it"
        )
    return None
