"""Data files as tables: CSV, Parquet and NPZ, with a time column or without one.

Nothing is sorted, filled or dropped silently. What is wrong is refused, with its row and column; the first row below the
header is row 1.
"""

from __future__ import annotations

import csv
import os
import re
import warnings
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]

# The word by which a user says that no column holds times.
NO_TIME = "none"
# Whole numbers that rise are times where their column has one of these names.
NAMES_OF_TIME = ("time", "date", "day", "week", "month", "quarter", "year", "ds", "t", "step", "index", "row", "hour", "period")
DELIMITERS = (",", ";", "\t", "|")
MOST_GAPS = 100  # for every row
SHOWN = 12  # names of columns in an error
DECIMAL_COMMA = r"\s*[+-]?\d+(?:,\d+)?(?:[eE][+-]?\d+)?\s*"


@dataclass(frozen=True, eq=False)
class DataFile:
    """A table, and the times of its rows.

    Attributes
    ----------
    path : Path
        Where it came from.
    frame : pandas.DataFrame
        Its columns without that of the times; the index holds the times, or counts rows from 0.
    time : str or None
        The column that the times came from.
    decimal_comma : bool
        Whether cells like "1,5" are numbers.
    notes : tuple of str
        What a reader should know of how the file was read.
    """

    path: Path
    frame: pd.DataFrame
    time: str | None = None
    decimal_comma: bool = False
    notes: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.frame)

    def check(self, columns: Sequence[str]) -> None:
        """Raise where a column is missing, or named twice.

        Parameters
        ----------
        columns : sequence of str
            Their names.
        """
        for name in columns:
            if name not in self.frame.columns:
                if name == self.time:
                    raise ValueError(
                        f"{self.path}: column {name!r} holds the times; the others are {_listed(self.frame.columns)}."
                    )
                raise ValueError(
                    f"{self.path} has no column {name!r}; there are {_listed([*self._times(), *self.frame.columns])}."
                )
            if list(columns).count(name) > 1:
                raise ValueError(f"column {name!r} is named twice: give it once.")

    def numbers(self, columns: Sequence[str]) -> pd.DataFrame:
        """Columns as numbers; empty cells are NaN.

        Parameters
        ----------
        columns : sequence of str
            Their names.
        """
        import pandas as pd

        self.check(columns)
        return pd.DataFrame({name: self._numbers(name) for name in columns}, self.frame.index)

    def is_text(self, column: str) -> bool:
        """Whether a column holds no number at all, but words.

        Parameters
        ----------
        column : str
            Its name.
        """
        values, found = self._converted(column)
        return bool(values.notna().any() and np.isnan(found).all())

    def numeric(self) -> list[str]:
        """The columns without any word."""
        return [
            name for name in self.frame.columns if not (np.isnan(self._converted(name)[1]) & self.frame[name].notna()).any()
        ]

    def at(self, row: int) -> str:
        """A row in words: its number from 1, and its time.

        Parameters
        ----------
        row : int
            From 0.
        """
        return f"row {row + 1}" + (f" ({when(self.frame.index[row])})" if self.time is not None else "")

    def rows(self, first: int, end: int | None = None) -> DataFile:
        """Some of the rows.

        Parameters
        ----------
        first, end : int
            From 0; the end is not among them.
        """
        return replace(self, frame=self.frame.iloc[first:end])

    def _times(self) -> list[str]:
        return [] if self.time is None else [self.time]

    def _numbers(self, name: str) -> Floats:
        values, found = self._converted(name)
        bad = np.flatnonzero(np.isnan(found) & values.notna().to_numpy())
        if len(bad):
            many = f" ({len(bad)} such cells)" if len(bad) > 1 else ""
            cell = str(values.iloc[bad[0]])
            cell = cell if len(cell) <= 40 else f"{cell[:40]}..."
            raise ValueError(f"{self.path}: {cell!r} at {self.at(int(bad[0]))}, column {name!r}, is no number{many}.")
        infinite = np.flatnonzero(np.isinf(found))
        if len(infinite):
            raise ValueError(f"{self.path}: an infinite number at {self.at(int(infinite[0]))}, column {name!r}.")
        return found

    def _converted(self, name: str) -> tuple[pd.Series[Any], Floats]:
        """A column as it is, and as numbers, NaN where a cell is none."""
        import pandas as pd

        values = self.frame[name]
        if values.dtype.kind in "mMc":
            return values, np.full(len(values), np.nan)
        text = values
        if self.decimal_comma and values.dtype.kind not in "biuf":
            whole = values.astype("str").str.fullmatch(DECIMAL_COMMA)
            text = values.where(~whole, values.astype("str").str.replace(",", "."))
        return values, pd.to_numeric(text, errors="coerce").to_numpy(np.float64, na_value=np.nan)


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
    return _with_times(found, time, every)


def when(time: object) -> str:
    """A time in words: a date without the hours where there are none.

    Parameters
    ----------
    time : object
        An entry of an index.
    """
    said = str(time)
    return said[:10] if re.fullmatch(r"\d{4}-\d\d-\d\d 00:00:00", said) else said


