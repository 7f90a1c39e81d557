"""Losses of tuning and their models against naive loops, scikit-learn, finite differences and `jax.grad`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import pytest
from naive import states_of
from scipy.special import log_softmax, softmax
from sklearn.linear_model import Ridge

import echoscale as es
from echoscale.engine import devices, dynamics, lanes
from echoscale.engine.hyper import Hyper
from echoscale.learning.tuning import gradient, losses
from echoscale.learning.tuning.entropy import Entropy
from echoscale.learning.tuning.losses import Loss, Squares
from echoscale.learning.tuning.space import Space
from echoscale.learning.tuning.split import prepare
from echoscale.network import Coupling, Network, Reservoir
from echoscale.readouts import Columns
from echoscale.readouts import splits as folding

Floats = npt.NDArray[np.float64]

WASHOUT, SHARE, PENALTY = 10, 0.3, 1e-2
FLOOR = 0.05  # far above the penalty
SHARED: dict[str, Any] = {"input_scaling": 0.7, "bias_scaling": 0.3, "connections": 3}


def cycle(delay: int) -> Network:
    """Three reservoirs, of which the last drives the first again."""
    reservoirs = [Reservoir(n, leak_rate=a, **SHARED) for n, a in zip((4, 5, 3), (0.9, 0.4, 0.2), strict=True)]
    links = [Coupling(0, 1, 0.8), Coupling(1, 2, 0.5), Coupling(2, 0, 0.4)]
    return Network(tuple(reservoirs), tuple(links), coupling_delay=delay)


def levels(delay: int) -> Network:
    """Both levels hear the input."""
    options = {**SHARED, "input_scaling": [0.7, 0.4]}
    return es.hierarchical([5, 4], leak_rate=[0.9, 0.3], coupling=0.6, coupling_delay=delay, **options)


NETWORKS = {
    "single": es.single(6, leak_rate=0.4, **SHARED),
    "parallel": es.parallel([4, 5], leak_rate=[0.8, 0.2], **SHARED),
    **{f"two levels, delay {d}": levels(d) for d in (0, 1)},
    **{f"cycle, delay {d}": cycle(d) for d in (0, 1)},
}


every_network = pytest.mark.parametrize("name", NETWORKS)


class Split(NamedTuple):
    """Of one fold: which steps of every series train and which are held out, and the share of the penalty that it has."""

    train: list[list[int]]
    held_out: list[list[int]]
    share: float


class Case(NamedTuple):
    """A loss, and the same data as plain lists; the readout sees this number of inputs beside the states."""

    task: Loss
    u: list[Floats]
    y: list[Floats]
    folds: list[Split]
    inputs: int


def signal(steps: int, features: int, seed: int) -> Floats:
    return np.random.default_rng(seed).normal(size=(steps, features))


def follow(u: Floats, outputs: int) -> Floats:
    """Targets (T, outputs) with memory, a product, an offset and noise."""
    past, now = np.roll(u[:, 0], 1), u[:, -1]
    noise = 0.3 * np.random.default_rng(len(u)).normal(size=(len(u), 3))
    return (np.stack([past * now + 0.5 * past, np.sin(now) + 2, np.roll(past, 1)], axis=1) + noise)[:, :outputs]


def label(u: Floats) -> npt.NDArray[np.int64]:
    """Three classes, (T,), that a network can tell apart in part."""
    return np.digitize(follow(u, 1)[:, 0], [-0.3, 0.4])


def given(kind: str, outputs: int = 1) -> tuple[Any, Any, list[Floats], list[Floats]]:
    """(u, y) as a user gives them, and as lists of (T_b, F) and (T_b, O)."""
    if kind == "one series":
        u = [signal(60, 1, 0)]
    elif kind == "a batch":
        u = [signal(45, 1, seed) for seed in range(3)]
    else:
        u = [signal(steps, 2, steps) for steps in (40, 57, 48)]
    y = [follow(each, outputs) for each in u]
    if kind == "one series":
        return u[0], y[0], u, y
    return (np.stack(u), np.stack(y), u, y) if kind == "a batch" else (u, y, u, y)


def parts(lengths: list[int]) -> list[Split]:
    """The last `SHARE` of what follows the washout validates."""
    cuts = [length - round((length - WASHOUT) * SHARE) for length in lengths]
    train = [list(range(WASHOUT, cut)) for cut in cuts]
    return [Split(train, [list(range(cut, end)) for cut, end in zip(cuts, lengths, strict=True)], 1.0)]


def blocks(lengths: list[int], count: int) -> list[Split]:
    """Every block of time is held out in turn; the penalty is in proportion to the rows of the others."""
    edges = folding.block_edges(lengths, WASHOUT, count)
    rows = [[list(range(each[2 * k], each[2 * k + 1])) for each in edges] for k in range(count)]
    total = sum(len(each) for fold in rows for each in fold)
    found = []
    for k in range(count):
        others = [rows[other] for other in range(count) if other != k]
        train = [[step for each in others for step in each[b]] for b in range(len(lengths))]
        found.append(Split(train, rows[k], sum(map(len, train)) / total))
    return found


def task_of(
    network: Network,
    u: Any,
    y: Any,
    loss: str = "mse",
    inputs: int = 0,
    names: Any = es.learning.ALL,
    share: float | int = SHARE,
    noise: float = 0.0,
    floor: float = 0.0,
) -> Loss:
    data = prepare(u, y, loss, WASHOUT, share).tuned
    esn = network.build(data.series.features, seed=3, dtype="float64")
    space = Space.of(names, esn.hyper, {}, sharpness=loss == "cross_entropy")
    return (Squares if loss == "mse" else Entropy)(esn, space, data, PENALTY, Columns(inputs), noise, floor)


@cache
def squares(
    name: str,
    kind: str = "one series",
    outputs: int = 1,
    inputs: int = 0,
    folds: int = 0,
    noise: float = 0.0,
    floor: float = 0.0,
) -> Case:
    u, y, us, ys = given(kind, outputs)
    lengths = [len(each) for each in us]
    task = task_of(NETWORKS[name], u, y, inputs=inputs, share=folds or SHARE, noise=noise, floor=floor)
    return Case(task, us, ys, blocks(lengths, folds) if folds else parts(lengths), inputs)


@cache
def entropy(name: str, kind: str = "one series", inputs: int = 0, folds: int = 0, floor: float = 0.0) -> Case:
    if kind == "sequences":
        classes = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [10, 8, 5]))
        us = [signal(12 + b % 3, 1, b) + 0.4 * k for b, k in enumerate(classes)]
        ys = [np.tile(np.eye(3)[k], (len(u), 1)) for u, k in zip(us, classes, strict=True)]
        # In the order of their classes, every fourth one validates, or they are dealt out to the folds.
        order = [b for k in range(3) for b in np.flatnonzero(classes == k).tolist()]
        validates = [set(order[f::folds]) for f in range(folds)] if folds else [set(order[3::4])]
        splits = []
        for held_out in validates:
            train = [[] if b in held_out else [len(u) - 1] for b, u in enumerate(us)]
            judged = [[len(u) - 1] if b in held_out else [] for b, u in enumerate(us)]
            splits.append(Split(train, judged, sum(map(len, train)) / len(us) if folds else 1.0))
        task = task_of(NETWORKS[name], us, classes, "cross_entropy", inputs, share=folds or 0.25)
        return Case(task, us, ys, splits, inputs)
    u, _, us, _ = given(kind)
    labels, lengths = [label(each) for each in us], [len(each) for each in us]
    y = labels[0] if kind == "one series" else labels
    task = task_of(NETWORKS[name], u, y, "cross_entropy", inputs, share=folds or SHARE, floor=floor)
    splits = blocks(lengths, folds) if folds else parts(lengths)
    return Case(task, us, [np.eye(3)[each] for each in labels], splits, inputs)


def points(case: Case, count: int = 2) -> Floats:
    """The network's own numbers, and others a little away from them, all well inside the bounds."""
    space = case.task.space
    own = space.point(case.task.esn.hyper, PENALTY)
    own = np.clip(own, space.low + 0.15, space.high - 0.15)
    away = np.random.default_rng(5).uniform(-0.1, 0.1, (count, len(own)))
    return own + away * (np.arange(count) > 0)[:, None]


