"""The online learner against the whole rule written out in NumPy, step by step, and against each of its parts alone."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import optax
import pytest

import echoscale as es
from echoscale.learning import PRESETS, RLS, Adam, LearningError, OnlineLearner, Reinitialise
from echoscale.learning.online import adam
from echoscale.readouts.statistics import of_rows

UNITS = (6, 5)
EVERYTHING = ("leak_rate", "spectral_radius[1]", "input_scaling[0]", "coupling")


def build(dtype: str = "float64", leaks: tuple[float, float] = (0.6, 0.3)) -> es.ESN:
    network = es.hierarchical(list(UNITS), leak_rate=list(leaks), spectral_radius=0.9, input_scaling=0.5, connections=3)
    return network.build(2, seed=4, dtype=dtype)


def data(sequences: int = 3, length: int = 50, outputs: int = 1, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(sequences, length, 2)), rng.normal(size=(sequences, length, outputs))


def rate_of(rule: Adam) -> float:
    assert isinstance(rule.rate, float)
    return rule.rate


def online(esn: es.ESN, outputs: int = 1, **rules: Any) -> OnlineLearner:
    """A learner on the same weights."""
    return OnlineLearner(esn.network, outputs, **{"seed": esn.seed, "dtype": esn.dtype, **rules})


class Naive:
    """The rule for two reservoirs, first drives second: states, traces by hand, Adam by hand, a few rows at a time."""

    def __init__(self, esn: es.ESN, learned: list[str], fresh: Any, outputs: int) -> None:
        dense = [each.toarray() for each in esn.drawn.recurrent]
        self.W1, self.W2, self.C = dense[0], dense[1], esn.drawn.couplings[0].toarray()
        self.I1, self.I2 = esn.drawn.inputs
        h = esn.hyper
        self.number = {
            "leak_rate[0]": float(h.leak_rate[0]),
            "leak_rate[1]": float(h.leak_rate[1]),
            "spectral_radius[0]": float(h.spectral_radius[0]),
            "spectral_radius[1]": float(h.spectral_radius[1]),
            "input_scaling[0]": float(h.input_scaling[0]),
            "input_scaling[1]": float(h.input_scaling[1]),
            "coupling[0]": float(h.coupling[0]),
        }
        self.learned = learned
        self.W_out = np.array(fresh)  # (O, N + 1)
        self.outputs = outputs

    def run(
        self,
        u: Any,
        y: Any,
        loss: str,
        trace: str,
        washout: int,
        readout: Adam,
        rate: Adam,
        constraint: str = "clip",
    ) -> None:
        sequences, length, _ = u.shape
        x = [[np.zeros(UNITS[0]), np.zeros(UNITS[1])] for _ in range(sequences)]
        e = [{name: [np.zeros(UNITS[0]), np.zeros(UNITS[1])] for name in self.learned} for _ in range(sequences)]
        m_w, v_w = np.zeros_like(self.W_out), np.zeros_like(self.W_out)
        m, v = dict.fromkeys(self.learned, 0.0), dict.fromkeys(self.learned, 0.0)
        moves = 0
        self.losses: list[float] = []
        self.gradients: list[dict[str, float]] = []
        for t in range(length):
            shown = [b for b in range(sequences) if t >= washout and not np.isnan(y[b, t]).any()]
            g_w, g, value = np.zeros_like(self.W_out), dict.fromkeys(self.learned, 0.0), 0.0
            for b in range(sequences):
                x[b], e[b] = self.step(x[b], e[b], u[b, t], trace)
                if b in shown:
                    whole = np.concatenate([*x[b], [1.0]])
                    z = self.W_out @ whole
                    d, part = self.slope(loss, z, y[b, t])
                    value += part / len(shown)
                    g_w += np.outer(d, whole) / len(shown)
                    for name in self.learned:
                        pull = d @ (self.W_out[:, :-1] @ np.concatenate(e[b][name]))
                        g[name] += pull / len(shown)
            if not shown:
                continue
            moves += 1
            self.losses.append(value)
            self.gradients.append(dict(g))
            m_w = readout.beta1 * m_w + (1 - readout.beta1) * g_w
            v_w = readout.beta2 * v_w + (1 - readout.beta2) * g_w**2
            size = np.sqrt(v_w / (1 - readout.beta2**moves)) + readout.epsilon
            self.W_out = self.W_out - rate_of(readout) * (m_w / (1 - readout.beta1**moves)) / size
            for name in self.learned:
                self.move(name, g[name], m, v, moves, rate, constraint)

    def move(self, name: str, g: float, m: Any, v: Any, moves: int, rate: Adam, constraint: str) -> None:
        now = self.number[name]
        leak, free = name.startswith("leak"), name.startswith("coupling")
        if constraint == "logistic" and not free:
            g *= now * (1 - now) if leak else now
            now = np.log(now / (1 - now)) if leak else np.log(now)
        m[name] = rate.beta1 * m[name] + (1 - rate.beta1) * g
        v[name] = rate.beta2 * v[name] + (1 - rate.beta2) * g**2
        size = np.sqrt(v[name] / (1 - rate.beta2**moves)) + rate.epsilon
        now -= rate_of(rate) * m[name] / (1 - rate.beta1**moves) / size
        if constraint == "logistic" and not free:
            now = 1 / (1 + np.exp(-now)) if leak else np.exp(now)
        elif constraint == "clip" and not free:
            now = min(max(now, 0.001), 1.0) if leak else max(now, 0.0)
        self.number[name] = float(now)

    def step(self, x: Any, e: Any, u: Any, trace: str) -> tuple[Any, Any]:
        n = self.number
        a1, a2, c = n["leak_rate[0]"], n["leak_rate[1]"], n["coupling[0]"]
        r1, r2 = n["spectral_radius[0]"], n["spectral_radius[1]"]
        f1 = np.tanh(n["input_scaling[0]"] * self.I1 @ u + r1 * self.W1 @ x[0])
        f2 = np.tanh(n["input_scaling[1]"] * self.I2 @ u + r2 * self.W2 @ x[1] + c * self.C @ x[0])
        new = [(1 - a1) * x[0] + a1 * f1, (1 - a2) * x[1] + a2 * f2]
        own = 1.0 if trace == "exact" else 0.0
        traces = {}
        for name, (e1, e2) in e.items():
            h1, h2 = own * r1 * self.W1 @ e1, own * r2 * self.W2 @ e2 + c * self.C @ e1
            if name == "spectral_radius[1]":
                h2 = h2 + self.W2 @ x[1]
            if name == "input_scaling[0]":
                h1 = h1 + self.I1 @ u
            if name == "coupling[0]":
                h2 = h2 + self.C @ x[0]
            e1 = (1 - a1) * e1 + a1 * (1 - f1**2) * h1 + (name == "leak_rate[0]") * (f1 - x[0])
            e2 = (1 - a2) * e2 + a2 * (1 - f2**2) * h2 + (name == "leak_rate[1]") * (f2 - x[1])
            traces[name] = [e1, e2]
        return new, traces

    @staticmethod
    def slope(loss: str, z: Any, y: Any) -> tuple[Any, float]:
        if loss == "mse":
            return z - y, float(((z - y) ** 2).sum() / 2)
        if loss == "sigmoid":
            p = 1 / (1 + np.exp(-z))
            return p - y, float(-(y * np.log(p) + (1 - y) * np.log(1 - p)).sum())
        p = np.exp(z) / np.exp(z).sum()
        return p - y, float(-(y * np.log(p)).sum())


def fresh(learner: OnlineLearner) -> Any:
    """(O, N + 1): the readout before the first step that counts."""
    readout = learner.readout
    return np.concatenate([readout.coef, readout.intercept[:, None]], axis=1)


CASES = [
    ("mse", "exact", "clip", 1),
    ("mse", "truncated", "clip", 1),
    ("sigmoid", "exact", "logistic", 2),
    ("softmax", "exact", "free", 3),
]


@pytest.mark.parametrize(("loss", "trace", "constraint", "outputs"), CASES)
def test_every_step_of_the_whole_rule(loss: str, trace: str, constraint: str, outputs: int) -> None:
    """States, exact and truncated traces, three losses, Adam on both groups, constraints, washout and a gap."""
    esn = build()
    u, y = data(outputs=outputs)
    if loss != "mse":
        y = (y > 0).astype(float) if loss == "sigmoid" else np.eye(outputs)[np.argmax(y, axis=-1)]
    y[1, 20:25] = np.nan  # one sequence of three
    y[:, 30:33] = np.nan  # all of them
    readout, rate = Adam(0.02, 0.8, 0.99), Adam(0.004, 0.9, 0.98)
    learner = online(
        esn,
        outputs,
        parameters=EVERYTHING,
        loss=loss,
        readout=readout,
        rates=rate,
        trace=trace,
        constraint=constraint,
        washout=7,
        record=1,
    )
    learner.partial_fit(u[:, :7], y[:, :7])  # the washout: states move, nothing is learned
    names = [str(each) for each in learner.learned]
    oracle = Naive(esn, names, fresh(learner), outputs)
    assert 0.001 < np.abs(oracle.W_out[:, :-1]).max() < 0.1
    oracle.run(u, y, loss, trace, 7, readout, rate, constraint)
    learner.partial_fit(u[:, 7:], y[:, 7:])
    np.testing.assert_allclose(learner.values[0], [oracle.number[name] for name in names], rtol=1e-10)
    np.testing.assert_allclose(fresh(learner), oracle.W_out, rtol=1e-8, atol=1e-10)
    counted = learner.history.sel(start=0).where(learner.history.targets > 0, drop=True)
    np.testing.assert_allclose(counted.loss, oracle.losses, rtol=1e-9)
    wanted = [[g[name] for g in oracle.gradients] for name in names]
    np.testing.assert_allclose(counted.gradient.values.reshape(len(names), -1), wanted, rtol=1e-7, atol=1e-12)
    # and they did move, each of them
    begin = np.array([float(each.of(esn.hyper)) for each in learner.learned])
    assert (np.abs(learner.values[0] - begin) > 1e-3).all()


def test_adam_is_that_of_optax() -> None:
    """Both groups of rows, with their own factors, in one array; and nothing moves where it must not."""
    rng = np.random.default_rng(0)
    readout, learned = Adam(1e-2, 0.8, 0.95, 1e-6), Adam(3e-3, 0.99, 0.9)
    with jax.enable_x64(True):
        rule = adam.settings(readout, learned, [3e-3] * 2, 5, 1, np.float64)
        theta, moments = jax.numpy.asarray(rng.normal(size=(7, 1))), adam.init(7, 1, np.float64)
        step = jax.jit(adam.update, static_argnums=4)
        theirs = [optax.adam(1e-2, 0.8, 0.95, 1e-6), optax.adam(3e-3, 0.99, 0.9)]
        parts = [theta[:5], theta[5:]]
        memory = [each.init(part) for each, part in zip(theirs, parts, strict=True)]
        for t in range(40):
            gradient = rng.normal(size=(7, 1)) * (t % 3 != 1)
            theta, moments = step(theta, gradient, moments, rule, 5, t % 3 != 1)
            if t % 3 == 1:
                continue
            for i, part in enumerate((gradient[:5], gradient[5:])):
                change, memory[i] = theirs[i].update(part, memory[i])
                parts[i] = optax.apply_updates(parts[i], change)
        np.testing.assert_allclose(theta, np.concatenate(parts), rtol=1e-12)


def test_least_squares_in_the_loop_is_the_ridge_readout() -> None:
    """All sequences together, washout and gaps left out; the numbers all but rest, so the states are those of a plain run."""
    esn = build()
    u, y = data(length=400)
    y[0, 100:150] = np.nan
    learner = online(esn, readout=RLS(1e-4), rates=Adam(1e-30), washout=20).partial_fit(u, y)
    states = esn.run(u)[:, 20:].reshape(-1, sum(UNITS))
    targets = y[:, 20:].reshape(-1, 1)
    shown = ~np.isnan(targets[:, 0])
    direct = es.readouts.ridge(of_rows(states[shown], targets[shown]), 1e-4)
    np.testing.assert_allclose(learner.readout.coef, direct.coef, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(learner.readout.intercept, direct.intercept, rtol=1e-8)
    # What it predicts is the readout of these states, from the zero state or from any other.
    np.testing.assert_allclose(learner.predict(u)[:, 20:].reshape(-1, 1), direct.predict(states), rtol=1e-6)
    half = learner.predict(u[:, 200:], state=esn.run(u[:, :200], return_state=True)[1])
    np.testing.assert_allclose(half, learner.predict(u)[:, 200:], rtol=1e-9)


def test_many_starts_equal_each_start_alone() -> None:
    esn = build()
    u, y = data(length=120)
    leaks = np.array([[0.2, 0.9], [0.5, 0.5], [0.9, 0.2]])
    starts = esn.hyper.replace(leak_rate=list(leaks.T), coupling=[np.array([0.5, 1.0, 1.5])])
    for readout in (Adam(0.01), RLS(1e-2, 0.99)):
        settings: Any = {"readout": readout, "rates": Adam(1e-3), "washout": 5, "record": 40}
        together = online(esn, starts=starts, **settings).partial_fit(u, y)
        assert together.readout.coef.shape == (3, 1, sum(UNITS))
        for s in range(3):
            own = esn.hyper.replace(leak_rate=list(leaks[s]), coupling=float(starts.coupling[0][s]))
            alone = online(esn, starts=own, **settings).partial_fit(u, y)
            np.testing.assert_allclose(together.values[s], alone.values[0], rtol=1e-10)
            np.testing.assert_allclose(together.readout.at(s).coef, alone.readout.coef, rtol=1e-6, atol=1e-9)
            np.testing.assert_allclose(together.history.loss[s], alone.history.loss[0], rtol=1e-9)
            np.testing.assert_allclose(together.predict(u, start=s), alone.predict(u), rtol=1e-6, atol=1e-9)
            np.testing.assert_allclose(together.state[s], alone.state, rtol=1e-9)
    losses = together.history.loss.mean("step").values
    assert together.best == int(np.argmin(losses))
    learned = together.network_of(2)
    assert [each.leak_rate for each in learned.reservoirs] == pytest.approx(together.values[2])
    assert learned.couplings[0].strength == 1.5


def test_a_sequence_without_targets_is_as_good_as_absent() -> None:
    esn = build()
    u, y = data(sequences=3, length=60)
    y[2] = np.nan
    settings: Any = {"readout": Adam(0.01), "rates": Adam(1e-3), "washout": 0}
    with_gap, without = online(esn, **settings), online(esn, **settings)
    with_gap.partial_fit(u, y)
    without.partial_fit(u[:2], y[:2])
    np.testing.assert_allclose(with_gap.values, without.values, rtol=1e-12)
    np.testing.assert_allclose(with_gap.readout.coef, without.readout.coef, rtol=1e-10)
    # Steps without any target move the states and nothing else.
    before, readout = with_gap.values, with_gap.readout
    with_gap.partial_fit(u, np.full((3, 60), np.nan))
    np.testing.assert_array_equal(with_gap.values, before)
    np.testing.assert_array_equal(with_gap.readout.coef, readout.coef)
    np.testing.assert_allclose(with_gap.state[0], esn.run(u[0], state=without.state[0], hyper=with_gap.hyper)[-1], rtol=1e-9)


def test_the_running_mean_of_the_readout() -> None:
    esn = build()
    u, y = data(length=40)
    plain, averaged = (online(esn, readout=Adam(0.01), rates=Adam(1e-3), washout=10, average=decay) for decay in (None, 0.9))
    mean, power = np.zeros((1, sum(UNITS))), 1.0
    for t in range(40):
        plain.partial_fit(u[:, t : t + 1], y[:, t : t + 1])
        if t >= 10:
            mean, power = 0.9 * mean + 0.1 * plain.readout.coef, 0.9 * power
    averaged.partial_fit(u, y)
    np.testing.assert_allclose(averaged.readout.coef, mean / (1 - power), rtol=1e-9)
    np.testing.assert_allclose(averaged.values, plain.values, rtol=1e-12)


def test_frozen_numbers_rest_and_the_others_go_on() -> None:
    esn = build()
    u, y = data(length=60)
    starts = esn.hyper.replace(leak_rate=[np.array([0.2, 0.5, 0.9]), 0.4])
    learner = online(esn, starts=starts, rates=Adam(1e-3), readout=Adam(0.01), washout=5, record=40)
    learner.partial_fit(u[:, :20], y[:, :20])
    before = learner.values
    learner.freeze("leak_rate[0]", start=1)
    learner.partial_fit(u[:, 20:], y[:, 20:])
    rests = before == learner.values
    np.testing.assert_array_equal(rests, [[False, False], [True, False], [False, False]])
    learner.freeze(frozen=False)
    learner.partial_fit(u, y)
    assert (learner.values != before).all()
    with pytest.raises(ValueError, match="coupling\\[0\\] is not learned here"):
        learner.freeze("coupling")
    with pytest.raises(ValueError, match="there is no start 3"):
        learner.freeze(start=3)


def test_classes_as_numbers_or_as_columns() -> None:
    esn = build()
    u, y = data(outputs=3)
    classes = np.argmax(y, axis=-1)
    settings: Any = {"loss": "softmax", "parameters": EVERYTHING, "constraint": "free", "washout": 7, "record": 1}
    one, two = (online(esn, 3, rates=Adam(1e-3), **settings) for _ in range(2))
    one.partial_fit(u, classes)
    two.partial_fit(u, np.eye(3)[classes])
    np.testing.assert_array_equal(one.values, two.values)
    chances = one.predict(u)
    assert chances.shape == (3, 50, 3)
    np.testing.assert_allclose(chances.sum(axis=-1), 1)
    assert (chances > 0).all()


def test_the_paper_s_settings() -> None:
    for name in ("narma", "telegraph"):
        preset = PRESETS[name]
        assert (preset.readout, preset.learned, preset.minibatch) == (Adam(1e-3, 0.9, 0.999), Adam(5e-6, 0.99, 0.999), 10)
    assert [PRESETS[f"psmnist-{count}"].readout.rate for count in (4, 28)] == [5e-2, 5e-3]
    assert PRESETS["psmnist-28"].learned == Adam(1e-4, 0.999, 0.999, 1e-8)
    learner = online(build(), rates="psmnist-4")
    assert learner.settings.readout == Adam(5e-2)
    assert learner.settings.rates == Adam(1e-4, 0.999)


def test_rates_by_name() -> None:
    esn = build()
    learned = online(esn, parameters=EVERYTHING, rates=Adam({"leak_rate": 1e-3, "leak_rate[1]": 2e-3, **REST}))
    assert learned.settings.speeds == [1e-3, 2e-3, 4e-3, 5e-3, 6e-3]
    with pytest.raises(ValueError, match=r"there is no learning rate for leak_rate\[1\]"):
        online(esn, rates=Adam({"leak_rate[0]": 1e-3}))


REST = {"spectral_radius": 4e-3, "input_scaling": 5e-3, "coupling": 6e-3}


def diverging(**changes: Any) -> tuple[OnlineLearner, Any, Any]:
    u, y = data(length=60)
    settings: Any = {"readout": Adam(0.01), "rates": Adam(1e-3), "washout": 5, **changes}
    return online(build(), **settings), u, y


@pytest.mark.parametrize(
    ("changes", "step", "message"),
    [
        ({"constraint": "free", "rates": Adam({"leak_rate[0]": 0.5, "leak_rate[1]": 1e-3})}, None, r"leak_rate\[0\] left"),
        ({"readout": Adam(1e300)}, 6, "the loss is not finite. Lower the readout's rate"),
        ({"constraint": "logistic", "rates": Adam(1e308)}, 5, "Lower its learning rate"),
    ],
)
def test_divergence_names_step_and_cause_and_keeps_the_last_good_state(changes: Any, step: int | None, message: str) -> None:
    learner, u, y = diverging(**changes)
    with pytest.raises(LearningError, match=message) as caught:
        learner.partial_fit(u, y)
    at = learner.steps
    assert step in (None, at)
    assert f"at step {at} " in str(caught.value)
    assert f"in its state before step {at}" in str(caught.value)
    assert np.isfinite(learner.values).all()
    assert (learner.values > 0).all()
    assert (learner.values <= 1).all()
    # The state is the one that a run of so many steps has, and the same wherever the stream was cut.
    same, _, _ = diverging(**changes)
    same.partial_fit(u[:, :at], y[:, :at])
    np.testing.assert_array_equal(same.values, learner.values)
    np.testing.assert_array_equal(same.readout.coef, learner.readout.coef)
    np.testing.assert_array_equal(same.state, learner.state)
    with pytest.raises(LearningError, match=f"at step {at} "):
        same.partial_fit(u[:, at:], y[:, at:])


def test_its_words_say_what_it_has_learned() -> None:
    esn, (u, y) = build(), data(3, 80)
    starts = esn.hyper.replace(leak_rate=[np.array([0.2, 0.5, 0.9]), 0.4])
    learner = online(esn, starts=starts, rates=Adam(1e-3), readout=Adam(0.01), washout=5, record=40)
    assert "after 0 steps" in repr(learner)
    learner.partial_fit(u, y)
    assert f"after 80 steps, start {learner.best} of 3" in repr(learner)
    for place, first in ((0, [0.2, 0.5, 0.9][learner.best]), (1, 0.4)):
        assert f"leak_rate[{place}]: {first} at first, {learner.values[learner.best, place]:.4g} now" in repr(learner)
    loss = np.average(learner.history.loss.values[learner.best], weights=learner.history.targets)
    assert f"{loss:.4g}" in repr(learner)


def test_another_number_of_inputs_needs_another_fit() -> None:
    u, y = data(2, 40)
    learner = online(build()).partial_fit(u, y)
    with pytest.raises(ValueError, match="has 1 features, the network was built for 2"):
        learner.partial_fit(u[..., :1], y)
    assert learner.fit(u[..., :1], y).esn.n_inputs == 1
    np.testing.assert_array_equal(learner.values, online(build()).fit(u[..., :1], y).values)


def test_a_built_network_is_refused() -> None:
    with pytest.raises(TypeError, match=r"OnlineLearner takes the description of a network, got ESN: its \.network is one"):
        OnlineLearner(build())  # type: ignore[arg-type]


BAD: list[tuple[Any, str]] = [
    (lambda esn: online(esn, parameters="leak"), "unknown parameter 'leak'"),
    (lambda esn: online(esn, parameters="leak_rate[2]"), r"there is no leak_rate\[2\]"),
    (lambda esn: online(esn, loss="hinge"), "loss must be one of"),
    (lambda esn: online(esn, loss="softmax"), "outputs must be at least 2"),
    (lambda esn: online(esn, trace="none"), "trace must be one of"),
    (lambda esn: online(esn, rates="mnist"), "rates must be one of 'narma'"),
    (lambda esn: online(esn, rates=Adam(-1.0)), "must be above 0, got -1"),
    (lambda esn: online(esn, rates=Adam(float("nan"))), "must be finite, got nan"),
    (lambda esn: online(esn, readout=Adam(0.1, beta1=1.0)), r"beta1 must lie in \[0, 1\), got 1"),
    (lambda esn: online(esn, readout=Adam(0.1, epsilon=0.0)), "epsilon must be above 0"),
    (lambda esn: online(esn, readout=Adam({"leak_rate": 0.1})), "the readout has one learning rate"),
    (lambda esn: online(esn, readout=RLS(), loss="sigmoid"), "RLS minimises squares"),
    (lambda esn: online(esn, readout=RLS(), average=0.9), "average is for readouts learned by Adam"),
    (lambda esn: online(esn, average=1.0), r"average must lie in \(0, 1\)"),
    (lambda esn: online(esn, record=0), "record must be at least 1"),
    (lambda esn: online(esn, parameters="bias_scaling", constraint="logistic"), "has no logarithm"),
    (lambda esn: online(esn, protocol=Reinitialise(every=0)), "every must be at least 1"),
    (lambda esn: online(esn).predict(np.ones((5, 2))), "has not seen any data"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_wrong_settings_are_named(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(build())


def test_wrong_kinds_are_named() -> None:
    with pytest.raises(TypeError, match="protocol must be None or a Reinitialise"):
        online(build(), protocol=3)
    with pytest.raises(TypeError, match="rates must be an Adam"):
        online(build(), rates=0.1)
    with pytest.raises(TypeError, match="readout must be an Adam or an RLS"):
        online(build(), readout="adam")


def test_wrong_data_is_named_and_changes_nothing() -> None:
    u, y = data(length=40)
    learner = online(build(), rates=Adam(1e-3), readout=Adam(0.01), washout=5).partial_fit(u, y)
    before = learner.values
    hole = u.copy()
    hole[1, 3, 0] = np.nan
    wrong: list[tuple[Any, Any, str]] = [
        (hole, y, r"u\[1\] must be finite, found NaN at step 3"),
        (u[:2], y[:2], "holds 2 sequences, the stream began with 3"),
        (u[0], y[0], "holds 1 sequences, the stream began with 3"),
        (u, y[:, :30], r"y\[0\] has 30 steps, its input 40; they must be of the same length"),
        (u, np.ones((3, 40, 2)), "y has 2 columns, and the learner has outputs=1"),
        (u, np.full((3, 40), np.inf), r"y\[0\] must be finite, found inf at step 0"),
        (list(u), y, "have one length: give u as"),
    ]
    for inputs, targets, message in wrong:
        with pytest.raises(ValueError, match=message):
            learner.partial_fit(inputs, targets)
    assert learner.steps == 40
    np.testing.assert_array_equal(learner.values, before)


@pytest.mark.parametrize(
    ("loss", "y", "message"),
    [
        ("softmax", np.full((3, 4), 2.0), "y holds 2: with loss='softmax' and one number per step it must be a class"),
        ("softmax", np.full((3, 4), 0.5), "y holds 0.5"),
        ("softmax", np.full((3, 4, 2), 0.4), "the 2 targets of a step add up to 0.8"),
        ("sigmoid", np.full((3, 4, 2), -1.0), "y holds -1: with loss='sigmoid' targets are probabilities"),
        ("sigmoid", np.zeros((3, 4)), "y has 1 columns, and the learner has outputs=2"),
    ],
)
def test_targets_must_suit_the_loss(loss: str, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        online(build(), 2, loss=loss).partial_fit(np.zeros((3, 4, 2)), y)


def test_the_state_of_the_stream_carries_predictions_on() -> None:
    """For one series and for several starts, `predict(u, state=learner.state)` begins at the state of the start it uses."""
    u, y = es.tasks.narma(400, seed=2)
    esn = es.single(8, input_scaling=0.5).build(1, seed=0, dtype="float64")
    many = esn.hyper.replace(leak_rate=[np.array([0.3, 0.9])])
    for learner in (online(esn, washout=0), online(esn, washout=0, starts=many)):
        learner.partial_fit(u[:300], y[:300]).freeze()
        states = esn.run(u[:300], hyper=learner.hyper.lane(learner.best))
        moved = learner.predict(u[300:], state=learner.state)
        assert np.shape(moved) == (100, 1)
        np.testing.assert_allclose(learner.state.reshape(-1, 8)[learner.best], states[-1], atol=0.1)
        np.testing.assert_array_equal(moved, learner.predict(u[300:], state=learner.state.reshape(-1, 8)[learner.best]))


def test_settings_that_contradict_each_other_are_refused() -> None:
    esn = es.single(8).build(1, seed=0)
    with pytest.raises(ValueError, match="give a new RLS"):
        online(esn, readout=RLS().partial_fit(np.eye(3), np.arange(3.0)))
    with pytest.raises(ValueError, match="count as converged"):
        online(esn, protocol=Reinitialise(every=1000))
    with pytest.raises(ValueError, match="number of classes"):
        online(esn, loss="softmax")
