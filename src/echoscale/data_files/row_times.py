"""The times of a table's rows: which column holds them, and what they are."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from echoscale.data_files.data_file import DataFile, listed, when
from echoscale.data_files.even_steps import even, uneven

if TYPE_CHECKING:
    import pandas as pd

# The word by which a user says that no column holds times.
NO_TIME = "none"
# Whole numbers that rise are times where their column has one of these names.
NAMES_OF_TIME = ("time", "date", "day", "week", "month", "quarter", "year", "ds", "t", "step", "index", "row", "hour", "period")


def with_times(data: DataFile, time: str | None, every: str | None) -> DataFile:
    """The same table with its times as the index.

    Parameters
    ----------
    data : DataFile
        As it was read.
    time : str or None
        The column of times; `NO_TIME`: there is none; None: it is looked for.
    every : str or None
        The step between two rows; None: times must be evenly spaced.
    """
    if time == NO_TIME:
        if every is not None:
            raise ValueError("--every needs a column of times.")
        return data
    if time is not None:
        data.check([time])
    name = time or _column_of_times(data)
    if name is None:
        if every is not None:
            raise ValueError(f"{data.path}: no column of times was found among {listed(data.frame.columns)}: name it.")
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
    return even(made, every)


def _column_of_times(data: DataFile) -> str | None:
    """The first column of dates, or the first one of whole numbers that rise and is named like a time."""
    frame, numeric = data.frame, set(data.numeric())  # 1,5 is a number, not the fifth of January
    for name in frame.columns:
        if frame[name].dtype.kind == "M" or (name not in numeric and _dates(frame[name]) is not None):
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
    if values.dtype.kind not in "biuf" and name in data.numeric():
        values = data.numbers([name])[name]
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
        if len(off) or (len(steps) and steps[0] <= 0):
            row = int(off[0]) if len(off) else 0
            raise ValueError(uneven(data.path, name, numbers[row], row, numbers[row + 1], "--time none counts rows instead."))
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
