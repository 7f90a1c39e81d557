"""Steps in a box against first-order conditions, a general optimiser and Newton."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import minimize

from echoscale.learning.tuning import search

Floats = npt.NDArray[np.float64]


def convex(seed: int) -> tuple[Floats, Floats, Floats, Floats]:
    """g, H and a box around 0 of a sum of squares: some singular, badly scaled, or with no room in some directions."""
    rng = np.random.default_rng(seed)
    P = int(rng.integers(1, 13))
    jacobian = rng.normal(size=(int(rng.integers(1, P + 4)), P)) * 10 ** rng.uniform(-2, 2, P)
    low, high = -rng.random(P) * (rng.random(P) < 0.8), rng.random(P) * (rng.random(P) < 0.8)
    return 2 * jacobian.T @ rng.normal(size=len(jacobian)), 2 * jacobian.T @ jacobian, low, high


def model_at(s: Any, gradient: Floats, curvature: Floats) -> float:
    return float(gradient @ s + s @ curvature @ s / 2)


def test_a_step_is_the_least_of_the_model_in_the_box() -> None:
    """The first-order conditions of the damped model, which for a convex one are all there is."""
    active = 0
    for seed in range(300):
        gradient, curvature, low, high = convex(seed)
        s = search.step(gradient, curvature, low, high)
        assert ((low <= s) & (s <= high)).all()
        free = high > low
        if not free.any():
            continue
        damping = search.DAMPING * np.linalg.eigvalsh(curvature[np.ix_(free, free)])[-1]
        pull = (gradient + curvature @ s + damping * s) / (np.diag(curvature) + damping)
        np.testing.assert_allclose(np.clip(s - pull, low, high), s, atol=1e-7, err_msg=f"seed {seed}")
        active += int(((s == low) | (s == high))[free].any())
    assert active > 100


@pytest.mark.parametrize("seed", range(4))
def test_a_step_is_as_good_as_that_of_a_general_optimiser(seed: int) -> None:
    """Damping costs no more than it adds to the model at the other's step."""
    gradient, curvature, low, high = convex(seed)
    s = search.step(gradient, curvature, low, high)
    general: Any = minimize
    other = general(
        lambda at: model_at(at, gradient, curvature),
        np.zeros_like(s),
        jac=lambda at: gradient + curvature @ at,
        method="L-BFGS-B",
        bounds=list(zip(low, high, strict=True)),
        options={"maxiter": 500, "ftol": 1e-15, "gtol": 1e-12},
    ).x
    damping = search.DAMPING * np.linalg.eigvalsh(curvature)[-1]
    cost = damping * other @ other / 2
    scale = abs(model_at(other, gradient, curvature))
    assert model_at(s, gradient, curvature) <= model_at(other, gradient, curvature) + cost + 1e-9 * scale


def test_a_step_without_slope_or_without_room_stays() -> None:
    flat = np.zeros((3, 3))
    one = np.ones(3)
    np.testing.assert_array_equal(search.step(np.zeros(3), flat, -one, one), 0)
    np.testing.assert_array_equal(search.step(np.zeros(3), np.eye(3), -one, one), 0)
    np.testing.assert_array_equal(search.step(one, np.eye(3), np.zeros(3), np.zeros(3)), 0)


def test_a_step_inside_is_that_of_newton() -> None:
    gradient, curvature = np.array([1.0, -2.0]), np.array([[4.0, 1.0], [1.0, 3.0]])
    wide = np.full(2, 100.0)
    newton = -np.linalg.solve(curvature, gradient)
    np.testing.assert_allclose(search.step(gradient, curvature, -wide, wide), newton, rtol=1e-5)


def test_trials_lie_on_one_line_within_bounds_and_radius() -> None:
    lengths = np.array([0.3, 1.0, 3.0])
    for seed in range(50):
        gradient, curvature, low, high = convex(seed)
        z = np.random.default_rng(seed).normal(size=len(low))
        radius = 0.2
        tried = search.trials(z, gradient, curvature, z + low, z + high, radius, lengths)
        whole = search.step(gradient, curvature, np.maximum(low, -radius), np.minimum(high, radius))
        assert ((z + low <= tried) & (tried <= z + high)).all()
        assert (np.abs(tried[:2] - z) <= radius + 1e-12).all()
        np.testing.assert_allclose(tried[:2] - z, lengths[:2, None] * whole, atol=1e-12)
        np.testing.assert_allclose(tried[2] - z, np.clip(3 * whole, low, high), atol=1e-12)
