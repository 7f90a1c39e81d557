"""The forward filter against plain sums and products, hmmlearn, its limit without noise, and the telegraph it judges."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hmmlearn.hmm import GaussianHMM

from echoscale.tasks import Posterior, hmm, schedule, telegraph, telegraph_filter

Floats = npt.NDArray[np.float64]

SIGMAS = 5
MEANS = (0.0, 1.0, 0.0, 1.0)
# p1, p2, p3: the paper's, faster ones, flips more often than not, and some that never or always happen.
SETTINGS = [(0.05, 0.1, 0.0005), (0.3, 0.05, 0.02), (0.9, 0.7, 0.3), (0.0, 0.4, 0.1), (0.2, 0.3, 0.0), (0.3, 1.0, 1.0)]


@cache
def chances(p1: float, p2: float, p3: float) -> list[list[float]]:
    """P(class j | class i), classes 2 regime + state: the state moves by the odds of the regime of the same step."""
    table = []
    for old in range(4):
        row = []
        for new in range(4):
            falls, rises = (p1, p2) if new < 2 else (p2, p1)
            leaves = falls if old % 2 else rises
            row.append((p3 if old // 2 != new // 2 else 1 - p3) * (leaves if old % 2 != new % 2 else 1 - leaves))
        table.append(row)
    return table


def ahead_of(table: list[list[float]], known: list[float]) -> list[float]:
    return [sum(known[i] * table[i][j] for i in range(4)) for j in range(4)]


def first_of(p1: float, p2: float, p3: float) -> list[float]:
    """What the chain comes to if it begins anywhere alike and rests at every second step: after 2^60 of them."""
    lazy = (np.array(chances(p1, p2, p3)) + np.eye(4)) / 2
    for _ in range(60):
        lazy = lazy @ lazy
        lazy /= lazy.sum(axis=1, keepdims=True)
    known: list[float] = lazy.mean(axis=0).tolist()
    return known


def naive(u: Any, noise: Any, p1: Any, p2: Any, p3: float, first: list[float]) -> Floats:
    """Posteriors (T, 4) of one series (T,): products and sums of plain floats, the densities as they stand."""
    length, rows = len(u), []
    noises, ones, twos = (np.broadcast_to(each, length).tolist() for each in (noise, p1, p2))
    known = first
    for t, value in enumerate(np.asarray(u).tolist()):
        ahead = ahead_of(chances(ones[t], twos[t], p3), known) if t else known
        if noises[t] > 0:
            dense = [math.exp(-(((value - mean) / noises[t]) ** 2) / 2) / noises[t] for mean in MEANS]
        else:
            dense = [float(value == mean) for mean in MEANS]
        raw = [a * b for a, b in zip(ahead, dense, strict=True)]
        known = [each / sum(raw) for each in raw]
        rows.append(known)
    return np.array(rows)


# -------------------------------------------------------------------------------------------------------------- the posterior


@pytest.mark.parametrize(("p1", "p2", "p3"), SETTINGS)
@pytest.mark.parametrize("noise", [0.2, 0.5, 4.0])
def test_posteriors_are_sums_and_products(p1: float, p2: float, p3: float, noise: float) -> None:
    u = telegraph(1500, 1, noise=noise, p1=p1, p2=p2, p3=p3).u
    found = telegraph_filter(u, noise=noise, p1=p1, p2=p2, p3=p3)
    expected = naive(u[:, 0], noise, p1, p2, p3, first_of(p1, p2, p3))
    np.testing.assert_allclose(found.joint, expected, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.state, expected[:, 1] + expected[:, 3], rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.regime, expected[:, 2] + expected[:, 3], rtol=0, atol=1e-10)
    assert np.ptp(found.state) > 0.01


@pytest.mark.parametrize("seed", range(2))
def test_with_schedules(seed: int) -> None:
    """Noise and odds that differ from step to step, and in phases; the odds of a step are those that lead to it."""
    rng = np.random.default_rng(seed)
    p1, p2, noise = rng.uniform(0, 1, 600), rng.uniform(0.1, 0.9, 600), rng.uniform(0.2, 2, 600)
    phases = {"p1": schedule((200, 0.05), (400, 0.6)), "p2": 0.1, "noise": schedule((400, 0.5), (200, 2.0))}
    cases: list[dict[str, Any]] = [{"p1": p1, "p2": p2, "noise": noise}, {"p1": 0.3, "p2": p2, "noise": 0.5}, phases]
    for given in cases:
        u = telegraph(600, seed, p3=0.03, **given).u[:, 0]
        first = first_of(np.ravel(given["p1"])[0], np.ravel(given["p2"])[0], 0.03)
        expected = naive(u, p3=0.03, first=first, **given)
        np.testing.assert_allclose(telegraph_filter(u, p3=0.03, **given).joint, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize(("p1", "p2", "p3"), [(0.05, 0.1, 0.0005), (0.3, 0.05, 0.02), (0.9, 0.7, 0.3)])
@pytest.mark.parametrize("noise", [0.25, 1.0])
def test_hmmlearn_agrees(p1: float, p2: float, p3: float, noise: float) -> None:
    """At the last step of a series smoothing is filtering: so the posterior of step t is theirs for the series cut there."""
    u = telegraph(400, 2, noise=noise, p1=p1, p2=p2, p3=p3).u
    model = GaussianHMM(n_components=4, covariance_type="spherical")
    model.startprob_ = np.array(first_of(p1, p2, p3))
    model.transmat_ = np.array(chances(p1, p2, p3))
    model.means_ = np.array(MEANS)[:, None]
    model.covars_ = np.full(4, noise**2)
    found = telegraph_filter(u, noise=noise, p1=p1, p2=p2, p3=p3)
    for cut in (1, 2, 3, 17, 150, 399, 400):
        np.testing.assert_allclose(found.joint[cut - 1], model.predict_proba(u[:cut])[-1], rtol=0, atol=1e-10)


def test_any_chain() -> None:
    """Five hidden states with means of their own, two tables in turn, another first knowledge for each series."""
    rng = np.random.default_rng(3)
    tables, means = rng.dirichlet(np.ones(5), (2, 5)), rng.normal(size=5)
    u, first, which = rng.normal(size=(3, 50)), rng.dirichlet(np.ones(5), 3), rng.integers(0, 2, 50)
    noise = rng.uniform(0.3, 1, 50)
    found = hmm.forward(u, means, noise, tables, first, which)
    for b in range(3):
        known = first[b].tolist()
        for t in range(50):
            if t:
                known = [sum(known[i] * tables[which[t], i, j] for i in range(5)) for j in range(5)]
            raw = [known[j] * math.exp(-(((u[b, t] - means[j]) / noise[t]) ** 2) / 2) for j in range(5)]
            known = [each / sum(raw) for each in raw]
            np.testing.assert_allclose(found[b, t], known, rtol=0, atol=1e-10)


# ----------------------------------------------------------------------------------------------------------- cuts and batches


def test_a_series_longer_than_a_piece() -> None:
    """Pieces of the compiled program leave no trace: at their edges and at the end, with schedules that go on across them."""
    length = 2 * hmm.PIECE + 100
    noise, p1 = np.linspace(0.3, 1.5, length), schedule((hmm.PIECE - 1, 0.05), (2, 0.9), (length - hmm.PIECE - 1, 0.3))
    u = telegraph(length, 4, noise=noise, p1=p1, p3=0.01).u
    found = telegraph_filter(u, noise=noise, p1=p1, p3=0.01)
    expected = naive(u[:, 0], noise, p1, 0.1, 0.01, first_of(0.05, 0.1, 0.01))
    np.testing.assert_allclose(found.joint, expected, rtol=0, atol=1e-10)


def test_pieces_of_any_size_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    u = telegraph(200, 5, sequences=2, p3=0.05).u
    whole = telegraph_filter(u, p3=0.05).joint
    for size in (7, 100):
        monkeypatch.setattr(hmm, "PIECE", size)
        np.testing.assert_allclose(telegraph_filter(u, p3=0.05).joint, whole, rtol=0, atol=1e-14)


@pytest.mark.parametrize("sequences", [None, 3])
def test_a_stream_carries_on(sequences: int | None) -> None:
    odds: dict[str, Any] = {"p1": schedule((100, 0.05), (200, 0.4)), "noise": np.linspace(0.2, 2, 300)}
    u = telegraph(300, 6, sequences=sequences, p3=0.05, **odds).u
    whole = telegraph_filter(u, p3=0.05, **odds).joint
    for cut in (1, 100, 299):
        before, after = ({name: values[part] for name, values in odds.items()} for part in (slice(cut), slice(cut, None)))
        first = telegraph_filter(u[..., :cut, :], p3=0.05, **before).joint
        second = telegraph_filter(u[..., cut:, :], p3=0.05, start=first[..., -1, :], **after).joint
        np.testing.assert_allclose(np.concatenate([first, second], axis=-2), whole, rtol=0, atol=1e-13)


def test_what_is_known_before_moves_once() -> None:
    """A start is of the step before the first: one move, then the first input; the same for all of a batch, or one for each."""
    u = np.array([0.8, 0.3])
    certain = [0.0, 1.0, 0.0, 0.0]
    expected = naive(u, 0.5, 0.2, 0.3, 0.1, ahead_of(chances(0.2, 0.3, 0.1), certain))
    odds = {"p1": 0.2, "p2": 0.3, "p3": 0.1}
    np.testing.assert_allclose(telegraph_filter(u, start=certain, **odds).joint, expected, rtol=0, atol=1e-14)
    np.testing.assert_allclose(telegraph_filter(u, start=[certain], **odds).joint, expected, rtol=0, atol=1e-14)
    other = [0.1, 0.2, 0.3, 0.4]
    pair = telegraph_filter(np.stack([u, u])[..., None], start=[certain, other], **odds).joint
    np.testing.assert_allclose(pair[0], expected, rtol=0, atol=1e-14)
    np.testing.assert_allclose(pair[1], telegraph_filter(u, start=other, **odds).joint, rtol=0, atol=1e-14)
    same = telegraph_filter(np.stack([u, u])[..., None], start=certain, **odds).joint
    np.testing.assert_allclose(same, [expected, expected], rtol=0, atol=1e-14)


def test_a_batch_is_its_series() -> None:
    u = telegraph(300, 7, sequences=5, p3=0.05).u
    batch = telegraph_filter(u, p3=0.05)
    assert batch.joint.shape == (5, 300, 4)
    assert batch.state.shape == batch.regime.shape == (5, 300)
    for b in range(5):
        for one in (u[b], u[b, :, 0]):
            np.testing.assert_allclose(telegraph_filter(one, p3=0.05).joint, batch.joint[b], rtol=0, atol=1e-14)


# --------------------------------------------------------------------------------------------------------------- noise near 0


@pytest.mark.parametrize(("p1", "p2", "p3"), SETTINGS)
def test_without_noise_the_state_is_certain(p1: float, p2: float, p3: float) -> None:
    """And the regime is what the moves of the state tell of it."""
    series = telegraph(800, 8, noise=0, p1=p1, p2=p2, p3=p3)
    found = telegraph_filter(series.u, noise=0, p1=p1, p2=p2, p3=p3)
    np.testing.assert_allclose(found.state, series.state, rtol=1e-15, atol=0)  # but for the rounding of a sum of two
    expected = naive(series.u[:, 0], 0, p1, p2, p3, first_of(p1, p2, p3))
    np.testing.assert_allclose(found.joint, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("noise", [1e-2, 1e-3, 1e-8, 1e-100, 1e-160, 1e-200, 5e-308])
def test_little_noise_comes_to_the_limit(noise: float) -> None:
    """At a noise of 0.01 the wrong state is 100 deviations away, a factor of exp(-5000), which is 0 in any precision here."""
    series = telegraph(500, 9, noise=noise, p3=0.02)
    found = telegraph_filter(series.u, noise=noise, p3=0.02)
    limit = telegraph_filter(series.state, noise=0, p3=0.02)
    np.testing.assert_allclose(found.joint, limit.joint, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found.decisions["state"], series.state)


def test_noise_that_comes_and_goes() -> None:
    noise = schedule((50, 0.0), (50, 1.0), (50, 0.0), (50, 1e-5))
    series = telegraph(200, 10, noise=noise, p3=0.02)
    found = telegraph_filter(series.u, noise=noise, p3=0.02)
    # The naive one cannot hold the density of 1e5 deviations' distance but as 0, which is what it is here as well.
    expected = naive(series.u[:, 0], noise, 0.05, 0.1, 0.02, first_of(0.05, 0.1, 0.02))
    np.testing.assert_allclose(found.joint, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize(("noise", "far"), [(0.5, 1e6), (0.5, -1e6), (0.5, 40.0), (1.0, -60.0)])
def test_inputs_far_away(noise: float, far: float) -> None:
    """Densities there are 0 as floats; their ratio is not: exp((2 u - 1) / (2 noise^2)) for state 1 against state 0."""
    u = np.array([0.2, 0.9, far, 0.4, 0.6])
    found = telegraph_filter(u, noise=noise, p3=0.02).joint
    p = found[1].tolist()
    known = ahead_of(chances(0.05, 0.1, 0.02), p)
    ratio = math.exp(-abs(2 * far - 1) / (2 * noise**2))  # of the state on the other side
    raw = [each * (ratio if (far > 0) == (mean == 0) else 1) for each, mean in zip(known, MEANS, strict=True)]
    known = [each / sum(raw) for each in raw]
    np.testing.assert_allclose(found[2], known, rtol=1e-9, atol=1e-300)
    rest = naive(u[3:], noise, 0.05, 0.1, 0.02, ahead_of(chances(0.05, 0.1, 0.02), known))
    np.testing.assert_allclose(found[3:], rest, rtol=0, atol=1e-10)


@pytest.mark.parametrize(("p1", "p2", "p3"), [(0.0, 0.1, 0.0), (0.1, 0.0, 0.0), (0.0, 0.7, 0.0), (0.0, 0.1, 1e-12)])
def test_a_state_that_cannot_leave(p1: float, p2: float, p3: float) -> None:
    """One regime, one state for ever, but which of the two pairs is not known: one input tells, by Bayes' rule."""
    u, noise = np.array([0.4, 0.8]), 0.5
    found = telegraph_filter(u, noise=noise, p1=p1, p2=p2, p3=p3)
    for t, known in enumerate(np.cumsum((2 * u - 1) / (2 * noise**2))):
        assert found.state[t] == pytest.approx(1 / (1 + math.exp(-known)), abs=1e-10)
        assert found.regime[t] == pytest.approx(found.state[t] if p1 else 1 - found.state[t], abs=1e-10)


