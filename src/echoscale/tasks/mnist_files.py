"""The four files of MNIST: what they are called, what they are (by md5), and whether a folder has them.

A file counts by its content, wherever it comes from: gzipped as it was published, or unpacked.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import sys
from pathlib import Path
from typing import NamedTuple

from echoscale.files import cache_of


class File(NamedTuple):
    """One of the four: its name without .gz; size in bytes and md5 as it was published, gzipped; md5 of what is in it."""

    name: str
    size: int
    packed: str
    unpacked: str

    @property
    def spellings(self) -> tuple[str, ...]:
        """The names that it is looked for under: gzipped or not, and with a dot, as some archives have it."""
        dotted = self.name.replace("-idx", ".idx")
        return f"{self.name}.gz", self.name, f"{dotted}.gz", dotted

    def opened(self, content: bytes) -> bytes | None:
        """The content unpacked, if it is this file's; else None."""
        found = md5(content)
        if found == self.packed:
            return gzip.decompress(content)
        return content if found == self.unpacked else None

    def complaint(self, content: bytes) -> str:
        """What is wrong with a content that is not this file's."""
        return (
            f"{len(content):,} bytes with md5 {md5(content)}; expected {self.packed} ({self.size:,} bytes, gzipped) "
            f"or {self.unpacked} (unpacked)"
        )


# Images and labels of each split.
FILES = {
    "train": (
        File("train-images-idx3-ubyte", 9_912_422, "f68b3c2dcbeaaa9fbdd348bbdeb94873", "6bbc9ace898e44ae57da46a324031adb"),
        File("train-labels-idx1-ubyte", 28_881, "d53e105ee54ea40749a09fcbcd1e9432", "a25bea736e30d166cdddb491f175f624"),
    ),
    "test": (
        File("t10k-images-idx3-ubyte", 1_648_877, "9fb629c4189551a2d022fa330f9573f3", "2646ac647ad5339dbf082846283269ea"),
        File("t10k-labels-idx1-ubyte", 4_542, "ec29112dd5afa0611ce80d1b7f02629c", "27ae3e4e09519cfbb04c329615203637"),
    ),
}
# Where in a folder they may lie: there, or as a data folder for several sets has them (the second is torchvision's).
PLACES = ("", "mnist", "MNIST/raw")


def every_file() -> list[File]:
    """All four."""
    return [file for files in FILES.values() for file in files]


def md5(content: bytes) -> str:
    """As hex digits."""
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


class Found(NamedTuple):
    """What a folder has of one file: its content unpacked, or None and complaints about files of its name that are not it."""

    content: bytes | None
    damaged: tuple[str, ...] = ()


def look(folder: Path, file: File) -> Found:
    """The first file in the folder, by any spelling, that is the one looked for."""
    damaged = []
    for path in (folder / place / spelling for place in PLACES for spelling in file.spellings):
        if path.is_file():
            content = path.read_bytes()
            opened = file.opened(content)
            if opened is not None:
                return Found(opened)
            damaged.append(f"{path}: {file.complaint(content)}")
    return Found(None, tuple(damaged))


def cache() -> Path:
    """The folder that downloads are kept in; it need not exist."""
    return cache_of(sys.platform, os.environ, Path.home()) / "mnist"
