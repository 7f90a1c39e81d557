"""Exponential smoothing against the recursion of one lane."""

from __future__ import annotations

import numpy as np
import pytest

from echoscale.forecasting import smoothing


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
            squares = squares * (1 - 1 / smoothing.MEMORY) + error**2
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
