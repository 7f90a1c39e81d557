"""Running a built network: pieces, steps, lanes, chunks and snapshots agree with one another and with the scalar loops."""

from __future__ import annotations

import pickle
from typing import Any

import jax
import naive
import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import echoscale as es
from echoscale import ESN, Coupling, Hyper, Network, Reservoir, hierarchical, single
from echoscale.engine import lanes

Array = npt.NDArray[Any]
TOLERANCE = {"float64": 1e-12, "float32": 1e-5}

both_dtypes = pytest.mark.parametrize("dtype", ["float64", "float32"])


def noise(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).uniform(-1, 1, shape)


def feedback_network() -> Network:
    """Two levels that drive each other, with bias: every term of the equations is at work."""
    return Network(
        (
            Reservoir(20, leak_rate=0.8, spectral_radius=0.9, connections=3, bias_scaling=0.2),
            Reservoir(14, leak_rate=0.3, spectral_radius=0.7, connections=3, input_scaling=0.4),
        ),
        (Coupling(0, 1, strength=0.6, connections=3), Coupling(1, 0, strength=0.2, connections=3)),
    )


# Built once: every new network costs a compilation.
ESNS = {dtype: feedback_network().build(2, seed=1, dtype=dtype) for dtype in TOLERANCE}
LARGE = single(150, leak_rate=0.5).build(2, seed=1)
ESN64 = ESNS["float64"]
ONE = single(5).build(1)
THREE_LEVELS = hierarchical([6, 6, 6]).build(1)


def in_pieces(esn: ESN, u: Array, cuts: list[int]) -> tuple[Array, Array]:
    """The states of a series (or batch) that is run piece by piece, each from the last state of the one before."""
    state, parts = None, []
    for piece in np.split(u, cuts, axis=-2):
        states, state = esn.run(piece, state=state, return_state=True)
        parts.append(states)
    assert state is not None
    return np.concatenate(parts, axis=-2), state


# Pieces, steps and lengths


@pytest.mark.well
@pytest.mark.parametrize("cuts", [[1], [16, 32], [7, 8, 30], list(range(1, 40))], ids=str)
@pytest.mark.parametrize("batch", [(), (3,)], ids=["one series", "batch"])
@both_dtypes
def test_pieces_are_the_whole_bit_for_bit(cuts: list[int], batch: tuple[int, ...], dtype: str) -> None:
    u = noise(*batch, 40, 2)
    whole, last = ESNS[dtype].run(u, return_state=True)
    pieces, end = in_pieces(ESNS[dtype], u, cuts)
    np.testing.assert_array_equal(pieces, whole)
    np.testing.assert_array_equal(end, last)
    np.testing.assert_array_equal(end, whole[..., -1, :])


@pytest.mark.well
@given(cuts=st.lists(st.integers(1, 59), unique=True, max_size=6), seed=st.integers(0, 99))
@settings(max_examples=20, deadline=None, derandomize=True)
def test_any_cuts_are_the_whole_bit_for_bit(cuts: list[int], seed: int) -> None:
    u = noise(60, 2, seed=seed)
    pieces, _ = in_pieces(LARGE, u, sorted(cuts))
    np.testing.assert_array_equal(pieces, LARGE.run(u))


@both_dtypes
def test_a_run_of_many_chunks_is_its_pieces_and_follows_the_scalar_loops(dtype: str) -> None:
    """Longer than the longest chunk, so that the carry between chunks counts."""
    u = noise(lanes.LONGEST_CHUNK + 100, 2)
    whole = ESNS[dtype].run(u)
    pieces, _ = in_pieces(ESNS[dtype], u, [1000, lanes.LONGEST_CHUNK + 3])
    np.testing.assert_array_equal(pieces, whole)
    before = whole[lanes.LONGEST_CHUNK - 6].astype(np.float64)
    around = slice(lanes.LONGEST_CHUNK - 5, lanes.LONGEST_CHUNK + 5)
    expected = naive.states_of(ESNS[dtype], u[around], start=before)
    np.testing.assert_allclose(whole[around], expected, rtol=0, atol=TOLERANCE[dtype])


@pytest.mark.well
@pytest.mark.parametrize("batch", [(), (19,)], ids=["one series", "batch"])
@pytest.mark.parametrize("esn", [*ESNS.values(), LARGE], ids=["small float64", "small float32", "large float32"])
def test_step_by_step_is_run_bit_for_bit(esn: ESN, batch: tuple[int, ...]) -> None:
    u = noise(*batch, 20, 2)
    state, states = None, []
    for t in range(20):
        state = esn.step(u[..., t, :], state)
        states.append(state)
    np.testing.assert_array_equal(np.stack(states, axis=-2), esn.run(u))


