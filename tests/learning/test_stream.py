"""Streams: cut anywhere, saved, killed and interrupted, they learn the same; the history and the protocol along the way."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import echoscale as es
from echoscale.learning import RLS, Adam, OnlineLearner, Reinitialise
from echoscale.learning.online import history as book
from echoscale.learning.online import loop
from echoscale.learning.online import reinitialise as rules
from echoscale.learning.online import stream as streams
from echoscale.storage.save_load import StorageError


def build() -> es.ESN:
    return es.hierarchical([6, 5], leak_rate=[0.5, 0.4], spectral_radius=0.9, connections=3).build(1, seed=1)


def stream(length: int = 2600, sequences: int = 3) -> tuple[Any, Any]:
    u, y = es.tasks.narma(length * sequences, order=5, seed=0)
    return u.reshape(sequences, length, 1), y.reshape(sequences, length, 1)


KINDS: dict[str, Any] = {
    "adam": {"average": 0.99},
    "least squares": {"readout": RLS(1e-3, 0.999)},
    "starts and protocol": {"starts": (0.2, 0.5, 0.9), "protocol": Reinitialise(every=700)},
}


def learner(kind: str = "adam", **changes: Any) -> OnlineLearner:
    esn = build()
    settings = {"readout": Adam(3e-3), "rates": Adam(1e-4), "record": 500, **KINDS[kind], **changes}
    if settings.get("starts"):
        settings["starts"] = esn.hyper.replace(leak_rate=[np.array(settings["starts"]), 0.4])
    return OnlineLearner(esn.network, **{"seed": esn.seed, "dtype": esn.dtype, **settings})


def assert_same(one: OnlineLearner, two: OnlineLearner) -> None:
    """To the last bit."""
    assert one.steps == two.steps
    np.testing.assert_array_equal(one.values, two.values)
    np.testing.assert_array_equal(one.readout.coef, two.readout.coef)
    np.testing.assert_array_equal(one.readout.intercept, two.readout.intercept)
    np.testing.assert_array_equal(one.state, two.state)
    assert one.history.identical(two.history)


@pytest.mark.parametrize("kind", list(KINDS))
def test_cuts_saving_and_loading_change_nothing(kind: str, tmp_path: Path) -> None:
    u, y = stream()
    whole = learner(kind).partial_fit(u, y)
    assert whole.steps == 2600
    assert dict(whole.history.sizes) == {"start": whole.settings.starts, "parameter": 2, "step": 5}
    pieces, begin = learner(kind), 0
    for size in (1, 210, 1, 700, 88, 1500, 100):
        pieces.partial_fit(u[:, begin : begin + size], y[:, begin : begin + size])
        begin += size
        if begin in (211, 1000):
            pieces = es.load(es.save(pieces, tmp_path / "learner.es"))
    assert_same(whole, pieces)
    np.testing.assert_array_equal(whole.predict(u[0]), pieces.predict(u[0]))
    loaded = es.load(es.save(whole, tmp_path / "learner.es"))
    assert_same(whole.partial_fit(u, y), loaded.partial_fit(u, y))


def test_a_learner_that_has_not_begun_can_be_saved(tmp_path: Path) -> None:
    u, y = stream(300)
    rates = Adam({"leak_rate[0]": 1e-3, "leak_rate[1]": 2e-3, "coupling": 3e-3})
    fresh = learner(rates=rates, parameters=("leak_rate", "coupling"))
    loaded = es.load(es.save(fresh, tmp_path / "learner.es"))
    assert loaded.settings.rates == fresh.settings.rates
    assert_same(fresh.partial_fit(u, y), loaded.partial_fit(u, y))


def test_a_file_of_another_learner_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    u, y = stream(300)
    model = learner().partial_fit(u, y)
    assert model.stream is not None
    model.stream = model.stream._replace(carry=model.stream.carry._replace(theta=np.zeros((3, 1), np.float32)))
    path = es.save(model, tmp_path / "learner.es")
    with pytest.raises(StorageError, match="not a whole echoscale model"):
        es.load(path)


WORKER = """
import sys, numpy as np, echoscale as es
sys.path.insert(0, sys.argv[1])
from test_stream import learner, stream
u, y = stream()
model = learner("starts and protocol")
for begin in range(0, 2600, 10):
    model.partial_fit(u[:, begin : begin + 10], y[:, begin : begin + 10])
    es.save(model, sys.argv[2])
