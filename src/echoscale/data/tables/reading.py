"""From a file to a table: CSV, Parquet and NPZ. A new format is a function and an entry of `READERS`."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale.data.series import refuse_twice
from echoscale.data.tables import notation as notations
from echoscale.data.tables.file import DataFile
from echoscale.data.tables.notation import Notation
from echoscale.data.tables.times import with_times

DELIMITERS = (",", ";", "\t", "|")
DATE = re.compile(r"\d{1,4}([./-])\d{1,2}\1\d{1,4}")


def read(
    path: str | os.PathLike[str], time: str | None = None, every: str | None = None, notation: Notation | None = None
) -> DataFile:
    """A table out of a file, with its times as the index."""
    notation = notation or Notation()
    source = Path(path)
    if not source.is_file():
        raise FileNotFoundError(f"{source} is a folder: give a file." if source.is_dir() else f"there is no file {source}.")
    kind = source.suffix.lower()
    if kind not in READERS:
        raise ValueError(f"{source}: files end in {', '.join(READERS)}; this one ends in {kind!r}.")
    found = READERS[kind](source, notation)
    if not len(found):
        raise ValueError(f"{source} has no rows" + (" below its header." if kind in CSV else "."))
    return with_times(found, time, every, notation.dayfirst)


def parse_csv(content: bytes, path: Path, notation: Notation | None = None) -> DataFile:
    """A table out of the bytes of a CSV file.

    The delimiter, the notation of numbers and missing names are taken from the text. In a file of one column an empty line is
    a gap.
    """
    import pandas as pd

    notation = notation or Notation()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is no CSV file: it is not text in UTF-8.") from None
    head = [line for line in text[: 1 << 20].splitlines() if line.strip()][:20]
    if not head:
        raise ValueError(f"{path} is empty.")
    if "\0" in text or head[0].lstrip()[:1] in ("<", "{"):
        raise ValueError(f"{path} is no CSV file: it begins with {head[0].strip()[:30]!r}.")
    delimiter, spaces = _delimiter(head, notation)
    try:
        parts = [line.split() for line in head] if spaces else list(csv.reader(head, delimiter=delimiter))
    except csv.Error:
        raise ValueError(f"{path} is no CSV file: a cell has more than {csv.field_size_limit():,} characters.") from None
    names, notes = [each.strip() for each in parts[0]], []
    numbers = [notations.is_number(each) for each in names]
    if bare := any(numbers) and all(n or DATE.match(each) for n, each in zip(numbers, names, strict=True)):
        notes.append("the first line holds numbers, so it is data: columns are named c1, c2, ...")
        names = [f"c{k + 1}" for k in range(len(names))]
    names = [each or ("row" if k == 0 else f"c{k + 1}") for k, each in enumerate(names)]
    refuse_twice(names, path)
    for line, cells in enumerate(parts[1:], start=2):
        if len(cells) > len(names):
            raise ValueError(_uneven_lines(path, line, len(cells), len(names)))
    before = text[: text.index(head[0])].count("\n")
    try:
        frame = pd.read_csv(
            io.StringIO(text.rstrip("\r\n ")),
            sep=r"\s+" if spaces else delimiter,
            header=None,
            skiprows=before + (not bare),
            names=names,
            index_col=False,
            on_bad_lines="error",
            skipinitialspace=True,
            skip_blank_lines=len(names) > 1,
            dtype="str",
        )
    except pd.errors.EmptyDataError:
        return DataFile(path, pd.DataFrame(columns=names))
    except (pd.errors.ParserError, pd.errors.ParserWarning, csv.Error) as error:
        found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
        why = _uneven_lines(path, *map(int, found.group(2, 3, 1))) if found else f"{path} is no CSV file: {error}."
        raise ValueError(why) from None
    columns = {name: frame[name] for name in names}
    used = notations.found(columns, notation, delimiter, path)
    return DataFile(path, pd.DataFrame({name: used.converted(each) for name, each in columns.items()}), notes=tuple(notes))


def _uneven_lines(path: Path, line: int, cells: int, names: int) -> str:
    remedy = "give --decimal , where commas are decimal ones" if names == 1 else "name every column in the first line"
    return f"{path} is no CSV file: line {line} has {cells} cells, the first one {names}: {remedy}."


def _csv(path: Path, notation: Notation) -> DataFile:
    return parse_csv(path.read_bytes(), path, notation)


def _delimiter(head: list[str], notation: Notation) -> tuple[str, bool]:
    """What stands between cells, and whether that is blanks."""
    unquoted = [re.sub(r'"[^"]*"', "", line) for line in head]
    for each in DELIMITERS[1:]:  # commas may be decimal ones
        if unquoted[0].count(each) and len({line.count(each) for line in unquoted}) == 1:
            return each, False
    best = max(DELIMITERS, key=unquoted[0].count)
    if unquoted[0].count(best):
        return best, False
    counts = {len(line.split()) for line in head}
    in_numbers = "," in (notation.decimal, notation.thousands)
    return ";" if in_numbers else ",", len(counts) == 1 and counts != {1}


def _parquet(path: Path, _: Notation) -> DataFile:
    import pandas as pd

    try:
        frame = pd.read_parquet(path)
    except ImportError:
        raise ImportError(f"{path}: Parquet files need the package pyarrow: pip install pyarrow.") from None
    except Exception as error:  # of whatever library reads it
        raise ValueError(f"{path} is no Parquet file ({str(error).splitlines()[0]}).") from None
    if not isinstance(frame.index, pd.RangeIndex):
        frame = frame.reset_index()
    frame = frame.rename(columns=str)
    refuse_twice(list(frame.columns), path)
    return DataFile(path, frame)


def _npz(path: Path, _: Notation) -> DataFile:
    import pandas as pd

    arrays: list[tuple[str, npt.NDArray[Any]]] = []
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            for name in archive.files:
                array = archive[name]
                if array.ndim == 2:
                    arrays += [(name if array.shape[1] == 1 else f"{name}{k}", each) for k, each in enumerate(array.T)]
                elif array.ndim == 1:
                    arrays.append((name, array))
                else:
                    raise ValueError(f"array {name!r} has shape {array.shape}, a column has one axis, a table two")
    except Exception as error:  # damage shows as an error of the archive, its compression or NumPy
        raise ValueError(f"{path} is no NPZ file of columns ({error}).") from None
    refuse_twice([name for name, _ in arrays], path)
    columns = dict(arrays)
    lengths = {name: len(each) for name, each in columns.items()}
    if len(set(lengths.values())) > 1:
        first = next(iter(lengths))
        other = next(name for name, length in lengths.items() if length != lengths[first])
        raise ValueError(f"{path}: {first!r} has {lengths[first]} rows, {other!r} has {lengths[other]}.")
    return DataFile(path, pd.DataFrame(columns))


CSV = (".csv", ".tsv", ".txt")
READERS: dict[str, Callable[[Path, Notation], DataFile]] = {**dict.fromkeys(CSV, _csv), ".parquet": _parquet, ".npz": _npz}
