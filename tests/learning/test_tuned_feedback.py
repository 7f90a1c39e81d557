"""Tuning reaches the strength of output feedback: its slopes are differences, and free runs hear their own outputs."""

from __future__ import annotations

from typing import Any

import naive
import numpy as np
import numpy.typing as npt
import pytest

import echoscale as es
from echoscale.data.scaling import Scaling
from echoscale.learning.tuning.free_run import FreeRun
from echoscale.learning.tuning.losses import Loss, Networks, Squares
from echoscale.learning.tuning.space import Space, affordable
from echoscale.learning.tuning.split import prepare
from echoscale.readouts import Columns
from echoscale.readouts.statistics import of_rows

Floats = npt.NDArray[np.float64]

T = np.arange(260)
INPUT = np.random.default_rng(0).uniform(-1, 1, (len(T), 1))
# Depends on what it was before and on the input: u(t) alone does not say it.
TARGET = np.sin(0.3 * T)[:, None] * 0.5 + np.convolve(INPUT[:, 0], [0.3, 0.2, 0.1])[: len(T), None]
SHORT = es.sweeps.Protocol(washout=20, train=120, validation=50, test=60, ridge=(1e-3, 1e-1), dtype="float64")
NETWORK = es.hierarchical([7, 5], leak_rate=[0.9, 0.4], feedback_scaling=[0.4, 0.2], bias_scaling=0.2, coupling=0.6)


def loss_of(kind: Any, **given: Any) -> Any:
    data = prepare(INPUT, TARGET, "mse", 20, 3, 0.0, "standard", feeds_back=True).tuned
    esn = NETWORK.build(1, seed=1, dtype="float64", n_outputs=1)
    space = Space.of(["feedback_scaling", "leak_rate", "ridge"], esn.hyper, {}, False, data.rows)
    return kind(esn, space, data, 1e-2, **given)


def error_by_hand(task: Loss, z: Floats) -> float:
    """The NMSE of the folds, from states by loops and ridge solutions by numpy."""
    data, networks = task.data, task.networks(z[None])
    y, edges = data.targets.values[0], data.edges[0]
    states = naive.states_of(task.esn, data.series.values[0][:, :1], y=y, hyper=networks.hyper, lane=0)
    squares, rows = 0.0, []
    for k, fold in enumerate(data.folds):
        train = np.concatenate([np.arange(edges[s], edges[s + 1]) for s in fold.train])
        test = np.concatenate([np.arange(edges[s], edges[s + 1]) for s in fold.held_out])
        x, mean = states[train] - states[train].mean(axis=0), y[train].mean()
        gram = x.T @ x + networks.penalties[0, k] * np.eye(x.shape[1])
        coef = np.linalg.solve(gram, x.T @ (y[train] - mean))
        squares += float(((mean + (states[test] - states[train].mean(axis=0)) @ coef - y[test]) ** 2).sum())
        rows.append(test)
    return squares / float(((y[np.concatenate(rows)] - y[np.concatenate(rows)].mean()) ** 2).sum())


