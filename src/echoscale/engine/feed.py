"""Series fed to the network chunk by chunk, over the cores.

No state is kept here: every chunk of states goes to a consumer (collect, snapshots, statistics), so memory does not grow
with the length of a series.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np
import numpy.typing as npt

from echoscale.engine.dynamics import Weights
from echoscale.engine.lanes import CPU_CHUNK_BYTES, LONGEST_CHUNK, SHORTEST_CHUNK, Indices, Layout, layout, power_of_two
from echoscale.engine.machine import in_threads, on_cpu, precision_and_device
from echoscale.engine.scan import scan
from echoscale.engine.shared_runs import SharedRuns
from echoscale.hyper import Hyper
from echoscale.series import Series

# consume(lanes, start, states): the states (len(lanes), rows, N) of these lanes after every `every` steps, from step `start`
# on: a NumPy array on the CPU, a JAX array elsewhere. Rows past the end of a lane's series repeat its last state. Blocks of
# lanes may arrive from several threads, one lane's chunks always in order.
Consumer = Callable[[Indices, int, Any], None]
# consume(plan, start, states): the states (rows, runs_k, n_k) of every reservoir under this plan, from step `start` on.
SharedConsumer = Callable[[int, int, tuple[npt.NDArray[Any], ...]], None]


def feed(
    weights: Callable[[int], Weights],
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
    weights: Callable[[int], Weights],
    sizes: tuple[int, ...],
    plans: Sequence[SharedRuns],
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
    fixed: Weights,
    sizes: tuple[int, ...],
    plan: SharedRuns,
    series: Series,
    consume: Callable[[int, tuple[npt.NDArray[Any], ...]], None],
    dtype: Any,
    stop: threading.Event,
) -> list[npt.NDArray[Any]]:
    numbers = plan.hyper.map(lambda leaf: np.asarray(leaf, dtype))
    state: Any = tuple(np.zeros((size, runs), dtype) for size, runs in zip(sizes, plan.runs, strict=True))
    row = sum(size * runs for size, runs in zip(sizes, plan.runs, strict=True)) * np.dtype(dtype).itemsize
    length = int(series.lengths[0])
    steps = min(max(power_of_two(CPU_CHUNK_BYTES // row + 1) // 2, SHORTEST_CHUNK), LONGEST_CHUNK, power_of_two(length))
    for begin in range(0, length, steps):
        if stop.is_set():
            break
        u = inputs(series, np.zeros(1, np.int64), begin, steps, dtype)
        remaining = np.array([length - begin], np.int32)
        state, states = scan(fixed, numbers, state, u, remaining, apart=True)
        consume(begin, tuple(np.asarray(each)[: length - begin] for each in states))
    return [np.asarray(each) for each in state]


def _run_block(
    fixed: Weights,
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
    numbers = hyper.on(which_hyper, dtype)
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
        state, states = scan(fixed, numbers, state, u, left, plan.every, whole=plan.whole, pairs=plan.on_cpu)
        if pending:  # JAX computes this chunk in the background while the last one is consumed
            hand_on(*pending)
        pending = (begin, states)
    if pending:
        hand_on(*pending)
    return np.concatenate([np.asarray(part) for part in state]).T[: len(lanes)]


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
