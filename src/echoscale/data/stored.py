"""Series that stay where they are stored, in Zarr, HDF5, Dask or xarray arrays or memory maps, and are read piece by piece.

    series = as_stored(u)                            checks form and type; reads nothing
    for place, pieces in walk(series, targets): ...  one piece after another, in memory, checked when it is read
    view(series, place)                              some series and some steps of each; reads nothing

A piece holds whole chunks of the storage if they fit `BLOCK_BYTES`, so that every chunk is read once. Data in memory are one
piece, so the same loop serves them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale.data.series import Kind, Numbers, Series, as_series

# Bytes (in float64) that are read at once, and that are run at once. Columns of a readout hold the inputs up to 13 times, so
# smaller pieces save memory; pieces of fewer than some thousand steps cost time.
BLOCK_BYTES, RUN_BYTES = 1 << 25, 1 << 23
# Bytes of the piece of a worker, which is all that is lost with it. Every piece of a long series has a washout of its own.
PIECE_BYTES = 1 << 28
GRAIN = 1024  # steps of a chunk of data that are not chunked
TIME = ("time", "t", "date", "step")


class Place(NamedTuple):
    """Steps `begin` to `end` - 1 of the series `first` to `last` - 1."""

    first: int
    last: int
    begin: int
    end: int


@dataclass(frozen=True, eq=False)
class Stored:
    """A part of a stored array. Slicing gives a smaller part; `np.asarray` reads its numbers, checks them, and gives float64.

    index    number or range on every axis of the source
    columns  whether the last axis of the source holds features; otherwise there is one feature
    gaps     whether NaN is allowed
    """

    source: Any
    index: tuple[int | range, ...]
    name: str
    columns: bool
    gaps: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the part, with an axis of features."""
        own = tuple(len(each) for each in self.index if isinstance(each, range))
        return own if self.columns else (*own, 1)

    @property
    def steps(self) -> range:
        """The range along time."""
        found: Any = self.index[-1 - self.columns]
        return range(found.start, found.stop)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the numbers that are read."""
        return np.dtype(np.float64)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Stored:
        keys = iter(key if isinstance(key, tuple) else (key,))
        return replace(self, index=tuple(e[next(keys, slice(None))] if isinstance(e, range) else e for e in self.index))

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Numbers:
        part = self._part()
        numbers = np.asarray(part.compute() if hasattr(part, "compute") else part)
        known = self.index[: len(self.index) - self.columns]
        where = ", ".join(f"{each.start}:{each.stop}" if isinstance(each, range) else str(each) for each in known)
        shape = (1,) * max(2 - len(self.shape), 0) + self.shape  # one step is a series too
        checked = as_series(numbers.reshape(shape), name=f"{self.name}[{where}]", gaps=self.gaps)
        return np.asarray(np.reshape(checked.values, self.shape), dtype)

    def chunks(self, axis: int) -> npt.NDArray[np.int64]:
        """Ends of the chunks along an axis of the source, ascending."""
        length, encoding = int(self.source.shape[axis]), getattr(self.source, "encoding", {})
        found = getattr(self.source, "chunks", None) or encoding.get("preferred_chunks")
        if isinstance(found, dict):  # xarray, read without Dask
            found = tuple(found.get(name, GRAIN) for name in self.source.dims)
        size = GRAIN if found is None else found[axis]
        return np.cumsum(size) if isinstance(size, tuple) else np.minimum(np.arange(size, length + size, size), length)

    def to_send(self) -> Stored:
        """The same part in a form that another process can read: a reference to the storage if it has one, or the numbers."""
        if type(self.source).__module__.startswith("zarr"):
            return self
        part, dask = self._part(), sys.modules.get("dask")
        if dask and dask.is_dask_collection(part):
            [part] = dask.optimize(part)  # without the tasks of other parts
        part = part if hasattr(part, "compute") else np.array(part)  # a copy: no view of a memory map
        return replace(self, source=part, index=tuple(map(range, part.shape)))

    def _part(self) -> Any:
        return self.source[tuple(e if isinstance(e, int) else slice(e.start, e.stop) for e in self.index)]


def is_stored(u: object) -> bool:
    """Whether data, or one series of a list, lie in a chunked array or a memory map."""
    if isinstance(u, Series):
        values: Any = u.values
        return isinstance(values, Stored) or any(isinstance(each, Stored) for each in values)
    if isinstance(u, list | tuple):
        return any(not isinstance(each, list | tuple) and is_stored(each) for each in u)
    if isinstance(u, np.ndarray) or not (hasattr(u, "shape") and hasattr(u, "dtype")):
        return isinstance(u, np.memmap)
    if hasattr(u, "dims"):  # xarray; the chunks of numbers in memory are None
        return u.chunks is not None or "preferred_chunks" in u.encoding  # type: ignore[attr-defined]
    return hasattr(u, "chunks")


def as_stored(u: Any, features: int | None = None, name: str = "u") -> Series:
    """Series whose numbers are read when they are needed: (T, F), (T,) or (B, T, F), or a list of (T_b, F)."""
    kind: Kind = "list" if isinstance(u, list | tuple) else "batch" if u.ndim == 3 else "one"
    several = [_stored(each, f"{name}[{b}]", 1, features) for b, each in enumerate(u)] if kind == "list" else []
    if len({each.shape[1] for each in several}) > 1:
        raise ValueError(f"all series of {name} must have the same number of features, got {[e.shape[1] for e in several]}.")
    values: Any = several or _stored(u, name, 1 + (kind == "batch"), features)
    return Series([values] if kind == "one" else values, kind, name)


def stored_targets(y: Any, series: Series, name: str = "y", *, gaps: bool = False) -> Series:
    """Targets of stored series, stored too or in memory: one or more columns at every step; with `gaps`, some are NaN."""
    values: Any
    if series.kind == "list":
        values = [_stored(each, f"{name}[{b}]", 1, gaps=gaps, free=True) for b, each in enumerate(y)]
    else:
        whole = _stored(y, name, 1 + (series.kind == "batch"), gaps=gaps, free=True)
        values = whole if series.kind == "batch" else [whole]
    targets = Series(values, series.kind, name)
    if not np.array_equal(targets.lengths, series.lengths):
        steps = [f"{each.count} series of {each.lengths[:5].tolist()} steps" for each in (targets, series)]
        raise ValueError(f"{name} has {steps[0]}, its input {steps[1]}; they must be of the same lengths, time first.")
    return targets


def walk(series: Series, *beside: Series) -> Iterator[tuple[Place, list[Series]]]:
    """Pieces of series, and of others of the same lengths, in memory; a group of series ends before the next one begins."""
    if not is_stored(series):
        yield Place(0, series.count, 0, int(series.lengths.max())), [series, *beside]
        return
    for block in places(series, BLOCK_BYTES):
        loaded = [in_memory(view(each, block)) for each in (series, *beside)]
        longest, steps = block.end - block.begin, RUN_BYTES // (8 * series.features * loaded[0].count)
        if loaded[0].kind == "list" and loaded[0].count > 1:
            steps = longest  # the series may end at different times
        for begin in range(0, longest, max(steps, 1)):
            here = Place(0, loaded[0].count, begin, min(begin + max(steps, 1), longest))
            place = block._replace(begin=block.begin + begin, end=block.begin + here.end)
            yield place, [view(each, here) for each in loaded]


def places(series: Series, most: int, groups: int = 1) -> Iterator[Place]:
    """Groups of series in pieces of time of about `most` bytes; at least `groups` groups, where there are enough series."""
    first, step, widest = 0, 8 * series.features, -(-series.count // groups)
    while first < series.count:
        lengths = series.lengths[first : first + widest]
        beside, ends = _chunks(series, first)
        if series.kind == "list":  # together only if they fit as a whole, since they may end at different times
            together = max(int(np.searchsorted(np.cumsum(lengths) * step, most, "right")), 1)
        else:
            together = max(most // (step * int(ends[0])) // beside, 1) * beside
        together = min(together, len(lengths))
        longest, steps = int(lengths[:together].max()), most // (step * together)
        cuts = [0, longest] if series.kind == "list" and together > 1 else [0]
        while cuts[-1] < longest:
            last, following = np.searchsorted(ends, [cuts[-1] + steps, cuts[-1]], "right") - (1, 0)
            cuts.append(min(int(ends[max(last, following)]), longest))  # a chunk that is larger is read as a whole
        yield from (Place(first, first + together, *each) for each in pairwise(cuts))
        first += together


def view(series: Series, place: Place) -> Series:
    """Some series and some steps of each."""
    some, steps = slice(place.first, place.last), slice(place.begin, place.end)
    values: Any = series.values
    batch = isinstance(values, np.ndarray | Stored)
    return Series(values[some, steps] if batch else [each[steps] for each in values[some]], series.kind, series.name)


def in_memory(series: Series) -> Series:
    """The numbers themselves, checked."""
    if not is_stored(series):
        return series
    values: Any = series.values
    read = np.asarray(values) if isinstance(values, Stored) else [np.asarray(each) for each in values]
    return Series(read, series.kind, series.name)


def to_send(series: Series) -> Series:
    """The same series in a form that is small to send to another process, and that is run there in pieces too."""

    def sent(each: Any) -> Stored:
        if isinstance(each, Stored):
            return each.to_send()
        return Stored(each, tuple(map(range, each.shape)), series.name, columns=True, gaps=True)  # checked before

    whole: Any = sent(series.values) if series.kind == "batch" else [sent(each) for each in series.values]
    return Series(whole, series.kind, series.name)


def _chunks(series: Series, b: int) -> tuple[int, npt.NDArray[np.int64]]:
    """Series in a chunk, and ends of the chunks of series b along time."""
    values: Any = series.values
    if not is_stored(series):
        return 1, np.append(np.arange(GRAIN, series.lengths[b], GRAIN), series.lengths[b])
    part = values if isinstance(values, Stored) else values[b]
    steps, axis = part.steps, len(part.index) - 1 - part.columns
    ends = part.chunks(axis) - steps.start
    return int(part.chunks(0)[0]) if axis else 1, np.append(ends[(ends > 0) & (ends < len(steps))], len(steps))


def _stored(
    source: Any, name: str, axes: int, features: int | None = None, *, gaps: bool = False, free: bool = False
) -> Stored:
    """All of an array with this number of axes up to time, and perhaps one of features; its form and type are checked."""
    if hasattr(source, "to_dask_array"):
        raise TypeError(f"{name} is a data frame of Dask: give {name}.to_dask_array(lengths=True).")
    array = source if is_stored(source) else np.asarray(source)
    shape, dims = tuple(array.shape), [str(each).lower() for each in getattr(array, "dims", ())]
    form = ("(T, F)", "(B, T, F)")[axes - 1]
    if np.dtype(array.dtype).kind not in "biuf":
        raise TypeError(f"{name} cannot be read as real numbers: its dtype is {array.dtype}.")
    if len(shape) not in (axes, axes + 1):
        raise ValueError(f"{name} must be {form}, got shape {shape}.")
    if any(each != each for each in shape):
        raise ValueError(f"{name} has chunks of unknown size: call {name}.compute_chunk_sizes() first.")
    if 0 in shape:
        raise ValueError(f"{name} is empty: its shape is {shape}.")
    found = shape[axes] if len(shape) > axes else 1
    if features not in (None, found):
        raise ValueError(f"{name} has {found} features, {features} are needed. A series is (T, {features}), time first.")
    elsewhere = bool(set(TIME) & set(dims)) and dims[axes - 1] not in TIME
    if elsewhere or (features is None and not free and found > shape[axes - 1]):
        raise ValueError(
            f"{name} must be {form}, time before features, but it has {found} features and {shape[axes - 1]} steps: its shape "
            f"is {shape}{f', its axes {tuple(dims)}' if dims else ''}. Give a transposed Dask or xarray array."
        )
    return Stored(array, tuple(map(range, shape)), name, len(shape) > axes, gaps)
