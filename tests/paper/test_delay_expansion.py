"""`DelayExpansion` against a scalar double loop, the variance that it promises, and its place in a pipeline."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import spearmanr
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import echoscale as es
from paper import delay_expansion
from paper.delay_expansion import DelayExpansion

Floats = npt.NDArray[np.float64]

REASON = "rows are consecutive steps of one series, not exchangeable samples: a row depends on the rows before it"
EXPECTED_FAILURES = {"check_methods_sample_order_invariance": REASON, "check_methods_subset_invariance": REASON}


@parametrize_with_checks([DelayExpansion()], expected_failed_checks=lambda estimator: EXPECTED_FAILURES)  # type: ignore[untyped-decorator]
def test_scikit_learn_checks(estimator: BaseEstimator, check: Callable[[BaseEstimator], None]) -> None:
    check(estimator)


def series(length: int = 60, features: int = 2, seed: int = 0) -> Floats:
    """Uniform noise off zero, the features of unequal size."""
    return np.random.default_rng(seed).uniform(0, 1, (length, features)) * (1 + np.arange(features))


def by_loops(s: Floats, mixing: Floats) -> Floats:
    """x_i(t) = sum_j sum_f mixing_ijf s_f(t - j), and s = 0 before the series begins."""
    units, lags, features = mixing.shape
    x = np.zeros((len(s), units))
    for t in range(len(s)):
        for i in range(units):
            for j in range(lags):
                for f in range(features):
                    if t - j >= 0:
                        x[t, i] += mixing[i, j, f] * s[t - j, f]
    return x


@pytest.mark.parametrize(("delay", "features"), [(0, 1), (1, 2), (7, 1), (7, 3), (80, 1)])
def test_features_are_the_weighted_sums_of_the_past(delay: int, features: int) -> None:
    """The last case reaches further back than the series."""
    s = series(features=features)
    model = DelayExpansion(delay, units=4, decay=0.7).fit(s)
    assert model.mixing_.shape == (4, delay + 1, features)
    np.testing.assert_allclose(model.transform(s), by_loops(s, model.mixing_), rtol=0, atol=1e-13)


def test_blocks_of_a_long_series_fit_together(monkeypatch: pytest.MonkeyPatch) -> None:
    s = series(length=50)
    model = DelayExpansion(5, units=3).fit(s)
    whole = model.transform(s)
    monkeypatch.setattr(delay_expansion, "BLOCK", 100)  # 8 rows at a time
    np.testing.assert_allclose(model.transform(s), whole, rtol=0, atol=1e-13)


def test_sigma_is_that_of_the_equation() -> None:
    """sigma^2 sum_j decay^2j Var[s] = 1, and the mixing is sigma decay^j times standard normal numbers."""
    s = series()
    model = DelayExpansion(6, units=20_000, decay=0.8).fit(s)
    assert model.sigma_**2 * sum(0.8 ** (2 * j) for j in range(7)) * sum(np.var(s[:, f]) for f in range(2)) == pytest.approx(1)
    xi = model.mixing_ / (model.sigma_ * 0.8 ** np.arange(7)[:, None])
    # Standard errors at 20,000 draws: 0.007 of a mean, 0.005 of a standard deviation.
    np.testing.assert_allclose(xi.mean(axis=0), 0, atol=0.035)
    np.testing.assert_allclose(xi.std(axis=0), 1, atol=0.025)


@pytest.mark.parametrize("delay", [0, 1, 5, 20])
@pytest.mark.parametrize("correlated", [False, True])
def test_the_variance_over_time_is_one_whatever_the_delay(delay: int, correlated: bool) -> None:
    """On average over the draws of xi. At delay 0 a draw has xi^2, of variance 2, with more lags less: 5 standard errors."""
    s = series(length=4_000, features=1, seed=delay)
    if correlated:
        s = np.convolve(s[:, 0], np.ones(8), mode="valid")[:, None]
    x = DelayExpansion(delay, units=5_000, random_state=delay + 1).fit(s).transform(s)[delay:]
    assert x.var(axis=0).mean() == pytest.approx(1, abs=5 * (2 / 5_000) ** 0.5)


def xi_of(model: DelayExpansion) -> Floats:
    lags = model.mixing_.shape[1]
    return model.mixing_ / (model.sigma_ * model.decay ** np.arange(lags)[:, None])


def test_a_longer_delay_more_units_and_more_features_keep_the_draws() -> None:
    small = xi_of(DelayExpansion(3, units=4).fit(series()))
    np.testing.assert_allclose(xi_of(DelayExpansion(9, units=4).fit(series()))[:, :4], small, rtol=1e-12)
    np.testing.assert_allclose(xi_of(DelayExpansion(3, units=7).fit(series()))[:4], small, rtol=1e-12)
    np.testing.assert_allclose(xi_of(DelayExpansion(3, units=4).fit(series(features=3)))[..., :2], small, rtol=1e-12)


def test_a_new_seed_changes_all_draws() -> None:
    one, same, other = (DelayExpansion(3, random_state=seed).fit(series()).mixing_ for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert (one != other).all()
    shared = np.random.RandomState(0)
    first, second = (DelayExpansion(3, random_state=shared).fit(series()).mixing_ for _ in range(2))
    assert (first != second).all()
    assert (DelayExpansion(3, random_state=None).fit(series()).mixing_ != one).all()


def test_draws_are_not_those_of_a_network_with_the_same_seed() -> None:
    """The input matrix is uniform: by ranks, since a shared stream would show as a monotone relation."""
    s = series(features=1)
    xi = DelayExpansion(5, units=400).fit(s).mixing_[..., 0]
    drawn = es.single(400).build(1, seed=0).drawn
    for column in (drawn.inputs[0][:, 0], drawn.biases[0]):
        ranks = [float(spearmanr(lag, column).statistic) for lag in xi.T]
        assert np.abs(ranks).max() < 5 / 400**0.5


def test_batches_and_lists_keep_their_kind() -> None:
    batch = np.stack([series(seed=k) for k in range(3)])
    model = DelayExpansion(4, units=5).fit(batch)
    assert model.sigma_ == pytest.approx(DelayExpansion(4, units=5).fit(batch.reshape(-1, 2)).sigma_)
    together = model.transform(batch)
    assert together.shape == (3, 60, 5)
    unequal = model.transform([batch[0], batch[1, :25]])
    assert [each.shape for each in unequal] == [(60, 5), (25, 5)]
    for b in range(3):
        np.testing.assert_allclose(together[b], by_loops(batch[b], model.mixing_), rtol=0, atol=1e-13)
    np.testing.assert_allclose(unequal[1], together[1, :25], rtol=0, atol=1e-13)


def test_a_piece_of_a_series_needs_the_steps_before_it() -> None:
    s = series()
    model = DelayExpansion(4, units=5).fit(s)
    np.testing.assert_allclose(model.transform(s[26:])[4:], model.transform(s)[30:], rtol=0, atol=1e-13)


def test_one_constant_feature_does_no_harm() -> None:
    s = series()
    s[:, 1] = 3.0
    assert DelayExpansion(2).fit(s).sigma_ == pytest.approx(DelayExpansion(2).fit(s[:, :1]).sigma_)


@pytest.mark.parametrize("size", [1e-200, 1e-6, 1e200])
def test_the_size_of_the_input_does_not_matter(size: float) -> None:
    s = series()
    one, other = DelayExpansion(2).fit_transform(s), DelayExpansion(2).fit_transform(size * s)
    np.testing.assert_allclose(other, one, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("parameters", "X", "error", "message"),
    [
        ({"delay": -1}, series(), ValueError, "delay must be at least 0, got -1"),
        ({"delay": 1.5}, series(), TypeError, "delay must be a whole number"),
        ({"units": 0}, series(), ValueError, "units must be at least 1"),
        ({"decay": 0.0}, series(), ValueError, r"decay must lie in \(0, 1\], got 0.0"),
        ({"decay": 1.1}, series(), ValueError, r"decay must lie in \(0, 1\], got 1.1"),
        ({"decay": float("nan")}, series(), ValueError, "decay must be finite"),
        ({"random_state": -3}, series(), ValueError, "random_state must be at least 0"),
        ({}, np.full((9, 1), 0.1), ValueError, r"X is constant \(\[0.1\] at every step\)"),
        ({}, np.array([[1.0], [np.nan], [2.0]]), ValueError, "found NaN at step 1, feature 0"),
        ({}, [np.ones((3, 1)), np.array([[np.inf]])], ValueError, r"X\[1\] must be finite"),
        ({}, np.ones((2, 3, 4, 5)), ValueError, "must be"),
    ],
)
def test_bad_input_is_named(parameters: dict[str, Any], X: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        DelayExpansion(**parameters).fit(X)


def test_transform_needs_a_fit_and_the_same_features() -> None:
    with pytest.raises(NotFittedError):
        DelayExpansion().transform(series())
    model = DelayExpansion().fit(series(features=2))
    with pytest.raises(ValueError, match="features"):
        model.transform(series(features=3))
    with pytest.raises(ValueError, match="features"):
        model.transform(series(features=3)[None])


def test_a_clone_keeps_the_parameters_only() -> None:
    model = DelayExpansion(delay=3, units=7, decay=0.5, random_state=4).fit(series())
    copy = clone(model)
    assert copy.get_params() == {"delay": 3, "units": 7, "decay": 0.5, "random_state": 4}
    assert not hasattr(copy, "mixing_")
    assert list(model.get_feature_names_out()[:2]) == ["delayexpansion0", "delayexpansion1"]


def test_a_pipeline_feeds_the_expansion_to_network_and_readout() -> None:
    """The readout of the pipeline is least squares on (states, expansion), recomputed here from both."""
    u, y = es.tasks.narma(800, order=5, seed=0)
    network = es.single(50, leak_rate=0.5, input_scaling=0.02)
    esn = es.ESNRegressor(network=network, direct=True, washout=50, scale=None, ridge=1e-2, dtype="float64", random_state=0)
    pipeline = make_pipeline(DelayExpansion(delay=6), esn).fit(u[:600], y[:600, 0])
    guess = pipeline.predict(u)
    expanded = DelayExpansion(delay=6).fit(u[:600]).transform(u)
    features = np.concatenate([network.build(50, seed=0, dtype="float64").run(expanded), expanded], axis=1)
    assert features.shape == (800, 100)
    rows, targets = features[50:600] - features[50:600].mean(axis=0), y[50:600, 0] - y[50:600, 0].mean()
    coef = np.linalg.solve(rows.T @ rows + 1e-2 * np.eye(100), rows.T @ targets)
    by_hand = (features - features[50:600].mean(axis=0)) @ coef + y[50:600, 0].mean()
    np.testing.assert_allclose(guess, by_hand, rtol=0, atol=1e-8)
    assert es.nrmse(y[600:, 0], guess[600:]) < 0.5


def test_importing_it_does_not_load_jax() -> None:
    """The module by itself: its package also holds the estimators that need JAX."""
    script = (
        "import sys, types, echoscale\n"
        "package = types.ModuleType('echoscale.estimators')\n"
        "package.__path__ = [echoscale.__path__[0] + '/estimators']\n"
        "sys.modules['echoscale.estimators'] = package\n"
        "from paper.delay_expansion import DelayExpansion\n"
        "import numpy as np\n"
        "DelayExpansion().fit_transform(np.arange(9.0)[:, None])\n"
        "assert 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
