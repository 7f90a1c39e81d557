"""Readouts of classes from rows, against scikit-learn: ridge on standardised features, folds, sequences left out one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import KFold, PredefinedSplit, cross_val_predict

from echoscale.readouts import leave_one_out, splits

Array = npt.NDArray[Any]


def data(features: int) -> tuple[Array, Array]:
    """Rows whose columns have units of their own, one of them constant."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 40)
    rows = rng.normal(size=(40, features)) * 10.0 ** rng.uniform(-2, 2, features) + rng.normal(size=features)
    rows[:, 0] = 7.0
    rows[:, 1:5] += labels[:, None] * np.std(rows[:, 1:5], axis=0)
    return rows, np.eye(3)[labels]


def standard(rows: Array) -> Array:
    spread = np.maximum(rows.std(axis=0), 1e-5 * rows.std(axis=0).max())
    return np.asarray((rows - rows.mean(axis=0)) / np.where(np.ptp(rows, axis=0) > 0, spread, 1.0))


@pytest.mark.parametrize("features", [10, 100])
def test_rows_left_out_one_by_one_are_those_of_as_many_fits(features: int) -> None:
    rows, codes = data(features)
    found = leave_one_out.solve(rows, codes, np.array([2.0]), 5)
    x = standard(rows)
    expected = cross_val_predict(Ridge(alpha=2.0), x, codes, cv=KFold(len(x)))
    np.testing.assert_allclose(found.outputs, expected, atol=1e-8)
    assert found.error == pytest.approx(((expected - codes) ** 2 / codes.var(axis=0)).mean(), rel=1e-8)
    whole = Ridge(alpha=2.0).fit(x, codes)
    np.testing.assert_allclose(found.readout.predict(rows), whole.predict(x), atol=1e-8)


@pytest.mark.parametrize("features", [10, 100])
def test_the_penalty_is_that_of_a_cross_validation_by_scikit_learn(features: int) -> None:
    """Of penalties two decades apart, so that the unit of every fold, which differs by a little, does not decide."""
    rows, codes = data(features)
    fold = np.empty(len(rows), int)
    for k, held_out in enumerate(splits.by_class(codes.argmax(axis=1), 5).rows()):
        fold[held_out] = k
    path = np.array([1e-3, 1e-1, 1e1, 1e3, 1e5])
    weights = 1 / codes.std(axis=0)
    expected = RidgeCV(path, cv=PredefinedSplit(fold), scoring="neg_mean_squared_error").fit(standard(rows), codes * weights)
    found = leave_one_out.solve(rows, codes, path, 5)
    assert found.ridge == expected.alpha_
    assert path[0] < found.ridge < path[-1]


@pytest.mark.parametrize("features", [10, 100])
def test_the_least_error_is_that_of_a_path_of_such_fits(features: int) -> None:
    rows, codes = data(features)
    x = standard(rows)
    unit = (x**2).sum() / min(x.shape)
    errors = []
    for relative in 10.0 ** np.arange(-9, 4.5, 0.5):
        z = cross_val_predict(Ridge(alpha=relative * unit, solver="svd"), x, codes, cv=KFold(len(x)))
        errors.append(((z - codes) ** 2 / codes.var(axis=0)).mean())
    assert 0 < np.argmin(errors) < len(errors) - 1
    assert leave_one_out.least_error(rows, codes) == pytest.approx(min(errors), rel=1e-6)
