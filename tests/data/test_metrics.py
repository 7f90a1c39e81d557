"""Normalised errors by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import echoscale as es
from echoscale import nmse, nrmse

Array = npt.NDArray[Any]


def noise(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(2, 3, shape)


def test_a_small_example_by_hand() -> None:
    """Errors 1, 0, 0, 2: mean square 5/4; variance of 1, 2, 3, 4: 5/4."""
    assert nmse([1, 2, 3, 4], [2, 2, 3, 6]) == pytest.approx(1, rel=1e-15)
    assert nmse([1, 2, 3, 4], [1, 2, 3, 5]) == pytest.approx(0.2, rel=1e-15)
    assert nrmse([1, 2, 3, 4], [1, 2, 3, 5]) == pytest.approx(np.sqrt(0.2), rel=1e-15)


@pytest.mark.parametrize("shape", [(50,), (50, 1), (50, 3), (4, 50, 3)], ids=str)
def test_errors_are_normalised_output_by_output_and_averaged(shape: tuple[int, ...]) -> None:
    y, guess = noise(*shape), noise(*shape, seed=1)
    columns = 1 if len(shape) == 1 else shape[-1]
    truth, said = y.reshape(-1, columns), guess.reshape(-1, columns)
    expected = [np.mean((said[:, j] - truth[:, j]) ** 2) / np.var(truth[:, j]) for j in range(columns)]
    assert nmse(y, guess) == pytest.approx(np.mean(expected), rel=1e-13)
    assert nrmse(y, guess) == pytest.approx(np.sqrt(np.mean(expected)), rel=1e-13)


def test_the_mean_scores_1_and_the_truth_0() -> None:
    y = noise(80, 2)
    assert nmse(y, np.broadcast_to(y.mean(axis=0), y.shape)) == pytest.approx(1, rel=1e-13)
    assert nrmse(y, np.broadcast_to(y.mean(axis=0), y.shape)) == pytest.approx(1, rel=1e-13)
    assert nmse(y, y) == nrmse(y, y) == 0


def test_errors_do_not_depend_on_the_unit_of_the_target() -> None:
    y, guess = noise(80), noise(80, seed=1)
    assert nrmse(1000 * y - 7, 1000 * guess - 7) == pytest.approx(nrmse(y, guess), rel=1e-12)


@pytest.mark.parametrize("columns", [(2,), ()], ids=["two outputs", "one axis each"])
def test_a_list_of_series_is_scored_as_one_long_series(columns: tuple[int, ...]) -> None:
    lengths = (30, 5, 17)
    y = [noise(length, *columns, seed=length) for length in lengths]
    guess = [noise(length, *columns, seed=length + 1) for length in lengths]
    assert nmse(y, guess) == pytest.approx(nmse(np.concatenate(y), np.concatenate(guess)), rel=1e-13)


def test_a_list_of_equally_long_series_of_one_axis_is_scored_as_one_long_series() -> None:
    y, guess = noise(3, 20), noise(3, 20, seed=1)
    assert nmse(list(y), list(guess)) == pytest.approx(nmse(y.ravel(), guess.ravel()), rel=1e-13)


def test_a_column_and_one_axis_are_the_same_target() -> None:
    y, guess = noise(30), noise(30, seed=1)
    assert nmse(y[:, None], guess) == nmse(y, guess[:, None]) == nmse(y, guess)


@pytest.mark.parametrize("function", [nmse, nrmse])
@pytest.mark.parametrize(("value", "length"), [(0.0, 10), (2.0, 10), (0.1, 3), (1 / 3, 100), (1e6 + 0.1, 7)])
def test_a_constant_target_is_refused(function: Any, value: float, length: int) -> None:
    """Also where rounding of the mean leaves a variance that is not quite 0."""
    with pytest.raises(ValueError, match="y is constant: its variance is 0"):
        function(np.full(length, value), np.zeros(length))


def test_one_constant_output_among_others_is_refused() -> None:
    y = noise(20, 2)
    y[:, 1] = 0.1
    with pytest.raises(ValueError, match="y is constant"):
        nmse(y, noise(20, 2))


def test_a_tiny_but_honest_spread_is_not_mistaken_for_a_constant() -> None:
    y = 1e-9 * noise(30)
    assert nmse(y, np.full(30, y.mean())) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize(
    ("y", "guess"),
    [
        (noise(10), noise(9)),
        (noise(10, 2), noise(10)),
        (noise(2, 5, 1), noise(3, 5, 1)),
        (noise(2, 6, 1), noise(3, 4, 1)),
        ([noise(3, 1), noise(5, 1)], [noise(5, 1), noise(3, 1)]),
    ],
    ids=["steps", "outputs", "series", "same total", "same total in a list"],
)
def test_shapes_must_agree(y: Any, guess: Any) -> None:
    """Series by series: equal totals would pair steps that have nothing to do with one another."""
    with pytest.raises(ValueError, match=r"must have the same (shape|length)"):
        nmse(y, guess)


@pytest.mark.parametrize(
    ("y", "guess", "message"),
    [
        ([0.0, 1.0, np.nan], [0.0, 1.0, 2.0], r"y must be finite, found NaN at step 2"),
        ([0.0, 1.0, 2.0], [0.0, np.inf, 2.0], r"y_hat must be finite, found inf at step 1"),
        ([], [], r"y is empty"),
    ],
)
def test_bad_values_are_named(y: Any, guess: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        nmse(y, guess)


def test_valid_time_is_that_of_a_loop() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(4, 50, 3)) * [1.0, 10.0, 0.1]
    guess = truth + np.cumsum(rng.normal(size=truth.shape) * [0.05, 0.5, 0.005], axis=1)
    spread = truth.reshape(-1, 3).std(axis=0)
    expected = []
    for b in range(4):
        t = 0
        while t < 50 and np.sqrt(np.mean([((guess[b, t, o] - truth[b, t, o]) / spread[o]) ** 2 for o in range(3)])) <= 0.3:
            t += 1
        expected.append(t)
    assert 0 < min(expected) < max(expected) < 50
    found = es.valid_time(truth, guess, threshold=0.3)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(es.valid_time(truth, guess, threshold=0.3, dt=0.02, lyapunov=0.9), np.array(expected) * 0.018)
    np.testing.assert_array_equal(es.valid_time(list(truth), list(guess), threshold=0.3, spread=spread), expected)
    assert [es.valid_time(*pair, threshold=0.3, spread=spread) for pair in zip(truth, guess, strict=True)] == expected


def test_valid_time_at_its_ends() -> None:
    truth = np.sin(np.arange(20.0))
    assert es.valid_time(truth, truth) == 20
    assert es.valid_time(truth, truth + 1) == 0
    for wrong in (np.nan, np.inf):
        assert es.valid_time(truth, np.where(np.arange(20) >= 7, wrong, truth)) == 7
    # Once lost is lost: a forecast that comes back by chance does not count.
    assert es.valid_time(truth, np.where(np.arange(20) == 5, 9, truth)) == 5
    uneven = es.valid_time([truth[:, None], truth[:9, None]], [truth[:, None], truth[:9, None] + 1])
    np.testing.assert_array_equal(uneven, [20, 0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: es.valid_time(np.ones(5), np.ones(5)), "standard deviation of an output is 0"),
        (lambda: es.valid_time(np.arange(5.0), np.ones(4)), "the same shape"),
        (lambda: es.valid_time(np.arange(5.0), np.ones(5), spread=[1, 2]), "spread must be one number"),
        (lambda: es.valid_time([1.0, np.nan], [1.0, 1.0]), "y must be finite"),
        (lambda: es.valid_time(np.arange(5.0), np.ones(5), threshold=-1), "threshold"),
    ],
)
def test_valid_time_says_what_is_wrong(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("value", [0.1, 1e-300, -7.3e12])
def test_what_varies_by_rounding_alone_is_constant(value: float) -> None:
    y = np.full(1000, value)
    y[::2] = np.nextafter(value, 1e300)
    with pytest.raises(ValueError, match="y is constant"):
        nrmse(y, np.zeros(1000))
    assert np.isfinite(nrmse(y + np.arange(1000) * abs(value) * 1e-12, np.zeros(1000)))
