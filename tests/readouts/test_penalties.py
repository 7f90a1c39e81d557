"""Relative penalties and their choice by folds, against ridge regression written out with rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from echoscale.readouts import penalties, splits
from echoscale.readouts.statistics import Statistics, of_rows

Floats = npt.NDArray[np.float64]


def in_turn(found: list[Statistics]) -> penalties.Pairs:
    return splits.pairs(found, splits.in_turn(range(len(found))))


PATH = 10.0 ** np.arange(-6, 3.0)


def rows(seed: int = 0, count: int = 120, noise: float = 1.0) -> tuple[Floats, Floats]:
    """Features of very different sizes, about means of their own, and two targets of different sizes."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 8)) * np.geomspace(3, 1e-2, 8) + rng.normal(size=8)
    y = x @ rng.normal(size=(8, 2)) + noise * rng.normal(size=(count, 2))
    return x, y * [1.0, 50.0] + [3.0, -200.0]


def solved(x: Floats, y: Floats, relative: float) -> tuple[Floats, Floats]:
    """Least squares with rows sqrt(ridge) I below: ridge = relative times the mean squared singular value."""
    means = x.mean(axis=0), y.mean(axis=0)
    moved = x - means[0]
    ridge = relative * (np.linalg.svd(moved, compute_uv=False) ** 2).mean()
    coef = np.linalg.lstsq(
        np.concatenate([moved, np.sqrt(ridge) * np.eye(8)]), np.concatenate([y - means[1], np.zeros((8, 2))]), rcond=None
    )[0]
    return coef, means[1] - means[0] @ coef


def parts(x: Floats, y: Floats, count: int = 4) -> tuple[list[Statistics], list[npt.NDArray[np.int64]]]:
    groups = np.array_split(np.arange(len(x)), count)
    return [of_rows(x[each], y[each]) for each in groups], groups


def test_errors_of_folds_are_those_of_predictions() -> None:
    x, y = rows()
    found, groups = parts(x, y)
    pairs = in_turn(found)
    errors = penalties.fold_errors(pairs, PATH)
    for k, relative in enumerate(PATH):
        squares = np.zeros(2)
        for group in groups:
            others = np.setdiff1d(np.arange(len(x)), group)
            coef, intercept = solved(x[others], y[others], relative)
            squares += ((x[group] @ coef + intercept - y[group]) ** 2).sum(axis=0)
        np.testing.assert_allclose(errors[k], squares / len(x) / y.var(axis=0), rtol=1e-8)
    curve = penalties.choose(pairs, splits.total(found), PATH)
    np.testing.assert_allclose(curve.errors, np.sqrt(errors.mean(axis=-1)))
    assert curve.unit == pytest.approx((np.linalg.svd(x - x.mean(axis=0), compute_uv=False) ** 2).mean())
    assert curve.ridge == pytest.approx(PATH[np.argmin(curve.errors)] * curve.unit)


def test_lanes_are_judged_one_by_one() -> None:
    """Three networks at once: features of three sizes, of which relative penalties know nothing."""
    x, y = rows()
    sizes = [1.0, 10.0, 1e-3]
    each = [parts(x * size, y)[0] for size in sizes]
    stacked = [
        Statistics(np.stack([s.count for s in some]), np.stack([s.mean for s in some]), np.stack([s.scatter for s in some]), 8)
        for some in zip(*each, strict=True)
    ]
    errors = penalties.fold_errors(in_turn(stacked), PATH)
    assert errors.shape == (len(PATH), 3, 2)
    for lane in range(3):
        alone = penalties.fold_errors(in_turn(each[lane]), PATH)
        np.testing.assert_allclose(errors[:, lane], alone, rtol=1e-7)
        np.testing.assert_allclose(alone, errors[:, 0], rtol=1e-6)


@pytest.mark.parametrize("factor", [1e-4, 1e4])
def test_units_of_features_and_targets_change_no_choice(factor: float) -> None:
    x, y = rows()
    (one, _), (other, _) = parts(x, y), parts(factor * x + 7, y / factor - 3)
    first, second = (penalties.choose(in_turn(each), splits.total(each)) for each in (one, other))
    np.testing.assert_allclose(second.errors, first.errors, rtol=1e-6)
    assert second.place == first.place
    assert second.unit == pytest.approx(first.unit * factor**2, rel=1e-9)


def test_more_noise_asks_for_a_larger_penalty() -> None:
    """Thirty rows of eight features: from hardly any noise to hardly anything else."""
    chosen = []
    for noise in (1e-4, 1.0, 100.0):
        found, _ = parts(*rows(count=30, noise=noise))
        chosen.append(penalties.choose(in_turn(found), splits.total(found)).place)
    assert chosen == sorted(chosen)
    assert chosen[0] < chosen[-1]


def test_what_a_user_gave_is_decided() -> None:
    x, y = rows()
    found, _ = parts(x, y)
    pairs, whole = in_turn(found), splits.total(found)
    assert penalties.decide(np.array([0.3]), pairs, whole) == (0.3, None)
    ridge, curve = penalties.decide(None, pairs, whole)
    assert curve is not None
    assert ridge == curve.ridge
    listed = np.array([1e-3, 1.0, 1e3])
    ridge, curve = penalties.decide(listed, pairs, whole)
    assert curve is not None
    assert ridge in listed.tolist()
    np.testing.assert_allclose(curve.relative * curve.unit, listed)
    ridge, curve = penalties.decide(None, [], whole)
    assert curve is None
    assert ridge == pytest.approx(1e-4 * whole.unit)
    with pytest.raises(ValueError, match="ridge holds 3 penalties, but there is too little data to choose by: give one"):
        penalties.decide(listed, [], whole)


@pytest.mark.parametrize(
    ("ridge", "error", "message"),
    [
        ("Auto", ValueError, "ridge must be 'auto', a number or a list of numbers, got 'Auto'"),
        (-1.0, ValueError, "ridge must not be negative"),
        ([], ValueError, "empty list"),
        (None, TypeError, "must be a number, got None"),
    ],
)
def test_bad_penalties_are_named(ridge: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        penalties.check(ridge)


def test_a_curve_is_printed_and_drawn() -> None:
    """With plain least squares at its lower end, which a logarithmic axis does not have."""
    curve = penalties.RidgeCurve(np.array([0.0, 1e-3, 1.0]), np.array([0.5, 0.2, np.nan]), 10.0)
    assert curve.ridge == pytest.approx(1e-2)
    assert "0.01" in repr(curve)
    axes = curve.plot()
    line, dot = (np.asarray(each.get_xydata()) for each in axes.get_lines())
    np.testing.assert_allclose(line[:, 0], [1e-2 / 10**0.5, 1e-2, 10.0])
    np.testing.assert_allclose(dot, [[1e-2, 0.2]])
    legend = axes.get_legend()
    assert legend is not None
    assert "0.01" in legend.get_texts()[0].get_text()


def test_features_that_never_move_have_a_unit() -> None:
    still = of_rows(np.ones((5, 2)), np.arange(5.0)[:, None])
    assert still.unit == 1.0
    curve = penalties.choose([(still, still)], still)
    assert np.isfinite(curve.errors).all()
