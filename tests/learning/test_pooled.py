"""Labels of whole sequences, judged by pooled states: NumPy loops, scikit-learn's ridge, differences."""

from __future__ import annotations

from typing import Any

import naive
import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import log_softmax
from sklearn.linear_model import Ridge

import echoscale as es
from echoscale.learning.tuning.entropy import PooledEntropy
from echoscale.learning.tuning.space import Space
from echoscale.learning.tuning.split import prepare
from echoscale.readouts import Columns, Pools

Floats = npt.NDArray[np.float64]

RNG = np.random.default_rng(0)
KINDS = np.arange(24) % 3
LENGTHS = 12 + KINDS * 2 + np.arange(24) // 8
SEQUENCES = [
    np.sin((0.4 + 0.5 * kind) * np.arange(steps) + RNG.uniform(0, 6))[:, None] + 0.3 * RNG.normal(size=(steps, 1))
    for kind, steps in zip(KINDS, LENGTHS, strict=True)
]
WORDS = np.array(["low", "middle", "high"])
POOLS: dict[str, Any] = {
    "mean": lambda x: x.mean(axis=0),
    "std": lambda x: x.std(axis=0),
    "max": lambda x: x.max(axis=0),
    "min": lambda x: x.min(axis=0),
    "last": lambda x: x[-1],
    "segments": lambda x: np.concatenate([x[len(x) * k // 2 : -(-len(x) * (k + 1) // 2)].mean(axis=0) for k in range(2)]),
}


def task_of(pools: tuple[str, ...], units: int, folds: float | int, standardise: bool = True) -> PooledEntropy:
    data = prepare(SEQUENCES, KINDS, "cross_entropy", None, folds).tuned
    esn = es.hierarchical([units, 2], leak_rate=(0.6, 0.3), spectral_radius=0.7).build(1, seed=3, dtype="float64")
    space = Space.of(["leak_rate", "spectral_radius[0]", "ridge"], esn.hyper, {}, sharpness=True)
    return PooledEntropy(esn, space, data, 0.0, pools=Pools(pools, parts=2, standardise=standardise))


def points_of(task: PooledEntropy) -> Floats:
    space = task.space
    return np.stack([space.point(task.esn.hyper, 0.3), space.point(task.esn.hyper, 0.02) - 0.1])


@pytest.mark.parametrize(
    ("pools", "units", "folds", "standardise"),
    [
        (("mean", "std", "max", "min"), 3, 3, True),
        (("last", "mean"), 30, 4, True),
        (("std", "last"), 30, 0.25, True),
        (("segments", "max"), 3, 3, False),
    ],
)
def test_the_value_is_that_of_loops_and_scikit_learn(
    pools: tuple[str, ...], units: int, folds: float | int, standardise: bool
) -> None:
    """Also with more features than sequences, which are turned, and where one part alone judges."""
    task = task_of(pools, units, folds, standardise)
    data, z = task.data, points_of(task)
    networks = task.networks(z)
    found = task.value_at(networks).error
    segment = np.array([int(np.flatnonzero(np.diff(each))[0]) for each in data.edges])
    codes = np.eye(3)[KINDS]
    for s in range(len(z)):
        states = [naive.states_of(task.esn, u, hyper=networks.hyper, lane=s) for u in SEQUENCES]
        rows = np.stack([np.concatenate([POOLS[name](x) for name in pools]) for x in states])
        logs = []
        train_any = np.isin(segment, sorted({t for fold in data.folds for t in fold.train}))
        standard = (rows - rows[train_any].mean(axis=0)) / rows[train_any].std(axis=0) if standardise else rows
        for k, fold in enumerate(data.folds):
            train, judged = np.isin(segment, fold.train), np.isin(segment, fold.held_out)
            ridge = Ridge(alpha=float(networks.penalties[s, k]), solver="svd").fit(standard[train], codes[train])
            q = log_softmax(networks.sharpness[s] * ridge.predict(standard[judged]), axis=1)
            logs.extend(q[np.arange(judged.sum()), KINDS[judged]])
        assert found[s] == pytest.approx(-np.mean(logs), rel=1e-8)


def test_the_model_has_the_slopes_of_the_value() -> None:
    task = task_of(("mean", "std", "max", "min"), 3, 3)
    z = points_of(task)
    z[1, 0] = task.space.high[0]  # a bound: differences go to one side
    value = task.value(z)
    model = task.model(z, value.readout)
    np.testing.assert_allclose(model.error, value.error, rtol=1e-12)
    step = 1e-4
    for p in range(z.shape[1]):
        moved = np.eye(z.shape[1])[p] * step
        slope = (task.value(z + moved).error - task.value(z - moved).error) / (2 * step)
        inside = [0] if p == 0 else [0, 1]  # above 1 a leak rate has no meaning
        np.testing.assert_allclose(model.gradient[inside, p], slope[inside], rtol=2e-4, atol=2e-6)
    below = (value.error[1] - task.value(z - np.eye(z.shape[1])[0] * step).error[1]) / step
    assert model.gradient[1, 0] == pytest.approx(below, rel=1e-2)
    assert (np.linalg.eigvalsh(model.curvature) > -1e-12).all()


def test_tuning_learns_what_means_cannot_tell() -> None:
    """Two kinds of noise that differ in the correlation of neighbours: a network that forgets at once sees nothing of it."""
    rng = np.random.default_rng(1)
    kinds = np.arange(300) % 2
    noise = rng.normal(size=(300, 31))
    u = (noise[:, 1:] + np.where(kinds, 0.25, -0.25)[:, None] * noise[:, :-1])[..., None]
    network = es.single(12, leak_rate=1.0, spectral_radius=1e-6, input_scaling=0.05)
    options: dict[str, Any] = {"loss": "cross_entropy", "starts": 2, "rounds": 8, "test": 0.3}
    result = es.tune(network, u, WORDS[kinds], ["leak_rate", "input_scaling", "ridge"], **options)
    assert result.pools is not None
    assert result.pools.features == ("mean", "std", "max", "min")
    assert result.helped
    assert result.test_error is not None
    assert result.start_test_error is not None
    assert result.start_test_error == pytest.approx(np.log(2), rel=0.02)
    assert result.test_error < 0.9 * result.start_test_error
    edges = prepare(u, kinds, "cross_entropy", None, 5, 0.3).test.edges
    tests = np.array([bool(each[-2] < each[-1]) for each in edges])
    model: Any = result.estimator().fit(u[~tests], WORDS[kinds[~tests]])
    assert model.score(u[tests], WORDS[kinds[tests]]) > 0.65  # three standard errors above chance


@pytest.mark.parametrize("pools", [Pools(changes=True), Pools(("std", "snapshots"), parts=3, changes=False, standardise=False)])
def test_the_estimator_has_the_cross_entropy_that_was_reported(pools: Pools) -> None:
    """With changes of the inputs, and with other pools."""
    options: dict[str, Any] = {
        "loss": "cross_entropy",
        "folds": 0.25,
        "test": 0,
        "scale": None,
        "starts": 1,
        "rounds": 1,
        "ridge": 0.5,
    }
    result = es.tune(es.single(5, leak_rate=0.5), SEQUENCES, KINDS, "leak_rate", pools=pools, **options)
    validates = np.concatenate([np.flatnonzero(kind == KINDS)[3::4] for kind in range(3)])
    trains = np.setdiff1d(np.arange(len(KINDS)), validates)
    model: Any = result.estimator().fit([SEQUENCES[b] for b in trains], KINDS[trains])
    logs = log_softmax(result.sharpness * model.decision_function([SEQUENCES[b] for b in validates]), axis=1)
    assert -logs[np.arange(len(validates)), KINDS[validates]].mean() == pytest.approx(result.error, rel=1e-6)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"u": np.zeros((60, 1)), "y": np.arange(60) % 2, "pools": Pools("mean")},
            ValueError,
            "used with one label per sequence",
        ),
        ({"pools": "mean"}, TypeError, r"pools must be an echoscale.readouts.Pools or None, got 'mean'"),
        ({"pools": Pools(ranks=True)}, ValueError, "cannot use normal scores"),
        ({"columns": Columns(1)}, ValueError, "cannot be used with one label per sequence"),
    ],
)
def test_what_is_no_pool_of_sequences_is_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    given: dict[str, Any] = {"u": SEQUENCES, "y": KINDS, **options}
    with pytest.raises(error, match=message):
        es.tune(es.single(5), given.pop("u"), given.pop("y"), loss="cross_entropy", **given)
