"""Errors of free-running forecasts against naive loops, and their models against finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from naive import states_of
from sklearn.linear_model import Ridge

import echoscale as es
from echoscale.learning.tuning import losses
from echoscale.learning.tuning.free_run import FreeRun
from echoscale.learning.tuning.losses import ROUNDING
from echoscale.learning.tuning.space import Space
from echoscale.learning.tuning.split import prepare
from echoscale.readouts import Columns
from echoscale.readouts import splits as folding

Floats = npt.NDArray[np.float64]

WASHOUT, HORIZON, FOLDS, PENALTY = 10, 7, 3, 1e-3
NETWORK = es.hierarchical([6, 5], leak_rate=[0.9, 0.4], input_scaling=0.6, bias_scaling=0.3, coupling=0.5, connections=3)
NAMES = ("leak_rate", "input_scaling[0]", "ridge")


def wave(steps: int, phase: float = 0.0) -> Floats:
    """Two columns that can be forecast, (T, 2)."""
    t = np.arange(steps) + phase
    return np.stack([np.sin(0.31 * t) + 0.5 * np.sin(0.11 * t), 2 + np.cos(0.31 * t) * np.cos(0.05 * t)], axis=1)


def task_of(series: list[Floats], inputs: int = 0) -> FreeRun:
    u, y = [each[:-1] for each in series], [each[1:] for each in series]
    one = len(series) == 1
    data = prepare(u[0] if one else u, y[0] if one else y, "mse", WASHOUT, FOLDS, free=True).tuned
    esn = NETWORK.build(2, seed=3, dtype="float64")
    space = Space.of(NAMES, esn.hyper, {})
    return FreeRun(esn, space, data, PENALTY, Columns(inputs), horizon=HORIZON)


def seen(u: Floats, inputs: int) -> Floats:
    """u(t), u(t-1), ... of the last step."""
    return np.concatenate([np.zeros(0), *(u[-1 - k] if k < len(u) else np.zeros(u.shape[1]) for k in range(inputs))])


def naive_error(task: FreeRun, series: list[Floats], z: Floats, inputs: int) -> float:
    """The definition, loop by loop: from every origin step the network, read it out, feed it its own output."""
    hyper = task.networks(z[None]).hyper
    us, ys = [each[:-1] for each in series], [each[1:] for each in series]
    edges = folding.block_edges([len(u) for u in us], WASHOUT, FOLDS)
    rows = [[list(range(each[2 * k], each[2 * k + 1])) for each in edges] for k in range(FOLDS)]
    every = sum(len(each) for fold in rows for each in fold)
    states = [states_of(task.esn, u, hyper=hyper, lane=0) for u in us]
    features = [
        np.array([np.concatenate([x[t], seen(u[: t + 1], inputs)]) for t in range(len(u))])
        for x, u in zip(states, us, strict=True)
    ]
    spread = np.concatenate(ys).std(axis=0)
    lost = []
    for k in range(FOLDS):
        train = [[t for other in range(FOLDS) if other != k for t in rows[other][b]] for b in range(len(us))]
        X = np.concatenate([each[t] for each, t in zip(features, train, strict=True)])
        Y = np.concatenate([each[t] for each, t in zip(ys, train, strict=True)])
        readout = Ridge(alpha=float(np.exp(z[-1])) * len(X) / every, solver="svd").fit(X, Y)
        places = [(b, t) for b, fold in enumerate(rows[k]) for t in fold if t + HORIZON <= fold[-1] + 1]
        each = -(-min(max(every // (2 * HORIZON), 20), 100) // FOLDS)
        for place in np.linspace(0, len(places) - 1, each).round().astype(int):
            b, t = places[place]
            x, past = states[b][t], us[b][: t + 1]
            for h in range(HORIZON):
                out = readout.predict(np.concatenate([x, seen(past, inputs)])[None])[0]
                d = np.mean(((out - ys[b][t + h]) / spread) ** 2)
                lost.append(d / (1 + d))
                x = states_of(task.esn, out[None], hyper=hyper, lane=0, start=x)[0]
                past = np.concatenate([past, out[None]])
    return float(np.mean(lost))


@pytest.mark.parametrize(
    ("lengths", "inputs"), [([330], 0), ([330], 1), ([60, 52], 3), ([40, 45, 50, 42], 0), ([40, 45, 50, 42], 1)]
)
def test_the_error_is_that_of_naive_forecasts(lengths: list[int], inputs: int) -> None:
    series = [wave(n, 7.0 * b) for b, n in enumerate(lengths)]
    task = task_of(series, inputs)
    own = task.space.point(task.esn.hyper, PENALTY)
    z = np.stack([own, own + np.array([-0.2, 0.1, 0.2, 1.0])])
    z = np.clip(z, task.space.low, task.space.high)
    found = task.value(z).error
    np.testing.assert_allclose(found, [naive_error(task, series, each, inputs) for each in z], rtol=1e-7)
    np.testing.assert_allclose(task.shown(found) ** 2, found)


def test_the_model_is_that_of_its_residuals() -> None:
    """Central differences with another step: the gradient of the error, and 2 J^T J of the residuals."""
    task = task_of([wave(90)])
    own = task.space.point(task.esn.hyper, PENALTY)
    z = np.stack([own - 0.2, own - [0.3, 0.1, 0.2, 1.0]])
    model = task.model(z, task.value(z).readout)
    np.testing.assert_allclose(model.error, task.value(z).error, rtol=1e-9)
    step = 1e-4
    for s, point in enumerate(z):
        near = np.concatenate([point + step * np.eye(4), point - step * np.eye(4)])
        ahead, behind = np.split(task.value(near).error, 2)
        slope = (ahead - behind) / (2 * step)
        # One-sided differences: exact to the first order of their step.
        np.testing.assert_allclose(model.gradient[s], slope, atol=2e-2 * np.abs(slope).max())
        assert np.linalg.eigvalsh(model.curvature[s]).min() > -1e-12 * np.abs(model.curvature[s]).max()


def test_a_point_at_its_upper_bound_has_slopes_from_inside() -> None:
    task = task_of([wave(90)])
    z = task.space.point(task.esn.hyper, PENALTY)[None]
    z[0, 0] = task.space.high[0]  # a leak rate of 1
    model = task.model(z, task.value(z).readout)
    inside = z.copy()
    inside[0, 0] -= 1e-3
    slope = (task.value(z).error - task.value(inside).error) / 1e-3
    assert model.gradient[0, 0] == pytest.approx(float(slope[0]), rel=2e-2)


def test_batches_of_forecasts_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    task = task_of([wave(90)])
    z = task.space.point(task.esn.hyper, PENALTY) - np.linspace(0.01, 0.2, 5)[:, None]
    whole = task.value(z).error
    monkeypatch.setattr(losses, "STATISTICS_BYTES", 1)
    np.testing.assert_allclose(task.value(z).error, whole, rtol=1e-10)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
def test_forecasts_that_run_away_are_lost_and_no_more(value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    task = task_of([wave(90)])
    z = task.space.point(task.esn.hyper, PENALTY)[None]
    monkeypatch.setattr(FreeRun, "_forecasts", lambda *_: np.full((1, *task.truth.shape), value))
    np.testing.assert_allclose(task.value(z).error, [1.0], rtol=1e-9)


# --- as a user sees it


X = wave(400)[:, :1] + 0.02 * np.random.default_rng(0).normal(size=(400, 1))
SMALL = es.single(12, leak_rate=0.6, input_scaling=0.5, bias_scaling=0.3)


def test_tuning_for_free_runs_forecasts_better() -> None:
    found = es.tune(SMALL, X[:-1], X[1:], ["leak_rate", "input_scaling", "ridge"], closed_loop=30, starts=2, rounds=4, test=0.3)
    assert "closed-loop error" in str(found)
    errors = found.history["error"].min("start").values
    assert errors[-1] < errors[0]
    assert (np.diff(errors) <= 0).all()
    assert found.test_error is not None
    assert found.start_test_error is not None
    assert found.test_error <= found.start_test_error


def test_the_ridge_that_is_returned_is_the_one_that_was_judged() -> None:
    """Bounds far below the rounding of a Gram matrix: every fold was solved with what rounding allows."""
    x, bounds = wave(400)[:, :1], {"ridge": (1e-40, 1e-39)}
    found = es.tune(SMALL, x[:-1], x[1:], ["input_scaling", "ridge"], closed_loop=30, starts=1, rounds=2, bounds=bounds)
    assert found.at_floor
    assert found.helped, "the case says nothing: make the start worse"
    z = (x - x[:320].mean()) / x[:320].std()
    states = found.network.build(1, seed=0, dtype="float64").run(z[:-1])[40:]
    rounding = ROUNDING * states.var(axis=0).mean() * len(states)
    assert found.ridge == pytest.approx(rounding, rel=0.1)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"y": X[:-1]}, "targets that are the next input"),
        ({"y": np.concatenate([X[1:], X[1:]], axis=1)}, "targets that are the next input"),
        ({"closed_loop": 0}, "closed_loop must be at least 1"),
        ({"closed_loop": 100}, "closed_loop=100 steps do not fit into a fold of"),
        ({"y": (X[1:, 0] > 0).astype(int), "loss": "cross_entropy"}, "closed_loop needs loss='mse'"),
    ],
)
def test_what_cannot_run_freely_is_refused(changed: dict[str, Any], message: str) -> None:
    options = {"y": X[1:], "closed_loop": 10, "starts": 1, "rounds": 1, **changed}
    with pytest.raises(ValueError, match=message):
        es.tune(SMALL, X[:-1], options.pop("y"), "leak_rate", **options)
