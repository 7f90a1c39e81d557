"""Residual matrices as a description keeps them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import echoscale as es

TURN = np.array([[0.6, -0.8], [0.8, 0.6]])


def test_own_matrices_are_kept_by_value() -> None:
    network = es.single(2, residual=TURN)
    assert network == es.single(2, residual=TURN.tolist())
    assert es.Network.from_dict(network.to_dict()) == network
    assert network.turns
    assert not es.single(2).turns


@pytest.mark.parametrize(
    ("residual", "words"),
    [
        (np.eye(3), r"shape \(units, units\) = \(2, 2\), got \(3, 3\)"),
        (1.001 * TURN, r"must be orthogonal: an entry of O\^T O - I is 0.002"),
        ([[1.0, np.nan], [0.0, 1.0]], "residual must be finite, found nan"),
        ("spin", "residual must be one of 'identity', 'shift', 'orthogonal'; got 'spin'"),
    ],
)
def test_bad_input_is_named(residual: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        es.single(2, residual=residual)
