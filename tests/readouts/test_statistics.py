"""Statistics of pieces and of runs are those of the rows themselves, computed in extended precision."""

from __future__ import annotations

import os
import threading
from importlib import import_module
from itertools import pairwise
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

import echoscale as es
from echoscale.data.series import as_series, as_targets
from echoscale.engine import lanes
from echoscale.readouts.columns import Columns
from echoscale.readouts.moments import DeviceMoments
from echoscale.readouts.statistics import of_rows, split_statistics

Array = npt.NDArray[Any]

EPSILON = float(np.finfo(np.float64).eps)
LENGTHS = (61, 100, 77)
WHERE = pytest.mark.parametrize("where", ["host", "device"])
OFFSETS = pytest.mark.parametrize("offset", [0.0, 1e4])


def build(dtype: str = "float64", **options: Any) -> es.ESN:
    """Two reservoirs of 8 and 4 units, two inputs."""
    return es.hierarchical([8, 4], leak_rate=[0.9, 0.3], **options).build(2, seed=3, dtype=dtype)


def data(kind: str, seed: int = 0) -> tuple[Any, Any]:
    """Inputs of two features and targets of two outputs: one series, a batch, or a list of unequal lengths."""
    rng = np.random.default_rng(seed)
    if kind == "list":
        return [rng.normal(size=(n, 2)) for n in LENGTHS], [rng.normal(size=(n, 2)) for n in LENGTHS]
    shape = {"one": (100,), "batch": (5, 100), "wide batch": (40, 100)}[kind]
    return rng.normal(size=(*shape, 2)), rng.normal(size=(*shape, 2))


