"""NVAR against scikit-learn's own polynomial features and ridge, and against a loop of single steps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.estimator_checks import parametrize_with_checks

import echoscale as es
from echoscale import NVAR

REASON = "rows are consecutive steps of one series: the prediction of a row depends on the rows before it"
EXPECTED_FAILURES = {
    "check_methods_sample_order_invariance": REASON,
    "check_methods_subset_invariance": REASON,
    "check_fit1d": "a series of one input may be given as (T,), since time is its only axis",
}


@parametrize_with_checks([NVAR()], expected_failed_checks=lambda estimator: EXPECTED_FAILURES)  # type: ignore[untyped-decorator]
def test_scikit_learn_checks(estimator: BaseEstimator, check: Callable[[BaseEstimator], None]) -> None:
    check(estimator)


def windows(u: np.ndarray, lags: int, stride: int) -> np.ndarray:
    """Step by step; 0 before the start."""
    rows = []
    for t in range(len(u)):
        rows.append(np.concatenate([u[t - j * stride] if t >= j * stride else 0 * u[0] for j in range(lags)]))
    return np.array(rows)


@pytest.mark.parametrize(("lags", "stride", "degree"), [(2, 1, 2), (3, 2, 3)])
def test_predictions_are_those_of_polynomial_features(lags: int, stride: int, degree: int) -> None:
    rng = np.random.default_rng(0)
    u = rng.normal(3.0, 2.0, (200, 2))
    y = np.column_stack([u[:, 0] * np.roll(u[:, 1], 1), u[:, 1]])
    model = NVAR(lags, stride, degree, ridge=0.7).fit(u, y)
    scaled = (u - u.mean(axis=0)) / u.std(axis=0)
    features = PolynomialFeatures(degree, include_bias=False).fit_transform(windows(scaled, lags, stride))
    span = (lags - 1) * stride
    oracle = Ridge(0.7).fit(features[span:], ((y - y.mean(axis=0)) / y.std(axis=0))[span:])
    np.testing.assert_allclose(model.predict(u), y.mean(axis=0) + y.std(axis=0) * oracle.predict(features), atol=1e-8)
    assert model.washout_ == span
    halves = model.predict(u[:90], return_state=True)
    np.testing.assert_allclose(
        np.concatenate([halves[0], model.predict(u[90:], state=halves[1])]), model.predict(u), rtol=0, atol=1e-12
    )


@pytest.fixture(scope="module")
def lorenz() -> np.ndarray:
    return es.tasks.lorenz(1200, seed=0, dt=0.025)[0]


@pytest.fixture(scope="module")
def forecaster(lorenz: np.ndarray) -> NVAR:
    return NVAR(lags=2, difference="last", ridge=1e-4).fit(lorenz[:399], lorenz[1:400])


def test_lorenz_has_28_features_and_is_forecast_for_lyapunov_times(lorenz: np.ndarray, forecaster: NVAR) -> None:
    """1 + 6 + 21 of them (Gauthier et al. 2021), 400 steps of training; the Lyapunov exponent is 0.906."""
    assert 1 + forecaster.readout_.coef.shape[1] == 28
    lasts = []
    for origin in range(400, 1000, 150):
        made = forecaster.forecast(200, warmup=lorenz[origin - 2 : origin])
        lasts.append(es.valid_time(lorenz[origin : origin + 200], made, dt=0.025, lyapunov=0.906))
    assert np.median(lasts) > 3


def test_a_forecast_is_a_loop_of_predictions(lorenz: np.ndarray, forecaster: NVAR) -> None:
    u, state, steps = lorenz[399], forecaster.state_, []
    for _ in range(20):
        made, state = forecaster.predict(u[None], state=state, return_state=True)
        u = made[0]
        steps.append(u)
    np.testing.assert_allclose(forecaster.forecast(20), steps, rtol=1e-8)
    np.testing.assert_allclose(forecaster.forecast(20, warmup=lorenz[380:400]), steps, rtol=1e-8)


def test_change_adds_the_present_value_back(lorenz: np.ndarray) -> None:
    """A penalty without bound leaves persistence, where "none" leaves the mean."""
    u, y = lorenz[:299], lorenz[1:300]
    changed = NVAR(difference="last", ridge=1e15).fit(u, y)
    np.testing.assert_allclose(changed.predict(u), u + (y - u)[1:].mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(NVAR(ridge=1e15).fit(u, y).predict(u), np.broadcast_to(y[1:].mean(axis=0), y.shape), atol=1e-6)


def test_series_add_up_and_gaps_do_not_count() -> None:
    rng = np.random.default_rng(1)
    u = rng.normal(size=(2, 60, 1))
    y = u[..., 0] ** 2
    gaps = y.copy()
    gaps[0, 10] = gaps[1, 30] = np.nan
    batch = NVAR(scale=None, ridge=0.1).fit(u, gaps)
    rows = np.concatenate([windows(each, 2, 1)[1:] for each in u])
    known = ~np.isnan(gaps[:, 1:].ravel())
    features = PolynomialFeatures(2, include_bias=False).fit_transform(rows)
    oracle = Ridge(0.1).fit(features[known], y[:, 1:].ravel()[known])
    np.testing.assert_allclose(batch.readout_.coef[0], oracle.coef_, atol=1e-10)
    assert batch.predict(u).shape == (2, 60)
    listed = NVAR(scale=None, ridge=0.1).fit(list(u), list(gaps))
    np.testing.assert_array_equal(listed.readout_.coef, batch.readout_.coef)
    chosen = NVAR(scale=None).fit(u, y)
    assert chosen.ridge_curve_ is not None
    assert chosen.score(u, y) > 0.999999


def test_saved_models_predict_the_same_bits(tmp_path: Path, lorenz: np.ndarray, forecaster: NVAR) -> None:
    again = es.load(es.save(forecaster, tmp_path / "model.safetensors"))
    assert again.get_params() == forecaster.get_params()
    np.testing.assert_array_equal(again.predict(lorenz), forecaster.predict(lorenz))
    np.testing.assert_array_equal(again.forecast(20), forecaster.forecast(20))
    flat = NVAR(lags=3, ridge=[1e-3, 1e-1]).fit(lorenz[:200], lorenz[:200, 0])
    np.testing.assert_array_equal(es.load(es.save(flat, tmp_path / "flat.safetensors")).predict(lorenz), flat.predict(lorenz))


def test_what_is_refused(lorenz: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"10 steps, but lags=6 with stride=2 need at least 12"):
        NVAR(lags=6, stride=2).fit(lorenz[:10], lorenz[:10])
    with pytest.raises(ValueError, match="more than 10000: lower lags or degree"):
        NVAR(lags=20, degree=3).fit(lorenz, lorenz)
    with pytest.raises(ValueError, match="3 inputs and 1 outputs"):
        NVAR(difference="last").fit(lorenz, lorenz[:, :1])
    with pytest.raises(ValueError, match="lags must be at least 1"):
        NVAR(lags=0).fit(lorenz, lorenz)
    with pytest.raises(ValueError, match="predict its own next input"):
        NVAR().fit(lorenz, lorenz[:, 0]).forecast(3)
    with pytest.raises(ValueError, match="state must have shape"):
        NVAR().fit(lorenz, lorenz).predict(lorenz, state=np.zeros(4))
