"""Residual matrices: orthogonal, seeded, and what their names say."""

from __future__ import annotations

import numpy as np

import echoscale as es


def test_a_shift_moves_every_state_on() -> None:
    matrix = es.single(4, residual="shift").build(1).drawn.residuals[0]
    np.testing.assert_array_equal(matrix @ np.array([1.0, 2, 3, 4]), [4.0, 1, 2, 3])


def test_a_random_rotation_is_orthogonal_and_seeded() -> None:
    network = es.hierarchical([30, 20], residual=["orthogonal", "identity"])
    one, other = network.build(1, seed=0).drawn, network.build(1, seed=1).drawn
    matrix = one.residuals[0].toarray()
    np.testing.assert_allclose(matrix.T @ matrix, np.eye(30), atol=1e-10)
    assert (matrix == network.build(1, seed=0).drawn.residuals[0].toarray()).all()
    assert (matrix != other.residuals[0].toarray()).any()
    np.testing.assert_array_equal(one.residuals[1].toarray(), np.eye(20))
    # Nothing else is drawn otherwise.
    plain = es.hierarchical([30, 20]).build(1, seed=0).drawn
    np.testing.assert_array_equal(one.recurrent[0].toarray(), plain.recurrent[0].toarray())