# ------------------------------------------------------------------------------------------------------------------- files


def _csv(path: Path) -> DataFile:
    import pandas as pd

    content = path.read_bytes()
    if not content.strip():
        raise ValueError(f"{path} is empty.")
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
    elif len(parts) > 1 and len(parts[1]) == len(names) + 1:  # as R writes names of rows
        names = ["row", *names]
    names = [each or ("row" if k == 0 else f"c{k + 1}") for k, each in enumerate(names)]
    if len(set(names)) < len(names):
        raise ValueError(f"{path} has two columns named {next(n for n in names if names.count(n) > 1)!r}.")
    try:
        frame = pd.read_csv(
            path,
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


# ------------------------------------------------------------------------------------------------------------------- times


def _with_times(data: DataFile, time: str | None, every: str | None) -> DataFile:
    if time == NO_TIME:
        if every is not None:
            raise ValueError("--every needs a column of times.")
        return data
    if time is not None:
        data.check([time])
    name = time or _column_of_times(data)
    if name is None:
        if every is not None:
            raise ValueError(f"{data.path}: no column of times was found among {_listed(data.frame.columns)}: name it.")
        return data
    times = _times(data, name)
    frame = data.frame.drop(columns=name)
    notes = data.notes
    if not frame.shape[1]:
        raise ValueError(f"{data.path} has the column {name!r} of times, and no other.")
    if times.dtype.kind == "f":
        notes += (f"{name!r} holds evenly spaced numbers: steps are counted from 0",)
        return replace(data, frame=frame, notes=notes)
    frame.index = times
    frame.index.name = name
    made = replace(data, frame=frame, time=name, notes=notes)
    _check_order(made)
    return _even(made, every)


def _column_of_times(data: DataFile) -> str | None:
    """The first column of dates, or the first one of whole numbers that rise and is named like a time."""
    frame = data.frame
    for name in frame.columns:
        if frame[name].dtype.kind == "M" or (frame[name].dtype.kind not in "biuf" and _dates(frame[name]) is not None):
            return str(name)
    for name in frame.columns:
        if str(name).lower() in NAMES_OF_TIME and frame[name].dtype.kind in "iuf":
            if _numbered_days(frame[name]) is not None:
                return str(name)
            values = frame[name].to_numpy(np.float64)
            if len(values) > 1 and (np.diff(values) > 0).all() and (np.diff(values) == values[1] - values[0]).all():
                return str(name)
    return None


def _times(data: DataFile, name: str) -> pd.Index[Any]:
    """Dates, whole numbers, or evenly spaced numbers."""
    import pandas as pd

    values = data.frame[name]
    if values.dtype.kind == "M":
        return pd.DatetimeIndex(values)
    missing = np.flatnonzero(values.isna())
    if len(missing):
        raise ValueError(f"{data.path}: no time at row {missing[0] + 1}, column {name!r}.")
    if values.dtype.kind in "iuf":
        numbers = values.to_numpy()
        days = _numbered_days(values)
        if days is not None:
            return days
        if (numbers == np.round(numbers)).all():
            return pd.Index(numbers.astype(np.int64))
        steps = np.diff(numbers)
        off = np.flatnonzero(~np.isclose(steps, steps[0] if len(steps) else 0, rtol=1e-3))
        if len(off) or steps[0] <= 0:
            row = int(off[0]) if len(off) else 0
            raise ValueError(_uneven(data.path, name, numbers[row], row, numbers[row + 1], "--time none counts rows instead."))
        return pd.Index(numbers.astype(np.float64))
    found = _dates(values)
    if found is None:
        bad = np.flatnonzero(pd.to_datetime(values.astype("str"), errors="coerce", format="mixed", utc=True).isna())
        row = int(bad[0]) if len(bad) else 0
        raise ValueError(f"{data.path}: {str(values.iloc[row])!r} at row {row + 1}, column {name!r}, is no date.")
    return found


def _numbered_days(values: pd.Series[Any]) -> pd.DatetimeIndex | None:
    """Days written as numbers, 20240131; None where some are none."""
    import pandas as pd

    if not ((values >= 19000101) & (values <= 21001231)).all():
        return None
    days = pd.to_datetime(values.astype("int64").astype("str"), format="%Y%m%d", errors="coerce")
    return pd.DatetimeIndex(days) if days.notna().all() else None


def _dates(values: pd.Series[Any]) -> pd.DatetimeIndex | None:
    """Text as dates, the day first where only so they rise; None where some are no dates."""
    import pandas as pd

    if values.isna().any() or not values.astype("str").str.contains(r"\d").all():
        return None
    text = values.astype("str").str.strip()
    quarters = text.str.fullmatch(r"\d{4}-?[qQ][1-4]").all()
    text = text.str.replace("-", "") if quarters else text
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the order of day and month was guessed
        for options in ({}, {"format": "ISO8601"}, {"dayfirst": True}, {"utc": True}):
            try:
                index = pd.DatetimeIndex(pd.to_datetime(text, **options))
            except (ValueError, TypeError, OverflowError):
                continue
            if index.is_monotonic_increasing and index.is_unique:
                return index
            found.append(index)
    return found[0] if found else None


def _check_order(data: DataFile) -> None:
    """Times rise, each once."""
    index, name = data.frame.index, data.time
    twice = np.flatnonzero(index.duplicated())
    if len(twice):
        row = int(twice[0])
        raise ValueError(f"{data.path}: {when(index[row])} stands twice in column {name!r}, again at row {row + 1}.")
    back = np.flatnonzero(np.asarray(index[1:] < index[:-1]))
    if len(back):
        row = int(back[0]) + 1
        raise ValueError(
            f"{data.path} is not sorted by {name!r}: {when(index[row])} at row {row + 1} comes after {when(index[row - 1])}."
        )


def _even(data: DataFile, every: str | None) -> DataFile:
    """With a step between the times that pandas knows; missing rows become gaps where the user says the step."""
    import pandas as pd

    index, name = data.frame.index, data.time
    if every is not None:
        grid = _grid(index, every, MOST_GAPS * len(index))
        if grid is None:
            raise ValueError(f"{data.path}: steps of {every!r} make more than {MOST_GAPS} gaps of every row: is that the step?")
        off = np.flatnonzero(~index.isin(grid))
        if len(off):
            row = int(off[0])
            raise ValueError(f"{data.path}: {when(index[row])} at row {row + 1} is no step of {every!r} from {when(index[0])}.")
        more = len(grid) - len(index)
        notes = (*data.notes, f"{more} missing row{'s' * (more != 1)} became gaps") if more else data.notes
        return replace(data, frame=data.frame.reindex(grid).rename_axis(name), notes=notes)
    if len(index) < 3:
        return data
    if isinstance(index, pd.DatetimeIndex):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what a later pandas will return
            frequency = pd.infer_freq(index)
            if frequency is None:
                raise ValueError(_irregular(data))
            return replace(data, frame=data.frame.set_axis(pd.DatetimeIndex(index, freq=frequency, name=name)))
    steps = np.diff(np.asarray(index))
    off = np.flatnonzero(steps != steps[0])
    if len(off):
        step, row = int(np.gcd.reduce(steps)), int(off[0])
        raise ValueError(
            _uneven(data.path, name, index[row], row, index[row + 1], f"--every {step} makes gaps of missing rows.")
        )
    return data


def _grid(index: pd.Index[Any], every: str, most: int) -> pd.Index[Any] | None:
    """All steps from the first time to the last; None where there are more than `most`, by the width of the first."""
    import pandas as pd

    if not isinstance(index, pd.DatetimeIndex):
        if not every.isdecimal() or int(every) < 1:
            raise ValueError(f"the step of whole numbers is a whole number, got {every!r}.")
        steps = range(int(index[0]), int(index[-1]) + 1, int(every))
        return None if (steps[-1] - steps[0]) // int(every) >= most else pd.Index(list(steps))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            first, second = pd.date_range(index[0], periods=2, freq=every)
            if not second > first or (index[-1] - index[0]) / (second - first) > most + 2:
                return None
            return pd.date_range(index[0], index[-1], freq=every)
    except (ValueError, OverflowError):
        raise ValueError(
            f"{every!r} is no step between dates: give D, h, min, W-SUN, MS, QS, YS or another of pandas."
        ) from None


def _irregular(data: DataFile) -> str:
    """What is wrong with dates that have no step, and what would mend it."""
    import pandas as pd

    index: Any = data.frame.index
    widths = pd.Series(index[1:] - index[:-1])
    usual = widths.mode().iloc[0]
    steps = ["YS", "YE", "QS", "QE", "MS", "ME", "W-SUN", "W-MON", "B", "D", "h", "min"]  # the longest first
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        steps.append(str(pd.tseries.frequencies.to_offset(usual).freqstr))  # type: ignore[attr-defined]
        grids = {each: _grid(index, each, 4 * len(index)) for each in steps}
        fitting = [each for each, grid in grids.items() if grid is not None and index.isin(grid).all()]
    remedy = f"--every {fitting[0]} makes gaps of missing rows." if fitting else "--time none counts rows instead."
    if fitting:
        row = int(np.flatnonzero(index != grids[fitting[0]][: len(index)])[0]) - 1  # type: ignore[index]
    else:
        row = int(np.flatnonzero((widths != usual).to_numpy())[0])
    return _uneven(data.path, data.time, index[row], row, index[row + 1], remedy)


def _uneven(path: Path, name: str | None, before: object, row: int, after: object, remedy: str) -> str:
    return (
        f"{path}: the times in {name!r} are not evenly spaced: {when(before)} at row {row + 1} is followed by {when(after)}. "
        f"{remedy}"
    )


def _listed(names: Sequence[object] | pd.Index[Any]) -> str:
    shown = ", ".join(str(each) for each in list(names)[:SHOWN])
    return f"{shown} and {len(names) - SHOWN} more" if len(names) > SHOWN else shown or "none"
