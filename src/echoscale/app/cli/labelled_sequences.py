"""Tables of labelled sequences: a column names the sequence of every row, and every sequence has one label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Floats
from echoscale.data import several
from echoscale.data.series import held
from echoscale.data.tables import DataFile

Rows = npt.NDArray[np.intp]

ONE_SERIES = "none"  # the user's word for a table that is one series


def check_one_series(data: DataFile, targets: Sequence[str], inputs: Sequence[str]) -> None:
    """Raise an error if a table looks like several sequences; dates that rise show that it is one series."""
    import pandas as pd

    if isinstance(data.frame.index, pd.DatetimeIndex):
        return
    others = data.frame.drop(columns=[*targets, *inputs])
    sign = several.by_name(others) if data.time in (None, "row") else None
    sign = sign or several.by_counter(data.frame.drop(columns=list(targets)))
    sign = sign or several.by_labels(others, [data.frame[name] for name in targets])
    if sign is not None:
        names = sign.column or "NAME"
        raise ValueError(
            f"{data.path} looks like several sequences: {sign.why}. --sequence {names} learns one label for each"
            f"{'' if sign.column else ', where column NAME names them'}; forecasts need a column for each series. "
            f"--sequence {ONE_SERIES} joins all rows to one series."
        )


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
        if name in others or several.is_name(name):
            continue
        if name.lower() not in several.COUNTERS:
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