# ------------------------------------------------------------------------------------------------------------- what it is for

# noise, joint, state, regime: measured with another program, to three digits.
CEILINGS = [
    (0.25, 0.899, 0.990, 0.908),
    (0.5, 0.839, 0.924, 0.907),
    (1.0, 0.734, 0.814, 0.895),
    (2.0, 0.619, 0.705, 0.853),
    (4.0, 0.525, 0.628, 0.769),
]


@pytest.mark.parametrize(("noise", "joint", "state", "regime"), CEILINGS)
def test_ceilings(noise: float, joint: float, state: float, regime: float) -> None:
    """Measured elsewhere for the paper's odds. The error is that of 256 series, from their spread; the table's own, of which
    only its three digits are known, is taken to be as large, and so the tolerance is 4 times sqrt(2) of it and half a digit."""
    washout = 500
    series = telegraph(hmm.PIECE, 11, sequences=256, noise=noise)
    found = telegraph_filter(series.u, noise=noise)
    measured = found.accuracies(series, washout)
    for name, expected in {"joint": joint, "state": state, "regime": regime}.items():
        right = (found.decisions[name] == getattr(series, name))[:, washout:].mean(axis=1)
        assert measured[name] == pytest.approx(right.mean(), rel=1e-12)
        error = right.std(ddof=1) / math.sqrt(len(right))
        assert error < 0.007
        assert abs(measured[name] - expected) < 4 * math.sqrt(2) * error + 0.0005, (name, measured[name], expected, error)


