"""Blocks of time that are held out in turn, with a gap on both sides, from statistics that add up.

    | fold 1 | gap | fold 2 | gap | ... | fold K |         training for fold k: all but fold k and the gaps beside it

Rows next to each other are alike: a fold whose neighbours were trained on would look better than what comes after the data.
Everything follows from the statistics of the parts, so folds cost solves, not runs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from echoscale.readouts.statistics import Statistics

Indices = npt.NDArray[np.int64]

FOLDS = 5
# The gap, where nobody knows better: this share of a fold.
GAP_SHARE = 0.05


def edges(lengths: npt.ArrayLike, washout: int, folds: int = FOLDS, gap: int | None = None) -> list[Indices]:
    """Edges of the 2 K - 1 segments fold, gap, fold, ..., fold, as `split_statistics` takes them, for every series.

    One series, or fewer series than folds: every one is cut into K blocks of time. As many series as folds or more: whole
    series are held out, every K-th one, and no gap is needed.

    Parameters
    ----------
    lengths : (B,)
        Steps of every series.
    washout : int
        Steps at the start of every series that do not count.
    folds : int
        K.
    gap : int, optional
        Steps between two folds; a twentieth of a fold, and at least one, unless given.

    Returns
    -------
    list of (2 K,)
        Segment s of series b is its steps edges[b][s] to edges[b][s + 1].
    """
    steps = np.atleast_1d(np.asarray(lengths, np.int64))
    if len(steps) >= folds:
        # All segments of a series are empty, but for that of its fold.
        return [
            np.where(np.arange(2 * folds) <= 2 * (b % folds), washout, max(length, washout)) for b, length in enumerate(steps)
        ]
    found = []
    for length in steps:
        each = (length - washout) / folds
        width = max(round(each * GAP_SHARE), 1) if gap is None else gap
        width = max(min(width, int(each) - 1), 0)  # a fold keeps a step at least
        cuts = washout + np.arange(1, folds) * each
        low, high = np.floor(cuts - width / 2).astype(np.int64), np.floor(cuts - width / 2).astype(np.int64) + width
        found.append(np.concatenate([[washout], np.stack([low, high], axis=1).ravel(), [length]]).astype(np.int64))
    return found


def pairs(parts: Sequence[Statistics]) -> list[tuple[Statistics, Statistics]]:
    """(training, held out) of every fold that holds a step, from the statistics of the segments of `edges`.

    Parameters
    ----------
    parts : sequence of 2 K - 1 Statistics
        Of fold, gap, fold, ..., fold.
    """
    known = [place for place in range(0, len(parts), 2) if np.min(parts[place].count) > 0]
    if len(known) < 2:
        raise ValueError("fewer than two folds hold a step that counts: give longer series, or a smaller washout.")
    return [(total([part for at, part in enumerate(parts) if abs(at - place) > 1]), parts[place]) for place in known]


def total(parts: Sequence[Statistics]) -> Statistics:
    """The statistics of all parts together.

    Parameters
    ----------
    parts : sequence of Statistics
        Of pieces of the data.
    """
    whole = parts[0]
    for part in parts[1:]:
        whole = whole + part
    return whole
