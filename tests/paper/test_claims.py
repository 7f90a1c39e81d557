"""Verdicts against scipy's tests and against data that are made up so that the answer is known."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from paper.claims import _printed_area
from paper.verdicts import AGREES, DIFFERS, OPEN, PARTLY, compared, counted, placed, reached


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


def test_an_error_that_all_seeds_share_widens_the_interval() -> None:
    """Three draws on one set of test images: no agreement of the draws says more than the images do."""
    d = [0.0044, 0.0045, 0.0044]
    assert compared(6, "", d, rises=True, words="").verdict == AGREES
    found = compared(6, "", d, rises=True, words="", besides=0.0029)
    assert found.verdict == OPEN
    assert found.error == pytest.approx(np.hypot(scipy.stats.sem(d), 0.0029))


@pytest.mark.parametrize(("cases", "verdict"), [([True] * 3, AGREES), ([True, False], PARTLY), ([False] * 4, DIFFERS)])
def test_cases_are_counted(cases: list[bool], verdict: str) -> None:
    found = counted(3, "", cases, "cases")
    assert (found.verdict, found.value) == (verdict, sum(cases) / len(cases))
    assert found.measured == f"cases: {sum(cases)} of {len(cases)}"


@pytest.mark.parametrize(
    ("ours", "more", "verdict"),
    [
        ((0.95, 0.25), [1.0, -1.0, 0.5], AGREES),  # near, and not worse
        ((0.95, 0.25), [5.0, 5.1, 4.9], PARTLY),  # near, and worse
        ((1.0, 0.75), [1.0, -1.0, 0.5], PARTLY),  # far, and not worse: the surface is flat
        ((1.0, 0.95), [5.0, 5.1, 4.9], DIFFERS),
        ((1.0, 0.95), [5.0, 5.1], OPEN),
    ],
)
def test_where_a_minimum_lies(ours: tuple[float, float], more: list[float], verdict: str) -> None:
    assert placed(3, "", ours, (1.0, 0.2), more).verdict == verdict


def test_the_area_of_the_printed_density_is_the_step() -> None:
    """By hand: with u = step / tau the integrand is 2 step / (pi (alpha rho)^2) sqrt((alpha rho)^2 - (alpha - u)^2) du."""
    for step in (1.0, 0.3):
        assert _printed_area(step, 0.5, 0.9) == pytest.approx(step, rel=1e-4)
