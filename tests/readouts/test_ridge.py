"""Ridge solutions against scikit-learn and least squares; errors from statistics against errors of predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.linear_model import Ridge

import echoscale as es
from echoscale.readouts.ridge import mean_squared_errors, normalised_errors, ridge, turned
from echoscale.readouts.statistics import of_rows

Array = npt.NDArray[Any]

PENALTIES = [0.0, 1e-3, 0.5, 10.0, 1e4]
OUTPUTS = pytest.mark.parametrize("outputs", [1, 3])
BAD_PENALTIES: list[tuple[Any, type[Exception], str]] = [
    (-1.0, ValueError, "ridge must not be negative, got -1"),
    (float("nan"), ValueError, "ridge must be finite, got nan"),
    (float("inf"), ValueError, "ridge must be finite, got inf"),
    (None, TypeError, "ridge must be a number, got None"),
    ("strong", TypeError, "ridge must be a number, got 'strong'"),
]


def regression(seed: int = 0, outputs: int = 2, rows: int = 80, noise: float = 0.5, offset: float = 3.0) -> tuple[Array, Array]:
    """Well-conditioned features (rows, 6) with an offset, and noisy linear targets (rows, outputs)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(offset, 1, (rows, 6)) * np.linspace(0.5, 2, 6)
    return X, X @ np.random.default_rng(99).normal(size=(6, outputs)) - 5 + noise * rng.normal(size=(rows, outputs))


def lanes_of(parts: list[es.readouts.Statistics]) -> es.readouts.Statistics:
    """One statistic per lane along a leading axis."""
    count, mean, scatter = (np.stack([getattr(part, name) for part in parts]) for name in ("count", "mean", "scatter"))
    return es.readouts.Statistics(count, mean, scatter, features=parts[0].features)


