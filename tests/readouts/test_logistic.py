"""Readouts trained by minibatches, against Adam written in NumPy, scikit-learn's solver, and closed forms."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax
import pytest
from scipy.special import expit, log_softmax, softmax
from sklearn.linear_model import LogisticRegression

from echoscale.data.losses import constant
from echoscale.readouts import logistic, minibatches
from echoscale.readouts.logistic import check_validation, rates

Array = npt.NDArray[Any]

COUNT, WIDTH, CLASSES = 230, 7, 4
LOSSES = pytest.mark.parametrize("loss", logistic.OF_CLASSES)


def data(count: int = COUNT, width: int = WIDTH, seed: int = 0, noise: float = 1.0) -> tuple[Array, Array]:
    """Rows around one centre a class, with features of unequal size and mean."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(CLASSES, width))
    labels = rng.integers(0, CLASSES, count)
    features = centres[labels] + noise * rng.normal(size=(count, width))
    return features * np.linspace(0.2, 1.5, width) + np.linspace(-1, 2, width), labels


class Stream:
    """Features that are only there block by block, as from a file; counts what is read."""

    def __init__(self, features: Array) -> None:
        self.features = features.astype(np.float32)
        self.shape = (len(features), 1, features.shape[1])
        self.read: list[tuple[int, int]] = []

    def block(self, begin: int, end: int) -> npt.NDArray[np.float32]:
        self.read.append((begin, end))
        return self.features[begin:end].copy()


def link(loss: str, z: Array) -> Array:
    return np.asarray(expit(z) if loss == "sigmoid" else softmax(z, axis=1))


def mean_loss(loss: str, z: Array, labels: Array) -> float:
    """As the definitions have it: logarithms of probabilities."""
    hot = np.eye(z.shape[1])[labels]
    if loss == "softmax":
        return float(-(hot * log_softmax(z, axis=1)).sum(axis=1).mean())
    return float(-(hot * np.log(expit(z)) + (1 - hot) * np.log(expit(-z))).sum(axis=1).mean())


def numpy_adam(
    features: Array, labels: Array, loss: str, tables: list[Array], steps: Array, penalty: float
) -> tuple[Array, Array, list[tuple[Array, Array]]]:
    """Adam by hand over tables of row numbers, one table an epoch; also the weights after every minibatch."""
    weights = [np.zeros((CLASSES, features.shape[1])), np.zeros(CLASSES)]
    share = (np.bincount(labels, minlength=CLASSES) + 0.5) / (len(labels) + 0.5 * CLASSES)
    weights[1] = np.log(share / (1 - share)) if loss == "sigmoid" else np.log(share)
    first, second = [0 * each for each in weights], [0 * each for each in weights]
    path = []
    for k, which in enumerate(row[row >= 0] for table in tables for row in table if row[0] >= 0):
        x, hot = features[which], np.eye(CLASSES)[labels[which]]
        apart = (link(loss, x @ weights[0].T + weights[1]) - hot) / len(which)
        slopes = [apart.T @ x + penalty * weights[0], apart.sum(axis=0)]
        for i, slope in enumerate(slopes):
            first[i] = 0.9 * first[i] + 0.1 * slope
            second[i] = 0.999 * second[i] + 0.001 * slope**2
            move = first[i] / (1 - 0.9 ** (k + 1)) / (np.sqrt(second[i] / (1 - 0.999 ** (k + 1))) + 1e-8)
            weights[i] = weights[i] - steps[k] * move
        path.append((weights[0].copy(), weights[1].copy()))
    return weights[0], weights[1], path


def all_tables(minibatch: int, count: int, seed: int = 0, rows: Array | None = None) -> list[Array]:
    """The order of every epoch of a training in one block."""
    parts = [np.arange(COUNT) if rows is None else rows]
    return [table for epoch in range(count) for _, table in shuffled(parts, minibatch, seed, epoch)]


def shuffled(parts: list[Array], minibatch: int, seed: int, epoch: int) -> list[tuple[int, Array]]:
    """The minibatches of one epoch."""
    return minibatches.tables(parts, minibatch, np.random.default_rng([seed, epoch]))


