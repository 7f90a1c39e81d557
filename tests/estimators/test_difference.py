"""Residual targets and squares of states: what is fitted, and that predictions are those of the written-out readout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import naive
import numpy as np
import numpy.typing as npt
import pytest
from flat import flat

import echoscale as es
from echoscale import ESNRegressor
from echoscale.readouts.columns import Columns
from echoscale.readouts.statistics import of_rows

Array = npt.NDArray[Any]

T = np.arange(500)
WAVE = np.stack([300 + 20 * np.sin(0.2 * T) + 5 * np.sin(0.73 * T), np.cos(0.2 * T)], axis=1)
X, Y = WAVE[:-1], WAVE[1:]


def model(**changed: Any) -> ESNRegressor:
    settings = {"units": 15, "washout": 25, "random_state": 0, "dtype": "float64", "inputs": 1, "ridge": 1e-3}
    return flat(ESNRegressor, **{**settings, **changed})


def features(fitted: ESNRegressor, squares: bool = False) -> Array:
    u = fitted.scaling_.forward(X)
    states = naive.states_of(fitted.esn_, u)
    return np.concatenate([states, *([states**2] if squares else []), u], axis=1)


@pytest.mark.parametrize("scale", ["standard", None])
@pytest.mark.parametrize("squares", [False, True])
def test_the_change_is_fitted_and_added_back(scale: str | None, squares: bool) -> None:
    """By hand: ridge on y - u in units of the targets, and u on top."""
    small = {"input_scaling": 1e-3} if scale is None else {}
    fitted = model(difference="last", scale=scale, squares=squares, **small).fit(X, Y)
    rows, change = features(fitted, squares), (Y - X) / fitted.target_scaling_.spread
    x, d = (each[25:] - each[25:].mean(axis=0) for each in (rows, change))
    W = np.linalg.solve(x.T @ x + 1e-3 * np.eye(x.shape[1]), x.T @ d)
    guess = change[25:].mean(axis=0) + (rows - rows[25:].mean(axis=0)) @ W
    expected = X + guess * fitted.target_scaling_.spread
    np.testing.assert_allclose(fitted.predict(X, state=np.zeros_like(fitted.state_)), expected, rtol=1e-6, atol=1e-6)


def test_a_huge_penalty_leaves_the_last_value() -> None:
    kept = model(difference="last", ridge=1e12).fit(X, Y)
    np.testing.assert_allclose(kept.predict(X), X + (Y - X)[25:].mean(axis=0), atol=1e-4)
    lost = model(ridge=1e12).fit(X, Y)
    np.testing.assert_allclose(lost.predict(X), np.broadcast_to(Y[25:].mean(axis=0), X.shape), atol=1e-4)


@pytest.mark.parametrize(
    "changed", [{"difference": "last"}, {"squares": True}, {"squares": True, "products": 20, "inputs": 0}], ids=str
)
def test_streams_files_and_forecasts(changed: dict[str, Any], tmp_path: Path) -> None:
    fitted = model(scale=None, input_scaling=1e-3, **changed).fit(X, Y)
    stream = model(scale=None, input_scaling=1e-3, **changed)
    for begin, end in ((0, 100), (100, 499)):
        stream.partial_fit(X[begin:end], Y[begin:end])
    np.testing.assert_allclose(stream.predict(X[-40:]), fitted.predict(X[-40:]), rtol=1e-6)
    loaded = es.load(es.save(fitted, tmp_path / "model"))
    np.testing.assert_array_equal(loaded.forecast(10), fitted.forecast(10))
    # A forecast is predict, its output given as the next input.
    state, u, rows = fitted.state_, Y[-1:], []
    for _ in range(10):
        u, state = fitted.predict(u, state=state, return_state=True)
        rows.append(u[0])
    np.testing.assert_allclose(fitted.forecast(10), rows, rtol=1e-6)


@pytest.mark.parametrize("ridge", ["auto", 0.0, [1e-4, 1e-2]])
def test_squares_are_features_of_every_way_of_solving(ridge: Any) -> None:
    fitted = model(squares=True, ridge=ridge).fit(X, Y)
    assert fitted.readout_.coef.shape == (2, 15 + 15 + 2)
    rows = features(fitted, squares=True)
    np.testing.assert_allclose(
        fitted.predict(X, state=np.zeros_like(fitted.state_)),
        rows @ fitted.readout_.coef.T + fitted.readout_.intercept,
        rtol=1e-7,
    )
    if ridge != 0.0:
        y = fitted.target_scaling_.forward(Y)
        expected = es.readouts.ridge(of_rows(rows[25:], y[25:]), fitted.ridge_)
        np.testing.assert_allclose(fitted.statistics_.mean[:15], rows[25:, :15].mean(axis=0), atol=1e-10)
        errors = [((rows[25:] @ c.T - y[25:]) ** 2).sum() for c in (expected.coef, fitted.readout_.coef)]
        assert np.isfinite(errors).all()


def test_products_are_of_drawn_pairs() -> None:
    """Ridge by hand on states, products and inputs."""
    fitted = model(products=30).fit(X, Y)
    u = fitted.scaling_.forward(X)
    states = naive.states_of(fitted.esn_, u)
    i, j = Columns(0, products=30).pairs(fitted.esn_).T
    rows, y = np.concatenate([states, states[:, i] * states[:, j], u], axis=1), fitted.target_scaling_.forward(Y)
    x, d = (each[25:] - each[25:].mean(axis=0) for each in (rows, y))
    W = np.linalg.solve(x.T @ x + 1e-3 * np.eye(47), x.T @ d)
    expected = fitted.target_scaling_.back(y[25:].mean(axis=0) + (rows - rows[25:].mean(axis=0)) @ W)
    np.testing.assert_allclose(fitted.predict(X, state=np.zeros_like(fitted.state_)), expected, rtol=1e-7, atol=1e-7)


def test_squares_can_do_what_odd_states_cannot() -> None:
    """Without a bias or memory, x = tanh(w u) is odd in u: no readout of it has u^2, of which w^2 u^2 ~ x^2 is a multiple."""
    u = np.random.default_rng(0).uniform(-1, 1, (600, 1))
    settings = {"bias_scaling": 0.0, "spectral_radius": 0.0, "input_scaling": 0.1, "inputs": 0, "ridge": 1e-9}
    scores = [model(squares=squares, **settings).fit(u, u**2).score(u, u**2) for squares in (False, True)]
    assert scores[0] < 0.1
    assert scores[1] > 0.999


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: model(difference="last").fit(X, Y[:, 0]), "2 inputs and 1 outputs"),
        (lambda: model(squares=1).fit(X, Y), "squares must be True or False"),
        (lambda: model(products=-1).fit(X, Y), "products must be at least 0"),
        (lambda: model(products=106).fit(X, Y), "products=106 is above the 105 pairs that 15 neurons have"),
        (lambda: model(difference=None).fit(X, Y), "difference must be one of"),
    ],
)
def test_what_is_wrong_is_said(call: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        call()
