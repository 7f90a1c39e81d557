"""The change-point view of a learner's history against paths with closed forms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray
from scipy.stats import binom, norm

import echoscale as es
from echoscale.learning import Adam, OnlineLearner
from paper import fig5_adaptation
from paper.fig5_adaptation import responses, running_mean

WINDOW, PHASE = 100, 10_000  # 100 records a phase, of which the last 20 count as settled


def history_of(value: Any, step: Any = None) -> xarray.Dataset:
    """(..., T) as one start with one parameter, recorded every WINDOW steps unless told."""
    values = np.asarray(value, np.float64)
    step = WINDOW * np.arange(1, values.shape[-1] + 1) if step is None else step
    return xarray.Dataset({"value": (("start", "parameter", "step"), values.reshape(-1, 1, len(step)))}, {"step": step})


def of_time(path: Callable[[Any], Any], phases: int = 1) -> xarray.Dataset:
    """A path over whole phases, with the value before the first step."""
    step = np.arange(0, phases * PHASE + 1, WINDOW)
    return history_of(path(step.astype(float)), step)


def only(found: xarray.Dataset, name: str, phase: int = 0) -> float:
    return float(found[name].values[0, 0, phase])


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
def test_an_exponential_arrives_where_its_closed_form_says(sign: int, share: float) -> None:
    tau = 1_000.0
    found = responses(of_time(lambda t: 0.5 + sign * 0.3 * (1 - np.exp(-t / tau))), [], share)
    # The last 20 records: at 8100, 8200, ..., 10000. A geometric series.
    q = math.exp(-WINDOW / tau)
    left = math.exp(-8_100 / tau) * (1 - q**20) / (1 - q) / 20
    assert only(found, "begins") == 0.5
    assert only(found, "settles") == pytest.approx(0.5 + sign * 0.3 * (1 - left), rel=1e-12)
    assert only(found, "moved") == pytest.approx(sign * 0.3 * (1 - left), rel=1e-12)
    crossing = -tau * math.log(1 - share * (1 - left))
    assert only(found, "steps") == WINDOW * math.ceil(crossing / WINDOW)


def test_a_straight_line_has_not_settled() -> None:
    """The mean of its last fifth stands at 0.905 of the way (records at 0.81 ... 1.00 of the phase)."""
    found = responses(of_time(lambda t: t / PHASE), [])
    assert only(found, "settles") == pytest.approx(0.905, rel=1e-12)
    assert only(found, "steps") == WINDOW * math.ceil(0.9 * 0.905 * PHASE / WINDOW) == 8_200
    # n equally spaced points: variance (n^2 - 1) / 12 of the spacing squared, times n / (n - 1).
    assert only(found, "fluctuation") == pytest.approx(0.01 * math.sqrt(20 * 21 / 12), rel=1e-12)


def test_every_phase_by_itself() -> None:
    """Up by 0.4 at once, down by 0.2 after 3,000 steps, and not at all."""

    def path(t: Any) -> Any:
        return np.select([t <= 0, t <= PHASE, t < PHASE + 3_000], [0.2, 0.6, 0.6], 0.4)

    found = responses(of_time(path, phases=3), [PHASE, 2 * PHASE])
    np.testing.assert_allclose(found["begins"].values[0, 0], [0.2, 0.6, 0.4])
    np.testing.assert_allclose(found["settles"].values[0, 0], [0.6, 0.4, 0.4])
    np.testing.assert_allclose(found["moved"].values[0, 0], [0.4, -0.2, 0], atol=1e-15)
    np.testing.assert_array_equal(found["steps"].values[0, 0], [WINDOW, 3_000, np.nan])
    np.testing.assert_array_equal(found["begin"], [0, PHASE, 2 * PHASE])
    np.testing.assert_array_equal(found["end"], [PHASE, 2 * PHASE, 3 * PHASE])


def test_changes_need_not_be_at_records() -> None:
    """A step at 10,050, between two records: the record before it is the beginning, the one after it has arrived."""
    found = responses(of_time(lambda t: np.where(t < 10_050, 0.0, 1.0), phases=2), [10_050])
    assert (only(found, "begins", 1), only(found, "settles", 1), only(found, "steps", 1)) == (0, 1, 50)


def test_an_overshoot_is_no_return_and_short_returns_are_outvoted() -> None:
    over = responses(of_time(lambda t: np.select([t <= 500, t <= 4_000], [0.0, 1.5], 1.0)), [])
    assert only(over, "steps") == 600
    # There from 1,000 on but for 500 steps: 5 records of 91 are wrong. A parting after them would have 30 wrong.
    short = responses(of_time(lambda t: ((t >= 1_000) & ~((t >= 4_000) & (t < 4_500))).astype(float)), [])
    assert only(short, "steps") == 1_000
    # There for 500 steps, then away for 5,000: it arrives when it comes back.
    long = responses(of_time(lambda t: (((t >= 1_000) & (t < 1_500)) | (t >= 6_500)).astype(float)), [])
    assert only(long, "steps") == 6_500


def test_the_parting_has_the_fewest_mistakes() -> None:
    """Against all partings, counted one by one."""
    rng = np.random.default_rng(0)
    there = rng.random((200, 12)) < rng.random((200, 1))
    for row, found in zip(there, fig5_adaptation._parting(there), strict=True):
        mistakes = [sum(row[:k]) + sum(~row[k:]) for k in range(12)]
        assert found == mistakes.index(min(mistakes))


def test_noise_moves_the_arrival_little() -> None:
    """A step of 1 under noise of 0.1, as wide as the band that is left: most paths leave it again and again to the end.

    A record after the step falls short of the line with a probability p of at most 0.21: 0.1 is one standard deviation, less
    the error of the settled mean of 200 records at 3 of its own. The parting is k records late only where more than half
    of the first k fall short; the sum of these probabilities over k >= 14 bounds that of being late by 14 records or more.
    Before the step a record passes the line with a probability of 1e-18.
    """
    step = np.arange(0, PHASE + 1, 10)
    noise = 0.1 * np.random.default_rng(1).standard_normal((400, len(step)))
    paths = np.where(step < 2_000, 0.0, 1.0) + np.where(step > 0, noise, 0)
    steps = responses(history_of(paths, step), [])["steps"].values.ravel()
    assert (steps >= 2_000).all()
    p = norm.cdf(-(0.1 - 0.9 * 3 * 0.1 / math.sqrt(200)) / 0.1)
    bound = sum(binom.sf(k // 2, k, p) for k in range(14, 800))
    assert bound < 0.05
    assert (steps >= 2_140).mean() < bound + 4 * math.sqrt(bound / 400)
    # The last crossing of the line, in contrast, is at the end of the phase.
    assert np.median([step[np.flatnonzero(path < 0.9)[-1]] for path in paths]) > 9_900


def test_what_only_fluctuates_did_not_move() -> None:
    """White noise: |moved| has the spread s sqrt(1 + 1/20), so that 3 s are passed with probability 0.0034, in which the
    estimated s (20 records) has its share too: Student's t with 19 degrees of freedom at 3 / sqrt(1.05) has 0.0084."""
    paths = np.random.default_rng(2).normal(0.3, 0.01, (2_000, 101))
    steps = responses(history_of(paths, np.arange(0, PHASE + 1, WINDOW)), [])["steps"].values
    expected = 0.0084
    assert abs(np.isfinite(steps).mean() - expected) < 4 * math.sqrt(expected / 2_000)


