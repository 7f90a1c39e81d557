"""Folds of time with gaps, against cuts and sums written out by hand."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

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
    [edges] = splits.edges([length], washout, count, gap)
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
    [edges] = splits.edges([120], 20, 4)
    assert edges.tolist() == [20, 44, 45, 69, 70, 94, 95, 120]
    [edges] = splits.edges([120], 20, 4, gap=10)
    assert edges.tolist() == [20, 40, 50, 65, 75, 90, 100, 120]
    assert splits.tail_edges([120], 20, 0.2)[0].tolist() == [20, 99, 100, 120]
    assert splits.tail_edges([120], 20, 0.2, gap=7)[0].tolist() == [20, 93, 100, 120]


def test_as_many_series_as_folds_are_held_out_whole() -> None:
    """Series b is in fold b mod K: all of its steps after the washout, and no gap."""
    lengths = [30, 20, 25, 12, 40, 11, 28]
    edges = splits.edges(lengths, 10, 3)
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
    cuts = splits.edges(series.lengths, 12, 4)
    parts, _ = split_statistics(esn, series, as_targets(y, series), cuts)
    # Every step's segment, looked up one by one; -1 is the washout.
    segment = [
        np.array([np.searchsorted(edge, t, side="right") - 1 for t in range(n)]) for edge, n in zip(cuts, lengths, strict=True)
    ]
    states = np.concatenate([esn.run(u) for u in X])
    where, targets = np.concatenate(segment), np.concatenate(y)
    found = splits.leave_one_out(parts[::2])
    assert len(found) == 4
    for k, (train, held_out) in enumerate(found):
        inside, others = where == 2 * k, (where % 2 == 0) & (where >= 0) & (where != 2 * k)
        assert_same(held_out, of_rows(states[inside], targets[inside]))
        assert_same(train, of_rows(states[others], targets[others]))
    assert_same(splits.total(parts), of_rows(states[where >= 0], targets[where >= 0]))
    # The same segments as rows of a matrix that holds the steps after the washout.
    counted = where[where >= 0]
    for number, rows in enumerate(splits.rows(cuts)):
        assert sorted(rows.tolist()) == np.flatnonzero(counted == number).tolist()


def test_one_fold_with_data_is_none() -> None:
    part = of_rows(np.eye(3), np.ones((3, 1)))
    nothing = Statistics(0 * part.count, 0 * part.mean, 0 * part.scatter, 3)
    with pytest.raises(ValueError, match="fewer than two folds hold a step"):
        splits.leave_one_out([part, nothing])


@given(classes=st.lists(st.integers(0, 3), min_size=2, max_size=60), count=st.integers(2, 6), seen=st.integers(0, 20))
@settings(max_examples=100, deadline=None)
def test_sequences_are_dealt_out_evenly(classes: list[int], count: int, seen: int) -> None:
    """In every fold as many sequences as in any other, and as many of every class; to within one."""
    labels = np.array(classes)
    fold = splits.of_sequences(labels, count, seen)
    assert np.ptp(np.bincount(fold, minlength=count)) <= 1
    for name in set(classes):
        assert np.ptp(np.bincount(fold[labels == name], minlength=count)) <= 1


def test_sequences_go_on_where_the_last_ones_ended() -> None:
    """One by one they come to the same folds as all at once, where all are of one class."""
    labels: npt.NDArray[Any] = np.zeros(7, np.int64)
    one_by_one = [int(splits.of_sequences(labels[:1], 3, seen)[0]) for seen in range(7)]
    assert splits.of_sequences(labels, 3).tolist() == one_by_one
