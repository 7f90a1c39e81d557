"""Closed forms of the timescales against the disc of eigenvalues that they summarise, and the table made of them."""

from __future__ import annotations

import math
import re
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

from echoscale import Concentric, EchoStateWarning, Network, Reservoir, hierarchical, parallel, single
from echoscale._internal.table import Table
from echoscale.timescales import bounds, cumulative, density, for_peak, for_range, peak, ratio

Array = npt.NDArray[Any]

BELOW_ONE = [(1.0, 0.95, 1.0), (0.3, 0.5, 1.0), (0.05, 0.99, 0.1), (0.9, 0.1, 3.0), (0.5, 0.8, 1e-3)]
AT_ONE = [(1.0, 1.0, 1.0), (0.2, 1.0, 0.05)]
NARROW = [(0.7, 1e-3, 1.0), (0.4, 1e-6, 20.0)]

settings = pytest.mark.parametrize(("alpha", "rho", "dt"), BELOW_ONE)
all_settings = pytest.mark.parametrize(("alpha", "rho", "dt"), [*BELOW_ONE, *AT_ONE, *NARROW])

leak_rates = st.floats(1e-3, 0.999)
radii = st.floats(0, 1)
time_steps = st.floats(1e-3, 1e3)


def at(x: Any, alpha: float, rho: float, dt: float) -> Any:
    """tau = dt / (alpha (1 - rho x)) of an eigenvalue with real part x in [-1, 1]."""
    return dt / (alpha * (1 - rho * x))


def mass(function: Any, low: float, high: float) -> float:
    return float(quad(function, low, high, epsabs=1e-11, epsrel=1e-11, limit=500)[0])


# Bounds


@settings
def test_bounds_are_the_extremes_over_the_unit_disc(alpha: float, rho: float, dt: float) -> None:
    """tau = dt / (alpha (1 - rho Re lambda)) on a fine grid of Re lambda in [-1, 1]."""
    tau = at(np.linspace(-1, 1, 1001), alpha, rho, dt)
    assert bounds(alpha, rho, dt) == pytest.approx((tau.min(), tau.max()), rel=1e-12)


@all_settings
def test_the_ratio_of_the_bounds_does_not_depend_on_the_leak_rate(alpha: float, rho: float, dt: float) -> None:
    low, high = bounds(alpha, rho, dt)
    assert ratio(rho) == pytest.approx(high / low, rel=1e-12)
    assert isinstance(ratio(rho), float)


def test_ratios_of_known_radii() -> None:
    assert ratio(np.array([0.0, 0.5, 0.95, 1.0])) == pytest.approx([1, 3, 39, np.inf], rel=1e-13)


# Density


@all_settings
def test_the_density_is_the_marginal_of_the_disc_in_another_variable(alpha: float, rho: float, dt: float) -> None:
    """p(tau) = p(x) |dx / dtau|: the semicircle p(x) = 2 sqrt(1 - x^2) / pi and x = (1 - dt / (alpha tau)) / rho."""
    x = np.linspace(-0.999, 0.999, 201)
    tau = at(x, alpha, rho, dt)
    expected = 2 / np.pi * np.sqrt(1 - x**2) * dt / (alpha * rho * tau**2)
    # Of a tau with 16 digits, x has as many fewer as rho is small.
    np.testing.assert_allclose(density(tau, alpha, rho, dt), expected, rtol=1e-11 + 1e-12 / rho)


@all_settings
def test_all_of_the_density_lies_between_the_bounds(alpha: float, rho: float, dt: float) -> None:
    """It integrates to 1 between them; the substitution r = dt / tau makes an infinite tau_max a rate of 0."""
    low, high = bounds(alpha, rho, dt)
    total = mass(lambda rate: density(dt / rate, alpha, rho, dt) * dt / rate**2, dt / high, dt / low)
    assert total == pytest.approx(1, abs=1e-8)


