"""Rows of features as minibatches: blocks on the device, the order of their rows, and the compiled loops over them.

One block lies on the device, or many are loaded one after another. Whatever has a `shape` (B, ...) and `block(begin, end)` ->
(rows, F) can be streamed, as a memory-mapped file can. The next block is read by a thread of its own while the last one is
computed with. A table of minibatches holds the numbers of rows in a block. One scan runs over the minibatches of a block:

    z = W ((x - mean) / spread) + gain b,      E = mean over the minibatch of loss(z, label) + ridge/2 |W|^2
    W <- W - rate_k m / (sqrt(v) + epsilon),      m and v Adam's averages of dE/dW and of its square

The scaling acts on the weights instead of the rows, since there are fewer weights. Rates and ridge are arguments, so other
values need no new compilation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax
from jax import Array

from echoscale._internal import checks
from echoscale._internal.types import Indices
from echoscale.data import losses
from echoscale.engine import devices

ADAM = optax.scale_by_adam(0.9, 0.999, 1e-8)  # paper, table of parameters; the rate comes afterwards

BLOCK_BYTES = 256 << 20  # of one block of a stream; two are in memory
PIECE_BYTES = 8 << 20  # read at once: a small piece stays in memory that the system has already mapped
ALIGNMENT = 64  # in bytes

Table = npt.NDArray[np.int32]  # (minibatches, rows): numbers of rows in a block; -1 is none

# ------------------------------------------------------------------------------------------------------------- blocks of rows


class Streamed(Protocol):
    """Rows that are read block by block, such as `echoscale.readouts.features.Features`."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(B, F) or (B, S, N)."""

    def block(self, begin: int, end: int) -> npt.ArrayLike:
        """Rows begin .. end - 1, (rows, F)."""


