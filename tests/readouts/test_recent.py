"""The last inputs beside the states, against loops over time; and states kept as rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import echoscale as es
from echoscale.data.series import as_series, as_targets
from echoscale.readouts.columns import Columns
from echoscale.readouts.states import state_rows
from echoscale.readouts.statistics import of_rows, split_statistics

Array = npt.NDArray[Any]


def by_loop(u: Array, direct: int, before: Array | None = None) -> Array:
    """u(t), u(t-1), ... of every step, one by one; before the start what was given, newest first, or 0."""
    past = np.zeros((direct - 1, u.shape[1])) if before is None else before.reshape(direct - 1, u.shape[1])
    rows = []
    for t in range(len(u)):
        rows.append([u[t - lag] if lag <= t else past[lag - t - 1] for lag in range(direct)])
    return np.array(rows).reshape(len(u), -1)


@pytest.mark.parametrize("direct", [0, 1, 4])
@pytest.mark.parametrize("lengths", [(40,), (40, 25, 33)])
def test_rows_and_statistics_hold_states_and_recent_inputs(direct: int, lengths: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    esn = es.hierarchical([5, 4]).build(2, seed=0, dtype="float64")
    X, y = [rng.normal(size=(n, 2)) for n in lengths], [rng.normal(size=(n, 3)) for n in lengths]
    series = as_series(X)
    expected = np.concatenate([np.hstack([esn.run(u), by_loop(u, direct)] if direct else [esn.run(u)])[7:] for u in X])
    rows, last = state_rows(esn, series, 7, Columns(direct))
    np.testing.assert_allclose(rows, expected, rtol=0, atol=1e-12)
    recent = [u[-1:-direct:-1].ravel() if direct > 1 else np.zeros(0) for u in X]
    expected_last = [np.concatenate([esn.run(u)[-1], past]) for u, past in zip(X, recent, strict=True)]
    np.testing.assert_allclose(last, expected_last, rtol=0, atol=1e-12)
    edges = [np.array([7, n]) for n in lengths]
    [found], state = split_statistics(esn, series, as_targets(y, series), edges, columns=Columns(direct))
    np.testing.assert_array_equal(state, last)
    wanted = of_rows(expected, np.concatenate([each[7:] for each in y]))
    assert found.features == wanted.features == 9 + 2 * direct
    np.testing.assert_allclose(found.scatter, wanted.scatter, rtol=0, atol=1e-10)
