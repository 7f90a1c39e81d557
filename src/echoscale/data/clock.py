"""The times of a series: read from an index, continued into the future, written as text.

Times must rise evenly, each once, in one time zone. Nothing is sorted, filled or aligned here: wrong times raise an error that
names the place. A frequency is used only if it reproduces all times of the index, from the first time on and back from the
last.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

STEPS, DATES, PERIODS = "steps", "dates", "periods"
# Days of the cycles of a calendar; they may miss a whole number of steps by this share of a step: a year has 52.18 weeks.
CYCLES = (1 / 24, 1.0, 7.0, 365.2425)
NEARLY = 0.25
LEAST_STEPS = 3.5  # of a cycle: half an hour has none, a quarter of a year has one of four


@dataclass(frozen=True)
class Clock:
    """The times of T steps, stored relative to the last time.

    Attributes
    ----------
    kind : "steps", "dates" or "periods"
        Kind of times: whole numbers, time stamps, or periods.
    last : str
        Last time, as text.
    frequency : str
        Name of the frequency in pandas; for whole numbers, their step.
    zone : str or None
        Time zone of time stamps.
    name : str or None
        Name of the index.
    offset : pandas offset or None
        The frequency itself if its name is incomplete: business days with holidays, `DateOffset`.
    """

    kind: str
    last: str
    frequency: str
    zone: str | None = None
    name: str | None = None
    offset: Any = None

    @classmethod
    def counted(cls, steps: int) -> Clock:
        """The clock 0, 1, ..., steps - 1."""
        return cls(STEPS, str(steps - 1), "1")

    @classmethod
    def of(cls, index: Any, what: str) -> Clock:
        """The clock of a pandas index."""
        import pandas as pd

        check_order(index, what)
        name = None if index.name is None else str(index.name)
        if isinstance(index, pd.PeriodIndex):
            gaps = np.flatnonzero(np.diff(index.asi8) != getattr(index.freq, "n", 1))
            if len(gaps):
                raise ValueError(_uneven(index, int(gaps[0]), what))
            return cls(PERIODS, str(index[-1]), index.freqstr, None, name)
        if isinstance(index, pd.DatetimeIndex):
            return cls._of_dates(index, what, name)
        if index.dtype.kind in "iu":
            steps = np.diff(np.asarray(index))
            step = usual(steps) if len(steps) else 1
            gaps = np.flatnonzero(steps != step)
            if len(gaps):
                raise ValueError(_uneven(index, int(gaps[0]), what))
            return cls(STEPS, str(int(index[-1])), str(step), None, name)
        zones = {str(getattr(each, "tzinfo", None)) for each in index}
        if len(zones) > 1:
            first = next(k for k, each in enumerate(index) if str(each.tzinfo) != str(index[0].tzinfo))
            raise ValueError(
                f"the index of {what} mixes time zones: {index[0]} at row 0, {index[first]} at row {first}. "
                "Bring all into one with tz_convert."
            )
        raise TypeError(
            f"the index of {what} must be whole numbers, time stamps or periods, got {index.dtype}: use pandas.to_datetime."
        )

    @classmethod
    def _of_dates(cls, index: Any, what: str, name: str | None) -> Clock:
        import pandas as pd

        offset = inferred(index) if index.freq is None else index.freq
        if offset is None:
            raise ValueError(_irregular(index, what))
        if getattr(offset, "weekday", 0) is None:  # weeks that start on any day: the same weeks, with a name
            offset = pd.offsets.Week(offset.n, offset.normalize, weekday=index[-1].weekday())
        stamp = index[-1]
        zone = None if stamp.tzinfo is None else str(stamp.tzinfo)
        try:
            if zone is not None:
                pd.Timestamp(stamp.isoformat()).tz_convert(zone)
        except (KeyError, ValueError) as error:
            raise ValueError(
                f"the time zone {zone} of {what} has no name: use tz_convert with the name of one, as 'Europe/Berlin'."
            ) from error
        clock = cls(DATES, stamp.isoformat(), offset.freqstr, zone, name, None if _says_all(offset) else offset)
        for grid in (pd.date_range(index[0], periods=len(index), freq=offset), clock.index(1 - len(index), 1)):
            apart = np.flatnonzero(np.asarray(grid != index)) if len(grid) == len(index) else [0]
            if len(apart):
                row = int(apart[0])
                expected = f", expected {grid[row]}" if len(grid) == len(index) else ""
                raise ValueError(
                    f"the times of {what} do not follow the frequency {offset.freqstr}: row {row} is {index[row]}{expected}. "
                    f"{_REMEDY}"
                )
        return clock

    def kept(self) -> dict[str, Any]:
        """The fields for files, without the offset; an error if the times need the offset."""
        about = asdict(self)
        if about.pop("offset") is not None:
            raise ValueError(
                f"a file stores the name of a frequency, and {self.offset!r} has no complete name: number the steps with "
                "reset_index(drop=True) before fit, or pickle the model."
            )
        return about

    def index(self, first: int, end: int) -> Any:
        """The times of steps first to end - 1, where the last known step is 0."""
        import pandas as pd

        if self.kind == STEPS:
            last, step = int(self.last), int(self.frequency)
            return pd.RangeIndex(last + first * step, last + end * step, step, name=self.name)
        if self.kind == PERIODS:
            end_of = pd.Period(self.last, freq=self.frequency)
            return pd.period_range(end_of + first, periods=end - first, freq=self.frequency, name=self.name)
        stamp = pd.Timestamp(self.last)
        if self.zone is not None:
            stamp = stamp.tz_convert(self.zone)
        offset = pd.tseries.frequencies.to_offset(self.frequency) if self.offset is None else self.offset
        back, on = max(0, -first), max(0, end - 1)
        past = pd.date_range(end=stamp, periods=back + 1, freq=offset)
        ahead = pd.date_range(stamp, periods=on + 1, freq=offset)
        whole = past.append(ahead[1:])[first + back : end + back]
        return pd.DatetimeIndex(whole, freq=offset, name=self.name)

    def periods(self, steps: int) -> tuple[int, ...]:
        """Steps in an hour, a day, a week and a year, where these are whole numbers; none where steps have no dates.

        steps  number of steps up to the last one, from which the mean length of a step is taken
        """
        if self.kind == STEPS:
            return ()
        ends = [self.index(k, k + 1) for k in (1 - steps, 0)]
        first, last = ((each.to_timestamp() if self.kind == PERIODS else each)[0] for each in ends)
        counts = [cycle * 86400 * (steps - 1) / (last - first).total_seconds() for cycle in CYCLES]
        return tuple(round(each) for each in counts if each > LEAST_STEPS and abs(each - round(each)) < NEARLY)

    def moved(self, steps: int) -> Clock:
        """The clock after this number of further steps."""
        if steps == 0:
            return self
        later = self.index(steps, steps + 1)[0]
        return replace(self, last=later.isoformat() if self.kind == DATES else str(later))

    def check(self, index: Any, first: int, what: str) -> None:
        """Refuses an index that does not hold exactly the times from step `first` on."""
        import pandas as pd

        check_order(index, what)
        wanted = self.index(first, first + len(index))
        if isinstance(index, pd.DatetimeIndex) and self.kind == DATES:
            zone = None if index.tz is None else str(index.tz)
            if zone != self.zone:
                raise ValueError(
                    f"{what} is in time zone {zone}, y in {self.zone}: bring both into one with tz_convert or tz_localize."
                )
        if type(index) is not type(wanted) and not (self.kind == STEPS and index.dtype.kind in "iu"):
            raise TypeError(f"the index of {what} is {type(index).__name__}, the index of y is {type(wanted).__name__}.")
        apart = np.flatnonzero(np.asarray(index != wanted))
        if len(apart):
            row = int(apart[0])
            raise ValueError(f"{what} is not aligned: row {row} is {index[row]}, expected {wanted[row]}.")


def check_order(index: Any, what: str) -> None:
    """Refuses times that do not rise, or occur twice."""
    if index.hasnans:
        raise ValueError(f"the index of {what} has no time at row {int(np.flatnonzero(index.isna())[0])}.")
    twice = np.flatnonzero(index.duplicated())
    if len(twice):
        raise ValueError(f"the index of {what} holds {index[twice[0]]} twice, again at row {twice[0]}: drop one of them.")
    if not index.is_monotonic_increasing:
        try:
            row = int(np.flatnonzero(np.asarray(index[1:] < index[:-1]))[0]) + 1
        except TypeError:
            return  # times that cannot be compared: the caller raises the error
        raise ValueError(
            f"the index of {what} is not sorted: {index[row]} at row {row} comes after {index[row - 1]}. Use sort_index()."
        )


# What helps where no frequency fits.
_REMEDY = (
    "Make gaps visible with asfreq (missing values are skipped), set the frequency of the index, as in index.freq = "
    "pandas.offsets.CustomBusinessDay(holidays=[...]), or number the steps with reset_index(drop=True)."
)


def inferred(index: Any) -> Any:
    """The offset that pandas infers, or None."""
    import pandas as pd

    if len(index) < 3:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about later versions of pandas
        found = pd.infer_freq(index)
    return None if found is None else pd.tseries.frequencies.to_offset(found)


def usual(steps: npt.NDArray[Any]) -> int:
    """The commonest step between whole numbers."""
    found, counts = np.unique(steps, return_counts=True)
    return int(found[np.argmax(counts)])


def _says_all(offset: Any) -> bool:
    """Whether the name of an offset gives the same offset."""
    import pandas as pd

    try:
        return bool(pd.tseries.frequencies.to_offset(offset.freqstr) == offset)
    except ValueError:
        return False


def _irregular(index: Any, what: str) -> str:
    if len(index) < 3:
        return f"the index of {what} has {len(index)} time stamps and no frequency: give it one with asfreq."
    low, high = 2, len(index)  # the first `low` stamps are even, the first `high` are not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if inferred(index[:middle]) is None else (middle, high)
    first = low == 2 and inferred(index[1:4]) is not None  # the steps after the first one are even
    return _uneven(index, 0 if first else low - 1, what)


def _uneven(index: Any, row: int, what: str) -> str:
    return f"the times of {what} are not evenly spaced: {index[row]} at row {row} is followed by {index[row + 1]}. {_REMEDY}"
