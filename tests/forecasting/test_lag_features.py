"""Lags and the simple methods that are linear maps of them."""

from __future__ import annotations

import numpy as np
import pytest

from echoscale.data.lags import lagged
from echoscale.forecasting import lags
from echoscale.forecasting.lags import LinearMap, ProductMap
from echoscale.forecasting.problem import as_problem


@pytest.mark.parametrize("horizon", [1, 5, 12, 17])
def test_seasonal_naive_repeats_the_last_season_that_is_known(horizon: int) -> None:
    season = np.random.default_rng(0).normal(size=12)
    u = np.tile(season, 20)
    problem = as_problem(u[:-horizon], u[horizon:], None, None)
    assert problem.season == 12
    made = lags.seasonal_naive(problem, 12)
    assert max(made.lags) < 12
    out = made.outputs(lagged(u[:-horizon, None], made.lags))[:, 0]
    np.testing.assert_array_equal(out[12:], u[horizon:][12:])


def test_persistence_is_the_present() -> None:
    u = np.random.default_rng(0).normal(size=(50, 3))
    problem = as_problem(u[:-2], u[2:, [2, 0]], None, "standard")
    made = lags.persistence(problem)
    out = made.outputs(lagged(np.asarray(problem.series.values[0]), made.lags))
    np.testing.assert_allclose(problem.target_scaling.back(out), u[:-2, [2, 0]], rtol=1e-12)


def test_the_mean_of_maps_has_the_mean_of_their_outputs() -> None:
    rng = np.random.default_rng(0)
    maps = [LinearMap(which, rng.normal(size=(2, 3 * len(which))), rng.normal(size=2)) for which in ((0,), (0, 2), (1, 5))]
    u = rng.normal(size=(40, 3))
    mean = lags.mean_of(maps)
    want = np.mean([each.outputs(lagged(u, each.lags)) for each in maps], axis=0)
    np.testing.assert_allclose(mean.outputs(lagged(u, mean.lags)), want, rtol=1e-12)


def test_products_are_part_of_a_map_and_of_means_of_maps() -> None:
    rng = np.random.default_rng(0)
    u = rng.normal(size=(20, 2))
    products = ProductMap((0, 2), rng.normal(size=(1, 10)))
    made = LinearMap((0, 2), rng.normal(size=(1, 4)), np.ones(1), (products,))
    plain = LinearMap((1,), rng.normal(size=(1, 2)), np.zeros(1))
    z = lagged(u, (0, 2))
    pairs = np.array([[row[i] * row[j] for i in range(4) for j in range(i, 4)] for row in z])
    wanted = z @ made.coef.T + 1 + pairs @ products.coef.T
    np.testing.assert_allclose(made.outputs(z), wanted)
    both = lags.mean_of([made, plain], [0.3, 0.7])
    other = lagged(u, (1,)) @ plain.coef.T
    np.testing.assert_allclose(both.outputs(lagged(u, both.lags)), 0.3 * wanted + 0.7 * other)


def test_blocks_of_a_series_are_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    u, past = rng.normal(size=(50, 2)), rng.normal(size=(9, 2))
    made = lags.LinearMap((0, 2, 9), rng.normal(size=(3, 6)), rng.normal(size=3))
    monkeypatch.setattr(lags, "BLOCK", 8)
    np.testing.assert_allclose(made.along(u, past), made.outputs(lagged(u, made.lags, past)), rtol=1e-12)
    np.testing.assert_allclose(made.along(u), made.outputs(lagged(u, made.lags)), rtol=1e-12)
