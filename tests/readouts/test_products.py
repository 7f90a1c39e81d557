"""Which products of two states a readout sees."""

from __future__ import annotations

import numpy as np
import pytest

from echoscale.readouts.columns import pairs_of, with_products


def test_pairs_are_unlike_and_none_is_drawn_twice() -> None:
    """All 45 of ten neurons, each once; fewer of them are the first of more."""
    every = pairs_of(10, False, 45, 0)
    assert every is not None
    assert (every[:, 0] < every[:, 1]).all()
    assert {tuple(each) for each in every.tolist()} == {(i, j) for j in range(10) for i in range(j)}
    for count in (1, 20):
        np.testing.assert_array_equal(pairs_of(10, False, count, 0), every[:count])
    assert not np.array_equal(np.asarray(pairs_of(10, False, 45, 1)), every)


def test_squares_come_first() -> None:
    assert pairs_of(4, False, 0, 0) is None
    found = pairs_of(4, True, 2, 0)
    assert found is not None
    np.testing.assert_array_equal(found[:4], [[0, 0], [1, 1], [2, 2], [3, 3]])
    np.testing.assert_array_equal(found[4:], pairs_of(4, False, 2, 0))


def test_products_of_float32_are_exact() -> None:
    x = np.array([[1 / 3, 3.0]], np.float32)
    np.testing.assert_array_equal(with_products(x, np.array([[0, 1]], np.int32)), [[x[0, 0], 3, np.float64(x[0, 0]) * 3]])


def test_more_pairs_than_there_are() -> None:
    with pytest.raises(ValueError, match="products=4 is above the 3 pairs that 3 neurons have"):
        pairs_of(3, True, 4, 0)
