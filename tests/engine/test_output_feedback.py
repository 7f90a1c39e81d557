"""Output feedback: states, lanes, shared runs and gradients against loops over the equation; nothing changes without it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import naive
import numpy as np
import numpy.typing as npt
import pytest

import echoscale as es
from echoscale.data.series import as_targets
from echoscale.engine import bptt, shared_runs
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Parameter, chosen
from echoscale.network import Network
from echoscale.network.fingerprint import fingerprint
from echoscale.readouts.features import of_network
from echoscale.readouts.statistics import of_rows, split_statistics

Floats = npt.NDArray[np.float64]

STEPS, INPUTS, OUTPUTS = 30, 2, 3
RNG = np.random.default_rng(0)
U, Y = RNG.normal(size=(STEPS, INPUTS)), RNG.normal(size=(STEPS, OUTPUTS))
SHARED: dict[str, Any] = {"input_scaling": 0.7, "bias_scaling": 0.3, "connections": 3}
NETWORKS = {
    "single": es.single(7, leak_rate=0.4, feedback_scaling=0.5, **SHARED),
    "parallel": es.parallel([5, 6], leak_rate=[0.8, 0.1], feedback_scaling=[0.0, 0.9], **SHARED),
    "chain": es.hierarchical([6, 5], leak_rate=[0.9, 0.3], feedback_scaling=[0.2, 0.4], coupling=0.6, **SHARED),
    "chain at once": es.hierarchical([6, 5], leak_rate=[0.9, 0.3], feedback_scaling=0.2, coupling_delay=0, **SHARED),
}
every_network = pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)


def built(network: Network, dtype: str = "float64") -> ESN:
    return network.build(INPUTS, seed=3, dtype=dtype, n_outputs=OUTPUTS)


@every_network
def test_states_are_those_of_the_equation(network: Network) -> None:
    esn = built(network)
    expected = naive.states_of(esn, U, y=Y)
    np.testing.assert_allclose(esn.run(es.engine.teacher_forced(U, Y)), expected, atol=1e-14)
    heard = np.concatenate([U, np.concatenate([np.zeros((1, OUTPUTS)), Y[:-1]])], axis=1)
    np.testing.assert_array_equal(esn.run(heard), esn.run(es.engine.teacher_forced(U, Y)))
    # And not those without, or of the output of the same step.
    assert np.abs(naive.states_of(esn, U, y=0 * Y) - expected).max() > 0.01
    assert np.abs(esn.run(np.concatenate([U, Y], axis=1)) - expected).max() > 0.01


@every_network
def test_steps_batches_and_the_block_matrix_agree(network: Network) -> None:
    esn, forced = built(network), es.engine.teacher_forced([U, U[:9]], [Y, Y[:9]])
    for b, length in enumerate((STEPS, 9)):
        np.testing.assert_allclose(esn.run(forced)[b], naive.states_of(esn, U[:length], y=Y[:length]), atol=1e-14)
    state = None
    for row in forced.values[0]:
        state = esn.step(row, state)
    np.testing.assert_array_equal(state, esn.run(es.engine.teacher_forced(U, Y))[-1])
    first, last = esn.run(es.engine.teacher_forced(U[:11], Y[:11]), return_state=True)
    second = esn.run(es.engine.teacher_forced(U[11:], Y[11:], before=Y[10]), state=last)
    np.testing.assert_array_equal(np.concatenate([first, second]), esn.run(es.engine.teacher_forced(U, Y)))
    if network.coupling_delay:
        W, W_in, bias, leak = esn.matrices()[:4]
        assert W_in.shape == (esn.units, INPUTS + OUTPUTS)
        x = RNG.normal(size=esn.units)
        expected = (1 - leak) * x + leak * np.tanh(W @ x + W_in @ forced.values[0][5] + bias)
        np.testing.assert_allclose(esn.step(forced.values[0][5], x), expected, atol=1e-13)


@every_network
def test_its_strength_is_a_lane(network: Network) -> None:
    esn, many = built(network), np.array([0.0, 0.3, 1.7])
    hyper = esn.hyper.replace(feedback_scaling=[many * (k + 1) for k in range(len(esn.sizes))])
    found = esn.run(es.engine.teacher_forced(U, Y), hyper=hyper)
    for lane in range(len(many)):
        np.testing.assert_allclose(found[lane], naive.states_of(esn, U, y=Y, hyper=hyper, lane=lane), atol=1e-14)


def test_a_grid_of_strengths_shares_runs() -> None:
    """Only the second level hears the output: the first is run once for all strengths."""
    esn = built(es.hierarchical([9, 5], feedback_scaling=[0, 0.5], **SHARED))
    hyper = esn.hyper.replace(feedback_scaling=[0.0, np.linspace(0.1, 1, 8)])
    forced = es.engine.teacher_forced(U, Y)
    plans = shared_runs.plans(esn.network, hyper, parts=2)
    assert plans is not None
    assert sum(each.runs[0] for each in plans) <= 2
    edges = [np.array([5, STEPS])]
    [shared], _ = split_statistics(esn, forced, as_targets(Y, forced), edges, hyper=hyper)
    for lane in range(8):
        states = naive.states_of(esn, U, y=Y, hyper=hyper, lane=lane)[5:]
        expected = of_rows(states, Y[5:])
        np.testing.assert_allclose(shared.lane(lane).scatter, expected.scatter, atol=1e-11)


def test_the_gradient_by_back_propagation_is_that_of_finite_differences() -> None:
    esn, forced = built(NETWORKS["chain"]), es.engine.teacher_forced(U, Y)
    readout = es.readouts.Readout(np.random.default_rng(1).normal(size=(OUTPUTS, esn.units)), np.zeros(OUTPUTS), np.zeros(()))
    names = ("feedback_scaling", "leak_rate")
    _, found = bptt.gradient(esn, forced, Y, readout, parameters=names, washout=5)
    for name, slope in found.parameters.items():
        parameter, h = chosen(name, esn.hyper)[0], 1e-6
        errors = []
        for sign in (1, -1):
            leaves = [float(leaf) for leaf in getattr(esn.hyper, parameter.name)]
            leaves[parameter.place] += h * sign
            states = naive.states_of(esn, U, y=Y, hyper=esn.hyper.replace(**{parameter.name: leaves}))
            errors.append(0.5 * ((states @ readout.coef.T - Y)[5:] ** 2).sum(axis=1).mean())
        assert slope == pytest.approx((errors[0] - errors[1]) / (2 * h), rel=1e-6)


def test_without_feedback_there_is_no_leaf_and_no_array() -> None:
    network = es.hierarchical([6, 5], **SHARED)
    esn = network.build(INPUTS, seed=3, n_outputs=OUTPUTS)  # which has no meaning here
    assert not network.feeds_back
    assert (esn.hyper.feedback_scaling, esn.drawn.feedback, esn.weights().feedback, esn.n_outputs) == ((), (), (), 0)
    assert repr(esn) == f"ESN({network!r}, n_inputs=2, seed=3, dtype='float32')"


def test_feedback_adds_a_matrix_and_leaves_the_others() -> None:
    plain, heard = (es.single(7, feedback_scaling=phi, **SHARED).build(2, seed=3, n_outputs=3).drawn for phi in (0.0, 0.5))
    np.testing.assert_array_equal(plain.inputs[0], heard.inputs[0])
    np.testing.assert_array_equal(plain.biases[0], heard.biases[0])
    np.testing.assert_array_equal(plain.recurrent[0].toarray(), heard.recurrent[0].toarray())
    assert heard.feedback[0].shape == (7, 3)
    assert np.abs(heard.feedback[0]).max() <= 1
    more = es.single(7, feedback_scaling=0.5, **SHARED).build(2, seed=3, n_outputs=4).drawn
    np.testing.assert_array_equal(more.feedback[0][:, :3], heard.feedback[0])


def test_descriptions_and_files_keep_it(tmp_path: Path) -> None:
    network = NETWORKS["parallel"]
    assert Network.from_dict(network.to_dict()) == network
    assert "feedback_scaling=0.9" in repr(network)
    assert fingerprint(network) != fingerprint(es.parallel([5, 6], leak_rate=[0.8, 0.1], **SHARED))
    esn = built(network, "float32")
    loaded = es.load(es.save(esn, tmp_path / "esn"))
    assert repr(loaded) == repr(esn)
    forced = es.engine.teacher_forced(U, Y)
    np.testing.assert_array_equal(loaded.run(forced), esn.run(forced))
    # Features are kept under a name that tells strengths of feedback apart.
    names = {of_network(esn, esn.hyper.replace(feedback_scaling=phi)) for phi in (0.1, 0.2)}
    assert len(names) == 2


def test_a_stream_learns_its_strength() -> None:
    """The online learner takes the same series, and its gradient reaches the leaf."""
    y = np.sin(0.3 * np.arange(300))[:, None]
    learner = es.OnlineLearner(es.single(10, feedback_scaling=0.5), outputs=1, parameters="feedback_scaling")
    learner.fit(es.engine.teacher_forced(np.ones((300, 1)), y).values[0], y)
    assert float(np.ravel(learner.hyper.feedback_scaling[0])[0]) != 0.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: NETWORKS["single"].build(2), "feeds its outputs back: say how many"),
        (lambda: NETWORKS["single"].build(2, n_outputs=0), "n_outputs must be at least 1"),
        (lambda: built(NETWORKS["single"]).run(U), r"holds the 2 inputs only.*es.engine.teacher_forced\(u, y\)"),
        (lambda: built(NETWORKS["single"]).run(np.ones((9, 4))), "4 features, the network was built for 5"),
        (lambda: es.Reservoir(5, feedback_scaling=-1), "feedback_scaling"),
        (lambda: es.single(5).build(1).hyper.replace(feedback_scaling=0.5), "no output feedback"),
        (lambda: chosen("feedback_scaling", es.single(5).build(1).hyper), "no output feedback"),
        (lambda: chosen("feedback_scaling[0]", es.single(5).build(1).hyper), "no output feedback"),
        (lambda: chosen(Parameter("feedback_scaling", 3), built(NETWORKS["chain"]).hyper), "there is no"),
        (lambda: es.hierarchical([5, 5], feedback_scaling=[0.1]), "feedback_scaling has 1 entries for 2 levels"),
        (lambda: es.engine.teacher_forced(U, Y[:-1]), "y has 29 steps"),
    ],
)
def test_what_is_wrong_is_said(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
