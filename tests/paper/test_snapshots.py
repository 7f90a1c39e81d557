"""Gradients of snapshots against finite differences and back-propagation through time."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import pytest

import echoscale as es
from echoscale import Hyper
from echoscale.engine import Parameter, precision_and_device, put, step
from echoscale.network import Coupling, Network, Reservoir
from paper import snapshots as sequences

Floats = npt.NDArray[np.float64]

CLASSES, STEPS, EVERY, BATCH = 3, 17, 5, 4
RNG = np.random.default_rng(0)
U = RNG.normal(size=(BATCH, STEPS, 2))
LABELS = np.array([0, 2, 1, 2])
OPTIONS: dict[str, Any] = {"input_scaling": 0.6, "bias_scaling": 0.2, "connections": 3}
NETWORKS = {
    "chain": es.hierarchical([7, 6], leak_rate=[0.8, 0.3], coupling=0.7, **OPTIONS),
    "cycle": Network(
        tuple(Reservoir(5, leak_rate=leak, **OPTIONS) for leak in (0.9, 0.3)), (Coupling(0, 1, 0.6), Coupling(1, 0, -0.5)), 0
    ),
}


@cache
def built(name: str) -> es.ESN:
    return NETWORKS[name].build(2, seed=1, dtype="float64")


def readout_of(esn: es.ESN, snapshots: int = STEPS // EVERY) -> sequences.SnapshotReadout:
    rng = np.random.default_rng(7)
    return sequences.SnapshotReadout(rng.normal(size=(CLASSES, snapshots, esn.units)), rng.normal(size=CLASSES))


def all_of(hyper: Hyper) -> tuple[Parameter, ...]:
    """Every leaf."""
    return tuple(Parameter(name, place) for name in hyper._fields for place in range(len(getattr(hyper, name))))


def numbers_of(hyper: Hyper) -> Hyper:
    return hyper.map(lambda leaf: jnp.reshape(leaf, (1,)))


@cache
def found(name: str, form: str = "exact") -> tuple[float, sequences.Gradients]:
    """E and its gradients with respect to the readout and every leaf."""
    esn = built(name)
    run = jax.jit(partial(sequences.gradients, learned=all_of(esn.hyper), every=EVERY, form=form))
    with precision_and_device("float64", None):
        value, gradients = run(esn.weights(BATCH), numbers_of(esn.hyper), readout_of(esn), U.transpose(1, 2, 0), LABELS)
    return float(value), gradients


def backwards(name: str) -> tuple[Any, Any]:
    """E and its gradients with respect to (readout, values of every leaf), by back-propagation through time."""
    esn = built(name)
    learned = all_of(esn.hyper)
    with precision_and_device("float64", None):
        weights, numbers = esn.weights(BATCH), numbers_of(esn.hyper)

        def error(readout: sequences.SnapshotReadout, values: Any) -> Any:
            state = tuple(jnp.zeros((each.shape[0], BATCH)) for each in weights.biases)
            z = readout.intercept[:, None] * jnp.ones(BATCH)
            for t, u_t in enumerate(U.transpose(1, 2, 0), start=1):
                state = step(weights, put(numbers, learned, values), state, u_t)
                if t % EVERY == 0:
                    z += readout.coef[:, t // EVERY - 1] @ jnp.concatenate(state)
            wanted, p = jnp.eye(CLASSES)[:, LABELS], 1 / (1 + jnp.exp(-z))
            return -(wanted * jnp.log(p) + (1 - wanted) * jnp.log(1 - p)).sum(axis=0).mean()

        values = [each.of(numbers) for each in learned]
        value, slopes = jax.jit(jax.value_and_grad(error, argnums=(0, 1)))(readout_of(esn), values)
    return value, slopes


def loss_of(esn: es.ESN, readout: sequences.SnapshotReadout, hyper: Hyper) -> float:
    """The cross-entropy from the states of plain runs."""
    states = esn.run(U, hyper=hyper)[:, EVERY - 1 :: EVERY]
    z = np.einsum("ckn,bkn->bc", readout.coef, states) + readout.intercept
    wanted, p = np.eye(CLASSES)[LABELS], 1 / (1 + np.exp(-z))
    return float(-(wanted * np.log(p) + (1 - wanted) * np.log(1 - p)).sum(axis=1).mean())


@pytest.mark.parametrize("name", NETWORKS)
def test_the_exact_gradient_is_that_of_finite_differences(name: str) -> None:
    esn, d = built(name), 1e-6
    readout = readout_of(esn)
    value, gradients = found(name)
    assert value == pytest.approx(loss_of(esn, readout, esn.hyper), rel=1e-12)
    for parameter, slope in zip(all_of(esn.hyper), gradients.parameters, strict=True):
        ends = [loss_of(esn, readout, put(esn.hyper, [parameter], [parameter.of(esn.hyper) + each])) for each in (d, -d)]
        assert float(slope) == pytest.approx((ends[0] - ends[1]) / (2 * d), rel=1e-6, abs=1e-8)
    for place in [(0, 0, 0), (2, 1, 9)]:
        move = np.zeros_like(readout.coef)
        move[place] = d
        ends = [loss_of(esn, readout._replace(coef=readout.coef + each), esn.hyper) for each in (move, -move)]
        assert float(gradients.coef[place]) == pytest.approx((ends[0] - ends[1]) / (2 * d), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("name", NETWORKS)
def test_forwards_and_backwards_are_one_gradient(name: str) -> None:
    """However many snapshots there are: nothing of back-propagation through time is neglected."""
    (value, forwards), (same, (readout, values)) = found(name), backwards(name)
    assert value == pytest.approx(float(same), rel=1e-13)
    for ours, theirs in zip(forwards, (*readout, np.concatenate(values)), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_the_truncated_form_changes_the_gradient_of_the_network_alone() -> None:
    (value, exact), (same, truncated) = found("chain"), found("chain", "truncated")
    assert value == pytest.approx(same, rel=1e-13)
    np.testing.assert_allclose(truncated.coef, exact.coef, rtol=1e-12)
    off = np.linalg.norm(truncated.parameters - exact.parameters) / np.linalg.norm(exact.parameters)
    assert off > 0.05


def lowered_bytes(steps: int, every: int) -> int:
    esn = es.single(40, leak_rate=0.5, connections=20).build(1, seed=0)
    learned = (Parameter("leak_rate", 0),)
    readout = sequences.SnapshotReadout(jnp.ones((2, steps // every, esn.units)), jnp.ones(2))
    run = jax.jit(partial(sequences.gradients, learned=learned, every=every))
    lowered = run.lower(esn.weights(8), esn.numbers(), readout, jnp.ones((steps, 1, 8)), jnp.zeros(8, jnp.int32))
    analysis: Any = lowered.compile().memory_analysis()
    return int(analysis.temp_size_in_bytes)


def test_memory_does_not_grow_with_the_length() -> None:
    """The same number of snapshots of sequences that are sixteen times as long: but for copies of the input, the same."""
    short, long = lowered_bytes(64, 16), lowered_bytes(1024, 256)
    state, u = 40 * 8 * 4, 8 * 4
    assert (long - short) / (1024 - 64) < 2 * u < state / 10
