"""A readout that learns alone, several outputs side by side, and the plain mean of W_out from one step on."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

import echoscale as es
from echoscale.learning import RLS, Adam, OnlineLearner, Reinitialise
from echoscale.learning.online.stream import BUFFER

Floats = npt.NDArray[np.float64]


@cache
def build() -> es.ESN:
    network = es.hierarchical([6, 5], leak_rate=[0.6, 0.3], spectral_radius=0.9, input_scaling=0.5, connections=3)
    return network.build(2, seed=4, dtype="float64")


def data(length: int, sequences: int = 2, outputs: int = 1, loss: str = "mse") -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    u, y = rng.normal(size=(sequences, length, 2)), rng.normal(size=(sequences, length, outputs))
    if loss == "sigmoid":
        y = (y > 0).astype(float)
    elif loss == "softmax":
        y = np.eye(outputs)[np.argmax(y, axis=-1)]
    return u, y


def weights(learner: OnlineLearner) -> Floats:
    """W_out with the intercept last: (O, N + 1), or (S, O, N + 1)."""
    readout = learner.readout
    return np.concatenate([readout.coef, readout.intercept[..., None]], axis=-1)


def online(esn: es.ESN, outputs: int = 1, **rules: Any) -> OnlineLearner:
    """A learner on the same weights."""
    return OnlineLearner(esn.network, outputs, **{"seed": esn.seed, "dtype": esn.dtype, **rules})


def three_starts() -> Any:
    return build().hyper.replace(leak_rate=[np.array([0.2, 0.5, 0.9]), 0.3])


# ------------------------------------------------------------------------------------------------------------- readouts alone

KINDS: dict[str, dict[str, Any]] = {
    "means": {"average": 30},
    "classes": {"loss": "softmax", "outputs": 3},
    "least squares": {"readout": RLS(1e-2, 0.99)},
    "starts": {"starts": True},
}


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_readout_alone_is_a_learner_with_its_numbers_frozen(kind: str) -> None:
    """To rounding: another program, the same sums. What would have been learned otherwise moves a third one elsewhere."""
    settings = {"readout": Adam(0.02), "rates": Adam(0.003), "washout": 5, "record": 20, "outputs": 1, **KINDS[kind]}
    settings["starts"] = three_starts() if settings.get("starts") else None
    u, y = data(120, outputs=settings["outputs"], loss=settings.get("loss", "mse"))
    y[:, 50:53], y[1, 80] = np.nan, np.nan
    alone = online(build(), parameters=(), **settings).partial_fit(u[:, :5], y[:, :5])
    held, free = (online(build(), parameters="leak_rate[0]", **settings).partial_fit(u[:, :5], y[:, :5]) for _ in range(2))
    alone.freeze()  # nothing there to be held
    held.freeze()
    for each in (alone, held, free):
        each.partial_fit(u[:, 5:], y[:, 5:])
    for name, theirs in {"state": held.state, "values": np.zeros((alone.settings.starts, 0))}.items():
        np.testing.assert_allclose(getattr(alone, name), theirs, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(weights(alone), weights(held), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(alone.history.loss, held.history.loss, rtol=1e-12)
    np.testing.assert_array_equal(alone.history.targets, held.history.targets)
    assert dict(alone.history.sizes) == {"start": alone.settings.starts, "parameter": 0, "step": 6}
    np.testing.assert_allclose(alone.predict(u, start=0), held.predict(u, start=0), rtol=1e-12, atol=1e-12)
    assert alone.network == held.network
    assert np.abs(weights(free) - weights(held)).max() > 1e-4


def test_the_network_of_a_readout_alone_is_the_one_it_was_given() -> None:
    u, y = data(60)
    learner = online(build(), parameters=(), washout=0, average=30).fit(u, y)
    np.testing.assert_allclose(learner.state, build().run(u)[:, -1], rtol=1e-12)
    assert learner.learned == ()
    for ours, theirs in zip(learner.hyper, build().hyper, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_readout_alone_can_be_saved(tmp_path: Path) -> None:
    u, y = data(200)
    settings: dict[str, Any] = {"parameters": (), "washout": 10, "average": 50, "record": 30}
    whole = online(build(), **settings).partial_fit(u, y)
    part = online(build(), **settings).partial_fit(u[:, :117], y[:, :117])
    loaded = es.load(es.save(part, tmp_path / "learner.es"))
    assert loaded.learned == ()
    loaded.partial_fit(u[:, 117:], y[:, 117:])
    np.testing.assert_array_equal(weights(loaded), weights(whole))
    assert loaded.history.identical(whole.history)


# ------------------------------------------------------------------------------------------------------------ several outputs


def adam(states: Floats, y: Floats, first: Floats, rule: Adam, washout: int) -> tuple[Floats, list[float]]:
    """One row of W_out (N + 1,) on states (B, T, N) and targets (B, T), step by step; and the loss of each that counts."""
    assert isinstance(rule.rate, float)
    row, mean, square, moves, losses = first.copy(), np.zeros_like(first), np.zeros_like(first), 0, []
    for t in range(washout, states.shape[1]):
        there = [b for b in range(len(states)) if not np.isnan(y[b, t])]
        if not there:
            continue
        moves += 1
        gradient, loss = np.zeros_like(row), 0.0
        for b in there:
            x = np.append(states[b, t], 1.0)
            apart = x @ row - y[b, t]
            gradient += apart * x / len(there)
            loss += apart**2 / 2 / len(there)
        losses.append(float(loss))
        mean = rule.beta1 * mean + (1 - rule.beta1) * gradient
        square = rule.beta2 * square + (1 - rule.beta2) * gradient**2
        size = np.sqrt(square / (1 - rule.beta2**moves)) + rule.epsilon
        row = row - rule.rate * (mean / (1 - rule.beta1**moves)) / size
    return row, losses


def test_each_output_is_adam_on_the_states_of_the_network() -> None:
    """Three rows, each moved by its own loop; the loss is their sum. A sequence without a target leaves the mean."""
    u, y = data(90, outputs=3)
    y[1, 30:40], y[:, 60:62] = np.nan, np.nan
    rule = Adam(0.01, 0.8, 0.99)
    learner = online(build(), 3, parameters=(), readout=rule, washout=6, record=1)
    first = weights(learner.partial_fit(u[:, :6], y[:, :6]))
    assert (np.abs(first[:, :-1]) > 0).all()
    learner.partial_fit(u[:, 6:], y[:, 6:])
    rows, losses = zip(*(adam(build().run(u), y[..., k], first[k], rule, 6) for k in range(3)), strict=True)
    np.testing.assert_allclose(weights(learner), rows, rtol=1e-9, atol=1e-11)
    counted = learner.history.loss.values[0][learner.history.targets.values > 0]
    np.testing.assert_allclose(counted, np.sum(losses, axis=0), rtol=1e-9)


def test_the_readout_of_one_neuron() -> None:
    """So little that XLA would compile the loop in another way, which knows no barriers."""
    esn = es.single(1).build(1)
    u, y = data(20, sequences=1)
    rule = Adam(0.01, 0.8, 0.99)
    learner = online(esn, parameters=(), readout=rule, washout=1)
    first = weights(learner.partial_fit(u[0, :1, :1], y[0, :1]))
    learner.partial_fit(u[0, 1:, :1], y[0, 1:])
    row, _ = adam(esn.run(u[..., :1]), y[..., 0], first[0], rule, 1)
    np.testing.assert_allclose(weights(learner)[0], row, rtol=1e-4)


@pytest.mark.parametrize(("loss", "average"), [("mse", None), ("sigmoid", 40)])
def test_other_targets_for_one_output_move_no_other(loss: str, average: int | None) -> None:
    u, y = data(90, outputs=3, loss=loss)
    changed = y.copy()
    changed[..., 1] = 1 - changed[..., 1]
    one, two = (
        weights(online(build(), 3, parameters=(), loss=loss, washout=5, average=average).fit(u, each)) for each in (y, changed)
    )
    np.testing.assert_allclose(one[[0, 2]], two[[0, 2]], rtol=1e-13)
    assert (one[1] != two[1]).all()


# ------------------------------------------------------------------------------------------------------------- the plain mean


class Way(NamedTuple):
    """What W_out went through: rows (T, S, O, N + 1) after every step, and of every step and start whether it moved W_out
    (T,) and whether it ended with a fresh one (T, S)."""

    rows: Floats
    moved: npt.NDArray[np.bool_]
    reset: npt.NDArray[np.bool_]

    def mean(self, average: int, steps: int) -> Floats:
        """After so many steps: over all that moved W_out, from step `average` and from the last fresh one on; W_out itself
        where there is none."""
        found = []
        for s in range(self.rows.shape[1]):
            fresh = [t + 1 for t in range(steps) if self.reset[t, s]]
            begin = max([average, *fresh])
            own = [self.rows[t, s] for t in range(begin, steps) if self.moved[t]]
            found.append(np.mean(own, axis=0) if own else self.rows[steps - 1, s])
        return np.array(found)


WASHOUT = 10
SETTINGS: dict[str, Any] = {"readout": Adam(0.02), "parameters": "leak_rate[0]", "rates": Adam(1e-3), "washout": WASHOUT}
GAPS = [slice(20, 27), slice(70, 71)]


def series(length: int) -> tuple[Any, Any]:
    """With steps where no sequence has a target, and some where one has."""
    u, y = data(length)
    for gap in GAPS:
        y[:, gap] = np.nan
    y[1, 40:60] = np.nan
    return u, y


def watched(length: int, **changes: Any) -> Way:
    """A learner without a mean, led step by step."""
    u, y = series(length)
    learner = online(build(), **{**SETTINGS, **changes})
    rows, reset, before = [], [], np.zeros(learner.settings.starts, int)
    for t in range(length):
        learner.partial_fit(u[:, t : t + 1], y[:, t : t + 1])
        assert learner.stream is not None
        resets = np.array(learner.stream.memory.resets)
        reset.append(resets > before)
        before = resets
        rows.append(weights(learner).reshape(learner.settings.starts, 1, -1))
    moved = (np.arange(length) >= WASHOUT) & ~np.isnan(y).all(axis=(0, 2))
    return Way(np.array(rows), moved, np.array(reset))


def assert_means(path: Way, average: int, cuts: list[int], **changes: Any) -> OnlineLearner:
    """Led in pieces, with a look at the mean after each. A mean of n equal weights is rounded n times: 1e-12 is ample."""
    u, y = series(len(path.rows))
    learner, begin = online(build(), average=average, **{**SETTINGS, **changes}), 0
    for cut in cuts:
        learner.partial_fit(u[:, begin:cut], y[:, begin:cut])
        begin = cut
        expected = path.mean(average, cut)
        np.testing.assert_allclose(weights(learner).reshape(expected.shape), expected, rtol=1e-11, atol=1e-12)
        if cut <= average:
            np.testing.assert_array_equal(weights(learner).reshape(expected.shape), expected)
    return learner


LENGTH = BUFFER + 80


@pytest.fixture(scope="module")
def long_path() -> Way:
    path = watched(LENGTH, record=5000)
    np.testing.assert_array_equal(np.any(path.rows[1:] != path.rows[:-1], axis=(1, 2, 3)), path.moved[1:])
    return path


@pytest.mark.parametrize("average", [0, 5, 23, 70, 600, BUFFER - 1, BUFFER, BUFFER + 1, LENGTH - 1, LENGTH, 10**6])
def test_the_mean_of_all_steps_from_one_on(long_path: Way, average: int) -> None:
    """In one piece across a buffer, and in pieces: before that step it is W_out, and steps without a target do not count."""
    assert_means(long_path, average, [LENGTH], record=5000)
    learner = assert_means(long_path, average, [8, 15, 22, 25, 28, 71, 72, 601, BUFFER, BUFFER + 1, LENGTH], record=5000)
    if 0 < average < LENGTH - 1:
        assert np.abs(weights(learner) - long_path.rows[-1, 0]).max() > 1e-3


def test_windows_of_the_history_do_not_matter(long_path: Way) -> None:
    assert_means(long_path, 45, [300], record=7)


def test_every_start_has_its_mean() -> None:
    path = watched(150, starts=three_starts(), record=40)
    assert np.abs(path.rows[-1, 0] - path.rows[-1, 2]).max() > 1e-3
    for average in (0, 15, 24, 90):
        assert_means(path, average, [14, 26, 100, 150], starts=three_starts(), record=40)


def test_a_fresh_readout_begins_a_fresh_mean() -> None:
    """After a reset `readout` is the new W_out itself until a step moves it; a reset before `average` changes nothing."""
    changes: dict[str, Any] = {"protocol": Reinitialise(every=60, tolerance=1e-9), "record": 1000}
    path = watched(200, **changes)
    assert np.flatnonzero(path.reset[:, 0]).tolist() == [59, 119, 179]
    for average in (0, 75, 130):
        assert_means(path, average, [59, 60, 61, 75, 119, 120, 140, 179, 180, 200], **changes)


def test_only_the_starts_that_are_reset_begin_anew() -> None:
    """A start whose numbers are back where they were keeps its readout and its mean; the others lose theirs."""
    changes: dict[str, Any] = {"protocol": Reinitialise(every=40, tolerance=0.001), "starts": three_starts()}
    path = watched(200, **changes)
    resets = path.reset.sum(axis=0)
    assert resets.min() < resets.max()
    assert_means(path, 15, [39, 40, 41, 80, 95, 120, 160, 200], **changes)


@pytest.mark.parametrize("at", [12, 60, 119, 120, 150])
def test_saving_keeps_the_mean(at: int, tmp_path: Path) -> None:
    """Before its first step, within it, and on both sides of a reset: bit for bit."""
    u, y = series(200)
    settings = {**SETTINGS, "average": 30, "protocol": Reinitialise(every=120, tolerance=1e-9)}
    whole = online(build(), **settings).partial_fit(u, y)
    part = online(build(), **settings).partial_fit(u[:, :at], y[:, :at])
    loaded = es.load(es.save(part, tmp_path / "learner.es"))
    assert loaded.settings.average == 30
    assert loaded.settings.averages_plainly
    np.testing.assert_array_equal(weights(loaded), weights(part))
    loaded.partial_fit(u[:, at:], y[:, at:])
    np.testing.assert_array_equal(weights(loaded), weights(whole))
    np.testing.assert_array_equal(loaded.predict(u), whole.predict(u))


def test_a_mean_changes_nothing_that_is_learned() -> None:
    """Predictions read the mean; W_out, states and numbers go their way without it."""
    u, y = series(150)
    plain, averaged = (online(build(), average=each, **SETTINGS).fit(u, y) for each in (None, 30))
    np.testing.assert_allclose(averaged.values, plain.values, rtol=1e-12)
    np.testing.assert_allclose(averaged.state, plain.state, rtol=1e-12)
    assert plain.stream is not None
    assert averaged.stream is not None
    np.testing.assert_allclose(averaged.stream.carry.theta, plain.stream.carry.theta, rtol=1e-12)
    rows = weights(averaged)
    states = build().run(u, hyper=averaged.hyper)
    np.testing.assert_allclose(averaged.predict(u), states @ rows[:, :-1].T + rows[:, -1], rtol=1e-10, atol=1e-12)
    assert np.abs(averaged.predict(u) - plain.predict(u)).max() > 1e-3


@pytest.mark.parametrize(
    ("average", "error", "message"),
    [
        (-1, ValueError, "average must be at least 0, got -1"),
        (1.0, ValueError, r"average must lie in \(0, 1\), .* or be a whole number, .*; got 1\.0"),
        (0.0, ValueError, r"average must lie in \(0, 1\), .*; got 0\.0"),
        (100.5, ValueError, r"average must lie in \(0, 1\), .*; got 100\.5"),
        (np.nan, ValueError, "average must be finite, got nan"),
        (True, TypeError, "average must be a whole number, got True"),
        (False, TypeError, "average must be a whole number, got False"),
        ("late", TypeError, "average must be a number, got 'late'"),
    ],
)
def test_means_that_are_none(average: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        online(build(), average=average)


@pytest.mark.parametrize("average", [0, 100])
def test_least_squares_has_no_mean(average: int) -> None:
    with pytest.raises(ValueError, match="average is for readouts learned by Adam"):
        online(build(), readout=RLS(), average=average)