def test_several_histories_at_once() -> None:
    """Joined along a new dim, each is told as by itself; coordinates stay."""
    rng = np.random.default_rng(3)
    parts = [history_of(rng.normal(size=(3, 40)).cumsum(axis=-1)) for _ in range(2)]
    joined = xarray.concat(parts, "seed").assign_coords(seed=[5, 7])
    found = responses(joined, [2_000])
    assert found["steps"].dims == ("seed", "start", "parameter", "phase")
    assert list(found["seed"].values) == [5, 7]
    for k, part in enumerate(parts):
        alone = responses(part, [2_000])
        for name in alone.data_vars:
            np.testing.assert_array_equal(found[name].isel(seed=k), alone[name])


@pytest.mark.parametrize(
    ("changes", "says"),
    [([500], "from step 0 to 500 has 5 records, it needs at least 10"), ([9_500], "from step 9500 to 10000 has 5 records")],
)
def test_short_phases_are_refused(changes: list[int], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        responses(of_time(lambda t: t), changes)


def test_running_means_count_every_target_alike() -> None:
    rng = np.random.default_rng(4)
    targets = np.array([0, 3, 10, 10, 0, 0, 10, 7])
    gradient = np.where(targets > 0, rng.normal(size=(2, 1, 8)), np.nan)
    history = xarray.Dataset(
        {"gradient": (("start", "parameter", "step"), gradient), "targets": ("step", targets)}, {"step": np.arange(1, 9)}
    )
    found = running_mean(history["gradient"], history["targets"], 2)
    assert found.dims == ("start", "parameter", "step")
    for k in range(8):
        window = slice(max(k - 1, 0), k + 1)
        if targets[window].sum() == 0:
            assert np.isnan(found[..., k]).all()
            continue
        single = [np.repeat(gradient[:, 0, j], targets[j]).reshape(2, -1) for j in range(*window.indices(8)) if targets[j]]
        np.testing.assert_allclose(found[:, 0, k], np.concatenate(single, axis=1).mean(axis=1), rtol=1e-12)
    np.testing.assert_allclose(running_mean(history["gradient"], history["targets"], 1), gradient, rtol=1e-15)


def test_a_learner_is_told_of() -> None:
    """The history of a real learner: a leak rate that falls by Adam's rate at every step, then is frozen, then falls on."""
    u, y = es.tasks.narma(3_200, order=5, seed=0)
    learner = OnlineLearner(es.single(10, leak_rate=0.5, input_scaling=0.2), rates=Adam(1e-4, beta1=0.0, beta2=0.0), record=50)
    learner.partial_fit(u[:1_200], y[:1_200])
    learner.freeze("leak_rate")
    learner.partial_fit(u[1_200:2_200], y[1_200:2_200])
    learner.freeze("leak_rate", frozen=False)
    learner.partial_fit(u[2_200:], y[2_200:])
    found = responses(learner.history, [1_200, 2_200])
    assert found["moved"].values[0, 0, 1] == 0
    assert np.isnan(found["steps"].values[0, 0, 1])
    values = learner.history["value"].values[0, 0]
    np.testing.assert_allclose(found["settles"].values[0, 0], [values[19:24].mean(), values[23], values[60:64].mean()])
    assert running_mean(learner.history["gradient"], learner.history["targets"], 4).shape == (1, 1, 64)