"""


def test_a_killed_run_carries_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    u, y = stream()
    path = tmp_path / "learner.es"
    worker = subprocess.Popen([sys.executable, "-c", WORKER, str(Path(__file__).parent), str(path)])
    deadline = time.monotonic() + 60
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.3)
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    restored = es.load(path)
    assert 0 < restored.steps < 2600
    restored.partial_fit(u[:, restored.steps :], y[:, restored.steps :])
    assert_same(restored, learner("starts and protocol").partial_fit(u, y))


def test_an_interrupt_leaves_a_learner_that_can_go_on() -> None:
    u, y = stream()
    seen: list[tuple[int, int]] = []

    def stop(done: int, total: int, note: str) -> None:
        assert note.startswith("loss ")
        seen.append((done, total))
        if done >= 1000:
            raise KeyboardInterrupt

    model = learner()
    with pytest.raises(KeyboardInterrupt):
        model.fit(u, y, progress=stop)
    assert seen == [(500, 2600), (1000, 2600)]
    assert model.steps == 1000
    model.partial_fit(u[:, 1000:], y[:, 1000:])
    assert_same(model, learner().fit(u, y))


def test_fit_begins_anew() -> None:
    u, y = stream(600)
    model = learner().partial_fit(u[:2], y[:2])
    assert_same(model.fit(u, y), learner().partial_fit(u, y))


def test_one_series_and_flat_targets() -> None:
    u, y = stream(600, 1)
    one, batch = learner(), learner()
    one.partial_fit(u[0], y[0, :, 0])
    batch.partial_fit(u, y)
    np.testing.assert_array_equal(one.values, batch.values)
    assert one.predict(u[0]).shape == (600, 1)
    assert batch.predict(u).shape == (1, 600, 1)


@pytest.mark.parametrize("readout", [Adam(3e-3), RLS(0.1, 0.999)], ids=["adam", "least squares"])
def test_learning_helps(readout: Any) -> None:
    """Leaks that start badly move, the loss falls, and the network with the learned numbers predicts better on new data."""
    u, y = stream(10_000)
    esn = es.hierarchical([20, 20], leak_rate=[0.05, 0.05], spectral_radius=0.9, input_scaling=0.3).build(1, seed=0)
    model = OnlineLearner(esn.network, readout=readout, rates=Adam(1e-3, 0.99)).fit(u[:, :9000], y[:, :9000])
    losses = model.history.loss.sel(start=0).values
    assert losses[-1] < losses[1]
    assert (model.values[0] > 0.1).all()
    new_u, new_y = u[:, 9000:], y[:, 9000:]

    def error(network: es.Network) -> float:
        regressor = es.ESNRegressor(network=network, random_state=0, washout=200, ridge=1e-5, columns=es.readouts.Columns(0))
        regressor.fit(list(u[:, :5000]), list(y[:, :5000]))
        predicted = regressor.predict(list(new_u))
        return float(np.mean([es.nrmse(target[200:], each[200:]) for target, each in zip(new_y, predicted, strict=True)]))

    assert error(model.network) < 0.9 * error(esn.network)


# ------------------------------------------------------------------------------------------------------------------- history


def test_the_history_stays_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    u, y = stream(1700)
    fine = learner(record=100, average=None).partial_fit(u, y).history
    monkeypatch.setattr(book, "MOST", 4)
    coarse = learner(record=100, average=None).partial_fit(u, y).history
    assert coarse.attrs["window"] == 800
    assert coarse.step.values.tolist() == [800, 1600]
    np.testing.assert_array_equal(coarse.value, fine.value.sel(step=[800, 1600]))
    weight = fine.targets / fine.targets.sum()
    for name in ("loss", "gradient"):
        np.testing.assert_allclose(
            (coarse[name] * coarse.targets).sum("step") / coarse.targets.sum(),
            (fine[name].fillna(0) * weight)[..., :16].sum("step") / weight[:16].sum(),
            rtol=1e-4,
        )
    assert coarse.targets.values.tolist() == [700, 800]  # the washout has none


def test_windows_without_targets_have_no_loss() -> None:
    rows = book.init(10, 1, 2)
    rows = book.add(rows, 0.0, np.zeros((2, 2)), np.ones((1, 2)))
    assert np.isnan(rows.loss[0]).all()
    assert np.isnan(book.recent_loss(rows)).all()
    rows = book.add(rows, 5.0, np.array([[5.0, 10.0], [1.0, 2.0]]), np.ones((1, 2)))
    np.testing.assert_array_equal(book.recent_loss(rows), [1, 2])
    both = book.merged(rows)
    np.testing.assert_array_equal(both.loss, [[1, 2]])
    np.testing.assert_allclose(both.gradient[0], [[0.2, 0.4]])
    assert (both.window, both.used, both.targets.tolist()) == (20, 1, [5.0])


# ------------------------------------------------------------------------------------------------------------------ protocol


def test_settling_resets_and_coming_back_converges() -> None:
    rule = Reinitialise(tolerance=0.1)
    memory = rules.init(1, 3)
    #          start 0 settles and stays;  start 1 keeps moving;  start 2 settles, moves on after the reset, settles again
    looks = [(0.5, 0.1, 0.5), (0.51, 0.3, 0.52), (0.52, 0.5, 0.8), (0.53, 0.7, 0.81), (0.54, 0.9, 0.82)]
    resets, converged = [], []
    for values in looks:
        memory, reset = rules.look(rule, memory, np.array([values]))
        resets.append(reset.tolist())
        converged.append(memory.converged.tolist())
    assert resets == [[False] * 3, [True, False, True], [False] * 3, [False, False, True], [False] * 3]
    assert converged == [[False] * 3, [False] * 3, [True, False, False], [True, False, False], [True, False, True]]
    assert memory.resets.tolist() == [1, 0, 2]


def test_every_so_many_steps() -> None:
    rule = Reinitialise(every=10, tolerance=0.1)
    assert rule.period == 10
    memory = rules.init(1, 2)
    memory, reset = rules.look(rule, memory, np.array([[0.5, 0.5]]))
    assert reset.all()
    memory, reset = rules.look(rule, memory, np.array([[0.55, 0.7]]))
    assert reset.tolist() == [False, True]
    assert memory.converged.tolist() == [True, False]


@pytest.mark.parametrize("readout", [Adam(3e-3), RLS(1e-3)], ids=["adam", "least squares"])
def test_a_reset_begins_a_new_readout_and_convergence_freezes(readout: Any) -> None:
    u, y = stream(2000)
    model = learner(
        readout=readout, rates=Adam(1e-3), protocol=Reinitialise(every=500, tolerance=0.05), average=None, record=250
    )
    model.partial_fit(u[:, :499], y[:, :499])
    before = model.readout.coef
    model.partial_fit(u[:, 499:500], y[:, 499:500])
    after, values = model.readout.coef, model.values
    assert model.stream is not None
    assert model.stream.memory.resets.tolist() == [1]
    assert np.abs(after).max() < 0.05 < np.abs(before).max()
    if isinstance(readout, Adam):
        assert np.abs(after).min() > 0  # with nothing at all the leaks would have no gradient
        moments = model.stream.carry.moments
        assert not np.asarray(moments.mean)[:-2].any()
        assert np.asarray(moments.mean)[-2:].all()  # those of the leaks go on
    model.partial_fit(u[:, 500:510], y[:, 500:510])
    assert (values != model.values).all()
    while not model.converged.all() and model.steps < 6000:
        model.partial_fit(u[:, :500], y[:, :500])
    assert model.converged.all()
    resting, readout_then = model.values, model.readout.coef
    model.partial_fit(u, y)
    np.testing.assert_array_equal(model.values, resting)
    assert not np.array_equal(model.readout.coef, readout_then)


def test_the_default_washout_of_a_stream_is_a_hundred_steps() -> None:
    u, y = stream(300)
    assert_same(learner().partial_fit(u, y), learner(washout=100).partial_fit(u, y))
    assert learner().settings.washout == 100


@pytest.mark.parametrize("kind", ["least squares", "starts and protocol"])
def test_the_first_carry_is_spread_over_the_lanes_as_in_the_loop(kind: str) -> None:
    u, y = stream(300)
    model = learner(kind, constraint="logistic").partial_fit(u, y)
    assert model.stream is not None
    plan, carry = model.stream.plan, model.stream.carry
    values, readout = streams.spread(model.settings, plan, carry)
    with model.settings.context():
        expected = loop.spread(plan, jnp.asarray(carry.theta), carry.squares)
    np.testing.assert_allclose(values, expected[0], rtol=1e-6)
    np.testing.assert_allclose(readout, expected[1], rtol=1e-6)
