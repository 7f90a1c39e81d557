"""Quantiles against those that are known."""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pytest

import echoscale as es
from echoscale.forecasting import intervals

Floats = npt.NDArray[np.float64]


def test_quantiles_of_many_errors_are_the_known_ones() -> None:
    rng = np.random.default_rng(0)
    spread = np.sqrt(np.arange(1, 9))
    table = intervals.quantiles(rng.normal(size=(40_000, 8)) * spread)
    for p in (0.025, 0.1, 0.9, 0.975):
        expected = intervals.CHOSEN * NormalDist().inv_cdf(p) * spread
        np.testing.assert_allclose(intervals.at(table, p), expected, rtol=0.08)


def test_quantiles_of_few_errors_are_those_of_student() -> None:
    """Mean quantiles of 8 errors, over many draws, lie between the normal distribution and the t distribution."""
    from scipy.stats import t

    rng = np.random.default_rng(0)
    tables = [intervals.quantiles(rng.normal(size=(8, 1))) for _ in range(400)]
    upper = np.mean([intervals.at(table, 0.95)[0] for table in tables])
    wider = intervals.CHOSEN * (1 + intervals.FEW / 8)
    assert wider * NormalDist().inv_cdf(0.95) < upper < wider * t.ppf(0.95, 8)


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


def _noise(e: Floats) -> Floats:
    return 10 + e


def _walk(e: Floats) -> Floats:
    return np.cumsum(0.3 + e, axis=-1)


def _autoregression(e: Floats) -> Floats:
    weights = 0.7 ** np.arange(e.shape[-1])
    return np.apply_along_axis(lambda each: np.convolve(each, weights)[: len(each)], -1, e)


def _season(e: Floats) -> Floats:
    return 5 * np.sin(2 * np.pi * np.arange(e.shape[-1]) / 7) + e


def _growth(e: Floats) -> Floats:
    return np.exp(np.cumsum(0.03 + 0.05 * e, axis=-1))


@pytest.mark.parametrize("draw", [_noise, _walk, _autoregression, _season, _growth])
def test_coverage_of_short_series_of_known_noise(draw: Callable[[Floats], Floats]) -> None:
    """Shares of 500 futures of each of 30 series that lie inside, with all that is chosen: the mean is within 2 points."""
    known, ahead = 60, 6
    inside: dict[float, list[float]] = {80: [], 95: []}
    for seed in range(30):
        rng = np.random.default_rng(seed)
        past = np.broadcast_to(rng.normal(size=known), (500, known))
        y = draw(np.concatenate([past, rng.normal(size=(500, ahead))], axis=1))
        forecast = es.Forecaster(ahead, networks=False).fit(y[0, :known]).predict(ahead)
        for level, each in inside.items():
            each.append(np.mean((forecast.lower(level) <= y[:, known:]) & (y[:, known:] <= forecast.upper(level))))
    for level, each in inside.items():
        chance = 3 * np.std(each) / np.sqrt(len(each))
        assert np.mean(each) == pytest.approx(level / 100, abs=0.02 + chance)


def _sales(share: float) -> Callable[[np.random.Generator], Floats]:
    """1 + Poisson(2) pieces on a share of the days, else none."""
    return lambda rng: (rng.random(5_000) < share) * (1.0 + rng.poisson(2.0, 5_000))


@pytest.mark.parametrize(
    "draw",
    [
        _sales(0.1),
        _sales(0.3),
        _sales(0.5),
        lambda rng: rng.poisson(0.5, 5_000).astype(float),
        lambda rng: np.where(rng.random(5_000) < 0.5, 5.0, 5.0 + rng.exponential(2, 5_000)),
        lambda rng: np.where(rng.random(5_000) < 0.5, -1.0, -1.0 - rng.exponential(2, 5_000)),
    ],
    ids=["sales 10 %", "sales 30 %", "sales 50 %", "Poisson", "half equal, below", "half equal, above"],
)
def test_intervals_of_series_with_many_equal_values_cover_their_share(draw: Callable[[np.random.Generator], Floats]) -> None:
    """Independent draws: what lies inside is counted on 4,800 further values, not on the next ones alone."""
    inside: dict[int, list[float]] = {80: [], 95: []}
    for seed in range(6):
        y = draw(np.random.default_rng(seed))
        forecast = es.Forecaster(14, season=None, networks=False).fit(y[:200]).predict(14)
        for level, found in inside.items():
            lower, upper = forecast.lower(level)[:, None], forecast.upper(level)[:, None]
            found.append(float(((lower <= y[200:]) & (y[200:] <= upper)).mean()))
        assert (forecast.lower(80) <= forecast.mean).all()
        assert (forecast.mean <= forecast.upper(80)).all()
    assert np.mean(inside[80]) > 0.78
    assert np.mean(inside[95]) > 0.93


def test_neither_a_bias_nor_an_outlier_moves_intervals() -> None:
    errors = np.random.default_rng(2).normal(size=(400, 4))
    table = intervals.quantiles(errors)
    moved = intervals.quantiles(errors + 0.7)  # the forecasts of the past were too low
    for p in (0.1, 0.9):
        np.testing.assert_allclose(intervals.at(moved, p), intervals.at(table, p), rtol=0.1)
    errors[300 - np.arange(4), np.arange(4)] = 3_000  # one value, forecast from four origins
    far = intervals.quantiles(errors)
    for p in (0.1, 0.9):
        np.testing.assert_allclose(intervals.at(far, p), intervals.at(table, p), rtol=0.1)


def test_levels_beyond_the_grid_are_refused() -> None:
    model = es.Forecaster(2, season=None, networks=False).fit(np.random.default_rng(0).normal(size=60))
    widths = [np.ptp([model.predict(1, level=[level]).bounds[level][0]]) for level in (98, 99)]
    assert widths[0] < widths[1]
    for level in (99.5, 99.9999):
        with pytest.raises(ValueError, match=rf"at most 99 percent, got {level}: .*give level=99"):
            model.predict(1, level=[level])
