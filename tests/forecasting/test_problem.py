"""What is asked: futures of inputs, labels, gaps, and what cannot be asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import echoscale as es
from echoscale.data.targets import Ahead
from echoscale.forecasting.problem import as_problem

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