def hyper_at(case: Case, z: Floats) -> tuple[Hyper, Floats, Floats]:
    """Points (S, P) as numbers by their names: a Hyper with a lane for each, penalties and sharpnesses."""
    space, base = case.task.space, case.task.esn.hyper
    leaves = {name: [np.full(len(z), float(leaf)) for leaf in getattr(base, name)] for name in Hyper._fields}
    rest = {"ridge": np.full(len(z), PENALTY), "sharpness": np.ones(len(z))}
    for name, column in zip(space.names, np.exp(z.T), strict=True):
        if match := re.fullmatch(r"(\w+)\[(\d)\]", name):
            leaves[match[1]][int(match[2])] = column
        else:
            rest[name] = column
    return Hyper(**{name: tuple(each) for name, each in leaves.items()}), rest["ridge"], rest["sharpness"]


def windows(u: Floats, inputs: int) -> Floats:
    """u(t), u(t-1), ..., as many as `inputs`, (T, inputs F); 0 before the series begins."""
    past = np.concatenate([np.zeros((inputs, u.shape[1])), u])
    return np.concatenate([np.zeros((len(u), 0)), *(past[inputs - k : len(past) - k] for k in range(inputs))], axis=1)


def joined(values: list[Floats], where: list[list[int]]) -> Floats:
    return np.concatenate([each[rows] for each, rows in zip(values, where, strict=True)])


