"""Simple methods are averaged by their errors; networks must be clearly better."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.signal import lfilter

import echoscale as es
from echoscale.forecasting import AutoModel, methods
from echoscale.forecasting.methods import Compared
from echoscale.forecasting.model import model_of
from echoscale.forecasting.problem import as_problem
from echoscale.forecasting.rows import Steps
from echoscale.forecasting.search import Search

RNG = np.random.default_rng(0)


def searched(u: np.ndarray, y: np.ndarray) -> tuple[Search, Compared]:
    """Without a network."""
    search = Search(Steps(as_problem(u, y, None, "standard")), 0)
    return search, methods.compare(search)


def fitted(search: Search, compared: Compared, weights: dict[str, float]) -> AutoModel:
    """The mean of simple methods with these weights."""
    linear, groups = methods.final(search, compared._replace(weights=weights), methods.SIMPLE)
    assert len(groups) == (methods.INTEGRALS in weights)
    return model_of(search.steps.problem, search.steps.drive, linear, groups)


def test_weights_fall_with_the_fourth_power_of_the_error() -> None:
    noise = RNG.standard_normal(50) ** 2
    errors = {"a": noise, "b": 1.1 * noise[::-1]}
    weights = methods.weights_of(errors)
    assert sum(weights.values()) == pytest.approx(1)
    assert weights["b"] / weights["a"] == pytest.approx(1.1**-4)


def test_a_weight_below_a_hundredth_is_none() -> None:
    noise = RNG.standard_normal(400) ** 2
    weights = methods.weights_of({"a": noise, "b": 2 * noise, "c": noise[::-1], "d": 4 * noise})
    total = 2 + 2.0**-4
    assert weights == pytest.approx({"a": 1 / total, "b": 2.0**-4 / total, "c": 1 / total})
    assert methods.weights_of({"a": np.zeros(9), "b": np.ones(9)}) == {"a": 1.0}


def test_the_final_map_is_the_weighted_mean_of_the_methods() -> None:
    x = np.cumsum(RNG.standard_normal(300))
    search, compared = searched(x[:-6], x[6:])
    weights = compared.weights
    assert methods.SIMPLE in compared.outputs
    assert set(weights) <= set(compared.outputs)
    wanted = sum(weight * fitted(search, compared, {name: 1.0}).predict(x) for name, weight in weights.items())
    np.testing.assert_allclose(fitted(search, compared, weights).predict(x), wanted, rtol=1e-10, atol=1e-10)


def test_an_origin_is_judged_with_the_weights_of_the_others() -> None:
    """Two origins: the first method is right at one of them, the second at the other."""
    zero, one = np.zeros((40, 1)), np.ones((40, 1))
    truth = [zero, one]
    found = {"a": [zero, zero], "b": [one, one]}
    made = methods._averaged(found, truth)
    np.testing.assert_array_equal(made[0], one)
    np.testing.assert_array_equal(made[1], zero)


@pytest.mark.parametrize(("gain", "winner"), [(0.5, methods.NETWORKS), (0.0, methods.RIDGE)])
def test_networks_must_be_clearly_better(gain: float, winner: str) -> None:
    ridge = 1 + 0.1 * RNG.standard_normal(200)
    networks = ridge - gain + 0.01 * RNG.standard_normal(200)
    errors = {methods.RIDGE: ridge, methods.NETWORKS: networks, methods.BOTH: (ridge + networks) / 2}
    assert methods.winner_of(errors, methods.RIDGE, horizon=1) == winner


def test_a_product_of_lags_is_found_and_saved(tmp_path: Path) -> None:
    """y(t) = u_t u_{t-2} + u_{t-1} without noise: products explain it all, lines the last term alone."""
    u = np.random.default_rng(1).standard_normal((400, 1))
    y = np.roll(u, 1) + u * np.roll(u, 2)
    search, compared = searched(u[2:], y[2:])
    assert compared.weights == {methods.PRODUCTS: 1.0}
    model = fitted(search, compared, compared.weights)
    np.testing.assert_allclose(model.predict(u)[2:], y[2:], atol=1e-4)
    again = es.load(es.save(model, tmp_path / "model.safetensors"))
    np.testing.assert_array_equal(again.predict(u), model.predict(u))
    pieces = [model.predict(u[:50], return_state=True)]
    pieces.append((model.predict(u[50:], state=pieces[0][1]), None))
    np.testing.assert_allclose(np.concatenate([each for each, _ in pieces]), model.predict(u), atol=1e-12)


def test_products_are_left_out_where_an_input_has_a_trend() -> None:
    problem = as_problem(np.arange(300.0) + RNG.standard_normal(300), None, None, "standard")
    assert Steps(problem).product_sets == []


@pytest.mark.parametrize(("memory", "count", "alone"), [(5, 1500, False), (40, 3000, True)])
def test_the_mean_of_simple_methods_is_left_where_one_of_them_is_clearly_better(memory: int, count: int, alone: bool) -> None:
    """A leaky integral with noise: lags and their products are about as good if its memory is short, and much worse if not."""
    rng = np.random.default_rng(1)
    u = rng.standard_normal(count)
    y = lfilter([1 / memory], [1, 1 / memory - 1], u)
    search, compared = searched(u, y / y.std() + 0.7 * rng.standard_normal(count))
    errors, weights = compared.errors, compared.weights
    # Student's t of the paired differences: independent of the formula of the library, and far from its bar.
    best = min((name for name in errors if name != methods.SIMPLE), key=lambda name: float(errors[name].mean()))
    paired = errors[methods.SIMPLE] - errors[best]
    t = paired.mean() / (paired.std(ddof=1) / np.sqrt(len(paired)))
    assert t > 2.5 if alone else t < 1.6
    assert methods.winner_of(errors, compared.simple, search.steps.problem.gap) == (best if alone else methods.SIMPLE)
    assert (weights == {methods.INTEGRALS: 1.0}) == alone


def test_the_mean_of_simple_methods_stays_where_none_is_clearly_better() -> None:
    noise = RNG.standard_normal(400) ** 2
    assert methods.best_alone({"a": noise, "b": 1.2 * noise}, noise + RNG.standard_normal(400), 1) is None
    assert methods.best_alone({"a": noise, "b": 1.2 * noise}, 1.1 * noise, 1) == {"a": 1.0}
