"""The telegraph against the 4 x 4 matrix of its definition, a scalar loop fed with the same random numbers, and edge cases."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from echoscale.tasks import Telegraph, schedule, telegraph
from echoscale.tasks.telegraph import CLASSES

Floats = npt.NDArray[np.float64]

# A deviation of five standard errors happens by chance once in two million comparisons; seeds are fixed besides.
SIGMAS = 5
# p1, p2, p3: the paper's, faster ones, flips more often than not (p1 + p2 > 1), a regime that changes more often than not.
SETTINGS = [(0.05, 0.1, 0.0005), (0.3, 0.05, 0.02), (0.9, 0.7, 0.1), (0.6, 0.6, 0.5), (0.2, 0.35, 0.9)]


def chance(p1: float, p2: float, p3: float, was: int, now: int) -> float:
    """P(class now | class was), classes 2 regime + state: the regime moves, then the state by the odds of the new regime."""
    (old_regime, old), (regime, state) = divmod(was, 2), divmod(now, 2)
    of_regime = p3 if regime != old_regime else 1 - p3
    falls, rises = (p1, p2) if regime == 0 else (p2, p1)
    leaves = falls if old == 1 else rises
    return of_regime * (leaves if state != old else 1 - leaves)


def matrix(p1: float, p2: float, p3: float) -> Floats:
    return np.array([[chance(p1, p2, p3, was, now) for now in range(4)] for was in range(4)])


def stationary(p1: float, p2: float, p3: float) -> Floats:
    """Where a chain that rests at every second step ends if it begins anywhere alike: the resting takes away periods only."""
    lazy = (matrix(p1, p2, p3) + np.eye(4)) / 2
    for _ in range(60):  # 2^60 steps
        lazy = lazy @ lazy
        lazy /= lazy.sum(axis=1, keepdims=True)
    return np.asarray(np.full(4, 0.25) @ lazy)


def loop(length: int, seed: int, count: int, noise: Any, p1: Any, p2: Any, p3: float) -> Telegraph:
    """The definition step by step. The random numbers are drawn in the generator's order: changes of the regime, first regimes,
    states, noise."""
    rng = np.random.default_rng(seed)
    changes, first, moves = rng.random((count, length)), rng.random(count), rng.random((count, length))
    normal = rng.standard_normal((count, length))
    noises, ones, twos = (np.broadcast_to(each, length).tolist() for each in (noise, p1, p2))
    always = stationary(ones[0], twos[0], p3)
    u, states, regimes = np.zeros((count, length, 1)), np.zeros((count, length), int), np.zeros((count, length), int)
    for b in range(count):
        regime = 1 if first[b] < 0.5 else 0
        state = 1 if moves[b, 0] < always[2 * regime + 1] / (always[2 * regime] + always[2 * regime + 1]) else 0
        for t in range(length):
            if t > 0:
                if changes[b, t] < p3:
                    regime = 1 - regime
                falls, rises = (ones[t], twos[t]) if regime == 0 else (twos[t], ones[t])
                up = 1 - falls if state == 1 else rises
                state = 1 if moves[b, t] < up else 0
            regimes[b, t], states[b, t] = regime, state
            u[b, t, 0] = noises[t] * normal[b, t] + state
    return Telegraph(u, states.astype(np.int8), regimes.astype(np.int8))


def assert_mean(values: Any, expected: float) -> None:
    """Values (B,), one for every independent sequence: their mean is the expected one within the error from their spread."""
    values = np.asarray(values, np.float64)
    error = values.std(ddof=1) / math.sqrt(len(values))
    assert abs(values.mean() - expected) <= SIGMAS * error + 1e-12, (values.mean(), expected, error)


def assert_share(events: Any, p: float) -> None:
    """Events, each of probability p whatever came before it: their share is p within the binomial error."""
    n = np.size(events)
    assert n > 1000
    error = math.sqrt(p * (1 - p) / n)
    assert abs(float(np.mean(events)) - p) <= SIGMAS * error, (np.mean(events), p, error)


def changes_of(labels: Any) -> Any:
    return labels[:, 1:] != labels[:, :-1]


# ------------------------------------------------------------------------------------------------------------- the definition


def test_the_oracle_is_a_chain_with_the_shares_of_the_closed_form() -> None:
    """Of a regime that stays, p2 / (p1 + p2) in regime 0: two thirds for the paper's odds, as it says."""
    for p1, p2, p3 in SETTINGS:
        P, always = matrix(p1, p2, p3), stationary(p1, p2, p3)
        np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-15)
        np.testing.assert_allclose(always @ P, always, rtol=1e-12)
    np.testing.assert_allclose(stationary(0.05, 0.1, 0), np.array([1 / 3, 2 / 3, 2 / 3, 1 / 3]) / 2, rtol=1e-12)


