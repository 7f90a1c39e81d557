"""The splits that candidates are judged on: parts of time, splits that move forward, and the folds of each.

    | 1 | 2 | ... | s |  judged: s+1 .. s'  |        every choice at a split is made by folds of parts 1 .. s

The choices at the last split are made by folds of all parts. No rows are left to judge them, and their result is what the user
gets. Errors in the report come from the earlier splits, on held-out rows that no choice at these splits has used.

`of_steps` serves `es.auto`, where every step has a target. `of_origins` serves `Forecaster`: the series are cut at several
places, and all origins between them are judged. A fit for an origin t uses targets before the last cut up to t + 1. All series
are cut at the same shares of their lengths.
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
# Cuts of the series of `Forecaster`, and folds before a cut: few, since all windows of lags and all lanes are judged again at
# every cut.
CUTS = 4
ORIGIN_FOLDS = 4
# Steps before the first cut: this number of seasons, and this number of steps more.
SEASONS, MORE = 2, 10
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
    first = max(2 * parts // 3, 2)
    ends = np.linspace(first, parts, 2 if rows > MANY_ROWS else min(2, parts - first) + 1).round().astype(int).tolist()
    return Splits(edges, splits.rolling(ends, STEP_FOLDS))


@dataclass(frozen=True, eq=False)
class OriginSplits:
    """Splits of several series, and the origins that are judged.

    Attributes
    ----------
    edges : list of (S + 1,)
        Parts of time of every series, with gaps between them.
    splits : tuple of Split
        One at every cut; the last one trains on everything.
    blocks : list of list of (first, end)
        For every series and cut: the origins that are judged.
    """

    edges: list[Indices]
    splits: tuple[Split, ...]
    blocks: list[list[tuple[int, int]]]

    def judged(self, b: int) -> Indices:
        """All judged origins of series b."""
        return np.arange(self.blocks[b][0][0], self.blocks[b][-1][1])


def of_origins(lengths: Sequence[int], period: int | None, horizon: int) -> OriginSplits:
    """The splits of `Forecaster`: cuts over the second half of every series, or less of long ones."""
    shortest, least = min(lengths), least_before(period)
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
    return OriginSplits(edges, splits.rolling(ends, ORIGIN_FOLDS), blocks)


def least_before(period: int | None) -> int:
    """Steps before the first cut, at least."""
    return SEASONS * (period or 0) + MORE


def _times(known: Flags, washout: int, parts: int, gap: int) -> Indices:
    """Edges of one series, counted in steps that have a target: a part of a long gap in them would hold nothing."""
    if known[washout:].all():
        return splits.block_edges([len(known)], washout, parts, gap)[0]
    steps = washout + np.flatnonzero(known[washout:])
    return np.append(steps, steps[-1] + 1)[splits.block_edges([len(steps)], 0, parts, gap)[0]]
