"""Times with one step between them; rows that are missing become gaps where the user says the step."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from echoscale.data_files.data_file import DataFile, when

if TYPE_CHECKING:
    import pandas as pd

MOST_GAPS = 100  # for every row


def even(data: DataFile, every: str | None) -> DataFile:
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
            uneven(data.path, name, index[row], row, index[row + 1], f"--every {step} makes gaps of missing rows.")
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
    return uneven(data.path, data.time, index[row], row, index[row + 1], remedy)


def uneven(path: Path, name: str | None, before: object, row: int, after: object, remedy: str) -> str:
    return (
        f"{path}: the times in {name!r} are not evenly spaced: {when(before)} at row {row + 1} is followed by {when(after)}. "
        f"{remedy}"
    )
