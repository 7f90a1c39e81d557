"""Residual levels: decay and frequency apart, against drawn spectra, commuting matrices and derivatives."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

import echoscale as es
from echoscale import timescales
from echoscale.engine.devices import one_thread
from echoscale.engine.drawn import random_orthogonal


def test_commuting_matrices_add_their_eigenvalues() -> None:
    """A shift and a ring: lambda = (1 - alpha) lambda_O + alpha rho lambda_W, with the eigenvalues of both in pairs."""
    esn = es.single(30, leak_rate=0.3, spectral_radius=0.8, residual="shift", topology="ring").build(1, dtype="float64")
    O, W = esn.drawn.residuals[0].toarray(), esn.drawn.recurrent[0].toarray()  # noqa: E741
    np.testing.assert_allclose(O @ W, W @ O, atol=1e-12)
    circle = np.exp(2j * np.pi * np.arange(30) / 30)
    expected = np.concatenate([0.7 * circle[:, None] + 0.3 * 0.8 * w[:, None] for w in (circle, circle[::-1])], axis=1)
    found = esn.spectrum()
    apart = np.abs(found.eigenvalues[:, None, None] - expected).min(axis=(1, 2))
    assert apart.max() < 1e-12
    assert sorted(found.decay_times)[-1] == pytest.approx(-1 / np.log(0.94), rel=1e-10)
    assert found.periods.min() == pytest.approx(2)


@pytest.mark.parametrize("residual", ["shift", "orthogonal"])
def test_drawn_spectra_have_this_distribution(residual: str) -> None:
    size, alpha, rho = 300, 0.5, 0.9
    rng = np.random.default_rng(0)
    O = np.roll(np.eye(size), 1, axis=0) if residual == "shift" else random_orthogonal(rng, size)  # noqa: E741
    with one_thread():
        values = np.linalg.eigvals((1 - alpha) * O + alpha * rho * rng.standard_normal((size, size)) / np.sqrt(size))
    drawn = (np.arange(size) + 0.5) / size
    times = np.sort(-1 / np.log(np.abs(values)))
    assert np.abs(timescales.decay_cumulative(times, alpha, rho) - drawn).max() < 0.05
    periods = np.sort(2 * np.pi / np.maximum(np.abs(np.angle(values)), 1e-12))
    assert np.abs(timescales.period_cumulative(periods) - drawn).max() < 0.03
    # Independent of each other.
    assert np.abs(np.corrcoef(np.abs(values), np.abs(np.angle(values)))[0, 1]) < 0.1


@pytest.mark.parametrize(("alpha", "rho"), [(0.1, 0.9), (0.5, 0.9), (0.8, 0.7)])
def test_the_density_is_the_derivative_within_the_bounds(alpha: float, rho: float) -> None:
    low, high = timescales.decay_bounds(alpha, rho, dt=2.0)
    times, step = np.linspace(max(low, 0.05), high, 102)[1:-1], 1e-6
    up, down = (timescales.decay_cumulative(times * (1 + by), alpha, rho, dt=2.0) for by in (step, -step))
    density = timescales.decay_density(times, alpha, rho, dt=2.0)
    np.testing.assert_allclose(density, (up - down) / (2 * step * times), rtol=1e-6, atol=1e-9)
    assert timescales.decay_cumulative(high * 1.0001, alpha, rho, dt=2.0) == 1
    assert timescales.decay_cumulative(low * 0.9999, alpha, rho, dt=2.0) == pytest.approx(0, abs=1e-12)


def test_without_recurrence_all_modes_decay_alike() -> None:
    assert timescales.decay_bounds(0.1, 0.0) == pytest.approx((-1 / np.log(0.9),) * 2)
    assert timescales.decay_bounds(0.5, 2.0)[1] == np.inf


def test_tables_and_pictures_show_both() -> None:
    network = es.single(40, leak_rate=0.2, residual="orthogonal")
    assert network.timescales()["tau_max"][0] == pytest.approx(timescales.decay_bounds(0.2, 0.95)[1])
    esn = network.build(1)
    table, spectrum = esn.timescales(), esn.spectrum()
    assert table["decay_max"][0] == pytest.approx(spectrum.decay_times.max())
    ax = spectrum.plot()
    periods, times = ax.lines[0].get_data()
    shown = np.isfinite(spectrum.periods)
    np.testing.assert_array_equal(np.sort(periods), np.sort(spectrum.periods[shown]))
    np.testing.assert_array_equal(np.sort(times), np.sort(spectrum.decay_times[shown]))
    plt.close("all")


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="time holds NaN"):
        timescales.decay_cumulative(np.nan, 0.5, 0.9)
    with pytest.raises(ValueError, match="must be finite and above 0"):
        timescales.decay_density(1.0, 0.5, 0.0)
