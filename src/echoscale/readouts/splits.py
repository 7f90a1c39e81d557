"""Splits of data into parts that train and parts that are held out: folds, a tail, rolling origins, and folds by class.

    | fold 1 | gap | fold 2 | gap | ... | fold K |      every fold is held out in turn, the other folds train
    | training | gap | validation |                     a tail
    | part 1 | gap | ... | part s | gap | judged |      an origin: all earlier parts train, and have folds of their own

Time is cut into segments at edges. A `Split` lists the segments that train and the segments that are held out. The statistics
of segments add up, so a split costs a solve, not a run. The final fit includes the gaps.

Rows next to each other are alike: a fold whose neighbours were trained on would look better than what comes after the data.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Flags, Indices

FOLDS = 5
# Default width of a gap, as a share of a fold.
GAP_SHARE = 0.05
# Smallest number of steps in a fold; short data have fewer folds.
FEWEST = 4


class Split(NamedTuple):
    """Segments that train, and segments that are held out.

    Attributes
    ----------
    train : tuple of int
        Numbers of the segments that train.
    held_out : tuple of int
        Numbers of the segments that are held out, next to each other; empty for the last origin.
    folds : tuple of Split
        Splits of the segments that train, by which an origin makes its choices.
    """

    train: tuple[int, ...]
    held_out: tuple[int, ...]
    folds: tuple[Split, ...] = ()


class Splits(NamedTuple):
    """Segments of several series, and the splits of these segments.

    Attributes
    ----------
    edges : list of (S + 1,)
        For every series: segment s holds the steps edges[s] to edges[s + 1].
    splits : tuple of Split
        Which segments train and which are held out; empty where nothing is held out.
    """

    edges: list[Indices]
    splits: tuple[Split, ...] = ()

    def held_out(self, split: Split) -> list[tuple[int, int]]:
        """First step and end of the held-out part of every series."""
        return [(int(each[split.held_out[0]]), int(each[split.held_out[-1] + 1])) for each in self.edges]

    def rows(self) -> list[Indices]:
        """The rows of every segment, if the counted steps of all series are stacked."""
        cuts = np.asarray(self.edges)
        shifted = cuts + (np.cumsum(cuts[:, -1] - cuts[:, 0]) - cuts[:, -1])[:, None]
        segments = zip(*(itertools.pairwise(each) for each in shifted), strict=True)
        return [np.concatenate([np.arange(*each) for each in segment]) for segment in segments]


class AddsUp(Protocol):
    """Properties of a piece of data that add up over pieces: `Statistics`, or the `Factor` of an exact solution."""

    @property
    def count(self) -> Any:
        """Rows."""

    def __add__(self, other: Self, /) -> Self:
        """Both pieces together."""


Part = TypeVar("Part", bound=AddsUp)


# ------------------------------------------------------------------------------------------------------------ splits of time


def possible(lengths: npt.ArrayLike, washout: int, count: int = FOLDS, least: int = FEWEST) -> int:
    """The number of folds that the data allow: at most `count`, each of at least `least` steps; 0 if there are not two."""
    counted = int(np.maximum(np.asarray(lengths, np.int64) - washout, 0).sum())
    most = min(count, counted // least)
    return most if most >= 2 else 0


def whole(lengths: Sequence[int] | Indices, washout: int) -> Splits:
    """One segment with all counted steps; nothing is held out."""
    return Splits([np.array([washout, length]) for length in lengths])


def folds(lengths: npt.ArrayLike, washout: int, count: int = FOLDS, gap: int | None = None) -> Splits:
    """Every fold that holds a step is held out in turn; folds and gaps alternate."""
    edges = block_edges(lengths, washout, count, gap)
    steps = np.sum([np.diff(each) for each in edges], axis=0)[::2]
    if np.count_nonzero(steps) < 2:
        raise ValueError("fewer than two folds hold a step that counts: give longer series, or a smaller washout.")
    return Splits(edges, in_turn((2 * np.flatnonzero(steps)).tolist()))


def block_edges(lengths: npt.ArrayLike, washout: int, count: int = FOLDS, gap: int | None = None) -> list[Indices]:
    """Edges of the 2 K - 1 segments fold, gap, fold, ..., fold of every series, in the form of `split_statistics`.

    With fewer series than folds, every series is cut into K blocks of time. Otherwise whole series are held out, every K-th
    one, and no gap is needed.
    """
    steps = np.atleast_1d(np.asarray(lengths, np.int64))
    if len(steps) >= count:
        series = np.arange(len(steps))
        return in_one_segment(2 * (series % count), np.full(len(steps), washout), np.maximum(steps, washout), 2 * count - 1)
    found = []
    for length in np.maximum(steps, washout):
        each = (length - washout) / count
        width = max(round(each * GAP_SHARE), 1) if gap is None else gap
        width = max(min(width, int(each) - 1), 0)  # a fold keeps at least one step
        cuts = washout + np.arange(1, count) * each
        low = np.floor(cuts - width / 2).astype(np.int64)
        found.append(np.concatenate([[washout], np.stack([low, low + width], axis=1).ravel(), [length]]).astype(np.int64))
    return found


def in_one_segment(segment: Indices, begin: Indices, end: Indices, segments: int) -> list[Indices]:
    """Edges of series that lie in one segment each, as a whole."""
    places = np.arange(segments + 1)
    return [np.where(places <= s, first, last) for s, first, last in zip(segment, begin, end, strict=True)]


def tail(lengths: npt.ArrayLike, washout: int, share: float, gap: int | None = None) -> Splits:
    """The last share of every series is held out: the segments are training, gap, validation; with gap=0 there is no gap."""
    edges = []
    for length in np.maximum(np.atleast_1d(np.asarray(lengths, np.int64)), washout):
        held_out = min(round((length - washout) * share), length - washout - 1)
        cut = min(length - held_out, length)
        width = max(round((length - cut) * GAP_SHARE), 1) if gap is None else gap
        edges.append(np.array([washout, max(cut - width, min(washout + 1, cut)), cut, length]))
    if gap == 0:
        edges = [each[[0, 2, 3]] for each in edges]
    steps = np.sum([np.diff(each) for each in edges], axis=0)
    if not (steps[0] and steps[-1]):
        raise ValueError(f"a share of {share} leaves nothing to train on, or nothing to validate by: give a number of folds.")
    return Splits(edges, (Split((0,), (len(steps) - 1,)),))


def rolling(ends: Sequence[int], most: int) -> tuple[Split, ...]:
    """Origins over parts of time, which are the even segments: the gaps lie between them.

    For ends e_0 < e_1 < ...: parts up to e_k train, and parts e_k to e_{k+1} are held out. The last origin trains on all parts
    and holds out none. The folds of an origin are at most `most` groups of consecutive training parts. A fold leaves out the
    gaps on both sides.
    """
    found = []
    for end, later in itertools.pairwise([*ends, ends[-1]]):
        known = range(2 * end - 1)
        cuts = (2 * np.linspace(0, end, min(end, most) + 1).round().astype(int)).tolist()
        inner = tuple(
            Split(tuple(s for s in known if not low - 1 <= s < high), tuple(range(low, high - 1)))
            for low, high in itertools.pairwise(cuts)
        )
        found.append(Split(tuple(known), tuple(range(2 * end, 2 * later - 1)), inner))
    return tuple(found)


def in_turn(segments: Sequence[int]) -> tuple[Split, ...]:
    """Each of these segments is held out in turn, and the others train."""
    return tuple(Split(tuple(other for other in segments if other != each), (each,)) for each in segments)


# ------------------------------------------------------------------------------------------------- splits of whole sequences


def by_class(classes: npt.ArrayLike, count: int) -> Splits:
    """Folds of sequences, one row each; the number of sequences of a class differs by at most one between folds."""
    labels = np.asarray(classes)
    used = min(count, len(labels))
    fold = np.empty(len(labels), np.int64)
    fold[np.argsort(labels, kind="stable")] = np.arange(len(labels)) % used
    return _of_rows(fold, used, in_turn(range(used)))


def tail_by_class(classes: npt.ArrayLike, share: float) -> Splits:
    """Segment 0 trains; segment 1, a share of the sequences of every class, is held out."""
    return _of_rows(share_by_class(classes, share).astype(np.int64), 2, (Split((0,), (1,)),))


def share_by_class(classes: npt.ArrayLike, share: float) -> Flags:
    """A share of the sequences of every class, evenly spread: those where the running total passes a whole number."""
    labels = np.asarray(classes)
    found = np.empty(len(labels), bool)
    total = np.floor(np.arange(len(labels) + 1) * share + 1e-9)  # a little more, for rounding
    found[np.argsort(labels, kind="stable")] = np.diff(total) > 0
    return found


def _of_rows(segment: Indices, segments: int, splits: tuple[Split, ...]) -> Splits:
    """Splits of series of one row each."""
    return Splits(in_one_segment(segment, np.zeros_like(segment), np.ones_like(segment), segments), splits)


# ------------------------------------------------------------------------------------------------------- sums over segments


def pairs(parts: Sequence[Part], splits: Sequence[Split]) -> list[tuple[Part, Part]]:
    """(training, held out) of every split, from the statistics of every segment.

    A split is left out if its held-out part has no row, or its training part fewer than two.
    """
    both = [
        (train, total([parts[s] for s in each.held_out]))
        for train, each in zip(complements(parts, splits), splits, strict=True)
        if train is not None
    ]
    return [(train, held_out) for train, held_out in both if np.min(held_out.count) > 0 and np.min(train.count) > 1]


def training(parts: Sequence[Part], split: Split) -> Part:
    """All segments that train."""
    return total([parts[s] for s in split.train])


def complements(parts: Sequence[Part], splits: Sequence[Split]) -> list[Part | None]:
    """The sum of the training segments of every split; None without splits.

    Sums are made from both ends: with the splits in the order of time, all complements together cost three additions per
    segment.
    """
    before = _sums(parts, [[s for s in each.train if s < each.held_out[0]] for each in splits])
    after = _sums(parts, [[s for s in each.train[::-1] if s > each.held_out[0]] for each in splits[::-1]])[::-1]
    return [b if a is None else a if b is None else a + b for a, b in zip(before, after, strict=True)]


def _sums(parts: Sequence[Part], wanted: Sequence[list[int]]) -> list[Part | None]:
    """Sums of segments; each sum starts from the one before if it contains the same segments."""
    found: list[Part | None] = []
    have: list[int] = []
    for which in wanted:
        whole = found[-1] if have and which[: len(have)] == have else None
        for s in which if whole is None else which[len(have) :]:
            whole = parts[s] if whole is None else whole + parts[s]
        found.append(whole)
        have = which
    return found


def total(parts: Sequence[Part]) -> Part:
    """All parts together."""
    whole = parts[0]
    for part in parts[1:]:
        whole = whole + part
    return whole
