"""Closed forms of the timescales against the eigenvalues and the density that they summarise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

from echoscale.timescales import bounds, peak

settings = pytest.mark.parametrize(
    ("alpha", "rho", "dt"), [(1.0, 0.95, 1.0), (0.3, 0.5, 1.0), (0.05, 0.99, 0.1), (0.9, 0.1, 3.0), (0.5, 0.8, 1e-3)]
)


def density(tau: float, alpha: float, rho: float, dt: float) -> float:
    """p(tau) = 2 dt / (pi alpha^2 rho^2 tau^2) sqrt(alpha^2 rho^2 - (alpha - dt/tau)^2), with the corrected prefactor."""
    inside = (alpha * rho) ** 2 - (alpha - dt / tau) ** 2
    return float(2 * dt / (np.pi * (alpha * rho * tau) ** 2) * np.sqrt(max(inside, 0.0)))


@settings
def test_bounds_are_the_extremes_over_the_unit_disc(alpha: float, rho: float, dt: float) -> None:
    """tau = dt / (alpha (1 - rho Re lambda)) on a fine grid of Re lambda in [-1, 1]."""
    tau = dt / (alpha * (1 - rho * np.linspace(-1, 1, 1001)))
    assert bounds(alpha, rho, dt) == pytest.approx((tau.min(), tau.max()), rel=1e-12)


@settings
def test_all_of_the_density_lies_between_the_bounds(alpha: float, rho: float, dt: float) -> None:
    """It integrates to 1 between them; the substitution r = dt / tau takes the peak out of the integrand."""
    low, high = bounds(alpha, rho, dt)
    mass, _ = quad(lambda rate: density(dt / rate, alpha, rho, dt) * dt / rate**2, dt / high, dt / low)
    assert mass == pytest.approx(1, abs=1e-7)


@settings
def test_the_peak_is_where_the_density_is_largest(alpha: float, rho: float, dt: float) -> None:
    low, high = bounds(alpha, rho, dt)
    found: Any = minimize_scalar(
        lambda tau: -density(tau, alpha, rho, dt), bounds=(low, min(high, 3 * low)), options={"xatol": 1e-10 * low}
    )
    assert low < peak(alpha, rho, dt) < high
    assert peak(alpha, rho, dt) == pytest.approx(found.x, rel=1e-6)
    assert density(peak(alpha, rho, dt), alpha, rho, dt) >= -found.fun * (1 - 1e-12)


@settings
def test_the_peak_is_the_papers_closed_form(alpha: float, rho: float, dt: float) -> None:
    paper = 5 * dt / (4 * alpha * (1 - rho**2)) * (1 - np.sqrt(1 - 24 / 25 * (1 - rho**2)))
    assert peak(alpha, rho, dt) == pytest.approx(paper, rel=1e-12)


@pytest.mark.parametrize(("alpha", "dt"), [(1.0, 1.0), (0.2, 1.0), (0.5, 0.1)])
def test_limits(alpha: float, dt: float) -> None:
    """rho = 1: the peak is 0.6 dt / alpha and tau_max infinite; rho = 0: every timescale is dt / alpha."""
    assert peak(alpha, 1.0, dt) == pytest.approx(0.6 * dt / alpha, rel=1e-15)
    assert peak(alpha, 1 - 1e-9, dt) == pytest.approx(0.6 * dt / alpha, rel=1e-8)
    assert bounds(alpha, 1.0, dt) == (pytest.approx(dt / (2 * alpha)), np.inf)
    assert peak(alpha, 0.0, dt) == pytest.approx(dt / alpha, rel=1e-15)
    assert bounds(alpha, 0.0, dt) == pytest.approx((dt / alpha, dt / alpha), rel=1e-15)


def test_arrays_are_taken_entry_by_entry() -> None:
    alphas, rhos = np.array([[0.1], [0.5]]), np.array([0.2, 0.9, 1.0])
    low, high = bounds(alphas, rhos)
    tops = peak(alphas, rhos)
    for i, alpha in enumerate(alphas[:, 0]):
        for j, rho in enumerate(rhos):
            assert (low[i, j], high[i, j]) == bounds(alpha, rho)
            assert tops[i, j] == peak(alpha, rho)
    assert isinstance(peak(0.5, 0.9), float)
    assert isinstance(bounds(0.5, 0.9)[0], float)


@pytest.mark.parametrize("function", [bounds, peak])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, 0.9), r"leak_rate must lie in \(0, 1\], got 0\.0"),
        ((1.5, 0.9), r"leak_rate must lie in \(0, 1\], got 1\.5"),
        ((float("nan"), 0.9), r"leak_rate must lie in \(0, 1\], got nan"),
        (([0.5, -1.0], 0.9), r"leak_rate must lie in \(0, 1\], got \[0\.5, -1\.0\]"),
        ((0.5, -0.1), r"spectral radius in \[0, 1\], got -0\.1"),
        ((0.5, 1.1), r"spectral radius in \[0, 1\], got 1\.1"),
        ((0.5, float("nan")), r"spectral radius in \[0, 1\], got nan"),
        ((0.5, 0.9, 0.0), r"dt must .*got 0\.0"),
        ((0.5, 0.9, -1.0), r"dt must .*got -1\.0"),
    ],
)
def test_bad_numbers_are_named(function: Any, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        function(*arguments)
