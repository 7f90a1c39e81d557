"""How far back a target reaches: known memories, closed forms of the error, ridge regression by other means."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from echoscale.tasks import narma
from echoscale.timescales import Memory, memory, of_signal
from echoscale.timescales.memory import PENALTIES

Floats = npt.NDArray[np.float64]


def noise(steps: int, features: int = 1, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).standard_normal((steps, features))


def delayed(u: Floats, k: int) -> Floats:
    """u(t - k), zero before the series begins."""
    return np.concatenate([np.zeros_like(u[:k]), u[: len(u) - k]])


def window_before(found: Memory) -> int:
    """The place of the longest window that does not suffice."""
    return found.place - 1


@pytest.mark.parametrize("k", [0, 1, 2, 3, 5, 7, 11, 15, 23])
def test_a_delay_needs_a_window_of_one_step_more(k: int) -> None:
    u = noise(1500, seed=k)
    found = memory(u, delayed(u, k), longest=32)
    assert k + 1 in found.windows
    assert found.steps == k + 1
    assert found.linear[found.place] < 1e-6
    assert found.nonlinear[found.place] < 1e-6
    shorter = found.windows < k + 1
    np.testing.assert_allclose(found.linear[shorter], 1, atol=0.15)
    assert (found.linear[~shorter] < 1e-6).all()


@pytest.mark.parametrize("k", [8, 17, 29])
def test_between_two_windows_the_longer_one_is_taken(k: int) -> None:
    u = noise(1500, seed=k)
    found = memory(u, delayed(u, k), longest=32)
    assert found.steps == found.windows[found.windows > k].min()


def test_the_linear_error_is_what_the_missing_taps_leave() -> None:
    """y = sum_k h_k u(t - k) + s noise with white u: error(L)^2 = (sum_{k >= L} h_k^2 + s^2) / (sum_k h_k^2 + s^2)."""
    taps, s = np.array([0.2, 1.0, 0.0, -0.7, 0.5, 0.3]), 0.2
    u = noise(7000, seed=1)
    y = sum(h * delayed(u, k) for k, h in enumerate(taps)) + s * noise(7000, seed=2)
    found = memory(u, y, longest=10)
    power = (taps**2).sum() + s**2
    for window, error in zip(found.windows, found.linear, strict=True):
        # Relative error of a variance estimated from a quarter of the steps, which the taps correlate: 4 of about 5 %.
        assert error**2 == pytest.approx(((taps[window:] ** 2).sum() + s**2) / power, rel=0.2)
    assert found.steps == 6
    # Nothing nonlinear is there to be found.
    np.testing.assert_allclose(found.nonlinear, found.linear, rtol=0.02)


@pytest.mark.parametrize("k", [3, 4, 5, 6])
def test_a_product_is_found_where_the_linear_filter_sees_nothing(k: int) -> None:
    """y(t) = u(t - 1) u(t - k) is uncorrelated with both of its factors."""
    u = noise(4000, seed=k)
    y = delayed(u, 1) * delayed(u, k)
    assert not of_signal(u, y, lags=10).significant_cross.any()
    found = memory(u, y, longest=8)
    np.testing.assert_allclose(found.linear, 1, atol=0.15)
    assert found.steps == k + 1
    assert found.nonlinear[window_before(found)] > 0.85
    assert found.nonlinear[found.place] < 0.25


def test_a_square_of_the_present_input_needs_no_memory() -> None:
    u = noise(2000, seed=3)
    found = memory(u, u**2, longest=8)
    assert found.steps == 1
    assert found.linear[0] > 0.8
    assert found.nonlinear[0] < 0.1


def test_noise_is_predicted_by_no_window() -> None:
    found = memory(noise(3000, seed=4), noise(3000, seed=5), longest=32)
    for errors in (found.linear, found.nonlinear):
        # The root of a variance from 750 steps: four standard errors are 2 sqrt(2 / 750), and the fit costs a little.
        np.testing.assert_allclose(errors, 1, atol=2 * math.sqrt(2 / 750) + 0.03)
    assert found.steps == 1


def test_narma_needs_what_its_formula_reads() -> None:
    """y(t) reads u(t - 1) ... u(t - 10) directly and more through y: no window up to 10 suffices, and it is not linear."""
    found = memory(*narma(4000, 10, seed=1), longest=32)
    assert 11 <= found.steps <= 24
    errors = dict(zip(found.windows.tolist(), found.nonlinear.tolist(), strict=True))
    assert errors[10] > 1.5 * errors[12]
    assert found.linear[found.place] > 1.1 * found.nonlinear[found.place]


def ridge_errors(inputs: list[Floats], outputs: list[Floats], longest: int, window: int) -> float:
    """The least held-out error over the penalties, by least squares on rows extended by sqrt(penalty) times the identity."""
    mean, spread = np.concatenate(inputs).mean(axis=0), np.concatenate(inputs).std(axis=0)
    centre, size = np.concatenate(outputs).mean(axis=0), np.concatenate(outputs).std(axis=0)
    parts: dict[str, list[Floats]] = {"train": [], "held out": []}
    wanted: dict[str, list[Floats]] = {"train": [], "held out": []}
    for u, y in zip(inputs, outputs, strict=True):
        steps = range(longest - 1, len(u))
        known = 3 * len(steps) // 4
        for place, t in enumerate(steps):
            part = "train" if place < known else "held out"
            parts[part].append(np.concatenate([(u[t - k] - mean) / spread for k in range(window)]))
            wanted[part].append((y[t] - centre) / size)
    rows, values = np.array(parts["train"]), np.array(wanted["train"])
    middle, level = rows.mean(axis=0), values.mean(axis=0)
    errors = []
    for penalty in PENALTIES:
        extended = np.concatenate([rows - middle, math.sqrt(penalty) * np.eye(rows.shape[1])])
        fit = np.linalg.lstsq(extended, np.concatenate([values - level, np.zeros((rows.shape[1], values.shape[1]))]))[0]
        guess = (np.array(parts["held out"]) - middle) @ fit + level
        truth = np.array(wanted["held out"])
        errors.append(math.sqrt((((guess - truth) / truth.std(axis=0)) ** 2).mean()))
    return min(errors)


@pytest.mark.parametrize("kind", ["one", "batch", "list"])
def test_linear_errors_are_those_of_ridge_regression(kind: str) -> None:
    """Two features, two outputs, every window; the first three quarters of every series are fitted, the rest is judged."""
    lengths = {"one": [150], "batch": [60, 60, 60], "list": [90, 44, 61]}[kind]
    inputs = [3 * noise(steps, 2, seed=b) + b for b, steps in enumerate(lengths)]
    outputs = [
        np.hstack([delayed(u, 2)[:, :1] + noise(len(u), seed=50 + b), u[:, 1:] ** 2 - delayed(u, 4)[:, 1:]])
        for b, u in enumerate(inputs)
    ]
    given: tuple[Any, Any] = (inputs, outputs)
    if kind != "list":
        given = (np.stack(inputs), np.stack(outputs)) if kind == "batch" else (inputs[0], outputs[0])
    found = memory(*given, longest=7)
    assert found.windows.tolist() == [1, 2, 3, 4, 5, 6, 7]
    expected = [ridge_errors(inputs, outputs, 7, window) for window in range(1, 8)]
    np.testing.assert_allclose(found.linear, expected, rtol=1e-7)
    assert (found.nonlinear <= found.linear).all()


def test_the_feature_with_the_longest_memory_decides() -> None:
    u = noise(2000, 3, seed=6)
    y = delayed(u, 1)[:, [0]] + delayed(u, 5)[:, [2]]
    assert memory(u, y, longest=12).steps == 6
    assert memory(u[:, :2], y, longest=12).steps == 2


def test_the_output_with_the_longest_memory_decides() -> None:
    u = noise(2000, seed=7)
    assert memory(u, np.hstack([delayed(u, 1), delayed(u, 6)]), longest=12).steps == 7


def test_series_do_not_see_each_other() -> None:
    """The first steps of every target are noise that no window explains; those that a window fits into are exact.

    Windows that reach over the border into the series before, or zeros in place of the missing inputs, would spoil the fit.
    """
    inputs = [noise(steps, seed=steps) for steps in (60, 75, 90, 61)]
    outputs = [np.concatenate([noise(7, seed=9), delayed(u, 5)[7:]]) for u in inputs]
    found = memory(inputs, outputs, longest=8)
    assert found.steps == 6
    assert found.linear[found.place] < 1e-6


def test_what_leaks_over_a_border_helps_nobody() -> None:
    """In one long row the target is an exact delay everywhere; cut into pieces of 44 steps it begins anew in each one.

    Series in another order give the same errors: each is judged by itself.
    """
    long = noise(440, seed=8)
    target = delayed(long, 8) + 0.1 * noise(440, seed=10)
    pieces = [(long[a : a + 44], target[a : a + 44]) for a in range(0, 440, 44)]
    forth = memory([u for u, _ in pieces], [y for _, y in pieces], longest=9)
    back = memory([u for u, _ in pieces[::-1]], [y for _, y in pieces[::-1]], longest=9)
    np.testing.assert_allclose(forth.linear, back.linear, rtol=1e-8)
    np.testing.assert_allclose(forth.nonlinear, back.nonlinear, rtol=1e-6)
    assert forth.steps == 9


def test_a_batch_is_a_list_of_its_series() -> None:
    u = noise(600, seed=11).reshape(6, 100, 1)
    y = np.roll(u, 2, axis=1)
    batch, listed = memory(u, y), memory(list(u), list(y))
    np.testing.assert_array_equal(batch.linear, listed.linear)
    np.testing.assert_array_equal(batch.nonlinear, listed.nonlinear)


@pytest.mark.parametrize("target", ["linear", "product"])
def test_offset_and_scale_of_the_data_do_not_matter(target: str) -> None:
    u = noise(1500, 2, seed=12)
    y = delayed(u, 2)[:, [0]] + 0.3 * noise(1500, seed=13) if target == "linear" else (delayed(u, 1) * delayed(u, 3))[:, [1]]
    plain = memory(u, y, longest=6)
    other = memory(u * [1e3, 1e-4] + [5, -2], -3e5 * y + 7, longest=6)
    np.testing.assert_allclose(other.linear, plain.linear, rtol=1e-6)
    np.testing.assert_allclose(other.nonlinear, plain.nonlinear, rtol=1e-4)
    assert other.steps == plain.steps


def test_the_seed_draws_the_nonlinear_filter_only_and_changes_little() -> None:
    """The memory is the same, and so is the error of windows too short for it, which no filter could do better with."""
    u, y = narma(3000, 5, seed=2)
    first, again, *others = (memory(u, y, longest=12, seed=seed) for seed in (0, 0, 1, 2))
    np.testing.assert_array_equal(first.nonlinear, again.nonlinear)
    for other in others:
        np.testing.assert_array_equal(first.linear, other.linear)
        assert (first.nonlinear != other.nonlinear).any()
        assert first.steps == other.steps
        short = slice(0, first.place)
        np.testing.assert_allclose(first.nonlinear[short], other.nonlinear[short], rtol=0.1)


@pytest.mark.parametrize("longest", [1, 2, 3, 4, 5, 7, 9, 16, 17, 40, 63, 64, 65, 100])
def test_windows_grow_from_one_to_the_longest(longest: int) -> None:
    steps = 4 * longest + 8
    found = memory(noise(steps), noise(steps, seed=1), longest=longest)
    assert found.windows[0] == 1
    assert found.windows[-1] == longest
    assert (np.diff(found.windows) > 0).all()
    assert (found.windows[1:] <= 2 * found.windows[:-1]).all()
    assert set(range(1, min(longest, 8) + 1)) <= set(found.windows.tolist())
    assert found.linear.shape == found.nonlinear.shape == found.windows.shape
    assert np.isfinite(found.linear).all()


@pytest.mark.parametrize(
    ("steps", "features", "longest"), [(1400, 1, 128), (500, 1, 50), (12, 1, 1), (340, 16, 32), (300, 2, 30)]
)
def test_the_longest_window_by_default(steps: int, features: int, longest: int) -> None:
    found = memory(noise(steps, features), noise(steps, seed=1))
    assert found.windows[-1] == longest


def test_the_shortest_series_sets_the_longest_window() -> None:
    assert memory([noise(900), noise(200)], [noise(900, seed=1), noise(200, seed=2)]).windows[-1] == 20


def test_many_series_are_judged_too() -> None:
    u = noise(200 * 400, seed=14).reshape(200, 400, 1)
    found = memory(u, np.roll(u, 2, axis=1))
    assert found.steps == 3
    assert np.isfinite(found.linear).all()


def test_windows_of_too_many_numbers_are_refused() -> None:
    u = noise(40_000, seed=15)
    with pytest.raises(ValueError, match="9000"):
        memory(u, delayed(u, 2), longest=9000)


def test_the_table() -> None:
    u = noise(600, seed=16)
    found = memory(u, delayed(u, 3), longest=6)
    table = found.table
    assert table["window"] == (1, 2, 3, 4, 5, 6)
    assert table["linear_error"] == tuple(found.linear)
    assert table["nonlinear_error"] == tuple(found.nonlinear)
    assert "Memory: 4 steps" in str(table)
    assert repr(found) == str(table)
    assert "nan" not in repr(found).lower()


def test_the_memory_is_the_shortest_window_that_is_about_as_good_as_any() -> None:
    windows, linear = np.array([1, 2, 3, 4]), np.ones(4)
    assert Memory(windows, linear, np.array([1.0, 0.55, 0.52, 0.5])).steps == 2
    assert Memory(windows, linear, np.array([1.0, 0.56, 0.52, 0.5])).steps == 3
    assert Memory(windows, linear, np.array([0.5, 0.56, 0.9, 0.9])).steps == 1
    assert Memory(windows, linear, np.array([1.0, 0.9, 0.8, 0.5])).steps == 4


WHITE = noise(200)[:, 0]


def holed(value: float) -> Floats:
    """White noise with one bad value."""
    values = WHITE.copy()
    values[7] = value
    return values


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"longest": 49}, ValueError, r"200 steps.*windows of 49.*at least 204.*smaller `longest`"),
        ({"longest": 0}, ValueError, r"longest must be at least 1, got 0"),
        ({"longest": 4.0}, TypeError, r"longest must be a whole number, got 4\.0"),
        ({"seed": -1}, ValueError, r"seed must be at least 0, got -1"),
        ({"seed": None}, TypeError, r"seed must be a whole number, got None"),
        ({"u": WHITE[:11], "y": WHITE[:11]}, ValueError, r"11 steps, too few to judge windows of 1: at least 12"),
        ({"u": [WHITE[:, None], WHITE[:9, None]], "y": [WHITE, WHITE[:9]]}, ValueError, r"9 steps, too few"),
        ({"u": 0 * WHITE + 0.1}, ValueError, r"feature 0 of u is constant \(0\.1\).*Leave it out"),
        ({"u": np.stack([WHITE, 0 * WHITE], axis=1)}, ValueError, r"feature 1 of u is constant \(0\)"),
        ({"y": 0 * WHITE - 4}, ValueError, r"feature 0 of y is constant \(-4\)"),
        ({"u": holed(np.nan)}, ValueError, r"u must be finite, found NaN at step 7"),
        ({"y": holed(np.inf)}, ValueError, r"y must be finite, found inf at step 7"),
        ({"y": WHITE[1:]}, ValueError, r"y has 199 steps, its input 200"),
        ({"y": None}, ValueError, r"y must hold one target series for every series, got None"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        memory(**{"u": WHITE, "y": WHITE, **arguments})


def test_the_largest_window_that_a_series_allows() -> None:
    assert memory(WHITE, WHITE, longest=48).windows[-1] == 48
