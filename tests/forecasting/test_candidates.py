"""Judged forecasts know nothing of what comes after their origin."""

from __future__ import annotations

import numpy as np
import pytest

from echoscale.forecasting import candidates
from echoscale.forecasting.candidates import (
    Candidate,
    best_lags,
    best_network,
    naive_candidates,
    smoothing_candidates,
)
from echoscale.forecasting.problem import HorizonProblem, Line


def judged(z: np.ndarray, periods: tuple[int, ...]) -> tuple[list[Candidate], int]:
    count = len(z)
    line = Line(z, np.ones(count, bool), np.empty((count, 0)), np.empty((count, 0)))
    problem = HorizonProblem([line], periods, 5)
    smooth, _ = smoothing_candidates(problem)
    found = [*smooth, *naive_candidates(problem)]
    best = best_lags(problem)
    for name, option in best.items():
        found += candidates.judged(problem, f"lags, {name}", option)
    network = best_network(problem, next(iter(best.values())).recipe, 0)
    if network is not None:
        found += candidates.judged(problem, "network", network)
    return found, int(problem.cuts.judged(0)[0])


def means(candidate: Candidate) -> np.ndarray:
    return candidate.judged[0]


@pytest.mark.parametrize("periods", [(), (6,), (3, 14)])
def test_the_future_does_not_reach_back(periods: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    z = np.sin(2 * np.pi * np.arange(200) / 6) + 0.3 * rng.normal(size=200)
    changed = z.copy()
    changed[170:] += rng.normal(size=30)
    one, first = judged(z, periods)
    other, _ = judged(changed, periods)
    assert [each.name for each in one] == [each.name for each in other]
    assert any(each.name.startswith("network") for each in one)
    until = 170 - first  # the last of these origins knows z[169]
    for before, after in zip(one, other, strict=True):
        np.testing.assert_allclose(means(before)[:until], means(after)[:until], rtol=1e-9, atol=1e-9)
        assert not np.allclose(means(before)[until:], means(after)[until:], equal_nan=True)


def test_persistence_and_seasonal_naive_are_what_they_say() -> None:
    z = np.random.default_rng(1).normal(size=80)
    found, first = judged(z, (7,))
    by_name = {each.name: means(each) for each in found}
    for t in (first, 60, 78):
        np.testing.assert_allclose(by_name["persistence"][t - first], z[t])
        np.testing.assert_allclose(by_name["seasonal naive"][t - first], z[t - 6 : t - 1])
