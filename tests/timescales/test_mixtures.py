"""Timescales of neurons with leak rates of their own: one leak rate, drawn spectra, derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import echoscale as es
from echoscale import timescales
from echoscale.engine.devices import one_thread

TAUS = np.geomspace(0.4, 150, 60)


def test_one_leak_rate_gives_back_the_closed_forms() -> None:
    for alpha, rho in ((0.5, 0.9), (0.1, 0.4)):
        rates = np.full(7, alpha)
        np.testing.assert_allclose(
            timescales.mixture_cumulative(TAUS, rates, rho), timescales.cumulative(TAUS, alpha, rho), atol=1e-12
        )
        np.testing.assert_allclose(
            timescales.mixture_density(TAUS, rates, rho), timescales.density(TAUS, alpha, rho), atol=1e-12
        )
        np.testing.assert_allclose(timescales.mixture_bounds(rates, rho), timescales.bounds(alpha, rho), rtol=1e-10)


@pytest.mark.parametrize(("leaks", "rho"), [(es.LogUniform(0.05, 1.0), 0.9), (es.LogNormal(0.1, 0.7), 0.8)])
def test_drawn_spectra_have_this_distribution(leaks: es.LogUniform | es.LogNormal, rho: float) -> None:
    """Within what 300 eigenvalues allow, where a plain mixture of one disc per leak rate is clearly off."""
    size = 300
    rates = es.single(size, leak_rate=leaks).build(1, seed=0).matrices().leak_rate
    W = np.random.default_rng(0).standard_normal((size, size)) / np.sqrt(size)
    with one_thread():
        values = np.linalg.eigvals(rates[:, None] * (rho * W - np.eye(size)))
    taus = np.sort(-1 / values.real)
    drawn = (np.arange(size) + 0.5) / size
    assert np.abs(timescales.mixture_cumulative(taus, leaks, rho) - drawn).max() < 0.025
    plain = timescales.cumulative(taus[:, None], rates, rho).mean(axis=1)
    assert np.abs(plain - drawn).max() > 0.03
    shortest, longest = timescales.mixture_bounds(rates, rho)
    inner = np.quantile(taus, [0.01, 0.99])  # a few stray beyond the edges of a large matrix
    assert shortest < inner[0] < inner[1] < longest
    assert longest < 0.6 / (rates.min() * (1 - rho)), "what one disc per leak rate would say"


def test_the_density_is_the_derivative_and_integrates_to_one() -> None:
    leaks, step = es.LogUniform(0.05, 1.0), 1e-5
    up, down = (timescales.mixture_cumulative(TAUS * (1 + by), leaks, 0.9, dt=0.5) for by in (step, -step))
    density = timescales.mixture_density(TAUS, leaks, 0.9, dt=0.5)
    np.testing.assert_allclose(density, (up - down) / (2 * step * TAUS), atol=1e-6 * density.max())
    low, high = timescales.mixture_bounds(leaks, 0.9, dt=0.5)
    fine = np.geomspace(low, high, 501)
    assert np.trapezoid(timescales.mixture_density(fine, leaks, 0.9, dt=0.5), fine) == pytest.approx(1, abs=1e-3)
    assert timescales.mixture_cumulative(low * 0.999, leaks, 0.9, dt=0.5) == pytest.approx(0, abs=1e-9)
    assert timescales.mixture_cumulative(high * 1.001, leaks, 0.9, dt=0.5) == pytest.approx(1, abs=1e-9)


def test_the_table_of_a_description_uses_it() -> None:
    network = es.single(100, leak_rate=es.LogUniform(0.05, 1.0), spectral_radius=0.9)
    table = network.timescales()
    rates = network.build(1).matrices().leak_rate
    assert (table["tau_min"][0], table["tau_max"][0]) == pytest.approx(timescales.mixture_bounds(rates, 0.9))


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match=r"got 0.1 to 1.5"):
        timescales.mixture_bounds([0.1, 1.5], 0.9)
    with pytest.raises(ValueError, match=r"spectral radius in \(0, 1\], got 1.2"):
        timescales.mixture_density(1.0, [0.1, 0.5], 1.2)
