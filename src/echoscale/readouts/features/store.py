"""The file of features: which network, inputs and snapshots they are of, which blocks are there, and then the numbers.

    4096 bytes   a line that names the format, a line with the sha256 of the next, a line of JSON (`Header`), blanks
    marks        one byte for each block of sequences, "#" there or "." missing; then a checksum of every block, 32 bytes each;
                 blanks up to a multiple of 4096
    numbers      (B, S, N), little-endian, the blocks one after another

A block is marked after its numbers are on the disk. So a run that is killed at any time leaves a file from which the next one
goes on. A block whose numbers have changed since counts as missing. Reading runs no code from the file.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import os
import shutil
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.files import write_atomically
from echoscale.engine.devices import cores
from echoscale.readouts.features.features import DTYPES, Features

MAGIC = b"echoscale features\n"
FORMAT_VERSION = 1
PAGE = 4096
DIGEST = hashlib.sha256().digest_size
THERE, MISSING = ord("#"), ord(".")
PIECE = 1 << 20  # bytes that are summed, and then written while they are at hand
WORDS = 1024  # of 8 bytes, in a row of a table of sums
FEWEST = 16  # sequences of a last block: fewer join the block before, since few lanes may be run by another program

MEANING = {
    "network": "another network (its weights, hyper-parameters or precision)",
    "inputs": "other inputs",
    "every": "another `every`",
    "dtype": "another dtype",
    "platform": "an unfinished run on another kind of device",
}


class FeaturesError(ValueError):
    """The file is not the one asked for: damaged, unfinished, of another kind, of another network, or of other inputs."""


@dataclass(frozen=True)
class Header:
    """What a file holds.

    shape     (B, S, N)
    dtype     "float32" or "bfloat16"
    every     M, the steps from one snapshot to the next
    network   fingerprint of the network
    inputs    fingerprint of the inputs
    platform  "cpu", "gpu", ...: where the network is run. Others round otherwise
    block     sequences of a block
    version   of the format
    """

    shape: tuple[int, int, int]
    dtype: str
    every: int
    network: str
    inputs: str
    platform: str
    block: int
    version: int = FORMAT_VERSION

    @property
    def bounds(self) -> list[int]:
        """Where blocks begin, and the end of the last one."""
        return bounds(self.shape[0], self.block)

    @property
    def row(self) -> int:
        """The bytes of one sequence."""
        _, snapshots, units = self.shape
        return snapshots * units * int(DTYPES[self.dtype].itemsize)

    @property
    def blocks(self) -> int:
        """How many there are."""
        return len(self.bounds) - 1

    @property
    def listed(self) -> int:
        """The bytes of marks and checksums."""
        return self.blocks * (1 + DIGEST)

    @property
    def offset(self) -> int:
        """Where the numbers begin."""
        return PAGE + -(-self.listed // PAGE) * PAGE

    @property
    def size(self) -> int:
        """The bytes of the whole file."""
        return self.offset + self.shape[0] * self.row

    def differences(self, other: Header) -> list[str]:
        """What is not the same, in words. The size of blocks is no matter."""
        ours, theirs = asdict(self), asdict(other)
        return [words for name, words in MEANING.items() if ours[name] != theirs[name]]

    def encode(self) -> bytes:
        """The first page, and marks that say that nothing is there."""
        text = json.dumps(asdict(self), sort_keys=True).encode()
        head = MAGIC + hashlib.sha256(text).hexdigest().encode() + b"\n" + text + b"\n"
        marks = bytes([MISSING]) * self.blocks
        return head.ljust(PAGE) + marks.ljust(self.listed, b"\0").ljust(self.offset - PAGE)


def bounds(count: int, block: int) -> list[int]:
    """Sequences in blocks: where each one begins, and the end of the last, which may be a little longer than the others."""
    starts = list(range(0, count, block))
    if len(starts) > 1 and count - starts[-1] < FEWEST:
        starts.pop()
    return [*starts, count]


class FileFeatures(Features):
    """phi_b of B sequences in a mapped file. What `block` has read is given back to the system: memory does not grow.

    Made by `compute(..., path=...)` and by `open`.

    Parameters
    ----------
    path : pathlib.Path
        A finished file.
    header : Header
        What it holds.
    """

    def __init__(self, path: Path, header: Header) -> None:
        with path.open("rb") as file:
            self._mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        numbers = np.frombuffer(self._mapped, DTYPES[header.dtype], math.prod(header.shape), header.offset)
        super().__init__(numbers.reshape(header.shape))
        self.path, self.header = path, header

    def block(self, begin: int, end: int) -> npt.NDArray[np.float32]:
        """Sequences begin .. end - 1 as float32, (rows, S N); always a copy."""
        rows = super().block(begin, end)
        copied: npt.NDArray[np.float32] = rows.copy() if self.array.dtype == rows.dtype else rows
        if hasattr(self._mapped, "madvise"):
            self._mapped.madvise(mmap.MADV_DONTNEED)  # all of it: the system maps more than was read
        return copied

    def __repr__(self) -> str:
        return f"Features(shape={self.shape}, dtype={self.dtype.name}, in {str(self.path)!r})"


def open(path: str | os.PathLike[str]) -> FileFeatures:
    """The features in a file that `compute` has finished, mapped and not kept in memory.

    All numbers are compared with their checksums first.

    Parameters
    ----------
    path : str or path
        Where `compute` wrote them.

    Returns
    -------
    FileFeatures
        (B, S, N), read block by block with `block`.

    Raises
    ------
    FeaturesError
        Where the file is not finished, damaged, or of another kind.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import echoscale as es
    >>> esn = es.single(10).build(n_inputs=1, seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = es.readouts.features.compute(esn, np.ones((6, 20, 1)), every=5, path=f"{folder}/snapshots")
    ...     found = es.readouts.features.open(f"{folder}/snapshots")
    ...     np.array_equal(found.block(0, 6), made.block(0, 6))
    True
    """
    source = Path(path)
    made = mapped(source)
    if spoilt := damaged(source, made.header, range(made.header.blocks)):
        raise FeaturesError(
            f"{source} is damaged: the numbers of {len(spoilt)} of its {made.header.blocks} blocks have changed. Call compute "
            "with this path and the same network, inputs and settings; it computes those anew."
        )
    return made


def mapped(source: Path) -> FileFeatures:
    """The features in a finished file, without a look at their numbers."""
    header, missing = look(source)
    if missing:
        there = header.shape[0] - sum(header.bounds[each + 1] - header.bounds[each] for each in missing)
        raise FeaturesError(
            f"{source} is not finished: {there} of {header.shape[0]} sequences are there. Call compute with this path and the "
            "same network, inputs and settings; it computes the others only."
        )
    return FileFeatures(source, header)


def look(source: Path) -> tuple[Header, list[int]]:
    """What a file holds, and which of its blocks are missing."""
    if not source.is_file():
        raise FileNotFoundError(f"there is no file {source}.")
    with source.open("rb") as file:
        head = file.read(PAGE)
        if not is_ours(head):
            raise FeaturesError(f"{source} is no file of features. Give another path.")
        header = _decode(head, source)
        marks = file.read(header.offset - PAGE)
        size = file.seek(0, os.SEEK_END)
    blocks = header.blocks
    missing = [place for place, mark in enumerate(marks[:blocks]) if mark == MISSING]
    # A run that was killed at its very start leaves the head alone.
    begun = size == header.offset and len(missing) == blocks
    if len(marks) < blocks or (size != header.size and not begun):
        raise FeaturesError(
            f"{source} is damaged: it has {size:,} bytes and should have {header.size:,}. Compute it again with overwrite=True."
        )
    if set(marks[:blocks]) - {THERE, MISSING} or marks[header.listed :].strip(b" "):
        raise FeaturesError(f"{source} is damaged: its list of blocks is broken. Compute it again with overwrite=True.")
    return header, missing


def damaged(source: Path, header: Header, blocks: Iterable[int]) -> list[int]:
    """Those of the blocks whose numbers are not what was written."""
    with source.open("rb") as file:
        file.seek(PAGE + header.blocks)
        known = file.read(DIGEST * header.blocks)

    def changed(place: int) -> bool:
        checksum, left = Checksum(), (header.bounds[place + 1] - header.bounds[place]) * header.row
        with source.open("rb") as file:
            file.seek(header.offset + header.bounds[place] * header.row)
            while left and (part := file.read(min(left, PIECE))):
                checksum.add(memoryview(part))
                left -= len(part)
        return checksum.digest() != known[DIGEST * place : DIGEST * (place + 1)]

    with ThreadPoolExecutor(cores()) as pool:
        places = list(blocks)
        return [place for place, found in zip(places, pool.map(changed, places), strict=True) if found]


class Checksum:
    """sha256 of the sums over rows and over columns of every piece, a table of 8-byte words.

    It finds damage, and takes a fifth of the time of sha256 of all. What it does not see changes four words at least, at the
    corners of rectangles, by numbers that cancel: no disk does that.
    """

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, piece: memoryview) -> None:
        """The next piece, of `PIECE` bytes but for the last."""
        rows = len(piece) // (8 * WORDS)
        table = np.frombuffer(piece, "<u8", rows * WORDS).reshape(rows, WORDS)
        for axis in (0, 1):
            self._hash.update(table.sum(axis=axis, dtype="<u8").data)
        self._hash.update(piece[8 * WORDS * rows :])

    def digest(self) -> bytes:
        """Of all pieces."""
        return self._hash.digest()


def is_ours(head: bytes) -> bool:
    """Whether a file begins like one of features."""
    return head.startswith(MAGIC)


def _decode(head: bytes, source: Path) -> Header:
    """The first page, checked."""
    digest, _, rest = head[len(MAGIC) :].partition(b"\n")
    text, _, blanks = rest.partition(b"\n")
    if hashlib.sha256(text).hexdigest().encode() != digest or blanks.strip(b" "):
        raise FeaturesError(f"{source} is damaged: the checksum of its header is wrong. Compute it again with overwrite=True.")
    try:
        about: dict[str, Any] = json.loads(text)
        version = checks.integer(about["version"], "version", minimum=1)
        if version != FORMAT_VERSION:
            raise FeaturesError(
                f"{source} has format version {version}, this echoscale reads {FORMAT_VERSION}. Install a newer one."
            )
        sequences, snapshots, units = (checks.integer(each, "shape", minimum=1) for each in about.pop("shape"))
        checks.choice(about["dtype"], tuple(DTYPES), "dtype")
        checks.integer(about["block"], "block", minimum=1)
        return Header(shape=(sequences, snapshots, units), **about)
    except FeaturesError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise FeaturesError(
            f"{source} does not describe features ({error!r}). Compute it again with overwrite=True."
        ) from error


def prepare(target: Path, wanted: Header, overwrite: bool) -> tuple[Header, list[int]]:
    """A file for what is wanted, found or made: its header, and which blocks are missing. Checks that the disk has room."""
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder. Give a file name, such as {target / 'features.bin'}.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent} for the features {target.name}. Make it first.")
    found = _found(target, wanted, overwrite) if target.exists() else None
    header, missing = found or (wanted, list(range(len(wanted.bounds) - 1)))
    replaced = _on_disk(target) if target.exists() and not found else 0
    _check_room(target, header, missing, replaced)
    if not found:
        write_atomically(target, header.encode())
    if target.stat().st_size < header.size:
        os.truncate(target, header.size)
    return header, missing


def _found(target: Path, wanted: Header, overwrite: bool) -> tuple[Header, list[int]] | None:
    """What is there already, if it is what is wanted; None if it may be overwritten."""
    try:
        header, missing = look(target)
        differences = wanted.differences(header)
        # Whole, it is as good as from here; but one file is not computed half here and half there.
        if not missing and differences == [MEANING["platform"]]:
            differences = []
        if differences:
            raise FeaturesError(
                f"{target} holds features of {' and '.join(differences)}. Give another path, or overwrite=True to replace it."
            )
        there = set(range(header.blocks)) - set(missing)
        return header, sorted({*missing, *damaged(target, header, sorted(there))})
    except FeaturesError:
        with target.open("rb") as file:  # never a file that somebody else made
            if overwrite and is_ours(file.read(PAGE)):
                return None
        raise


def _check_room(target: Path, header: Header, missing: list[int], replaced: int) -> None:
    """Before hours are spent."""
    limits = header.bounds
    needed = sum(limits[each + 1] - limits[each] for each in missing) * header.row + header.offset
    free = shutil.disk_usage(target.parent).free + replaced
    if missing and needed > free:
        smaller = ' Use dtype="bfloat16" for half of it,' if header.dtype == "float32" else " Use"
        raise OSError(
            f"{target.name} needs {needed / 1e9:.2f} GB on the disk of {target.parent}, which has {free / 1e9:.2f} GB free."
            f"{smaller} a path on another disk, or fewer snapshots (a larger `every`)."
        )


def _on_disk(path: Path) -> int:
    """The bytes that a file takes there: what was never written takes none."""
    about = path.stat()
    return int(about.st_blocks * 512 if hasattr(about, "st_blocks") else about.st_size)


class Writer:
    """Writes blocks into a prepared file and marks them. Not for two threads at once."""

    def __init__(self, path: Path, header: Header) -> None:
        self._file = path.open("r+b", buffering=0)
        self._path, self._header = path, header

    def write(self, place: int, numbers: npt.NDArray[Any]) -> None:
        """Block number `place`, (rows, S, N): on the disk first, marked after."""
        header = self._header
        try:
            content, checksum = numbers.reshape(-1).view(np.uint8).data, Checksum()
            first = header.offset + header.bounds[place] * header.row
            for begin in range(0, len(content), PIECE):
                piece = content[begin : begin + PIECE]
                checksum.add(piece)
                self._put(first + begin, piece)
            self._put(PAGE + header.blocks + DIGEST * place, memoryview(checksum.digest()))
            os.fsync(self._file.fileno())
            self._put(PAGE + place, memoryview(bytes([THERE])))
        except OSError as error:
            raise OSError(
                error.errno,
                f"features cannot be written to {self._path}: {error.strerror}. What is there is kept: call compute again with "
                "the same arguments to go on",
            ) from error

    def close(self) -> None:
        """Marks of the last blocks are on the disk too."""
        try:
            os.fsync(self._file.fileno())
        finally:
            self._file.close()

    def _put(self, offset: int, content: memoryview) -> None:
        self._file.seek(offset)
        while content:  # the system may take less than it is given
            content = content[self._file.write(content) :]
