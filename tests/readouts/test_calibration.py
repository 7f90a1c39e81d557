"""How steep probabilities are: against the probabilities that made the labels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

from echoscale.readouts.calibration import steepness


@pytest.mark.parametrize("beta", [0.3, 1.0, 8.0])
def test_the_steepness_that_made_the_labels_is_found(beta: float) -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(20_000, 4))
    labels = (softmax(beta * z, axis=1).cumsum(axis=1) < rng.uniform(size=(20_000, 1))).sum(axis=1)
    assert steepness(z, labels) == pytest.approx(beta, rel=0.03)


def test_rows_that_are_all_told_apart_leave_a_doubt() -> None:
    """As much as one row of R + 2 that is not: 1 - p = 1 / (R + 2)."""
    z = np.eye(2)[np.arange(18) % 2]
    p = softmax(steepness(z, np.arange(18) % 2) * z, axis=1).max(axis=1)
    np.testing.assert_allclose(1 - p, 1 / 20, rtol=1e-4)


def test_outputs_that_say_nothing_are_left_alone() -> None:
    assert steepness(np.ones((5, 3)), np.zeros(5, int)) == 1
