"""Ridge from triangular factors, against rational numbers without any rounding, and against the Gram matrix."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from echoscale.readouts import exact, penalties, splits
from echoscale.readouts.ridge import ridge_path
from echoscale.readouts.statistics import of_rows

Floats = npt.NDArray[np.float64]


def solve_exactly(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """Gauss without rounding."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    size = len(rows)
    for k in range(size):
        pivot = next(i for i in range(k, size) if rows[i][k] != 0)
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(size):
            if i != k:
                ratio = rows[i][k] / rows[k][k]
                rows[i] = [a - ratio * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [rows[k][size] / rows[k][k] for k in range(size)]


def ridge_exactly(x: Floats, y: Floats, ridge: float) -> tuple[Floats, float]:
    """The normal equations in rational numbers: of doubles they are exact, however badly conditioned."""
    X, t = [[Fraction(v) for v in row] for row in x.tolist()], [Fraction(v) for v in y.tolist()]
    count, width = len(X), len(X[0])
    means = [sum(row[j] for row in X) / count for j in range(width)]
    mean = sum(t) / count
    Z = [[row[j] - means[j] for j in range(width)] for row in X]
    gram: Any = [[sum(row[i] * row[j] for row in Z) for j in range(width)] for i in range(width)]
    for j in range(width):
        gram[j][j] += Fraction(ridge)
    cross: Any = [sum(row[j] * (value - mean) for row, value in zip(Z, t, strict=True)) for j in range(width)]
    coef = solve_exactly(gram, cross)
    intercept = mean - sum(a * b for a, b in zip(coef, means, strict=True))
    return np.array([float(each) for each in coef]), float(intercept)


def polynomials(count: int = 40, degree: int = 9) -> tuple[Floats, Floats]:
    """Powers of t on [0, 1]: singular values over 6 decades, so that a Gram matrix has them over 12."""
    t = np.linspace(0, 1, count)
    x = t[:, None] ** np.arange(1, degree + 1)
    return x, np.cos(3 * t)


@pytest.mark.parametrize("relative", [0.0, 1e-20, 1e-14, 1e-6, 1.0])
def test_the_path_is_that_of_rational_numbers(relative: float) -> None:
    x, y = polynomials()
    whole = exact.factor(x, y[:, None])
    ridge = relative * whole.unit
    coef, intercept = ridge_exactly(x, y, ridge)
    found = exact.path(whole, [ridge]).at(0)
    guess, truth = found.predict(x)[:, 0], x @ coef + intercept
    # What rounding of the rows alone may do (Bjorck 1996, 1.4): the condition times it, and its square times the residual.
    s = np.linalg.svd(x - x.mean(axis=0), compute_uv=False)
    eps, condition, apart = 10 * np.finfo(np.float64).eps, s[0] / s[-1], np.linalg.norm(truth - y)
    np.testing.assert_allclose(guess, truth, rtol=0, atol=eps * (condition * apart + np.linalg.norm(y)))
    bound = eps * condition * (np.linalg.norm(coef) + condition * apart / s[0])
    np.testing.assert_allclose(found.coef[0], coef, rtol=0, atol=bound)


def test_the_gram_matrix_loses_what_the_factor_keeps() -> None:
    x, y = polynomials(degree=11)
    coef, intercept = ridge_exactly(x, y, 0.0)
    truth = x @ coef + intercept
    factor = exact.path(exact.factor(x, y[:, None]), [0.0]).at(0).predict(x)[:, 0]
    gram = ridge_path(of_rows(x, y[:, None]), [0.0]).at(0).predict(x)[:, 0]
    assert np.abs(factor - truth).max() < 1e-12
    assert np.abs(gram - truth).max() > 1e-10


def test_factors_add_up() -> None:
    """Pieces of any length, shorter than their columns too; the sum solves the whole, and judges it."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 7)) + 2, rng.normal(size=(60, 3))
    pieces = [slice(0, 3), slice(3, 4), slice(4, 40), slice(40, 60)]
    summed = splits.total([exact.factor(x[each], y[each]) for each in pieces])
    whole = exact.factor(x, y)
    assert summed.count == whole.count == 60
    ridges = [0.0, 0.1, 10.0]
    one, other = exact.path(summed, ridges), exact.path(whole, ridges)
    np.testing.assert_allclose(one.coef, other.coef, rtol=0, atol=1e-13)
    np.testing.assert_allclose(one.intercept, other.intercept, rtol=0, atol=1e-13)
    gram = ridge_path(of_rows(x, y), ridges)
    np.testing.assert_allclose(one.coef, gram.coef, rtol=0, atol=1e-12)
    np.testing.assert_allclose(one.intercept, gram.intercept, rtol=0, atol=1e-12)
    by_hand = ((one.predict(x) - y) ** 2).mean(axis=1)
    np.testing.assert_allclose(exact.path_squares(summed, whole, np.array(ridges) / summed.unit) / 60, by_hand, rtol=1e-12)


def test_the_choice_is_that_of_statistics_where_both_can_see() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(50, 12)), rng.normal(size=(50, 2)) * [1.0, 30.0]
    y[:, 0] += x[:, 0]
    groups = np.array_split(np.arange(50), 5)
    factors: Any = [exact.factor(x[each], y[each]) for each in groups]
    statistics: Any = [of_rows(x[each], y[each]) for each in groups]
    path = 10.0 ** np.arange(-4, 4.0)
    folds = splits.in_turn(range(len(factors)))
    one = penalties.choose(splits.pairs(factors, folds), splits.total(factors), path, exact.path_squares)
    other = penalties.choose(splits.pairs(statistics, folds), splits.total(statistics), path)
    np.testing.assert_allclose(one.errors, other.errors, rtol=1e-9)
    assert one.unit == pytest.approx(other.unit, rel=1e-12)


def test_features_that_depend_on_each_other_have_the_least_norm() -> None:
    """A column twice, and more columns than rows."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(30, 4))
    twice, y = np.concatenate([x, x[:, :1]], axis=1), rng.normal(size=(30, 1))
    wide = rng.normal(size=(8, 20))
    for features, targets in ((twice, y), (wide, y[:8])):
        found = exact.path(exact.factor(features, targets), [0.0]).at(0)
        centred = features - features.mean(axis=0)
        least = np.linalg.pinv(centred, rcond=1e-12) @ (targets - targets.mean(axis=0))
        np.testing.assert_allclose(found.coef.T, least, rtol=0, atol=1e-10)