def test_the_error_and_its_gradient_are_those_of_loops_and_differences() -> None:
    task = loss_of(Squares)
    z = task.space.point(task.esn.hyper, 1e-2)
    assert [name for name in task.space.names if "feedback" in name] == ["feedback_scaling[0]", "feedback_scaling[1]"]
    value = task.value(z[None])
    assert value.error[0] == pytest.approx(error_by_hand(task, z), rel=1e-8)
    slopes = task.model(z[None], value.readout).gradient[0]
    for p in range(len(z)):
        h = 1e-5 * np.eye(len(z))[p]
        expected = (error_by_hand(task, z + h) - error_by_hand(task, z - h)) / 2e-5
        assert slopes[p] == pytest.approx(expected, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("inputs", [0, 1])
def test_free_runs_hear_their_own_outputs_and_known_inputs(inputs: int) -> None:
    """Every forecast of the objective, step by step with loops: known s(t), fed-back y(t-1)."""
    task = loss_of(FreeRun, columns=Columns(inputs), horizon=9)
    data, own = task.data, task.esn.hyper.map(lambda leaf: np.full(1, float(leaf)))
    networks = Networks(own, np.full((1, len(data.folds)), 1e-2), np.ones(1))
    readout, states = task._fitted(networks)
    found = task._forecasts(own, readout, states)[0]
    reservoirs, couplings = naive._parts(task.esn)
    s, y = data.series.values[0], data.targets.values[0]
    for k in range(len(data.folds)):
        for r in (0, 3):
            t = int(task.origins.step[k, r])
            flat = states[0, k, r]
            state = [list(flat[:7]), list(flat[7:])]
            heard = [float(s[t, 0]), float(y[t - 1, 0])]
            for step in range(9):
                features = [*state[0], *state[1], *(heard if inputs else [])]
                output = naive.weighted_sum(readout.coef[0, k, 0], features) + float(readout.intercept[0, k, 0])
                assert found[k, r, step, 0] == pytest.approx(output, rel=1e-9, abs=1e-9)
                if t + 1 + step < len(s):
                    heard = [float(s[t + 1 + step, 0]), output]
                    state = naive.step(reservoirs, couplings, 1, state, heard[:1], heard[1:])


@pytest.mark.parametrize("closed_loop", [None, 15])
def test_tune_finds_a_strength(closed_loop: int | None) -> None:
    """Of a network that hears far too much of its outputs."""
    network = es.single(20, feedback_scaling=8.0, input_scaling=0.1)
    tuned = es.tune(network, INPUT, TARGET, ["feedback_scaling", "ridge"], starts=2, rounds=6, closed_loop=closed_loop)
    assert tuned.helped
    assert tuned.network.reservoirs[0].feedback_scaling < 4
    assert tuned.error < tuned.start_error
    model = tuned.estimator().fit(INPUT[:200], TARGET[:200])
    assert isinstance(model, es.ESNRegressor)
    assert np.isfinite(model.predict(INPUT[200:], state=model.state_)).all()


def test_all_hyper_parameters_are_learned_unless_named() -> None:
    with_it, without = (es.single(10, feedback_scaling=phi).build(1, n_outputs=1).hyper for phi in (0.5, 0.0))
    assert "feedback_scaling" in affordable(with_it, 1000)[0]
    assert "feedback_scaling" not in affordable(without, 1000)[0]


def test_sweeps_vary_it() -> None:
    """Every point is the error of a network run with the targets of the step before."""
    network = es.single(10, feedback_scaling=0.5)
    strengths = [0.0, 0.2, 1.0]
    found = es.sweep(network, es.sweeps.Data(INPUT, TARGET), {"feedback_scaling[0]": strengths}, protocol=SHORT)
    esn = network.build(1, seed=0, dtype="float64", n_outputs=1)
    units = [Scaling.of([each[20:140]]) for each in (INPUT, TARGET)]
    u, y = (unit.forward(each) for unit, each in zip(units, (INPUT, TARGET), strict=True))
    for place, phi in enumerate(strengths):
        states = naive.states_of(esn, u, y=y, hyper=esn.hyper.replace(feedback_scaling=phi))
        rows = [of_rows(states[a:b], TARGET[a:b]) for a, b in ((20, 140), (140, 190), (190, 250))]
        errors = []
        for ridge in SHORT.ridge:
            readout = es.readouts.ridge(rows[0], ridge)
            errors.append([float(es.readouts.normalised_errors(readout, part)) for part in rows[1:]])
        best = min(errors)
        assert float(found.test.values.ravel()[place]) == pytest.approx(best[1], rel=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: es.tune(es.single(9, feedback_scaling=1), TARGET[:-1], TARGET[1:], closed_loop=5),
            "would receive the targets",
        ),
        (lambda: es.tune(NETWORK, INPUT, T % 2, loss="cross_entropy"), "can only be tuned with loss='mse'"),
        (lambda: es.tune(es.single(9), INPUT, TARGET, "feedback_scaling"), "no output feedback"),
        (lambda: es.tune(es.single(9), INPUT, TARGET, closed_loop=5), "Or use a network with output feedback"),
        (
            lambda: es.sweep(es.single(9), es.sweeps.Data(INPUT, TARGET), {"feedback_scaling": [0.1]}, protocol=SHORT),
            "no output feedback",
        ),
    ],
)
def test_what_is_wrong_is_said(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
