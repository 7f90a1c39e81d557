"""Real series of all kinds with their dates, split into two groups, and measured systems with inputs: out of PyPI packages.

`series_sources.py` reads the packages and keeps the series in out/more_series.npz; here they are given out. Half of them only
judge: within every source, kind and frequency a random draw with a fixed seed splits them, before anything is run on them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from real_series import DATES, MADE, MORE, REAL, series

Floats = npt.NDArray[np.float64]

KEPT = Path(__file__).resolve().parents[1] / "out" / "more_series.npz"
# Frequencies are those of pandas; "" has no calendar.
# Frequency: seasons of the calendar, horizon of the M4 competition (or alike), and values at the most.
CALENDAR: dict[str, tuple[tuple[int, ...], int, int]] = {
    "5min": ((288,), 24, 1152),
    "30min": ((48, 336), 48, 1440),
    "h": ((24, 168), 48, 1440),
    "D": ((7, 365), 14, 1152),
    "B": ((5,), 14, 1152),
    "W": ((52,), 13, 1040),
    "MS": ((12,), 18, 1000),
    "QS": ((4,), 8, 1000),
    "YS": ((), 6, 1000),
    "": ((), 14, 1152),
}
SHORT, SLOW = 120, ("MS", "QS", "YS")
# Two series drawn again beside those of `MADE`.
MADE_AGAIN = ("autoregression #1", "growing season #1", "Mackey-Glass #1", "noisy logistic map #1", "random walk #1")
MADE_SEASONS = {"growing season": (25,)}


class Known(NamedTuple):
    """A series, and what its source knows about it."""

    values: Floats
    frequency: str = ""
    start: str = ""
    kind: str = ""
    seasons: tuple[int, ...] = ()
    horizon: int = 12

    def dated(self, count: int) -> Any:
        """The first values as a pandas Series with dates."""
        import pandas as pd

        anchored = f"W-{pd.Timestamp(self.start).day_name()[:3].upper()}" if self.frequency == "W" else self.frequency
        return pd.Series(self.values[:count], pd.date_range(self.start, periods=count, freq=anchored))


@cache
def _collected() -> tuple[dict[str, Known], dict[str, str]]:
    """Real series of this module, and the group of each."""
    if not KEPT.exists():
        raise FileNotFoundError(f"there is no {KEPT}: run `make out/more_series.npz` first.")
    with np.load(KEPT) as kept:
        table = json.loads(str(kept["table"]))
        found = {name: _known(kept[f"series/{name}"], *table[name][:3]) for name in table}
    return found, {name: row[3] for name, row in table.items()}


def _known(values: Floats, frequency: str, start: str, kind: str) -> Known:
    seasons, horizon, _ = CALENDAR[frequency]
    return Known(values, frequency, start, kind, seasons, horizon)


@cache
def known(name: str) -> Known:
    """Any series by name: of this module, of `real_series`, or made."""
    if (plain := name.partition(" #")[0]) in MADE:
        return Known(series(name), seasons=MADE_SEASONS.get(plain, ()))
    if name in REAL or name in MORE:
        frequency, start = DATES.get(name, ("", ""))
        return _known(series(name), frequency, start, "")
    return _collected()[0][name]


def groups() -> dict[str, Sequence[str]]:
    """Names of series that judge, of short economic ones that judge, of those that may be looked at, and of made ones."""
    found, group = _collected()
    judged = [name for name in found if group[name] == "judged"]
    short = [name for name in judged if is_short(found[name])]
    return {
        "judged": [name for name in judged if name not in short],
        "short": short,
        "set": [*REAL, *MORE, *(name for name in found if group[name] == "set")],
        "made": [*MADE, *MADE_AGAIN],
    }


def is_short(each: Known) -> bool:
    """A short economic series."""
    return each.kind == "economics" and each.frequency in SLOW and len(each.values) < SHORT


def measured(name: str) -> tuple[Floats, Floats]:
    """Inputs (T, F) and output (T, 1) of a measured system."""
    if not KEPT.exists():
        raise FileNotFoundError(f"there is no {KEPT}: run `make out/more_series.npz` first.")
    with np.load(KEPT) as kept:
        return kept[f"inputs/{name}"], kept[f"output/{name}"][:, None]
