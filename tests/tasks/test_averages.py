"""Averages against plain loops, closed forms and the projections that define the two families."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from echoscale.tasks import averages

Floats = npt.NDArray[np.float64]
STEPS = 200_000


def leaky(values: Floats, tau: float) -> Floats:
    """The leaky mean as a loop, from 0 on."""
    state, found = 0.0, []
    for value in values:
        state = (1 - 1 / tau) * state + value / tau
        found.append(state)
    return np.array(found)


def explained(y: Floats, columns: Floats) -> float:
    """Share of the variance of y that a linear combination of the columns and a constant explains."""
    design = np.column_stack([np.ones(len(y)), columns])
    rest = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return float(1 - rest.var() / y.var())


def product(s: Floats) -> Floats:
    return np.asarray(s * np.r_[0, s[:-1]])


@pytest.mark.parametrize("timescales", [[10.0], [3.0, 30.0], [1.0, 7.0, 20.0]])
def test_each_family_is_linear_in_its_own_averages_alone(timescales: list[float]) -> None:
    """After the inputs before the first step are forgotten, I is a sum of averages of s(t) s(t-1), S of squared averages."""
    skipped = 1_500
    for inside in (1.0, 0.0):
        u, y = (each[:, 0] for each in averages(6_000, seed=3, timescales=timescales, inside=inside))
        of_products = np.column_stack([leaky(product(u), tau) for tau in timescales])[skipped:]
        squared = np.column_stack([leaky(u, tau) ** 2 for tau in timescales])[skipped:]
        own, other = (of_products, squared) if inside else (squared, of_products)
        assert explained(y[skipped:], own) == pytest.approx(1, abs=1e-12)
        assert explained(y[skipped:], other) < 0.6
        # Every term has the same standard deviation in the sum.
        fitted = np.linalg.lstsq(np.column_stack([np.ones(len(own)), own]), y[skipped:], rcond=None)[0][1:]
        long = np.column_stack([leaky(product(u), tau) if inside else leaky(u, tau) ** 2 for tau in timescales])
        sizes = fitted * long[skipped:].std(axis=0)
        assert sizes.max() / sizes.min() < 1.4


@pytest.mark.parametrize("timescales", [[1.0], [10.0], [3.0, 30.0], [2.0, 5.0, 12.0, 30.0]])
@pytest.mark.parametrize("inside", [0.0, 1.0])
def test_mean_and_variance_by_closed_forms(timescales: list[float], inside: float) -> None:
    _, y = averages(STEPS, seed=1, timescales=timescales, inside=inside)
    error = np.sqrt(2 * max(timescales) / STEPS)  # of a mean, with the correlation time of the slowest average
    assert abs(y.mean()) < 4 * error
    assert y.var() == pytest.approx(1, abs=12 * error)


def test_the_share_of_old_products_is_the_closed_form() -> None:
    """(1 - 1 / tau)^(2k) of the variance is left to products that are k or more steps old."""
    tau = 8.0
    u, y = (each[:, 0] for each in averages(STEPS, seed=2, timescales=tau))
    p = product(u)
    for k in (1, 4, 12):
        lags = np.column_stack([np.roll(p, lag) for lag in range(k)])[100:]
        assert explained(y[100:], lags) == pytest.approx(1 - (1 - 1 / tau) ** (2 * k), abs=0.01)


def test_the_correlation_of_both_families_is_the_closed_form() -> None:
    """cov(F p, (F s)^2) = 2/9 a^3 b / (1 - b^3), for one timescale with a = 1 / tau and b = 1 - a."""
    a, b = 0.1, 0.9
    inner, outer = (averages(STEPS, seed=4, timescales=1 / a, inside=w)[1][:, 0] for w in (1.0, 0.0))
    variance = a / (2 - a) / 3
    spread = np.sqrt(variance / 3 * (2 * variance**2 - 2 / 15 * a**4 / (1 - b**4)))
    expected = 2 / 9 * a**3 * b / (1 - b**3) / spread
    assert f"{expected:.2f}" == "0.40"
    assert np.mean(inner * outer) == pytest.approx(expected, abs=0.03)


def test_a_mixture_is_linear_and_the_inputs_depend_on_the_seed_alone() -> None:
    u, inner = averages(300, seed=5, timescales=[2, 20], inside=1)
    again, outer = averages(300, seed=5, timescales=[2, 20], inside=0)
    mixed = averages(300, seed=5, timescales=[2, 20], inside=0.3)[1]
    np.testing.assert_array_equal(u, again)
    np.testing.assert_array_equal(u, averages(300, seed=5, timescales=4)[0])
    np.testing.assert_allclose(mixed, 0.3 * inner + 0.7 * outer, rtol=0, atol=1e-14)
    assert abs(u).max() <= 1
    assert u.var() == pytest.approx(1 / 3, abs=0.05)


def test_stationary_from_the_first_step() -> None:
    """Over many seeds the first target has the variance of all others."""
    first = np.array([averages(1, seed=seed, timescales=20, inside=1)[1][0, 0] for seed in range(600)])
    assert first.var() == pytest.approx(1, abs=4 * np.sqrt(2 / 600))


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ({"timescales": []}, ValueError, "timescales is empty: give at least one"),
        ({"timescales": [3, 0.5]}, ValueError, "timescales must be at least 1 step .* got 0.5"),
        ({"timescales": [3, float("nan")]}, ValueError, "timescales"),
        ({"timescales": "slow"}, TypeError, "timescales"),
        ({"inside": 1.5}, ValueError, "inside must be a share from 0 .* got 1.5"),
        ({"length": 0}, ValueError, "length must be at least 1"),
    ],
)
def test_arguments(given: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as error:
        averages(**{"length": 10, **given})
    assert re.search(message, str(error.value))
