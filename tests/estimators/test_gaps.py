"""Targets that are NaN do not count: every fit is that on the known rows alone, though the network runs over all."""

from __future__ import annotations

from typing import Any

import naive
import numpy as np
import numpy.typing as npt
import pytest
from flat import flat

from echoscale import ESNRegressor

Array = npt.NDArray[Any]

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (300, 2))
Y = np.stack([X[:, 0] + np.roll(X[:, 1], 1) ** 2, np.roll(X[:, 0], 2)], axis=1)
GAPS = Y.copy()
GAPS[[0, 30, 31, 32, 200], 0] = np.nan
GAPS[100:140] = np.nan
GAPS[250, 1] = np.nan
KNOWN: Array = np.asarray(~np.isnan(GAPS).any(axis=1))
COUNTED = KNOWN & (np.arange(300) >= 25)


def model(**changed: Any) -> ESNRegressor:
    settings = {
        "units": 15,
        "washout": 25,
        "random_state": 0,
        "dtype": "float64",
        "scale": None,
        "inputs": 0,
        "ridge": 1e-3,
    }
    return flat(ESNRegressor, **{**settings, **changed})


def by_hand(fitted: ESNRegressor, ridge: float) -> Array:
    """W by the normal equations on the known rows of states made by loops."""
    states = naive.states_of(fitted.esn_, X)[COUNTED]
    x, y = states - states.mean(axis=0), Y[COUNTED] - Y[COUNTED].mean(axis=0)
    return np.asarray(np.linalg.solve(x.T @ x + ridge * np.eye(x.shape[1]), x.T @ y).T)


def test_fit() -> None:
    fitted = model().fit(X, GAPS)
    np.testing.assert_allclose(fitted.readout_.coef, by_hand(fitted, 1e-3), rtol=1e-9, atol=1e-10)
    assert float(fitted.statistics_.count) == COUNTED.sum()


def test_fit_by_the_exact_solution() -> None:
    """A penalty of 0 is solved from the rows themselves."""
    fitted = model(ridge=0.0).fit(X, GAPS)
    np.testing.assert_allclose(fitted.readout_.coef, by_hand(fitted, 0.0), rtol=1e-6)


def test_scaling_and_penalties_are_those_of_known_rows() -> None:
    fitted = model(scale="standard", ridge="auto").fit(X, GAPS)
    for o in range(2):
        assert fitted.target_scaling_.mean[o] == pytest.approx(np.nanmean(GAPS[:, o]))
    assert fitted.ridge_curve_ is not None
    assert np.isfinite(fitted.ridge_curve_.errors).all()
    assert np.isfinite(fitted.predict(X)).all()


def test_batches_and_lists() -> None:
    batch = model().fit(X.reshape(2, 150, 2), GAPS.reshape(2, 150, 2))
    uneven = model().fit([X[:150], X[150:]], [GAPS[:150], GAPS[150:]])
    np.testing.assert_allclose(batch.readout_.coef, uneven.readout_.coef, rtol=1e-9, atol=1e-10)
    assert float(batch.statistics_.count) == sum(int(KNOWN[a + 25 : a + 150].sum()) for a in (0, 150))


def test_partial_fit() -> None:
    stream = model()
    for begin, end in ((0, 60), (60, 110), (110, 130), (130, 300)):  # the third holds no target at all
        stream.partial_fit(X[begin:end], GAPS[begin:end])
    np.testing.assert_allclose(stream.readout_.coef, by_hand(stream, 1e-3), rtol=1e-8, atol=1e-9)
    assert float(stream.statistics_.count) == COUNTED.sum()


def test_score_counts_known_rows() -> None:
    fitted = model().fit(X, Y)
    guess, known = fitted.predict(X)[25:], KNOWN[25:]
    truth = Y[25:]
    squares = ((guess - truth)[known] ** 2).sum(axis=0) / ((truth[known] - truth[known].mean(axis=0)) ** 2).sum(axis=0)
    assert fitted.score(X, GAPS) == pytest.approx(1 - squares.mean())
    weights = np.arange(300.0)
    assert fitted.score(X, GAPS, sample_weight=weights) != fitted.score(X, GAPS)


@pytest.mark.parametrize("form", ["flat", "pandas", "list"])
def test_one_target_in_any_form(form: str) -> None:
    import pandas as pd

    y: Any = {"flat": GAPS[:, 0], "pandas": pd.Series(GAPS[:, 0]), "list": GAPS[:, 0].tolist()}[form]
    np.testing.assert_array_equal(model().fit(X, y).readout_.coef, model().fit(X, GAPS[:, :1]).readout_.coef)
