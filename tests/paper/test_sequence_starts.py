"""Many starts of a sequence learner at once equal learners one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import echoscale as es
from paper.sequence_learner import SequenceLearner, fresh_readout
from paper.sequence_starts import Walk, walk

CLASSES, EVERY, COUNT, STEPS, SIZE = 3, 4, 25, 9, 10
STARTS = np.array([[0.8, 0.3], [0.4, 0.9], [0.2, 0.2]])
RNG = np.random.default_rng(0)
U = RNG.random((COUNT, STEPS, 1))
LABELS = RNG.integers(0, CLASSES, COUNT)
NETWORK = es.hierarchical([6, 5], leak_rate=[0.5, 0.5], spectral_radius=0.9)


def learner(leaks: Any = (0.5, 0.5), **options: Any) -> SequenceLearner:
    network = es.hierarchical([6, 5], leak_rate=list(leaks), spectral_radius=0.9)
    esn = network.build(1, seed=1, dtype="float64")
    return SequenceLearner(esn, CLASSES, EVERY, readout_rate=0.05, parameter_rate=0.02, seed=3, **options)


def walked(starts: Any = STARTS, **options: Any) -> Walk:
    one = learner()
    hyper = one.esn.hyper.replace(leak_rate=list(np.asarray(starts).T))
    settings: dict[str, Any] = {"minibatches": 7, "minibatch": SIZE, "stretch": 3, **options}
    return walk(one, hyper, U, LABELS, **settings)


def reset_readout(one: SequenceLearner) -> None:
    """New weights and new averages of Adam; what was learned of the network stays."""
    now = one._learned()
    with one._precision():
        readout = fresh_readout(one.rng, CLASSES, now.readout.coef.shape[1], one.esn)
        one._learning = now._replace(readout=readout, readout_averages=one.plan.readout.adam().init(readout))


def by_hand(leaks: Any, reset: int | None = None, minibatches: int = 7) -> SequenceLearner:
    """One learner, the same draws: first readout, then one order of all sequences after another as they are used up."""
    one = learner(leaks)
    one.start(STEPS)
    order: list[int] = []
    for k in range(minibatches):
        if reset and k and k % reset == 0:
            reset_readout(one)
        # An order is drawn when a stretch of three minibatches, or what is left before a reset, asks for it.
        ahead = min(3, (reset or minibatches) - k % (reset or minibatches), minibatches - k) if k % 3 == 0 or reset else 0
        while len(order) < ahead * SIZE:
            order += one.rng.permutation(COUNT).tolist()
        which, order = order[:SIZE], order[SIZE:]
        one.partial_fit(U[which], LABELS[which])
    return one


def test_every_start_walks_as_a_learner_alone_would() -> None:
    """Three minibatches use up one order of the 25 sequences, and the next begins in the middle of a minibatch."""
    found = walked()
    assert found.values.shape == (3, 8, 2)
    np.testing.assert_array_equal(found.values[:, 0], STARTS)
    for start, values, loss in zip(STARTS, found.values, found.loss, strict=True):
        history = by_hand(start).history
        np.testing.assert_allclose(values[1:], history["value"].values[0].T, rtol=1e-12)
        np.testing.assert_allclose(loss, history["loss"].values[0], rtol=1e-12)
    assert np.abs(found.values[:, -1] - STARTS).min() > 1e-3, "all of them moved"


def test_a_new_readout_keeps_numbers_and_their_moments() -> None:
    found = walked(reset=3, stretch=50)
    for start, values, loss in zip(STARTS, found.values, found.loss, strict=True):
        history = by_hand(start, reset=3).history
        np.testing.assert_allclose(values[1:], history["value"].values[0].T, rtol=1e-12)
        np.testing.assert_allclose(loss, history["loss"].values[0], rtol=1e-12)
    assert np.abs(found.loss[:, 3] - walked(stretch=50).loss[:, 3]).min() > 1e-3, "the readout is another"


def test_how_the_scan_is_cut_does_not_matter() -> None:
    told: list[tuple[int, int]] = []
    whole = walked(stretch=50)
    cut = walked(stretch=2, progress=lambda done, total, _: told.append((done, total)))
    assert told == [(2, 7), (4, 7), (6, 7), (7, 7)]
    # The order of sequences is drawn ahead for a stretch, but no draw comes between: the numbers are the same.
    np.testing.assert_allclose(cut.values, whole.values, rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"minibatch": 26}, "more than the 25 sequences"),
        ({"minibatch": 0}, "minibatch must be at least 1"),
        ({"minibatches": 0}, "minibatches must be at least 1"),
        ({"reset": 0}, "reset must be at least 1"),
    ],
)
def test_bad_settings_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        walked(**options)


def test_labels_outside_the_classes_are_named() -> None:
    one = learner()
    with pytest.raises(ValueError, match="labels must be whole numbers from 0 to 2"):
        walk(one, one.esn.hyper, U, LABELS + 1, minibatches=1)


def test_learners_tell_how_far_they_are_and_share_the_form_of_their_history() -> None:
    """Two epochs of two minibatches; the history is that of a stream, so `responses` reads it."""
    told: list[tuple[int, int, str]] = []
    one = learner()
    one.fit(U, LABELS, epochs=2, minibatch=SIZE, progress=lambda *each: told.append(each))
    losses = one.history["loss"].values[0]
    assert told == [(k + 1, 4, f"loss {loss:.4g}") for k, loss in enumerate(losses)]
    assert one.history["value"].dims == ("start", "parameter", "step")
    np.testing.assert_array_equal(one.history["value"].values[:, :, -1], one.values)
    one.fit(U, LABELS, epochs=8, minibatch=SIZE)
    found = es.learning.responses(one.history, changes=[])
    np.testing.assert_allclose(found["settles"].values[0, :, 0], one.history["value"].values[0, :, -4:].mean(axis=1))


def test_a_walk_leaves_its_learner_alone() -> None:
    one = learner()
    hyper = one.esn.hyper.replace(leak_rate=list(STARTS.T))
    first, second = (walk(one, hyper, U, LABELS, minibatches=2, minibatch=SIZE) for _ in range(2))
    np.testing.assert_array_equal(first.values, second.values)
    assert one.history.sizes["step"] == 0