def sum_on(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Products are summed by BLAS on the host, or by JAX as on a GPU."""
    if where == "device":
        monkeypatch.setattr(import_module("echoscale.readouts.statistics"), "HostMoments", DeviceMoments)


def each(values: Any) -> list[Array]:
    """The series of a batch or a list one by one."""
    return [values] if isinstance(values, np.ndarray) and values.ndim == 2 else list(values)


def rows_of(states: Any, u: Any, y: Any, begin: int = 0, end: int | None = None, direct: bool = False) -> Array:
    """(rows, features + outputs) of the steps from `begin` to `end` of all series together."""
    parts = zip(each(states), each(u), each(y), strict=True)
    return np.concatenate([np.hstack([x, v, t] if direct else [x, t])[begin:end] for x, v, t in parts])


def assert_statistics_of(rows: Array, found: es.readouts.Statistics, tolerance: float = 1e-12) -> None:
    """Count, mean and scatter against a two-pass sum in extended precision, relative to the spread of the columns."""
    exact = rows.astype(np.longdouble)
    mean = exact.mean(axis=0)
    scatter = np.einsum("ri,rj->ij", exact - mean, exact - mean)
    size = np.sqrt(np.diag(scatter))
    assert found.count == len(rows)
    assert np.abs(found.mean - mean).max() <= tolerance * np.abs(exact).max()
    assert (np.abs(found.scatter - scatter) <= tolerance * np.outer(size, size)).all()


def total_of(rows: Array, edges: list[int]) -> es.readouts.Statistics:
    """The sum of the statistics of rows[a:b] for all neighbouring edges; all but two columns are features."""
    first, *others = [of_rows(rows[a:b, :-2], rows[a:b, -2:]) for a, b in pairwise(edges)]
    for other in others:
        first = first + other
    return first


@OFFSETS
@settings(deadline=None, max_examples=25, database=None)
@given(cuts=st.lists(st.integers(0, 60), max_size=5), seed=st.integers(0, 999))
def test_statistics_of_any_pieces_add_up_to_those_of_the_whole(offset: float, cuts: list[int], seed: int) -> None:
    """The means of the pieces are stored in float64: at an offset of 1e4 they are rounded to 1e-12 of the spread each."""
    rows = np.random.default_rng(seed).normal(offset, 1, (60, 5))
    total = total_of(rows, sorted({0, 60, *cuts}))
    assert_statistics_of(rows, total, tolerance=1e-12 + 4 * EPSILON * offset)
    assert total.features == 3


@OFFSETS
def test_statistics_of_long_pieces_add_up_to_twelve_digits(offset: float) -> None:
    rows = np.random.default_rng(0).normal(offset, 1, (2000, 5))
    assert_statistics_of(rows, total_of(rows, [0, 500, 800, 2000]))


@OFFSETS
def test_statistics_of_lanes_add_lane_by_lane(offset: float) -> None:
    """The leading axis is carried through the sum."""
    rows = np.random.default_rng(0).normal(offset, 1, (3, 2000, 4))

    def stack(pieces: Array) -> es.readouts.Statistics:
        parts = [of_rows(piece[:, :3], piece[:, 3:]) for piece in pieces]
        count, mean, scatter = (np.stack([getattr(part, name) for part in parts]) for name in ("count", "mean", "scatter"))
        return es.readouts.Statistics(count, mean, scatter, features=3)

    total = stack(rows[:, :700]) + stack(rows[:, 700:])
    for lane in range(3):
        assert_statistics_of(rows[lane], total.lane(lane))


@WHERE
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("washout", "direct"), [(0, False), (13, False), (13, True)])
@pytest.mark.parametrize("kind", ["one", "batch", "wide batch", "list"])
def test_statistics_of_a_run_are_those_of_its_states(
    kind: str, washout: int, direct: bool, dtype: str, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sum_on(where, monkeypatch)
    esn, (u, y) = build(dtype), data(kind)
    found = es.readouts.statistics(esn, u, y, washout=washout, direct=direct)
    assert found.features == 12 + 2 * direct
    assert_statistics_of(rows_of(esn.run(u), u, y, washout, direct=direct), found)


@WHERE
@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize(("kind", "count"), [("one", 3), ("one", 40), ("batch", 20), ("list", 3), ("list", 17)])
def test_every_lane_of_hyper_parameters_has_its_own_statistics(
    kind: str, count: int, direct: bool, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """20 lanes x 5 series and 40 lanes are more than one block, so several threads take part."""
    sum_on(where, monkeypatch)
    esn, (u, y) = build(), data(kind)
    hyper = esn.hyper.replace(leak_rate=[np.linspace(0.2, 1, count), 0.3], coupling=[np.linspace(2, 0.5, count)])
    found = es.readouts.statistics(esn, u, y, washout=13, direct=direct, hyper=hyper)
    states = esn.run(u, hyper=hyper)
    assert found.count.shape == (count,)
    for lane in range(count):
        mine = [state[lane] for state in states] if kind == "list" else states[lane]
        assert_statistics_of(rows_of(mine, u, y, 13, direct=direct), found.lane(lane))


@pytest.mark.parametrize("kind", ["one", "batch", "list"])
@pytest.mark.parametrize("washout", [0, 5, 35])
def test_chunks_of_a_run_add_up(kind: str, washout: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With chunks of 16 steps, washout and ends of series fall inside, between and across chunks."""
    monkeypatch.setattr(lanes, "LONGEST_CHUNK", 16)
    esn, (u, y) = build(), data(kind)
    assert_statistics_of(rows_of(esn.run(u), u, y, washout), es.readouts.statistics(esn, u, y, washout=washout))


def test_offsets_far_from_zero_lose_no_digits() -> None:
    """Inputs (direct features) and targets with mean 1e4 and spread 1."""
    esn, (u, y) = build(input_scaling=1e-5), data("one")
    u, y = u + 1e4, y + 1e4
    assert_statistics_of(rows_of(esn.run(u), u, y, 13, direct=True), es.readouts.statistics(esn, u, y, washout=13, direct=True))


@pytest.mark.parametrize("kind", ["one", "batch", "list"])
def test_washed_out_targets_do_not_matter(kind: str) -> None:
    """Targets before the washout may hold anything, such as a large filler value."""
    esn, (u, y) = build(), data(kind)
    for series in each(y):
        series[:13] = 1e6
    assert_statistics_of(rows_of(esn.run(u), u, y, 13), es.readouts.statistics(esn, u, y, washout=13))


@pytest.mark.parametrize("kind", ["one", "batch", "list"])
def test_the_state_carries_a_run_on(kind: str) -> None:
    """First piece, then the rest from its last states, add up to the whole."""
    esn, (u, y) = build(), data(kind)
    cut = 40
    head, tail = (
        ([v[:cut] for v in each(u)], [t[:cut] for t in each(y)]),
        ([v[cut:] for v in each(u)], [t[cut:] for t in each(y)]),
    )
    _, last = esn.run(head[0], return_state=True)
    total = es.readouts.statistics(esn, *head, washout=13) + es.readouts.statistics(esn, *tail, washout=0, state=last)
    assert_statistics_of(rows_of(esn.run(u), u, y, 13), total)


@WHERE
@pytest.mark.parametrize("lanes_of_hyper", [None, 3])
@pytest.mark.parametrize("kind", ["one", "batch", "list"])
def test_segments_are_those_of_their_steps_and_add_up(
    kind: str, lanes_of_hyper: int | None, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three segments per series, each with its own edges; the last state is that of the run."""
    sum_on(where, monkeypatch)
    esn, (u, y) = build(), data(kind)
    hyper = None if lanes_of_hyper is None else esn.hyper.replace(leak_rate=[np.linspace(0.2, 1, lanes_of_hyper), 0.3])
    series = as_series(u)
    edges = [np.array([7, 20 + 3 * b, length - 11, length]) for b, length in enumerate(series.lengths)]
    parts, last = split_statistics(esn, series, as_targets(y, series), edges, hyper=hyper)
    states, end = esn.run(u, hyper=hyper, return_state=True)
    np.testing.assert_array_equal(last, end)
    for lane in range(lanes_of_hyper or 1):
        mine = each(states) if hyper is None else each([x[lane] for x in states] if kind == "list" else states[lane])
        rows = [np.hstack(pair) for pair in zip(mine, each(y), strict=True)]
        index: Any = () if hyper is None else lane
        for segment, part in enumerate(parts):
            cut = np.concatenate([row[e[segment] : e[segment + 1]] for row, e in zip(rows, edges, strict=True)])
            assert_statistics_of(cut, part.lane(index))
        whole = np.concatenate([row[e[0] :] for row, e in zip(rows, edges, strict=True)])
        assert_statistics_of(whole, (parts[0] + parts[1] + parts[2]).lane(index))


@WHERE
def test_segments_that_end_before_the_series_do(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same steps 10 to 50 of series of unequal lengths."""
    sum_on(where, monkeypatch)
    esn, (u, y) = build(), data("list")
    series = as_series(u)
    [part], _ = split_statistics(esn, series, as_targets(y, series), [np.array([10, 50])] * len(LENGTHS))
    assert_statistics_of(rows_of(esn.run(u), u, y, 10, 50), part)


@WHERE
def test_blocks_that_hold_the_end_of_one_series_and_the_start_of_the_next(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """20 hyper lanes x 2 series in three blocks: the middle one has lanes 14 to 19 of one series and 0 to 7 of the other."""
    sum_on(where, monkeypatch)
    monkeypatch.setattr(lanes, "CPU_BLOCK_LANES", 16)
    esn, (u, y) = build(), data("list")
    series = as_series(u[:2])
    hyper = esn.hyper.replace(leak_rate=[np.linspace(0.2, 1, 20), 0.3])
    [part], _ = split_statistics(esn, series, as_targets(y[:2], series), [np.array([10, 50])] * 2, hyper=hyper)
    states = esn.run(u[:2], hyper=hyper)
    for lane in range(20):
        assert_statistics_of(rows_of([x[lane] for x in states], u[:2], y[:2], 10, 50), part.lane(lane))


@pytest.mark.parametrize("kind", ["wide batch", "list"])
def test_the_same_call_gives_the_same_bits(kind: str) -> None:
    """Blocks of lanes run in threads; their order must not show in the sums."""
    esn, (u, y) = build("float32"), data(kind)
    for hyper in (None, esn.hyper.replace(leak_rate=[np.linspace(0.2, 1, 30), 0.3])):
        calls = [es.readouts.statistics(esn, u, y, washout=13, direct=True, hyper=hyper) for _ in range(4)]
        for field in ("count", "mean", "scatter"):
            assert len({getattr(call, field).tobytes() for call in calls}) == 1


@pytest.mark.skipif((os.cpu_count() or 1) == 1, reason="BLAS has one thread anyway")
def test_runs_that_overlap_leave_the_threads_of_blas_as_they_were() -> None:
    """The first run ends while the second, begun later, still goes on; both limit BLAS to one thread meanwhile."""
    esn, (u, _) = build(), data("one")
    first_runs, second_runs, first_ended = threading.Event(), threading.Event(), threading.Event()

    def run(begun: threading.Event, go_on: threading.Event) -> None:
        def consume(*_: Any) -> None:
            begun.set()
            assert go_on.wait(60)

        esn.run_chunks(u, consume)

    def blas_threads() -> list[int]:
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    before = blas_threads()
    first = threading.Thread(target=run, args=(first_runs, second_runs))
    second = threading.Thread(target=run, args=(second_runs, first_ended))
    first.start()
    assert first_runs.wait(60)
    second.start()
    first.join()
    first_ended.set()
    second.join()
    assert blas_threads() == before


def test_statistics_of_other_columns_cannot_be_added() -> None:
    rows = np.ones((4, 3))
    with pytest.raises(ValueError, match="2 of 3 columns and of 1 of 3"):
        of_rows(rows[:, :2], rows[:, 2:]) + of_rows(rows[:, :1], rows[:, 1:])


@pytest.mark.parametrize(
    ("u", "y", "washout", "message"),
    [
        (np.ones((9, 2)), np.ones(9), 9, "9 steps, not more than washout=9"),
        ([np.ones((9, 2)), np.ones((4, 2))], [np.ones(9), np.ones(4)], 4, r"u\[1\] has 4 steps, not more than washout=4"),
        (np.ones((9, 2)), np.ones(8), 0, "y has 8 steps, its input 9"),
        (np.ones((2, 9, 2)), np.ones((3, 9)), 0, "y holds 3 series, the input 2"),
        (np.ones((9, 3)), np.ones(9), 0, "3 features, the network was built for 2"),
        (np.ones((9, 2)), np.ones(9), -1, "washout must be at least 0, got -1"),
        (np.ones((9, 2)), np.full(9, np.nan), 0, "y must be finite, found NaN at step 0"),
        (np.full((9, 2), 1e39), np.ones(9), 0, "u must be finite, found inf at step 0.*float32"),
    ],
)
def test_bad_data_is_named(u: Any, y: Any, washout: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        es.readouts.statistics(build("float32"), u, y, washout=washout)


@pytest.mark.parametrize("kind", ["one", "batch", "list"])
def test_products_of_states_are_features_too(kind: str) -> None:
    """After the states and before the inputs; float32 states are multiplied in float64."""
    u, y = data(kind)
    esn = es.single(12, leak_rate=0.5).build(2, seed=0)
    series = as_series(u)
    edges = [np.array([10, int(length)]) for length in series.lengths]
    [found], _ = split_statistics(esn, series, as_targets(y, series), edges, columns=Columns(1, True, 7))
    states = [one.astype(np.float64) for one in each(esn.run(u))]
    i, j = Columns(0, False, 7).pairs(esn).T
    rows = [np.hstack([x, x**2, x[:, i] * x[:, j], v, t])[10:] for x, v, t in zip(states, each(u), each(y), strict=True)]
    assert found.features == 12 + 12 + 7 + 2
    assert_statistics_of(np.concatenate(rows), found)


def test_products_on_a_device_are_those_of_the_host() -> None:
    states = np.random.default_rng(0).normal(size=(5, 3, 4)).astype(np.float32)
    columns, esn = Columns(0, True, 3), es.single(4).build(1, seed=0)
    on_device, on_host = (columns.of_states(each, esn) for each in (jnp.asarray(states), states))
    assert on_device.dtype == on_host.dtype == np.float64
    np.testing.assert_array_equal(on_device, on_host)
