"""Judged forecasts know nothing of what comes after their origin."""

from __future__ import annotations

import numpy as np
import pytest

from echoscale.forecasting.candidates import (
    Candidate,
    lag_candidates,
    naive_candidates,
    network_candidates,
    smoothing_candidates,
)
from echoscale.forecasting.problem import HorizonProblem, Line


def judged(z: np.ndarray, period: int | None) -> tuple[list[Candidate], int]:
    count = len(z)
    line = Line(z, np.ones(count, bool), np.empty((count, 0)), np.empty((count, 0)))
    problem = HorizonProblem([line], period, 5)
    smooth, _ = smoothing_candidates(problem)
    lags, best = lag_candidates(problem)
    found = [*smooth, *naive_candidates(problem), *lags, *network_candidates(problem, best, 0)]
    return found, int(problem.cuts.judged(0)[0])


def means(candidate: Candidate) -> np.ndarray:
    return np.concatenate([each.mean(axis=0) for each in candidate.judged[0]])


@pytest.mark.parametrize("period", [None, 6])
def test_the_future_does_not_reach_back(period: int | None) -> None:
    rng = np.random.default_rng(0)
    z = np.sin(2 * np.pi * np.arange(200) / 6) + 0.3 * rng.normal(size=200)
    changed = z.copy()
    changed[170:] += rng.normal(size=30)
    one, first = judged(z, period)
    other, _ = judged(changed, period)
    assert [each.name for each in one] == [each.name for each in other]
    assert any(each.name.startswith("network") for each in one)
    until = 170 - first  # the last of these origins knows z[169]
    for before, after in zip(one, other, strict=True):
        np.testing.assert_allclose(means(before)[:until], means(after)[:until], rtol=1e-9, atol=1e-9)
        assert not np.allclose(means(before)[until:], means(after)[until:], equal_nan=True)


def test_persistence_and_seasonal_naive_are_what_they_say() -> None:
    z = np.random.default_rng(1).normal(size=80)
    found, first = judged(z, 7)
    by_name = {each.name: means(each) for each in found}
    for t in (first, 60, 78):
        np.testing.assert_allclose(by_name["persistence"][t - first], z[t])
        np.testing.assert_allclose(by_name["seasonal naive"][t - first], z[t - 6 : t - 1])
