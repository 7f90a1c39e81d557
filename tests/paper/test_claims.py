"""Verdicts against scipy's tests and against data that are made up so that the answer is known."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from paper.claims import AGREES, DIFFERS, OPEN, compared, reached


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("rises", [True, False])
def test_a_verdict_is_a_paired_t_test(seed: int, rises: bool) -> None:
    rng = np.random.default_rng(seed)
    ours, theirs = rng.normal(0.3 * (seed % 3 - 1), 0.2, 6), rng.normal(0, 0.2, 6)
    found = compared(3, "", ours - theirs, rises=rises, words="")
    sure = scipy.stats.ttest_rel(ours, theirs).pvalue < 0.05
    up = ours.mean() > theirs.mean()
    assert found.verdict == (OPEN if not sure else AGREES if up == rises else DIFFERS)
    assert found.error == pytest.approx(scipy.stats.sem(ours - theirs))


def test_few_seeds_say_little() -> None:
    assert compared(3, "", [0.5], rises=True, words="").verdict == OPEN
    assert compared(3, "", [0.5, 0.1], rises=True, words="").verdict == OPEN
    assert compared(3, "", [0.5, 0.5, 0.4], rises=True, words="").verdict == AGREES


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([0.641, 0.636, 0.644], AGREES),  # as near as printed
        ([0.60, 0.601, 0.602], DIFFERS),
        ([0.5, 0.7, 0.6], OPEN),  # the interval holds it, and half of everything
        ([0.64, 0.64], OPEN),
    ],
)
def test_a_printed_value_is_reached_or_not(values: list[float], verdict: str) -> None:
    assert reached(4, "", values, 0.64, "accuracy").verdict == verdict
