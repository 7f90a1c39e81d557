"""sktime's own checks of forecasters, where sktime is installed."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sktime")

import pandas as pd

import echoscale as es

pytestmark = pytest.mark.filterwarnings("ignore")


def test_sktime_checks_pass() -> None:
    from sktime.utils.estimator_checks import check_estimator

    from echoscale.forecasting.sktime import EchoscaleForecaster

    found = check_estimator(EchoscaleForecaster, raise_exceptions=False, verbose=False)
    failed = {name: str(result) for name, result in found.items() if result != "PASSED"}
    assert len(found) > 50
    assert not failed


def test_forecasts_are_those_of_the_forecaster() -> None:
    from echoscale.forecasting.sktime import EchoscaleForecaster

    t = np.arange(60)
    index = pd.period_range("2020-01", periods=60, freq="M")
    y = pd.Series(50 + t + 5 * np.sin(2 * np.pi * t / 12), index=index, name="y")
    found = EchoscaleForecaster(horizon=6, networks=False).fit(y)
    expected = es.Forecaster(6, networks=False).fit(y.to_numpy()).predict(6)
    forecast = found.predict(fh=[1, 4, 6])
    assert list(forecast.index.astype(str)) == ["2025-01", "2025-04", "2025-06"]
    np.testing.assert_array_equal(forecast, expected.mean[[0, 3, 5]])
    interval = found.predict_interval(fh=[1, 4, 6], coverage=0.8)
    np.testing.assert_array_equal(interval["y"][0.8]["upper"], expected.upper(80)[[0, 3, 5]])
