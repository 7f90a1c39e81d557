"""Panels in long form: the forecasts are those of a dict of series, in the form of the data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import echoscale as es

HORIZON = 3
SERIES = {
    name: pd.Series(
        level + np.random.default_rng(seed).normal(size=count).cumsum(),
        pd.date_range(start, periods=count, freq="D", name="ds"),
    )
    for seed, (name, level, count, start) in enumerate([("b", 5, 40, "2024-01-01"), ("a", 50, 31, "2023-12-01")])
}
INPUTS = {
    name: pd.DataFrame({"x": np.arange(len(each)) % 3.0, "z": np.sqrt(np.arange(len(each)))}, each.index)
    for name, each in SERIES.items()
}


def long(each: dict[str, Any], levels: bool) -> Any:
    """The series of a dict below each other."""
    found = pd.concat(each, names=["unique_id", "ds"])
    found = found.rename("y") if found.ndim == 1 else found
    return found if levels else found.reset_index()


def cut(each: dict[str, Any], steps: slice) -> dict[str, Any]:
    return {name: part.iloc[steps] for name, part in each.items()}


def model(**options: Any) -> es.Forecaster:
    return es.Forecaster(HORIZON, season=None, networks=False, past=["z"], **options)


@pytest.mark.parametrize("levels", [False, True], ids=["columns", "levels"])
def test_long_panels_forecast_as_a_dict_does(levels: bool, tmp_path: Path) -> None:
    learned, later, end = slice(0, -HORIZON - 2), slice(-HORIZON - 2, -HORIZON), slice(-HORIZON, None)
    ahead = {name: each[["x"]] for name, each in cut(INPUTS, end).items()}
    expected = model().fit(cut(SERIES, learned), cut(INPUTS, learned))
    found = model().fit(long(cut(SERIES, learned), levels), long(cut(INPUTS, learned), levels))
    found = es.load(es.save(found, tmp_path / "f.safetensors"))
    expected.update(cut(SERIES, later), cut(INPUTS, later))
    backwards = dict(reversed(cut(SERIES, later).items()))  # the order of the names does not matter
    found.update(long(backwards, levels), long(cut(INPUTS, later), levels))
    one, other = expected.predict(HORIZON, ahead), found.predict(HORIZON, long(ahead, levels))
    for wanted, given in ((one.mean, other.mean), (one.lower(80), other.lower(80)), (one.quantile(0.3), other.quantile(0.3))):
        stacked = long(wanted, levels)
        (pd.testing.assert_series_equal if levels else pd.testing.assert_frame_equal)(given, stacked, check_freq=False)
    frame = other.frame() if levels else other.frame().set_index(["unique_id", "ds"])
    for name in SERIES:
        np.testing.assert_array_equal(frame.loc[name]["forecast"], one.mean[name])
        np.testing.assert_array_equal(frame.loc[name]["upper 95"], one.upper(95)[name])


def test_inputs_and_new_values_have_the_form_of_y() -> None:
    y, X = long(SERIES, False), long(INPUTS, False)
    with pytest.raises(TypeError, match="X must be in long form, with the columns 'unique_id' and 'ds', as y"):
        model().fit(y, X.drop(columns="ds"))
    with pytest.raises(TypeError, match="X must have an index of names and times, as y"):
        model().fit(long(SERIES, True), X)
    with pytest.raises(ValueError, match="X must have the series of y, b, a; got b"):
        model().fit(y, X[X["unique_id"] == "b"])
    fitted = model().fit(y, X)
    with pytest.raises(ValueError, match="y must have the series b, a; got b"):
        fitted.update(y[y["unique_id"] == "b"])
