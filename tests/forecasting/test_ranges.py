"""Data that leave the training range, or drift, are reported; stationary data are not."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy.signal import lfilter

import echoscale as es
from echoscale.forecasting.problem import Range, drifting

Floats = npt.NDArray[np.float64]
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
