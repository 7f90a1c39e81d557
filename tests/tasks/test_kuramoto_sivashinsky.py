"""Kuramoto-Sivashinsky against its own equation, a stiff solver, and what is known of its attractor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import echoscale as es


def rates(v: Any, size: float) -> Any:
    """-v v_x - v_xx - v_xxxx, by dense differentiation of the interpolating trigonometric polynomial."""
    wave = 2 * np.pi / size * np.fft.fftfreq(len(v), 1 / len(v))
    odd = np.where(np.arange(len(v)) == len(v) // 2, 0, wave)
    mode = np.fft.fft(v)
    return np.fft.ifft(-0.5j * odd * np.fft.fft(v**2) + (wave**2 - wave**4) * mode).real


def test_a_stretch_is_that_of_a_stiff_solver() -> None:
    u, _ = es.tasks.kuramoto_sivashinsky(40, seed=3, points=32)
    found: Any = solve_ivp(
        lambda _, v: rates(v, 22.0), (0, 39 * 0.25), u[0], method="BDF", t_eval=0.25 * np.arange(40), rtol=1e-9, atol=1e-10
    )
    np.testing.assert_allclose(u, found.y.T, atol=2e-4)


def test_shorter_samples_lie_on_the_same_way() -> None:
    """Four samples for one, and one for four steps of the integrator."""
    u, y = es.tasks.kuramoto_sivashinsky(20, discard=10, points=32)
    fine, _ = es.tasks.kuramoto_sivashinsky(80, discard=43, points=32, dt=0.0625)
    coarse, _ = es.tasks.kuramoto_sivashinsky(5, discard=2, points=32, dt=1.0)
    np.testing.assert_allclose(fine[::4], u, atol=1e-4)
    np.testing.assert_allclose(coarse[:4], u[1:16:4], atol=1e-8)
    np.testing.assert_array_equal(u[1:], y[:-1])


def test_the_attractor_has_its_known_size_and_its_chaos() -> None:
    u, y = es.tasks.kuramoto_sivashinsky(4000, seed=1)
    np.testing.assert_allclose(u.mean(axis=1), 0, atol=1e-10)  # the mean is conserved, and begins at 0
    assert 1.1 < u.std() < 1.5
    _, ahead = es.tasks.kuramoto_sivashinsky(4000, seed=1, horizon=5)
    np.testing.assert_array_equal(ahead[:-4], y[4:])
    assert np.abs(es.tasks.kuramoto_sivashinsky(10, seed=2)[0] - u[:10]).max() > 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"points": 33}, "points must be even, got 33"),
        ({"points": 4}, "points must be at least 8"),
        ({"size": 0.0}, "size must be above 0"),
        ({"dt": -1.0}, "dt must be above 0"),
        ({"length": 0}, "length must be at least 1"),
    ],
)
def test_bad_numbers_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        es.tasks.kuramoto_sivashinsky(**{"length": 5, **options})
