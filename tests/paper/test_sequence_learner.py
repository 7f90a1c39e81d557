"""The learner of sequences against Adam by hand, and many starts at once against learners one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import echoscale as es
from echoscale.engine import put
from paper import sequence_learner
from paper.sequence_learner import READOUT_ADAM, SequenceLearner, Walk, fresh_readout, walk

Floats = npt.NDArray[np.float64]

CLASSES, EVERY, COUNT, STEPS, SIZE = 3, 4, 25, 9, 10
STARTS = np.array([[0.8, 0.3], [0.4, 0.9], [0.2, 0.2]])
RNG = np.random.default_rng(0)
U = RNG.random((COUNT, STEPS, 1))
LABELS = RNG.integers(0, CLASSES, COUNT)


def learner(leaks: Any = (0.5, 0.5), parameter_rate: float = 0.02) -> SequenceLearner:
    network = es.hierarchical([6, 5], leak_rate=list(leaks), spectral_radius=0.9)
    esn = network.build(1, seed=1, dtype="float64")
    return SequenceLearner(esn, CLASSES, EVERY, readout_rate=0.05, parameter_rate=parameter_rate, seed=3)


def loss_of(one: SequenceLearner, readout: Any, hyper: es.Hyper) -> float:
    """The cross-entropy from the states of plain runs."""
    states = one.esn.run(U, hyper=hyper)[:, EVERY - 1 :: EVERY]
    z = np.einsum("ckn,bkn->bc", readout.coef, states) + readout.intercept
    wanted, p = np.eye(CLASSES)[LABELS], 1 / (1 + np.exp(-z))
    return float(-(wanted * np.log(p) + (1 - wanted) * np.log(1 - p)).sum(axis=1).mean())


# One learner


def test_a_step_is_that_of_adam() -> None:
    """The first step goes by the rate against every gradient, and leak rates stop at their limits."""
    one = learner((0.8, 0.3), parameter_rate=0.5).start(STEPS)
    before, values = one.readout, one.values
    assert values.tolist() == [0.8, 0.3]
    one.partial_fit(U, LABELS)
    [slopes] = one.gradients
    np.testing.assert_allclose(np.abs(before.coef - one.readout.coef), 0.05, rtol=1e-3)
    expected = np.clip(values - 0.5 * np.sign(slopes), 1e-3, 1)
    np.testing.assert_allclose(one.values, expected, rtol=1e-4)
    assert set(expected) & {1e-3, 1.0}
    assert [float(each) for each in one.hyper.leak_rate] == one.values.tolist()
    assert float(one.esn.hyper.leak_rate[0]) == 0.8, "the network that was given stays as it is"


def test_loss_and_gradients_are_those_before_the_step() -> None:
    one = learner((0.8, 0.3)).start(STEPS)
    readout, hyper, d = one.readout, one.esn.hyper, 1e-6
    one.partial_fit(U, LABELS)
    assert one.loss == [pytest.approx(loss_of(one, readout, hyper), rel=1e-12)]
    for parameter, slope in zip(one.plan.learned, one.gradients[0], strict=True):
        ends = [loss_of(one, readout, put(hyper, [parameter], [parameter.of(hyper) + each])) for each in (d, -d)]
        assert slope == pytest.approx((ends[0] - ends[1]) / (2 * d), rel=1e-6)


def test_learning_lowers_the_loss_and_is_repeatable() -> None:
    """Whether a sequence rises or falls."""
    rng = np.random.default_rng(3)
    labels = rng.integers(2, size=60)
    slope = np.linspace(-1, 1, 20) * np.where(labels, 0.5, -0.5)[:, None]
    u = (slope + 0.3 * rng.normal(size=(60, 20)))[..., None]
    esn = es.hierarchical([10, 10], leak_rate=[0.5, 0.5]).build(1, seed=0)
    first, second = (SequenceLearner(esn, 2, 5, readout_rate=0.05, parameter_rate=1e-3, seed=2) for _ in range(2))
    for one in (first, second):
        for k in range(45):
            part = slice(20 * (k % 3), 20 * (k % 3 + 1))
            one.partial_fit(u[part], labels[part])
    assert np.mean(first.loss[-5:]) < 0.5 * np.mean(first.loss[:5])
    assert np.abs(first.values - 0.5).max() > 1e-3
    assert first.loss == second.loss
    np.testing.assert_array_equal(first.values, second.values)
    # Rates are no part of the program: changing them compiles nothing.
    update: Any = sequence_learner.update
    compiled, before = update._cache_size(), (first.readout, first.values)
    first.readout_rate, first.parameter_rate = 0.0, 0.0
    first.partial_fit(u[:20], labels[:20])
    assert update._cache_size() == compiled
    np.testing.assert_array_equal(first.readout.coef, before[0].coef)
    np.testing.assert_array_equal(first.values, before[1])


# Many starts


def walked(starts: Any = STARTS, **options: Any) -> Walk:
    one = learner()
    hyper = one.esn.hyper.replace(leak_rate=list(np.asarray(starts).T))
    settings: dict[str, Any] = {"minibatches": 7, "minibatch": SIZE, "stretch": 3, **options}
    return walk(one, hyper, U, LABELS, **settings)


def reset_readout(one: SequenceLearner) -> None:
    """New weights and new averages of Adam; what was learned of the network stays."""
    now = one._learning
    assert now is not None
    with one.precision():
        readout = fresh_readout(one.rng, CLASSES, now.readout.coef.shape[1], one.esn)
        one._learning = now._replace(readout=readout, readout_averages=READOUT_ADAM.init(readout))


def by_hand(leaks: Any, reset: int | None = None, minibatches: int = 7) -> tuple[list[Floats], list[float]]:
    """One learner, the same draws: first readout, then one order of all sequences after another as they are used up."""
    one = learner(leaks)
    one.start(STEPS)
    order: list[int] = []
    values = []
    for k in range(minibatches):
        if reset and k and k % reset == 0:
            reset_readout(one)
        # An order is drawn when a stretch of three minibatches, or what is left before a reset, asks for it.
        ahead = min(3, (reset or minibatches) - k % (reset or minibatches), minibatches - k) if k % 3 == 0 or reset else 0
        while len(order) < ahead * SIZE:
            order += one.rng.permutation(COUNT).tolist()
        which, order = order[:SIZE], order[SIZE:]
        one.partial_fit(U[which], LABELS[which])
        values.append(one.values)
    return values, one.loss


def test_every_start_walks_as_a_learner_alone_would() -> None:
    """Three minibatches use up one order of the 25 sequences, and the next begins in the middle of a minibatch."""
    found = walked()
    assert found.values.shape == (3, 8, 2)
    np.testing.assert_array_equal(found.values[:, 0], STARTS)
    for start, values, loss in zip(STARTS, found.values, found.loss, strict=True):
        expected, losses = by_hand(start)
        np.testing.assert_allclose(values[1:], expected, rtol=1e-12)
        np.testing.assert_allclose(loss, losses, rtol=1e-12)
    assert np.abs(found.values[:, -1] - STARTS).min() > 1e-3, "all of them moved"


def test_a_new_readout_keeps_numbers_and_their_moments() -> None:
    found = walked(reset=3, stretch=50)
    for start, values, loss in zip(STARTS, found.values, found.loss, strict=True):
        expected, losses = by_hand(start, reset=3)
        np.testing.assert_allclose(values[1:], expected, rtol=1e-12)
        np.testing.assert_allclose(loss, losses, rtol=1e-12)
    assert np.abs(found.loss[:, 3] - walked(stretch=50).loss[:, 3]).min() > 1e-3, "the readout is another"


def test_how_the_scan_is_cut_does_not_matter() -> None:
    checked: list[int] = []
    whole = walked(stretch=50)
    cut = walked(stretch=2, check=lambda: checked.append(1))
    assert len(checked) == 4
    # The order of sequences is drawn ahead for a stretch, but no draw comes between: the numbers are the same.
    np.testing.assert_allclose(cut.values, whole.values, rtol=1e-12)


def test_a_walk_leaves_its_learner_alone() -> None:
    one = learner()
    hyper = one.esn.hyper.replace(leak_rate=list(STARTS.T))
    first, second = (walk(one, hyper, U, LABELS, minibatches=2, minibatch=SIZE) for _ in range(2))
    np.testing.assert_array_equal(first.values, second.values)
    assert one.loss == []
    np.testing.assert_array_equal(one.values, [0.5, 0.5])
