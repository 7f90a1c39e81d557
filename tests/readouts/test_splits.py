"""Folds of time with gaps, against cuts and sums written out by hand."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import echoscale as es
from echoscale.data.series import as_series, as_targets
from echoscale.readouts import splits
from echoscale.readouts.statistics import Statistics, of_rows, split_statistics

Floats = npt.NDArray[np.float64]


def assert_same(found: Statistics, expected: Statistics) -> None:
    assert found.features == expected.features
    np.testing.assert_allclose(found.count, expected.count)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.scatter, expected.scatter, rtol=0, atol=1e-9)


@given(length=st.integers(8, 3000), washout=st.integers(0, 50), count=st.integers(2, 8), gap=st.none() | st.integers(0, 9))
@settings(max_examples=200, deadline=None)
def test_blocks_are_of_one_length_with_gaps_between_them(length: int, washout: int, count: int, gap: int | None) -> None:
    """Whatever the numbers: nothing before the washout, folds of a step at least, gaps of the width that was asked for."""
    length += washout + count
    [edges] = splits.block_edges([length], washout, count, gap)
    assert len(edges) == 2 * count
    assert (edges[0], edges[-1]) == (washout, length)
    widths = np.diff(edges)
    blocks, gaps = widths[::2], widths[1::2]
    assert (blocks >= 1).all()
    share = (length - washout) / count
    wanted = max(round(share / 20), 1) if gap is None else gap
    assert (gaps == min(wanted, int(share) - 1)).all()
    # All but the first and the last have a gap on either side of them.
    assert np.ptp(blocks[1:-1]) <= 1 if count > 2 else True
    assert abs(blocks[0] - (share - gaps[0] / 2)) <= 1


def test_a_gap_by_hand() -> None:
    [edges] = splits.block_edges([120], 20, 4)
    assert edges.tolist() == [20, 44, 45, 69, 70, 94, 95, 120]
    [edges] = splits.block_edges([120], 20, 4, gap=10)
    assert edges.tolist() == [20, 40, 50, 65, 75, 90, 100, 120]
    assert splits.tail([120], 20, 0.2).edges[0].tolist() == [20, 99, 100, 120]
    assert splits.tail([120], 20, 0.2, gap=7).edges[0].tolist() == [20, 93, 100, 120]
    assert splits.tail([120], 20, 0.2, gap=0).edges[0].tolist() == [20, 100, 120]


def test_as_many_series_as_folds_are_held_out_whole() -> None:
    """Series b is in fold b mod K: all of its steps after the washout, and no gap."""
    lengths = [30, 20, 25, 12, 40, 11, 28]
    edges = splits.block_edges(lengths, 10, 3)
    for b, (cuts, length) in enumerate(zip(edges, lengths, strict=True)):
        widths = [int(high - low) for low, high in pairwise(cuts)]
        assert widths == [length - 10 if segment == 2 * (b % 3) else 0 for segment in range(5)]


@pytest.mark.parametrize(
    ("lengths", "washout", "asked", "given"),
    [([100], 10, 5, 5), ([29], 10, 5, 4), ([18], 10, 5, 2), ([17], 10, 5, 0), ([10], 10, 5, 0), ([14, 14, 9], 10, 5, 2)],
)
def test_short_data_have_fewer_folds(lengths: list[int], washout: int, asked: int, given: int) -> None:
    """Four steps a fold at least; where there are not two such folds, none."""
    assert splits.possible(lengths, washout, asked) == given


@pytest.mark.parametrize("lengths", [[90], [60, 45], [30, 41, 28, 33, 50, 27]])
def test_pairs_are_the_statistics_of_the_rows(lengths: list[int]) -> None:
    """One run; every fold and its complement from the states that `esn.run` returns. The gaps are in neither."""
    rng = np.random.default_rng(0)
    esn = es.single(6).build(2, seed=0, dtype="float64")
    X, y = [rng.normal(size=(n, 2)) for n in lengths], [rng.normal(size=(n, 1)) for n in lengths]
    series = as_series(X)
    folds = splits.folds(series.lengths, 12, 4)
    cuts = folds.edges
    parts, _ = split_statistics(esn, series, as_targets(y, series), cuts)
    # Every step's segment, looked up one by one; -1 is the washout.
    segment = [
        np.array([np.searchsorted(edge, t, side="right") - 1 for t in range(n)]) for edge, n in zip(cuts, lengths, strict=True)
    ]
    states = np.concatenate([esn.run(u) for u in X])
    where, targets = np.concatenate(segment), np.concatenate(y)
    found = splits.pairs(parts, folds.splits)
    assert len(found) == 4
    for k, (train, held_out) in enumerate(found):
        inside, others = where == 2 * k, (where % 2 == 0) & (where >= 0) & (where != 2 * k)
        assert_same(held_out, of_rows(states[inside], targets[inside]))
        assert_same(train, of_rows(states[others], targets[others]))
    assert_same(splits.total(parts), of_rows(states[where >= 0], targets[where >= 0]))
    # The same segments as rows of a matrix that holds the steps after the washout.
    counted = where[where >= 0]
    for number, rows in enumerate(folds.rows()):
        assert sorted(rows.tolist()) == np.flatnonzero(counted == number).tolist()


def test_one_fold_with_data_is_none() -> None:
    with pytest.raises(ValueError, match="fewer than two folds hold a step"):
        splits.folds([10, 4, 5], 6, 3)
    part = of_rows(np.eye(3), np.ones((3, 1)))
    nothing = Statistics(0 * part.count, 0 * part.mean, 0 * part.scatter, 3)
    assert splits.pairs([part, nothing], splits.in_turn([0, 1])) == []


def test_a_tail_without_steps_is_refused() -> None:
    with pytest.raises(ValueError, match=r"a share of 0\.01 leaves nothing to train on, or nothing to validate by"):
        splits.tail([30], 10, 0.01)


@dataclass(frozen=True)
class Segments:
    """The numbers of segments: a sum that says what was added, and how often."""

    numbers: tuple[int, ...]
    added: ClassVar[list[int]] = []

    @property
    def count(self) -> int:
        return len(self.numbers)

    def __add__(self, other: Segments) -> Segments:
        self.added.append(1)
        return Segments(self.numbers + other.numbers)


@given(segments=st.integers(2, 12), data=st.data())
@settings(max_examples=200, deadline=None)
def test_sums_hold_the_segments_of_their_splits(segments: int, data: st.DataObject) -> None:
    """Of any splits: those of folds in turn, of origins, or drawn ones; each segment once."""
    parts = [Segments((s,)) for s in range(segments)]
    drawn = []
    for _ in range(data.draw(st.integers(1, 5))):
        held = data.draw(st.integers(0, segments - 1))
        train = data.draw(st.sets(st.sampled_from([s for s in range(segments) if s != held])))
        drawn.append(splits.Split(tuple(sorted(train)), (held,)))
    ends = sorted(data.draw(st.sets(st.integers(1, (segments + 1) // 2), min_size=1)))
    origins = splits.rolling(ends, data.draw(st.integers(1, 6)))
    for each in (drawn, splits.in_turn(range(segments)), *(origin.folds for origin in origins)):
        wanted = [(sorted(one.train), list(one.held_out)) for one in each if len(one.train) > 1]
        found = [(sorted(train.numbers), list(out.numbers)) for train, out in splits.pairs(parts, each)]
        assert found == wanted


def test_all_complements_cost_three_additions_a_segment() -> None:
    Segments.added.clear()
    splits.complements([Segments((s,)) for s in range(40)], splits.in_turn(range(40)))
    assert len(Segments.added) < 3 * 40


@given(
    lengths=st.lists(st.integers(1, 150), min_size=1, max_size=9),
    washout=st.integers(0, 30),
    count=st.integers(2, 7),
    share=st.floats(0.05, 0.9),
    gap=st.none() | st.integers(0, 9),
)
@settings(max_examples=300, deadline=None)
def test_every_counted_step_is_held_out_once_and_never_trains_its_fold(
    lengths: list[int], washout: int, count: int, share: float, gap: int | None
) -> None:
    """Step by step: training and held-out steps share none, gaps belong to neither, and nothing lies in the washout."""
    made: dict[str, splits.Splits] = {}
    with suppress(ValueError):
        made["folds"] = splits.folds(lengths, washout, count, gap)
    with suppress(ValueError):
        made["tail"] = splits.tail(lengths, washout, share, gap)
    for name, found in made.items():
        judged: list[tuple[int, int]] = []
        for each in found.splits:
            train, out = (
                {(b, t) for b, cuts in enumerate(found.edges) for s in which for t in range(cuts[s], cuts[s + 1])}
                for which in (each.train, each.held_out)
            )
            assert train
            assert out
            assert not train & out
            assert min(t for _, t in train | out) >= washout
            assert {(b, t) for b, (low, high) in enumerate(found.held_out(each)) for t in range(low, high)} == out
            judged += out
        assert len(judged) == len(set(judged))
        if name == "folds":
            counted = {(b, t) for b, length in enumerate(lengths) for t in range(washout, length)}
            gaps = {(b, t) for b, cuts in enumerate(found.edges) for edge in list(pairwise(cuts))[1::2] for t in range(*edge)}
            assert set(judged) == counted - gaps


@given(ends=st.sets(st.integers(1, 12), min_size=2, max_size=5), most=st.integers(1, 8))
@settings(max_examples=200, deadline=None)
def test_origins_train_on_the_past_and_judge_once(ends: set[int], most: int) -> None:
    """Parts are the even segments, gaps the odd ones. Folds cover the parts that train; the gaps beside them do not train."""
    parts = sorted(ends)
    *origins, last = splits.rolling(parts, most)
    assert last.held_out == ()
    assert set(last.train) == set(range(2 * parts[-1] - 1))
    held = [s for each in origins for s in each.held_out if s % 2 == 0]
    assert held == [2 * part for part in range(parts[0], parts[-1])]
    for each in (*origins, last):
        if each.held_out:
            assert each.train[-1] + 1 == each.held_out[0] - 1  # one gap between
        assert sorted(s for fold in each.folds for s in fold.held_out if s % 2 == 0) == [s for s in each.train if s % 2 == 0]
        assert len(each.folds) == min(most, (len(each.train) + 1) // 2)
        for fold in each.folds:
            beside = {fold.held_out[0] - 1, fold.held_out[-1] + 1}
            assert set(fold.train) == set(each.train) - set(fold.held_out) - beside


@given(classes=st.lists(st.integers(0, 3), min_size=2, max_size=60), count=st.integers(2, 6))
@settings(max_examples=100, deadline=None)
def test_sequences_are_dealt_out_evenly(classes: list[int], count: int) -> None:
    """In every fold as many sequences as in any other, and as many of every class; to within one."""
    labels = np.array(classes)
    found = splits.by_class(labels, count)
    groups = found.rows()
    assert sorted(np.concatenate(groups).tolist()) == list(range(len(labels)))
    assert np.ptp([len(each) for each in groups]) <= 1
    for name in set(classes):
        assert np.ptp([int((labels[each] == name).sum()) for each in groups]) <= 1
    assert found.splits == splits.in_turn(range(min(count, len(classes))))


@given(classes=st.lists(st.integers(0, 3), min_size=2, max_size=60), share=st.floats(0, 0.95))
@settings(max_examples=100, deadline=None)
def test_a_share_of_every_class_is_held_out(classes: list[int], share: float) -> None:
    labels = np.array(classes)
    chosen = splits.share_by_class(labels, share)
    assert abs(chosen.sum() - share * len(labels)) < 1 + 1e-6
    for name in set(classes):
        assert abs(chosen[labels == name].sum() - share * (labels == name).sum()) < 1 + 1e-6
    train, out = splits.tail_by_class(labels, share).rows()
    np.testing.assert_array_equal(np.sort(out), np.flatnonzero(chosen))
    np.testing.assert_array_equal(np.sort(train), np.flatnonzero(~chosen))
