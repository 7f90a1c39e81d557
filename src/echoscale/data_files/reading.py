"""From a file to a table: CSV, Parquet and NPZ. A new format is a function and an entry of `READERS`."""

from __future__ import annotations

import csv
import io
import os
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale.data_files.data_file import DECIMAL_COMMA, DataFile
from echoscale.data_files.row_times import with_times

DELIMITERS = (",", ";", "\t", "|")


def read(path: str | os.PathLike[str], time: str | None = None, every: str | None = None) -> DataFile:
    """A table out of a file, with its times as the index.

    Parameters
    ----------
    path : path
        Ends in .csv, .tsv, .txt, .parquet or .npz.
    time : str, optional
        The column of times; "none": there is none. Unless given, a column of dates is looked for, or one that is named
        "time", "year", "step", ... and rises.
    every : str, optional
        The step between two rows ("D", "h", "MS", ...; a whole number for whole numbers): rows that are missing become gaps.
        Unless given, times must be evenly spaced.
    """
    source = Path(path)
    if not source.is_file():
        raise FileNotFoundError(f"{source} is a folder: give a file." if source.is_dir() else f"there is no file {source}.")
    kind = source.suffix.lower()
    if kind not in READERS:
        raise ValueError(f"{source}: files end in {', '.join(READERS)}; this one ends in {kind!r}.")
    found = READERS[kind](source)
    twice = found.frame.columns[found.frame.columns.duplicated()]
    if len(twice):
        raise ValueError(f"{source} has two columns named {twice[0]!r}: give every column its own name.")
    if not len(found):
        raise ValueError(f"{source} has no rows" + (" below its header." if kind in CSV else "."))
    return with_times(found, time, every)


def parse_csv(content: bytes, path: Path) -> DataFile:
    """A table out of the bytes of a CSV file: what stands between cells, decimal commas and missing names are found out.

    Parameters
    ----------
    content : bytes
        Of the file.
    path : Path
        What errors call it.
    """
    import pandas as pd

    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is no CSV file: it is not text in UTF-8.") from None
    head = [line for line in text[: 1 << 20].splitlines() if line.strip()][:20]
    if not head:
        raise ValueError(f"{path} is empty.")
    if "\0" in text or head[0].lstrip()[:1] in ("<", "{"):
        raise ValueError(f"{path} is no CSV file: it begins with {head[0].strip()[:30]!r}.")
    delimiter, spaces = _delimiter(head)
    parts = [line.split() for line in head] if spaces else list(csv.reader(head, delimiter=delimiter))
    names, notes = [each.strip() for each in parts[0]], []
    if bare := all(_is_number(each) for each in names):
        notes.append("the first line holds numbers, so it is data: columns are named c1, c2, ...")
        names = [f"c{k + 1}" for k in range(len(names))]
    elif len(parts) > 1 and delimiter == "," and len(names) == 1 and _are_decimals(parts[1:]):
        delimiter = ";"  # which a single column has no use for
        parts = list(csv.reader(head, delimiter=delimiter))
        notes.append("one column whose commas are decimal ones")
    elif len(parts) > 1 and len(parts[1]) == len(names) + 1:  # as R writes names of rows
        names = ["row", *names]
        notes.append("rows have one cell more than the first line: their first cells are read as names of rows")
    names = [each or ("row" if k == 0 else f"c{k + 1}") for k, each in enumerate(names)]
    if len(set(names)) < len(names):
        raise ValueError(f"{path} has two columns named {next(n for n in names if names.count(n) > 1)!r}.")
    try:
        frame = pd.read_csv(
            io.BytesIO(content),
            sep=r"\s+" if spaces else delimiter,
            header=None,
            skiprows=0 if bare else text[: text.index(head[0])].count("\n") + 1,
            names=names,
            index_col=False,
            encoding="utf-8-sig",
            on_bad_lines="error",
            skipinitialspace=True,
            low_memory=False,
        )
    except pd.errors.EmptyDataError:
        return DataFile(path, pd.DataFrame(columns=names))
    except (pd.errors.ParserError, pd.errors.ParserWarning, csv.Error) as error:
        found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
        why = f"line {found[2]} has {found[3]} cells, the first one {found[1]}" if found else str(error)
        raise ValueError(f"{path} is no CSV file: {why}.") from None
    for line, cells in enumerate(parts[1:], start=2):
        if len(cells) > len(names):
            raise ValueError(f"{path} is no CSV file: line {line} has {len(cells)} cells, the first one {len(parts[0])}.")
    return DataFile(path, frame, decimal_comma=delimiter != ",", notes=tuple(notes))


def _are_decimals(rows: list[list[str]]) -> bool:
    """Whether rows that a comma cuts in two are numbers with decimal commas, and not numbered rows of numbers."""
    cut = [row for row in rows if len(row) == 2]
    first = [row[0] for row in cut]
    numbered = any(first == [str(k) for k in range(begin, begin + len(first))] for begin in (0, 1))
    return bool(cut) and not numbered and all(re.fullmatch(DECIMAL_COMMA, ",".join(row)) for row in rows if row)


def _csv(path: Path) -> DataFile:
    return parse_csv(path.read_bytes(), path)


def _delimiter(head: list[str]) -> tuple[str, bool]:
    """What stands between cells, and whether that is blanks."""
    unquoted = re.sub(r'"[^"]*"', "", head[0])
    best = max(DELIMITERS, key=unquoted.count)
    if unquoted.count(best):
        return best, False
    counts = {len(line.split()) for line in head}
    return ",", len(counts) == 1 and counts != {1}


def _is_number(cell: str) -> bool:
    try:
        float(cell.strip())
    except ValueError:
        return False
    return cell.strip().lower() not in ("nan", "inf", "infinity")


def _parquet(path: Path) -> DataFile:
    import pandas as pd

    try:
        frame = pd.read_parquet(path)
    except ImportError:
        raise ImportError(f"{path}: Parquet files need the package pyarrow: pip install pyarrow.") from None
    except Exception as error:  # of whatever library reads it
        raise ValueError(f"{path} is no Parquet file ({str(error).splitlines()[0]}).") from None
    if not isinstance(frame.index, pd.RangeIndex):
        frame = frame.reset_index()
    return DataFile(path, frame.rename(columns=str))


def _npz(path: Path) -> DataFile:
    import pandas as pd

    columns: dict[str, npt.NDArray[Any]] = {}
    try:
        with np.load(path, allow_pickle=False) as archive:
            for name in archive.files:
                array = archive[name]
                if array.ndim == 2:
                    columns |= {name if array.shape[1] == 1 else f"{name}{k}": each for k, each in enumerate(array.T)}
                elif array.ndim == 1:
                    columns[name] = array
                else:
                    raise ValueError(f"array {name!r} has shape {array.shape}, a column has one axis, a table two")
    except (zipfile.BadZipFile, ValueError, OSError, EOFError, AttributeError) as error:
        raise ValueError(f"{path} is no NPZ file of columns ({error}).") from None
    lengths = {name: len(each) for name, each in columns.items()}
    if len(set(lengths.values())) > 1:
        first = next(iter(lengths))
        other = next(name for name, length in lengths.items() if length != lengths[first])
        raise ValueError(f"{path}: {first!r} has {lengths[first]} rows, {other!r} has {lengths[other]}.")
    return DataFile(path, pd.DataFrame(columns))


CSV = (".csv", ".tsv", ".txt")
READERS: dict[str, Callable[[Path], DataFile]] = {**dict.fromkeys(CSV, _csv), ".parquet": _parquet, ".npz": _npz}
