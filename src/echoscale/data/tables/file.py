"""A table out of a file: columns as numbers or words, and the times of its rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from echoscale._internal.types import Floats

if TYPE_CHECKING:
    import pandas as pd


SHOWN = 12  # names of columns in an error


@dataclass(frozen=True, eq=False)
class DataFile:
    """A table, and the times of its rows.

    Attributes
    ----------
    path : Path
        Where it came from.
    frame : pandas.DataFrame
        Its columns without the times; the index holds the times, or counts rows from 0.
    time : str or None
        The column that the times came from.
    notes : tuple of str
        What a reader should know of how the file was read.
    """

    path: Path
    frame: pd.DataFrame
    time: str | None = None
    notes: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.frame)

    def check(self, columns: Sequence[str]) -> None:
        """Raise where a column is missing, or named twice."""
        counts = Counter(columns)
        for name in columns:
            if name not in self.frame.columns:
                if name == self.time:
                    raise ValueError(
                        f"{self.path}: column {name!r} holds the times; the others are {listed(self.frame.columns)}."
                    )
                there = [*filter(None, [self.time]), *self.frame.columns]
                raise ValueError(f"{self.path} has no column {name!r}; there are {listed(there)}.")
            if counts[name] > 1:
                raise ValueError(f"column {name!r} is named twice: give it once.")

    def numbers(self, columns: Sequence[str]) -> pd.DataFrame:
        """Columns as numbers; empty cells are NaN."""
        import pandas as pd

        self.check(columns)
        return pd.DataFrame({name: self._numbers(name) for name in columns}, self.frame.index)

    def is_text(self, column: str) -> bool:
        """Whether a column holds no number at all, but words."""
        values, found = self._converted(column)
        return bool(values.notna().any() and np.isnan(found).all())

    def numeric(self) -> list[str]:
        """The columns without any word."""
        return [
            name for name in self.frame.columns if not (np.isnan(self._converted(name)[1]) & self.frame[name].notna()).any()
        ]

    def at(self, row: int) -> str:
        """A row in words: its number from 1, and its time."""
        return f"row {row + 1}" + (f" ({when(self.frame.index[row])})" if self.time is not None else "")

    def rows(self, first: int, end: int | None = None) -> DataFile:
        """Some of the rows."""
        return replace(self, frame=self.frame.iloc[first:end])

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
        return values, pd.to_numeric(values, errors="coerce").to_numpy(np.float64, na_value=np.nan)


def when(time: object) -> str:
    """A time in words: a date without the hours where there are none."""
    said = str(time)
    return said[:10] if re.fullmatch(r"\d{4}-\d\d-\d\d 00:00:00", said) else said


def listed(names: Sequence[object] | pd.Index[Any]) -> str:
    """Names in words, the first 12 of many."""
    shown = ", ".join(str(each) for each in list(names)[:SHOWN])
    return f"{shown} and {len(names) - SHOWN} more" if len(names) > SHOWN else shown or "none"
