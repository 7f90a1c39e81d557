"""What is to be learned: futures of inputs, labels, gaps, data that leave their range or drift, and what is refused."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.signal import lfilter

import echoscale as es
from echoscale._internal.types import Floats
from echoscale.data.targets import Ahead
from echoscale.forecasting.problem import Range, as_problem, drifting

RNG = np.random.default_rng(0)
WAVE = RNG.normal(size=(80, 2))


def test_a_target_that_is_an_inputs_future_is_recognised() -> None:
    y = np.stack([WAVE[3:, 1], WAVE[:-3, 0] ** 2], axis=1)
    y[10, 0] = np.nan
    found = as_problem(WAVE[:-3], y, None, "standard")
    assert found.ahead == (Ahead(1, 3), None)
    assert found.gap == 3
    # Its units are those of the input, so that "no change" is the same number.
    assert found.target_scaling.mean[0] == found.scaling.mean[1]


def test_without_targets_the_next_step_is_asked_for() -> None:
    assert as_problem(WAVE, None, None, None).ahead == (Ahead(0, 1), Ahead(1, 1))
    assert as_problem(WAVE, None, None, None).series.lengths.tolist() == [79]


def test_labels() -> None:
    words = np.where(WAVE[:, 0] > 0, "up", "down")
    assert as_problem(WAVE, words, None, None).classes.tolist() == ["down", "up"]  # type: ignore[union-attr]
    whole = (WAVE[:, 0] > 0).astype(int) + (WAVE[:, 0] > 1)
    assert as_problem(WAVE, whole, None, None).classes.tolist() == [0, 1, 2]  # type: ignore[union-attr]
    assert as_problem(WAVE, whole, False, None).classes is None
    assert as_problem(WAVE, whole.astype(float), None, None).classes is None
    counts = np.arange(80) % 7
    assert as_problem(counts[:-1], counts[1:], None, None).classes is None  # the future of a number is a number
    sequences = as_problem(WAVE.reshape(8, 10, 2), np.arange(8) % 2, None, None)
    assert sequences.per_sequence
    assert sequences.rows == 8


BAD: list[tuple[Any, Any, str]] = [
    (WAVE, np.full(80, np.nan), "output 0 of y holds no number at all"),
    (WAVE, np.ones(80), r"output 0 of y is constant \(1\)"),
    (WAVE, WAVE[:50], "y has 50 steps, its input 80"),
    (WAVE[:2], WAVE[:2, 0], "2 steps with a target are too few to choose by"),
    (WAVE, ["a"] * 80, "y holds one class only"),
    (WAVE, [f"n{k}" for k in range(80)], "80 different labels in 80 places"),
    (
        np.where(np.arange(160).reshape(80, 2) == 3, np.nan, WAVE),
        WAVE[:, 0],
        "u must be finite, found NaN at step 1, feature 1",
    ),
    (WAVE.reshape(8, 10, 2), np.arange(8) + 0.5, "one value for each of the 8 series"),
    (WAVE.reshape(8, 10, 2), [0, 1], "y holds 2 entries for 8 series"),
    (WAVE, np.where(WAVE[:, 0] > 0, np.inf, 1.0), "y must be finite, found inf at step"),
    ([["a", "b"]] * 80, WAVE[:, 0], "cannot be read as numbers"),
    (WAVE, 3.0, "y must hold one target or label per step"),
    ([1.0, 2.0], None, "1 steps with a target are too few to choose by"),
    ([1.0, 2.0], [2.0, 3.0], "2 steps with a target are too few to choose by"),
    (WAVE, np.full(80, 4.0), "output 0 of y is constant"),
    (WAVE, ["a"] * 80, "y holds one class only, 'a'"),
    (WAVE.reshape(8, 10, 2), ["a"] * 8, "y holds one class only, 'a'"),
]


@pytest.mark.parametrize(("u", "y", "message"), BAD, ids=[message[:30] for *_, message in BAD])
def test_what_cannot_be_asked_is_refused(u: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        es.auto(u, y)


def test_a_budget_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="seconds must be above 0, got 0"):
        es.auto(WAVE, None, seconds=0)


def test_an_input_that_is_constant_is_let_through() -> None:
    u = np.concatenate([WAVE, np.ones((80, 1))], axis=1)
    found = as_problem(u, WAVE[:, 0] ** 2, None, "standard")
    assert not np.asarray(found.series.values[0][:, 2]).any()


# ---------------------------------------------------------------------------------------------------- ranges and drift

STATIONARY: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "uniform": lambda rng, n: rng.uniform(-1, 1, n),
    "Student's t, 3": lambda rng, n: rng.standard_t(3, n),
    "Student's t, 2": lambda rng, n: rng.standard_t(2, n),
    "Cauchy": lambda rng, n: rng.standard_cauchy(n),
    "log-normal": lambda rng, n: rng.lognormal(size=n),
    "rare spikes": lambda rng, n: rng.exponential(5, n) * (rng.random(n) < 0.02),
    "AR(1)": lambda rng, n: lfilter([1], [1, -0.8], rng.normal(size=n + 100))[100:],
    "AR(1) of Student's t": lambda rng, n: lfilter([1], [1, -0.8], rng.standard_t(3, n + 100))[100:],
    "season": lambda rng, n: np.sin(np.arange(n) / 7) + 0.3 * rng.normal(size=n),
}


@pytest.mark.parametrize("draw", STATIONARY.values(), ids=STATIONARY)
def test_stationary_data_are_rarely_reported(draw: Callable[[np.random.Generator, int], Floats]) -> None:
    """100 new steps after 300, and the second half against the first: at most 3 of 100 draws."""
    rng = np.random.default_rng(1)
    draws = [draw(rng, 400)[:, None] for _ in range(100)]
    assert sum(Range.of([x[:300]]).left_by([x[300:]])[0] > 0 for x in draws) <= 3
    assert sum(bool(drifting([x[:200]], [x[200:]])[0]) for x in draws) <= 3


@pytest.mark.parametrize("draw", STATIONARY.values(), ids=STATIONARY)
def test_a_level_that_moves_by_the_range_is_reported(draw: Callable[[np.random.Generator, int], Floats]) -> None:
    x = draw(np.random.default_rng(2), 400)[:, None]
    x[200:] += 2 * np.ptp(x)
    assert Range.of([x[:200]]).left_by([x[200:]]).tolist() == [1.0]
    assert Range.of([x[:200]]).left_by([x[200:201]]).tolist() == [1.0]
    assert drifting([x[:200]], [x[200:]]).tolist() == [True]


def test_few_steps_outside_are_normal_and_the_share_is_of_each_column() -> None:
    known = Range.of([np.array([[0.0, 0.0], [4.0, 4.0]])])
    rows = np.full((40, 2), 2.0)
    rows[:2], rows[2:6, 1], rows[6:, 0] = 5.1, -1.1, 4.9
    assert known.left_by([rows]).tolist() == [0.0, 6 / 40]
    assert known.left_by([rows[:20], rows[20:]]).tolist() == [0.0, 6 / 40]


def heating() -> tuple[pd.DataFrame, Floats]:
    """A temperature that rises from winter to spring and on, and a need of heat that ends."""
    rng, t = np.random.default_rng(0), np.arange(600)
    temperature = 10 - 12 * np.cos(np.pi * t / 600) + 3 * np.sin(2 * np.pi * t / 24) + rng.normal(size=600)
    return pd.DataFrame({"outside": temperature, "wind": rng.normal(size=600)}), np.logaddexp(0, 15 - temperature)


def test_a_drift_is_reported_by_the_fit_and_by_predict(tmp_path: Path) -> None:
    u, y = heating()
    found = es.auto(u[:300], y[:300], rounds=1)
    [words] = [each for each in found.reasons if each.startswith("Do not rely on this error")]
    assert "input 'outside', output 0 moves" in words
    again = es.load(es.save(found.model, tmp_path / "model.safetensors"))
    for model in (found.model, again):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.predict(u[:300])
        with pytest.warns(es.RangeWarning, match=r"training data: input 'outside' at \d+% of the steps\."):
            model.predict(u[300:])


def test_a_trend_is_no_drift() -> None:
    """Its future leaves every range, and networks receive its changes."""
    x = 0.1 * np.arange(400.0) + np.random.default_rng(0).normal(size=400)
    found = es.auto(x[:300], x[1:301], rounds=1)
    assert not [each for each in found.reasons if each.startswith("Do not rely")]
    found.model.predict(x[300:])


@pytest.mark.parametrize(("each", "reported"), [(2, True), (4, False)])
def test_few_sequences_of_a_class_make_the_error_too_high(each: int, reported: bool) -> None:
    rng = np.random.default_rng(0)
    labels: Any = np.repeat(np.arange(6), each)
    X = np.sin(np.arange(30) * (0.2 + 0.1 * labels[:, None]))[..., None] + 0.1 * rng.normal(size=(len(labels), 30, 1))
    found = es.auto(X, labels, rounds=1)
    assert any(words.startswith("Do not rely on this error, which is too high") for words in found.reasons) == reported
