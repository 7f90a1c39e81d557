"""Features on a disk: a plain `.npy` file that any tool reads, and a small JSON file that describes it.

    x.npy         the features (B, S, N), written block by block
    x.npy.json    which run they belong to, and how many sequences are finished (`Run`), with a checksum of this text

The rows of a block are on the disk before the JSON file counts them as finished. A run that is killed at any time therefore
goes on with the first block that is not finished. The JSON file is replaced in one step. Reading it runs no code. The features
themselves have no checksum: their shape, type and size are checked, their numbers are not.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tokenize import TokenError
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from echoscale._internal.files import write_atomically

DTYPES = {"float32": np.dtype(np.float32), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
FORMAT, VERSION = "echoscale features", 1
FEWEST = 16  # sequences of a last block: fewer join the block before, since few lanes may be run by another program
DIFFERENCES = {
    "network": "another network (its weights, hyper-parameters or precision)",
    "inputs": "other inputs",
    "every": "another `every`",
    "dtype": "another dtype",
    "platform": "an unfinished run on another kind of device",
}


class FeaturesError(ValueError):
    """The file is damaged or unfinished, or it holds features of another network, of other inputs, or of other settings."""


@dataclass(frozen=True)
class Run:
    """The description of a file of features.

    shape     (B, S, N)
    dtype     "float32" or "bfloat16"
    every     M, the steps from one snapshot to the next
    network   fingerprint of the network with its hyper-parameters
    inputs    fingerprint of the inputs
    platform  "cpu", "gpu", ...: the kind of device that runs the network; others round differently
    block     sequences of a block
    finished  number of sequences, from the first on, whose features are in the file
    """

    shape: tuple[int, int, int]
    dtype: str
    every: int
    network: str
    inputs: str
    platform: str
    block: int
    finished: int = 0

    @property
    def left(self) -> list[tuple[int, int]]:
        """The blocks that are not finished."""
        return [(begin, end) for begin, end in block_edges(self.shape[0], self.block) if begin >= self.finished]

    @property
    def row(self) -> int:
        """The bytes of one sequence."""
        return self.shape[1] * self.shape[2] * int(DTYPES[self.dtype].itemsize)


def block_edges(count: int, size: int) -> list[tuple[int, int]]:
    """First sequence of every block, and the one after its last; the last block may be a little longer than the others."""
    begins = list(range(0, count, size))
    if len(begins) > 1 and count - begins[-1] < FEWEST:
        begins.pop()
    return list(zip(begins, [*begins[1:], count], strict=True))


def record_of(path: Path) -> Path:
    """The JSON file beside a file of features."""
    return path.with_name(path.name + ".json")


def read(path: Path) -> Run:
    """The run of a file of features, from the JSON file beside it."""
    record = record_of(path)
    if not record.is_file():
        if not path.exists():
            raise FileNotFoundError(f"there is no file {path}.")
        raise FeaturesError(f"{path} is no file of features: there is no {record.name} beside it. Give another path.")
    try:
        about: dict[str, Any] = json.loads(record.read_bytes())
        if about.pop("sha256") != _digest(about):
            raise ValueError("its checksum does not fit")
        if (kind := about.pop("format")) != FORMAT:
            raise ValueError(f"its format is {kind!r}")
        if (version := about.pop("version")) != VERSION:
            raise ValueError(f"its format version is {version}, and this echoscale reads {VERSION}")
        run = Run(**{**about, "shape": tuple(about["shape"])})
        if run.finished not in {0, *(end for _, end in block_edges(run.shape[0], run.block))}:
            raise ValueError(f"no block ends at sequence {run.finished}")
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise FeaturesError(f"{record} is damaged ({error}). Compute the features again with overwrite=True.") from error
    return run


def _write_record(path: Path, run: Run) -> None:
    about = {"format": FORMAT, "version": VERSION, **asdict(run)}
    write_atomically(record_of(path), json.dumps({**about, "sha256": _digest(about)}, indent=1).encode())


def _digest(about: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def mapped(path: Path, run: Run) -> npt.NDArray[Any]:
    """The features of a run, mapped for reading; a file of another shape, type or size than the run's is refused."""
    dtype = DTYPES[run.dtype]
    try:
        found = np.lib.format.open_memmap(path, mode="r")
    except (OSError, SyntaxError, TokenError, ValueError) as error:  # all that NumPy's reader of headers raises
        raise FeaturesError(f"{path} is damaged ({error}). Compute it again with overwrite=True.") from error
    kept = np.dtype(f"V{dtype.itemsize}") if run.dtype == "bfloat16" else dtype  # NumPy has no name for bfloat16
    size, needed = path.stat().st_size, found.offset + run.shape[0] * run.row
    if (found.shape, found.dtype) != (run.shape, kept) or not found.flags.c_contiguous or size != needed:
        raise FeaturesError(
            f"{path} is damaged: it holds {found.dtype} of shape {found.shape} in {size:,} bytes and should hold {kept} of "
            f"shape {run.shape} in {needed:,} bytes. Compute it again with overwrite=True."
        )
    values: npt.NDArray[Any] = found.view(dtype)
    return values


