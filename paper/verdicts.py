"""Verdicts on claims of the paper: do data agree, agree in part, differ, or can they not decide?

    d_s = ours - theirs, seed by seed;   agrees or differs if the 95 % interval of Student's t for the mean of d does not
    contain 0

With two seeds this interval is nearly always too wide. Claims without random numbers (a gradient is exact or not) are
decided by a number alone. A claim that consists of several cases agrees in part where some of them hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.stats

from paper.types import Floats

AGREES, PARTLY, DIFFERS, OPEN = "agrees", "partly", "differs", "not testable at this scale"
LEVEL = 0.95
EXACT = 1e-9  # relative deviation that counts as equal in float64
PRINTED = 0.01  # the last digit of the accuracies in the paper
NEAR = 0.1  # leak rates as near as this to a printed one agree: the paper reads them off its maps


class Finding(NamedTuple):
    """A claim of the paper and its verdict.

    verdict   "agrees", "partly", "differs" or "not testable at this scale"
    measured  the evidence, in words
    value     the mean of the number that decides
    error     its standard error over the seeds; 0 where nothing is random, NaN for one seed
    """

    figure: int
    claim: str
    verdict: str
    measured: str
    value: float
    error: float
    seeds: int


def compared(
    figure: int,
    claim: str,
    differences: npt.ArrayLike,
    *,
    rises: bool,
    words: str,
    digits: int = 3,
    drawn: str = "seeds",
    besides: float = 0.0,
) -> Finding:
    """The verdict on differences "ours minus theirs", one for each seed.

    rises    whether the claim is that they are above 0, or below
    words    the quantity whose differences these are
    drawn    the word for the differences: "seeds", or "starts" of one seed
    besides  a standard error that all seeds share, such as the error of one set of test images
    """
    d = np.asarray(differences, np.float64).ravel()
    mean, count = float(d.mean()), len(d)
    if count < 2:
        return Finding(figure, claim, OPEN, f"{words}: {_signed(mean, digits)}, one seed", mean, float("nan"), count)
    error = float(d.std(ddof=1)) / count**0.5
    reach = float(
        np.hypot(scipy.stats.t.ppf((1 + LEVEL) / 2, count - 1) * error, scipy.stats.norm.ppf((1 + LEVEL) / 2) * besides)
    )
    verdict = OPEN if abs(mean) <= reach else AGREES if (mean > 0) == rises else DIFFERS
    shared = f" ± {besides:.{digits}f} of the test data they share" if besides else ""
    measured = f"{words}: {_signed(mean, digits)} ± {error:.{digits}f}, {count} {drawn}{shared}"
    return Finding(figure, claim, verdict, measured, mean, float(np.hypot(error, besides)), count)


def reached(
    figure: int, claim: str, values: npt.ArrayLike, paper: float, words: str, *, within: float = PRINTED, digits: int = 3
) -> Finding:
    """The verdict on a printed value: agrees if the mean is that near, differs if the interval does not contain it."""
    v = np.asarray(values, np.float64).ravel()
    found = compared(figure, claim, v - paper, rises=True, words="", digits=digits)
    error = f" ± {found.error:.{digits}f}" if found.seeds > 1 else ""
    ours = f"{words}: {v.mean():.{digits}f}{error}, {found.seeds} seed{'s' * (found.seeds > 1)}".replace("-", "−")
    found = found._replace(measured=ours)
    if found.seeds >= 3 and abs(found.value) <= within:
        return found._replace(verdict=AGREES)
    wide = found.seeds < 3 or found.verdict == OPEN
    return found._replace(verdict=OPEN if wide else DIFFERS)


def counted(figure: int, claim: str, cases: Sequence[bool], words: str, seeds: int = 1) -> Finding:
    """The verdict on a claim that holds in all cases, in some, or in none; `value` is their share."""
    held = sum(map(bool, cases))
    verdict = AGREES if held == len(cases) else PARTLY if held else DIFFERS
    return Finding(figure, claim, verdict, f"{words}: {held} of {len(cases)}", held / len(cases), 0.0, seeds)


def placed(
    figure: int, claim: str, ours: Sequence[float], paper: Sequence[float], more: npt.ArrayLike, words: str = "ours"
) -> Finding:
    """The verdict on where a minimum lies.

    It agrees if our point is as near as `NEAR` and the paper's point is not shown to be worse; in part if one of both holds.

    more  by how many per cent the error at the paper's point is above that at ours, one for each seed
    """
    there = f"({', '.join(f'{each:g}' for each in ours)})" if len(ours) > 1 else f"{ours[0]:g}"
    found = compared(figure, claim, more, rises=False, words="", digits=1)
    error = f" ± {found.error:.1f}" if found.seeds > 1 else ""
    measured = f"{words}: {there}; error at the paper's point: {_signed(found.value, 1)}{error} %"
    near = max(abs(a - b) for a, b in zip(ours, paper, strict=True)) <= NEAR + 1e-9
    if found.seeds < 3:
        return found._replace(verdict=OPEN, measured=measured)
    good = near + (found.verdict != DIFFERS)
    return found._replace(verdict=(DIFFERS, PARTLY, AGREES)[good], measured=measured)


def shown(figure: int, claim: str, holds: bool, measured: str, value: float = 0.0, seeds: int = 1) -> Finding:
    """The verdict where one look decides."""
    return Finding(figure, claim, AGREES if holds else DIFFERS, measured, value, 0.0, seeds)


def per_cent(errors: Floats, others: Floats) -> Floats:
    """By how many per cent errors lie above others, whose mean is 100 %."""
    return np.asarray(100 * (errors - others) / np.mean(others), np.float64)


def _signed(value: float, digits: int) -> str:
    return f"{value:+.{digits}f}".replace("-", "−")
