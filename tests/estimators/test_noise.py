"""Noise on the states while a readout is fitted: what it does on average, without being drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flat import flat

import echoscale as es
from echoscale.readouts.statistics import of_rows

RNG = np.random.default_rng(0)
U = RNG.normal(size=(260, 1))
Y = np.cumsum(U, axis=0) / 10


def model(**options: Any) -> es.ESNRegressor:
    settings: dict[str, Any] = {"units": 6, "inputs": 0, "scale": None, "washout": 10, "dtype": "float64", "random_state": 0}
    return flat(es.ESNRegressor, **{**settings, **options})


def test_it_is_a_ridge_penalty_for_every_step() -> None:
    noisy, plain = model(noise=0.1, ridge=1e-3).fit(U, Y), model(ridge=1e-3 + 250 * 0.1**2).fit(U, Y)
    np.testing.assert_allclose(noisy.readout_.coef, plain.readout_.coef, rtol=1e-10)
    np.testing.assert_allclose(noisy.readout_.intercept, plain.readout_.intercept, rtol=1e-10)


def test_it_is_the_mean_of_noise_that_is_drawn() -> None:
    fitted = model(noise=0.1, ridge=1e-3).fit(U, Y)
    states, copies = fitted.esn_.run(U)[10:], 300
    noise = 0.1 * RNG.normal(size=(250 * copies // 2, 6))
    rows = np.tile(states, (copies, 1)) + np.concatenate([noise, -noise])  # both signs: what is odd cancels
    drawn = es.readouts.ridge(of_rows(rows, np.tile(Y[10:], (copies, 1))), copies * 1e-3)
    np.testing.assert_allclose(fitted.readout_.coef, drawn.coef, atol=0.02 * np.abs(drawn.coef).max())


def test_inputs_beside_the_states_have_none_and_streams_add_up() -> None:
    whole = model(inputs=1, noise=10.0, ridge=1e-6).fit(U, 2 * U)
    np.testing.assert_allclose(whole.readout_.coef[0, -1], 2, rtol=1e-3)  # the input itself is trusted, the states are not
    parts = model(noise=0.1, ridge=1e-3)
    parts.partial_fit(U[:100], Y[:100]).partial_fit(U[100:], Y[100:])
    np.testing.assert_allclose(parts.readout_.coef, model(noise=0.1, ridge=1e-3).fit(U, Y).readout_.coef, rtol=1e-8)


def test_bad_noise_is_named() -> None:
    with pytest.raises(ValueError, match=r"noise must not be negative, got -1.0. 0 is none"):
        model(noise=-1.0).fit(U, Y)


def test_distributions_of_leak_rates_are_parameters_that_files_keep(tmp_path: Path) -> None:
    fitted = model(leak_rate=es.LogUniform(0.1, 1.0), noise=0.01, ridge=1e-3).fit(U, Y)
    assert fitted.esn_.network.spreads_leaks
    es.save(fitted, tmp_path / "model")
    again = es.load(tmp_path / "model")
    assert again.get_params()["leak_rate"] == es.LogUniform(0.1, 1.0)
    assert again.get_params()["noise"] == 0.01
    assert (again.predict(U) == fitted.predict(U)).all()