def test_step_follows_a_hyper_that_was_replaced() -> None:
    esn, now = feedback_network().build(2, seed=1, dtype="float64"), noise(2)
    before = esn.step(now)
    esn.hyper = esn.hyper.replace(leak_rate=0.25, input_scaling=2.0)
    np.testing.assert_array_equal(esn.step(now), esn.run(now[None])[0])
    assert abs(esn.step(now) - before).max() > 1e-3


@pytest.mark.parametrize("length", [1, 15, 16, 17, 33])
def test_a_shorter_run_is_the_beginning_of_a_longer_one(length: int) -> None:
    u = noise(40, 2)
    np.testing.assert_array_equal(ESN64.run(u[:length]), ESN64.run(u)[:length])


@pytest.mark.parametrize(("count", "dtype"), [(1, "float64"), (19, "float64"), (50, "float64"), (50, "float32")])
def test_a_batch_is_its_series_one_by_one(count: int, dtype: str) -> None:
    """50 lanes run on several threads, 19 in a block with idle lanes."""
    u = noise(count, 12, 2)
    alone = [ESNS[dtype].run(each) for each in u]
    np.testing.assert_allclose(ESNS[dtype].run(u), alone, rtol=0, atol=TOLERANCE[dtype] / 10)
    np.testing.assert_allclose(ESNS[dtype].run(list(u)), alone, rtol=0, atol=TOLERANCE[dtype] / 10)


def test_several_blocks_of_lanes_are_put_back_in_their_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "CPU_BLOCK_LANES", 8)
    series = [noise(1 + (7 * b) % 40, 2, seed=b) for b in range(37)]
    result, last = ESN64.run(series, return_state=True)
    for b, u in enumerate(series):
        np.testing.assert_allclose(result[b], ESN64.run(u), rtol=0, atol=1e-13)
        np.testing.assert_array_equal(last[b], result[b][-1])