@pytest.mark.parametrize(("noise", "p1", "p2", "p3"), [(0.5, 0.05, 0.1, 0.005), (1.5, 0.05, 0.3, 0.02), (0.8, 0.9, 0.7, 0.1)])
def test_probabilities_are_what_they_say(noise: float, p1: float, p2: float, p3: float) -> None:
    """Of the steps with P(class) in a bin, the share of that class is the mean of P there: 5 errors, by the series' spread."""
    series = telegraph(600, 12, sequences=400, noise=noise, p1=p1, p2=p2, p3=p3)
    found = telegraph_filter(series.u, noise=noise, p1=p1, p2=p2, p3=p3)
    wanted = [(found.state, series.state == 1), (found.regime, series.regime == 1)]
    wanted += [(found.joint[..., k], series.joint == k) for k in range(4)]
    for probability, happened in wanted:
        used = 0
        for low in np.arange(0, 1, 0.1):
            inside = (probability >= low) & (probability < low + 0.1)
            surplus = np.where(inside, happened - probability, 0).sum(axis=1)  # of every series: 0 on average
            if inside.sum() > 2000:
                assert abs(surplus.mean()) <= SIGMAS * surplus.std(ddof=1) / math.sqrt(len(surplus))
                used += 1
        assert used >= 3