probabilities = st.one_of(st.sampled_from([0.0, 1.0, 0.5]), st.floats(0.001, 1.0))


@limits(deadline=None, max_examples=60)
@given(p1=probabilities, p2=probabilities, p3=probabilities, length=st.integers(1, 40), seed=st.integers(0, 2**32))
def test_without_a_loop_it_is_the_loop(p1: float, p2: float, p3: float, length: int, seed: int) -> None:
    ours = telegraph(length, seed, sequences=3, noise=0.7, p1=p1, p2=p2, p3=p3)
    for mine, theirs in zip(ours, loop(length, seed, 3, 0.7, p1, p2, p3), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("seed", range(10))
def test_with_schedules_it_is_the_loop(seed: int) -> None:
    """Other odds and another noise at every step, some of them 0 or 1."""
    rng = np.random.default_rng(seed)
    p1, p2 = (np.clip(rng.uniform(-0.3, 1.3, 200), 0, 1) for _ in range(2))
    noise = rng.uniform(0, 2, 200)
    ours = telegraph(200, seed, sequences=4, noise=noise, p1=p1, p2=p2 if seed % 2 else 0.3, p3=0.1)
    for mine, theirs in zip(ours, loop(200, seed, 4, noise, p1, p2 if seed % 2 else 0.3, 0.1), strict=True):
        np.testing.assert_array_equal(mine, theirs)


# ------------------------------------------------------------------------------------------------------------- its statistics


@pytest.mark.parametrize(("p1", "p2", "p3"), SETTINGS)
def test_how_often_state_and_regime_move(p1: float, p2: float, p3: float) -> None:
    """Each of the four odds by the regime of the same step; a move is of that probability whatever came before."""
    found = telegraph(1500, 1, sequences=300, p1=p1, p2=p2, p3=p3)
    assert_share(changes_of(found.regime), p3)
    before, regime, moved = found.state[:, :-1], found.regime[:, 1:], changes_of(found.state)
    for where, state, p in [(0, 1, p1), (0, 0, p2), (1, 1, p2), (1, 0, p1)]:
        assert_share(moved[(regime == where) & (before == state)], p)


@pytest.mark.parametrize(("p1", "p2", "p3"), SETTINGS)
def test_the_series_is_stationary_from_its_first_step_on(p1: float, p2: float, p3: float) -> None:
    found = telegraph(3, 2, sequences=40_000, p1=p1, p2=p2, p3=p3)
    for t in range(3):
        for which, p in enumerate(stationary(p1, p2, p3)):
            assert_share(found.joint[:, t] == which, float(p))


@pytest.mark.parametrize(("p1", "p2", "p3"), SETTINGS)
def test_the_share_of_time_in_every_class(p1: float, p2: float, p3: float) -> None:
    found = telegraph(1500, 3, sequences=400, p1=p1, p2=p2, p3=p3)
    always = stationary(p1, p2, p3)
    for which, p in enumerate(always):
        assert_mean((found.joint == which).mean(axis=1), float(p))
    # Up in a regime, less its share of the time there: 0 on average, whatever time each series spends in the regime.
    for regime in (0, 1):
        share = float(always[2 * regime + 1] / always[2 * regime : 2 * regime + 2].sum())
        there = found.regime == regime
        assert_mean((there * (found.state - share)).mean(axis=1), 0)


@pytest.mark.parametrize(("p1", "p2", "p3"), SETTINGS)
def test_autocorrelations(p1: float, p2: float, p3: float) -> None:
    """Regime (1 - 2 p3)^k; state from powers of the matrix; the input that of the state, and noise^2 at lag 0.

    The means are known, 1/2 each, and so nothing is subtracted that was measured.
    """
    noise = 0.8
    found = telegraph(1000, 4, sequences=400, noise=noise, p1=p1, p2=p2, p3=p3)
    P, always = matrix(p1, p2, p3), stationary(p1, p2, p3)
    above = np.array([-0.5, 0.5, -0.5, 0.5])
    for lag in (0, 1, 2, 5, 20):
        of_state = float(always * above @ np.linalg.matrix_power(P, lag) @ above)
        for series, expected in [
            (2 * found.regime - 1.0, (1 - 2 * p3) ** lag),
            (found.state - 0.5, of_state),
            (found.u[..., 0] - 0.5, of_state + noise**2 * (lag == 0)),
        ]:
            assert_mean((series[:, lag:] * series[:, : 1000 - lag]).mean(axis=1), expected)


def dwells(labels: Any, value: int, latest: int) -> Any:
    """Lengths of the stays in `value` that begin after the first step and before `latest`, with the step that ended them."""
    lengths = []
    for row in labels:
        edges = np.flatnonzero(row[1:] != row[:-1]) + 1
        for begin, end in itertools.pairwise(edges):
            if begin < latest and row[begin] == value:
                lengths.append(end - begin)
    return np.array(lengths)


def assert_geometric(lengths: Any, p: float) -> None:
    """P(length > d) = (1 - p)^d."""
    for d in (1, 2, 4, 8, 16):
        if (1 - p) ** d * len(lengths) > 10:
            assert_share(lengths > d, (1 - p) ** d)
    assert_mean(lengths, 1 / p)


@pytest.mark.parametrize("p3", [0.04, 0.5, 0.8])
def test_regimes_last_geometrically(p3: float) -> None:
    """Stays that begin 500 steps before the end are over by then but for one in (1 - 0.04)^500, less than 1e-8."""
    found = telegraph(2500, 5, sequences=40, p3=p3)
    for regime in (0, 1):
        assert_geometric(dwells(found.regime, regime, 2000), p3)


@pytest.mark.parametrize(("p1", "p2"), [(0.05, 0.1), (0.7, 0.06), (0.9, 0.8)])
def test_states_last_geometrically_within_a_regime(p1: float, p2: float) -> None:
    found = telegraph(2500, 6, sequences=60, p1=p1, p2=p2, p3=0)
    for regime, state, p in [(0, 1, p1), (0, 0, p2), (1, 1, p2), (1, 0, p1)]:
        rows = found.state[found.regime[:, 0] == regime]
        assert_geometric(dwells(rows, state, 2000), p)


# ------------------------------------------------------------------------------------------------------------------ its edges


def test_nothing_ever_changes() -> None:
    found = telegraph(50, sequences=4000, p1=0, p2=0, p3=0)
    for labels in (found.state, found.regime):
        assert (labels == labels[:, :1]).all()
        assert_share(labels[:, 0], 0.5)


def test_everything_changes_at_every_step() -> None:
    found = telegraph(51, sequences=4000, p1=1, p2=1, p3=1)
    for labels in (found.state, found.regime):
        assert changes_of(labels).all()
        assert_share(labels[:, 0], 0.5)


@pytest.mark.parametrize(("p1", "p2"), [(0, 1), (1, 0)])
@pytest.mark.parametrize("p3", [0, 0.2, 1])
def test_a_state_that_is_the_regime_or_its_opposite(p1: float, p2: float, p3: float) -> None:
    """With p1 = 0 and p2 = 1 regime 0 never lets a state fall and always lifts it; regime 1 the other way round."""
    found = telegraph(40, sequences=50, p1=p1, p2=p2, p3=p3)
    np.testing.assert_array_equal(found.state, found.regime if p1 else 1 - found.regime)
    assert set(np.unique(found.regime)) == {0, 1}


@pytest.mark.parametrize(("p1", "p2"), [(0.0, 0.3), (0.3, 0.0)])
def test_a_state_that_cannot_leave(p1: float, p2: float) -> None:
    """In one regime for ever, all has ended where there is no way out, from the first step on."""
    found = telegraph(30, sequences=50, p1=p1, p2=p2, p3=0)
    np.testing.assert_array_equal(found.state, found.regime if p1 else 1 - found.regime)


def test_regimes_that_stay_or_alternate() -> None:
    still, swinging = (telegraph(60, 7, sequences=30, p3=p3).regime for p3 in (0, 1))
    assert (still == still[:, :1]).all()
    assert changes_of(swinging).all()


def test_without_noise_the_input_is_the_state() -> None:
    found = telegraph(500, 8, noise=0)
    np.testing.assert_array_equal(found.u[:, 0], found.state)


@pytest.mark.parametrize("noise", [0.1, 1.0, 4.0])
def test_noise_is_white_and_normal(noise: float) -> None:
    """Mean 0, standard deviation (of relative error 1 / sqrt(2 n)), share within one and two deviations, no correlation."""
    found = telegraph(1000, 9, sequences=200, noise=noise)
    rest = (found.u[..., 0] - found.state) / noise
    n = rest.size
    assert abs(rest.mean()) < SIGMAS / math.sqrt(n)
    assert abs(rest.std() - 1) < SIGMAS / math.sqrt(2 * n)
    for d in (1, 2):
        assert_share(np.abs(rest) < d, math.erf(d / math.sqrt(2)))
    for other in (rest[:, :-1], found.state[:, 1:] - 0.5, found.regime[:, 1:] - 0.5):
        assert abs((rest[:, 1:] * other).mean()) < SIGMAS * other.std() / math.sqrt(other.size)
    assert abs((rest[1:] * rest[:-1]).mean()) < SIGMAS / math.sqrt(rest[1:].size)


def test_the_four_classes() -> None:
    found = telegraph(2000, 10, p3=0.1)
    assert found.joint.dtype == np.int8
    for t in range(2000):
        assert found.joint[t] == 2 * int(found.regime[t]) + int(found.state[t])
        assert CLASSES[found.joint[t]] == f"regime {found.regime[t]}, state {found.state[t]}"
    assert set(found.joint.tolist()) == {0, 1, 2, 3}


# ------------------------------------------------------------------------------------------------------------------ schedules


def test_a_schedule_says_every_step() -> None:
    made = schedule((2, 1.0), [3, 0.5], (1, 7))  # type: ignore[arg-type]
    assert made.tolist() == [1, 1, 0.5, 0.5, 0.5, 7]
    assert made.dtype == np.float64


def test_phases_begin_and_end_at_their_steps() -> None:
    """A state that holds, then changes at each of five steps, then holds; an input without noise before and after those."""
    odds = schedule((10, 0), (5, 1), (10, 0))
    found = telegraph(25, 11, sequences=20, p1=odds, p2=odds, noise=schedule((10, 0), (5, 1), (10, 0)))
    moved = changes_of(found.state)
    np.testing.assert_array_equal(moved, np.broadcast_to(odds[1:] == 1, moved.shape))
    np.testing.assert_array_equal(found.u[..., 0] == found.state, np.broadcast_to(odds == 0, found.state.shape))


def test_every_phase_has_its_odds_and_its_noise() -> None:
    """A phase's first step is already made by its odds, and its last one still."""
    parts = [(400, 0.05, 0.1, 0.3), (300, 0.8, 0.6, 2.0), (500, 0.02, 0.4, 1.0)]
    p1, p2, noise = (schedule(*((part[0], part[k]) for part in parts)) for k in (1, 2, 3))
    found = telegraph(1200, 12, sequences=200, p1=p1, p2=p2, p3=0.05, noise=noise)
    moved, begin = changes_of(found.state), 0
    for length, down, up, spread in parts:
        cut = slice(max(begin, 1), begin + length)
        before = found.state[:, cut.start - 1 : cut.stop - 1]
        for regime, state, p in [(0, 1, down), (0, 0, up), (1, 1, up), (1, 0, down)]:
            which = (found.regime[:, cut] == regime) & (before == state)
            assert_share(moved[:, cut.start - 1 : cut.stop - 1][which], p)
        rest = found.u[:, cut, 0] - found.state[:, cut]
        assert abs(rest.std() / spread - 1) < SIGMAS / math.sqrt(2 * rest.size)
        begin += length


def test_a_schedule_begins_with_the_stationary_process_of_its_first_odds() -> None:
    p1, p2 = schedule((1, 0.02), (4, 0.5)), schedule((1, 0.6), (4, 0.5))
    found = telegraph(5, 13, sequences=40_000, p1=p1, p2=p2, p3=0.03)
    for which, p in enumerate(stationary(0.02, 0.6, 0.03)):
        assert_share(found.joint[:, 0] == which, float(p))


def test_a_number_is_a_schedule_of_one_phase() -> None:
    numbers = telegraph(300, 14, sequences=2, p1=0.05, p2=0.5, noise=2)
    phases = telegraph(300, 14, sequences=2, p1=schedule((300, 0.05)), p2=[0.5] * 300, noise=np.full(300, 2))
    arrays = telegraph(300, 14, sequences=2, p1=np.array(0.05), p2=np.float64(0.5), noise=np.int64(2))
    for one, two, three in zip(numbers, phases, arrays, strict=True):
        np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(one, three)


# ----------------------------------------------------------------------------------------------------------- seeds and shapes


def test_one_series_is_the_first_of_one() -> None:
    one, batch = telegraph(200, 15), telegraph(200, 15, sequences=1)
    assert one.u.shape == (200, 1)
    assert one.state.shape == one.regime.shape == one.joint.shape == (200,)
    assert batch.u.shape == (1, 200, 1)
    assert batch.joint.shape == (1, 200)
    for name in Telegraph._fields:
        np.testing.assert_array_equal(getattr(one, name), getattr(batch, name)[0])


def test_seeds() -> None:
    for one, two in zip(telegraph(300, 16, sequences=3), telegraph(300, 16, sequences=3), strict=True):
        np.testing.assert_array_equal(one, two)
    for one, two in zip(telegraph(300), telegraph(300, 0), strict=True):
        np.testing.assert_array_equal(one, two)
    assert (telegraph(300, 16).u != telegraph(300, 17).u).all()
    assert (telegraph(300, 16, p3=0.5).regime != telegraph(300, 17, p3=0.5).regime).any()


def test_series_side_by_side_are_independent() -> None:
    """The product of two regimes, over pairs of series, is 0 on average; so is that of two states."""
    found = telegraph(100, 18, sequences=4000, p1=0.3, p2=0.3, p3=0.2)
    for labels in (found.state, found.regime):
        sign = 2.0 * labels - 1
        assert_mean((sign[0::2] * sign[1::2]).mean(axis=1), 0)


# ------------------------------------------------------------------------------------------------------------------ bad input

NAN, INF = math.nan, math.inf
BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"length": 0}, ValueError, "length must be at least 1, got 0"),
    ({"length": 10.0}, TypeError, r"length must be a whole number, got 10\.0"),
    ({"length": True}, TypeError, "length must be a whole number, got True"),
    ({"seed": -1}, ValueError, "seed must be at least 0, got -1"),
    ({"seed": None}, TypeError, "seed must be a whole number, got None"),
    ({"sequences": 0}, ValueError, "sequences must be at least 1, got 0"),
    ({"sequences": 2.5}, TypeError, r"sequences must be a whole number, got 2\.5"),
    ({"noise": -0.1}, ValueError, r"noise must not be negative, got -0\.1. It is a standard deviation"),
    ({"noise": NAN}, ValueError, "noise must be finite, got nan"),
    ({"noise": INF}, ValueError, "noise must be finite, got inf"),
    ({"noise": "loud"}, TypeError, "noise must be a number, got 'loud'"),
    ({"noise": True}, TypeError, "noise must be a number, got True"),
    ({"noise": None}, TypeError, "noise must be a number, got None"),
    ({"noise": [0.5] * 9 + [-1]}, ValueError, r"noise must not be negative, got -1\.0"),
    ({"noise": [0.5] * 9 + [NAN]}, ValueError, "noise must be finite, got nan"),
    ({"noise": [0.5] * 9 + [INF]}, ValueError, "noise must be finite, got inf"),
    *(
        ({name: value}, ValueError, message)
        for name in ("p1", "p2", "p3")
        for value, message in [
            (-0.01, rf"{name} must lie in \[0, 1\], got -0\.01: it is a probability per step"),
            (1.01, rf"{name} must lie in \[0, 1\], got 1\.01"),
            (NAN, f"{name} must be finite, got nan"),
        ]
    ),
    ({"p3": "often"}, TypeError, "p3 must be a number, got 'often'"),
    ({"p3": [0.1] * 10}, TypeError, "p3 must be a number"),
    ({"p1": [0.1] * 9}, ValueError, r"p1 must be a number or one for every step, \(10,\); got shape \(9,\) of float64"),
    ({"p2": [0.1] * 11}, ValueError, r"p2 .* got shape \(11,\) .* must have the length of the series"),
    ({"p1": []}, ValueError, r"p1 .* got shape \(0,\)"),
    ({"noise": np.ones((10, 1))}, ValueError, r"noise .* got shape \(10, 1\)"),
    ({"p2": np.ones(10, bool)}, ValueError, r"p2 .* got shape \(10,\) of bool"),
    ({"noise": ["a"] * 10}, ValueError, r"noise .* of <U1"),
    ({"noise": np.ones(10, complex)}, ValueError, r"noise .* of complex128"),
    ({"p1": [0.1] * 9 + [1.5]}, ValueError, r"p1 must lie in \[0, 1\], got 1\.5"),
    ({"p2": [-0.5] + [0.1] * 9}, ValueError, r"p2 must lie in \[0, 1\], got -0\.5"),
    ({"p2": [0.1] * 9 + [NAN]}, ValueError, "p2 must be finite, got nan"),
]


@pytest.mark.parametrize(("changes", "error", "message"), BAD)
def test_bad_input_is_named(changes: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        telegraph(**{"length": 10, **changes})


@pytest.mark.parametrize(
    ("phases", "error", "message"),
    [
        ((), ValueError, "at least one phase"),
        ((3, 1.0), TypeError, r"a phase of a schedule is \(steps, value\), got 3"),
        (((3, 1.0, 2.0),), TypeError, r"a phase of a schedule is \(steps, value\), got \(3, 1\.0, 2\.0\)"),
        (((3,),), TypeError, "a phase of a schedule is"),
        (("ab",), TypeError, "a phase of a schedule is .* got 'ab'"),
        (((0, 1.0),), ValueError, "the steps of a phase must be at least 1, got 0"),
        (((2, 1.0), (1.5, 1.0)), TypeError, r"the steps of a phase must be a whole number, got 1\.5"),
        (((2, NAN),), ValueError, "the value of a phase must be finite, got nan"),
        (((2, "x"),), TypeError, "the value of a phase must be a number, got 'x'"),
    ],
)
def test_a_schedule_that_is_none(phases: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        schedule(*phases)
