"""Weights of candidates against what is known."""

from __future__ import annotations

import numpy as np
import pytest

from echoscale.forecasting import weights


def test_least_squares_equals_the_closed_form() -> None:
    """Two candidates: u = argmin u^T (C + diag C) u with sum u = 1 is proportional to (C + diag C)^-1 1."""
    rng = np.random.default_rng(0)
    one = rng.normal(size=(4000, 2))
    errors = np.stack([one, -0.5 * one + 0.9 * rng.normal(size=(4000, 2))])
    far = weights.FAR * np.abs(errors).mean(axis=1, keepdims=True)
    rows = np.clip(errors, -far, far).reshape(2, -1)
    gram = rows @ rows.T / rows.shape[1]
    expected = np.linalg.solve(gram + np.diag(np.diag(gram)), np.ones(2))
    np.testing.assert_allclose(weights._least_squares(errors), expected / expected.sum(), rtol=1e-4)


def test_weights_are_shares_and_the_better_one_has_more() -> None:
    rng = np.random.default_rng(1)
    errors = [size * rng.normal(size=(300, 20)) for size in (1.0, 1.1, 5.0)]
    found = weights.by_horizon(errors, np.array([True, True, True]))
    np.testing.assert_allclose(found.sum(axis=0), 1)
    assert (found >= 0).all()
    assert (found[0] > found[1]).all()
    assert found[2].max() < 0.05


def test_short_horizons_have_their_own_weights() -> None:
    rng = np.random.default_rng(2)
    near, late = np.where(np.arange(30) < 8, 0.1, 3.0), np.where(np.arange(30) < 8, 3.0, 0.1)
    errors = [near * rng.normal(size=(300, 30)), late * rng.normal(size=(300, 30))]
    found = weights.by_horizon(errors, np.array([True, True]))
    assert found[0, 0] > 0.9
    assert found[1, -1] > 0.9


def test_who_cannot_forecast_gets_nothing() -> None:
    errors = [np.zeros((10, 3)), np.ones((10, 3))]
    assert weights.of_horizons(errors, np.array([False, True])) == pytest.approx([0, 1])
