"""Exponential smoothing on lanes and as weights of lags, against the recursion itself and against plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from echoscale.forecasting import smoothing
from echoscale.forecasting.methods import SMOOTHING, simple_methods
from echoscale.forecasting.problem import as_problem
from echoscale.forecasting.rows import Steps
from echoscale.forecasting.search import Search


@pytest.mark.parametrize("lane", [3, 100, 400])
def test_a_lane_is_the_recursion(lane: int) -> None:
    rng = np.random.default_rng(0)
    z, m = rng.normal(size=60) + 0.1 * np.arange(60), 6
    lanes = smoothing.begin(z, m)
    alpha, beta, phi, gamma, _ = lanes.factors[:, lane]
    level, slope, seasons = lanes.level[lane], lanes.slope[lane], lanes.seasons[:, lane].copy()
    squares = 0.0
    for t, value in enumerate(z):
        if t == 33:
            value = np.nan
        lanes.step(float(value))
        expected = level + phi * slope
        if np.isnan(value):
            level, slope = expected, phi * slope
            continue
        error = value - expected - seasons[t % m]
        level, slope = expected + alpha * error, phi * slope + alpha * beta * error
        seasons[t % m] += (1 - alpha) * gamma * error
        if t >= lanes.skip:
            squares += error**2
    assert lanes.level[lane] == pytest.approx(level)
    assert lanes.squares[lane] == pytest.approx(squares)
    # All weight on this lane: its forecast is the closed form.
    lanes.squares = np.full_like(lanes.squares, 1e9)
    lanes.squares[lane] = 1e-3
    kind = int(lanes.factors[4, lane])
    ahead = lanes.forecasts(8)[kind]
    for h in range(1, 9):
        expected = level + sum(phi**j for j in range(1, h + 1)) * slope + seasons[(59 + h) % m]
        assert ahead[h - 1] == pytest.approx(expected)


def test_a_line_is_continued() -> None:
    z = np.asarray(3.0 + 0.5 * np.arange(40), np.float64)
    lanes = smoothing.begin(z, None)
    for value in z.tolist():
        lanes.step(value)
    linear = lanes.forecasts(5)[smoothing.TRENDS.index(smoothing.LINEAR)]
    np.testing.assert_allclose(linear, 3.0 + 0.5 * np.arange(40, 45), atol=1e-9)


@pytest.mark.parametrize("horizon", [1, 4])
@pytest.mark.parametrize(("alpha", "beta", "phi"), [(0.3, 0.0, 1.0), (1.0, 0.0, 1.0), (0.5, 0.2, 0.95), (0.9, 0.05, 0.8)])
def test_weights_are_what_the_recursion_makes_of_a_series(
    alpha: float, beta: float, phi: float, horizon: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smoothing, "LEAST_WEIGHT", 0.0)
    [weights] = smoothing.responses([(alpha, beta, phi)], horizon, 900)
    u = np.random.default_rng(0).normal(size=60)
    level = slope = 0.0
    for t, value in enumerate(u):
        error = value - level - phi * slope
        level, slope = level + phi * slope + alpha * error, phi * slope + alpha * beta * error
        forecast = level + sum(phi**i for i in range(1, horizon + 1)) * slope
        assert sum(weights[k] * u[t - k] for k in range(min(t + 1, len(weights)))) == pytest.approx(forecast, abs=1e-9)


@pytest.mark.parametrize("horizon", [1, 5, 12, 17])
def test_what_repeats_itself_about_a_level_is_forecast_exactly(horizon: int) -> None:
    u = 3 + np.tile(np.random.default_rng(0).normal(size=12), 12)
    many = smoothing.grid(horizon, 12, 90)
    plain = len(smoothing.FILTERS)
    assert len(many) == plain + len(smoothing.SEASONS) * (1 + plain * len(smoothing.SHARES))
    for weights in many[plain:]:
        found = [sum(weight * u[t - lag] for lag, weight in weights.items()) for t in range(90, len(u) - horizon)]
        np.testing.assert_allclose(found, u[90 + horizon :], rtol=1e-9)
    for weights in many[:plain]:
        assert sum(weights.values()) == pytest.approx(1)


def test_no_smoother_looks_farther_back_than_it_may() -> None:
    for reach in (1, 7, 30, 100):
        many = smoothing.grid(3, 12, reach)
        assert many
        assert max(max(each) for each in many) <= reach


def test_the_best_before_the_origin_are_averaged() -> None:
    rng = np.random.default_rng(1)
    level = np.cumsum(rng.normal(size=(240, 2)), axis=0)
    u = level + 2 * rng.normal(size=(240, 2)) + 4 * np.sin(2 * np.pi * np.arange(240) / 8)[:, None]
    y = u[3:, [1, 0]].copy()
    y[50:60, 0] = np.nan
    problem = as_problem(u[:-3], y, None, "standard")
    assert problem.season == 8
    split = problem.splits.splits[0]
    end = problem.splits.edges[0][split.train[-1] + 1]
    made = smoothing.smoothing(problem, split)
    inputs, targets = (np.asarray(each.values[0]) for each in (problem.series, problem.targets))
    many = smoothing.grid(3, 8, (len(u) - 3) // 4)
    first = max(max(each) for each in many)
    for output, column in ((0, 1), (1, 0)):
        squares = []
        for weights in many:
            errors = [
                sum(w * inputs[t - lag, column] for lag, w in weights.items()) - targets[t, output] for t in range(first, end)
            ]
            squares.append(sum(each**2 for each in errors if each == each))
        best = [each for each, square in zip(many, squares, strict=True) if square <= 1.03**2 * min(squares)]
        coef = made.coef[output].reshape(len(made.lags), 2)
        np.testing.assert_array_equal(coef[:, 1 - column], 0)
        wanted = [np.mean([each.get(lag, 0.0) for each in best]) for lag in made.lags]
        np.testing.assert_allclose(coef[:, column], wanted, atol=1e-12)


def test_what_is_not_the_future_of_an_input_is_not_smoothed() -> None:
    u = np.random.default_rng(0).normal(size=(200, 1))
    search = Search(Steps(as_problem(u, u**2, None, "standard")), 0)
    assert SMOOTHING not in simple_methods(search)
