"""Many series and many hyper-parameters on the lanes of one scan: blocks of lanes that fit the cache, fed chunk by chunk.

No state is kept here: every chunk of states goes to a consumer (collect, snapshots, statistics), so memory does not grow
with the length of a series.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
import numpy.typing as npt

from echoscale import dynamics
from echoscale.blas import one_thread
from echoscale.hyper import Hyper
from echoscale.series import Series
from echoscale.sharing import Plan

Indices = npt.NDArray[np.int64]
# consume(lanes, start, states): the states (len(lanes), rows, N) of these lanes after every `every` steps, from step `start`
# on: a NumPy array on the CPU, a JAX array elsewhere. Rows past the end of a lane's series repeat its last state. Blocks of
# lanes may arrive from several threads, one lane's chunks always in order.
Consumer = Callable[[Indices, int, Any], None]
# consume(plan, start, states): the states (rows, runs_k, n_k) of every reservoir under this plan, from step `start` on.
SharedConsumer = Callable[[int, int, tuple[npt.NDArray[Any], ...]], None]

# Measured (docs/design.md): a chunk of states should stay in a core's share of the cache until its consumer has read it.
CPU_CHUNK_BYTES, GPU_CHUNK_BYTES = 12 << 20, 1 << 30
# And the states of one step in its second-level cache; on a GPU, in half of the cache that all of it shares.
CPU_STATE_BYTES, GPU_STATE_BYTES = 5 << 17, 24 << 20
CPU_BLOCK_LANES, GPU_BLOCK_LANES = 256, 8192
SHORTEST_CHUNK, LONGEST_CHUNK = 16, 2048
CHEAP_STEP = 10_000  # neurons in all lanes together: a few microseconds


class Layout(NamedTuple):
    """How a run is cut: blocks of lanes (lane = hyper lane * B + series) and chunks of steps; every `every`-th is handed on.

    whole  no series ends within a chunk, so that nothing has to be masked
    """

    blocks: list[Indices]
    width: int
    steps: int
    every: int
    whole: bool
    workers: int
    on_cpu: bool


def layout(series: Series, hyper_lanes: int, units: int, itemsize: int, on_cpu: bool, every: int | None = 1) -> Layout:
    """Blocks of equal width, one or more per core; the longest series first, so that a block holds like lengths."""
    lengths = np.tile(series.lengths, hyper_lanes)
    order = np.argsort(-lengths, kind="stable")
    workers = cores() if on_cpu else 1
    limit = most_lanes(units, itemsize, on_cpu)
    # Few lanes cost as much as one: split them over the cores only where each still gets a vector's worth. Many blocks come
    # in multiples of the cores, so that none is idle at the end.
    parts = -(-len(order) // limit)
    parts = -(-parts // workers) * workers if parts > 1 else max(min(workers, len(order) // 16), 1)
    width = lane_count(-(-len(order) // parts))
    blocks = [order[i : i + width] for i in range(0, len(order), width)]
    budget = (CPU_CHUNK_BYTES if on_cpu else GPU_CHUNK_BYTES) // (units * width * itemsize)
    # Where a step is cheap, idle steps cost less than compiling for one more length; where it is dear, the other way round.
    dear = units * width >= CHEAP_STEP
    fit = round_up if dear else _power_of_two
    longest = min(max(fit(int(lengths.max())), SHORTEST_CHUNK), LONGEST_CHUNK)
    if every is None:
        every, rows = longest, 1
    else:
        # As many rows as fit the cache, but no more than the longest chunk holds.
        rows = min(max(_power_of_two(budget + 1) // 2, SHORTEST_CHUNK), -(-longest // every))
        if dear:  # chunks of about one length: 28 rows are 2 x 14, not 16 and 12 with 4 idle
            total = -(-int(lengths.max()) // every)
            rows = min(rows, round_up(-(-total // -(-total // rows))))
    steps = rows * every
    whole = dear and int(lengths.min()) == int(lengths.max()) and int(lengths.max()) % steps == 0
    return Layout(blocks, width, steps, every, whole, min(workers, len(blocks)), on_cpu)


def most_lanes(units: int, itemsize: int, on_cpu: bool) -> int:
    """Lanes of a block, such that the states of one step fit the cache."""
    if on_cpu:
        return min(max(CPU_STATE_BYTES // (units * itemsize), 32), CPU_BLOCK_LANES)
    return min(max(GPU_STATE_BYTES // (units * itemsize), 1024), GPU_BLOCK_LANES)


def on_cpu(device: Any) -> bool:
    """Whether this device, or JAX's choice, is the processor itself."""
    return bool((device.platform if device is not None else jax.default_backend()) == "cpu")


def cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def lane_count(count: int) -> int:
    """The next power of two up to 16, the next multiple of 16 beyond: whole vectors, and few compiled programs."""
    return _power_of_two(count) if count <= 16 else -(-count // 16) * 16


def round_up(count: int) -> int:
    """The next size of at most eight per power of two: at most an eighth of the steps is idle."""
    grain = max(_power_of_two(count + 1) // 16, 1)
    return -(-count // grain) * grain


def _power_of_two(count: int) -> int:
    """The smallest power of two >= count."""
    return 1 << max(count - 1, 0).bit_length()


@contextmanager
def precision_and_device(dtype: Any, device: Any) -> Iterator[None]:
    """float64 and the device are asked for here and only here; JAX's global settings stay as the user left them."""
    with ExitStack() as stack:
        stack.enter_context(jax.enable_x64(np.dtype(dtype) == np.float64))
        if device is not None:
            stack.enter_context(jax.default_device(device))
        yield


def feed(
    weights: Callable[[int], dynamics.Weights],
    sizes: tuple[int, ...],
    hyper: Hyper,
    series: Series,
    start: npt.NDArray[Any] | None,
    consume: Consumer | None,
    dtype: Any,
    device: Any,
    every: int = 1,
) -> npt.NDArray[Any]:
    """Run every (hyper lane, series) pair from the states `start` (H * B, N), or zero; returns the last states (H * B, N)."""
    plan = layout(series, hyper.lanes or 1, sum(sizes), np.dtype(dtype).itemsize, on_cpu(device), every if consume else None)
    last = np.empty(((hyper.lanes or 1) * series.count, sum(sizes)), dtype)
    stop = threading.Event()
    with precision_and_device(dtype, device):
        fixed = weights(plan.width)

    def run_block(lanes: Indices) -> None:
        with precision_and_device(dtype, device):
            last[lanes] = _run_block(fixed, sizes, hyper, series, start, lanes, plan, consume, dtype, stop)

    in_threads(run_block, plan.blocks, plan.workers, stop)
    return last


def feed_shared(
    weights: Callable[[int], dynamics.Weights],
    sizes: tuple[int, ...],
    plans: Sequence[Plan],
    series: Series,
    consume: SharedConsumer,
    dtype: Any,
    device: Any,
) -> npt.NDArray[Any]:
    """Run one series from the zero state under the numbers of all plans, one thread each; returns the last states (H, N)."""
    last = np.empty((sum(len(each.lanes) for each in plans), sum(sizes)), dtype)
    stop = threading.Event()

    def run(place: int) -> None:
        with precision_and_device(dtype, device):
            plan = plans[place]
            ends = _run_plan(weights(max(plan.runs)), sizes, plan, series, partial(consume, place), dtype, stop)
            last[plan.lanes] = np.concatenate([end.T[run] for end, run in zip(ends, plan.run_of, strict=True)], axis=1)

    in_threads(run, range(len(plans)), len(plans), stop)
    return last


def _run_plan(
    fixed: dynamics.Weights,
    sizes: tuple[int, ...],
    plan: Plan,
    series: Series,
    consume: Callable[[int, tuple[npt.NDArray[Any], ...]], None],
    dtype: Any,
    stop: threading.Event,
) -> list[npt.NDArray[Any]]:
    numbers = Hyper(*(tuple(np.asarray(leaf, dtype) for leaf in leaves) for leaves in plan.hyper))
    state: Any = tuple(np.zeros((size, runs), dtype) for size, runs in zip(sizes, plan.runs, strict=True))
    row = sum(size * runs for size, runs in zip(sizes, plan.runs, strict=True)) * np.dtype(dtype).itemsize
    length = int(series.lengths[0])
    steps = min(max(_power_of_two(CPU_CHUNK_BYTES // row + 1) // 2, SHORTEST_CHUNK), LONGEST_CHUNK, _power_of_two(length))
    for begin in range(0, length, steps):
        if stop.is_set():
            break
        u = inputs(series, np.zeros(1, np.int64), begin, steps, dtype)
        remaining = np.array([length - begin], np.int32)
        state, states = dynamics.scan(fixed, numbers, state, u, remaining, apart=True)
        consume(begin, tuple(np.asarray(each)[: length - begin] for each in states))
    return [np.asarray(each) for each in state]


def in_threads(run: Callable[[Any], None], jobs: Sequence[Any], workers: int, stop: threading.Event) -> None:
    """All jobs, over so many threads; an interrupt or an error stops the others too."""
    with one_thread():
        if workers == 1:
            for job in jobs:
                run(job)
            return
        with ThreadPoolExecutor(workers) as pool:
            try:
                for done in [pool.submit(run, job) for job in jobs]:
                    done.result()
            except BaseException:
                stop.set()  # so that it does not wait for the others to run to their end
                pool.shutdown(cancel_futures=True)
                raise


def _run_block(
    fixed: dynamics.Weights,
    sizes: tuple[int, ...],
    hyper: Hyper,
    series: Series,
    start: npt.NDArray[Any] | None,
    lanes: Indices,
    plan: Layout,
    consume: Consumer | None,
    dtype: Any,
    stop: threading.Event,
) -> npt.NDArray[Any]:
    padded = np.pad(lanes, (0, plan.width - len(lanes)), mode="edge")  # idle lanes repeat the last one
    which_hyper, which_series = np.divmod(padded, series.count)
    # NumPy arrays all: a compiled program takes them faster than JAX makes arrays of them one by one.
    numbers = Hyper(*(tuple(_on_lanes(leaf, which_hyper, dtype) for leaf in leaves) for leaves in hyper))
    if start is None:
        state: Any = tuple(np.zeros((size, plan.width), dtype) for size in sizes)
    else:
        state = tuple(np.split(np.ascontiguousarray(start[padded].T), np.cumsum(sizes)[:-1]))
    remaining = series.lengths[which_series].astype(np.int32)
    longest = int(remaining.max())

    def hand_on(begin: int, states: jax.Array) -> None:
        rows = min(plan.steps, longest - begin) // plan.every
        if consume and rows:
            consume(lanes, begin, (np.asarray(states) if plan.on_cpu else states)[:rows, : len(lanes)].transpose(1, 0, 2))

    pending: tuple[int, jax.Array] | None = None
    for begin in range(0, longest, plan.steps):
        if stop.is_set():
            break
        u = inputs(series, which_series, begin, plan.steps, dtype)
        left = remaining - np.int32(begin)
        state, states = dynamics.scan(fixed, numbers, state, u, left, plan.every, whole=plan.whole, pairs=plan.on_cpu)
        if pending:  # JAX computes this chunk in the background while the last one is consumed
            hand_on(*pending)
        pending = (begin, states)
    if pending:
        hand_on(*pending)
    return np.concatenate([np.asarray(part) for part in state]).T[: len(lanes)]


def _on_lanes(leaf: Any, lanes: Indices, dtype: Any) -> npt.NDArray[Any]:
    """A leaf of `Hyper` for these lanes: one value each, or (1,) for all."""
    values = np.asarray(leaf, dtype)
    return values[lanes] if values.ndim else values.reshape(1)


def inputs(series: Series, which: Indices, begin: int, steps: int, dtype: Any) -> npt.NDArray[Any]:
    """The next inputs of these series, (steps, F, lanes), zero past their ends; one lane where all share one series."""
    if series.count == 1:
        which = which[:1]
    block = np.zeros((steps, series.features, len(which)), dtype)
    if isinstance(series.values, np.ndarray):
        part = series.values[which, begin : begin + steps]
        block[: part.shape[1]] = part.transpose(1, 2, 0)
        return block
    for lane, b in enumerate(which):
        part = series.values[b][begin : begin + steps]
        block[: len(part), :, lane] = part
    return block
