"""Trends and seasons: known periods, noise and walks without any, and the test statistic against another's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.signal
import scipy.stats

from echoscale.timescales import season, trend
from echoscale.timescales.season import bridged, log_chance, whitened, without_line

Floats = npt.NDArray[np.float64]


def pattern(period: int, steps: int, seed: int = 0) -> Floats:
    """A random pattern over and over."""
    return np.resize(np.random.default_rng(seed).standard_normal(period), steps)


def noise(steps: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed + 100).standard_normal(steps)


@pytest.mark.parametrize("steps", [50, 61])
def test_the_chance_is_that_of_the_analysis_of_variance(steps: int) -> None:
    e = noise(steps) + 0.3 * pattern(5, steps)
    for p in (2, 5, 7, 16):
        groups = [e[phase::p] for phase in range(p)]
        assert np.exp(log_chance(e, np.array([p]))[0]) == pytest.approx(scipy.stats.f_oneway(*groups).pvalue, rel=1e-9)


@pytest.mark.parametrize(
    ("period", "steps"), [(4, 60), (7, 90), (7, 365), (12, 144), (12, 60), (24, 240), (24, 1000), (52, 500)]
)
@pytest.mark.parametrize("seed", range(3))
def test_a_pattern_is_found_under_noise_and_a_trend(period: int, steps: int, seed: int) -> None:
    values = 2 * pattern(period, steps, seed) + noise(steps, seed) + 0.2 * np.arange(steps)
    assert season(values) == period
    assert season(1e4 * values + 1e6) == period
    assert season(-values[:, None]) == period


@pytest.mark.parametrize("period", [4, 7, 12, 24])
def test_a_sine_is_found_on_a_random_walk(period: int) -> None:
    steps = 20 * period
    values = 3 * np.sin(2 * np.pi * np.arange(steps) / period) + 0.2 * noise(steps).cumsum() + 0.1 * noise(steps, 1)
    assert season(values) == period


@pytest.mark.parametrize("period", [2, 3, 12])
def test_an_exact_repetition_is_found_at_its_shortest_period(period: int) -> None:
    assert season(pattern(period, 10 * period, 1)) == period
    assert season(pattern(period, 10 * period, 1) + np.arange(10 * period)) == period


def test_gaps_are_bridged() -> None:
    values = 2 * pattern(12, 240) + 0.3 * noise(240)
    values[[0, 17, 18, 100, 239]] = np.nan
    assert season(values) == 12
    np.testing.assert_allclose(bridged([np.nan, 1, np.nan, 3, np.nan]), np.array([-1, -1, 0, 1, 1]))


KINDS: dict[str, Callable[[int, int], Floats]] = {
    "white": noise,
    "walk": lambda steps, seed: noise(steps, seed).cumsum(),
    "twice summed": lambda steps, seed: noise(steps, seed).cumsum().cumsum(),
    "slow": lambda steps, seed: scipy.signal.lfilter([1], [1, -0.9], noise(steps, seed)),
    "alternating": lambda steps, seed: scipy.signal.lfilter([1], [1, 0.7], noise(steps, seed)),
    "trend": lambda steps, seed: noise(steps, seed) + 0.1 * np.arange(steps),
    "heavy tails": lambda steps, seed: np.random.default_rng(seed).standard_t(2, steps),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_has_no_season_has_none(kind: str) -> None:
    """1 % each by construction, were they white: of 120 series 5 or more would happen in less than 1 % of cases."""
    found = [season(KINDS[kind](steps, seed)) for steps in (60, 144, 300) for seed in range(40)]
    assert sum(each is not None for each in found) < 5


def test_chaos_has_none() -> None:
    x = [0.1, 0.1]
    for _ in range(1000):
        x.append(1 - 1.4 * x[-1] ** 2 + 0.3 * x[-2])
    assert season(np.array(x)) is None


@pytest.mark.parametrize("values", [np.ones(50), np.arange(50.0), np.arange(50.0) * 1e-9 + 1e6, [1.0], [1.0, 2.0, 1.0, 2.0]])
def test_constants_lines_and_a_few_values_have_none(values: Any) -> None:
    assert season(values) is None


def test_the_longest_is_kept_to() -> None:
    values = 2 * pattern(24, 480) + 0.1 * noise(480)
    assert season(values, longest=24) == 24
    assert season(values, longest=23) != 24


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.full(20, np.nan), "all 20 values of the series are missing"),
        (np.ones((20, 2)), r"one series \(T,\) is needed, got shape \(20, 2\)"),
    ],
)
def test_bad_input_is_named(values: Floats, message: str) -> None:
    for function in (season, trend):
        with pytest.raises(ValueError, match=message):
            function(values)


def test_a_shortest_season_below_two_is_refused() -> None:
    with pytest.raises(ValueError, match="longest must be at least 2, got 1"):
        season(noise(50), longest=1)


def test_the_trend_is_the_squared_correlation_with_time() -> None:
    values = noise(200) + 0.02 * np.arange(200)
    r = np.corrcoef(values, np.arange(200))[0, 1]
    assert trend(values) == pytest.approx(r**2, rel=1e-12)
    assert trend(1e4 * values + 1e6) == pytest.approx(r**2, rel=1e-8)
    assert trend(np.arange(30.0)) == pytest.approx(1, abs=1e-12)
    assert trend(np.ones(30)) == 0


def test_the_line_is_that_of_least_squares() -> None:
    values = noise(37).cumsum()
    expected = values - np.polyval(np.polyfit(np.arange(37), values, 1), np.arange(37))
    np.testing.assert_allclose(without_line(values), expected, atol=1e-10)


def test_whitening_takes_out_what_it_should() -> None:
    """An autoregression of first order leaves its noise; one with two real roots needs a second turn."""
    e = noise(4000)
    one = whitened(scipy.signal.lfilter([1], [1, -0.4], e))
    assert np.corrcoef(one, e[1:])[0, 1] > 0.99
    two = whitened(scipy.signal.lfilter([1], np.convolve([1, -0.95], [1, -0.8]), e))
    lagged = np.corrcoef(two[1:], two[:-1])[0, 1]
    assert abs(lagged) < 0.15
