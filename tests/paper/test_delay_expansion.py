"""`DelayExpansion` against a scalar double loop, and the variance that it promises."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import spearmanr

import echoscale as es
from paper import delay_expansion
from paper.delay_expansion import DelayExpansion

Floats = npt.NDArray[np.float64]


def series(length: int = 60, seed: int = 0) -> Floats:
    """Uniform noise off zero."""
    return np.random.default_rng(seed).uniform(0, 1, (length, 1))


def by_loops(s: Floats, mixing: Floats) -> Floats:
    """x_i(t) = sum_j mixing_ij s(t - j), and s = 0 before the series begins."""
    units, lags = mixing.shape
    x = np.zeros((len(s), units))
    for t in range(len(s)):
        for i in range(units):
            for j in range(min(lags, t + 1)):
                x[t, i] += mixing[i, j] * s[t - j, 0]
    return x


@pytest.mark.parametrize("delay", [0, 1, 7, 80])
def test_features_are_the_weighted_sums_of_the_past(delay: int) -> None:
    """The last delay reaches further back than the series."""
    s = series()
    model = DelayExpansion(delay, units=4, decay=0.7).fit(s)
    assert model.mixing.shape == (4, delay + 1)
    np.testing.assert_allclose(model.transform(s), by_loops(s, model.mixing), rtol=0, atol=1e-13)


def test_blocks_of_a_long_series_fit_together(monkeypatch: pytest.MonkeyPatch) -> None:
    s = series(length=50)
    model = DelayExpansion(5, units=3).fit(s)
    whole = model.transform(s)
    monkeypatch.setattr(delay_expansion, "BLOCK", 50)  # 8 rows at a time
    np.testing.assert_allclose(model.transform(s), whole, rtol=0, atol=1e-13)


def test_sigma_is_that_of_the_equation() -> None:
    """sigma^2 sum_j decay^2j Var[s] = 1, and the mixing is sigma decay^j times standard normal numbers."""
    s = series()
    model = DelayExpansion(6, units=20_000, decay=0.8).fit(s)
    assert model.sigma**2 * sum(0.8 ** (2 * j) for j in range(7)) * np.var(s) == pytest.approx(1)
    xi = xi_of(model)
    # Standard errors at 20,000 draws: 0.007 of a mean, 0.005 of a standard deviation.
    np.testing.assert_allclose(xi.mean(axis=0), 0, atol=0.035)
    np.testing.assert_allclose(xi.std(axis=0), 1, atol=0.025)


@pytest.mark.parametrize("delay", [0, 1, 5, 20])
@pytest.mark.parametrize("correlated", [False, True])
def test_the_variance_over_time_is_one_whatever_the_delay(delay: int, correlated: bool) -> None:
    """On average over the draws of xi. At delay 0 a draw has xi^2, of variance 2, with more lags less: 5 standard errors."""
    s = series(length=4_000, seed=delay)
    if correlated:
        s = np.convolve(s[:, 0], np.ones(8), mode="valid")[:, None]
    x = DelayExpansion(delay, units=5_000, seed=delay + 1).fit(s).transform(s)[delay:]
    assert x.var(axis=0).mean() == pytest.approx(1, abs=5 * (2 / 5_000) ** 0.5)


def xi_of(model: DelayExpansion) -> Floats:
    return np.asarray(model.mixing / (model.sigma * model.decay ** np.arange(model.delay + 1)))


def test_a_longer_delay_and_more_units_keep_the_draws() -> None:
    small = xi_of(DelayExpansion(3, units=4).fit(series()))
    np.testing.assert_allclose(xi_of(DelayExpansion(9, units=4).fit(series()))[:, :4], small, rtol=1e-12)
    np.testing.assert_allclose(xi_of(DelayExpansion(3, units=7).fit(series()))[:4], small, rtol=1e-12)


def test_a_new_seed_changes_all_draws() -> None:
    one, same, other = (DelayExpansion(3, seed=seed).fit(series()).mixing for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert (one != other).all()


def test_draws_are_not_those_of_a_network_with_the_same_seed() -> None:
    """The input matrix is uniform: by ranks, since a shared stream would show as a monotone relation."""
    xi = DelayExpansion(5, units=400).fit(series()).mixing
    drawn = es.single(400).build(1, seed=0).drawn
    for column in (drawn.inputs[0][:, 0], drawn.biases[0]):
        ranks = [float(spearmanr(lag, column).statistic) for lag in xi.T]
        assert np.abs(ranks).max() < 5 / 400**0.5


def test_a_piece_of_a_series_needs_the_steps_before_it() -> None:
    s = series()
    model = DelayExpansion(4, units=5).fit(s)
    np.testing.assert_allclose(model.transform(s[26:])[4:], model.transform(s)[30:], rtol=0, atol=1e-13)