def held_out(case: Case) -> Floats:
    """Targets of what the folds judge, fold after fold."""
    return np.concatenate([joined(case.y, fold.held_out) for fold in case.folds])


def predicted(case: Case, states: list[Floats], penalty: float) -> Floats:
    """What scikit-learn's ridge regression, fitted to the training rows of each fold, says on the others, (rows, O)."""
    features = [np.concatenate([x, windows(u, case.inputs)], axis=1) for x, u in zip(states, case.u, strict=True)]
    found = []
    for fold in case.folds:
        rows = sum(map(len, fold.train))
        x = joined(features, fold.train)
        alpha = max(penalty * fold.share + rows * case.task.noise**2, case.task.floor * rows * x.var(axis=0).mean())
        ridge = Ridge(alpha=alpha, solver="svd").fit(x, joined(case.y, fold.train))
        found.append(np.asarray(ridge.predict(joined(features, fold.held_out))).reshape(-1, case.y[0].shape[1]))
    return np.concatenate(found)


def outputs_at(case: Case, z: Floats, naive: bool = False) -> Floats:
    """Validation outputs at points z, (S, rows, O); states of all points from loops over the equations, or from `run`."""
    hyper, penalties, _ = hyper_at(case, z)
    esn = case.task.esn
    if naive:
        states = [[states_of(esn, u, hyper=hyper, lane=s) for u in case.u] for s in range(len(z))]
    else:
        by_series = [esn.run(u, hyper=hyper) for u in case.u]
        states = [[each[s] for each in by_series] for s in range(len(z))]
    return np.stack([predicted(case, each, float(penalty)) for each, penalty in zip(states, penalties, strict=True)])


def errors_at(case: Case, z: Floats, outputs: Floats | None = None) -> Floats:
    """The NMSE averaged over outputs, or the cross-entropy, at points z: of these outputs, or from naive states."""
    outputs, targets = outputs_at(case, z, naive=True) if outputs is None else outputs, held_out(case)
    if isinstance(case.task, Squares):
        return np.asarray((((targets - outputs) ** 2).mean(axis=1) / targets.var(axis=0)).mean(axis=1))
    logits = hyper_at(case, z)[2][:, None, None] * outputs
    chosen = (np.exp(logits) * targets).sum(axis=2) / np.exp(logits).sum(axis=2)
    return np.asarray(-np.log(chosen).mean(axis=1))


def moved(z: Floats, step: float = 1e-5) -> Floats:
    """One point (P,) with every coordinate moved to both sides, (2 P, P)."""
    return np.concatenate([z + step * np.eye(len(z)), z - step * np.eye(len(z))])


def slope(values: Any, step: float = 1e-5) -> Floats:
    """Central differences of what was computed at the points `moved`, (P, ...)."""
    ahead, behind = np.split(np.asarray(values), 2)
    return np.asarray((ahead - behind) / (2 * step))