def assert_ridge(coef: Array, intercept: Array, X: Array, y: Array, penalty: float) -> None:
    """Coefficients and intercepts are those of scikit-learn."""
    oracle = Ridge(alpha=penalty, solver="svd").fit(X, y)
    np.testing.assert_allclose(coef, np.atleast_2d(oracle.coef_), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(intercept, np.broadcast_to(oracle.intercept_, intercept.shape), rtol=1e-8, atol=1e-10)


@OUTPUTS
@pytest.mark.parametrize("penalty", PENALTIES)
def test_ridge_is_that_of_scikit_learn(penalty: float, outputs: int) -> None:
    X, y = regression(outputs=outputs)
    found = es.readouts.ridge(of_rows(X, y), penalty)
    assert found.coef.shape == (outputs, 6)
    assert found.ridge == penalty
    assert_ridge(found.coef, found.intercept, X, y, penalty)


def test_ridge_does_not_mind_offsets_far_from_zero() -> None:
    X, y = regression(offset=1e4)
    found = es.readouts.ridge(of_rows(X, y), 0.5)
    assert_ridge(found.coef, found.intercept, X, y, 0.5)


@OUTPUTS
def test_every_penalty_of_the_path_is_that_of_scikit_learn(outputs: int) -> None:
    X, y = regression(outputs=outputs)
    path = es.readouts.ridge_path(of_rows(X, y), PENALTIES)
    np.testing.assert_array_equal(path.ridge, PENALTIES)
    for k, penalty in enumerate(PENALTIES):
        assert_ridge(path.coef[k], path.at(k).intercept, X, y, penalty)


@OUTPUTS
def test_every_lane_is_solved_by_itself(outputs: int) -> None:
    """Path first, then lanes."""
    sets = [regression(seed, outputs) for seed in range(4)]
    lanes = lanes_of([of_rows(*each) for each in sets])
    path = es.readouts.ridge_path(lanes, PENALTIES)
    assert path.coef.shape == (len(PENALTIES), 4, outputs, 6)
    for k, penalty in enumerate(PENALTIES):
        one = es.readouts.ridge(lanes, penalty)
        for lane, (X, y) in enumerate(sets):
            assert path.ridge[k, lane] == penalty
            assert_ridge(path.coef[k, lane], path.intercept[k, lane], X, y, penalty)
            assert_ridge(one.coef[lane], one.intercept[lane], X, y, penalty)


@pytest.mark.parametrize("penalties", [(1e-3, 0.5, 2.0, 30.0), (1e-3, 0.0, 2.0, 0.0)], ids=["all", "some without"])
def test_every_lane_may_have_a_penalty_of_its_own(penalties: tuple[float, ...]) -> None:
    sets = [regression(seed, 2) for seed in range(4)]
    found = es.readouts.ridge(lanes_of([of_rows(*each) for each in sets]), np.array(penalties))
    np.testing.assert_array_equal(found.ridge, penalties)
    for lane, ((X, y), penalty) in enumerate(zip(sets, penalties, strict=True)):
        assert_ridge(found.coef[lane], found.intercept[lane], X, y, penalty)
    with pytest.raises(ValueError, match=r"ridge has shape \(3,\), the lanes have \(4,\)"):
        es.readouts.ridge(lanes_of([of_rows(*each) for each in sets]), np.ones(3))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shape", ["dependent columns", "fewer rows than columns", "a column of zeros"])
def test_no_penalty_on_singular_data_gives_the_minimum_norm_solution(shape: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(5 if shape.startswith("fewer") else 50, 8)), rng.normal(size=(50, 2))
    y = y[: len(X)]
    if shape == "dependent columns":
        X[:, 6:] = X[:, :6] @ rng.normal(size=(6, 2))
    elif shape == "a column of zeros":
        X[:, 3] = 0
    expected = np.linalg.lstsq(X - X.mean(axis=0), y - y.mean(axis=0), rcond=None)[0].T
    statistics = of_rows(X, y)
    for found in (
        es.readouts.ridge_path(statistics, [0.0, 1.0]).at(0),
        es.readouts.ridge(statistics, 0),
    ):
        np.testing.assert_allclose(found.coef, expected, rtol=1e-8, atol=1e-10)


def deficient(kind: str, seed: int) -> tuple[Array, Array]:
    """Rows (40, 8) whose Gram matrix has not full rank, about a mean that is not zero."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(1, 1, size=(40, 8)), rng.normal(size=(40, 2))
    if kind == "copies":
        X[:, 4:] = X[:, :4]
    elif kind == "sums":
        X[:, 5:] = X[:, :5] @ rng.normal(size=(5, 3))
    elif kind == "constants":
        X[:, 2], X[:, 6] = 0, 3
    return X, y


@pytest.mark.parametrize("kind", ["copies", "sums", "constants"])
def test_a_penalty_makes_singular_data_determined(kind: str) -> None:
    """As a path and one by one, in lanes beside data of full rank. What rounding leaves is eps |S| / penalty, 1e-10 at most."""
    penalties = [1e-4, 1e-2, 1.0, 100.0]
    sets = [deficient(kind, 0), deficient("sound", 1), deficient(kind, 2)]
    assert [np.linalg.matrix_rank(X - X.mean(axis=0)) < 8 for X, _ in sets] == [True, False, True]
    lanes = lanes_of([of_rows(*each) for each in sets])
    path = es.readouts.ridge_path(lanes, penalties)
    for k, penalty in enumerate(penalties):
        one = es.readouts.ridge(lanes, penalty)
        for lane, (X, y) in enumerate(sets):
            oracle = Ridge(alpha=penalty, solver="svd").fit(X, y)
            for found in (path.at((k, lane)), one.at(lane)):
                np.testing.assert_allclose(found.coef, oracle.coef_, rtol=1e-8, atol=1e-9)
                np.testing.assert_allclose(found.predict(X), oracle.predict(X), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("direct", [False, True], ids=["states", "states and inputs"])
@pytest.mark.parametrize("kind", ["one", "batch", "list"])
def test_readouts_of_runs_are_those_of_scikit_learn_on_the_states(kind: str, direct: bool) -> None:
    """A whole path from statistics that were gathered chunk by chunk, without any state kept."""
    rng = np.random.default_rng(5)
    lengths = {"one": (90,), "batch": (90, 90, 90), "list": (70, 90, 55)}[kind]
    u, y = ([rng.normal(size=(n, 2)) for n in lengths] for _ in range(2))
    esn = es.hierarchical([9, 7], leak_rate=[0.8, 0.3], input_scaling=0.5, bias_scaling=0.2).build(2, seed=0, dtype="float64")
    rows = [np.hstack([esn.run(each), each]) if direct else esn.run(each) for each in u]
    X, wanted = (np.concatenate([each[20:] for each in parts]) for parts in (rows, y))
    given = (u[0], y[0]) if kind == "one" else (np.stack(u), np.stack(y)) if kind == "batch" else (u, y)
    path = es.readouts.ridge_path(es.readouts.statistics(esn, *given, washout=20, direct=direct), PENALTIES[1:])
    for k, penalty in enumerate(PENALTIES[1:]):
        oracle = Ridge(alpha=penalty, solver="svd").fit(X, wanted)
        np.testing.assert_allclose(path.at(k).coef, oracle.coef_, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(path.at(k).intercept, np.broadcast_to(oracle.intercept_, 2), rtol=1e-8, atol=1e-9)


def test_errors_from_statistics_are_those_of_the_predictions() -> None:
    """On the training data and on other data, for one readout, a path, and lanes."""
    sets, others = [regression(seed) for seed in (0, 1)], [regression(seed, rows=33) for seed in (2, 3)]
    path = es.readouts.ridge_path(lanes_of([of_rows(*each) for each in sets]), PENALTIES)
    for held_out in (sets, others):
        statistics = lanes_of([of_rows(*each) for each in held_out])
        squared, normalised = mean_squared_errors(path, statistics), normalised_errors(path, statistics)
        for k in range(len(PENALTIES)):
            for lane, (X, y) in enumerate(held_out):
                readout = path.at((k, lane))
                guess = X @ readout.coef.T + readout.intercept
                error = ((guess - y) ** 2).mean(axis=0)
                nrmse = np.sqrt((error / y.var(axis=0)).mean())
                one = statistics.lane(lane)
                np.testing.assert_allclose(readout.predict(X), guess, rtol=1e-12)
                np.testing.assert_allclose(squared[k, lane], error, rtol=1e-8)
                np.testing.assert_allclose(normalised[k, lane], nrmse, rtol=1e-8)
                np.testing.assert_allclose(es.nrmse(y, guess), nrmse, rtol=1e-8)
                np.testing.assert_allclose(mean_squared_errors(readout, one), error, rtol=1e-8)


def test_errors_are_not_normalised_by_a_constant_target() -> None:
    X, y = regression()
    y[:, 1] = 2.0
    with pytest.raises(ValueError, match="target is constant"):
        normalised_errors(es.readouts.ridge(of_rows(X, y), 1.0), of_rows(X, y))


@pytest.mark.parametrize(("penalty", "error", "message"), BAD_PENALTIES)
def test_bad_penalties_are_named(penalty: Any, error: type[Exception], message: str) -> None:
    statistics = of_rows(*regression())
    with pytest.raises(error, match=message):
        es.readouts.ridge(statistics, penalty)
    with pytest.raises(error, match=message):
        es.readouts.ridge_path(statistics, [penalty, 1.0])


def test_an_empty_list_of_penalties_is_named() -> None:
    statistics = of_rows(*regression())
    with pytest.raises(ValueError, match="ridge is an empty list: give at least one"):
        es.readouts.ridge_path(statistics, [])


@pytest.mark.parametrize(("rows", "features"), [(12, 200), (12, 12), (50, 7)])
def test_rows_that_were_turned_have_the_solution_of_the_rows(rows: int, features: int) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(rows, features)), rng.normal(size=(rows, 2))
    x -= x.mean(axis=0)
    work = turned(x)
    assert work.rows.shape == (rows, min(rows, features))
    np.testing.assert_allclose(work.rows @ work.rows.T, x @ x.T, atol=1e-10)
    found, expected = work.back(ridge(of_rows(work.rows, y), 0.7)), Ridge(alpha=0.7).fit(x, y)
    np.testing.assert_allclose(found.coef, expected.coef_, atol=1e-10)
    np.testing.assert_allclose(found.intercept, expected.intercept_, atol=1e-10)