@pytest.mark.parametrize("noise", [0.3, 1.0])
def test_no_other_odds_decide_better(noise: float) -> None:
    """The filter of the true odds against those of wrong ones, on the same series: at least as often right, within 5 errors."""
    series = telegraph(1000, 13, sequences=50, noise=noise, p3=0.005)
    best = telegraph_filter(series.u, noise=noise, p3=0.005).decisions
    for wrong in ({"p1": 0.3}, {"p1": 0.1, "p2": 0.05}, {"p3": 0.3}, {"noise": 3 * noise}):
        other = telegraph_filter(series.u, **{"noise": noise, "p3": 0.005, **wrong}).decisions
        for name, found in best.items():
            truth = getattr(series, name)
            gain = (found == truth).mean(axis=1) - (other[name] == truth).mean(axis=1)
            assert gain.mean() >= -SIGMAS * gain.std(ddof=1) / math.sqrt(len(gain))


def test_decisions_are_the_likeliest() -> None:
    """By hand: the likeliest state and regime need not make the likeliest class."""
    found = Posterior(np.array([[0.4, 0.3, 0.0, 0.3], [0.1, 0.2, 0.6, 0.1], [0.05, 0.05, 0.1, 0.8]]))
    np.testing.assert_allclose(found.state, [0.6, 0.3, 0.85])
    np.testing.assert_allclose(found.regime, [0.3, 0.7, 0.9])
    assert {name: each.tolist() for name, each in found.decisions.items()} == {
        "state": [1, 0, 1],
        "regime": [0, 1, 1],
        "joint": [0, 2, 3],
    }
    truth = telegraph(3)._replace(state=np.array([1, 1, 1], np.int8), regime=np.array([0, 0, 1], np.int8))
    assert found.accuracies(truth) == pytest.approx({"state": 2 / 3, "regime": 2 / 3, "joint": 1 / 3})
    assert found.accuracies(truth, washout=2) == {"state": 1, "regime": 1, "joint": 1}