@settings
def test_the_density_integrates_to_1_over_tau_itself(alpha: float, rho: float, dt: float) -> None:
    low, high = bounds(alpha, rho, dt)
    assert mass(lambda tau: density(tau, alpha, rho, dt), low, high) == pytest.approx(1, abs=1e-8)


@limits(deadline=None)
@given(alpha=leak_rates, rho=st.floats(1e-4, 1), dt=time_steps)
def test_the_density_integrates_to_1_whatever_the_numbers(alpha: float, rho: float, dt: float) -> None:
    """With the angle as variable, rate = alpha (1 - rho sin(angle)), the integrand is cos^2 and smooth."""

    def integrand(angle: float) -> float:
        rate = alpha * (1 - rho * math.sin(angle))
        slope = alpha * rho * math.cos(angle)
        return float(density(dt / rate, alpha, rho, dt)) * dt / rate**2 * slope

    edge = math.pi / 2 * (1 - 1e-6)  # the last of the angle holds 1e-18 of the mass
    assert mass(integrand, -edge, edge) == pytest.approx(1, abs=1e-8)


@pytest.mark.parametrize(("alpha", "rho", "dt"), [*BELOW_ONE, *AT_ONE])
def test_the_density_is_the_slope_of_the_cumulative(alpha: float, rho: float, dt: float) -> None:
    x = np.linspace(-0.95, 0.95, 39)
    tau, before, after = (at(x + step, alpha, rho, dt) for step in (0, -1e-5, 1e-5))
    rise = cumulative(after, alpha, rho, dt) - cumulative(before, alpha, rho, dt)
    np.testing.assert_allclose(density(tau, alpha, rho, dt), rise / (after - before), rtol=1e-6)


@all_settings
def test_nothing_lies_outside_the_bounds(alpha: float, rho: float, dt: float) -> None:
    low, high = bounds(alpha, rho, dt)
    below = np.array([-np.inf, -high if high < np.inf else -1.0, -low, -0.0, 0.0, 1e-3 * low, low * (1 - 1e-9)])
    assert density(below, alpha, rho, dt).tolist() == [0.0] * len(below)
    assert cumulative(below, alpha, rho, dt).tolist() == [0.0] * len(below)
    above = np.array([high * (1 + 1e-9), 2 * high, np.inf])
    assert density(above, alpha, rho, dt).tolist() == [0.0] * len(above)
    assert cumulative(above, alpha, rho, dt).tolist() == [1.0] * len(above)
    inside = at(np.array([-0.9, 0, 0.9]), alpha, rho, dt)
    assert (density(inside, alpha, rho, dt) > 0).all()


@pytest.mark.parametrize("tau", [1e-150, 1e-200, 1e-310, 5e-324])
@pytest.mark.parametrize("function", [density, cumulative])
def test_times_too_short_for_their_rate_have_no_share(function: Any, tau: float) -> None:
    """1 / tau^2 and 1 / tau leave the range of floating point numbers."""
    assert function(tau, 0.5, 0.9) == 0
    assert function(np.array([tau, 1.0]), 0.5, 0.9)[0] == 0


# Cumulative


@pytest.mark.parametrize(("alpha", "rho", "dt"), [*BELOW_ONE, *AT_ONE])
def test_the_cumulative_is_the_integral_of_the_density(alpha: float, rho: float, dt: float) -> None:
    low, _ = bounds(alpha, rho, dt)
    for x in (-0.99, -0.6, 0.0, 0.3, 0.9, 0.999):
        tau = at(x, alpha, rho, dt)
        share = mass(lambda rate: density(dt / rate, alpha, rho, dt) * dt / rate**2, dt / tau, dt / low)
        assert cumulative(tau, alpha, rho, dt) == pytest.approx(share, abs=1e-8)


@pytest.fixture(scope="module")
def disc() -> Array:
    """Real parts of 200,000 points that are uniform in the unit disc: those of a square that lie in it."""
    points = np.random.default_rng(0).uniform(-1, 1, (2, 270_000))
    return np.asarray(points[0, (points**2).sum(axis=0) <= 1][:200_000])


