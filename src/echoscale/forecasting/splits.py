"""The splits that candidates are judged on: parts of time, splits that move forward, and the folds of each.

    | 1 | 2 | ... | s |  judged: s+1 .. s'  |        every choice at a split is made by folds of parts 1 .. s

The choices at the last split are made by folds of all parts. No rows are left to judge them, and their result is what the user
gets. Errors in the report come from the earlier splits, on held-out rows that no choice at these splits has used.

`of_steps` serves `es.auto`, where every step has a target: the picture shows it.

`of_origins` serves `Forecaster`: the series are cut at several places, and all origins between them are judged. Choices are
made once, by folds of what lies before the first cut. A fit for an origin t uses targets before the last cut up to t + 1. All
series are cut at the same shares of their lengths.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from echoscale._internal.types import Flags, Indices
from echoscale.readouts import splits
from echoscale.readouts.splits import Split, Splits

# Parts of time: more of them give more origins and folds, fewer give longer ones.
MOST_PARTS, LEAST_PARTS = 12, 4
# Folds of a split of steps: more leave more data to train on, and take longer.
STEP_FOLDS = 6
# Rows from which on one split says enough.
MANY_ROWS = 3000
# Cuts of the series of `Forecaster`, where readouts are fitted again, and folds before the first cut: more of them take longer.
CUTS = 4
# Steps before the first cut: this number of seasons, and this number of steps more.
SEASONS, MORE = 2, 10
# Share of these steps, at most, that folds leave out where seasons are compared: the others must tell them apart.
MOST_SKIPPED = 0.6
# Judged origins of a series, at most: more of them say nothing new.
MOST_JUDGED = 1500


def of_steps(known: Sequence[Flags], washout: int, gap: int) -> Splits:
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
    return Splits(edges, splits.rolling(ends, STEP_FOLDS))


@dataclass(frozen=True, eq=False)
class OriginSplits:
    """Folds of the first part of several series, and the origins after it that are judged.

    Attributes
    ----------
    folds : Splits
        Folds of what lies before the first cut, with gaps between them.
    ends : (B, K + 2)
        For every series: its first step, where it is cut, and its end.
    skip : int
        Origins at the start that the folds leave out.
    """

    folds: Splits
    ends: Indices
    skip: int

    @property
    def blocks(self) -> list[list[tuple[int, int]]]:
        """For every series and cut: the first origin that is judged, and the end of them."""
        return [[(first - 1, end - 1) for first, end in itertools.pairwise(each[1:])] for each in self.ends.tolist()]

    def judged(self, b: int) -> Indices:
        """All judged origins of series b."""
        return np.arange(self.ends[b, 1] - 1, self.ends[b, -1] - 1)


def of_origins(lengths: Sequence[int], period: int, horizon: int, compared: bool = False) -> OriginSplits:
    """The splits of `Forecaster`: cuts over the second half of every series, or less of long ones.

    compared  whether all folds hold the same rows for every season up to the period, which looks back by two of them
    """
    shortest = min(lengths)
    share = max(0.5, 1 - MOST_JUDGED / shortest, min(least_before(period) / shortest, 0.8))
    cuts = int(np.clip((1 - share) * shortest // horizon, 1, CUTS))
    ends = np.stack([np.append(0, np.linspace(round(share * length), length, cuts + 1).round()) for length in lengths]).astype(
        int
    )
    before = int(ends[:, 1].min())
    skip = min(SEASONS * period + 2, int(MOST_SKIPPED * before)) if compared else 0
    first = skip + horizon if compared else 0
    gap, segments = min(horizon, (before - first) // (4 * CUTS)), range(2 * CUTS - 1)
    edges = [splits.block_edges([end], first, CUTS, gap)[0] for end in ends[:, 1]]
    folds = tuple(Split(tuple(s for s in segments if abs(s - k) > 1), (k,)) for k in segments[::2])
    return OriginSplits(Splits(edges, folds), ends, skip)


def least_before(period: int) -> int:
    """Steps before the first cut, at least; a period of 0 is none."""
    return SEASONS * period + MORE


def _times(known: Flags, washout: int, parts: int, gap: int) -> Indices:
    """Edges of one series, counted in steps that have a target: a part of a long gap in them would hold nothing."""
    if known[washout:].all():
        return splits.block_edges([len(known)], washout, parts, gap)[0]
    steps = washout + np.flatnonzero(known[washout:])
    return np.append(steps, steps[-1] + 1)[splits.block_edges([len(steps)], 0, parts, gap)[0]]