def prepare(path: Path, wanted: Run, overwrite: bool) -> Run:
    """A file for this run, found or made: the run with the number of sequences that are finished."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder. Give a file name, such as {path / 'features.npy'}.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} for the features {path.name}. Make it first.")
    run = wanted
    if path.exists() or record_of(path).exists():
        try:
            run = _found(path, wanted)
        except FeaturesError:
            if not overwrite or not record_of(path).exists():  # a file without a record is not ours
                raise
    _check_room(path, run)
    if not run.finished:
        # The record first: an incomplete file is never used, since nothing in it counts as finished.
        _write_record(path, run)
        path.unlink(missing_ok=True)  # processes that have mapped the older file keep it
        np.lib.format.open_memmap(path, mode="w+", dtype=DTYPES[run.dtype], shape=run.shape)
    return run


def _found(path: Path, wanted: Run) -> Run:
    """The run whose features are there already, if it is the wanted one."""
    found = read(path)
    differences = [words for name, words in DIFFERENCES.items() if getattr(found, name) != getattr(wanted, name)]
    # A finished file of another kind of device is reused, but an unfinished one is not continued here.
    if not found.left and differences == [DIFFERENCES["platform"]]:
        differences = []
    if differences:
        raise FeaturesError(
            f"{path} holds features of {' and '.join(differences)}. Give another path, or overwrite=True to replace it."
        )
    if found.finished:
        mapped(path, found)
    return found


def _check_room(path: Path, run: Run) -> None:
    """Raises an error if the disk has no room for the whole run, counting the room of an unfinished or older file as free."""
    needed = run.shape[0] * run.row
    there = path.stat().st_blocks * 512 if path.exists() and hasattr(os.stat_result, "st_blocks") else 0
    free = shutil.disk_usage(path.parent).free + there
    if run.left and needed > free:
        smaller = ' Use dtype="bfloat16" for half of it,' if run.dtype == "float32" else " Use"
        raise OSError(
            f"{path.name} needs {needed / 1e9:.2f} GB on the disk of {path.parent}, which has {free / 1e9:.2f} GB free."
            f"{smaller} a path on another disk, or fewer snapshots (a larger `every`)."
        )


def write(path: Path, run: Run, rows: npt.NDArray[Any]) -> None:
    """Write the next block (rows, S, N), and count it as finished once it is on the disk."""
    try:
        # Not through a memory map, where a full disk would kill the process instead of raising an error.
        with path.open("r+b") as file:
            file.seek(-run.row * (run.shape[0] - run.finished), os.SEEK_END)
            file.write(rows.reshape(-1).view(np.uint8).data)
            file.flush()
            os.fsync(file.fileno())
        if read(path) != run:
            raise FeaturesError(f"{path} was replaced by another process at work on it. Give each its own path.")
        _write_record(path, replace(run, finished=run.finished + len(rows)))
    except OSError as error:
        raise OSError(
            error.errno,
            f"features cannot be written to {path}: {error.strerror or error}. What is there is kept: call compute again with "
            "the same arguments to go on",
        ) from error
