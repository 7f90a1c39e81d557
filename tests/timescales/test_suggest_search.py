"""Trials on folds of time: the errors by plain ridge regression, and a search that only ever gains."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

import echoscale as es
from echoscale.data.series import as_series, as_targets
from echoscale.readouts.splits import block_edges
from echoscale.timescales import suggest_search
from echoscale.timescales.candidates import shortened
from echoscale.timescales.suggest_search import Point, errors_of, improved, input_scaling

Floats = npt.NDArray[np.float64]


def standard(x: Floats) -> Floats:
    return np.asarray((x - x.mean(axis=0)) / x.std(axis=0))


def problem(steps: int = 400, features: int = 2) -> tuple[Floats, Floats]:
    u = np.random.default_rng(0).uniform(-1, 1, (steps, features))
    y = np.stack([np.roll(u[:, 0], 2), np.roll(u[:, 0], 1) * u[:, -1]], axis=1)
    return standard(u), standard(y)


def naive_error(point: Point, u: Floats, y: Floats, seed: int) -> float:
    """The network of one point by itself, every fold and penalty by the normal equations."""
    network = es.hierarchical(
        [10, 10],
        leak_rate=[point.fast, point.slow],
        spectral_radius=point.radius,
        input_scaling=input_scaling(point.drive, np.ones(u.shape[1])),
        bias_scaling=0.2,
        inputs="all",
    )
    states = np.asarray(network.build(u.shape[1], seed=seed).run(u), np.float64)
    cuts = block_edges([len(u)], 40)[0]
    folds = [np.arange(cuts[k], cuts[k + 1]) for k in range(0, len(cuts) - 1, 2)]
    counted = np.concatenate(folds)
    errors = []
    for relative in 10.0 ** np.arange(-8, 5):  # no less: noise of 1e-4 in the states adds as much
        squares = np.zeros(y.shape[1])
        for fold in folds:
            rest = np.setdiff1d(counted, fold)
            x, t = states[rest] - states[rest].mean(axis=0), y[rest] - y[rest].mean(axis=0)
            ridge = relative * (x**2).sum() / x.shape[1]
            fit = np.linalg.lstsq(
                np.concatenate([x, np.sqrt(ridge) * np.eye(x.shape[1])]),
                np.concatenate([t, np.zeros((x.shape[1], t.shape[1]))]),
            )[0]
            guess = (states[fold] - states[rest].mean(axis=0)) @ fit + y[rest].mean(axis=0)
            squares += ((guess - y[fold]) ** 2).sum(axis=0)
        errors.append(np.sqrt((squares / len(counted) / y[counted].var(axis=0)).mean()))
    return float(min(errors))


def test_errors_are_those_of_ridge_regression_on_blocks_of_time() -> None:
    u, y = problem()
    points = [Point(1.0, 0.5, 0.9, 0.3), Point(0.7, 0.7, 0.4, 1.0)]
    network = es.hierarchical([10, 10], bias_scaling=0.2, inputs="all")
    series = as_series(u)
    joint = errors_of(points, network, series, [as_targets(y, series)], 3)
    apart = errors_of(points, network, series, [as_targets(y[:, :1], series), as_targets(y[:, 1:], series)], 3)
    for k, point in enumerate(points):
        draws = [3, 4]
        assert len(draws) == suggest_search.DRAWS
        expected = np.exp(np.mean([np.log(naive_error(point, u, y, seed)) for seed in draws]))
        assert joint[k] == pytest.approx(expected, rel=1e-3)  # the states are float32
        each = [np.log(naive_error(point, u, y[:, [o]], seed)) for seed in draws for o in (0, 1)]
        assert apart[k] == pytest.approx(np.exp(np.mean(each)), rel=1e-3)


def test_the_best_point_is_never_worse_and_its_error_is_its_own() -> None:
    u, y = problem()
    series = as_series(u)
    targets = [as_targets(y, series)]
    start, best = improved(Point(1.0, 1.0, 0.97, 1.0), series, targets, 2, 20, 0.2, 0)
    network = es.hierarchical([10, 10], bias_scaling=0.2)
    again = errors_of([start, best], network, series, targets, 0)
    # Lanes are rounded as their number has it, and the states are float32.
    np.testing.assert_allclose(again, [start.error, best.error], rtol=1e-3)
    assert best.error < 0.9 * start.error


def test_noise_moves_nothing() -> None:
    rng = np.random.default_rng(1)
    u, y = standard(rng.standard_normal((200, 1))), standard(rng.standard_normal((200, 1)))
    series = as_series(u)
    start, best = improved(Point(1.0, 0.5, 0.9, 0.1), series, [as_targets(y, series)], 2, 20, 0.2, 0)
    assert replace(best, error=0.0) == replace(start, error=0.0)


def test_the_input_is_never_weaker_than_allowed() -> None:
    """A delay wants the weakest input there is."""
    u = standard(np.random.default_rng(2).uniform(size=(500, 1)))
    series = as_series(u)
    targets = [as_targets(np.roll(u, 4, axis=0), series)]
    start, best = improved(Point(1.0, 1.0, 0.7, 0.01), series, targets, 1, 20, 0.2, 0, 0.1)
    assert start.drive == best.drive == 0.1
    _, freer = improved(Point(1.0, 1.0, 0.7, 0.01), series, targets, 1, 20, 0.2, 0)
    assert freer.drive < 0.05
    assert freer.error < best.error


def test_long_data_are_shortened_evenly() -> None:
    whole = as_series(np.arange(9000.0).reshape(-1, 1))
    assert np.array_equal(np.asarray(shortened(whole, suggest_search.MOST_STEPS).values[0])[:, 0], np.arange(5000.0, 9000.0))
    many = as_series(np.arange(200.0 * 100).reshape(200, 100, 1))
    kept = shortened(many, suggest_search.MOST_STEPS)
    assert kept.count == 40
    assert kept.lengths.sum() <= suggest_search.MOST_STEPS
    assert kept.values[0][0, 0] == 0
    assert kept.values[-1][-1, 0] == 200 * 100 - 1
    few = as_series(np.ones((3, 50, 1)))
    assert [len(each) for each in shortened(few, suggest_search.MOST_STEPS).values] == [50, 50, 50]


@pytest.mark.parametrize("features", [1, 4])
def test_the_drive_is_what_the_input_adds(features: int) -> None:
    """Variance of sum_f gamma w_f u_f with w uniform in [-1, 1]: gamma^2 / 3 sum_f var u_f."""
    spreads = np.arange(1.0, features + 1)
    gamma = input_scaling(0.3, spreads)
    assert np.sqrt(gamma**2 / 3 * (spreads**2).sum()) == pytest.approx(0.3, rel=1e-12)