def test_a_state_for_each_series_or_one_for_all() -> None:
    u, starts = noise(3, 10, 2), noise(3, ESN64.units, seed=1)
    together = ESN64.run(u, state=starts)
    for b in range(3):
        np.testing.assert_allclose(together[b], naive.states_of(ESN64, u[b], start=starts[b]), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(ESN64.run(u, state=starts[0])[0], together[0])
    assert abs(ESN64.run(u, state=starts[0])[1] - together[1]).max() > 1e-3


def test_nothing_is_remembered_between_calls_and_no_argument_is_changed() -> None:
    u, start = noise(20, 2), noise(ESN64.units, seed=1)
    u_before, start_before = u.copy(), start.copy()
    first = ESN64.run(u, state=start)
    kept = first.copy()
    second = ESN64.run(u, state=start)
    np.testing.assert_array_equal(second, kept)
    second += 1
    np.testing.assert_array_equal(first, kept)
    np.testing.assert_array_equal(u, u_before)
    np.testing.assert_array_equal(start, start_before)


# Lanes of hyper-parameters

GRIDS: dict[str, Any] = {
    "leak_rate": [np.array([0.1, 0.5, 1.0]), 0.3],
    "spectral_radius": [0.9, np.array([0.0, 0.7, 1.2])],
    "input_scaling": np.array([0.0, 0.4, 2.0]),
    "bias_scaling": [np.array([0.0, 0.5, 1.0]), np.array([1.0, 0.5, 0.0])],
    "coupling": [np.array([-1.0, 0.0, 0.7]), 0.2],
}
ALL_AT_ONCE = ESN64.hyper.replace(**GRIDS)


def lane_of(hyper: Hyper, lane: int) -> Hyper:
    """The scalar numbers of one lane."""
    return Hyper(*(tuple(leaf if np.ndim(leaf) == 0 else leaf[lane] for leaf in leaves) for leaves in hyper))


@pytest.mark.parametrize(
    ("fields", "dtype"), [*(((field,), "float64") for field in GRIDS), (tuple(GRIDS), "float64"), (tuple(GRIDS), "float32")]
)
def test_a_grid_is_its_runs_one_by_one(fields: tuple[str, ...], dtype: str) -> None:
    """A grid of each kind of leaf alone, and of all five kinds at once."""
    esn, u = ESNS[dtype], noise(20, 2)
    hyper = esn.hyper.replace(**{field: GRIDS[field] for field in fields})
    states = esn.run(u, hyper=hyper)
    assert states.shape == (3, 20, esn.units)
    for lane in range(3):
        alone = esn.run(u, hyper=lane_of(hyper, lane))
        np.testing.assert_allclose(states[lane], alone, rtol=0, atol=TOLERANCE[dtype] / 5)
        np.testing.assert_allclose(states[lane], naive.states_of(esn, u, hyper=hyper, lane=lane), rtol=0, atol=TOLERANCE[dtype])


def test_a_hyper_runs_as_the_network_described_with_its_numbers() -> None:
    """Same seed, so same matrices: the numbers may come from the description or from a Hyper."""
    u = noise(20, 1)
    described = hierarchical([6, 6], leak_rate=[0.5, 0.1], spectral_radius=0.6, input_scaling=2, coupling=0.3).build(1, seed=8)
    plain = hierarchical([6, 6]).build(1, seed=8)
    numbers = plain.hyper.replace(leak_rate=[0.5, 0.1], spectral_radius=0.6, input_scaling=[2, 0], coupling=0.3)
    np.testing.assert_array_equal(plain.run(u, hyper=numbers), described.run(u))


def test_lanes_times_batch() -> None:
    u = noise(4, 20, 2)
    states, last = ESN64.run(u, hyper=ALL_AT_ONCE, return_state=True)
    assert states.shape == (3, 4, 20, ESN64.units)
    for lane in range(3):
        for b in range(4):
            expected = naive.states_of(ESN64, u[b], hyper=ALL_AT_ONCE, lane=lane)
            np.testing.assert_allclose(states[lane, b], expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(last, states[:, :, -1])


def test_lanes_times_a_list_of_unequal_lengths() -> None:
    series = [noise(length, 2, seed=length) for length in (5, 20, 11)]
    result, last = ESN64.run(series, hyper=ALL_AT_ONCE, return_state=True)
    batch = ESN64.run(np.stack([np.pad(u, ((0, 20 - len(u)), (0, 0))) for u in series]), hyper=ALL_AT_ONCE)
    for b, u in enumerate(series):
        assert result[b].shape == (3, len(u), ESN64.units)
        np.testing.assert_allclose(result[b], batch[:, b, : len(u)], rtol=0, atol=1e-13)
        np.testing.assert_array_equal(last[:, b], result[b][:, -1])


def test_lanes_run_in_pieces() -> None:
    u = noise(4, 20, 2)
    whole = ESN64.run(u, hyper=ALL_AT_ONCE)
    _, state = ESN64.run(u[:, :9], hyper=ALL_AT_ONCE, return_state=True)
    np.testing.assert_array_equal(ESN64.run(u[:, 9:], hyper=ALL_AT_ONCE, state=state), whole[:, :, 9:])


def test_one_lane_keeps_its_axis() -> None:
    u = noise(20, 2)
    states = ESN64.run(u, hyper=ESN64.hyper.replace(leak_rate=np.array([0.25])))
    assert states.shape == (1, 20, ESN64.units)
    np.testing.assert_array_equal(states[0], ESN64.run(u, hyper=ESN64.hyper.replace(leak_rate=0.25)))


def test_replace_leaves_the_original_and_the_other_leaves_alone() -> None:
    before = [[float(leaf) for leaf in leaves] for leaves in ESN64.hyper]
    changed = ESN64.hyper.replace(leak_rate=[0.11, 0.22])
    assert [float(leaf) for leaf in changed.leak_rate] == [0.11, 0.22]
    assert [[float(leaf) for leaf in leaves] for leaves in ESN64.hyper] == before
    assert [[float(leaf) for leaf in leaves] for leaves in changed][1:] == before[1:]
    assert changed.lanes is None
    assert ALL_AT_ONCE.lanes == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"leak": 0.5}, r"no 'leak'; it knows leak_rate, spectral_radius, input_scaling, bias_scaling, coupling"),
        ({"leak_rate": [0.1]}, r"leak_rate has 1 entries for 3 reservoirs: give 3"),
        ({"coupling": [0.1, 0.2, 0.3]}, r"coupling has 3 entries for 2 couplings: give 2"),
        ({"leak_rate": 0.0}, r"leak_rate must lie in \(0, 1\], got 0\.0"),
        ({"leak_rate": [0.1, np.array([0.2, 1.5]), 0.1]}, r"leak_rate must lie in \(0, 1\], got 1\.5"),
        ({"leak_rate": np.array([0.2, np.nan, 0.3])}, r"leak_rate must be finite, got nan"),
        ({"spectral_radius": -0.5}, r"spectral_radius must not be negative, got -0\.5"),
        ({"input_scaling": np.array([1.0, -2.0])}, r"input_scaling must not be negative, got -2\.0"),
        ({"bias_scaling": -1}, r"bias_scaling must not be negative, got -1\.0"),
        ({"coupling": np.inf}, r"coupling must be finite, got inf"),
        ({"leak_rate": np.ones((2, 2))}, r"leak_rate must be a number or one value per lane, got shape \(2, 2\)"),
        ({"leak_rate": np.ones(0)}, r"leak_rate must be a number or one value per lane, got shape \(0,\)"),
        ({"leak_rate": [np.ones(2), np.ones(3), 1.0]}, r"same number of lanes, got \[2, 3\]"),
        ({"leak_rate": np.ones(2), "coupling": np.ones(4)}, r"same number of lanes, got \[2, 4\]"),
    ],
)
def test_replace_names_the_value_and_the_remedy(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        THREE_LEVELS.hyper.replace(**change)


@pytest.mark.parametrize("levels", [2, 4])
def test_the_hyper_of_another_network_is_refused(levels: int) -> None:
    """Too many leaves would be ignored without a word, too few are an index error deep inside."""
    other = hierarchical([6] * levels).build(1).hyper
    with pytest.raises(ValueError, match=rf"{levels}.* 3"):
        THREE_LEVELS.run(noise(5, 1), hyper=other)


# Chunks and snapshots


@pytest.mark.parametrize("hyper", [None, ALL_AT_ONCE], ids=["no lanes", "three lanes"])
@pytest.mark.parametrize("unequal", [False, True], ids=["batch", "unequal lengths"])
def test_a_consumer_sees_exactly_the_states_of_run(hyper: Hyper | None, unequal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of a lane come in order without a gap; rows past the end of a shorter series repeat its last state.

    The states are copied, since they are valid during the call only.
    """
    monkeypatch.setattr(lanes, "LONGEST_CHUNK", 16)
    monkeypatch.setattr(lanes, "CPU_BLOCK_LANES", 4)
    series = [noise(50 - 7 * b * unequal, 2, seed=b) for b in range(5)]
    count = 1 if hyper is None else 3
    seen: list[list[Array]] = [[] for _ in range(5 * count)]
    starts: list[list[int]] = [[] for _ in seen]

    def consume(which: Array, start: int, states: Any) -> None:
        for lane, rows in zip(which, np.array(states).swapaxes(0, 1), strict=True):
            starts[lane].append(start)
            assert start == sum(map(len, seen[lane]))
            seen[lane].append(rows)

    last = ESN64.run_chunks(series if unequal else np.stack(series), consume, hyper=hyper)
    expected = ESN64.run(series, hyper=hyper)
    for lane, chunks in enumerate(seen):
        h, b = divmod(lane, 5)
        whole = expected[b] if hyper is None else expected[b][h]
        rows = np.concatenate(chunks)
        assert len(chunks) > 1
        np.testing.assert_array_equal(rows[: len(whole)], whole)
        assert (rows[len(whole) :] == whole[-1]).all()
        np.testing.assert_array_equal(last.reshape(-1, ESN64.units)[lane], whole[-1])


@pytest.mark.parametrize("every", [1, 3, 20])
def test_a_consumer_of_every_nth_state(every: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "LONGEST_CHUNK", 16)
    u = noise(50, 2)
    seen: list[Array] = []

    def consume(which: Array, start: int, states: Any) -> None:
        assert which.tolist() == [0]
        assert start == sum(map(len, seen)) * every
        seen.append(np.array(states)[:, 0])

    last = ESN64.run_chunks(u, consume, every=every)
    whole = ESN64.run(u)
    np.testing.assert_array_equal(np.concatenate(seen), whole[every - 1 :: every])
    np.testing.assert_array_equal(last, whole[-1])


@both_dtypes
def test_without_a_consumer_the_last_states_are_those_of_run(dtype: str) -> None:
    series = [noise(length, 2, seed=length) for length in (5, 70, 33)]
    _, last = ESNS[dtype].run(series, return_state=True)
    np.testing.assert_array_equal(ESNS[dtype].run_chunks(series), last)


def test_an_error_in_a_consumer_reaches_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "CPU_BLOCK_LANES", 16)

    def consume(*_: Any) -> None:
        raise RuntimeError("the consumer is broken")

    with pytest.raises(RuntimeError, match="the consumer is broken"):
        ESN64.run_chunks(noise(40, 12, 2), consume)


@pytest.mark.parametrize(("every", "shape"), [(1, (50,)), (7, (50,)), (50, (50,)), (3, (3, 50)), (16, (3, 50)), (20, (3, 50))])
def test_snapshots_are_every_nth_state(every: int, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "LONGEST_CHUNK", 16)
    u, start = noise(*shape, 2), noise(ESN64.units, seed=3)
    expected = ESN64.run(u, state=start)[..., every - 1 :: every, :]
    np.testing.assert_array_equal(ESN64.snapshots(u, every, state=start), expected)


def test_snapshots_of_lanes() -> None:
    u = noise(4, 20, 2)
    expected = ESN64.run(u, hyper=ALL_AT_ONCE)[:, :, 5::6]
    np.testing.assert_array_equal(ESN64.snapshots(u, 6, hyper=ALL_AT_ONCE), expected)


@pytest.mark.parametrize(
    ("u", "every", "message"),
    [
        (noise(10, 1), 0, "every must be at least 1, got 0"),
        (noise(10, 1), 11, "every=11 is longer than the series of 10 steps"),
        ([noise(4, 1), noise(9, 1)], 2, "series of one length, got 4 to 9 steps"),
    ],
)
def test_impossible_snapshots(u: Any, every: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ONE.snapshots(u, every)


# The block matrix


def test_matrices_hold_every_factor() -> None:
    drawn, hyper = ESN64.drawn, ESN64.hyper.replace(leak_rate=[0.6, 0.2], input_scaling=[1.5, 0.5], bias_scaling=[0.1, 0.3])
    block = ESN64.matrices(hyper)
    expected = np.block(
        [
            [0.9 * drawn.recurrent[0].toarray(), 0.2 * drawn.couplings[1].toarray()],
            [0.6 * drawn.couplings[0].toarray(), 0.7 * drawn.recurrent[1].toarray()],
        ]
    )
    np.testing.assert_allclose(block.W.toarray(), expected, rtol=1e-15)
    np.testing.assert_allclose(block.W_in, np.vstack([1.5 * drawn.inputs[0], 0.5 * drawn.inputs[1]]), rtol=1e-15)
    np.testing.assert_allclose(block.bias, np.concatenate([0.1 * drawn.biases[0], 0.3 * drawn.biases[1]]), rtol=1e-15)
    np.testing.assert_array_equal(block.leak_rate, [0.6] * 20 + [0.2] * 14)


def test_matrices_of_several_lanes_are_refused() -> None:
    with pytest.raises(ValueError, match="one network, but the Hyper has 3 lanes; take one value of each leaf"):
        ESN64.matrices(ALL_AT_ONCE)


def test_a_step_of_several_lanes_is_refused() -> None:
    esn = feedback_network().build(2)
    esn.hyper = esn.hyper.replace(leak_rate=np.array([0.1, 0.2]))
    with pytest.raises(ValueError, match="one network, but the Hyper has 2 lanes; take one value of each leaf"):
        esn.step(noise(2))


# Copies, dtypes and JAX's own settings


def test_a_pickled_network_runs_the_same() -> None:
    u = noise(20, 2)
    expected = ESN64.run(u)
    copy = pickle.loads(pickle.dumps(ESN64))
    assert copy.network == ESN64.network
    np.testing.assert_array_equal(copy.run(u), expected)


@both_dtypes
def test_states_have_the_dtype_asked_for_and_the_settings_of_jax_stay(dtype: str) -> None:
    before = jax.numpy.asarray(1.5).dtype
    states, last = ESNS[dtype].run(noise(5, 2), return_state=True)
    assert states.dtype == last.dtype == ESNS[dtype].step(noise(2)).dtype == np.dtype(dtype)
    assert jax.numpy.asarray(1.5).dtype == before == np.float32


@both_dtypes
def test_a_user_who_switched_jax_to_64_bit_gets_the_same_states(dtype: str) -> None:
    u = noise(20, 2)
    expected = ESNS[dtype].run(u)
    with jax.enable_x64(True):
        np.testing.assert_array_equal(feedback_network().build(2, seed=1, dtype=dtype).run(u), expected)


def test_the_cpu_may_be_named() -> None:
    u = noise(20, 2)
    for device in ("cpu", jax.devices("cpu")[0]):
        np.testing.assert_array_equal(feedback_network().build(2, seed=1, dtype="float64", device=device).run(u), ESN64.run(u))


# What is accepted

VALUES = [[1, 2], [0, -1], [3, 1]]
ACCEPTED: dict[str, Any] = {
    "nested lists of ints": VALUES,
    "tuples": tuple(map(tuple, VALUES)),
    "int64": np.array(VALUES),
    "uint8": np.array([[1, 2], [0, 255], [3, 1]], np.uint8),
    "float16": np.array(VALUES, np.float16),
    "float32": np.array(VALUES, np.float32),
    "float64": np.array(VALUES, np.float64),
    "Fortran order": np.asfortranarray(np.array(VALUES, float)),
    "a view with steps": np.array(VALUES + VALUES, float)[::2],
    "a data frame": pd.DataFrame(VALUES, columns=["a", "b"]),
    "a data frame of mixed numbers": pd.DataFrame({"a": [1, 0, 3], "b": [2.0, -1.0, 1.0]}),
    "a JAX array": jax.numpy.asarray(VALUES),
}


@pytest.mark.parametrize("u", ACCEPTED.values(), ids=ACCEPTED)
def test_accepted_kinds_of_data(u: Any) -> None:
    np.testing.assert_array_equal(ESN64.run(u), ESN64.run(np.asarray(u, np.float64)))
    np.testing.assert_array_equal(ESN64.run([u, u])[1], ESN64.run(np.stack([np.asarray(u, np.float64)] * 2))[1])


@pytest.mark.parametrize("u", [[1, 2, 3], np.array([1.0, 2, 3]), pd.Series([1, 2, 3])], ids=["list", "array", "pandas series"])
def test_one_axis_is_one_feature(u: Any) -> None:
    np.testing.assert_array_equal(ONE.run(u), ONE.run([[1.0], [2.0], [3.0]]))


# What is refused


@pytest.mark.parametrize(
    ("u", "kind", "message"),
    [
        ([[0.0], [np.nan], [1.0]], ValueError, r"u must be finite, found NaN at step 1, feature 0.*Fill or cut"),
        (np.array([[0.0], [1.0], [-np.inf]]), ValueError, r"found -inf at step 2, feature 0"),
        (np.full((3, 4, 1), np.nan), ValueError, r"u\[0\] must be finite, found NaN at step 0"),
        ([np.zeros((3, 1)), np.full((4, 1), np.inf)], ValueError, r"u\[1\] must be finite, found inf at step 0"),
        ([None, 1.0], ValueError, r"found NaN at step 0"),
        (np.ones((4, 3)), ValueError, r"u has 3 features, the network was built for 1\. A series is \(T, 1\)"),
        ([np.ones((4, 1)), np.ones((4, 2))], ValueError, r"same number of features: u\[0\] has 1, u\[1\] has 2"),
        ([np.ones((4, 2)), np.ones((3, 2))], ValueError, r"u\[0\] has 2 features, the network was built for 1"),
        ([], ValueError, r"u is empty"),
        (np.ones((0, 1)), ValueError, r"u is empty: its shape is \(0, 1\)"),
        (np.ones((4, 0)), ValueError, r"u is empty: its shape is \(4, 0\)"),
        (np.ones((2, 0, 1)), ValueError, r"u\[0\] is empty: its shape is \(0, 1\)"),
        (np.ones((0, 5, 1)), ValueError, r"u holds no series"),
        ([np.ones((4, 1)), np.ones((0, 1))], ValueError, r"u\[1\] is empty: its shape is \(0, 1\)"),
        (0.5, ValueError, r"u must be \(T, F\), \(B, T, F\) or a list.*got shape \(\)"),
        (np.ones((1, 2, 3, 1)), ValueError, r"u must be \(T, F\), \(B, T, F\) or a list.*got shape \(1, 2, 3, 1\)"),
        ([[1.0, 2.0], [3.0]], ValueError, r"u cannot be read as numbers of shape \(T, F\)"),
        (["low", "high"], ValueError, r"u cannot be read as numbers.*low"),
        (pd.DataFrame({"name": ["x", "y"]}), ValueError, r"u cannot be read as numbers.*x"),
        ([{"value": 1}], (TypeError, ValueError), r"u .*numbers"),
        (np.ones((4, 1), complex), TypeError, r"u is complex; give real and imaginary part as two features"),
        (scipy.sparse.csr_array(np.ones((4, 1))), TypeError, r"u is a sparse matrix.*toarray"),
        ([scipy.sparse.csr_array(np.ones((4, 1)))], TypeError, r"u\[0\] is a sparse matrix.*toarray"),
        (np.array(["2020-01-01", "2020-01-02"], "datetime64[D]"), (TypeError, ValueError), r"u .*datetime64"),
    ],
)
def test_bad_series_are_named_with_the_remedy(u: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        ONE.run(u)
    with pytest.raises(kind, match=message):
        ONE.snapshots(u, 1)
    with pytest.raises(kind, match=message):
        ONE.run_chunks(u, lambda *_: None)


def test_a_value_too_large_for_float32_is_told_from_a_gap_and_runs_in_float64() -> None:
    u = [[0.0], [1e39]]
    with pytest.raises(ValueError, match=r"step 1, feature 0.*float32.*float64"):
        ONE.run(u)
    assert np.isfinite(single(5).build(1, dtype="float64").run(u)).all()


@pytest.mark.parametrize(
    ("u", "state", "message"),
    [
        (noise(4, 1), np.zeros(4), r"state must have shape \(5,\).*got \(4,\)"),
        (noise(4, 1), np.zeros((2, 5)), r"state must have shape \(5,\).*got \(2, 5\)"),
        (noise(3, 4, 1), np.zeros((2, 5)), r"state must have shape \(3, 5\).*got \(2, 5\)"),
        (noise(4, 1), [0, 0, np.nan, 0, 0], r"state must be finite.*NaN"),
        (noise(4, 1), [0, 0, 0, np.inf, 0], r"state must be finite.*infinity"),
        (noise(4, 1), np.full(5, 1e39), r"state must be finite"),
        (noise(4, 1), ["a", "b", "c", "d", "e"], r"state"),
        (noise(4, 1), np.ones(5, complex), r"state.*real"),
    ],
    ids=["shape", "batch for one", "count", "nan", "inf", "too large for float32", "strings", "complex"],
)
def test_bad_states_are_named_with_the_remedy(u: Array, state: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        ONE.run(u, state=state)
    with pytest.raises((TypeError, ValueError), match=message):
        ONE.step(u[..., 0, :], state)


@pytest.mark.parametrize(
    ("u", "kind", "message"),
    [
        (0.5, ValueError, r"u must be one step, \(F,\) or \(B, F\), got shape \(\); use run"),
        (np.ones((1, 2, 1)), ValueError, r"u must be one step.*got shape \(1, 2, 1\); use run"),
        ([1.0, 2.0], ValueError, r"u has 2 features, the network was built for 1"),
        ([np.nan], ValueError, r"u must be finite, found NaN"),
        ([[0.0], [np.inf]], ValueError, r"u\[1\] must be finite, found inf"),
        ([1j], TypeError, r"u is complex; give real and imaginary part"),
        (["a"], ValueError, r"u cannot be read as numbers"),
        (np.ones((0, 1)), ValueError, r"u holds no series"),
    ],
)
def test_bad_steps_are_named_with_the_remedy(u: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        ONE.step(u)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"n_inputs": 0}, ValueError, r"n_inputs must be at least 1, got 0"),
        ({"n_inputs": 1.0}, TypeError, r"n_inputs must be a whole number, got 1\.0"),
        ({"n_inputs": "2"}, TypeError, r"n_inputs must be a whole number, got '2'"),
        ({"n_inputs": True}, TypeError, r"n_inputs must be a whole number, got True"),
        ({"n_inputs": 1, "seed": -1}, ValueError, r"seed must be at least 0, got -1"),
        ({"n_inputs": 1, "seed": 0.5}, TypeError, r"seed must be a whole number, got 0\.5"),
        ({"n_inputs": 1, "seed": "x"}, TypeError, r"seed must be a whole number, got 'x'"),
        ({"n_inputs": 1, "dtype": "float16"}, ValueError, r"dtype must be one of 'float32', 'float64'; got 'float16'"),
        ({"n_inputs": 1, "dtype": int}, ValueError, r"dtype must be one of 'float32', 'float64'; got <class 'int'>"),
        ({"n_inputs": 1, "device": "toaster"}, ValueError, r"device='toaster' is not there; JAX sees .*cpu"),
        ({"n_inputs": 1, "device": 3}, (TypeError, ValueError), r"device.*3"),
    ],
)
def test_a_bad_build_is_named_at_once_with_the_remedy(arguments: dict[str, Any], kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        single(5).build(**arguments)


# ----------------------------------------------------------------------------------------------- numbers that do not fit


OVERFLOWS: dict[str, tuple[Any, Any, str]] = {
    "input scaling": (es.single(5, input_scaling=1e39), [0.0, 0.0], "states of reservoir 0 are not finite at the end of u:"),
    "coupling": (es.hierarchical([5, 5], coupling=1e39), [0.0, 0.0], "states of reservoir 1 are not finite"),
    "an input": (
        es.single(5, input_scaling=10.0, activation="identity"),
        [0.0, 3e38],
        "Scale the inputs.*or use dtype='float64'",
    ),
}


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize("name", OVERFLOWS)
def test_what_overflows_the_precision_is_refused(name: str) -> None:
    """0 * inf and inf - inf are NaN, and a network keeps them."""
    network, values, words = OVERFLOWS[name]
    esn, u = network.build(1), np.array(values)[:, None]

    def steps(u: Any) -> None:
        for each in u:
            esn.step(each)

    for call in (esn.run, esn.run_chunks, lambda u: esn.snapshots(u, 1), steps):
        with pytest.raises(ValueError, match=words):
            call(u)
    assert np.isfinite(network.build(1, dtype="float64").run(u)).all()


def test_the_series_that_overflows_is_named() -> None:
    esn = es.parallel([5, 5], activation="identity", input_scaling=[1.0, 10.0]).build(1)
    with pytest.raises(ValueError, match=r"states of reservoir 1 are not finite at the end of u\[2\]"):
        esn.run([np.ones((4, 1)), np.ones((9, 1)), np.full((1, 1), 1e38)])


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_grids_that_overflow_are_refused() -> None:
    """On lanes, and where lanes share runs."""
    esn = es.parallel([5, 5]).build(1)
    grid = np.repeat([0.1, 0.5], 2), np.tile([1.0, 1e39], 2)
    grids: list[dict[str, Any]] = [
        {"leak_rate": [grid[0], 1.0], "input_scaling": [1.0, grid[1]]},
        {"input_scaling": [grid[1], 1.0]},
    ]
    for axes in grids:
        with pytest.raises(ValueError, match="are not finite"):
            es.readouts.statistics(esn, np.zeros((50, 1)), np.ones((50, 1)), hyper=esn.hyper.replace(**axes))


@pytest.mark.parametrize("state", [np.nan, np.inf, 1e39])
def test_states_that_are_none_are_refused(state: float) -> None:
    with pytest.raises(ValueError, match="state must be finite"):
        es.single(3).build(1).run(np.ones((3, 1)), state=[0.0, state, 0.0])


@pytest.mark.parametrize("hyper", [5, "leak_rate", {"leak_rate": 0.5}, (0.5,)])
def test_hyper_parameters_that_are_no_hyper_are_named(hyper: Any) -> None:
    esn = es.single(3).build(1)
    for call in (esn.run, esn.run_chunks, lambda u, hyper: esn.snapshots(u, 1, hyper=hyper)):
        with pytest.raises(TypeError, match="hyper must be a Hyper"):
            call(np.ones((3, 1)), hyper=hyper)


def test_masked_hyper_parameters_are_refused() -> None:
    with pytest.raises(ValueError, match="leak_rate is a masked array"):
        es.single(3).build(1).hyper.replace(leak_rate=[np.ma.masked_array([0.5, 0.4], [False, True])])
    with pytest.raises(ValueError, match="masked"):
        es.single(3, topology=np.ma.masked_array(np.ones((3, 3)), np.eye(3) > 0))


def test_the_pure_function_runs_maps_and_is_differentiated() -> None:
    """States of `run`; gradients of back-propagation through the library's own loop; lanes by vmap."""
    network = hierarchical([6, 5], leak_rate=[es.LogUniform(0.1, 0.9), 0.4], residual=["shift", "identity"])
    esn = network.build(2, seed=0, dtype="float64")
    u, y = np.random.default_rng(0).normal(size=(2, 30, 2))
    readout = es.readouts.ridge(es.readouts.statistics(esn, u, y, washout=0), 1e-2)
    with jax.enable_x64(True):
        states = esn.function()
        np.testing.assert_allclose(states(esn.hyper, u), esn.run(u), rtol=0, atol=1e-14)
        both = jax.vmap(states, in_axes=(None, 0))(esn.hyper, np.stack([u, -u]))
        np.testing.assert_allclose(both[1], -both[0], rtol=0, atol=1e-14)  # without a bias the network is odd
        carried = states(esn.hyper, u[12:], esn.run(u[:12])[-1])
        np.testing.assert_allclose(carried, esn.run(u)[12:], rtol=0, atol=1e-14)

        def error(hyper: Hyper) -> Any:
            return ((states(hyper, u) @ readout.coef.T + readout.intercept - y) ** 2).sum(axis=1).mean() / 2

        slopes = jax.grad(error)(esn.hyper)
    names = ("leak_rate", "leak_spread", "spectral_radius", "coupling")
    _, expected = es.engine.bptt.gradient(esn, u, y, readout, parameters=names, washout=0)
    for name, value in expected.parameters.items():
        field, _, place = name.partition("[")
        assert float(getattr(slopes, field)[int(place[:-1])]) == pytest.approx(value, rel=1e-10)


def test_the_pure_function_of_float64_needs_it_switched_on() -> None:
    with pytest.raises(ValueError, match="jax_enable_x64"):
        single(3).build(1, dtype="float64").function()


def test_what_a_traced_program_asks_for_first_is_kept_as_numbers() -> None:
    """Weights and hyper-parameters are kept for later calls, and a tracer is of no use after its program."""
    network = hierarchical([6, 300], leak_rate=[es.LogUniform(0.1, 0.9), 0.4])
    esn = network.build(1, seed=0)

    def longer(u: Any) -> Any:
        return u * esn.numbers().leak_rate[1] + esn.weights().inputs[0].sum()

    first = jax.jit(longer)(2.0)
    assert float(first[0]) == pytest.approx(2 * 0.4 + esn.drawn.inputs[0].sum(), rel=1e-5)
    np.testing.assert_array_equal(esn.numbers().leak_rate[1], np.array([0.4], np.float32))
    assert float(jax.jit(lambda u: longer(u) + 1)(2.0)[0]) == pytest.approx(float(first[0]) + 1, rel=1e-6)
    np.testing.assert_array_equal(esn.step([0.1]), network.build(1, seed=0).step([0.1]))
