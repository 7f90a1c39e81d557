"""Features as blocks of rows: one block that lies on the device, or many that are loaded one after another.

Whatever has a `shape` (B, ...) and `block(begin, end)` -> (rows, F) can be streamed, as a memory-mapped file can. The next
block is read by a thread of its own while the last one is computed with.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.types import Array, Indices

BLOCK_BYTES = 256 << 20  # of one block of a stream; two are in memory
PIECE_BYTES = 8 << 20  # read at once: what this needs, the system need not fetch anew each time
ALIGNMENT = 64  # in bytes


class Streamed(Protocol):
    """Rows that are read block by block, such as `echoscale.readouts.features.Features`."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(B, F) or (B, S, N)."""

    def block(self, begin: int, end: int) -> npt.ArrayLike:
        """Rows begin .. end - 1, (rows, F)."""


class Block(NamedTuple):
    """The rows begin .. end are loaded; its own are those from `first` on, the others belong to the block before."""

    begin: int
    first: int
    end: int


class FeatureRows:
    """B rows of F features, as blocks.

    given   an array (B, F) or (B, S, N), or an object to be streamed
    block   rows in a block; by default all for an array in memory, and what BLOCK_BYTES hold for a stream
    whole   the default size is a multiple of this one, so that minibatches fill the blocks
    """

    def __init__(self, given: npt.ArrayLike | Streamed, dtype: npt.DTypeLike, block: int | None = None, whole: int = 1) -> None:
        self.dtype = np.dtype(dtype)
        streamed = hasattr(given, "block") or isinstance(given, np.memmap)
        on_device = isinstance(given, jax.Array) and block is None
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
            alike = -(-self.count // -(-self.count // most))  # else the last might read many rows for a few of its own
            size = -(-alike // whole) * whole
        size = min(size, self.count)
        # The last block is as large as the others, for one compiled program, and shares rows with the one before.
        self.blocks = [
            Block(min(first, self.count - size), first, min(first + size, self.count)) for first in range(0, self.count, size)
        ]
        self._checked: set[int] = set()
        self._buffers: list[Array] = []
        self._kept: jax.Array | None = None

    def split(self, rows: Indices) -> list[Indices]:
        """The rows of every block among these, numbered from its beginning."""
        ordered = np.sort(rows)
        edges = np.searchsorted(ordered, [*(each.first for each in self.blocks), self.count])
        return [ordered[low:high] - each.begin for each, low, high in zip(self.blocks, edges[:-1], edges[1:], strict=True)]

    def load(self, places: Sequence[int]) -> Iterator[jax.Array]:
        """These blocks on the device, one after another, (rows, F); each is valid until the next one is asked for."""
        if len(self.blocks) == 1:
            if self._kept is None:
                self._kept = jax.device_put(self._whole())
            yield from [self._kept] * len(places)
            return
        if not self._buffers:
            # Two that are filled in turn, and kept: fresh memory costs more than what is written to it.
            self._buffers = [_aligned(self.blocks[0].end, self.width, self.dtype) for _ in range(2)]
        with ThreadPoolExecutor(1) as pool:
            coming = [pool.submit(self._fill, place, turn % 2) for turn, place in enumerate(places[:1])]
            for turn in range(len(places)):
                now = coming.pop().result()
                if turn + 1 < len(places):
                    coming.append(pool.submit(self._fill, places[turn + 1], (turn + 1) % 2))
                yield jax.device_put(now)

    def _whole(self) -> Any:
        """All rows as one array."""
        if isinstance(self.given, jax.Array):
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

    def _fill(self, place: int, turn: int) -> Array:
        """A block, read piece by piece into one of the buffers."""
        begin, _, end = self.blocks[place]
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

    def _part(self, low: int, high: int) -> Array:
        rows = np.asarray(self.given.block(low, high) if hasattr(self.given, "block") else self.given[low:high])
        if rows.dtype.kind not in "biuf":
            raise TypeError(f"features must be real numbers, got {rows.dtype}.")
        if rows.size != (high - low) * self.width:
            raise ValueError(f"block({low}, {high}) has shape {rows.shape}, but should have ({high - low}, {self.width}).")
        return rows.reshape(high - low, self.width)


def _aligned(rows: int, width: int, dtype: np.dtype[Any]) -> Array:
    """An array (rows, width) that JAX can use as it lies in memory."""
    size = rows * width * dtype.itemsize
    raw = np.empty(size + ALIGNMENT, np.uint8)
    skip = -raw.ctypes.data % ALIGNMENT
    return raw[skip : skip + size].view(dtype).reshape(rows, width)


def _check_finite(rows: Array, begin: int) -> None:
    """All finite? The sum of squares tells, and where it is not, the first place is looked for."""
    if rows.dtype.kind != "f":
        return
    for low in range(0, len(rows), 1024):
        part = rows[low : low + 1024]
        if np.isfinite(np.vdot(part, part)):
            continue
        for row, column in np.argwhere(~np.isfinite(part))[:1]:
            value, place = part[row, column], begin + low + row
            raise ValueError(f"features must be finite, found {value} in row {place}, feature {column}: leave that row out.")
