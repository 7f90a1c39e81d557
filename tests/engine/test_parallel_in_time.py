"""Linear levels: the naive loops, and the same states level by level in parallel over time."""

from __future__ import annotations

from typing import Any

import naive
import numpy as np
import pytest

import echoscale as es
from echoscale.data.series import as_series
from echoscale.engine import feed, lanes, parallel_in_time
from echoscale.engine.devices import precision_and_device
from echoscale.network import Network

U = np.random.default_rng(0).normal(size=(77, 2))
LINEAR: dict[str, Any] = {"activation": "identity", "topology": "diagonal"}
CHAIN = es.hierarchical([9, 6, 7], leak_rate=[0.1, 0.5, 1.0], bias_scaling=0.2, **LINEAR)


def run(esn: es.ESN, u: Any, start: np.ndarray | None = None, hyper: es.Hyper | None = None) -> list[np.ndarray]:
    """All states of every lane in parallel over time, as on a GPU."""
    series, numbers = as_series(u), hyper or esn.hyper
    states, collect = feed.into_list(series, (numbers.lanes,) if numbers.lanes else (), esn.units, esn.dtype)
    with precision_and_device(esn.dtype, None):
        plan = parallel_in_time.plan(esn.network, esn.drawn, esn.dtype)
    assert plan is not None
    last = feed.feed(esn, numbers, series, start, collect, parallel=plan)
    ends = np.concatenate([each[..., -1, :].reshape(-1, esn.units) for each in states])
    if not numbers.lanes:
        np.testing.assert_array_equal(last, ends)
    return states


@pytest.mark.parametrize("delay", [0, 1])
def test_states_are_those_of_the_loops_and_of_the_step(delay: int) -> None:
    esn = Network(CHAIN.reservoirs, CHAIN.couplings, delay).build(2, seed=1, dtype="float64")
    states = esn.run(U)
    np.testing.assert_allclose(states, naive.states_of(esn, U), rtol=0, atol=1e-13)
    np.testing.assert_allclose(run(esn, U)[0], states, rtol=0, atol=1e-13)
    np.testing.assert_allclose(run(esn, U[40:], states[39:40])[0], states[40:], rtol=0, atol=1e-13)


def test_series_of_unequal_length_and_networks_run_beside_each_other() -> None:
    esn = CHAIN.build(2, seed=1, dtype="float64")
    several = [U, U[:5], U[10:60]]
    for found, wanted in zip(run(esn, several), esn.run(several), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-13)
    hyper = esn.hyper.replace(leak_rate=[[0.1, 0.3, 1.0], 0.5, 1.0], input_scaling=[[0.1, 0.2, 0.4], 0.0, 0.0])
    for found, wanted in zip(run(esn, several, hyper=hyper), esn.run(several, hyper=hyper), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-13)


def test_chunks_carry_on(monkeypatch: pytest.MonkeyPatch) -> None:
    esn = CHAIN.build(2, seed=1, dtype="float64")
    monkeypatch.setattr(lanes, "PARALLEL_CHUNK_BYTES", 22 * 40 * 8)
    np.testing.assert_allclose(run(esn, U)[0], esn.run(U), rtol=0, atol=1e-13)


def test_a_linear_level_is_its_linear_regime() -> None:
    """x(t+1) = M x(t) + B s(t), exactly and far from the origin."""
    esn = es.single(8, leak_rate=0.3, activation="identity", input_scaling=50.0).build(2, seed=0, dtype="float64")
    system, x = esn.linearised(state=np.full(8, 3.0)), np.zeros(8)
    for u in U:
        x = system.M @ x + system.B @ u
    np.testing.assert_allclose(esn.run(U)[-1], x, rtol=1e-12)
    assert np.abs(x).max() > 2


def test_the_diagonal_has_the_eigenvalues_of_random_matrices() -> None:
    """Pairs within the unit disc, evenly: half of them beyond sqrt(1/2); real blocks of two."""
    W = es.single(2001, topology="diagonal").build(1, seed=0).drawn.recurrent[0]
    values = parallel_in_time.complex_pairs(W)
    assert np.abs(values).max() == pytest.approx(1, abs=1e-9)
    assert np.mean(np.abs(values) < np.sqrt(0.5)) == pytest.approx(0.5, abs=0.05)
    assert values[-1].imag == 0
    small = es.single(9, topology="diagonal").build(1, seed=0).drawn.recurrent[0]
    expected = np.concatenate([parallel_in_time.complex_pairs(small), parallel_in_time.complex_pairs(small)[:-1].conj()])
    np.testing.assert_allclose(np.sort_complex(np.linalg.eigvals(small.toarray())), np.sort_complex(expected), atol=1e-12)


def test_growth_is_warned_of_and_named() -> None:
    with pytest.warns(es.EchoStateWarning, match="reservoir 0 is linear with a spectral radius of 3, above 1"):
        esn = es.single(5, activation="identity", spectral_radius=3.0).build(1)
    with pytest.raises(ValueError, match=r"states of reservoir 0 are not finite.*is linear: it grows without bound"):
        esn.run(np.ones((200, 1)))


@pytest.mark.parametrize(
    "network",
    [
        es.single(5),
        es.single(5, leak_rate=es.LogUniform(0.1, 1.0), **LINEAR),
        es.hierarchical([5, 5], activation=["identity", "tanh"], topology=["diagonal", "normal"]),
        es.Network([*CHAIN.reservoirs], [es.Coupling(1, 0)]),
        es.single(5, feedback_scaling=0.1, **LINEAR),
    ],
    ids=["nothing linear", "leak rates of their own", "a level of tanh", "feedback of a level", "feedback of outputs"],
)
def test_other_networks_run_step_by_step(network: Network) -> None:
    outputs = 1 if network.reservoirs[0].feedback_scaling else None
    esn = network.build(2, n_outputs=outputs)
    assert parallel_in_time.plan(esn.network, esn.drawn, np.float32) is None


def test_unknown_activations_are_named() -> None:
    with pytest.raises(ValueError, match="activation must be one of 'tanh', 'identity'; got 'relu'"):
        es.single(5, activation="relu")