@all_settings
def test_the_cumulative_counts_points_of_the_disc(alpha: float, rho: float, dt: float, disc: Array) -> None:
    """Within the Dvoretzky-Kiefer-Wolfowitz band that holds but once in a million draws."""
    tau = np.sort(at(disc, alpha, rho, dt))
    expected = cumulative(tau, alpha, rho, dt)
    count = len(tau)
    assert count == 200_000
    steps = np.arange(count + 1) / count
    distance = max(abs(expected - steps[1:]).max(), abs(expected - steps[:-1]).max())
    assert distance < math.sqrt(math.log(2 / 1e-6) / (2 * count))


@limits(deadline=None)
@given(alpha=leak_rates, rho=radii, dt=time_steps, taus=st.lists(st.floats(1e-99, 1e6), min_size=2, max_size=20))
def test_the_cumulative_rises_from_0_to_1(alpha: float, rho: float, dt: float, taus: list[float]) -> None:
    values = cumulative(np.sort([-1.0, 0.0, *taus, np.inf]), alpha, rho, dt)
    assert (values[0], values[1], values[-1]) == (0, 0, 1)
    assert (values >= 0).all()
    assert (values <= 1).all()
    assert (np.diff(values) >= -1e-15).all()


def test_without_recurrence_the_cumulative_is_a_step() -> None:
    taus = np.array([-1, 0, 1.999, 2, 2.001, np.inf])
    assert cumulative(taus, 0.5, 0.0).tolist() == [0, 0, 0, 1, 1, 1]
    assert cumulative(taus, 0.25, 0.0, dt=0.5).tolist() == [0, 0, 0, 1, 1, 1]
    # The limit of small radii, on either side of the step.
    assert cumulative(np.array([1.999, 2.001]), 0.5, 1e-9).tolist() == [0, 1]
    assert cumulative(2.0, 0.5, 1e-9) == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("rho", [0, 0.0, [0.5, 0.0]], ids=str)
def test_without_recurrence_there_is_no_density_and_the_reason_is_given(rho: Any) -> None:
    with pytest.raises(ValueError, match=r"spectral_radius is 0.*dt / leak_rate.*no density.*cumulative"):
        density(2.0, 0.5, rho)


# Peak


@all_settings
def test_the_peak_is_where_the_density_is_largest(alpha: float, rho: float, dt: float) -> None:
    low, high = bounds(alpha, rho, dt)
    top = peak(alpha, rho, dt)
    found: Any = minimize_scalar(
        lambda tau: -density(tau, alpha, rho, dt), bounds=(low, min(high, 3 * low)), options={"xatol": 1e-10 * low}
    )
    assert low < top < high
    assert top == pytest.approx(found.x, rel=1e-6)
    assert density(top, alpha, rho, dt) >= -found.fun * (1 - 1e-9)
    assert density(top, alpha, rho, dt) >= density(at(np.linspace(-1, 0.9999, 2001), alpha, rho, dt), alpha, rho, dt).max()


@settings
def test_the_peak_is_the_papers_closed_form(alpha: float, rho: float, dt: float) -> None:
    paper = 5 * dt / (4 * alpha * (1 - rho**2)) * (1 - np.sqrt(1 - 24 / 25 * (1 - rho**2)))
    assert peak(alpha, rho, dt) == pytest.approx(paper, rel=1e-12)


@pytest.mark.parametrize(("alpha", "dt"), [(1.0, 1.0), (0.2, 1.0), (0.5, 0.1)])
def test_limits(alpha: float, dt: float) -> None:
    """rho = 1: the peak is 0.6 dt / alpha and tau_max infinite; rho = 0: every timescale is dt / alpha."""
    assert peak(alpha, 1.0, dt) == pytest.approx(0.6 * dt / alpha, rel=1e-15)
    assert peak(alpha, 1 - 1e-9, dt) == pytest.approx(0.6 * dt / alpha, rel=1e-8)
    assert bounds(alpha, 1.0, dt) == (pytest.approx(dt / (2 * alpha)), np.inf)
    assert peak(alpha, 0.0, dt) == pytest.approx(dt / alpha, rel=1e-15)
    assert bounds(alpha, 0.0, dt) == pytest.approx((dt / alpha, dt / alpha), rel=1e-15)