def assert_close(found: Any, expected: Any, tolerance: float) -> None:
    """Relative to the largest entry: small entries of a gradient are differences of large terms."""
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * float(np.abs(expected).max()))


@pytest.mark.parametrize(
    ("kind", "outputs", "inputs", "folds"),
    [
        ("one series", 1, 0, 0),
        ("unequal lengths", 2, 1, 0),
        ("one series", 2, 3, 3),
        ("unequal lengths", 1, 0, 3),
    ],
)
@every_network
def test_the_squared_error_is_that_of_scikit_learn_on_naive_states(
    name: str, kind: str, outputs: int, inputs: int, folds: int
) -> None:
    case = squares(name, kind, outputs, inputs, folds)
    z = points(case)
    found = case.task.value(z)
    np.testing.assert_allclose(found.error, errors_at(case, z), rtol=1e-8)
    np.testing.assert_allclose(case.task.shown(found.error), np.sqrt(errors_at(case, z)), rtol=1e-8)


def test_the_squared_error_of_a_batch_is_that_of_its_series_together() -> None:
    case = squares("two levels, delay 0", "a batch", 2)
    z = points(case)
    np.testing.assert_allclose(case.task.value(z).error, errors_at(case, z), rtol=1e-8)


def test_the_squared_error_does_not_mind_targets_and_inputs_far_from_zero() -> None:
    near = squares("two levels, delay 1", inputs=1)
    u, y = [each + 30 for each in near.u], [each + 1e4 for each in near.y]
    task = task_of(NETWORKS["two levels, delay 1"], u[0], y[0], inputs=1)
    case = near._replace(task=task, u=u, y=y)
    z = points(case)
    np.testing.assert_allclose(task.value(z).error, errors_at(case, z), rtol=1e-7)


@pytest.mark.parametrize(
    ("name", "kind", "several", "inputs", "folds", "noise", "floor"),
    [
        ("single", "one series", 1, 0, 0, 0.0, 0.0),
        ("parallel", "unequal lengths", 2, 2, 0, 0.0, 0.0),
        ("two levels, delay 0", "a batch", 2, 0, 0, 0.0, 0.0),
        ("two levels, delay 1", "one series", 3, 1, 4, 0.0, 0.0),
        ("cycle, delay 0", "unequal lengths", 1, 0, 3, 0.03, 0.0),
        ("cycle, delay 1", "one series", 2, 0, 2, 0.0, 0.0),
        ("parallel", "a batch", 2, 1, 5, 0.0, 0.0),
        ("two levels, delay 0", "unequal lengths", 2, 1, 3, 0.0, FLOOR),
        ("cycle, delay 1", "one series", 1, 0, 0, 0.0, FLOOR),
    ],
)
def test_the_model_of_the_squared_error_is_its_derivative(
    name: str, kind: str, several: int, inputs: int, folds: int, noise: float, floor: float
) -> None:
    """By every leaf of `Hyper` and by the penalty: the gradient is that of the value, the curvature 2 J^T J."""
    case = squares(name, kind, several, inputs, folds, noise, floor)
    z = points(case)
    value = case.task.value(z)
    assert (value.readout.ridge > case.task.penalties(z)).all() == bool(floor)
    model = case.task.model(z, value.readout)
    np.testing.assert_allclose(model.error, value.error, rtol=1e-10)
    targets = held_out(case)
    weight = 1 / np.sqrt(targets.size * targets.var(axis=0))  # so that the sum of squares is the error
    for s, point in enumerate(z):
        near = moved(point)
        outputs = outputs_at(case, near)
        assert_close(model.gradient[s], slope(errors_at(case, near, outputs)), 1e-6)
        jacobian = slope(-outputs * weight).reshape(len(point), -1)
        assert_close(model.curvature[s], 2 * jacobian @ jacobian.T, 1e-6)
        assert_close(model.curvature[s], model.curvature[s].T, 1e-12)
        assert np.linalg.eigvalsh(model.curvature[s]).min() > -1e-12 * np.abs(model.curvature[s]).max()


