"""Leaky integrals: against a loop, as states of the network that a model holds, and as the method that is taken."""

from __future__ import annotations

from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
import pytest

import echoscale as es
from echoscale.forecasting import methods
from echoscale.forecasting.candidates import integral_members
from echoscale.forecasting.integrals import RATIO
from echoscale.forecasting.problem import as_problem
from echoscale.forecasting.rows import Steps
from echoscale.readouts.splits import Split
from echoscale.timescales.candidates import LEAK_RATES, TIMESCALES


def driven(steps: int, features: int) -> Steps:
    rng = np.random.default_rng(0)
    return Steps(as_problem(rng.normal(size=(steps, features)), rng.normal(size=steps), None, None))


def looped(rates: np.ndarray, values: np.ndarray) -> np.ndarray:
    """x(t) = (1 - a) x(t-1) + a u(t), number by number, rate by rate."""
    found = np.zeros((len(values), len(rates) * values.shape[1]))
    for k, rate in enumerate(rates):
        for f in range(values.shape[1]):
            x = 0.0
            for t in range(len(values)):
                x = (1 - rate) * x + rate * values[t, f]
                found[t, k * values.shape[1] + f] = x
    return found


def slow_power(steps: int) -> tuple[np.ndarray, np.ndarray]:
    """The input times an average of the input over a hundred steps."""
    u = np.random.default_rng(1).normal(size=(steps, 1))
    return u, 10 * u * looped(np.array([0.01]), u) + u


@pytest.mark.parametrize("features", [1, 3])
def test_integrals_and_their_products_are_those_of_a_loop_and_of_the_network(features: int) -> None:
    steps = driven(2000, features)
    integrals, values = steps.integrals, np.random.default_rng(2).normal(size=(300, features))
    [own] = steps.heard.values
    found, want = integrals.of(values), looped(integrals.rates, values) / looped(integrals.rates, own).std(axis=0)
    np.testing.assert_allclose(found[:, : want.shape[1]], want, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(integrals.esn.run(values), want, rtol=1e-9, atol=1e-12)
    # Every product of two once, in some order.
    pairs = np.stack([want[:, i] * want[:, j] for i, j in combinations_with_replacement(range(want.shape[1]), 2)])
    made = found[:, want.shape[1] :].T
    assert made.shape == pairs.shape
    np.testing.assert_allclose(made[np.argsort(made[:, -1])], pairs[np.argsort(pairs[:, -1])], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("steps", [100, 1000, 20_000])
def test_the_data_hold_several_times_the_slowest_integral(steps: int) -> None:
    rates = driven(steps, 1).integrals.rates
    assert rates[0] == 1
    assert rates[-1] == pytest.approx(max(TIMESCALES / steps, LEAK_RATES[-1][0]))
    np.testing.assert_allclose(np.diff(np.log(rates)), -np.log(RATIO), rtol=0.2)


def test_many_inputs_have_few_integrals_or_none() -> None:
    assert driven(500, 20).integrals.rates.shape == (4,)
    assert driven(500, 20).integrals.width == 80  # no products
    assert not driven(500, 60).integrals.several
    assert integral_members(driven(500, 60), Split((0,), ()), (0,)) == []


def test_a_slow_product_is_found_carried_on_saved_and_exported(tmp_path: Path) -> None:
    u, y = slow_power(2500)
    found = es.auto(u[:2000], y[:2000], rounds=1)
    errors = dict(zip(found.table["method"], found.table["NRMSE"], strict=True))
    assert errors[methods.INTEGRALS] < 0.05 < 0.5 < errors[methods.PRODUCTS]
    assert found.winner == methods.INTEGRALS
    assert not found.networks
    model = found.model
    guess = model.predict(u[2000:], state=model.state_)
    assert es.nrmse(y[2000:], guess) < 0.05
    # By hand: the integrals from the first step on, their products, and lags.
    integrals = Steps(as_problem(u[:2000], y[:2000], None, "standard")).integrals
    [group] = model.groups
    z = model.scaling.forward(u)
    want = integrals.of(z) @ group.coef[0].T + model.linear.along(z)
    np.testing.assert_allclose(guess, model.target_scaling.back(want)[2000:], rtol=1e-6, atol=1e-9)
    again = es.load(es.save(model, tmp_path / "model.safetensors"))
    np.testing.assert_array_equal(again.predict(u[2000:], state=again.state_), guess)
    assert es.export(model, tmp_path / "model.c").exists()
