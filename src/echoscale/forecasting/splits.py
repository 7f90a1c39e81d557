"""Time splits of `es.auto` and `Forecaster`: parts of time, origins that move forward, and the folds before each origin.

    | 1 | 2 | ... | s |  judged: s+1 .. s'  |        every choice for an origin is made by folds of parts 1 .. s

The choices for the last origin are made by folds of all parts. No rows are left to judge them, and their result is what the
user gets. Errors in the report come from the earlier origins, on held-out rows that no choice for these origins has used.

`standard_errors` compares two methods on the same rows.

`timing` cuts the series of `Forecaster` at several cuts, and judges all origins between them. Every fit for an origin t uses
targets before the last cut up to t + 1. All series are cut at the same shares of their lengths.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from echoscale._internal.types import Flags, Floats, Indices
from echoscale.readouts import splits
from echoscale.readouts.splits import Splits

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


def origins(known: Sequence[Flags], washout: int, gap: int) -> Splits:
    """The splits of `es.auto`: as many parts as leave each at least as long as the gap, and the last half is judged.

    known  which steps of every series have a target
    """
    lengths = np.array([len(each) for each in known])
    counts = np.array([int(each[washout:].sum()) for each in known])
    rows = int(counts.sum())
    shortest = int(counts.min()) if len(counts) < LEAST_PARTS else rows
    parts = int(np.clip(shortest // (2 * max(gap, 3)), LEAST_PARTS, MOST_PARTS))
    if len(lengths) > 1:
        parts = min(parts, max(len(lengths), LEAST_PARTS))
    if len(lengths) >= parts:
        edges = splits.block_edges(lengths, washout, parts, gap)
    else:
        edges = [_times(each, washout, parts, gap) for each in known]
    many = rows > MANY_ROWS
    first = max(2 * parts // 3, 1) if many else max(parts // 2, 2)
    ends = np.linspace(first, parts, 2 if many else min(3, parts - first) + 1).round().astype(int).tolist()
    return Splits(edges, splits.rolling(ends, ORIGIN_FOLDS))


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


@dataclass(frozen=True, eq=False)
class Timing:
    """Parts, cuts and judged origins.

    Attributes
    ----------
    origins : Splits
        Parts of time and the splits at every cut; the last one trains on everything.
    blocks : list of list of (first, end)
        For every series and cut: the origins that are judged.
    """

    origins: Splits
    blocks: list[list[tuple[int, int]]]

    def judged(self, b: int) -> Indices:
        """All judged origins of series b."""
        return np.arange(self.blocks[b][0][0], self.blocks[b][-1][1])


def timing(lengths: Sequence[int], least: int, horizon: int) -> Timing:
    """Parts of all series, and cuts over the second half of each, or less of long ones."""
    shortest = min(lengths)
    parts = int(np.clip(shortest // (2 * min(max(horizon // 2, 3), 12)), LEAST_PARTS, MOST_PARTS))
    gap = max(min(horizon, shortest // (3 * parts)), 0)
    edges = [splits.block_edges([length], 0, parts, gap)[0] for length in lengths]
    share = max(0.5, 1 - MOST_JUDGED / shortest, min(least / shortest, 0.8))
    first = int(np.clip(np.ceil(share * parts), 2, parts - 1))
    ends = np.unique(np.linspace(first, parts, min(CUTS, parts - first) + 1).round().astype(int)).tolist()
    blocks = []
    for edge, length in zip(edges, lengths, strict=True):
        cuts = [int(edge[2 * end - 1]) for end in ends[:-1]]
        blocks.append([(cut - 1, after - 1) for cut, after in itertools.pairwise([*cuts, length])])
    return Timing(Splits(edges, splits.rolling(ends, CUT_FOLDS)), blocks)


def _times(known: Flags, washout: int, parts: int, gap: int) -> Indices:
    """Edges of one series, counted in steps that have a target: a part of a long gap in them would hold nothing."""
    if known[washout:].all():
        return splits.block_edges([len(known)], washout, parts, gap)[0]
    steps = washout + np.flatnonzero(known[washout:])
    return np.append(steps, steps[-1] + 1)[splits.block_edges([len(steps)], 0, parts, gap)[0]]