def dense_residuals(case: Case, weights: dynamics.Weights, z: Any) -> Any:
    """Differentiable by JAX as a whole: states kept, ridge by `solve`; their sum of squares is the NMSE."""
    space, esn = case.task.space, case.task.esn
    leaves = {name: [jnp.reshape(jnp.asarray(leaf), (1,)) for leaf in getattr(esn.hyper, name)] for name in Hyper._fields}
    for p, each in enumerate(space.learned):
        leaves[each.name][each.place] = jnp.exp(z[p : p + 1])
    hyper = Hyper(**{name: tuple(each) for name, each in leaves.items()})

    def states(u: Floats) -> Any:
        def body(state: Any, now: Any) -> tuple[Any, Any]:
            new = dynamics.step(weights, hyper, state, now[:, None])
            return new, jnp.concatenate(new)[:, 0]

        rows = jax.lax.scan(body, tuple(jnp.zeros((n, 1)) for n in esn.sizes), jnp.asarray(u))[1]
        return jnp.concatenate([rows, windows(u, case.inputs)], axis=1)

    features = [states(u) for u in case.u]
    every = held_out(case)
    rests = []
    for fold in case.folds:
        X, X_v = (
            jnp.concatenate([x[np.array(rows, int)] for x, rows in zip(features, which, strict=True)])
            for which in (fold.train, fold.held_out)
        )
        Y, Y_v = joined(case.y, fold.train), joined(case.y, fold.held_out)
        centred = X - X.mean(axis=0)
        gram = centred.T @ centred + fold.share * jnp.exp(z[-1]) * jnp.eye(X.shape[1])
        W = jnp.linalg.solve(gram, centred.T @ (Y - Y.mean(axis=0)))
        rests.append(Y_v - (X_v - X.mean(axis=0)) @ W - Y.mean(axis=0))
    return jnp.concatenate(rests) / np.sqrt(every.size * every.var(axis=0))


def test_the_gradient_of_the_squared_error_is_that_of_back_propagation() -> None:
    """Through all time steps and the solutions of the ridge equations of all folds."""
    case = squares("cycle, delay 0", "one series", 2, 1, 3)
    z = points(case)
    model = case.task.model(z, case.task.value(z).readout)
    with devices.precision_and_device("float64", None):
        weights = case.task.esn.weights()
        error = jax.value_and_grad(lambda at: jnp.sum(dense_residuals(case, weights, at) ** 2))
        compiled = jax.jit(error)
        for s, point in enumerate(z):
            value, gradient = compiled(point)
            np.testing.assert_allclose(model.error[s], value, rtol=1e-9)
            assert_close(model.gradient[s], np.asarray(gradient), 1e-8)


@pytest.mark.parametrize(
    ("name", "kind", "inputs", "folds"),
    [
        ("single", "one series", 1, 0),
        ("parallel", "unequal lengths", 3, 3),
        ("two levels, delay 0", "sequences", 0, 0),
        ("two levels, delay 1", "sequences", 0, 4),
    ],
)
def test_the_cross_entropy_and_its_model(name: str, kind: str, inputs: int, folds: int) -> None:
    """The value from softmax itself, the gradient from the value, the curvature from the Jacobian of the logits."""
    case = entropy(name, kind, inputs, folds)
    z = points(case)
    assert case.task.space.names[-1] == "sharpness"
    value = case.task.value(z)
    model = case.task.model(z, value.readout)
    np.testing.assert_allclose(value.error, errors_at(case, z), rtol=1e-8)
    np.testing.assert_array_equal(case.task.shown(value.error), value.error)
    np.testing.assert_allclose(model.error, value.error, rtol=1e-10)
    for s, point in enumerate(z):
        near = moved(point)
        outputs = outputs_at(case, near)
        assert_close(model.gradient[s], slope(errors_at(case, near, outputs)), 1e-6)
        jacobian = slope(hyper_at(case, near)[2][:, None, None] * outputs)
        q = softmax(hyper_at(case, point[None])[2] * outputs_at(case, point[None])[0], axis=1)
        expected = np.zeros((len(point), len(point)))
        for row, chance in enumerate(q):
            expected += jacobian[:, row] @ (np.diag(chance) - np.outer(chance, chance)) @ jacobian[:, row].T / len(q)
        assert_close(model.curvature[s], expected, 1e-6)


