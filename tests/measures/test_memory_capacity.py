"""Memory: closed forms of rings, C by SciPy's Lyapunov equation, least squares by NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import echoscale as es
from echoscale.engine.hyper import with_lanes
from echoscale.measures import linear_memory_capacity, memory_capacity, noise


def test_a_ring_of_100_remembers_99_steps_in_the_linear_regime() -> None:
    """m(k) = r^(2 N floor(k / N)) (1 - r^(2 N)): lags a turn apart share a neuron. So MC = N - 1 + r^(2 N) for k >= 1."""
    esn = es.single(100, topology="ring").build(1, seed=0)
    radii = np.array([0.8, 0.9, 0.93, 0.99])
    found = linear_memory_capacity(esn, lags=250, hyper=esn.hyper.replace(spectral_radius=[radii]))
    turns = np.arange(251) // 100
    expected = radii[:, None] ** (200 * turns) * (1 - radii[:, None] ** 200)
    np.testing.assert_allclose(found.memory[..., 0], expected, atol=1e-9)
    np.testing.assert_allclose(found.capacity, 99 + radii**200, atol=1e-8)
    np.testing.assert_array_equal(found["spectral_radius[0]"], radii)


@pytest.mark.parametrize("delay", [0, 1])
def test_the_closed_form_is_that_of_the_lyapunov_equation(delay: int) -> None:
    net = es.hierarchical([3, 3], leak_rate=[0.9, 0.4], spectral_radius=0.7, coupling_delay=delay)
    esn = net.build(2, seed=1)
    system = esn.linearised()
    C = scipy.linalg.solve_discrete_lyapunov(system.M.toarray(), system.B @ system.B.T)
    kernel = system.delay_kernel(8)
    expected = np.einsum("knf,nm,kmf->kf", kernel, np.linalg.inv(C), kernel)
    found = linear_memory_capacity(esn, lags=8)
    np.testing.assert_allclose(found.memory, expected, atol=1e-8)
    assert float(found.capacity) == pytest.approx(6 - expected[0].sum(), abs=1e-8)


def test_a_delay_line_with_fading_links_forgets_nothing_before_its_end() -> None:
    """Amplitudes down to 0.3^39 = 1e-20 of the first: each neuron counts in its own units."""
    esn = es.single(40, topology="delay_line", spectral_radius=0.3).build(1, seed=0)
    first = np.zeros((40, 1))
    first[0] = 1
    esn.drawn.inputs[0][:] = first
    found = linear_memory_capacity(esn, lags=50)
    np.testing.assert_allclose(found.memory[:, 0], np.arange(51) < 40, atol=1e-9)


LANES = np.array([1.0, 0.4])


@pytest.fixture(scope="module")
def measured() -> tuple[es.ESN, np.ndarray, object]:
    """Six neurons in the linear regime, two leak rates, 4,000 steps."""
    esn = es.single(6, spectral_radius=0.8, input_scaling=1e-4).build(1, seed=3, dtype="float64")
    u = noise(4000, seed=1, low=-0.5, high=1.5)
    return esn, u, memory_capacity(esn, u, lags=40, washout=60, hyper=with_lanes(esn.hyper, {"leak_rate": LANES.tolist()}))


def test_measured_memory_is_least_squares_without_its_bias(measured: tuple[es.ESN, np.ndarray, object]) -> None:
    esn, u, found = measured
    for lane, leak in enumerate(LANES):
        x = esn.run(u, hyper=esn.hyper.replace(leak_rate=leak))[60:]
        design = np.column_stack([np.ones(len(x)), x / x.std(axis=0)])
        for k in (0, 1, 7, 30):
            z = u[60 - k : 4000 - k, 0]
            error = z - design @ np.linalg.lstsq(design, z, rcond=None)[0]
            raw = error.var() / z.var()
            expected = 1 - raw * (len(x) - 1) / (len(x) - 7)
            assert float(found.memory[lane, k, 0]) == pytest.approx(expected, abs=1e-7)  # type: ignore[attr-defined]


def test_measured_memory_is_that_of_theory(measured: tuple[es.ESN, np.ndarray, object]) -> None:
    """Within five standard errors of a share of variance, at most 0.77 / sqrt(n) each."""
    esn, _, found = measured
    theory = linear_memory_capacity(esn, lags=40, hyper=with_lanes(esn.hyper, {"leak_rate": LANES.tolist()}))
    assert np.abs(found.memory - theory.memory).max() < 5 * 0.77 / 3940**0.5  # type: ignore[attr-defined]


def test_what_cannot_be_remembered_counts_nothing_on_average() -> None:
    """Raw shares would be 30 / n = 0.03 each; the mean of 60 has a standard error of sqrt(2 * 30 / 60) / n = 0.001."""
    esn = es.single(30, topology="delay_line", spectral_radius=0.9).build(1, seed=0)
    found = memory_capacity(esn, noise(1100, seed=2), lags=100, washout=100)
    assert abs(float(found.memory[40:].mean())) < 4e-3


def test_too_short_too_far_too_alike() -> None:
    esn = es.single(20).build(1, seed=0)
    with pytest.raises(ValueError, match=r"u has 150 steps, .* needs at least 200: a washout of 100, and 100 more"):
        memory_capacity(esn, noise(150), lags=100)
    with pytest.raises(ValueError, match="not independent from step to step"):
        memory_capacity(esn, np.sin(0.1 * np.arange(1000)))
    with pytest.raises(ValueError, match="constant"):
        memory_capacity(esn, np.ones(1000))
    with pytest.raises(ValueError, match=r"size 1\.2, so inputs never fade"):
        linear_memory_capacity(esn, hyper=esn.hyper.replace(spectral_radius=1.2))
    with pytest.raises(ValueError, match="2 series"):
        memory_capacity(esn, np.zeros((2, 1000, 1)))


def test_an_orthogonal_residual_level_remembers_almost_as_many_steps_as_it_has_neurons() -> None:
    """ES2N (Ceni and Gallicchio 2025): about 98 of 100."""
    esn = es.single(100, residual="orthogonal", leak_rate=0.05, spectral_radius=0.9, input_scaling=0.1).build(1, seed=0)
    assert float(linear_memory_capacity(esn).capacity) == pytest.approx(99, abs=0.01)
    assert float(memory_capacity(esn, noise(4000), lags=150).capacity) == pytest.approx(98.5, abs=1)
