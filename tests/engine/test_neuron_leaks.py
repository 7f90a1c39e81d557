"""A leak rate for every neuron, and residual levels: naive loops, lanes, pieces, files, tuning, learning, sweeps."""

from __future__ import annotations

from pathlib import Path

import naive
import numpy as np
import pytest

import echoscale as es
from echoscale.network import Network

U = np.random.default_rng(0).uniform(-1, 1, (40, 1))
LEVELS = es.hierarchical(
    [12, 9, 2], leak_rate=[es.LogUniform(0.05, 0.9), 0.3, [0.2, 0.7]], residual=["shift", "orthogonal", [[0, 1], [-1, 0]]]
)


@pytest.fixture(scope="module")
def esn() -> es.ESN:
    return LEVELS.build(1, seed=3, dtype="float64")


@pytest.fixture(scope="module")
def lanes(esn: es.ESN) -> es.Hyper:
    """A grid whose first level has three runs, which lanes share."""
    spread, radius = (each.ravel() for each in np.meshgrid([0.0, 1.0, 3.0], np.linspace(0.2, 0.9, 6), indexing="ij"))
    return esn.hyper.replace(leak_spread=[spread, 0.5, 1.0], spectral_radius=[0.9, radius, 0.8])


def test_states_are_those_of_the_loops(esn: es.ESN) -> None:
    states = esn.run(U)
    np.testing.assert_allclose(states, naive.states_of(esn, U), rtol=0, atol=1e-14)
    first, last = esn.run(U[:17], return_state=True)
    assert (np.concatenate([first, esn.run(U[17:], state=last)]) == states).all()
    assert (esn.step(U[0]) == states[0]).all()


def test_lanes_are_networks_of_their_own(esn: es.ESN, lanes: es.Hyper) -> None:
    states = esn.run(U, hyper=lanes)
    for lane in (0, 7, 17):
        np.testing.assert_allclose(states[lane], naive.states_of(esn, U, hyper=lanes, lane=lane), rtol=0, atol=1e-14)


def test_shifts_of_several_lanes_are_those_of_the_loops() -> None:
    """One leak rate for all lanes, and one for each: the step sums in another order for either."""
    esn = es.single(25, leak_rate=0.4, residual="shift").build(1, seed=4, dtype="float64")
    several = np.random.default_rng(1).uniform(-1, 1, (3, 40, 1))
    for u, states in zip(several, esn.run(several), strict=True):
        np.testing.assert_allclose(states, naive.states_of(esn, u), rtol=0, atol=1e-14)
    own = esn.hyper.replace(leak_rate=[np.array([0.2, 0.5, 1.0])])
    states = esn.run(U, hyper=own)
    for lane in range(3):
        np.testing.assert_allclose(states[lane], naive.states_of(esn, U, hyper=own, lane=lane), rtol=0, atol=1e-14)


def test_lanes_share_runs_of_the_first_level(esn: es.ESN, lanes: es.Hyper) -> None:
    found = es.readouts.statistics(esn, U, U, washout=5, hyper=lanes)
    for lane in (0, 7):
        own = esn.run(U, hyper=lanes.lane(lane))[5:]
        np.testing.assert_allclose(found.mean[lane, :23], own.mean(axis=0), rtol=0, atol=1e-12)


def test_matrices_are_the_whole_network(esn: es.ESN) -> None:
    m = esn.matrices()
    assert m.residual is not None
    x = np.zeros(23)
    for u in U[:5]:
        x = (1 - m.leak_rate) * (m.residual @ x) + m.leak_rate * np.tanh(m.W @ x + m.W_in @ u + m.bias)
    np.testing.assert_allclose(x, esn.run(U[:5])[-1], rtol=0, atol=1e-14)
    # The linear regime is the derivative of the step.
    M, step = esn.linearised().M.toarray(), 1e-6
    columns = [(esn.step([0.0], step * e) - esn.step([0.0], -step * e)) / (2 * step) for e in np.eye(23)]
    np.testing.assert_allclose(M, np.array(columns).T, rtol=0, atol=1e-9)


def test_files_bring_it_back(esn: es.ESN, tmp_path: Path) -> None:
    es.save(esn, tmp_path / "levels")
    again = es.load(tmp_path / "levels")
    assert again.network == LEVELS
    assert (again.run(U) == esn.run(U)).all()


def test_tune_moves_the_spread() -> None:
    """From one leak rate for all to a spread that a target of two timescales asks for."""
    rng = np.random.default_rng(1)
    u = rng.normal(size=(600, 1))
    slow = np.zeros(600)
    for t in range(1, 600):
        slow[t] = 0.97 * slow[t - 1] + 0.03 * u[t, 0]
    y = np.stack([u[:, 0], 10 * slow], axis=1)
    network = Network([es.Reservoir(12, leak_rate=1.0, leak_spread=0.05, input_scaling=0.1)])
    tuned = es.tune(network, u, y, ["leak_spread", "ridge"], starts=1, rounds=8, dtype="float64")
    assert tuned.network.reservoirs[0].leak_spread > 1
    assert tuned.network.reservoirs[0].leak_rate == 1.0


def test_learners_follow_the_gradient(esn: es.ESN) -> None:
    """Back-propagation gives the difference quotient of the error; a learner moves both parameters of the distribution."""
    small = es.single(6, leak_rate=es.LogUniform(0.1, 0.9), residual="shift").build(1, seed=1, dtype="float64")
    y = np.cumsum(U, axis=0) / 5
    readout = es.readouts.ridge(es.readouts.statistics(small, U, y, washout=0), 1e-2)
    names = ("leak_rate", "leak_spread")
    _, found = es.engine.bptt.gradient(small, U, y, readout, parameters=names, washout=0)
    step = 1e-5
    moved = [
        es.engine.bptt.gradient(
            small, U, y, readout, parameters=names, washout=0, hyper=small.hyper.replace(leak_spread=value)
        )[0]
        for value in (small.hyper.leak_spread[0] + step, small.hyper.leak_spread[0] - step)
    ]
    assert found.parameters["leak_spread[0]"] == pytest.approx((moved[0] - moved[1]) / (2 * step), rel=1e-6)
    learner = es.OnlineLearner(
        small.network, parameters=names, rates=es.learning.Adam(1e-3), washout=0, seed=1, dtype="float64"
    )
    learner.fit(U, y)
    before, after = small.hyper, learner.hyper
    assert float(after.leak_spread[0]) != float(before.leak_spread[0])
    assert float(after.leak_rate[0]) != float(before.leak_rate[0])


def test_sweeps_have_the_spread_as_an_axis() -> None:
    """Its point at 0 is the plain network."""
    short = es.sweeps.Protocol(washout=50, train=200, validation=100, test=100)
    found = es.sweep(es.single(10, leak_rate=es.LogUniform(0.1, 1.0)), "narma", {"leak_spread": [0.0, 1.0]}, protocol=short)
    plain = es.sweep(es.single(10), "narma", {"leak_rate": [1.0]}, protocol=short)
    errors = found["test"].to_numpy()
    assert errors[0] == pytest.approx(float(plain["test"][0]), rel=1e-4)
    assert abs(errors[1] / errors[0] - 1) > 1e-3
