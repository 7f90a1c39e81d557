"""Echo index, consistency, ranks and dimension against plain NumPy on the states themselves."""

from __future__ import annotations

import numpy as np
import pytest

import echoscale as es
from echoscale.engine.hyper import with_lanes
from echoscale.measures import consistency, dimension, echo_index, noise, ranks

U = noise(400, seed=0)
ESN = es.single(12, bias_scaling=0.1, input_scaling=0.3).build(1, seed=0, dtype="float64")
GRID = with_lanes(ESN.hyper, {"spectral_radius": [0.5, 3.0]})


def test_a_neuron_that_excites_itself_rests_at_one_of_two_places() -> None:
    """x = tanh(rho x): only 0 below rho = 1; beyond, the sign of the start decides."""
    esn = es.single(1, connections=1).build(1, seed=0)
    hyper = esn.hyper.replace(spectral_radius=[np.array([0.5, 1.5])])
    found = echo_index(esn, np.zeros((300, 1)), starts=9, seed=4, hyper=hyper)
    np.testing.assert_array_equal(found["index"], [1, 2])
    starts = np.random.default_rng(4).uniform(-1, 1, (9, 1))[:, 0]
    np.testing.assert_array_equal(found.response[1], (starts > 0) != (starts[0] > 0))
    np.testing.assert_array_equal(found.response[0], 0)


def test_every_start_of_a_chaotic_network_goes_its_own_way() -> None:
    esn = es.single(40).build(1, seed=0)
    hyper = with_lanes(esn.hyper, {"spectral_radius": [0.5, 4.0]})
    found = echo_index(esn, np.zeros((300, 1)), starts=8, hyper=hyper)
    np.testing.assert_array_equal(found["index"], [1, 8])


def test_consistency_is_the_correlation_of_responses() -> None:
    found = consistency(ESN, U, starts=3, washout=50, seed=1, hyper=GRID)
    starts = np.random.default_rng(1).uniform(-1, 1, (3, 12))
    states = ESN.run(np.broadcast_to(U, (3, *U.shape)), state=starts, hyper=GRID)[:, :, 50:]
    for lane in range(2):
        x = states[lane] - states[lane].mean(axis=1, keepdims=True)
        pairs = [(0, 1), (0, 2), (1, 2)]
        gamma = np.mean([np.corrcoef(x[a, :, n], x[b, :, n])[0, 1] for a, b in pairs for n in range(12)])
        within = sum(each.T @ each for each in x) / 3
        between = sum(x[a].T @ x[b] + x[b].T @ x[a] for a, b in pairs) / 6
        assert float(found.consistency[lane]) == pytest.approx(gamma, abs=1e-9)
        assert float(found.capacity[lane]) == pytest.approx(np.trace(np.linalg.inv(within) @ between), abs=1e-6)
    assert float(found.consistency[0]) == pytest.approx(1, abs=1e-9)
    assert float(found.consistency[1]) < 0.9
    assert float(found.capacity[0]) == pytest.approx(12, abs=1e-6)


def test_the_dimension_is_the_participation_ratio_of_the_covariance() -> None:
    found = dimension(ESN, U, washout=50, hyper=GRID)
    for lane, x in enumerate(ESN.run(U, hyper=GRID)[:, 50:]):
        values = np.linalg.eigvalsh(np.cov(x.T))
        assert float(found.dimension[lane]) == pytest.approx(values.sum() ** 2 / (values**2).sum(), rel=1e-9)
    line = es.single(9, topology="delay_line", spectral_radius=0.999999, input_scaling=1e-4).build(1, seed=0, dtype="float64")
    line.drawn.inputs[0][:] = np.eye(9, 1)
    # Nine independent copies of one noise: the ratio is 9 but for the correlations of 20,000 steps.
    assert float(dimension(line, noise(20_000)).dimension) == pytest.approx(9, abs=0.01)


def test_ranks_count_singular_values() -> None:
    found = ranks(ESN, U, shared=8, tolerance=1e-3, hyper=GRID)
    pieces = U[:396].reshape(12, 33, 1)
    alike = pieces.copy()
    alike[:, -8:] = pieces[0, -8:]
    for lane in range(2):
        for name, inputs in (("kernel", pieces), ("generalisation", alike)):
            last = np.array([ESN.run(each, hyper=GRID.lane(lane))[-1] for each in inputs])
            values = np.linalg.svd(last)[1]
            np.testing.assert_allclose(found[name][lane], values, atol=1e-9 if lane == 0 else 1e-5)
            assert int(found[f"{name}_rank"][lane]) == (values > 1e-3 * values[0]).sum()
    assert int(found.generalisation_rank[0]) < int(found.kernel_rank[0])


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="needs at least 240"):
        ranks(ESN, U[:200])
    with pytest.raises(ValueError, match="needs at least 100"):
        echo_index(ESN, U[:99])
    with pytest.raises(ValueError, match="needs at least 105"):
        consistency(ESN, U[:50])
    with pytest.raises(ValueError, match="needs at least 14"):
        dimension(ESN, U[:12])
    with pytest.raises(ValueError, match="starts must be at least 2"):
        consistency(ESN, U, starts=1)