def test_the_cross_entropy_of_equal_outputs_is_that_of_chance() -> None:
    """A penalty beyond all measure leaves the intercept alone: the shares of the classes in training."""
    case = entropy("single")
    z = points(case, 1)
    z[0, case.task.space.names.index("ridge")] = 60.0
    shares = joined(case.y, case.folds[0].train).mean(axis=0)
    chance = log_softmax(np.exp(z[0, -1]) * shares)
    expected = -(held_out(case) @ chance).mean()
    np.testing.assert_allclose(case.task.value(z).error, [expected], rtol=1e-12)


@pytest.mark.parametrize(
    ("names", "loss"), [("ridge", "mse"), (["coupling", "leak_rate[1]"], "mse"), ("ridge", "cross_entropy")]
)
def test_a_model_in_few_coordinates_is_part_of_that_in_all(names: Any, loss: str) -> None:
    whole = squares("two levels, delay 1") if loss == "mse" else entropy("two levels, delay 1")
    u, y = whole.u[0], whole.y[0] if loss == "mse" else whole.y[0].argmax(axis=1)
    some = task_of(NETWORKS["two levels, delay 1"], u, y, loss, names=names)
    own = whole.task.space.point(whole.task.esn.hyper, PENALTY)[None]
    places = [whole.task.space.names.index(each) for each in some.space.names]
    z = own[:, places]
    model, full = some.model(z, some.value(z).readout), whole.task.model(own, whole.task.value(own).readout)
    assert_close(model.error, full.error, 1e-12)
    assert_close(model.gradient, full.gradient[:, places], 1e-9)
    assert_close(model.curvature, full.curvature[:, places][:, :, places], 1e-9)


@pytest.mark.parametrize("make", [squares, entropy])
def test_chunks_and_blocks_change_nothing(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    case = make("parallel", "unequal lengths", folds=3)
    z = points(case, 5)
    value = case.task.value(z)
    model = case.task.model(z, value.readout)
    monkeypatch.setattr(gradient, "LONGEST_CHUNK", 7)
    monkeypatch.setattr(gradient, "BLOCK_LANES", 4)
    monkeypatch.setattr(losses, "STATISTICS_BYTES", 1)
    monkeypatch.setattr(lanes, "LONGEST_CHUNK", 16)
    monkeypatch.setattr(lanes, "CPU_BLOCK_LANES", 4)
    again = case.task.value(z)
    assert_close(again.error, value.error, 1e-10)
    for found, expected in zip(case.task.model(z, value.readout), model, strict=True):
        assert_close(found, expected, 1e-10)


def test_points_do_not_feel_each_other() -> None:
    case = squares("parallel", "unequal lengths", 2, 1, 3)
    z = points(case, 3)
    value = case.task.value(z)
    model = case.task.model(z, value.readout)
    for s in range(len(z)):
        alone = case.task.value(z[s : s + 1])
        assert_close(alone.error, value.error[s : s + 1], 1e-12)
        for found, expected in zip(case.task.model(z[s : s + 1], alone.readout), model, strict=True):
            assert_close(found, expected[s : s + 1], 1e-10)


MEMORY = """
import resource, sys
import numpy as np, echoscale as es
rng = np.random.default_rng(0)
def peak(steps):
    u = rng.normal(size=(steps, 1))
    es.tune(es.single(30, bias_scaling=0.1), u, np.roll(u[:, 0], 2), starts=16, rounds=1)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
peak(5_000)  # compiles
short = peak(5_000)
print(peak(10_000) - short)
"""


def test_memory_does_not_grow_with_the_series() -> None:
    """5,000 more steps: the states of 128 screened points would take 145 MiB, the tangents of 16 starts 90 MiB."""
    pytest.importorskip("resource")
    well = {name: value for name, value in os.environ.items() if name not in ("JAX_DISABLE_MOST_OPTIMIZATIONS", "XLA_FLAGS")}
    done = subprocess.run([sys.executable, "-c", MEMORY], check=True, capture_output=True, text=True, env=well)
    assert float(done.stdout) < 30
