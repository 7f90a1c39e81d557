"""The layout of a run: every (hyper lane, series) pair is a lane; blocks of lanes fit the cache; time is cut into chunks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from echoscale._internal.types import Indices
from echoscale.data.series import Series
from echoscale.engine.devices import cores

# Measured (docs/architecture.md): a chunk of states should stay in a core's share of the cache until its consumer has read it.
CPU_CHUNK_BYTES, GPU_CHUNK_BYTES = 12 << 20, 1 << 30
# And the states of one step in its second-level cache; on a GPU, in half of the cache that all of it shares.
CPU_STATE_BYTES, GPU_STATE_BYTES = 5 << 17, 24 << 20
CPU_BLOCK_LANES, GPU_BLOCK_LANES = 256, 8192
SHORTEST_CHUNK, LONGEST_CHUNK = 16, 2048
# If all steps of a chunk are computed at once: bytes of its states, and neurons in all lanes: with more of them, a single step
# fills the GPU.
PARALLEL_CHUNK_BYTES, MOST_PARALLEL = 1 << 28, 1 << 20
CHEAP_STEP = 10_000  # neurons in all lanes together: a few microseconds


class Layout(NamedTuple):
    """Blocks of lanes (lane = hyper lane * B + series) and chunks of steps; every `every`-th state is passed on.

    whole  no series ends within a chunk, so that nothing has to be masked
    """

    blocks: list[Indices]
    width: int
    steps: int
    every: int
    whole: bool
    workers: int
    on_cpu: bool


def layout(
    series: Series,
    hyper_lanes: int,
    units: int,
    itemsize: int,
    on_cpu: bool,
    every: int | None = 1,
    most_steps: int | None = None,
) -> Layout:
    """Blocks of equal width, at least one per core; the longest series first, so that a block holds similar lengths."""
    lengths = np.tile(series.lengths, hyper_lanes)
    order = np.argsort(-lengths, kind="stable")
    workers = cores() if on_cpu else 1
    limit = most_lanes(units, itemsize, on_cpu)
    # Few lanes cost as much as one: they are split over the cores only if each core still fills a vector. Many blocks are
    # made in multiples of the number of cores, so that no core is idle at the end.
    parts = -(-len(order) // limit)
    parts = -(-parts // workers) * workers if parts > 1 else max(min(workers, len(order) // 16), 1)
    width = lane_count(-(-len(order) // parts))
    blocks = [order[i : i + width] for i in range(0, len(order), width)]
    budget = (CPU_CHUNK_BYTES if on_cpu else GPU_CHUNK_BYTES) // (units * width * itemsize)
    # If a step is cheap, idle steps cost less than compiling for one more length; if it is expensive, they cost more.
    dear = units * width >= CHEAP_STEP
    fit = round_up if dear else power_of_two
    longest = min(max(fit(int(lengths.max())), SHORTEST_CHUNK), most_steps or LONGEST_CHUNK)
    if every is None:
        every, rows = longest, 1
    else:
        # As many rows as fit the cache, but no more than the longest chunk holds.
        rows = min(max(power_of_two(budget + 1) // 2, SHORTEST_CHUNK), -(-longest // every))
        if dear:  # chunks of about one length: 28 rows are 2 x 14, not 16 and 12 with 4 idle
            total = -(-int(lengths.max()) // every)
            rows = min(rows, round_up(-(-total // -(-total // rows))))
    steps = rows * every
    whole = dear and int(lengths.min()) == int(lengths.max()) and int(lengths.max()) % steps == 0
    return Layout(blocks, width, steps, every, whole, min(workers, len(blocks)), on_cpu)


def chunk_steps(length: int, row: int, budget: int, longest: int) -> int:
    """Number of steps of a chunk if one step gives `row` bytes: the largest power of two within the budget."""
    return min(max(power_of_two(budget // row + 1) // 2, SHORTEST_CHUNK), longest, power_of_two(length))


def most_lanes(units: int, itemsize: int, on_cpu: bool) -> int:
    """Largest number of lanes of a block whose states of one step fit the cache."""
    if on_cpu:
        return min(max(CPU_STATE_BYTES // (units * itemsize), 32), CPU_BLOCK_LANES)
    return min(max(GPU_STATE_BYTES // (units * itemsize), 1024), GPU_BLOCK_LANES)


def lane_count(count: int) -> int:
    """The next power of two up to 16, the next multiple of 16 beyond: this gives whole vectors and few compiled programs."""
    return power_of_two(count) if count <= 16 else -(-count // 16) * 16


def round_up(count: int) -> int:
    """The next size of at most eight per power of two: at most an eighth of the steps is idle."""
    grain = max(power_of_two(count + 1) // 16, 1)
    return -(-count // grain) * grain


def power_of_two(count: int) -> int:
    """The smallest power of two >= count."""
    return 1 << max(count - 1, 0).bit_length()
