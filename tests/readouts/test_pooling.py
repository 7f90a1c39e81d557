"""Pooled states against a plain loop over the states of `naive`, in chunks, with lanes, and for short sequences."""

from __future__ import annotations

import math
from typing import Any

import naive
import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats

import echoscale as es
from echoscale.data.normal_scores import NormalScores, heard_of
from echoscale.data.series import as_series
from echoscale.engine import lanes
from echoscale.readouts.pooling import POOLS, columns, pooled

Array = npt.NDArray[Any]


def by_hand(states: Array, name: str, parts: int, washout: int) -> Array:
    """One pool of one sequence."""
    late = states[washout:]
    if name == "segments":
        cuts = [(math.floor(k * len(late) / parts), math.ceil((k + 1) * len(late) / parts)) for k in range(parts)]
        return np.concatenate([late[a:b].mean(axis=0) for a, b in cuts])
    if name == "snapshots":
        return np.concatenate([states[math.ceil(k * len(states) / parts) - 1] for k in range(1, parts + 1)])
    if name == "skew":
        return np.asarray(scipy.stats.skew(late, axis=0)) if len(late) > 1 else np.zeros(states.shape[1])
    if name == "positive":
        return np.asarray((late > 0).mean(axis=0))
    if name == "variation":
        return np.asarray(np.abs(late[1:] - late[:-1]).sum(axis=0) / len(late))
    return np.asarray(states[-1] if name == "last" else getattr(np, name)(late, axis=0))


@pytest.mark.parametrize("washout", [0, 2])
@pytest.mark.parametrize("parts", [1, 4])
def test_pools_are_those_of_the_states_one_by_one(washout: int, parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sequences of 3 to 40 steps, fewer than parts among them, in chunks of 8."""
    monkeypatch.setattr(lanes, "SHORTEST_CHUNK", 8)
    monkeypatch.setattr(lanes, "LONGEST_CHUNK", 8)
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n, 2)) for n in (3, 40, 17, 8)]
    esn = es.parallel([6, 5], leak_rate=[1.0, 0.2], bias_scaling=0.3).build(2, seed=1, dtype="float64")
    rows = pooled(esn, as_series(X), POOLS, parts=parts, washout=washout)
    where = columns(POOLS, 11, parts, parts)
    for b, u in enumerate(X):
        states = naive.states_of(esn, u)
        for name in POOLS:
            np.testing.assert_allclose(rows[b, where[name]], by_hand(states, name, parts, washout), rtol=0, atol=1e-10)


def test_lanes_have_rows_of_their_own() -> None:
    rng = np.random.default_rng(0)
    X = as_series([rng.normal(size=(n, 1)) for n in (9, 12)])
    esn = es.single(5).build(1, seed=0, dtype="float64")
    hyper = esn.hyper.replace(leak_rate=[np.array([1.0, 0.3, 0.1])])
    found = pooled(esn, X, POOLS, hyper=hyper)
    for k in range(3):
        np.testing.assert_allclose(found[k], pooled(esn, X, POOLS, hyper=hyper.lane(k)), rtol=0, atol=1e-12)


def test_normal_scores_are_those_of_ranks() -> None:
    """The order stays; training data become standard normal whatever their tails; ties share a score; a constant is 0."""
    rng = np.random.default_rng(0)
    heavy = np.stack([rng.standard_cauchy(20_000), np.full(20_000, 3.0), rng.integers(0, 2, 20_000)], axis=1)
    scores = NormalScores.of([heavy])
    found = scores.forward(heavy)
    assert abs(found[:, 0].mean()) < 0.02
    assert found[:, 0].std() == pytest.approx(1, abs=0.03)
    assert (np.diff(found[np.argsort(heavy[:, 0]), 0]) >= 0).all()
    np.testing.assert_allclose(found[:, 1], 0, atol=1e-12)
    assert len(np.unique(found[:, 2])) == 2
    median = np.median(heavy[:, 0])
    assert scores.forward(np.array([[median, 3.0, 0.0]]))[0, 0] == pytest.approx(0, abs=1e-6)
    assert np.abs(scores.forward(np.array([[1e300, 0.0, 0.0]]))).max() < 3


def test_changes_stand_beside_the_inputs() -> None:
    u = np.array([[1.0, 2.0], [4.0, 2.0], [3.0, 0.0]])
    expected = [[1.0, 2.0, 0.0, 0.0], [4.0, 2.0, 3.0, 0.0], [3.0, 0.0, -1.0, -2.0]]
    for data in ([u], u[None]):
        np.testing.assert_array_equal(heard_of(as_series(data), True).values[0], expected)
        np.testing.assert_array_equal(heard_of(as_series(data), "only").values[0], np.array(expected)[:, 2:])
        np.testing.assert_array_equal(heard_of(as_series(data), False, backwards=True).values[0], u[::-1])
        # The changes of what is heard: from the end to the start.
        turned = [[3.0, 0.0, 0.0, 0.0], [4.0, 2.0, 1.0, 2.0], [1.0, 2.0, -3.0, 0.0]]
        np.testing.assert_array_equal(heard_of(as_series(data), True, backwards=True).values[0], turned)
