"""Signs that the rows of a table belong to several sequences, which must not be joined to one series."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from echoscale._internal.types import Floats
from echoscale.data.frames import PANDAS, library_of

if TYPE_CHECKING:
    import pandas as pd

NAMES = ("id", "subject", "sequence", "patient", "participant")  # columns of these names, or of names in _id, name sequences
COUNTERS = ("t", "time", "step", "index", "row")  # columns of these names count the rows of a sequence


class Sign(NamedTuple):
    """Why a table looks like several sequences, and the column that names them; None where no column does."""

    column: str | None
    why: str


def is_name(column: object) -> bool:
    """Whether a column contains names of rows or sequences, judged by its own name: row, id, patient_id."""
    word = str(column).lower()
    return word in (*NAMES, "row") or word.endswith("_id")


def by_name(frame: pd.DataFrame) -> Sign | None:
    """A column like id that has several values, some of them in several rows."""
    for name in frame.columns:
        count = frame[name].nunique()
        if is_name(name) and str(name).lower() != "row" and 1 < count < len(frame):
            return Sign(name, f"column {name!r} has {count} different values")
    return None


def by_counter(frame: pd.DataFrame) -> Sign | None:
    """A counter of rows that starts again, or that has the same value in several rows."""
    for name in frame.columns:
        if str(name).lower() not in COUNTERS:
            continue
        steps, values = np.diff(_numbers(frame[name])), _numbers(frame[name])
        back, on = np.flatnonzero(steps < 0), steps[steps > 0]
        still = np.flatnonzero(steps == 0)
        if np.isnan(values).any() or not len(on) or not np.isclose(on, on[0]).all() or (values[back + 1] != values[0]).any():
            continue
        if len(back):
            return Sign(None, f"column {name!r} starts again at row {back[0] + 2}")
        if len(still) >= len(on):
            return Sign(None, f"column {name!r} has the same value in several rows, as at row {still[0] + 2}")
    return None


def by_labels(frame: pd.DataFrame, targets: Sequence[pd.Series[Any]]) -> Sign | None:
    """A column that divides the rows into more blocks than there are labels, each with one label of every target."""
    for name in frame.columns:
        numbers = _numbers(frame[name])
        if (~np.isnan(numbers) & (numbers % 1 != 0)).any():
            continue
        blocks = _blocks(frame[name])
        if (
            blocks > max(each.nunique() for each in targets)
            and blocks <= len(frame) // 2
            and blocks == frame[name].nunique()
            and all(_blocks(frame[name], each) == blocks for each in targets)
        ):
            what = " and one ".join(str(each.name) for each in targets)
            return Sign(name, f"each of the {blocks} values of column {name!r} has one {what}")
    return None


def refuse_joined(u: Any, y: Any) -> None:
    """Raise where u is a data frame that looks like several sequences; y are labels of its rows, or None for numbers."""
    import pandas as pd

    if library_of(u) != PANDAS or u.ndim != 2 or not u.columns.is_unique:
        return
    sign = by_name(u) or (None if y is None else by_labels(u, [pd.Series(np.asarray(y), name="label")]))
    if sign is None:
        return
    groups = f"groupby({sign.column!r}, sort=False)"
    targets = f"y.groupby(u[{sign.column!r}], sort=False)"
    raise ValueError(
        f"u looks like several sequences: {sign.why}. Give a list of tables, "
        f"[part.drop(columns={sign.column!r}) for _, part in u.{groups}], with "
        + (f"a list of targets, [part for _, part in {targets}]" if y is None else f"one label for each, {targets}.first()")
        + "; u.to_numpy() joins all rows to one series."
    )


def _numbers(column: pd.Series[Any]) -> Floats:
    """A column as numbers; NaN where a cell is none."""
    import pandas as pd

    if column.dtype.kind in "mMc":
        return np.full(len(column), np.nan)
    return pd.to_numeric(column, errors="coerce").to_numpy(np.float64, na_value=np.nan)


def _blocks(names: pd.Series[Any], *labels: pd.Series[Any]) -> int:
    """Number of runs of equal names and labels; 0 if a name is missing."""
    if names.isna().any():
        return 0
    change = np.zeros(len(names), bool)
    for each in (names, *labels):
        change[1:] |= (each.to_numpy()[1:] != each.to_numpy()[:-1]).astype(bool)
    return int(change.sum()) + 1
