"""Who is judged on what: time in parts, cuts that move forward, and the origins between them.

All that is fitted for an origin t is fitted to targets before the last cut up to t + 1. Every series is cut at the same shares.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from echoscale.automatic.origins import Judging, Origin
from echoscale.readouts import folds

Indices = npt.NDArray[np.int64]

MOST_PARTS, LEAST_PARTS = 12, 4
CUTS = 4
FOLDS = 4
# More origins than that say nothing new.
MOST_JUDGED = 1500


class Cut(Origin):
    """An origin with fewer folds: windows and lanes are many."""

    def groups(self) -> list[tuple[int, int]]:
        """The folds: consecutive parts that are held out together, first and last + 1."""
        ends = np.linspace(0, self.trained, min(self.trained, FOLDS) + 1).round().astype(int)
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
        """All judged origins of series b.

        Parameters
        ----------
        b : int
            Which.
        """
        return np.arange(self.blocks[b][0][0], self.blocks[b][-1][1])


def timing(lengths: Sequence[int], least: int, horizon: int) -> Timing:
    """Parts of all series, and cuts over the second half of each, or less of long ones.

    Parameters
    ----------
    lengths : sequence of int
        Steps of every series.
    least : int
        Steps before the first cut, at least.
    horizon : int
        H.
    """
    shortest = min(lengths)
    parts = int(np.clip(shortest // (2 * min(max(horizon // 2, 3), 12)), LEAST_PARTS, MOST_PARTS))
    gap = max(min(horizon, shortest // (3 * parts)), 0)
    edges = [folds.edges([length], 0, parts, gap)[0] for length in lengths]
    share = max(0.5, 1 - MOST_JUDGED / shortest, min(least / shortest, 0.8))
    first = int(np.clip(np.ceil(share * parts), 2, parts - 1))
    ends = np.unique(np.linspace(first, parts, min(CUTS, parts - first) + 1).round().astype(int))
    origins = [Cut(int(low), int(high)) for low, high in itertools.pairwise(ends)]
    blocks = []
    for b, length in enumerate(lengths):
        cuts = [int(edges[b][2 * each.trained - 1]) for each in origins]
        blocks.append([(cut - 1, after - 1) for cut, after in itertools.pairwise([*cuts, length])])
    return Timing(Judging(edges, parts, (*origins, Cut(parts, parts))), blocks)