# Arrays


def test_arrays_are_taken_entry_by_entry() -> None:
    alphas, rhos = np.array([[0.1], [0.5]]), np.array([0.2, 0.9, 1.0])
    low, high = bounds(alphas, rhos)
    tops = peak(alphas, rhos)
    for i, alpha in enumerate(alphas[:, 0]):
        for j, rho in enumerate(rhos):
            assert (low[i, j], high[i, j]) == bounds(alpha, rho)
            assert tops[i, j] == peak(alpha, rho)
    assert isinstance(peak(0.5, 0.9), float)
    assert isinstance(bounds(0.5, 0.9)[0], float)


@pytest.mark.parametrize("function", [density, cumulative])
def test_times_leak_rates_and_radii_broadcast(function: Any) -> None:
    taus, alphas, rhos = np.linspace(-1, 9, 5), np.array([[0.1], [0.5]]), np.array([0.2, 0.9, 1.0])[:, None, None]
    values = function(taus, alphas, rhos, dt=0.5)
    assert values.shape == (3, 2, 5)
    for place in np.ndindex(3, 2, 5):
        k, i, j = place
        assert values[place] == function(float(taus[j]), float(alphas[i, 0]), float(rhos[k, 0, 0]), dt=0.5)
    assert isinstance(function(2.0, 0.5, 0.9), float)
    assert function([1, 2], 0.5, 0.9).tolist() == function([1.0, 2.0], 0.5, 0.9).tolist()
    assert function([], 0.5, 0.9).shape == (0,)


# Wishes


@limits(deadline=None)
@given(alpha=leak_rates, rho=radii, dt=time_steps)
def test_for_range_is_the_inverse_of_bounds(alpha: float, rho: float, dt: float) -> None:
    assert for_range(*bounds(alpha, rho, dt), dt) == pytest.approx((alpha, rho), rel=1e-12, abs=1e-12)


@limits(deadline=None)
@given(shortest=st.floats(1.0, 1e3), spread=st.floats(1, 1e6), dt=st.floats(1e-3, 0.999))
def test_bounds_are_the_inverse_of_for_range(shortest: float, spread: float, dt: float) -> None:
    low, high = bounds(*for_range(shortest, shortest * spread, dt), dt)
    assert low == pytest.approx(shortest, rel=1e-12)
    # 1 - rho, and with it tau_max, keeps as many digits fewer as rho has nines.
    assert high == pytest.approx(shortest * spread, rel=1e-15 * (10 + spread))


def test_the_range_of_every_reservoir_without_leak_can_be_wished_for() -> None:
    """leak_rate = 1, the default, is a boundary that rounding must not push wishes over."""
    for rho in np.linspace(0, 1, 501):
        for dt in (1.0, 0.1):
            alpha, found = for_range(*bounds(1.0, rho, dt), dt)
            assert alpha == pytest.approx(1, rel=1e-12)
            assert alpha <= 1
            assert found == pytest.approx(rho, abs=1e-12)


def test_an_endless_range_needs_a_radius_of_1() -> None:
    assert for_range(4.0, math.inf) == (0.125, 1.0)
    assert for_range(2.0, math.inf, dt=0.5) == (0.125, 1.0)


def test_a_range_of_one_time_needs_no_recurrence() -> None:
    assert for_range(4.0, 4.0) == (0.25, 0.0)


@limits(deadline=None)
@given(alpha=leak_rates, rho=radii, dt=time_steps)
def test_for_peak_is_the_inverse_of_peak(alpha: float, rho: float, dt: float) -> None:
    assert for_peak(peak(alpha, rho, dt), rho, dt) == pytest.approx(alpha, rel=1e-12)


