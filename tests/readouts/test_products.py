"""Which products of two states a readout sees."""

from __future__ import annotations

import numpy as np
import pytest

import echoscale as es
from echoscale.readouts.columns import Columns, Pairs


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