# ------------------------------------------------------------------------------------------------------------ what is refused

STEPS = np.array([0.2, 0.8, 0.1])
BAD: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    (STEPS, {"noise": 0}, ValueError, r"noise is 0 at step 0, where series 0 holds 0\.2: .* only be 0, 1. Give the noise"),
    ([0, 1, 0.5], {"noise": 0}, ValueError, r"noise is 0 at step 2, where series 0 holds 0\.5"),
    (STEPS, {"noise": [1, 0, 1]}, ValueError, r"noise is 0 at step 1, where series 0 holds 0\.8"),
    (np.array([[[0], [1]], [[1], [2]]]), {"noise": 0}, ValueError, "noise is 0 at step 1, where series 1 holds 2"),
    ([1, 1, 0], {"noise": 0, "p1": 0, "p2": 0}, ValueError, "series 0 is impossible under this model at step 2: .* gives 0"),
    (
        np.array([[[0], [0]], [[0], [1]]]),
        {"noise": 0, "p1": 0, "p2": 0},
        ValueError,
        "series 1 is impossible under this model at step 1: no reachable hidden state gives 1",
    ),
    ([0, 1, 1], {"noise": 0, "p1": 1, "p2": 1, "p3": 0}, ValueError, "series 0 is impossible under this model at step 2"),
    ([1, 0], {"noise": 0, "p1": 0, "p2": 0, "start": [0.5, 0, 0.5, 0]}, ValueError, "impossible under this model at step 0"),
    ([STEPS[:, None], STEPS[:2, None]], {}, ValueError, r"one length: give u as \(B, T, 1\), not as a list"),
    (np.zeros((3, 2)), {}, ValueError, "u has 2 features"),
    ([0.1, math.nan], {}, ValueError, "u must be finite, found NaN at step 1"),
    (np.zeros((0, 1)), {}, ValueError, "u is empty"),
    (STEPS, {"noise": -0.5}, ValueError, r"noise must not be negative, got -0\.5"),
    (STEPS, {"noise": math.nan}, ValueError, "noise must be finite"),
    (STEPS, {"noise": [0.5, 0.5]}, ValueError, r"noise must be a number or one for every step, \(3,\); got shape \(2,\)"),
    (STEPS, {"p1": 1.2}, ValueError, r"p1 must lie in \[0, 1\], got 1\.2"),
    (STEPS, {"p2": [0.1, 0.1, -0.1]}, ValueError, r"p2 must lie in \[0, 1\], got -0\.1"),
    (STEPS, {"p3": -1}, ValueError, r"p3 must lie in \[0, 1\], got -1"),
    (STEPS, {"p3": None}, TypeError, "p3 must be a number, got None"),
    *(
        (STEPS, {"start": start}, ValueError, r"start must hold the probabilities of the four classes, \(4,\) or \(1, 4\), got")
        for start in (
            [0.5, 0.5],
            [0.5, 0.5, 0.5, 0.5],
            [1.5, -0.5, 0, 0],
            [math.nan, 0, 0, 1],
            np.full((2, 4), 0.25),
            np.full((4, 4), 0.25),
            0.25,
        )
    ),
]


@pytest.mark.parametrize(("u", "changes", "error", "message"), BAD)
def test_bad_input_is_named(u: Any, changes: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        telegraph_filter(u, **changes)
