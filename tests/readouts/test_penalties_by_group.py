"""The folds' errors along the ridge path, against solving and predicting one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from echoscale.forecasting.splits import of_steps
from echoscale.readouts import penalties, splits
from echoscale.readouts.penalties import RELATIVE
from echoscale.readouts.statistics import Statistics, of_rows


def data(rows: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 9)) + rng.normal(size=9)
    return x, x @ rng.normal(size=(9, 4)) + rng.normal(size=(rows, 4)) + 2


def rows_of(edges: np.ndarray, segments: tuple[int, ...]) -> np.ndarray:
    """The rows of some segments, from the edges alone."""
    return np.concatenate([np.arange(edges[s], edges[s + 1]) for s in segments])


@pytest.mark.parametrize("gap", [1, 6])
def test_errors_and_penalties_are_those_of_predictions_one_by_one(gap: int) -> None:
    x, y = data()
    found_origins = of_steps([np.ones(300, bool)], 10, gap)
    edges = found_origins.edges[0]
    parts = [of_rows(x[low:high], y[low:high]) for low, high in itertools.pairwise(edges)]
    features = np.array([0, 2, 3, 4, 5, 8])
    for origin in found_origins.splits:
        found = penalties.choose_by_group(splits.pairs(parts, origin.folds), features, [9 + np.arange(2), 11 + np.arange(2)])
        squares, count = np.zeros((len(RELATIVE), 4)), 0
        for fold in origin.folds:
            train, out = rows_of(edges, fold.train), rows_of(edges, fold.held_out)
            a, b = x[train][:, features], y[train]
            centred = a - a.mean(axis=0)
            unit = (centred**2).sum() / len(features)
            for place, r in enumerate(RELATIVE):
                w = np.linalg.solve(centred.T @ centred + r * unit * np.eye(6), centred.T @ (b - b.mean(axis=0)))
                guess = (x[out][:, features] - a.mean(axis=0)) @ w + b.mean(axis=0)
                squares[place] += ((guess - y[out]) ** 2).sum(axis=0)
            count += len(out)
        for kind in range(2):
            error = (squares[:, 2 * kind : 2 * kind + 2] / count).mean(axis=1)
            np.testing.assert_allclose(found.error[kind], np.sqrt(error.min()), rtol=1e-11)
            assert found.relative[kind] == RELATIVE[error.argmin()]


def test_lanes_are_judged_by_themselves() -> None:
    one, other = (of_rows(*data(200, seed)) for seed in (1, 2))
    held = [of_rows(*data(50, seed)) for seed in (3, 4)]

    def stacked(a: Statistics, b: Statistics) -> Statistics:
        count, mean, scatter = (np.stack([getattr(a, name), getattr(b, name)]) for name in ("count", "mean", "scatter"))
        return Statistics(count, mean, scatter, a.features)

    used, kinds = np.arange(9), [9 + np.arange(4)]
    both = penalties.choose_by_group([(stacked(one, other), stacked(*held))], used, kinds)
    for lane, pair in enumerate(((one, held[0]), (other, held[1]))):
        alone = penalties.choose_by_group([pair], used, kinds)
        np.testing.assert_allclose(both.error[lane], alone.error, rtol=1e-12)
        np.testing.assert_array_equal(both.relative[lane], alone.relative)


def test_the_readout_is_the_ridge_solution_of_all_rows() -> None:
    x, y = data()
    readout = penalties.fit_columns(of_rows(x, y), np.arange(9), 9 + np.arange(4), 0.1)
    centred = x - x.mean(axis=0)
    penalty = 0.1 * (centred**2).sum() / 9
    want = np.linalg.solve(centred.T @ centred + penalty * np.eye(9), centred.T @ (y - y.mean(axis=0))).T
    np.testing.assert_allclose(readout.coef, want, rtol=1e-10)
    np.testing.assert_allclose(readout.predict(x).mean(axis=0), y.mean(axis=0), rtol=1e-10)
