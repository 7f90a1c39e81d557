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
from echoscale.learning.tuning.losses import Networks
from echoscale.learning.tuning.pooled import PooledEntropy, PooledRuns
from echoscale.learning.tuning.space import Space
from echoscale.learning.tuning.split import prepare

Floats = npt.NDArray[np.float64]

RNG = np.random.default_rng(0)
KINDS = np.arange(24) % 3
LENGTHS = 12 + KINDS * 2 + np.arange(24) // 8
SEQUENCES = [
    np.sin((0.4 + 0.5 * kind) * np.arange(steps) + RNG.uniform(0, 6))[:, None] + 0.3 * RNG.normal(size=(steps, 1))
    for kind, steps in zip(KINDS, LENGTHS, strict=True)
]
WORDS = np.array(["low", "middle", "high"])
POOLS = {
    "mean": lambda x: x.mean(axis=0),
    "std": lambda x: x.std(axis=0),
    "max": lambda x: x.max(axis=0),
    "min": lambda x: x.min(axis=0),
    "last": lambda x: x[-1],
}


def task_of(pools: tuple[str, ...], units: int, validation: float | int) -> PooledEntropy:
    data = prepare(SEQUENCES, KINDS, "cross_entropy", None, validation)
    esn = es.hierarchical([units, 2], leak_rate=(0.6, 0.3), spectral_radius=0.7).build(1, seed=3, dtype="float64")
    space = Space.of(["leak_rate", "spectral_radius[0]", "ridge"], esn.hyper, {}, sharpness=True)
    runs = PooledRuns(esn, space, data.series, data.targets, data.edges, 0.0, folds=data.folds, rows=data.steps, pools=pools)
    return PooledEntropy(runs)


def points_of(task: PooledEntropy) -> Floats:
    space = task.runs.space
    return np.stack([space.point(task.runs.esn.hyper, 0.3), space.point(task.runs.esn.hyper, 0.02) - 0.1])


@pytest.mark.parametrize(
    ("pools", "units", "validation"),
    [(("mean", "std", "max", "min"), 3, 3), (("last", "mean"), 30, 4), (("std", "last"), 30, 0.25)],
)
def test_the_value_is_that_of_loops_and_scikit_learn(pools: tuple[str, ...], units: int, validation: float | int) -> None:
    """Also with more features than sequences, which are turned, and where one part alone judges."""
    task = task_of(pools, units, validation)
    runs, z = task.runs, points_of(task)
    networks = Networks(runs.hyper(z), runs.penalties(z), runs.space.sharpnesses(z))
    found = task.value_at(networks).error
    segment = np.array([int(np.flatnonzero(np.diff(each))[0]) for each in runs.edges])
    codes = np.eye(3)[KINDS]
    for s in range(len(z)):
        states = [naive.states_of(runs.esn, u, hyper=networks.hyper, lane=s) for u in SEQUENCES]
        rows = np.stack([np.concatenate([POOLS[name](x) for name in pools]) for x in states])
        logs = []
        train_any = np.isin(segment, sorted({t for fold in runs.folds for t in fold.train}))
        standard = (rows - rows[train_any].mean(axis=0)) / rows[train_any].std(axis=0)
        for k, fold in enumerate(runs.folds):
            train, judged = np.isin(segment, fold.train), np.isin(segment, fold.held_out)
            ridge = Ridge(alpha=float(networks.penalties[s, k]), solver="svd").fit(standard[train], codes[train])
            q = log_softmax(networks.sharpness[s] * ridge.predict(standard[judged]), axis=1)
            logs.extend(q[np.arange(judged.sum()), KINDS[judged]])
        assert found[s] == pytest.approx(-np.mean(logs), rel=1e-8)


def test_the_model_has_the_slopes_of_the_value() -> None:
    task = task_of(("mean", "std", "max", "min"), 3, 3)
    z = points_of(task)
    z[1, 0] = task.runs.space.high[0]  # a bound: differences go to one side
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
    assert result.features == ("mean", "std", "max", "min")
    assert result.helped
    assert result.test_error is not None
    assert result.start_test_error is not None
    assert result.start_test_error == pytest.approx(np.log(2), rel=0.02)
    assert result.test_error < 0.9 * result.start_test_error
    edges = prepare(u, kinds, "cross_entropy", None, 5, 0.3).whole_edges
    tests = np.array([bool(each[-2] < each[-1]) for each in edges])
    model: Any = result.estimator().fit(u[~tests], WORDS[kinds[~tests]])
    assert model.score(u[tests], WORDS[kinds[tests]]) > 0.65  # three standard errors above chance


def test_one_step_has_no_pools() -> None:
    with pytest.raises(ValueError, match=r"features='mean' has a meaning with one label per sequence alone"):
        es.tune(es.single(5), np.zeros((60, 1)), np.arange(60) % 2, loss="cross_entropy", features="mean")
    with pytest.raises(ValueError, match=r"features must be one of .* got 'median'"):
        es.tune(es.single(5), SEQUENCES, KINDS, loss="cross_entropy", features="median")