def test_the_peak_of_every_reservoir_without_leak_can_be_wished_for() -> None:
    for rho in np.linspace(0, 1, 501):
        for dt in (1.0, 0.1, 0.3):
            assert for_peak(peak(1.0, rho, dt), rho, dt) == pytest.approx(1, rel=1e-12)
            assert for_peak(peak(1.0, rho, dt), rho, dt) <= 1


def numbers_in(message: str) -> list[float]:
    return [float(each) for each in re.findall(r"\d+\.?\d*(?:e[+-]?\d+)?", message)]


@pytest.mark.parametrize(("shortest", "longest", "dt"), [(0.1, 0.2, 1.0), (0.4, math.inf, 1.0), (3.0, 5.0, 7.0)])
def test_a_range_too_short_for_the_step_is_refused_with_the_rate_it_needs(shortest: float, longest: float, dt: float) -> None:
    needed = (dt / shortest + dt / longest) / 2
    with pytest.raises(ValueError, match=r"leak rate of .*above 1.*dt / shortest.*`shortest`") as caught:
        for_range(shortest, longest, dt)
    named = numbers_in(str(caught.value))
    for value in (needed, shortest, dt):
        assert min(abs(value - each) for each in named) <= 1e-3 * value


@pytest.mark.parametrize(("wanted", "rho", "dt"), [(0.3, 0.95, 1.0), (0.55, 1.0, 1.0), (0.9, 0.0, 1.0), (2.0, 0.5, 7.0)])
def test_a_peak_too_short_for_the_step_is_refused_with_the_shortest_possible(wanted: float, rho: float, dt: float) -> None:
    with pytest.raises(ValueError, match=r"leak rate of .*above 1.*shortest possible peak is") as caught:
        for_peak(wanted, rho, dt)
    shortest, needed = peak(1.0, rho, dt), peak(1.0, rho, dt) / wanted
    named = numbers_in(str(caught.value))
    assert named[-1] == pytest.approx(shortest, rel=1e-3)
    assert min(abs(needed - each) for each in named) <= 1e-3 * needed
    assert for_peak(1.01 * shortest, rho, dt) == pytest.approx(1 / 1.01, rel=1e-12)


# Bad input

NUMBERS = [
    ((0.0, 0.9), r"leak_rate must lie in \(0, 1\], got 0\.0"),
    ((1.5, 0.9), r"leak_rate must lie in \(0, 1\], got 1\.5"),
    ((float("nan"), 0.9), r"leak_rate must lie in \(0, 1\], got nan"),
    (([0.5, -1.0], 0.9), r"leak_rate must lie in \(0, 1\], got \[0\.5, -1\.0\]"),
    ((0.5, -0.1), r"spectral radius in \[0, 1\], got -0\.1"),
    ((0.5, 1.1), r"spectral radius in \[0, 1\], got 1\.1"),
    ((0.5, float("nan")), r"spectral radius in \[0, 1\], got nan"),
    ((0.5, 0.9, 0.0), r"dt must .*got 0\.0"),
    ((0.5, 0.9, -1.0), r"dt must .*got -1\.0"),
    ((0.5, 0.9, float("nan")), r"dt must .*got nan"),
    ((0.5, 0.9, float("inf")), r"dt must .*got inf"),
]


