"""Quantiles against those that are known."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

import echoscale as es
from echoscale.forecasting import intervals


def test_quantiles_of_many_errors_are_the_known_ones() -> None:
    rng = np.random.default_rng(0)
    spread = np.sqrt(np.arange(1, 9))
    table = intervals.quantiles(rng.normal(size=(40_000, 8)) * spread)
    for p in (0.1, 0.9):
        expected = intervals.CHOSEN * NormalDist().inv_cdf(p) * spread
        np.testing.assert_allclose(intervals.at(table, p), expected, rtol=0.08)
    for p in (0.025, 0.975):
        expected = intervals.CHOSEN * intervals.TAIL * NormalDist().inv_cdf(p) * spread
        np.testing.assert_allclose(intervals.at(table, p), expected, rtol=0.08)


def test_sides_are_those_of_the_data() -> None:
    rng = np.random.default_rng(1)
    table = intervals.quantiles(rng.exponential(size=(20_000, 3)))
    low, high = intervals.at(table, 0.1), intervals.at(table, 0.9)
    assert (high > 2 * -low).all()


def test_coverage_and_width_of_an_autoregression() -> None:
    """y(t) = 0.8 y(t-1) + e: the true interval of h steps has sigma^2 (1 - 0.8^2h) / (1 - 0.8^2)."""
    inside: dict[int, list[list[float]]] = {80: [], 95: []}
    widths = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        y = np.zeros(420)
        for t in range(1, 420):
            y[t] = 0.8 * y[t - 1] + rng.normal()
        forecast = es.Forecaster(6, season=None, networks=False).fit(y[:400]).predict(6)
        sigma = np.sqrt((1 - 0.64 ** np.arange(1, 7)) / 0.36)
        truth = 0.8 ** np.arange(1, 7) * y[399]
        for level in (80, 95):
            # Against the true distribution, not one draw of it.
            upper, lower = ((bound - truth) / sigma for bound in (forecast.upper(level), forecast.lower(level)))
            normal = NormalDist()
            inside[level].append([normal.cdf(high) - normal.cdf(low) for high, low in zip(upper, lower, strict=True)])
        widths.append((forecast.upper(80) - forecast.lower(80)) / (2 * 1.2816 * sigma))
    assert np.mean(inside[80]) == pytest.approx(0.8, abs=0.05)
    assert np.mean(inside[95]) == pytest.approx(0.95, abs=0.03)
    assert 0.9 < np.mean(widths) < 1.25
