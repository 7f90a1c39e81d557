"""Which products of states a readout sees; the last inputs beside the states, against loops over time; states kept as rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import echoscale as es
from echoscale.data.series import as_series, as_targets
from echoscale.readouts.columns import Columns, Pairs
from echoscale.readouts.states import state_rows
from echoscale.readouts.statistics import of_rows, split_statistics

Array = npt.NDArray[Any]


def pairs_of(units: int, squares: bool, products: int, seed: int) -> Pairs:
    return Columns(0, squares, products).pairs(es.single(units).build(1, seed=seed))


def test_pairs_are_unlike_and_none_is_drawn_twice() -> None:
    """All 45 of ten neurons, each once; fewer of them are the first of more."""
    every = pairs_of(10, False, 45, 0)
    assert (every[:, 0] < every[:, 1]).all()
    assert {tuple(each) for each in every.tolist()} == {(i, j) for j in range(10) for i in range(j)}
    for count in (1, 20):
        np.testing.assert_array_equal(pairs_of(10, False, count, 0), every[:count])
    assert not np.array_equal(pairs_of(10, False, 45, 1), every)


def test_squares_come_first() -> None:
    assert pairs_of(4, False, 0, 0).shape == (0, 2)
    found = pairs_of(4, True, 2, 0)
    np.testing.assert_array_equal(found[:4], [[0, 0], [1, 1], [2, 2], [3, 3]])
    np.testing.assert_array_equal(found[4:], pairs_of(4, False, 2, 0))


def test_products_of_float32_are_exact() -> None:
    x, esn = np.array([[1 / 3, 3.0]], np.float32), es.single(2).build(1, seed=0)
    expected = [[x[0, 0], 3, np.float64(x[0, 0]) * 3]]
    np.testing.assert_array_equal(Columns(0, products=1).of_states(x, esn), expected)


def test_more_pairs_than_there_are() -> None:
    with pytest.raises(ValueError, match="products=4 is above the 3 pairs that 3 neurons have"):
        pairs_of(3, True, 4, 0)


@pytest.mark.parametrize(
    ("error", "wrong", "message"),
    [
        (ValueError, {"inputs": -1}, "inputs, the number of inputs that a readout sees, must be at least 0, got -1"),
        (TypeError, {"inputs": True}, "inputs, the number of inputs that a readout sees, must be"),
        (TypeError, {"squares": "yes"}, "squares must be True or False, got 'yes'"),
        (ValueError, {"products": -1}, "products must be at least 0, got -1"),
    ],
)
def test_what_is_no_column_is_named(error: type[Exception], wrong: dict[str, object], message: str) -> None:
    with pytest.raises(error, match=message):
        Columns(**wrong)  # type: ignore[arg-type]


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
