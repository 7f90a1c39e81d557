"""Who is judged on what: no row on both sides, gaps between."""

from __future__ import annotations

import numpy as np
import pytest

from echoscale.forecasting.splits import STEP_FOLDS, of_steps


@pytest.mark.parametrize(("length", "gap"), [(60, 1), (90, 6), (200, 12), (4000, 1), (5000, 50)])
def test_what_judges_comes_after_what_chose_and_a_gap(length: int, gap: int) -> None:
    found = of_steps([np.ones(length, bool)], 10, gap)
    edges = found.edges[0]
    assert edges[0] == 10
    assert edges[-1] == length
    assert (np.diff(edges)[::2] > 0).all()
    *judged, last = found.splits
    assert last.train == tuple(range(len(edges) - 1))
    covered = []
    for origin in judged:
        [(low, high)] = found.held_out(origin)
        assert low - edges[origin.train[-1] + 1] == np.diff(edges)[1]  # what chose ends a gap before
        covered += list(range(low, high))
        assert 2 <= len(origin.folds) <= STEP_FOLDS
    assert len(covered) == len(set(covered))
    assert covered[-1] == length - 1


@pytest.mark.parametrize("gap", [slice(0, 130), slice(60, 190), slice(70, 200)], ids=["start", "middle", "end"])
def test_every_part_holds_as_many_targets_however_long_a_gap_is(gap: slice) -> None:
    known = np.ones(200, bool)
    known[gap] = False
    found = of_steps([known], 20, 2)
    edges = found.edges[0]
    counts = [int(known[low:high].sum()) for low, high in zip(edges[:-1:2], edges[1::2], strict=True)]
    assert min(counts) > 0
    assert max(counts) - min(counts) <= 2
    assert sum(known[edges[0] : edges[-1]]) == sum(known[20:])


def test_many_series_are_held_out_whole() -> None:
    found = of_steps([np.ones(40, bool)] * 30, 5, 1)
    for origin in found.splits[:-1]:
        spans = found.held_out(origin)
        assert {high - low for low, high in spans} == {0, 35}
        assert 0 < sum(high > low for low, high in spans) < 30
