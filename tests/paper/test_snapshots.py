"""Learning from snapshots: gradients against finite differences and each other, and the learner that follows them."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import pytest

import echoscale as es
from echoscale.engine.devices import precision_and_device
from echoscale.engine.hyper import Hyper, Parameter, chosen, put
from echoscale.network import Coupling, Network, Reservoir
from paper import sequence_learner
from paper import snapshots as sequences
from paper.sequence_learner import SequenceLearner

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


@cache
def found(name: str, loss: str, form: str) -> tuple[float, sequences.Gradients]:
    """E and its gradients with respect to the readout and every leaf."""
    esn = built(name)
    learned = chosen(Hyper._fields, esn.hyper)
    run = jax.jit(partial(sequences.gradients, learned=learned, every=EVERY, loss=loss, form=form))
    with precision_and_device("float64", None):
        hyper = Hyper(*(tuple(jnp.reshape(leaf, (1,)) for leaf in leaves) for leaves in esn.hyper))
        value, gradients = run(esn.weights(BATCH), hyper, readout_of(esn), U.transpose(1, 2, 0), LABELS)
    return float(value), gradients


def loss_of(esn: es.ESN, readout: sequences.SnapshotReadout, loss: str, hyper: Hyper) -> float:
    """The cross-entropy from the states of plain runs."""
    states = esn.run(U, hyper=hyper)[:, EVERY - 1 :: EVERY]
    z = np.einsum("ckn,bkn->bc", readout.coef, states) + readout.intercept
    wanted = np.eye(CLASSES)[LABELS]
    if loss == "softmax":
        return float(-np.log((wanted * np.exp(z)).sum(axis=1) / np.exp(z).sum(axis=1)).mean())
    p = 1 / (1 + np.exp(-z))
    return float(-(wanted * np.log(p) + (1 - wanted) * np.log(1 - p)).sum(axis=1).mean())


@pytest.mark.parametrize(("name", "loss"), [("chain", "sigmoid"), ("cycle", "softmax")])
def test_the_exact_gradient_is_that_of_finite_differences(name: str, loss: str) -> None:
    esn, d = built(name), 1e-6
    readout = readout_of(esn)
    value, gradients = found(name, loss, "exact")
    assert value == pytest.approx(loss_of(esn, readout, loss, esn.hyper), rel=1e-12)
    for parameter, slope in zip(chosen(Hyper._fields, esn.hyper), gradients.parameters, strict=True):
        ends = [loss_of(esn, readout, loss, put(esn.hyper, [parameter], [parameter.of(esn.hyper) + each])) for each in (d, -d)]
        assert float(slope) == pytest.approx((ends[0] - ends[1]) / (2 * d), rel=1e-6, abs=1e-8)
    for place in [(0, 0, 0), (2, 1, 9)]:
        move = np.zeros_like(readout.coef)
        move[place] = d
        ends = [loss_of(esn, readout._replace(coef=readout.coef + each), loss, esn.hyper) for each in (move, -move)]
        assert float(gradients.coef[place]) == pytest.approx((ends[0] - ends[1]) / (2 * d), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize(("name", "loss"), [("chain", "sigmoid"), ("cycle", "softmax")])
def test_forwards_and_backwards_are_one_gradient(name: str, loss: str) -> None:
    """However many snapshots there are: nothing of back-propagation through time is neglected."""
    (value, forwards), (same, backwards) = found(name, loss, "exact"), found(name, loss, "bptt")
    assert value == pytest.approx(same, rel=1e-13)
    for ours, theirs in zip(forwards, backwards, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_the_truncated_form_changes_the_gradient_of_the_network_alone() -> None:
    (value, exact), (same, truncated) = found("chain", "sigmoid", "exact"), found("chain", "sigmoid", "truncated")
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


def learner(**options: Any) -> SequenceLearner:
    return SequenceLearner(built("chain"), CLASSES, EVERY, **{"readout_rate": 0.02, "parameter_rate": 0.01, **options})


def test_a_step_is_that_of_adam() -> None:
    """The first one goes by the rate against every gradient, clipped leaks stop at their limits."""
    one = learner(parameters=["leak_rate", "coupling"], parameter_rate=0.5).start(STEPS)
    before, values = one.readout, one.values
    assert [str(each) for each in one.learned] == ["leak_rate[0]", "leak_rate[1]", "coupling[0]"]
    assert values.tolist() == [[0.8, 0.3, 0.7]]
    one.partial_fit(U, LABELS)
    slopes = one.history["gradient"].values[0, :, 0]
    np.testing.assert_allclose(np.abs(before.coef - one.readout.coef), 0.02, rtol=1e-3)
    moved = values[0] - 0.5 * np.sign(slopes)
    expected = np.where([True, True, False], np.clip(moved, 1e-3, 1), moved)
    np.testing.assert_allclose(one.values[0], expected, rtol=1e-4)
    assert set(expected[:2]) <= {1e-3, 1.0, *moved}
    np.testing.assert_allclose(one.history["value"].values[0, :, 0], one.values[0])
    assert [float(each) for each in one.hyper.leak_rate] == one.values[0, :2].tolist()
    assert [each.leak_rate for each in one.network.reservoirs] == one.values[0, :2].tolist()
    assert float(built("chain").hyper.leak_rate[0]) == 0.8, "the network that was given stays as it is"


def test_the_gradient_of_a_step_is_the_pure_one() -> None:
    one = learner().start(STEPS)
    esn, readout = built("chain"), one.readout
    one.partial_fit(U, LABELS)
    d = 1e-6
    for k in range(2):
        parameter = Parameter("leak_rate", k)
        ends = [
            loss_of(esn, readout, "sigmoid", put(esn.hyper, [parameter], [parameter.of(esn.hyper) + each])) for each in (d, -d)
        ]
        assert one.history["gradient"].values[0, k, 0] == pytest.approx((ends[0] - ends[1]) / (2 * d), rel=1e-6)
    assert one.history["loss"].values[0, 0] == pytest.approx(loss_of(esn, readout, "sigmoid", esn.hyper), rel=1e-12)


def test_learning_lowers_the_loss_and_is_repeatable() -> None:
    """Whether a sequence rises or falls."""
    rng = np.random.default_rng(3)
    labels = rng.integers(2, size=60)
    slope = np.linspace(-1, 1, 20) * np.where(labels, 0.5, -0.5)[:, None]
    u = (slope + 0.3 * rng.normal(size=(60, 20)))[..., None]
    esn = es.hierarchical([10, 10], leak_rate=[0.5, 0.5]).build(1, seed=0)
    first, second = (
        SequenceLearner(esn, 2, 5, readout_rate=0.05, parameter_rate=1e-3, seed=2).fit(u, labels, epochs=15, minibatch=20)
        for _ in range(2)
    )
    loss, path = first.history["loss"].values[0], first.history["value"].values[0].T
    assert len(loss) == 45
    assert loss[-5:].mean() < 0.5 * loss[:5].mean()
    assert (first.predict(u) == labels).mean() > 0.9
    assert path.shape == (45, 2)
    assert np.abs(path[-1] - 0.5).max() > 1e-3
    assert first.history.identical(second.history)
    # Rates are no part of the program: a schedule compiles nothing anew.
    update: Any = sequence_learner.update
    compiled = update._cache_size()
    first.readout_rate, first.parameter_rate = 0.0, 0.0
    before = first.readout, first.values
    first.partial_fit(u[:20], labels[:20])
    assert update._cache_size() == compiled
    np.testing.assert_array_equal(first.readout.coef, before[0].coef)
    np.testing.assert_array_equal(first.values, before[1])


def test_decisions_are_those_of_the_snapshots() -> None:
    one = learner().partial_fit(U, LABELS)
    states = built("chain").run(U, hyper=one.hyper)[:, [4, 9, 14]]
    expected = np.einsum("ckn,bkn->bc", one.readout.coef, states) + one.readout.intercept
    np.testing.assert_allclose(one.decision_function(U), expected, rtol=1e-12)
    np.testing.assert_array_equal(one.predict(U), expected.argmax(axis=1))
    # Two steps after the last snapshot: they do not matter.
    changed = U.copy()
    changed[:, 15:] = 9.0
    np.testing.assert_array_equal(one.decision_function(changed), one.decision_function(U))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "mse"}, "loss must be one of 'sigmoid', 'softmax'; got 'mse'"),
        ({"trace": "eprop"}, "trace must be one of 'exact', 'truncated', 'bptt'"),
        ({"parameters": "leak"}, "unknown parameter 'leak'"),
        ({"seed": -1}, "seed must be at least 0"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        learner(**options)


@pytest.mark.parametrize(
    ("u", "labels", "message"),
    [
        (U[:, :4], LABELS, "every=5 is longer than the sequences of 4 steps"),
        (U[0], LABELS, r"must be sequences \(B, T, F\), got shape \(17, 2\)"),
        ([U[0], U[1, :9]], LABELS[:2], "sequences of one length, got 9 to 17"),
        (U[..., :1], LABELS, "has 1 features, the network was built for 2"),
        (U, LABELS[:3], r"labels must be \(4,\)"),
        (U, LABELS + 1, "whole numbers from 0 to 2"),
        (U, LABELS * 1.0, "whole numbers from 0 to 2"),
    ],
)
def test_wrong_data_are_named(u: Any, labels: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        learner().partial_fit(u, labels)


def test_another_length_and_too_early_questions_are_refused() -> None:
    one = learner()
    with pytest.raises(ValueError, match="nothing has been learned yet"):
        one.predict(U)
    with pytest.raises(ValueError, match="minibatch=50 is more than the 4 sequences"):
        one.fit(U, LABELS)
    one.start(STEPS)
    with pytest.raises(ValueError, match="give 2 snapshots, the first ones gave 3: with every=5, all must have 15 to 19 steps"):
        one.partial_fit(U[:, :12], LABELS)
