"""Linear levels: the naive loops, and the same states level by level in parallel over time."""

from __future__ import annotations

from typing import Any

import naive
import numpy as np
import pytest

import echoscale as es
from echoscale.engine import parallel_in_time
from echoscale.network import Network

U = np.random.default_rng(0).normal(size=(77, 2))
CHAIN = es.hierarchical(
    [9, 7], leak_rate=[0.1, 0.5], activation=["identity", "tanh"], topology=["diagonal", "normal"], bias_scaling=0.2
)


@pytest.mark.parametrize("delay", [0, 1])
def test_states_are_those_of_the_loops_and_of_the_step(delay: int) -> None:
    esn = Network(CHAIN.reservoirs, CHAIN.couplings, delay).build(2, seed=1, dtype="float64")
    states = esn.run(U)
    np.testing.assert_allclose(states, naive.states_of(esn, U), rtol=0, atol=1e-13)
    np.testing.assert_allclose(esn.run_over_time(U), states, rtol=0, atol=1e-13)
    np.testing.assert_allclose(esn.run_over_time(U[40:], state=states[39]), states[40:], rtol=0, atol=1e-13)


def test_other_levels_may_spread_their_leak_rates() -> None:
    leak_rate = [0.3, es.LogUniform(0.1, 1.0)]
    kinds: dict[str, Any] = {"activation": ["identity", "tanh"], "topology": ["diagonal", "normal"]}
    esn = es.hierarchical([9, 7], leak_rate=leak_rate, **kinds).build(2, seed=1, dtype="float64")
    np.testing.assert_allclose(esn.run_over_time(U), esn.run(U), rtol=0, atol=1e-13)


def test_chunks_carry_on(monkeypatch: pytest.MonkeyPatch) -> None:
    esn = CHAIN.build(2, seed=1, dtype="float64")
    monkeypatch.setattr(parallel_in_time, "CHUNK", 16 * 40)
    np.testing.assert_allclose(esn.run_over_time(U), esn.run(U), rtol=0, atol=1e-13)


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
    values = parallel_in_time._pairs(W)
    assert np.abs(values).max() == pytest.approx(1, abs=1e-9)
    assert np.mean(np.abs(values) < np.sqrt(0.5)) == pytest.approx(0.5, abs=0.05)
    assert values[-1].imag == 0
    small = es.single(9, topology="diagonal").build(1, seed=0).drawn.recurrent[0]
    expected = np.concatenate([parallel_in_time._pairs(small), parallel_in_time._pairs(small)[:-1].conj()])
    np.testing.assert_allclose(np.sort_complex(np.linalg.eigvals(small.toarray())), np.sort_complex(expected), atol=1e-12)


def test_growth_is_warned_of_and_named() -> None:
    with pytest.warns(es.EchoStateWarning, match="reservoir 0 is linear with a spectral radius of 3, above 1"):
        esn = es.single(5, activation="identity", spectral_radius=3.0).build(1)
    with pytest.raises(ValueError, match=r"states of reservoir 0 are not finite.*is linear: it grows without bound"):
        esn.run(np.ones((200, 1)))


@pytest.mark.parametrize(
    ("network", "u", "words"),
    [
        (es.single(5), U, "no level is linear and diagonal"),
        (
            es.single(5, activation="identity", topology="diagonal", leak_rate=es.LogUniform(0.1, 1.0)),
            U,
            "reservoir 0 is linear and diagonal, but its neurons have leak rates of their own",
        ),
        (es.Network([*CHAIN.reservoirs], [es.Coupling(1, 0)]), U, "reservoir 0 hears reservoir 1 behind it"),
        (CHAIN, U[None], r"takes one series \(T, F\), got 1"),
    ],
)
def test_what_it_is_not_for_is_named(network: Network, u: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        network.build(2).run_over_time(u)


def test_unknown_activations_are_named() -> None:
    with pytest.raises(ValueError, match="activation must be one of 'tanh', 'identity'; got 'relu'"):
        es.single(5, activation="relu")
