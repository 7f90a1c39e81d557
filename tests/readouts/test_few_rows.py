"""Rows that were turned give the ridge solution of the rows themselves, and that of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from echoscale.readouts.ridge import ridge, turned
from echoscale.readouts.statistics import of_rows


@pytest.mark.parametrize(("rows", "features"), [(12, 200), (12, 12), (50, 7)])
def test_the_solution_is_that_of_the_rows(rows: int, features: int) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(rows, features)), rng.normal(size=(rows, 2))
    x -= x.mean(axis=0)
    work = turned(x)
    assert work.rows.shape == (rows, min(rows, features))
    np.testing.assert_allclose(work.rows @ work.rows.T, x @ x.T, atol=1e-10)
    found, expected = work.back(ridge(of_rows(work.rows, y), 0.7)), Ridge(alpha=0.7).fit(x, y)
    np.testing.assert_allclose(found.coef, expected.coef_, atol=1e-10)
    np.testing.assert_allclose(found.intercept, expected.intercept_, atol=1e-10)
