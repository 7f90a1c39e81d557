"""Times of a table's rows: find the column of times, read its dates or numbers, and check that its steps are even.

Dates such as 1/5/2020 are read in the order of day and month that makes the times rise. If several readings remain possible, an
error asks for the order.

Times must have one step between them. If the user gives the step, missing rows become gaps.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from echoscale.data.clock import inferred, usual
from echoscale.data.tables.file import DataFile, listed, when

if TYPE_CHECKING:
    import pandas as pd


# The word by which a user says that no column holds times.
NO_TIME = "none"
# Whole numbers that rise are times only if their column has one of these names: more names would take data for times.
NAMES_OF_TIME = ("time", "date", "day", "week", "month", "quarter", "year", "ds", "t", "step", "index", "row", "hour", "period")

# A date whose parts have no order of their own, and the text after it; a year of two digits may come first or last.
UNORDERED = r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})(?!\d)(.*)"
CENTURY = 69  # years of two digits from here on belong to the last century, as in POSIX
# Gaps for every row, at most: a step that makes more of them is a mistake, and would fill the memory.
MOST_GAPS = 100


def with_times(data: DataFile, time: str | None, every: str | None, dayfirst: bool | None = None) -> DataFile:
    """The same table with its times as the index."""
    if time == NO_TIME:
        if every is not None:
            raise ValueError("--every needs a column of times.")
        return data
    if time is not None:
        data.check([time])
    found = _found(data, dayfirst) if time is None else (time, _times(data, time, dayfirst))
    if found is None:
        if every is not None:
            raise ValueError(f"{data.path}: no column of times was found among {listed(data.frame.columns)}: name it.")
        return data
    name, times = found
    frame = data.frame.drop(columns=name)
    if not frame.shape[1]:
        raise ValueError(f"{data.path} has the column {name!r} of times, and no other.")
    if times.dtype.kind == "f":
        note = f"{name!r} holds evenly spaced numbers: steps are counted from 0"
        return replace(data, frame=frame, notes=(*data.notes, note))
    made = replace(data, frame=frame.set_axis(times.rename(name)), time=name)
    _check_order(made)
    return _even(made, every)


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
        frequency = inferred(index)
        if frequency is None:
            raise ValueError(_irregular(data))
        return replace(data, frame=data.frame.set_axis(pd.DatetimeIndex(index, freq=frequency, name=name)))
    steps = np.diff(np.asarray(index))
    off = np.flatnonzero(steps != usual(steps))
    if len(off):
        raise ValueError(_uneven(data, name, index, off[0], f"--every {np.gcd.reduce(steps)} makes gaps of missing rows."))
    return data


def _uneven(data: DataFile, name: str | None, times: Any, row: int, remedy: str) -> str:
    return (
        f"{data.path}: the times in {name!r} are not evenly spaced: {when(times[row])} at row {row + 1} is followed by "
        f"{when(times[row + 1])}. {remedy}"
    )


def _found(data: DataFile, dayfirst: bool | None) -> tuple[str, pd.Index[Any]] | None:
    """The first column of dates, or the first one of numbers that rise and is named like a time; and its times."""
    frame, numeric = data.frame, set(data.numeric())
    words = [name for name in frame.columns if name not in numeric]
    for name in words:
        dates = _dates(data, name, dayfirst)
        if dates is not None:
            return name, dates
    for name in frame.columns:
        if name.lower() in NAMES_OF_TIME and frame[name].dtype.kind in "iuf":
            values = frame[name].to_numpy(np.float64)
            if _numbered_days(frame[name]) is not None or (len(values) > 1 and (np.diff(values) > 0).all()):
                return name, _times(data, name, dayfirst)
    for name in words:
        good = _are_dates(frame[name])
        if name.lower() not in NAMES_OF_TIME:  # 1984 may be a year, or any number
            good = good & np.isnan(data._converted(name)[1])
        if good.mean() > 0.5:
            said = _no_date(data, name, good, dayfirst)
            raise ValueError(f"{said} The other rows have dates: mend it, or count rows with --time none.")
    return None


def _times(data: DataFile, name: str, dayfirst: bool | None) -> pd.Index[Any]:
    """Dates, whole numbers, or evenly spaced numbers."""
    import pandas as pd

    values = data.frame[name]
    if values.dtype.kind not in "biuf" and name in data.numeric():
        values = data.numbers([name])[name]
    if values.isna().any():
        raise ValueError(_no_date(data, name, values.notna().to_numpy(bool), dayfirst))
    if values.dtype.kind in "iuf":
        numbers = values.to_numpy()
        days = _numbered_days(values)
        if days is not None:
            return days
        if (numbers == np.round(numbers)).all():
            return pd.Index(numbers.astype(np.int64))
        steps = np.diff(numbers)
        step = np.median(steps) if len(steps) else 1.0
        off = np.flatnonzero(~np.isclose(steps, step, rtol=1e-3))
        if len(off) or step <= 0:
            raise ValueError(_uneven(data, name, numbers, off[0] if len(off) else 0, "--time none counts rows instead."))
        return pd.Index(numbers.astype(np.float64))
    found = _dates(data, name, dayfirst)
    if found is None:
        raise ValueError(_no_date(data, name, _are_dates(values), dayfirst))
    return found


def _no_date(data: DataFile, name: str, good: npt.NDArray[np.bool_], dayfirst: bool | None) -> str:
    """The first cell of a column that is no date, or that is written in another way than the cells before."""
    values = data.frame[name]
    row = _other_way(values.astype("str").str.strip(), dayfirst) if good.all() else int(np.flatnonzero(~good)[0])
    place = f"at row {row + 1}, column {name!r}"
    if values.isna().iloc[row]:
        return f"{data.path}: no time {place}."
    what = "is written in another way than the dates before" if good.all() and row else "is no date"
    return f"{data.path}: {str(values.iloc[row])!r} {place}, {what}."


def _other_way(text: pd.Series[Any], dayfirst: bool | None) -> int:
    """The first row that no reading shares with all rows before it."""
    readable, end = 0, len(text)  # numbers of rows that can, and that cannot be read together
    while end - readable > 1:
        middle = (readable + end) // 2
        readable, end = (middle, end) if _readings(text.iloc[:middle], dayfirst) else (readable, middle)
    return readable


def _are_dates(values: pd.Series[Any]) -> npt.NDArray[np.bool_]:
    """Which cells are dates with a year, each by itself."""
    import pandas as pd

    text = values.astype("str")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dates = pd.to_datetime(text, errors="coerce", format="mixed", utc=True)
    return np.asarray(dates.notna() & _with_year(text) & values.notna())


def _with_year(text: pd.Series[Any]) -> pd.Series[bool]:
    """Which cells have a year: pandas reads 1/5 and 12:30 as dates too."""
    return text.str.contains(r"\d{4}") | text.str.fullmatch(rf"\s*{UNORDERED}")


def _numbered_days(values: pd.Series[Any]) -> pd.DatetimeIndex | None:
    """Days written as numbers, 20240131; None where some are none."""
    import pandas as pd

    if not ((values >= 19000101) & (values <= 21001231)).all():
        return None
    days = pd.to_datetime(values.astype("int64").astype("str"), format="%Y%m%d", errors="coerce")
    return pd.DatetimeIndex(days) if days.notna().all() else None


def _dates(data: DataFile, name: str, dayfirst: bool | None) -> pd.DatetimeIndex | None:
    """Dates of a column; None where some are no dates with a year. Raises where day and month may be exchanged."""
    import pandas as pd

    values = data.frame[name]
    if values.isna().any():
        return None
    if values.dtype.kind == "M":
        return pd.DatetimeIndex(values)
    text = values.astype("str").str.strip()
    if not _with_year(text).all():
        return None
    dates = _readings(text, dayfirst)
    rising = [each for each in dates if each.is_monotonic_increasing and each.is_unique]
    chosen = rising or dates
    for other in chosen[1:]:
        for row in np.flatnonzero(np.asarray(chosen[0] != other))[:1]:
            ways = " or ".join(f"{each[row].day} {each[row]:%B %Y}" for each in (chosen[0], other))
            raise ValueError(
                f"{data.path}: {text.iloc[row]!r} at row {row + 1}, column {name!r}, may be {ways}: "
                "give --dayfirst or --monthfirst, or write the year first, in four digits."
            )
    return chosen[0] if chosen else None


def _readings(text: pd.Series[Any], dayfirst: bool | None) -> list[pd.DatetimeIndex]:
    """All that a column of dates may mean, the usual order of day and month first."""
    parts = text.str.extract(f"^{UNORDERED}$")
    if text.str.fullmatch(r"\d{4}-?[qQ][1-4]").all():
        found = [_parsed(text.str.replace("-", ""))]
    elif parts.isna().any(axis=None):
        found = [_parsed(text)]
    else:
        first, second, third, rest = (parts[k] for k in (0, 2, 3, 4))
        orders = {True: (third, second, first), False: (third, first, second)}
        several = [*orders.values(), (first, second, third)] if dayfirst is None else [orders[dayfirst]]
        found = [_joined(*each, rest) for each in several]
    return [each for each in found if each is not None]


def _joined(year: pd.Series[Any], month: pd.Series[Any], day: pd.Series[Any], rest: pd.Series[Any]) -> pd.DatetimeIndex | None:
    """Dates of parts; None where some do not exist."""
    if (day.str.len() > 2).any():
        return None
    short = year.str.len() <= 2
    century = year.astype(int).ge(CENTURY).map({True: "19", False: "20"})
    return _parsed(year.where(~short, century + year.str.zfill(2)) + "-" + month.str.zfill(2) + "-" + day.str.zfill(2) + rest)


def _parsed(text: pd.Series[Any]) -> pd.DatetimeIndex | None:
    """Dates whose year comes first, or whose month is a word."""
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for options in ({}, {"format": "ISO8601"}, {"utc": True}):
            try:
                return pd.DatetimeIndex(pd.to_datetime(text, **options))
            except (ValueError, TypeError, OverflowError):
                continue
    return None


def _check_order(data: DataFile) -> None:
    """Times rise, each once."""
    index, name = data.frame.index, data.time
    twice = np.flatnonzero(index.duplicated())
    if len(twice):
        row = int(twice[0])
        raise ValueError(
            f"{data.path}: {when(index[row])} stands twice in column {name!r}, again at row {row + 1}. Several series need a "
            "column each; --sequence NAME learns a label for each sequence, where column NAME names them."
        )
    back = np.flatnonzero(np.asarray(index[1:] < index[:-1]))
    if len(back):
        row = int(back[0]) + 1
        raise ValueError(
            f"{data.path} is not sorted by {name!r}: {when(index[row])} at row {row + 1} comes after {when(index[row - 1])}."
        )


def _grid(index: pd.Index[Any], every: str, most: int) -> pd.Index[Any] | None:
    """All steps from the first time to the last; None where there are more than `most`, by the width of the first."""
    import pandas as pd

    if not isinstance(index, pd.DatetimeIndex):
        if not every.isdecimal() or int(every) < 1:
            raise ValueError(f"the step of whole numbers is a whole number, got {every!r}.")
        steps = pd.RangeIndex(int(index[0]), int(index[-1]) + 1, int(every))
        return None if len(steps) > most else steps
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
    return _uneven(data, data.time, index, row, remedy)