@pytest.mark.parametrize(
    ("loss", "schedule", "minibatch"),
    [("sigmoid", "constant", 46), ("softmax", "cosine", 50), ("sigmoid", "cosine", 50)],
)
def test_steps_are_those_of_adam_by_hand(loss: str, schedule: str, minibatch: int) -> None:
    """Three epochs in float64: 15 minibatches of 46, all equal, or of 50 at most. Rounding alone separates them."""
    x, labels = data()
    found = logistic.fit(
        x,
        labels,
        CLASSES,
        loss=loss,
        rate=0.03,
        schedule=schedule,
        epochs=3,
        minibatch=minibatch,
        ridge=0.1,
        dtype="float64",
    )
    k = np.arange(15)
    steps = np.full(15, 0.03) if schedule == "constant" else 0.03 * np.cos(np.pi * k / 30) ** 2
    coef, offset, _ = numpy_adam(x, labels, loss, all_tables(minibatch, 3), steps, 0.1)
    assert np.abs(coef).max() > 0.1
    np.testing.assert_allclose(found.coef, coef, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.intercept, offset, rtol=0, atol=1e-10)


@LOSSES
def test_the_loss_of_an_epoch_is_the_mean_over_its_rows(loss: str) -> None:
    """Each minibatch judged just before its step; the penalty is not in it."""
    x, labels = data()
    found = logistic.fit(x, labels, CLASSES, loss=loss, rate=0.03, epochs=2, minibatch=50, ridge=0.3, dtype="float64")
    tables = all_tables(50, 2)
    *_, path = numpy_adam(x, labels, loss, tables, np.full(10, 0.03), 0.3)
    start = np.zeros((CLASSES, WIDTH)), constant(loss, np.bincount(labels))
    for epoch, table in enumerate(tables):
        before = [start, *path][5 * epoch : 5 * epoch + 5]
        expected = sum(
            mean_loss(loss, x[which] @ coef.T + offset, labels[which]) * len(which)
            for which, (coef, offset) in zip((row[row >= 0] for row in table), before, strict=True)
        )
        assert found.history.train_loss[epoch] == pytest.approx(expected / COUNT, rel=1e-12)
    assert np.isnan(found.history.loss).all()
    assert found.best_epoch == 1


def test_the_average_is_the_mean_of_the_weights_over_the_last_epochs() -> None:
    x, labels = data()
    *_, path = numpy_adam(x, labels, "sigmoid", all_tables(50, 3), np.full(15, 0.03), 0.0)
    for average, first in ((1, 10), (2, 5), (9, 0)):
        found = logistic.fit(x, labels, CLASSES, rate=0.03, epochs=3, average=average, dtype="float64")
        coef, intercept = (np.mean(each, axis=0) for each in zip(*path[first:], strict=True))
        np.testing.assert_allclose(found.coef, coef, rtol=0, atol=1e-10)
        np.testing.assert_allclose(found.intercept, intercept, rtol=0, atol=1e-10)


@LOSSES
def test_the_first_intercept_suits_all_rows_best(loss: str) -> None:
    """The slope of the loss by z vanishes there, but for the half row that is added to each class."""
    counts = np.array([4000, 1000, 7000, 500])
    z = constant(loss, counts)
    np.testing.assert_allclose(link(loss, z[None])[0], counts / counts.sum(), rtol=0, atol=4 / counts.sum())
    assert np.isfinite(constant(loss, np.array([5, 0]))).all()


@pytest.mark.parametrize("standardise", [False, True])
def test_softmax_converges_to_the_solution_of_scikit_learn(standardise: bool) -> None:
    """All rows in one minibatch and an annealed rate: plain descent on a strictly convex function, to its one minimum.

    scikit-learn has sum of losses + |W|^2 / (2 C), so C = 1 / (penalty rows). The least curvature is the penalty, 0.05: slopes
    of 5e-7 would leave weights 1e-5 apart, and its solver stops well below them. Outputs sum 7 features of size 3 or less.
    """
    x, labels = data()
    scaled = (x - x.mean(axis=0)) / x.std(axis=0) if standardise else x
    peer = LogisticRegression(C=1 / (0.05 * COUNT), tol=1e-10, max_iter=10_000).fit(scaled, labels)
    found = logistic.fit(
        x,
        labels,
        CLASSES,
        loss="softmax",
        rate=0.1,
        schedule="cosine",
        epochs=500,
        minibatch=COUNT,
        ridge=0.05,
        standardise=standardise,
        dtype="float64",
    )
    coef = peer.coef_ / x.std(axis=0) if standardise else peer.coef_
    np.testing.assert_allclose(found.coef, coef, rtol=0, atol=1e-5)
    z = peer.decision_function(scaled)
    ours = found.predict(x)
    np.testing.assert_allclose(ours - ours.mean(axis=1, keepdims=True), z - z.mean(axis=1, keepdims=True), rtol=0, atol=1e-4)
    np.testing.assert_allclose(found.probabilities(x), peer.predict_proba(scaled), rtol=0, atol=1e-4)


