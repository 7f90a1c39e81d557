"""Blocks of time that are held out in turn, with a gap on both sides, from statistics that add up.

    | fold 1 | gap | fold 2 | gap | ... | fold K |         training for fold k: all other folds

Rows next to each other are alike: a fold whose neighbours were trained on would look better than what comes after the data.
Everything follows from the statistics of the parts, so folds cost solves, not runs. The final fit counts the gaps too.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Indices

FOLDS = 5
# The gap, where nobody knows better: this share of a fold.
GAP_SHARE = 0.05
# Steps that a fold must hold; with fewer there are fewer folds.
FEWEST = 4


class AddsUp(Protocol):
    """What is known of a piece of data and adds up over pieces: `Statistics`, or the `Factor` of an exact solution."""

    @property
    def count(self) -> Any:
        """Rows."""

    def __add__(self, other: Self, /) -> Self:
        """Of both pieces together."""


Part = TypeVar("Part", bound=AddsUp)


def possible(lengths: npt.ArrayLike, washout: int, folds: int = FOLDS) -> int:
    """How many folds the data allow: as many as asked for, fewer where one would hold fewer than four steps; 0 for none."""
    counted = int(np.maximum(np.asarray(lengths, np.int64) - washout, 0).sum())
    most = min(folds, counted // FEWEST)
    return most if most >= 2 else 0


def edges(lengths: npt.ArrayLike, washout: int, folds: int = FOLDS, gap: int | None = None) -> list[Indices]:
    """Edges of the 2 K - 1 segments fold, gap, fold, ..., fold, as `split_statistics` takes them, for every series.

    One series, or fewer series than folds: every one is cut into K blocks of time. As many series as folds or more: whole
    series are held out, every K-th one, and no gap is needed.
    """
    steps = np.atleast_1d(np.asarray(lengths, np.int64))
    if len(steps) >= folds:
        # All segments of a series are empty, but for that of its fold.
        return [
            np.where(np.arange(2 * folds) <= 2 * (b % folds), washout, max(length, washout)) for b, length in enumerate(steps)
        ]
    found = []
    for length in np.maximum(steps, washout):
        each = (length - washout) / folds
        width = max(round(each * GAP_SHARE), 1) if gap is None else gap
        width = max(min(width, int(each) - 1), 0)  # a fold keeps a step at least
        cuts = washout + np.arange(1, folds) * each
        low, high = np.floor(cuts - width / 2).astype(np.int64), np.floor(cuts - width / 2).astype(np.int64) + width
        found.append(np.concatenate([[washout], np.stack([low, high], axis=1).ravel(), [length]]).astype(np.int64))
    return found


def tail_edges(lengths: npt.ArrayLike, washout: int, share: float, gap: int | None = None) -> list[Indices]:
    """Edges of the segments training, gap, validation of every series."""
    found = []
    for length in np.atleast_1d(np.asarray(lengths, np.int64)):
        cut = washout + max(round((length - washout) * (1 - share)), 1)
        width = max(round((length - cut) * GAP_SHARE), 1) if gap is None else gap
        found.append(np.array([washout, max(cut - width, min(washout + 1, cut)), cut, length]))
    return found


def of_sequences(classes: Indices, folds: int, seen: int = 0) -> Indices:
    """The fold of every sequence, (B,), with as many of every class in each as can be."""
    found = np.empty(len(classes), np.int64)
    found[np.argsort(classes, kind="stable")] = (seen + np.arange(len(classes))) % folds
    return found


def rows(cuts: Sequence[Indices]) -> list[Indices]:
    """The rows of every segment, where the counted steps of all series stand one below the other."""
    ends = np.cumsum([each[-1] - each[0] for each in cuts])
    shifted = [each + end - each[-1] for each, end in zip(cuts, ends, strict=True)]
    segments = zip(*(pairwise(each) for each in shifted), strict=True)
    return [np.concatenate([np.arange(*each) for each in segment]) for segment in segments]


def leave_one_out(folds: Sequence[Part]) -> list[tuple[Part, Part]]:
    """(training, held out) for every fold that holds a step: all other folds, and the fold."""
    held = [part for part in folds if np.min(part.count) > 0]
    if len(held) < 2:
        raise ValueError("fewer than two folds hold a step that counts: give longer series, or a smaller washout.")
    # Sums from both ends, so that all complements together cost three additions a fold.
    before, after = list(accumulate(held, operator.add)), list(accumulate(held[::-1], operator.add))[::-1]
    others = [after[1], *(one + other for one, other in zip(before, after[2:], strict=False)), before[-2]]
    return list(zip(others, held, strict=True))


def total(parts: Sequence[Part]) -> Part:
    """What is known of all parts together."""
    whole = parts[0]
    for part in parts[1:]:
        whole = whole + part
    return whole