@pytest.mark.parametrize(
    "function", [bounds, peak, partial(density, 2.0), partial(cumulative, 2.0)], ids=["bounds", "peak", "density", "cumulative"]
)
@pytest.mark.parametrize(("arguments", "message"), NUMBERS)
def test_bad_numbers_are_named(function: Any, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        function(*arguments)


@pytest.mark.parametrize("function", [density, cumulative])
@pytest.mark.parametrize("tau", [float("nan"), [1.0, float("nan")]], ids=str)
def test_a_time_that_is_not_a_number_is_refused(function: Any, tau: Any) -> None:
    with pytest.raises(ValueError, match="tau holds NaN"):
        function(tau, 0.5, 0.9)


@pytest.mark.parametrize("rho", [-0.1, 1.1, float("nan"), [0.5, 2.0]], ids=str)
def test_a_ratio_needs_a_radius_of_at_most_1(rho: Any) -> None:
    with pytest.raises(ValueError, match=r"spectral radius in \[0, 1\], got"):
        ratio(rho)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, 5.0), "0 < shortest <= longest, got 0.0 and 5.0"),
        ((-1.0, 5.0), "0 < shortest <= longest, got -1.0 and 5.0"),
        ((5.0, 2.0), "0 < shortest <= longest, got 5.0 and 2.0"),
        ((1.0, float("nan")), "longest.*nan"),
        ((float("nan"), 5.0), "shortest must be finite, got nan"),
        ((float("inf"), float("inf")), "shortest must be finite, got inf"),
        ((1.0, 5.0, float("nan")), "dt must .*got nan"),
        ((1.0, 5.0, 0.0), "dt must .*got 0"),
        ((1.0, 5.0, -1.0), "dt must .*got -1"),
    ],
)
def test_impossible_ranges_are_named(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        for_range(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, 0.9), "peak must be above 0, got 0"),
        ((-2.0, 0.9), "peak must be above 0, got -2"),
        ((float("nan"), 0.9), "peak must be finite, got nan"),
        ((float("inf"), 0.9), "peak must be finite, got inf"),
        ((5.0, 1.1), r"spectral radius in \[0, 1\], got 1\.1"),
        ((5.0, 0.9, 0.0), "dt must .*got 0"),
        ((5.0, 0.9, -1.0), "dt must .*got -1"),
    ],
)
def test_impossible_peaks_are_named(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        for_peak(*arguments)


@pytest.mark.parametrize(
    "call",
    [
        lambda: for_range("1", 5.0),  # type: ignore[arg-type]
        lambda: for_range(1.0, None),  # type: ignore[arg-type]
        lambda: for_peak(True, 0.5),
        lambda: bounds(0.5, 0.5, "1"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_number_is_refused(call: Any) -> None:
    with pytest.raises(TypeError, match=r"number"):
        call()


# The table of a description

TAUS = ("tau_min", "tau_peak", "tau_max", "tau_max/tau_min")


def rows(table: Table) -> list[dict[str, Any]]:
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def assert_gaps_are_explained(table: Table) -> None:
    """No NaN, and every cell without a number has a note that names its reservoir."""
    for row in table.rows:
        assert not any(isinstance(cell, float) and math.isnan(cell) for cell in row)
        if None in row:
            assert any(note.startswith(f"{row[0]}:") for note in table.notes)


@pytest.mark.parametrize("dt", [1.0, 0.1])
def test_the_table_of_random_reservoirs_holds_the_closed_forms(dt: float) -> None:
    network = hierarchical([50, 30], leak_rate=[1.0, 0.2], spectral_radius=[0.95, 0.5], topology=["normal", "uniform"])
    table = network.timescales(dt)
    assert table["reservoir"] == ("R1", "R2")
    assert table["units"] == (50, 30)
    for row, reservoir in zip(rows(table), network.reservoirs, strict=True):
        alpha, rho = reservoir.leak_rate, reservoir.spectral_radius
        assert (row["leak_rate"], row["spectral_radius"]) == (alpha, rho)
        # The paper's equations, written out.
        shortest, longest = dt / (alpha * (1 + rho)), dt / (alpha * (1 - rho))
        top = 5 * dt / (4 * alpha * (1 - rho**2)) * (1 - math.sqrt(1 - 24 / 25 * (1 - rho**2)))
        assert [row[name] for name in TAUS] == pytest.approx([shortest, top, longest, longest / shortest], rel=1e-12)
    assert table.notes == ()
    assert f"{dt:g}" in table.title


def test_a_radius_of_1_has_a_peak_and_no_longest_time() -> None:
    with pytest.warns(EchoStateWarning):
        network = single(20, leak_rate=0.5, spectral_radius=1.0)
    [row] = rows(network.timescales())
    assert [row[name] for name in TAUS] == pytest.approx([1.0, 1.2, math.inf, math.inf])
    assert "∞" in str(network.timescales())


def test_without_recurrence_all_timescales_are_one() -> None:
    [row] = rows(single(20, leak_rate=0.5, spectral_radius=0.0).timescales(dt=3))
    assert [row[name] for name in TAUS] == pytest.approx([6, 6, 6, 1])


def test_a_delay_line_has_the_time_of_its_leak_and_a_note_on_its_length() -> None:
    table = parallel([20, 7], leak_rate=[1.0, 0.25], topology=["normal", "delay_line"]).timescales(dt=2)
    assert [rows(table)[1][name] for name in TAUS] == pytest.approx([8, 8, 8, 1])
    [note] = table.notes
    assert note.startswith("R2:")
    assert "7 steps" in note


@pytest.mark.parametrize("topology", ["ring", "concentric", Concentric(3), np.diag([1.0, 2, 3, 4, 5, 6])], ids=str)
def test_of_other_topologies_the_bounds_are_known(topology: Any) -> None:
    table = single(6, leak_rate=0.5, spectral_radius=0.8, topology=topology).timescales()
    [row] = rows(table)
    assert row["tau_peak"] is None
    assert [row[name] for name in TAUS if name != "tau_peak"] == pytest.approx([2 / 1.8, 2 / 0.2, 9])
    assert_gaps_are_explained(table)


def test_of_a_matrix_that_is_not_normalised_nothing_is_known_before_it_is_built() -> None:
    table = Network((Reservoir(20), Reservoir(6, normalise=False))).timescales()
    assert [rows(table)[1][name] for name in TAUS] == [None] * 4
    assert "R2: " in table.notes[0]
    assert "esn.timescales()" in table.notes[0]
    assert_gaps_are_explained(table)


def test_above_a_radius_of_1_the_shortest_time_is_left() -> None:
    with pytest.warns(EchoStateWarning):
        network = parallel([20, 20], leak_rate=0.5, spectral_radius=[0.9, 1.5])
    table = network.timescales(dt=0.1)
    assert [rows(table)[1][name] for name in TAUS] == [pytest.approx(0.1 / 1.25), None, None, None]
    assert_gaps_are_explained(table)
    assert len(table.notes) == 1


def test_every_reservoir_with_a_gap_has_a_note_of_its_own() -> None:
    table = parallel([6, 5, 20, 4], topology=["ring", "delay_line", "normal", "ring"]).timescales()
    assert_gaps_are_explained(table)
    assert [note[:3] for note in table.notes] == ["R1:", "R2:", "R4:"]


@pytest.mark.parametrize(
    "network",
    [single(5), single(5, topology="delay_line"), Network((Reservoir(5, normalise=False),))],
    ids=["normal", "delay_line", "not normalised"],
)
@pytest.mark.parametrize("dt", [0.0, -1.0, float("nan")])
def test_a_table_needs_a_time_step(network: Network, dt: float) -> None:
    with pytest.raises(ValueError, match="dt must"):
        network.timescales(dt)


def test_the_table_plots_densities_of_log_timescales() -> None:
    """Under every curve lies 1: each reservoir with a closed form has all of its modes in the plot."""
    network = parallel([6, 5, 20], leak_rate=[1.0, 0.05, 0.5], topology=["normal", "uniform", "ring"])
    table = network.timescales()
    axes = table.plot()
    assert list(table.densities) == ["R1", "R2"]  # the density of a ring has no closed form
    for line in axes.lines:
        tau, density = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
        assert np.trapezoid(density, np.log(tau)) == pytest.approx(1, abs=2e-3)
    with pytest.raises(ValueError, match="spectrum"):
        single(6, topology="ring").timescales().plot()
