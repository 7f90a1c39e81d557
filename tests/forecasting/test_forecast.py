"""A forecaster beside simple ones: errors that are known in closed form."""

from __future__ import annotations

import numpy as np
import pytest

import echoscale as es


def test_errors_are_those_of_the_closed_form() -> None:
    """A straight line: persistence is off by 1, ..., H, and a step is 1. A sawtooth: the seasonal naive is right."""
    t = np.arange(72)
    line, saw = (
        es.Forecaster(6, season=None, networks=False).fit(3.0 * t),
        es.Forecaster(6, season=4, networks=False).fit(t % 4.0),
    )
    table = line.backtest(6, 2).beside({}, "own")
    errors = dict(zip(table["method"], table["MASE"], strict=True))
    assert errors["persistence"] == pytest.approx(3.5)
    assert errors["own"] < 0.05
    assert "seasonal naive" not in errors
    table = saw.backtest(6, 2).beside({}, "own")
    assert dict(zip(table["method"], table["MASE"], strict=True))["seasonal naive"] == 0
    assert table["inside 80 %"][table["method"].index("persistence")] is None


def test_seasonal_naive_knows_the_season_of_its_origin() -> None:
    """A season that shows only after an origin: the naive forecast there is the last value."""
    t, rng = np.arange(120), np.random.default_rng(0)
    y = rng.normal(size=120) + np.where(t < 72, 0, 50 * np.sin(2 * np.pi * t / 4 + 0.5))
    model = es.Forecaster(12, networks=False, mode="direct", difference="last").fit(y)
    assert model.season_ == 4
    judged = model.backtest(12, 2)
    assert judged.seasons == ([None], [4])
    table = judged.beside({}, "own")
    errors = dict(zip(table["method"], table["MASE"], strict=True))
    starts = [y[95], *([y[104:108]] * 3)]
    scales = [np.abs(np.diff(y[:96])).mean(), np.abs(y[4:108] - y[:104]).mean()]
    by_hand = [np.abs(y[96:108] - starts[0]) / scales[0], np.abs(y[108:] - np.concatenate(starts[1:])) / scales[1]]
    assert errors["seasonal naive"] == pytest.approx(np.mean(by_hand))


def test_several_series_and_gaps() -> None:
    """Gaps do not count: both halves of the table are those of the steps that are known."""
    t = np.arange(60.0)
    y = np.stack([t, 10 * t], axis=1)
    y[57, 1] = np.nan
    model = es.Forecaster(4, season=None, networks=False).fit(y)
    table = model.backtest(4, 1).beside({}, "own")
    row = table.rows[table["method"].index("persistence")]
    assert row[2] == pytest.approx(2.5)
    assert row[3] == pytest.approx((1 + 3 + 4) / 3), "the second of four steps is a gap"
    assert row[1] == pytest.approx((row[2] + row[3]) / 2)


def test_what_can_be_judged() -> None:
    """A quarter of the data at most, so that three times the horizon is left to learn from."""
    rng = np.random.default_rng(0)
    for count in (13, 20, 40, 100):
        model = es.Forecaster(networks=False).fit(rng.normal(size=count))
        steps, origins = model.backtest_size()
        assert steps >= 1
        assert origins >= 1
        assert count - steps * origins >= max(12, 3 * steps)
    assert es.Forecaster(networks=False).fit(rng.normal(size=12)).backtest_size()[1] == 0
    values = rng.normal(size=100)
    assert es.Forecaster(networks=False).fit(values).backtest_size() == (16, 3), "a horizon that nobody asked for gives way"
    asked = es.Forecaster(24, networks=False).fit(values)
    assert asked.backtest_size() == (24, 1)
    assert [len(each) for each in asked.backtest().truths[0]] == [24]
    assert len(asked.backtest(horizon=6).truths) == 4
