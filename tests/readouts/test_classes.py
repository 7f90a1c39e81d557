"""Readouts of classes from rows, against scikit-learn; and how steep probabilities are, against those that made the labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import softmax
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import KFold, PredefinedSplit, cross_val_predict

from echoscale.readouts import splits
from echoscale.readouts.classes import fit_ridge, least_error, steepness

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
    found = fit_ridge(rows, codes, np.array([2.0]), 5)
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
    found = fit_ridge(rows, codes, path, 5)
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
    assert least_error(rows, codes) == pytest.approx(min(errors), rel=1e-6)


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
