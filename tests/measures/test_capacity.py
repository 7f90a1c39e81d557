"""Processing capacity against an enumeration of all products by loops, and its laws."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import eval_legendre
from scipy.stats import chi2

import echoscale as es
from echoscale.engine.hyper import with_lanes
from echoscale.measures import noise, processing_capacity


def test_capacities_are_those_of_all_products_one_by_one() -> None:
    esn = es.single(6, spectral_radius=0.7, bias_scaling=0.5).build(1, seed=0, dtype="float64")
    u = noise(1600, seed=1, low=0.0, high=0.5)
    radii = np.array([0.3, 0.9])
    hyper = with_lanes(esn.hyper, {"spectral_radius": radii.tolist()})
    windows = (8, 4, 3)
    found = processing_capacity(esn, u, lags=windows, washout=50, hyper=hyper)
    scaled = 2 * (u[:, 0] - u.min()) / (u.max() - u.min()) - 1
    functions = [
        (sum(powers), powers)
        for d, window in enumerate(windows, 1)
        for powers in product(range(d + 1), repeat=window)
        if sum(powers) == d
    ]
    assert len(functions) == found.functions.sum()
    states = esn.run(u, hyper=hyper)[:, 50:]
    expected = np.zeros((2, 3))
    for lane in range(2):
        design = np.column_stack([np.ones(1550), states[lane]])
        for d, powers in functions:
            z = np.ones(1550)
            for k, p in enumerate(powers):
                z *= np.sqrt(2 * p + 1) * eval_legendre(p, scaled[50 - k : 1600 - k])
            error = (z - design @ np.linalg.lstsq(design, z, rcond=None)[0]).var() / z.var()
            if 1 - error > chi2.isf(0.01 / len(functions), 6) / 1550:
                expected[lane, d - 1] += 1 - error * 1549 / 1543
    np.testing.assert_allclose(found.capacity, expected, atol=1e-8)
    assert (found.total < 6).all()
    assert (found.capacity.sel(degree=2) > 0.3).all()


def test_two_inputs_have_products_across_them() -> None:
    """x = tanh of u_1 + u_2 + b is full of u_1 u_2: with both inputs in the window, nothing is left over."""
    esn = es.single(2, spectral_radius=0.0, bias_scaling=1.0, input_scaling=0.3).build(2, seed=0, dtype="float64")
    found = processing_capacity(esn, noise(4000, 2, seed=0), degree=4, lags=1)
    np.testing.assert_array_equal(found.functions, [2, 3, 4, 5])
    assert float(found.total) == pytest.approx(2, abs=0.01)


def test_without_a_bias_even_degrees_are_zero_and_all_together_at_most_the_neurons() -> None:
    """A ring in its linear regime has fading memory: all of its 20 directions are of degree 1; stronger inputs move them up."""
    esn = es.single(20, topology="ring", spectral_radius=0.9).build(1, seed=0, dtype="float64")
    hyper = with_lanes(esn.hyper, {"input_scaling": [1e-3, 1.0]})
    found = processing_capacity(esn, noise(20_000, seed=0), lags=(40, 12, 12), hyper=hyper)
    np.testing.assert_array_equal(found.capacity.sel(degree=2), 0.0)
    assert float(found.total[0]) == pytest.approx(20, abs=0.01) == float(found.capacity[0, 0])
    assert float(found.capacity[1, 2]) > 1
    assert float(found.total[1]) < 20


def test_what_is_refused() -> None:
    esn = es.single(20).build(1, seed=0)
    with pytest.raises(ValueError, match=r"needs at least 139: a washout of 39, and 100 more"):
        processing_capacity(esn, noise(120), lags=40, degree=2)
    with pytest.raises(ValueError, match="more than 20000"):
        processing_capacity(esn, noise(1000), lags=100)
    with pytest.raises(ValueError, match="2 windows for 3 degrees"):
        processing_capacity(esn, noise(1000), lags=(10, 5))
    with pytest.raises(ValueError, match="not uniform"):
        processing_capacity(esn, np.random.default_rng(0).standard_normal((1000, 1)))
