"""Who is judged on what: no row on both sides, gaps between, standard errors that know correlations."""

from __future__ import annotations

import numpy as np
import pytest

from echoscale.forecasting.splits import STEP_FOLDS, of_steps
from echoscale.forecasting.weights import standard_errors


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


def test_standard_errors_of_independent_errors() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=400) ** 2, rng.normal(size=400) ** 2 + 0.3
    d = b - a
    assert standard_errors(a, b, 0) == pytest.approx(d.mean() / (d.std() / 20), rel=1e-12)
    assert standard_errors(a, b, 0) == -standard_errors(b, a, 0)


def test_standard_errors_of_alike_neighbours_are_larger() -> None:
    """Each value twice: half as many are independent, so that the mean is worth 1 / sqrt(2) as many standard errors."""
    rng = np.random.default_rng(1)
    d = np.repeat(rng.normal(size=2000) + 0.1, 2)
    found = standard_errors(np.zeros(4000), d, 40) / standard_errors(np.zeros(4000), d, 0)
    assert found == pytest.approx(2**-0.5, rel=0.08)


def test_equal_errors_tell_nothing() -> None:
    same = np.ones(20)
    assert standard_errors(same, same, 3) == 0
    assert standard_errors(same, same + 1, 3) == np.inf