class FeatureRows:
    """B rows of F features, as blocks of `size` rows: block k begins at row `begins[k]`.

    The last block is as large as the others, for one compiled program: it shares rows with the block before, which owns them.

    given   an array (B, F) or (B, S, N), or an object to be streamed
    block   rows in a block; by default all for an array in memory, and what BLOCK_BYTES hold for a stream
    whole   the default size is a multiple of this one, so that minibatches fill the blocks
    """

    def __init__(self, given: npt.ArrayLike | Streamed, dtype: npt.DTypeLike, block: int | None = None, whole: int = 1) -> None:
        self.dtype = np.dtype(dtype)
        streamed = hasattr(given, "block") or isinstance(given, np.memmap)
        on_device = isinstance(given, Array) and block is None
        rows: Any = given if on_device or hasattr(given, "block") else np.asanyarray(given)
        self.given = rows
        shape = tuple(int(size) for size in rows.shape)
        if len(shape) not in (2, 3):
            raise ValueError(f"features must be (B, F) or (B, S, N), got shape {shape}.")
        self.count, self.width = shape[0], math.prod(shape[1:])
        if not self.count or not self.width:
            raise ValueError(f"features of shape {shape} are empty.")
        size = self.count
        if block is not None:
            size = checks.integer(block, "block", minimum=1)
        elif streamed:
            most = max(BLOCK_BYTES // (self.width * self.dtype.itemsize), 1)
            alike = -(-self.count // -(-self.count // most))  # or the last block might read many rows for a few of its own
            size = -(-alike // whole) * whole
        self.size = min(size, self.count)
        self.begins = [min(first, self.count - self.size) for first in range(0, self.count, self.size)]
        self._checked: set[int] = set()
        self._buffers: list[npt.NDArray[Any]] = []
        self._kept: Array | None = None

    def split(self, rows: Indices) -> list[Indices]:
        """The rows of every block among these, numbered from its beginning."""
        ordered = np.sort(rows)
        edges = np.searchsorted(ordered, [*range(0, self.count, self.size), self.count])
        return [ordered[low:high] - begin for begin, low, high in zip(self.begins, edges[:-1], edges[1:], strict=True)]

    def load(self, places: Sequence[int]) -> Iterator[Array]:
        """These blocks on the device, one after another, (rows, F); each is valid until the next one is requested."""
        if len(self.begins) == 1:
            if self._kept is None:
                self._kept = jax.device_put(self._whole())
            yield from [self._kept] * len(places)
            return
        if not self._buffers:
            # Two buffers that are filled in turn and kept: fresh memory costs more than writing to it.
            self._buffers = [_aligned(self.size, self.width, self.dtype) for _ in range(2)]
        with ThreadPoolExecutor(1) as pool:
            coming = pool.submit(self._fill, places[0], 0)
            for turn in range(len(places)):
                now = coming.result()
                if turn + 1 < len(places):
                    coming = pool.submit(self._fill, places[turn + 1], (turn + 1) % 2)
                yield jax.device_put(now)

    def _whole(self) -> Any:
        """All rows as one array."""
        if isinstance(self.given, Array):
            on_device = self.given.reshape(self.count, self.width).astype(self.dtype)
            if not bool(jnp.isfinite(on_device).all()):
                _check_finite(np.asarray(on_device), 0)
            return on_device
        if isinstance(self.given, np.ndarray) and self.given.dtype == self.dtype:
            rows = self._part(0, self.count)
            _check_finite(rows, 0)
            return rows
        self._buffers = [_aligned(self.count, self.width, self.dtype)]
        return self._fill(0, 0)

    def _fill(self, place: int, turn: int) -> npt.NDArray[Any]:
        """A block, read piece by piece into one of the buffers."""
        begin, end = self.begins[place], self.begins[place] + self.size
        buffer = self._buffers[turn]
        piece = max(PIECE_BYTES // (self.width * self.dtype.itemsize), 1)
        for low in range(begin, end, piece):
            high = min(low + piece, end)
            rows = self._part(low, high)
            if place not in self._checked:
                _check_finite(rows, low)
            buffer[low - begin : high - begin] = rows
        self._checked.add(place)
        return buffer

    def _part(self, low: int, high: int) -> npt.NDArray[Any]:
        rows = np.asarray(self.given.block(low, high) if hasattr(self.given, "block") else self.given[low:high])
        if rows.dtype.kind not in "biuf":
            raise TypeError(f"features must be real numbers, got {rows.dtype}.")
        if rows.size != (high - low) * self.width:
            raise ValueError(f"block({low}, {high}) has shape {rows.shape}, but should have ({high - low}, {self.width}).")
        return rows.reshape(high - low, self.width)


def _aligned(rows: int, width: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """An array (rows, width) that JAX can use without a copy."""
    size = rows * width * dtype.itemsize
    raw = np.empty(size + ALIGNMENT, np.uint8)
    skip = -raw.ctypes.data % ALIGNMENT
    return raw[skip : skip + size].view(dtype).reshape(rows, width)


def _check_finite(rows: npt.NDArray[Any], begin: int) -> None:
    """Raises an error if a row is not finite; the sum of squares shows it, and only then the first place is searched."""
    if rows.dtype.kind != "f":
        return
    for low in range(0, len(rows), 1024):
        part = rows[low : low + 1024]
        if np.isfinite(np.vdot(part, part)):
            continue
        for row, column in np.argwhere(~np.isfinite(part))[:1]:
            value, place = part[row, column], begin + low + row
            raise ValueError(f"features must be finite, found {value} in row {place}, feature {column}: leave that row out.")


# ------------------------------------------------------------------------------------------------------ tables of minibatches


def tables(parts: Sequence[Indices], minibatch: int, rng: np.random.Generator | None = None) -> list[tuple[int, Table]]:
    """Number and minibatches of every part that has rows: in order, or parts and the rows of each in random order.

    All tables have the height of the largest part, for one compiled program; a minibatch of -1 is empty.
    """
    height = max(steps(len(rows), minibatch) for rows in parts)
    order = range(len(parts)) if rng is None else rng.permutation(len(parts)).tolist()
    return [
        (place, cut(parts[place] if rng is None else rng.permutation(parts[place]), minibatch, height))
        for place in order
        if len(parts[place])
    ]


def cut(rows: Indices, minibatch: int, height: int) -> Table:
    """Minibatches of nearly equal size, none larger than `minibatch`, one per row of the table (height, minibatch).

    Nearly equal, since a last minibatch of a few rows would make as large a step as the others from far less data.
    """
    count = steps(len(rows), minibatch)
    table = np.full((height, minibatch), -1, np.int32)
    sizes = len(rows) // max(count, 1) + (np.arange(height) < len(rows) % max(count, 1))
    sizes[count:] = 0
    table[np.arange(minibatch) < sizes[:, None]] = rows
    return table


def steps(count: int, minibatch: int) -> int:
    """Number of minibatches for this number of rows."""
    return -(-count // minibatch)


# ------------------------------------------------------------------------------------------------------------- compiled loops


class ReadoutWeights(NamedTuple):
    """Weights of a readout of scaled features, z = coef x + intercept.

    Parameters
    ----------
    coef : (O, F)
        Weights W.
    intercept : (O,)
        Intercept b.
    """

    coef: Any
    intercept: Any


class Scale(NamedTuple):
    """The scaling of the features, and the gain of the intercept.

    mean     (F,) of every feature
    inverse  (F,) 1 / spread
    gain     sqrt(F), the size of a standardised row. Adam moves all weights alike, and centred features cannot replace an
             intercept: without a gain the intercept would learn more slowly than the F weights beside it
    """

    mean: Any
    inverse: Any
    gain: Any


class EpochState(NamedTuple):
    """The weights, Adam's averages, and the sum of the weights after every minibatch of this epoch (None: not wanted)."""

    weights: ReadoutWeights
    averages: Any
    total: ReadoutWeights | None


def on_features(weights: ReadoutWeights, scale: Scale | None) -> ReadoutWeights:
    """The same readout for unscaled features."""
    if scale is None:
        return weights
    coef = weights.coef * scale.inverse
    return ReadoutWeights(coef, scale.gain * weights.intercept - coef @ scale.mean)


@partial(jax.jit, static_argnames="loss", donate_argnames="learning", compiler_options=devices.COMPILER_OPTIONS)
def train(
    learning: EpochState,
    block: Array,
    labels: Array,
    table: Array,
    rates: Array,
    ridge: Array,
    scale: Scale | None,
    loss: str,
) -> tuple[EpochState, Array]:
    """One step for every minibatch of the table; also the sum over rows of the losses, each before its step.

    block   (rows, F), labels (rows,)
    table   (steps, minibatch) numbers of rows, -1 where there is none; a minibatch without any leaves everything as it is
    rates   (steps,)
    """

    def objective(weights: ReadoutWeights, rows: Array, right: Array, there: Array) -> tuple[Array, Array]:
        each = losses.of_labels(loss, _outputs(on_features(weights, scale), rows), right)
        total = jnp.sum(jnp.where(there, each, 0))
        return total / jnp.maximum(jnp.sum(there), 1) + ridge / 2 * jnp.sum(weights.coef**2), total

    def step(now: EpochState, minibatch: tuple[Array, Array]) -> tuple[EpochState, Array]:
        which, rate = minibatch
        slopes, total = jax.grad(objective, has_aux=True)(now.weights, *_take(block, labels, which), which >= 0)
        moves, averages = ADAM.update(slopes, now.averages)
        weights = jax.tree.map(lambda weight, move: weight - rate * move, now.weights, moves)
        summed = None if now.total is None else jax.tree.map(jnp.add, now.total, weights)
        live = jnp.any(which >= 0)
        return jax.tree.map(partial(jnp.where, live), EpochState(weights, averages, summed), now), total

    learning, totals = jax.lax.scan(step, learning, (table, rates))
    return learning, jnp.sum(totals)


@partial(jax.jit, static_argnames="loss", compiler_options=devices.COMPILER_OPTIONS)
def judge(
    weights: ReadoutWeights, block: Array, labels: Array, table: Array, scale: Scale | None, loss: str
) -> tuple[Array, Array]:
    """The sum of the losses of the rows in the table, and the number of rows with the right label."""
    ready = on_features(weights, scale)

    def step(sums: tuple[Array, Array], which: Array) -> tuple[tuple[Array, Array], None]:
        rows, right = _take(block, labels, which)
        z = _outputs(ready, rows)
        each = jnp.where(which >= 0, losses.of_labels(loss, z, right), 0)
        correct = (which >= 0) & (jnp.argmax(z, axis=1) == right)
        return (sums[0] + jnp.sum(each), sums[1] + jnp.sum(correct, dtype=jnp.int32)), None

    start = jnp.zeros((), block.dtype), jnp.zeros((), jnp.int32)
    return jax.lax.scan(step, start, table)[0]


@jax.jit
def middle(block: Array, which: Array) -> Array:
    """The mean of these rows, (F,); -1 is none."""
    return jnp.mean(jnp.take(block, which, axis=0, mode="clip"), axis=0, where=(which >= 0)[:, None])


@partial(jax.jit, compiler_options=devices.COMPILER_OPTIONS)
def moments(block: Array, table: Array, shift: Array) -> tuple[Array, Array]:
    """Sums of x - shift and of its square, (F,) each, over the rows in the table."""

    def step(sums: tuple[Array, Array], which: Array) -> tuple[tuple[Array, Array], None]:
        apart = jnp.take(block, which, axis=0, mode="clip") - shift
        there = (which >= 0).astype(apart.dtype)
        # Products, since XLA's own sum over the rows of a wide matrix is fifteen times slower.
        first, second = (jnp.matmul(there, each, precision="highest") for each in (apart, apart * apart))
        return (sums[0] + first, sums[1] + second), None

    return jax.lax.scan(step, (jnp.zeros_like(shift), jnp.zeros_like(shift)), table)[0]


def _take(block: Array, labels: Array, which: Array) -> tuple[Array, Array]:
    """Rows and labels by their numbers; -1 takes the first row, which then does not count."""
    return jnp.take(block, which, axis=0, mode="clip"), jnp.take(labels, which, mode="clip")


def _outputs(weights: ReadoutWeights, rows: Array) -> Array:
    """Scores z (rows, O) in full precision: a GPU would round float32 to ten bits, and reading the rows takes longer."""
    z: Array = jnp.matmul(rows, weights.coef.T, precision="highest") + weights.intercept
    return z
