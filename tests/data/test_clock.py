"""Times that go on against the index itself, of which the last part was cut off."""

from __future__ import annotations

from datetime import timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pandas.tseries import offsets

import echoscale as es
from echoscale.data.clock import Clock

HOLIDAYS = ["2024-11-28", "2024-12-25", "2025-01-01"]
OFFSETS = {
    "holidays": offsets.CustomBusinessDay(holidays=HOLIDAYS),
    "weekmask": offsets.CustomBusinessDay(weekmask="Sun Mon Tue Wed Thu"),
    "business hours": offsets.BusinessHour(start="08:00", end="12:00"),
    "custom business hours": offsets.CustomBusinessHour(weekmask="Mon Tue Wed"),  # type: ignore[call-arg]
    "weeks": offsets.Week(),
    "fortnights": offsets.Week(2),
    "last Fridays": offsets.LastWeekOfMonth(weekday=4),
    "months": offsets.DateOffset(months=1),
    "three days": offsets.DateOffset(days=3),
    "B": offsets.BDay(),
    "ME": offsets.MonthEnd(),
    "36h": offsets.Hour(36),
}


# Before 3.1, pandas steps back from these to other dates than it came from: such an index is refused there.
NEW_PANDAS = {"business hours", "custom business hours", "last Fridays"}
OLD_PANDAS = tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)


@pytest.mark.parametrize("name", OFFSETS)
def test_dates_go_on_as_they_began(name: str) -> None:
    if name in NEW_PANDAS and OLD_PANDAS:
        pytest.skip(f"pandas {pd.__version__} does not count {name} backwards")
    offset = OFFSETS[name]
    whole = pd.date_range("2024-10-15 08:00", periods=70, freq=offset)
    clock = Clock.of(whole[:50], "y")
    assert list(clock.index(1, 21)) == list(whole[50:])
    assert list(clock.index(-9, 3)) == list(whole[40:52])
    for steps in (-30, 7):
        assert list(clock.moved(steps).index(1, 11)) == list(whole[50 + steps : 60 + steps])


def bare(first: str, freq: Any) -> pd.DatetimeIndex:
    """An index that has lost its frequency."""
    return pd.DatetimeIndex(list(pd.date_range(first, periods=60, freq=freq)))


@pytest.mark.parametrize(
    ("index", "words"),
    [
        (bare("2020-01-31", offsets.LastWeekOfMonth(weekday=4)), "follow the frequency WOM-4FRI: row 0"),
        (bare("2024-10-01", OFFSETS["holidays"]), "2024-11-27 00:00:00 at row 41"),
        (pd.date_range("2020-01-31", periods=40, freq=offsets.DateOffset(months=1)), "do not follow the frequency <DateOffset"),
        (pd.date_range("2020-01-01", periods=40, tz=timezone(timedelta(seconds=3630))), "has no name: use tz_convert"),
        (pd.date_range("2020-01-01", periods=40, tz="dateutil/Europe/Berlin"), "has no name: use tz_convert"),
    ],
    ids=["last Fridays", "holidays", "ends of months", "seconds", "dateutil"],
)
def test_a_frequency_that_does_not_give_the_index_is_refused(index: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Clock.of(index, "y")


@pytest.mark.parametrize("freq", ["D", "MS", "h"])
@pytest.mark.parametrize("row", [0, 1, 5, 18])
def test_the_row_before_a_gap_is_named(freq: str, row: int) -> None:
    whole = pd.date_range("2024-01-01", periods=21, freq=freq)
    for index in (whole, pd.RangeIndex(3, 24), whole.to_period(freq[0])):
        with pytest.raises(ValueError, match=f" at row {row} is followed by"):
            Clock.of(index.delete(row + 1), "y")


def test_periods_of_several_months_go_on() -> None:
    whole = pd.period_range("2020-01", periods=20, freq="3M")
    assert list(Clock.of(whole[:15], "y").index(1, 6)) == list(whole[15:])


def test_forecasts_skip_holidays_and_files_keep_what_has_a_name(tmp_path: Path) -> None:
    for freq, saved in ((OFFSETS["holidays"], False), (OFFSETS["weeks"], True)):
        whole = pd.date_range("2024-10-15", periods=52, freq=freq)
        y = pd.Series(np.random.default_rng(0).normal(size=48), whole[:48])
        model = es.Forecaster(4, season=None, networks=False).fit(y)
        assert list(model.predict(4).mean.index) == list(whole[48:])
        assert list(model.backtest(4, 2).forecasts[0].mean.index) == list(whole[40:44])
        if saved:
            es.save(model, tmp_path / "model")
            assert list(es.load(tmp_path / "model").predict(4).mean.index) == list(whole[48:])
        else:
            with pytest.raises(ValueError, match=r"stores the name of a frequency.* reset_index\(drop=True\)"):
                es.save(model, tmp_path / "model")
