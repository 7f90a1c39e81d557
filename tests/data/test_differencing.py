"""Starts and changes against the definitions, step by step."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from echoscale.data import differencing
from echoscale.data.differencing import BOTH, DIFFERENCES, LAST, NONE, SEASON, LastValue
from echoscale.data.scaling import Scaling

M = 5


@pytest.mark.parametrize("difference", DIFFERENCES)
def test_changes_are_the_definitions(difference: str) -> None:
    z = np.random.default_rng(0).normal(size=(30, 2))
    written: dict[str, Callable[[int], Any]] = {
        NONE: lambda t: z[t],
        LAST: lambda t: z[t] - z[t - 1],
        SEASON: lambda t: z[t] - z[t - M],
        BOTH: lambda t: z[t] - z[t - 1] - z[t - M] + z[t - M - 1],
    }
    found = differencing.changes(difference, M, z)
    first = differencing.reach(difference, M)
    np.testing.assert_allclose(found, [written[difference](t) for t in range(first, 30)], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(differencing.change(difference, M, z, -3), found[-3])


@pytest.mark.parametrize("difference", DIFFERENCES)
@pytest.mark.parametrize("ahead", [1, 4, 5, 6, 13])
def test_starts_are_the_definitions(difference: str, ahead: int) -> None:
    z = np.random.default_rng(0).normal(size=40)
    k = math.ceil(ahead / M)
    for t in range(M, 40):
        before = z[t + ahead - k * M] if k * M >= ahead else 0.0
        wanted = {NONE: 0.0, LAST: z[t], SEASON: before, BOTH: before + k * (z[t] - z[t - M])}[difference]
        assert differencing.start(difference, M, z, t, ahead) == pytest.approx(wanted, rel=1e-12)
    history = np.stack([z[10:20], z[20:30]])
    at_once = differencing.start(difference, M, history.T, -1, ahead)
    np.testing.assert_array_equal(at_once, differencing.start(difference, M, z, np.array([19, 29]), ahead))


@pytest.mark.parametrize("difference", DIFFERENCES)
def test_a_series_without_changes_goes_on_from_its_start(difference: str) -> None:
    """z whose d is 0 everywhere: nothing, a constant, a season, a season on a slope."""
    t, season = np.arange(60), np.random.default_rng(0).normal(size=M)
    z = {NONE: 0.0 * t, LAST: 3.0 + 0.0 * t, SEASON: season[t % M], BOTH: season[t % M] + 0.5 * t}[difference]
    np.testing.assert_allclose(differencing.changes(difference, M, z), 0, atol=1e-12)
    for ahead in range(1, 2 * M + 2):
        assert differencing.start(difference, M, z, 30, ahead) == pytest.approx(z[30 + ahead], abs=1e-12)


def test_the_last_value_is_taken_off_and_added_back_in_units_of_the_targets() -> None:
    rng = np.random.default_rng(0)
    inputs, outputs = Scaling(rng.normal(size=2), np.array([2.0, 0.5])), Scaling(rng.normal(size=2), np.array([3.0, 0.1]))
    u, y, features = rng.normal(size=(3, 10, 2))
    last = LastValue.of(inputs, outputs)
    z, wanted = inputs.forward(u), outputs.forward(y)
    apart = last.taken_off(wanted, z)
    np.testing.assert_allclose(apart, (y - u) / outputs.spread, rtol=0, atol=1e-12)
    coef, intercept = rng.normal(size=(2, 4)), rng.normal(size=2)
    seen = np.concatenate([features, z], axis=1)
    whole, offset = last.added_back(coef, intercept, 2)
    np.testing.assert_allclose(seen @ whole.T + offset, seen @ coef.T + intercept + (wanted - apart), rtol=0, atol=1e-12)
