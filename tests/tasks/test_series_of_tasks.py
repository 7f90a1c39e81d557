"""NARMA against its published formula, its memory, and its behaviour where the recursion runs away."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from echoscale.tasks import narma

Floats = npt.NDArray[np.float64]


def assert_recursion(
    u: Floats,
    y: Floats,
    D: int,
    a: float = 0.3,
    b: float = 0.05,
    c: float = 1.5,
    d: float = 0.1,
    outer: Callable[[float], float] = float,
) -> None:
    """y_n = outer(a y_{n-1} + b y_{n-1} sum_{k=1..D} y_{n-k} + c s_{n-1} s_{n-D} + d) at every n >= D, and 0 before."""
    assert u.shape == y.shape == (len(u), 1)
    assert not y[:D].any()
    for n in range(D, len(y)):
        past = 0.0
        for k in range(1, D + 1):
            past += y[n - k, 0]
        expected = a * y[n - 1, 0] + b * y[n - 1, 0] * past + c * u[n - 1, 0] * u[n - D, 0] + d
        assert y[n, 0] == pytest.approx(outer(expected), rel=1e-12)


def first_draw(length: int, seed: int) -> Floats:
    """The inputs of a series that never ran away."""
    return np.random.default_rng(seed).uniform(0, 0.5, (length, 1))


@pytest.mark.parametrize("order", [1, 2, 5, 10, 12])
def test_narma_is_its_formula(order: int) -> None:
    u, y = narma(400, order, seed=order)
    assert_recursion(u, y, order)
    assert y[order:].all()


def test_other_coefficients() -> None:
    u, y = narma(400, 7, seed=1, a=0.2, b=0.04, c=1.1, d=0.3)
    assert_recursion(u, y, 7, a=0.2, b=0.04, c=1.1, d=0.3)


def test_a_series_shorter_than_its_order_has_not_begun() -> None:
    u, y = narma(5, order=10)
    assert u.shape == y.shape == (5, 1)
    assert not y.any()
    assert u.all()


def test_inputs_are_uniform_up_to_one_half() -> None:
    u, _ = narma(20_000)
    assert u.min() >= 0
    assert u.max() <= 0.5
    assert u.mean() == pytest.approx(0.25, abs=4 * 0.5 / np.sqrt(12 * 20_000))
    assert u.var() == pytest.approx(0.25 / 12, rel=0.03)


def test_seeds() -> None:
    np.testing.assert_array_equal(narma(300, seed=3), narma(300, seed=3))
    assert (narma(300, seed=3)[0] != narma(300, seed=4)[0]).all()
    np.testing.assert_array_equal(narma(300, 5, seed=3)[0], narma(300, 10, seed=3)[0])


def test_seed_0_gives_the_pinned_series() -> None:
    u, y = narma(14)
    assert u[:3, 0].tolist() == [0.31848084366072715, 0.13489335688193516, 0.020486761968097345]
    assert y[-1, 0] == pytest.approx(0.17134120617521756, rel=1e-14)


@pytest.mark.parametrize(("order", "lag", "height"), [(10, 9, 0.54), (5, 4, 0.48)])
def test_the_autocorrelation_peaks_one_step_before_the_order(order: int, lag: int, height: float) -> None:
    """Beyond the short memory of lag 1, the product s_{n-1} s_{n-D} ties y_n to y_{n-D+1}."""
    y = narma(50_000, order)[1][200:, 0]
    y = (y - y.mean()) / y.std()
    correlation = [float(np.mean(y[k:] * y[: len(y) - k])) for k in range(31)]
    assert int(np.argmax(correlation[2:])) + 2 == lag
    assert correlation[lag] == pytest.approx(height, abs=0.04)


@pytest.mark.parametrize(("b", "length", "seed"), [(0.052, 3000, 0), (0.054, 5000, 1), (0.055, 3000, 2)])
def test_a_series_that_runs_away_is_drawn_again(b: float, length: int, seed: int) -> None:
    """Some inputs were replaced, the beginning was not, and the formula still holds at every step."""
    u, y = narma(length, seed=seed, b=b)
    replaced = np.flatnonzero((u != first_draw(length, seed)).any(axis=1))
    assert len(replaced) > 0
    assert replaced[0] > 10
    assert abs(y).max() < 2
    assert u.min() >= 0
    assert u.max() <= 0.5
    assert_recursion(u, y, 10, b=b)


def test_a_series_that_does_not_run_away_keeps_its_first_draw() -> None:
    np.testing.assert_array_equal(narma(2000, 5, seed=9)[0], first_draw(2000, 9))


@pytest.mark.parametrize("length", range(9190, 9211))
def test_a_series_does_not_end_on_its_way_to_infinity(length: int) -> None:
    """The first draw of seed 4 runs away shortly after step 9200: cut there, it would end with a few values far too large."""
    u, y = narma(length, seed=4)
    assert y.max() < 1.5
    replaced = np.flatnonzero((u != first_draw(length, 4)).any(axis=1))
    assert replaced[0] > 9000
    shorter = narma(9000, seed=4)
    np.testing.assert_array_equal(shorter[0], first_draw(9000, 4))
    np.testing.assert_array_equal(u[:9000], shorter[0])
    np.testing.assert_array_equal(y[:9000], shorter[1])


@pytest.mark.parametrize("seed", range(5))
def test_looking_past_the_end_leaves_a_bounded_series_alone(seed: int) -> None:
    """What is drawn for the look ahead comes from another generator: lengths share their inputs and their outputs."""
    u, y = narma(3000, seed=seed)
    np.testing.assert_array_equal(u, first_draw(3000, seed))
    for length in (11, 700, 2999):
        np.testing.assert_array_equal(narma(length, seed=seed), (u[:length], y[:length]))


@pytest.mark.parametrize(("b", "length", "seed"), [(0.054, 20_000, 0), (0.055, 20_000, 1)])
def test_a_long_series_may_run_away_many_times(b: float, length: int, seed: int) -> None:
    """Each divergence is one of its own: nothing says that the recursion diverges whatever the input."""
    u, y = narma(length, seed=seed, b=b)
    assert abs(y).max() < 2
    assert_recursion(u, y, 10, b=b)


@pytest.mark.parametrize(("order", "b"), [(10, 5.0), (20, 0.05)])
def test_a_hopeless_recursion_is_refused(order: int, b: float) -> None:
    """NARMA20 has no fixed point at the mean input: 20 b y^2 - 0.7 y + 0.1 + 1.5 / 16 = 0 has no real root."""
    with pytest.raises(ValueError, match=rf"order={order}.*b={b}.*diverges.*lower b or c"):
        narma(500, order, b=b)


@pytest.mark.parametrize(
    ("order", "numbers"),
    [(20, {"d": 0.01}), (20, {}), (10, {}), (30, {"a": 0.2, "b": 0.04, "c": 1.1, "d": 0.3}), (3, {"b": 5.0, "a": -3.0})],
    ids=str,
)
def test_saturated_narma_is_its_formula(order: int, numbers: dict[str, float]) -> None:
    """tanh around all of the right side, the constant included, and never a new draw."""
    u, y = narma(1500, order, seed=order, saturate=True, **numbers)
    assert_recursion(u, y, order, outer=math.tanh, **numbers)
    np.testing.assert_array_equal(u, first_draw(1500, order))


def test_saturated_narma20_lives_for_long() -> None:
    """Around the lower root of y = tanh(0.3 y + y^2 + 1.5 / 16 + 0.01), far from where tanh is flat."""
    u, y = narma(100_000, 20, saturate=True, d=0.01)
    np.testing.assert_array_equal(u, first_draw(100_000, 0))
    assert y[20:].min() >= math.tanh(0.01)
    assert y.max() < 1
    root = 0.2
    for _ in range(200):
        root = math.tanh(0.3 * root + root**2 + 1.5 / 16 + 0.01)
    assert y[200:].mean() == pytest.approx(root, rel=0.15)
    assert y[200:].std() > 0.02


def test_saturation_is_off_by_default() -> None:
    np.testing.assert_array_equal(narma(500, seed=2), narma(500, seed=2, saturate=False))
    assert (narma(500, seed=2)[1][10:] != narma(500, seed=2, saturate=True)[1][10:]).all()


def test_a_refusal_names_the_way_to_order_20() -> None:
    with pytest.raises(ValueError, match=r"order=20, a=0\.3, b=0\.05, c=1\.5, d=0\.1 .*saturate=True.*d=0\.01"):
        narma(500, 20)


@pytest.mark.parametrize("numbers", [{"b": -5.0}, {"a": -3.0}, {"d": -3.0, "b": 0.5}], ids=str)
def test_a_recursion_that_runs_away_downwards_is_refused_too(numbers: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"diverges"):
        narma(500, **numbers)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"length": 0}, ValueError, r"length must be at least 1, got 0"),
        ({"length": 10.0}, TypeError, r"length must be a whole number, got 10\.0"),
        ({"length": 10, "order": 0}, ValueError, r"order must be at least 1, got 0"),
        ({"length": 10, "order": 2.5}, TypeError, r"order must be a whole number, got 2\.5"),
        ({"length": 10, "seed": -1}, ValueError, r"seed must be at least 0, got -1"),
        ({"length": 10, "seed": None}, TypeError, r"seed must be a whole number, got None"),
        ({"length": 10, "a": "0.3"}, TypeError, r"a must be a number, got '0\.3'"),
        ({"length": 10, "b": float("nan")}, ValueError, r"b must be finite, got nan"),
        ({"length": 10, "c": float("inf")}, ValueError, r"c must be finite, got inf"),
        ({"length": 10, "d": None}, TypeError, r"d must be a number, got None"),
        ({"length": 10, "saturate": 1}, TypeError, r"saturate must be True or False, got 1"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        narma(**arguments)
