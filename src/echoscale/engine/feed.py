"""Feed series to the network chunk by chunk, over the cores: the one loop for everything that runs along time.

Every chunk of states goes to a consumer (collect, snapshots, statistics). No state is kept here, so memory does not grow with
the length of a series. The consumers `into_array` and `into_list` keep all states of a run, and `into_outputs` all outputs.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import jax
import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Array, Indices
from echoscale.data.series import Series
from echoscale.engine import dynamics, lanes, parallel_in_time
from echoscale.engine.devices import DeviceLike, in_threads, on_cpu, precision_and_device
from echoscale.engine.dynamics import State
from echoscale.engine.hyper import Hyper
from echoscale.engine.scan import scan
from echoscale.engine.shared_runs import SharedRuns

if TYPE_CHECKING:
    from echoscale.engine.esn import ESN


Block = TypeVar("Block")
Carry = TypeVar("Carry")
Rows = TypeVar("Rows")

# consume(lanes, start, states): the states (rows, len(lanes), N) of these lanes after every `every` steps, from step `start`
# on: a NumPy array on the CPU, a JAX array elsewhere. Rows past the end of a lane's series repeat its last state. Several
# threads may pass blocks of lanes, but the chunks of one lane always come in order.
Consumer = Callable[[Indices, int, Any], None]
# consume(plan, start, states): the states (rows, runs_k, n_k) of every reservoir under this plan, from step `start` on.
SharedConsumer = Callable[[int, int, tuple[npt.NDArray[Any], ...]], None]


def over_blocks(
    run: Callable[[Block, threading.Event], None],
    blocks: Sequence[Block],
    workers: int,
    dtype: npt.DTypeLike,
    device: DeviceLike,
) -> None:
    """Call `run(block, stop)` for every block, on this number of threads, in this precision and on this device."""
    stop = threading.Event()

    def one(block: Block) -> None:
        with precision_and_device(dtype, device):
            run(block, stop)

    in_threads(one, blocks, workers, stop)


def over_chunks(
    advance: Callable[[Carry, int], tuple[Carry, Rows]],
    carry: Carry,
    hand_on: Callable[[int, Rows], None],
    length: int,
    steps: int,
    stop: threading.Event,
) -> Carry:
    """Run from step 0 to `length` in chunks of `steps`; returns the last carry.

    advance  (carry, begin) -> (carry, rows): the chunk that begins at step `begin`, as a compiled program
    hand_on  (begin, rows): receives every chunk
    """
    pending: tuple[int, Rows] | None = None
    for begin in range(0, length, steps):
        if stop.is_set():
            break
        carry, rows = advance(carry, begin)
        if pending:  # JAX computes this chunk in the background while the last one is consumed
            hand_on(*pending)
        pending = (begin, rows)
    if pending:
        hand_on(*pending)
    return carry


def feed(
    esn: ESN,
    hyper: Hyper,
    series: Series,
    start: Array | None = None,
    consume: Consumer | None = None,
    every: int = 1,
    parallel: tuple[jax.Array, ...] | None = None,
) -> Array:
    """Run every (hyper lane, series) pair from the states `start` (H * B, N), or zero; returns the last states (H * B, N)."""
    count, units, host, dtype = hyper.lanes or 1, esn.units, on_cpu(esn.device), np.dtype(esn.dtype)
    neurons = 0 if parallel is None else units * lanes.lane_count(count * series.count)
    if parallel is None or every > 1 or neurons > lanes.MOST_PARALLEL:
        parallel, plan = None, lanes.layout(series, count, units, dtype.itemsize, host, every if consume else None)
    else:
        most_steps = lanes.PARALLEL_CHUNK_BYTES // (neurons * dtype.itemsize)
        plan = lanes.layout(series, count, units, dtype.itemsize, host, most_steps=most_steps)
    fixed = esn.weights(plan.width)
    last = np.empty((count * series.count, units), dtype)

    def run(block: Indices, stop: threading.Event) -> None:
        padded = np.pad(block, (0, plan.width - len(block)), mode="edge")  # idle lanes repeat the last one
        which_hyper, which_series = np.divmod(padded, series.count)
        numbers = dynamics.once(fixed, hyper.on(which_hyper, dtype))
        remaining = series.lengths[which_series].astype(np.int32)
        longest = int(remaining.max())
        begins = np.zeros((units, plan.width), dtype) if start is None else np.ascontiguousarray(start[padded].T)

        def advance(state: State, begin: int) -> tuple[State, jax.Array]:
            u, left = inputs(series, which_series, begin, plan.steps, dtype), remaining - np.int32(begin)
            made: tuple[State, jax.Array]
            if parallel is None:
                made = scan(fixed, numbers, state, u, left, plan.every, whole=plan.whole, pairs=host)
            else:
                made = parallel_in_time.scan(fixed, numbers, parallel, state, u, left, whole=plan.whole)
            return made

        def hand_on(begin: int, states: jax.Array) -> None:
            rows = min(plan.steps, longest - begin) // plan.every
            if consume and rows:
                consume(block, begin, (np.asarray(states) if host else states)[:rows, : len(block)])

        first: Any = tuple(np.split(begins, np.cumsum(esn.sizes)[:-1]))
        state = over_chunks(advance, first, hand_on, longest, plan.steps, stop)
        last[block] = np.concatenate([np.asarray(part) for part in state]).T[: len(block)]

    over_blocks(run, plan.blocks, plan.workers, dtype, esn.device)
    return last


def feed_shared(esn: ESN, plans: Sequence[SharedRuns], given: Series, consume: SharedConsumer) -> Array:
    """Runs one series from the zero state for all plans, one thread each; returns the last states (H, N)."""
    dtype = np.dtype(esn.dtype)
    series = given.cast(dtype)
    last = np.empty((sum(len(each.lanes) for each in plans), esn.units), dtype)
    length = int(series.lengths[0])

    def run(place: int, stop: threading.Event) -> None:
        plan = plans[place]
        fixed = esn.weights(max(plan.runs))
        numbers = dynamics.once(fixed, plan.hyper.map(lambda leaf: np.asarray(leaf, dtype)))
        row = sum(n * runs for n, runs in zip(esn.sizes, plan.runs, strict=True)) * dtype.itemsize
        steps = lanes.chunk_steps(length, row, lanes.CPU_CHUNK_BYTES, lanes.LONGEST_CHUNK)

        def advance(state: State, begin: int) -> tuple[State, tuple[jax.Array, ...]]:
            u = inputs(series, np.zeros(1, np.int64), begin, steps, dtype)
            left = np.array([length - begin], np.int32)
            made: tuple[State, tuple[jax.Array, ...]] = scan(fixed, numbers, state, u, left, apart=True)
            return made

        def hand_on(begin: int, states: tuple[jax.Array, ...]) -> None:
            consume(place, begin, tuple(np.asarray(each)[: length - begin] for each in states))

        first: Any = tuple(np.zeros((size, runs), dtype) for size, runs in zip(esn.sizes, plan.runs, strict=True))
        state = over_chunks(advance, first, hand_on, length, steps, stop)
        ends = [np.asarray(end).T[runs] for end, runs in zip(state, plan.run_of, strict=True)]
        last[plan.lanes] = np.concatenate(ends, axis=1)

    over_blocks(run, range(len(plans)), len(plans), dtype, esn.device)
    return check_finite(esn, last, series)


def check_finite(esn: ESN, last: Array, series: Series) -> Array:
    """The last states of a run (lanes, N); an error if one is not finite, since a NaN stays until the end of a run."""
    if np.isfinite(last).all():
        return last
    lane, neuron = np.argwhere(~np.isfinite(last))[0].tolist()
    k = next(k for k, own in enumerate(esn.network.slices) if neuron < own.stop)
    wider = ", or use dtype='float64'" if esn.dtype == "float32" else ""
    linear = " This reservoir is linear: it grows without bound unless its spectral radius is below 1."
    raise ValueError(
        f"the states of reservoir {k} are not finite at the end of {series.called(lane % series.count)}: they left the "
        f"range of {esn.dtype}. Scale the inputs, or set smaller hyper-parameters{wider}."
        + (linear if esn.network.linear and esn.network.linear[k] else "")
    )


def inputs(series: Series, which: Indices, begin: int, steps: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
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


def into_array(series: Series, shape: tuple[int, ...], units: int, dtype: str, every: int = 1) -> tuple[Array, Consumer]:
    """An array (*shape, T // every, N) for series of one length, and the consumer that fills it."""
    states = np.empty((math.prod(shape), int(series.lengths[0]) // every, units), dtype)

    def collect(lanes: Indices, start: int, chunk: Any) -> None:
        states[lanes, start // every : start // every + len(chunk)] = np.asarray(chunk).swapaxes(0, 1)

    return states.reshape(*shape, *states.shape[1:]), collect


def into_list(series: Series, shape: tuple[int, ...], units: int, dtype: str) -> tuple[list[Array], Consumer]:
    """One array (*shape, T_b, N) for every series, and the consumer that fills them."""
    states = [np.empty((*shape, int(length), units), dtype) for length in series.lengths]

    def collect(lane: int, b: int, steps: slice, rows: Array) -> None:
        states[b][(lane, steps) if shape else steps] = rows

    return states, one_by_one(series, collect)


def into_outputs(
    series: Series, outputs: int, read: Callable[[int, int, slice, Array], Array], lanes: int = 1
) -> tuple[list[list[Array]], Consumer]:
    """Outputs (T_b, O) for every hyper lane and series, and the consumer that reads them out of the states.

    read  (lane, b, steps, states): outputs (rows, O) at these steps of series b, from states (rows, N) in float64
    """
    made = [[np.empty((int(length), outputs)) for length in series.lengths] for _ in range(lanes)]

    def collect(lane: int, b: int, steps: slice, rows: Array) -> None:
        made[lane][b][steps] = read(lane, b, steps, rows.astype(np.float64))

    return made, one_by_one(series, collect)


def one_by_one(series: Series, take: Callable[[int, int, slice, Array], None]) -> Consumer:
    """A consumer that splits chunks by lane: take(hyper lane, b, steps of series b, states (rows, N))."""

    def consume(lanes: Indices, start: int, states: Any) -> None:
        rows = np.asarray(states)
        for place, (lane, b) in enumerate(zip(*np.divmod(lanes, series.count), strict=True)):
            end = min(start + len(rows), int(series.lengths[b]))
            if start < end:
                take(int(lane), int(b), slice(start, end), rows[: end - start, place])

    return consume
