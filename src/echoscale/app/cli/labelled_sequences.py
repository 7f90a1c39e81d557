"""Tables of labelled sequences: a column names the sequence of every row, and every sequence has one label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Floats
from echoscale.data.series import held
from echoscale.data.tables import DataFile

if TYPE_CHECKING:
    import pandas as pd

Rows = npt.NDArray[np.intp]

ONE_SERIES = "none"  # the user's word for a table that is one series
COUNTERS = ("t", "time", "step", "index", "row")  # columns of these names count the rows of a sequence


def is_name(column: str) -> bool:
    """Whether a column contains names of rows or sequences, judged by its own name: row, id, patient_id."""
    return column.lower() in ("row", "id") or column.lower().endswith("_id")


def check_one_series(data: DataFile, targets: Sequence[str], inputs: Sequence[str], same_row: bool) -> None:
    """Raise an error if a table looks like several sequences, which must not be joined to one series.

    The signs are a column like id with several values, a counter that starts again, and, for targets of the same row, a column
    that divides the rows into more blocks than there are labels, each with one label.
    """
    import pandas as pd

    if isinstance(data.frame.index, pd.DatetimeIndex):
        return
    numeric = set(data.numeric())
    others = [name for name in data.frame.columns if name not in targets and name not in inputs]
    for name in others if data.time in (None, "row") else []:
        if is_name(name) and name != "row" and 1 < data.frame[name].nunique() < len(data):
            raise ValueError(_several(data, name, f"column {name!r} has {data.frame[name].nunique()} different values"))
    for name in data.frame.columns:
        if name.lower() in COUNTERS and name in numeric and name not in targets:
            again = _starts_again(data.numbers([name])[name].to_numpy())
            if again:
                raise ValueError(_several(data, None, f"column {name!r} starts again at row {again + 1}"))
    for name in others if same_row else []:
        whole = name not in numeric or bool((data.numbers([name])[name] % 1 == 0).all())
        blocks = _blocks(data.frame[name]) if whole else 0
        labels_of = [data.frame[each] for each in targets]
        same = blocks and all(_blocks(data.frame[name], each) == blocks for each in labels_of)
        if same and blocks > max(each.nunique() for each in labels_of):
            what = f"each of the {blocks} values of column {name!r} has one {' and one '.join(targets)}"
            raise ValueError(_several(data, name, what))


def _several(data: DataFile, name: str | None, why: str) -> str:
    column = name or "NAME"
    return (
        f"{data.path} looks like several sequences: {why}. --sequence {column} learns one label for each"
        f"{'' if name else ', where column NAME names them'}; other targets are fitted one sequence at a time. "
        f"--sequence {ONE_SERIES} joins all rows to one series."
    )


def _starts_again(values: Floats) -> int | None:
    """The first row at which a counter with even steps starts again."""
    steps = np.diff(values)
    back = np.flatnonzero(steps <= 0)
    on = steps[steps > 0]
    if not len(back) or not len(on) or not np.isclose(on, on[0]).all() or (values[back + 1] != values[0]).any():
        return None
    return int(back[0]) + 1


def _blocks(names: pd.Series[Any], *labels: pd.Series[Any]) -> int:
    """Numbers of runs of equal names and of labels; 0 if a name comes back or is missing, or if most runs are short."""
    if names.isna().any():
        return 0
    change = np.zeros(len(names), bool)
    for each in (names, *labels):
        change[1:] |= (each.to_numpy()[1:] != each.to_numpy()[:-1]).astype(bool)
    runs = int(change.sum()) + 1
    return runs if labels or (runs == names.nunique() and runs <= len(names) // 2) else 0


def grouped(data: DataFile, name: str) -> dict[Any, Rows]:
    """The rows of every sequence, in the order of the file."""
    data.check([name])
    check_whole(data, name, "name of a sequence", "fill it, or leave the row out")
    return {key: np.asarray(rows) for key, rows in data.frame.groupby(name, sort=False).indices.items()}


def check_whole(data: DataFile, column: str, what: str, remedy: str) -> None:
    """Raise an error if a column has an empty cell."""
    for row in np.flatnonzero(data.frame[column].isna())[:1]:
        raise ValueError(f"{data.path}: no {what} at {data.at(int(row))}, column {column!r}: {remedy}.")


def labels(data: DataFile, groups: dict[Any, Rows], target: str) -> npt.NDArray[np.str_]:
    """The label of every sequence, (B,)."""
    data.check([target])
    check_whole(data, target, "label", "fill it, or leave the sequence out")
    values = data.frame[target]
    if values.dtype.kind == "f":
        part = np.flatnonzero(values % 1 != 0)
        if len(part):
            raise ValueError(
                f"{data.path}: {values.iloc[part[0]]:g} at row {part[0] + 1}, column {target!r}, is no label: --sequence takes "
                "words and whole numbers."
            )
        values = values.astype(int)
    text = values.astype("str").to_numpy()
    for key, rows in groups.items():
        other = rows[text[rows] != text[rows[0]]]
        if len(other):
            raise ValueError(
                f"{data.path}: column {target!r} changes within sequence {key} ({text[rows[0]]} at row {rows[0] + 1}, "
                f"{text[other[0]]} at row {other[0] + 1}): --sequence learns one label per sequence."
            )
    return text[[rows[0] for rows in groups.values()]].astype(str)


def inputs_of(data: DataFile, groups: dict[Any, Rows], others: Sequence[str]) -> list[str]:
    """All columns of numbers except names and counters of rows; rows must be sorted by a counter."""
    found = []
    for name in data.numeric():
        if name in others or is_name(name):
            continue
        if name.lower() not in COUNTERS:
            found.append(name)
            continue
        values = data.numbers([name])[name].to_numpy()
        for key, rows in groups.items():
            if not (np.diff(values[rows]) > 0).all():
                raise ValueError(
                    f"{data.path}: sequence {key} is not sorted by {name!r}: sort it, or name the inputs with --inputs."
                )
    if not found:
        raise ValueError(f"{data.path}: sequences need inputs, and there is no other column of numbers.")
    return found


def values_of(data: DataFile, groups: dict[Any, Rows], inputs: Sequence[str]) -> list[Floats]:
    """The inputs of every sequence, (T_b, F); the last value of the same sequence fills a gap."""
    table = data.numbers(inputs).to_numpy()
    return [held(table[rows]) for rows in groups.values()]