def test_sigmoid_converges_to_one_binary_solution_for_each_class() -> None:
    """Every class is by itself: scikit-learn's binary problem, class against the others."""
    x, labels = data()
    found = logistic.fit(
        x, labels, CLASSES, rate=0.1, schedule="cosine", epochs=500, minibatch=COUNT, ridge=0.05, dtype="float64"
    )
    for k in range(CLASSES):
        peer = LogisticRegression(C=1 / (0.05 * COUNT), tol=1e-10, max_iter=10_000).fit(x, labels == k)
        np.testing.assert_allclose(found.coef[k], peer.coef_[0], rtol=0, atol=1e-5)
        np.testing.assert_allclose(found.intercept[k], peer.intercept_[0], rtol=0, atol=1e-4)


def test_rates_follow_their_closed_form() -> None:
    total = 40
    whole = rates("cosine", 0.3, 0, total, total)
    np.testing.assert_allclose(whole, optax.cosine_decay_schedule(0.3, total)(np.arange(total)), rtol=0, atol=1e-7)
    np.testing.assert_allclose(whole[[0, 10, 20, 30]], [0.3, 0.15 * (1 + np.sqrt(0.5)), 0.15, 0.15 * (1 - np.sqrt(0.5))])
    np.testing.assert_array_equal(rates("cosine", 0.3, 13, 5, total), whole[13:18])
    np.testing.assert_array_equal(rates("constant", 0.3, 13, 5, total), np.full(5, 0.3))


