"""Time splits of `es.auto` and `Forecaster`: parts of time, origins that move forward, and the folds before each origin.

    | 1 | 2 | ... | s |  judged: s+1 .. s'  |        every choice for an origin is made by folds of parts 1 .. s

The choices for the last origin are made by folds of all parts. No rows are left to judge them, and their result is what the
user gets. Errors in the report are those of the earlier origins, on held-out rows that no choice for these origins has used.

`standard_errors` compares two methods on the same rows.

`timing` cuts the series of `Forecaster` at several cuts, and judges all origins between them. Every fit for an origin t uses
targets before the last cut up to t + 1. All series are cut at the same shares of their lengths.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Floats, Indices
from echoscale.readouts import splits
from echoscale.readouts.statistics import Statistics

# Parts of time: more of them give more origins and folds, fewer give longer ones.
MOST_PARTS, LEAST_PARTS = 12, 4
# Folds before an origin: more leave more data to train on, and take longer.
ORIGIN_FOLDS = 6
# Rows from which on one origin says enough.
MANY_ROWS = 3000
# Cuts of `timing`, and folds before a cut: few, since all windows of lags and all lanes are judged again at every cut.
CUTS = 4
CUT_FOLDS = 4
# Judged origins of a series, at most: more of them say nothing new.
MOST_JUDGED = 1500


@dataclass(frozen=True)
class Origin:
    """Parts 0 .. trained - 1 choose; parts trained .. judged - 1 judge (none for the last origin, that of the final fit)."""

    trained: int
    judged: int

    def groups(self) -> list[tuple[int, int]]:
        """The folds: consecutive parts that are held out together, first and last + 1."""
        count = min(self.trained, ORIGIN_FOLDS)
        ends = np.linspace(0, self.trained, count + 1).round().astype(int)
        return [(int(low), int(high)) for low, high in itertools.pairwise(ends)]


@dataclass(frozen=True, eq=False)
class Judging:
    """The parts of the data, and the origins.

    edges    of the 2 S - 1 segments part, gap, part, ..., part of every series (`readouts.splits.edges`)
    """

    edges: list[Indices]
    parts: int
    origins: tuple[Origin, ...]

    @classmethod
    def of(cls, known: Sequence[npt.NDArray[np.bool_]], washout: int, gap: int) -> Judging:
        """As many parts as leave each at least as long as the gap, and the last half judged in at most three steps."""
        lengths = np.array([len(each) for each in known])
        counts = np.array([int(each[washout:].sum()) for each in known])
        rows = int(counts.sum())
        shortest = int(counts.min()) if len(counts) < LEAST_PARTS else rows
        parts = int(np.clip(shortest // (2 * max(gap, 3)), LEAST_PARTS, MOST_PARTS))
        if len(lengths) > 1:
            parts = min(parts, max(len(lengths), LEAST_PARTS))
        if len(lengths) >= parts:
            edges = splits.edges(lengths, washout, parts, gap)
        else:
            edges = [_times(each, washout, parts, gap) for each in known]
        return cls(edges, parts, _origins(parts, rows))

    def training(self, statistics: Sequence[Statistics], origin: Origin) -> Statistics:
        """All that is known at an origin."""
        return splits.total(statistics[: 2 * origin.trained - 1])

    def pairs(self, statistics: Sequence[Statistics], origin: Origin) -> list[tuple[Statistics, Statistics]]:
        """(training, held out) of every fold of an origin; the gaps beside a fold are in neither."""
        groups = origin.groups()
        pieces = []  # fold, gap, fold, ..., fold
        for low, high in groups:
            pieces += [statistics[2 * low - 1]] if low else []
            pieces.append(splits.total(statistics[2 * low : 2 * high - 1]))
        # Sums from the start and from the end: every training set is one of each.
        before = list(itertools.accumulate(pieces, operator.add))
        after = list(itertools.accumulate(pieces[::-1], operator.add))[::-1]
        found = []
        for k, held_out in enumerate(pieces[::2]):
            rest = [*before[max(2 * k - 2, 0) : max(2 * k - 1, 0)], *after[2 * k + 2 : 2 * k + 3]]
            if rest and np.min(held_out.count) > 0:
                training = splits.total(rest)
                if np.min(training.count) > 1:
                    found.append((training, held_out))
        return found

    def judged_rows(self, origin: Origin) -> list[tuple[int, int]]:
        """First step and end, for every series, of what an origin is judged on."""
        return [(int(each[2 * origin.trained]), int(each[2 * origin.judged - 1])) for each in self.edges]


def standard_errors(better: Floats, other: Floats, horizon: int) -> float:
    """By how many standard errors the mean of other - better, squared errors (rows,), is above 0.

        d(t) = e_other(t)^2 - e_better(t)^2

    The standard error of the mean of d takes into account that neighbouring errors are alike (Bartlett's weights up to the
    horizon).
    """
    d = other - better
    apart = d - d.mean()
    variance = float((apart**2).mean())
    width = horizon + 1
    total = variance
    for lag in range(1, min(width, len(d) - 1)):
        total += 2 * (1 - lag / width) * float((apart[lag:] * apart[:-lag]).mean())
    # Of few rows the correlations are noise: they must not make the error small.
    total = max(total, 0.3 * variance)
    if total == 0:
        return float(np.sign(d.mean())) * np.inf if d.mean() else 0.0
    return float(d.mean() / np.sqrt(total / len(d)))


class Cut(Origin):
    """An origin with fewer folds: windows and lanes are many."""

    def groups(self) -> list[tuple[int, int]]:
        """The folds: consecutive parts that are held out together, first and last + 1."""
        ends = np.linspace(0, self.trained, min(self.trained, CUT_FOLDS) + 1).round().astype(int)
        return [(int(low), int(high)) for low, high in itertools.pairwise(ends)]


@dataclass(frozen=True, eq=False)
class Timing:
    """Parts, cuts and judged origins.

    Attributes
    ----------
    judging : Judging
        Parts of time and what is known at every cut; the last one knows everything.
    blocks : list of list of (first, end)
        For every series and cut: the origins that are judged.
    """

    judging: Judging
    blocks: list[list[tuple[int, int]]]

    def judged(self, b: int) -> Indices:
        """All judged origins of series b."""
        return np.arange(self.blocks[b][0][0], self.blocks[b][-1][1])


def timing(lengths: Sequence[int], least: int, horizon: int) -> Timing:
    """Parts of all series, and cuts over the second half of each, or less of long ones."""
    shortest = min(lengths)
    parts = int(np.clip(shortest // (2 * min(max(horizon // 2, 3), 12)), LEAST_PARTS, MOST_PARTS))
    gap = max(min(horizon, shortest // (3 * parts)), 0)
    edges = [splits.edges([length], 0, parts, gap)[0] for length in lengths]
    share = max(0.5, 1 - MOST_JUDGED / shortest, min(least / shortest, 0.8))
    first = int(np.clip(np.ceil(share * parts), 2, parts - 1))
    ends = np.unique(np.linspace(first, parts, min(CUTS, parts - first) + 1).round().astype(int))
    origins = [Cut(int(low), int(high)) for low, high in itertools.pairwise(ends)]
    blocks = []
    for b, length in enumerate(lengths):
        cuts = [int(edges[b][2 * each.trained - 1]) for each in origins]
        blocks.append([(cut - 1, after - 1) for cut, after in itertools.pairwise([*cuts, length])])
    return Timing(Judging(edges, parts, (*origins, Cut(parts, parts))), blocks)


def _times(known: npt.NDArray[np.bool_], washout: int, parts: int, gap: int) -> Indices:
    """Edges of one series, counted in steps that have a target: a part of a long gap in them would hold nothing."""
    if known[washout:].all():
        return splits.edges([len(known)], washout, parts, gap)[0]
    steps = washout + np.flatnonzero(known[washout:])
    return np.append(steps, steps[-1] + 1)[splits.edges([len(steps)], 0, parts, gap)[0]]


def _origins(parts: int, rows: int) -> tuple[Origin, ...]:
    first = max(parts // 2, 2) if parts > 2 else 1
    steps = 1 if rows > MANY_ROWS else min(3, parts - first)
    if rows > MANY_ROWS:
        first = max(2 * parts // 3, 1)
    ends = np.linspace(first, parts, steps + 1).round().astype(int)
    judged = [Origin(int(low), int(high)) for low, high in itertools.pairwise(ends)]
    return (*judged, Origin(parts, parts))
