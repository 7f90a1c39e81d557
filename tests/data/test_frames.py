"""Tables that hold more than numbers are refused, and the remedy in the message works."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import echoscale as es
from echoscale.data.frames import Form, clocks_of, series_of, tables_of

DAYS = pd.date_range("2024-01-01", periods=30, freq="D")
VALUES = np.random.default_rng(0).normal(size=30)
TABLE = pd.DataFrame({"ds": DAYS, "y": VALUES})
LONG = pd.concat([TABLE.assign(unique_id=name) for name in ("a", "b")])[["unique_id", "ds", "y"]]
NUMBERED = LONG.assign(unique_id=(LONG["unique_id"] == "b").astype(int))[["y", "ds", "unique_id"]]
LEVELS = LONG.set_index(["unique_id", "ds"])
TWO_ROWS = pd.MultiIndex.from_tuples([("a", "x"), ("b", "x")])
STATIONS = xr.DataArray(np.stack([VALUES] * 30), {"station": np.arange(30), "time": DAYS}, ("station", "time"))


@pytest.mark.parametrize(
    ("y", "series"),
    [
        (TABLE, 1),
        (TABLE.assign(ds=TABLE["ds"].dt.tz_localize("UTC")), 1),
        (TABLE.assign(ds=TABLE["ds"].dt.to_period("D"), z=VALUES), 2),
        (NUMBERED.rename(columns={"unique_id": "shop"}), 2),
        (LONG.assign(x=1.0)[["unique_id", "ds", "x", "y"]], 2),
        (LEVELS, 2),
        (LEVELS["y"].swaplevel(), 2),
        (pd.DataFrame(np.stack([VALUES] * 2, 1), DAYS, TWO_ROWS), 2),
        (STATIONS, 30),
    ],
    ids=["ds y", "zone", "periods", "numbers", "inputs", "levels", "dates first", "columns", "xarray"],
)
def test_the_remedy_of_a_refused_table_gives_its_series_and_dates(y: Any, series: int) -> None:
    with pytest.raises((TypeError, ValueError)) as error:
        series_of(y)
    [remedy] = re.findall(r"(y\[.*\]|y\.\w+\(.*\))\.$", str(error.value))
    found = series_of(eval(remedy, {"y": y}))
    assert len(found.values) == series
    for values, clock in zip(found.values, clocks_of(found), strict=True):
        np.testing.assert_array_equal(values, VALUES)
        assert pd.Timestamp(clock.last).tz_localize(None) == DAYS[-1]


@pytest.mark.parametrize(
    "y",
    [
        LONG,
        LONG.sample(frac=1.0, random_state=0).sort_values("ds"),
        LONG.assign(unique_id=LONG["unique_id"].astype("category")),
        LONG.assign(ds=LONG["ds"].dt.to_period("D")),
        LONG.rename(columns={"unique_id": "shop", "ds": "day", "y": "sold"}),
        NUMBERED,
        LEVELS["y"],
        pd.Series(LONG["y"].to_numpy(), pd.MultiIndex.from_arrays([LONG["unique_id"].to_numpy(), DAYS.append(DAYS)])),
    ],
    ids=["long", "by date", "categories", "periods", "other names", "numbers", "levels", "unnamed"],
)
def test_long_forms_hold_a_series_for_every_name(y: Any) -> None:
    found = series_of(y)
    assert set(found.form.labels) in ({"a", "b"}, {0, 1})
    for values, clock in zip(found.values, clocks_of(found), strict=True):
        np.testing.assert_array_equal(values, VALUES)
        assert pd.Timestamp(clock.last) == DAYS[-1]


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (LONG.iloc[:0], "y is empty"),
        (LONG.assign(unique_id=LONG["unique_id"].where(LONG.index != 1)), "row 1 of y belongs to no series"),
        (LONG.iloc[::-1], "the index of y['b'] is not sorted: 2024-01-29 00:00:00 at row 1"),
        (LONG.drop(index=7), "y['a'] are not evenly spaced: 2024-01-07 00:00:00 at row 6"),
        (LONG.assign(ds=LONG["ds"].astype(str)), "the index of y['a'] must be whole numbers, time stamps or periods"),
        (pd.concat([LONG, LONG]), "the index of y['a'] holds 2024-01-01 00:00:00 twice"),
    ],
    ids=["empty", "no name", "unsorted", "a row is missing", "text", "twice"],
)
def test_long_forms_that_are_broken_are_refused(y: pd.DataFrame, words: str) -> None:
    with pytest.raises((TypeError, ValueError)) as error:
        clocks_of(series_of(y))
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (pd.Series(VALUES + 1j), "complex"),
        (pd.DataFrame({"a": VALUES, "b": VALUES + 1j}), "column 'b' of y is complex"),
        (pd.Series(pd.to_timedelta(VALUES, unit="h")), "durations"),
        (pd.Series(DAYS), "dates"),
        (pd.Series(DAYS.astype(object), dtype=object), "dates"),
        (TABLE.assign(ds=TABLE["ds"].astype(str)), "Read dates with pandas.to_datetime"),
    ],
)
def test_only_real_numbers_are_read(values: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        series_of(values)
    with pytest.raises(TypeError, match=words.replace(" y", " X")):
        tables_of(values, Form("one", "array", ("y",), (None,)))


def test_inputs_are_numbers_with_names_of_their_own() -> None:
    y, X = pd.Series(VALUES, DAYS), pd.DataFrame({"x": VALUES, "when": DAYS}, DAYS)
    with pytest.raises(
        TypeError, match=re.escape("column 'when' of X holds dates, not numbers: the index has dates already, X.drop(")
    ):
        es.Forecaster(2, networks=False).fit(y, X)
    with pytest.raises(ValueError, match="X has two columns named 'x'"):
        es.Forecaster(2, networks=False).fit(y, X[["x", "x"]])
    with pytest.raises(ValueError, match="the rows of X have an index of 2 levels"):
        es.Forecaster(2, networks=False).fit(VALUES, LEVELS.loc[["a"]])


def test_columns_of_times_in_polars_are_refused() -> None:
    """A stand-in with what polars 2 offers: its arrays hold dates as numbers."""

    class DataFrame:
        __module__ = "polars.dataframe.frame"
        schema: ClassVar[dict[str, Any]] = {
            "ds": SimpleNamespace(is_temporal=lambda: True),
            "y": SimpleNamespace(is_temporal=lambda: False),
        }

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.stack([DAYS.asi8.astype(float), VALUES], 1)

    with pytest.raises(TypeError, match=re.escape("column 'ds' of y holds times, not numbers. Use y.drop('ds')")):
        series_of(DataFrame())
