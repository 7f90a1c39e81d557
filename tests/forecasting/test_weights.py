"""Weights of candidates, and standard errors of differences, against what is known."""

from __future__ import annotations

from typing import Any

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


def test_shares_are_the_best_of_all_on_a_grid() -> None:
    """Three candidates, one of them bad: no point of the simplex is better, by the formula written out."""
    rng = np.random.default_rng(4)
    one = rng.normal(size=3000)
    errors = np.stack([one, 0.6 * one + 0.7 * rng.normal(size=3000), 2 * one + rng.normal(size=3000)])

    def loss(u: np.ndarray) -> float:
        return float(((u @ errors) ** 2).mean() + (u**2 * (errors**2).mean(axis=1)).sum())

    grid = [np.array([a, b, 100 - a - b]) / 100 for a in range(101) for b in range(101 - a)]
    best = min(grid, key=loss)
    found = weights.of_errors(errors)
    assert loss(found) <= loss(best)
    np.testing.assert_allclose(found, best, atol=0.01)
    np.testing.assert_array_equal(weights.of_errors(np.zeros((3, 20))), [1 / 3] * 3)
    np.testing.assert_array_equal(weights.of_errors(errors[:, :1]), [1 / 3] * 3)


def test_small_shares_are_left_out() -> None:
    shares = np.array([[0.6, 0.5], [0.39, 0.49], [0.01, 0.01]])
    np.testing.assert_allclose(weights.without_small(shares, 0.02).sum(axis=0), 1)
    np.testing.assert_allclose(weights.without_small(shares, 0.02)[:, 0], [0.6 / 0.99, 0.39 / 0.99, 0])
    np.testing.assert_array_equal(weights.without_small(shares, 0.01), shares)


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


def test_who_was_judged_less_often_gets_nothing() -> None:
    """The second candidate is the better one, but was not judged at the first origin."""
    errors = [np.ones((10, 3)), np.full((10, 3), 0.1)]
    assert weights.of_horizons(errors, np.ones(2, bool))[1] > 0.9
    errors[1][0, 0] = np.nan
    assert weights.of_horizons(errors, np.ones(2, bool)) == pytest.approx([1, 0])


def test_standard_errors_of_independent_errors() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=400) ** 2, rng.normal(size=400) ** 2 + 0.3
    d = b - a
    assert weights.standard_errors(a, b, 0) == pytest.approx(d.mean() / (d.std() / 20), rel=1e-12)
    assert weights.standard_errors(a, b, 0) == -weights.standard_errors(b, a, 0)


def test_standard_errors_of_alike_neighbours_are_larger() -> None:
    """Each value twice: half as many are independent, so that the mean is worth 1 / sqrt(2) as many standard errors."""
    rng = np.random.default_rng(1)
    d = np.repeat(rng.normal(size=2000) + 0.1, 2)
    found = weights.standard_errors(np.zeros(4000), d, 40) / weights.standard_errors(np.zeros(4000), d, 0)
    assert found == pytest.approx(2**-0.5, rel=0.08)


def test_equal_errors_tell_nothing() -> None:
    same = np.ones(20)
    assert weights.standard_errors(same, same, 3) == 0
    assert weights.standard_errors(same, same + 1, 3) == np.inf


def test_weights_of_every_group_of_horizons_are_those_of_an_optimiser() -> None:
    """The loss in units of the least error of every horizon, over the horizons of a group, minimised by scipy."""
    from scipy.optimize import minimize

    rng = np.random.default_rng(3)
    shared = rng.normal(size=(60, 9))
    errors = [size * shared + rng.normal(size=(60, 9)) * np.linspace(near, far, 9) for size, near, far in
              ((1.0, 0.2, 1.5), (-0.5, 1.0, 0.6), (0.8, 0.6, 0.6), (0.0, 2.0, 2.5))]  # fmt: skip
    found = weights.by_horizon(errors, np.ones(4, bool))
    for low, high in ((0, 2), (2, 6), (6, 9)):
        some = np.stack(errors)[:, :, low:high]
        some = some / np.abs(some).mean(axis=1).min(axis=0)
        far = weights.FAR * np.abs(some).mean(axis=1, keepdims=True)
        rows = np.clip(some, -far, far).reshape(4, -1)

        def loss(w: np.ndarray, rows: np.ndarray = rows) -> float:
            return float(((w @ rows) ** 2).mean() + (w**2 * (rows**2).mean(axis=1)).sum())

        total: Any = {"type": "eq", "fun": lambda w: w.sum() - 1}
        best = minimize(loss, np.full(4, 0.25), bounds=[(0, 1)] * 4, constraints=total, options={"ftol": 1e-12})
        assert best.success
        np.testing.assert_allclose(found[:, low:high], np.repeat(best.x[:, None], high - low, axis=1), atol=2e-4)