@pytest.mark.parametrize(("count", "minibatch"), [(100, 50), (101, 50), (230, 50), (50, 50), (7, 3), (9, 1)])
def test_minibatches_hold_every_row_once_and_are_of_like_size(count: int, minibatch: int) -> None:
    table = minibatches.cut(np.arange(5, 5 + count), minibatch, height=120)
    np.testing.assert_array_equal(table[table >= 0], np.arange(5, 5 + count))
    sizes = (table >= 0).sum(axis=1)
    live = sizes[: -(-count // minibatch)]
    assert not sizes[len(live) :].any()
    assert live.max() <= minibatch
    assert live.max() - live.min() <= 1


def test_orders_differ_between_epochs_and_seeds_and_hold_all_rows() -> None:
    parts = [np.arange(30), np.zeros(0, np.int64), np.arange(4, 17)]
    seen = []
    for seed, epoch in ((0, 0), (0, 1), (1, 0)):
        tables = dict(shuffled(parts, 8, seed, epoch))
        assert sorted(tables) == [0, 2]
        assert {table.shape for table in tables.values()} == {(4, 8)}
        for place, table in tables.items():
            np.testing.assert_array_equal(np.sort(table[table >= 0]), parts[place])
        seen.append(tables[0].tolist())
    assert seen[0] != seen[1] != seen[2] != seen[0]
    again = dict(shuffled(parts, 8, 0, 0))
    np.testing.assert_array_equal(again[0], seen[0])


def test_blocks_one_after_another_equal_one_pass_in_the_same_order() -> None:
    """The compiled loop over the whole array, given the rows in the order in which the blocks show them, in float64."""
    block = 64
    x, labels = data()
    held_out = np.arange(0, COUNT, 9)
    streamed = logistic.fit(
        x, labels, CLASSES, rate=0.03, epochs=1, minibatch=20, validation=held_out, block=block, ridge=0.01, dtype="float64"
    )
    source = minibatches.FeatureRows(x, "float64", block)
    parts = source.split(np.setdiff1d(np.arange(COUNT), held_out))
    tables = [np.where(table >= 0, table + source.begins[place], -1) for place, table in shuffled(parts, 20, 0, 0)]
    table = np.concatenate(tables)
    assert len(np.unique(table[table >= 0])) == COUNT - len(held_out)
    counts = np.bincount(np.delete(labels, held_out))
    with epochs_in_float64():
        zero = minibatches.ReadoutWeights(jnp.zeros((CLASSES, WIDTH)), jnp.zeros(CLASSES))
        begun = zero._replace(intercept=jnp.asarray(constant("sigmoid", counts)))
        learning, _ = minibatches.train(
            minibatches.EpochState(begun, minibatches.ADAM.init(zero), None),
            jnp.asarray(x),
            jnp.asarray(labels),
            jnp.asarray(table),
            jnp.full(len(table), 0.03),
            jnp.asarray(0.01),
            None,
            "sigmoid",
        )
    np.testing.assert_allclose(streamed.coef, learning.weights.coef, rtol=0, atol=1e-12)
    np.testing.assert_allclose(streamed.intercept, learning.weights.intercept, rtol=0, atol=1e-12)


def epochs_in_float64() -> Any:
    from echoscale.engine.devices import precision_and_device

    return precision_and_device("float64", None)


def test_a_stream_a_mapped_file_and_an_array_give_the_same_bits(tmp_path: Path) -> None:
    x, labels = data()
    settings: dict[str, Any] = {"epochs": 3, "block": 70, "validation": 0.2, "standardise": True, "average": 2}
    x32 = x.astype(np.float32)
    expected = logistic.fit(x32, labels, CLASSES, **settings)
    x32.tofile(tmp_path / "features")
    mapped = np.memmap(tmp_path / "features", np.float32, "r", shape=x.shape)
    stream = Stream(x)
    for given in (stream, mapped, jnp.asarray(x32), x32.reshape(COUNT, WIDTH, 1)):
        found = logistic.fit(given, labels, CLASSES, **settings)
        np.testing.assert_array_equal(found.coef, expected.coef)
        np.testing.assert_array_equal(found.intercept, expected.intercept)
        np.testing.assert_array_equal(found.history, expected.history)
    assert {end - begin for begin, end in stream.read} == {70}, "blocks of one size: one compiled program"


def test_a_stream_reads_only_the_blocks_of_the_rows_it_needs() -> None:
    x, labels = data(240)
    stream = Stream(x)
    logistic.fit(stream, labels, CLASSES, epochs=1, block=40, minibatch=20, validation=np.arange(200, 240))
    assert sorted(stream.read[:5]) == [(b, b + 40) for b in range(0, 200, 40)], "to train"
    assert stream.read[5:] == [(200, 240)], "to judge"


def test_a_large_stream_is_cut_into_blocks_of_whole_minibatches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minibatches, "BLOCK_BYTES", 100 * WIDTH * 4)
    source = minibatches.FeatureRows(Stream(data(1010)[0]), "float32", None, 30)
    assert source.size == 120
    for asked in (np.arange(1010), np.array([0, 119, 120, 1009])):
        found = [local + begin for local, begin in zip(source.split(asked), source.begins, strict=True)]
        np.testing.assert_array_equal(np.concatenate(found), asked)
    for place, block in zip((3, 8, 0), source.load((3, 8, 0)), strict=True):
        begin = source.begins[place]
        np.testing.assert_array_equal(block, source.given.features[begin : begin + 120])


def test_validation_is_judged_after_every_epoch() -> None:
    loss = "softmax"
    x, labels = data()
    held_out = np.arange(100, 160)
    trained = np.setdiff1d(np.arange(COUNT), held_out)
    found = logistic.fit(x, labels, CLASSES, loss=loss, rate=0.03, epochs=3, validation=held_out, dtype="float64")
    tables = [np.where(each < 0, -1, np.searchsorted(trained, each)) for each in all_tables(50, 3, rows=trained)]
    *_, path = numpy_adam(x[trained], labels[trained], loss, tables, np.full(12, 0.03), 0.0)
    for epoch in range(3):
        coef, intercept = path[4 * epoch + 3]
        z = x[held_out] @ coef.T + intercept
        assert found.history.loss[epoch] == pytest.approx(mean_loss(loss, z, labels[held_out]), rel=1e-10)
        assert found.history.accuracy[epoch] == (z.argmax(axis=1) == labels[held_out]).mean()


def test_a_share_is_drawn_by_the_seed() -> None:
    x, labels = data()
    runs = [logistic.fit(x, labels, CLASSES, epochs=1, validation=0.25, seed=seed) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(runs[0].coef, runs[1].coef)
    np.testing.assert_array_equal(runs[0].history, runs[1].history)
    assert runs[0].history.loss[0] != runs[2].history.loss[0]
    held_out = check_validation(0.25, COUNT, 0)
    assert len(held_out) == round(0.25 * COUNT)
    named = logistic.fit(x, labels, CLASSES, epochs=1, validation=held_out)
    np.testing.assert_array_equal(named.coef, runs[0].coef)


@pytest.mark.parametrize("criterion", ["loss", "accuracy"])
def test_the_best_epoch_is_kept_and_patience_ends_the_training(criterion: str) -> None:
    """Labels without sense: the loss on unseen rows falls not for long. Each epoch is also trained by itself."""
    rng = np.random.default_rng(3)
    x, labels = rng.normal(size=(120, 30)), rng.integers(0, CLASSES, 120)
    settings: dict[str, Any] = {"rate": 0.02, "minibatch": 20, "validation": np.arange(60), "criterion": criterion}
    whole = logistic.fit(x, labels, CLASSES, epochs=12, **settings)
    if criterion == "loss":
        best = int(np.argmin(whole.history.loss))
    else:
        best = max(range(12), key=lambda k: (whole.history.accuracy[k], -whole.history.loss[k]))
    assert best < 9, "else this shows nothing"
    assert whole.best_epoch == best
    alone = logistic.fit(x, labels, CLASSES, epochs=best + 1, **{**settings, "validation": np.arange(60)})
    np.testing.assert_array_equal(whole.coef, alone.coef)
    early = logistic.fit(x, labels, CLASSES, epochs=12, patience=2, **settings)
    history = whole.history.loss if criterion == "loss" else -whole.history.accuracy - 1e-9 * (-whole.history.loss)
    leader = 0
    for epoch in range(12):
        leader = epoch if history[epoch] < history[leader] else leader
        if epoch - leader == 2:
            break
    assert early.epochs == epoch + 1
    assert early.best_epoch == leader
    np.testing.assert_array_equal(early.history.loss, whole.history.loss[: epoch + 1])


def test_an_interrupted_training_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    """From the last checkpoint before the interrupt, through a file."""
    x, labels = data()
    settings: dict[str, Any] = {
        "epochs": 5,
        "schedule": "cosine",
        "validation": 0.2,
        "average": 2,
        "standardise": True,
        "seed": 3,
        "block": 70,
    }
    whole = logistic.fit(x, labels, CLASSES, **settings)
    told: list[tuple[int, int]] = []

    def keep(trained: logistic.Trained) -> None:
        np.savez(tmp_path / "so far.npz", allow_pickle=False, **trained.arrays())

    def interrupt(epoch: int, count: int, note: str) -> None:
        told.append((epoch, count))
        assert note.startswith("loss ")
        if epoch == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        logistic.fit(x, labels, CLASSES, checkpoint=keep, progress=interrupt, **settings)
    assert told == [(1, 5), (2, 5), (3, 5)]
    with np.load(tmp_path / "so far.npz") as file:
        start = logistic.Trained.of(file)
        assert start.epochs == 3
        found = logistic.fit(x, labels, CLASSES, start=start, **settings)
    np.testing.assert_array_equal(found.coef, whole.coef)
    np.testing.assert_array_equal(found.intercept, whole.intercept)
    np.testing.assert_array_equal(found.history, whole.history)
    assert (found.loss, found.best_epoch) == (whole.loss, whole.best_epoch)
    assert logistic.fit(x, labels, CLASSES, start=whole, **settings) is whole, "nothing is left to do"


def test_standardised_training_equals_training_on_standardised_features() -> None:
    """The same readout. Of F features the intercept would move sqrt(F) times as fast: here there is one feature."""
    x, labels = data()
    x = x[:, :1]
    scaled = (x - x.mean(axis=0)) / x.std(axis=0)
    settings: dict[str, Any] = {"rate": 0.02, "epochs": 3, "ridge": 0.1, "dtype": "float64"}
    found = logistic.fit(x, labels, CLASSES, standardise=True, **settings)
    plain = logistic.fit(scaled, labels, CLASSES, **settings)
    np.testing.assert_allclose(found.predict(x), plain.predict(scaled), rtol=0, atol=1e-9)


def test_constant_features_do_no_harm() -> None:
    x, labels = data()
    with_constants = np.hstack([x, np.full((COUNT, 1), 1e3), np.zeros((COUNT, 1))])
    found = logistic.fit(with_constants, labels, CLASSES, rate=0.02, epochs=5, standardise=True)
    assert np.isfinite(found.coef).all()
    assert (found.predict(with_constants).argmax(axis=1) == labels).mean() > 0.6
    useless = logistic.fit(np.ones((COUNT, WIDTH + 2)), labels, CLASSES, epochs=1, standardise=True)
    assert len(np.unique(useless.predict(np.ones((5, WIDTH + 2))).round(6), axis=0)) == 1


def programs() -> list[int]:
    """How many were compiled so far."""
    return [loop._cache_size() for loop in (minibatches.train, minibatches.judge)]  # type: ignore[attr-defined]


def test_nothing_is_compiled_anew_for_other_numbers() -> None:
    x, labels = data()
    logistic.fit(x, labels, CLASSES, epochs=1, validation=0.2)
    before = programs()
    for settings in (
        {"rate": 0.5},
        {"seed": 9},
        {"ridge": 2.0},
        {"schedule": "cosine", "epochs": 3},
        {"criterion": "accuracy"},
    ):
        logistic.fit(x, labels, CLASSES, **{"epochs": 1, "validation": 0.2, **settings})  # type: ignore[arg-type]
    assert programs() == before


def test_float32_follows_float64() -> None:
    """Ten steps of 0.01 along the signs of slopes: relative rounding 6e-8 of each, amplified where a slope nearly vanishes."""
    x, labels = data()
    single, double = (logistic.fit(x, labels, CLASSES, rate=0.01, epochs=2, dtype=dtype) for dtype in ("float32", "float64"))
    assert single.coef.dtype == np.float64
    np.testing.assert_allclose(single.coef, double.coef, rtol=0, atol=1e-5)


@LOSSES
def test_probabilities_add_up_and_keep_the_order(loss: str) -> None:
    z = np.array([[0.0, 1.0, -2.0], [-900.0, -901.0, -950.0], [80.0, 3.0, -5.0]])
    p = logistic.probabilities(loss, z)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_array_equal(p.argsort(axis=1), z.argsort(axis=1))
    expected = softmax(z[0]) if loss == "softmax" else expit(z[0]) / expit(z[0]).sum()
    np.testing.assert_allclose(p[0], expected, rtol=1e-14)
    np.testing.assert_allclose(p[1, 1] / p[1, 0], np.exp(-1), rtol=1e-12)


X0, L0 = data()
BAD: list[tuple[str, dict[str, Any], type[Exception], str]] = [
    (
        "label too large",
        {"labels": np.full(COUNT, 4)},
        ValueError,
        "labels must be whole numbers from 0 to 3 for classes=4, got 4",
    ),
    ("label below 0", {"labels": L0 - 1}, ValueError, "got -1"),
    ("labels as floats", {"labels": L0 + 0.5}, TypeError, "labels must be whole numbers from 0 to 3, got float64"),
    ("too few labels", {"labels": L0[:-1]}, ValueError, r"labels must be \(230,\).*got shape \(229,\)"),
    ("one class", {"classes": 1}, ValueError, "classes must be at least 2, got 1"),
    ("large minibatch", {"minibatch": 231}, ValueError, "minibatch=231 is more than the 230 rows there are to train on"),
    (
        "minibatch after validation",
        {"minibatch": 200, "validation": 0.5},
        ValueError,
        "minibatch=200 is more than the 115 rows",
    ),
    ("minibatch of none", {"minibatch": 0}, ValueError, "minibatch must be at least 1, got 0"),
    ("NaN", {"features": np.where(np.arange(COUNT)[:, None] == 77, np.nan, X0)}, ValueError, "found nan in row 77, feature 0"),
    (
        "inf",
        {"features": np.where(np.arange(COUNT * WIDTH).reshape(COUNT, WIDTH) == 9 * WIDTH + 3, np.inf, X0), "block": 50},
        ValueError,
        "found inf in row 9, feature 3",
    ),
    ("text", {"features": np.full((COUNT, 2), "a")}, TypeError, "features must be real numbers"),
    ("one axis", {"features": X0[:, 0]}, ValueError, r"features must be \(B, F\) or \(B, S, N\), got shape \(230,\)"),
    ("no features", {"features": X0[:, :0]}, ValueError, "empty"),
    ("share of nothing", {"validation": 0.001}, ValueError, "validation=0.001 of 230 rows leaves none to judge by"),
    ("share of all", {"validation": 0.999}, ValueError, "validation=0.999 of 230 rows leaves none to train on"),
    ("share above 1", {"validation": 1.5}, ValueError, "give a share between 0 and 1"),
    ("row that is not there", {"validation": [3, 230]}, ValueError, "validation holds row 230, but rows are 0 to 229"),
    ("row named twice", {"validation": [3, 3]}, ValueError, "validation names 1 rows more than once"),
    ("all rows", {"validation": np.arange(COUNT)}, ValueError, "none is left to train on"),
    ("validation of floats", {"validation": [0.5, 0.6]}, ValueError, "validation must be None, a share or a list of numbers"),
    ("patience alone", {"patience": 2}, ValueError, "patience=2 needs validation rows"),
    ("patience 0", {"patience": 0, "validation": 0.2}, ValueError, "patience must be at least 1, got 0"),
    ("unknown loss", {"loss": "hinge"}, ValueError, "loss must be one of 'sigmoid', 'softmax'; got 'hinge'"),
    ("unknown schedule", {"schedule": "step"}, ValueError, "schedule must be one of 'constant', 'cosine'; got 'step'"),
    ("unknown criterion", {"criterion": "auc"}, ValueError, "criterion must be one of 'loss', 'accuracy'; got 'auc'"),
    ("unknown dtype", {"dtype": "float16"}, ValueError, "dtype must be one of 'float32', 'float64'; got 'float16'"),
    ("rate 0", {"rate": 0.0}, ValueError, "rate must be above 0, got 0.0"),
    ("rate NaN", {"rate": np.nan}, ValueError, "rate must be finite"),
    ("epochs 0", {"epochs": 0}, ValueError, "epochs must be at least 1, got 0"),
    ("negative ridge", {"ridge": -1.0}, ValueError, "ridge must not be negative, got -1.0"),
    ("negative average", {"average": -1}, ValueError, "average must be at least 0, got -1"),
    ("rate far too large", {"rate": 1e38, "epochs": 3}, ValueError, "training went astray in epoch.*smaller rate than 1e"),
]


@pytest.mark.parametrize(("change", "error", "message"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_bad_input_is_named(change: dict[str, Any], error: type[Exception], message: str) -> None:
    given: dict[str, Any] = {"features": X0, "labels": L0, "classes": CLASSES, "epochs": 1, **change}
    with pytest.raises(error, match=message):
        logistic.fit(given.pop("features"), given.pop("labels"), given.pop("classes"), **given)


def test_large_features_are_not_taken_for_gaps() -> None:
    """Their squares leave the range of float32, they do not; what needs the squares says so."""
    large = (1e25 * X0).astype(np.float32)
    [block] = minibatches.FeatureRows(large, "float32").load([0])
    np.testing.assert_array_equal(block, large)
    with pytest.raises(ValueError, match="squares of the features leave the range of float32: scale"):
        logistic.fit(large, L0, CLASSES, standardise=True)


def test_starts_that_do_not_fit_are_named() -> None:
    begun = logistic.fit(X0, L0, CLASSES, epochs=1)
    tries: list[tuple[Callable[[], Any], str]] = [
        (
            lambda: logistic.fit(X0[:, 1:], L0, CLASSES, epochs=2, start=begun),
            "start has 4 classes and 7 features, the data 4 and 6",
        ),
        (lambda: logistic.fit(X0, L0, CLASSES, epochs=2, start=begun, loss="softmax"), "start was trained with loss='sigmoid'"),
        (
            lambda: logistic.fit(X0, L0, CLASSES, epochs=2, start=begun, standardise=True),
            "start was trained with standardise=False",
        ),
        (
            lambda: logistic.fit(X0, L0, CLASSES, epochs=2, start=begun, validation=0.2),
            "start was trained without validation rows",
        ),
    ]
    for attempt, message in tries:
        with pytest.raises(ValueError, match=re.escape(message)):
            attempt()


def test_a_stream_that_breaks_its_promise_is_named() -> None:
    stream = Stream(X0)
    stream.shape = (COUNT, 1, WIDTH + 1)
    with pytest.raises(ValueError, match=r"block\(\d+, \d+\) has shape .*, but should have \(\d+, 8\)"):
        logistic.fit(stream, L0, CLASSES, epochs=1, block=100)
