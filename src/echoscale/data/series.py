"""Data that users pass, in one form: arrays, lists, data frames; one series, a batch, or series of unequal length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks

Numbers = npt.NDArray[Any]
# Types that users may pass as a series: (T, F), (B, T, F) or (T,) as array, nested list or data frame; or a list of (T_b, F).
SeriesLike = npt.ArrayLike | Sequence[npt.ArrayLike]
MOST_WASHOUT = 100
Kind = Literal["one", "batch", "list"]


@dataclass(frozen=True, eq=False)
class Series:
    """Checked series of one dtype, which need no further checks.

    `as_series` and `as_targets` make them, and every function for series accepts them.

    Attributes
    ----------
    values : (B, T, F) or list of (T_b, F)
        Numbers; `values[b]` is series b.
    kind : "one", "batch" or "list"
        Form in which the user passed the data.
    name : str
        Name in error messages.
    columns : tuple of str
        Names of the features, from data frames.
    index : tuple
        Row labels of every series, None for a series without; empty if no series has any.
    """

    values: Sequence[Numbers] | Numbers
    kind: Kind
    name: str = "u"
    columns: tuple[str, ...] = ()
    index: tuple[Any, ...] = ()

    @cached_property
    def count(self) -> int:
        """Number B of series."""
        return len(self.values)

    @cached_property
    def features(self) -> int:
        """Number F of features."""
        return int(self.values[0].shape[1])

    @cached_property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Number of steps T_b of every series, (B,)."""
        if isinstance(self.values, np.ndarray):
            return np.full(len(self.values), self.values.shape[1], np.int64)
        return np.array([len(each) for each in self.values], np.int64)

    @cached_property
    def known(self) -> list[npt.NDArray[np.bool_]]:
        """Whether each step of every series has no gap (NaN), (T_b,)."""
        return [np.asarray(~np.isnan(each).any(axis=1)) for each in self.values]

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """Precision of all numbers."""
        return self.values[0].dtype

    def cast(self, dtype: npt.DTypeLike) -> Series:
        """Returns the same series in another precision; numbers that are too large for it raise an error."""
        wanted = np.dtype(dtype)
        if self.dtype == wanted:
            return self
        with np.errstate(over="ignore"):
            changed = replace(self.mapped(lambda each: each.astype(wanted)), columns=self.columns, index=self.index)
        if wanted.itemsize < self.dtype.itemsize:
            _check(changed)
        return changed

    def mapped(self, change: Callable[[Numbers], Numbers]) -> Series:
        """Returns series with `change` applied to (..., T, F), without names of columns and rows."""
        values = self.values
        changed = change(values) if isinstance(values, np.ndarray) else [change(each) for each in values]
        return Series(changed, self.kind, self.name)

    def called(self, b: int) -> str:
        """Name of series b in error messages."""
        return self.name if self.kind == "one" else f"{self.name}[{b}]"


def as_series(
    u: SeriesLike | Series,
    features: int | None = None,
    name: str = "u",
    dtype: npt.DTypeLike = np.float64,
    *,
    gaps: bool = False,
    columns: Sequence[str] = (),
) -> Series:
    """Returns checked series in one form: (T, F) is one series, (B, T, F) a batch, and a list has series (T_b, F).

    (T,) is read as (T, 1). Everything must be finite and non-empty. This is the door: behind it, nobody checks again.
    """
    if isinstance(u, Series):
        series = u if u.dtype == dtype else u.cast(dtype)
        if features not in (None, series.features):
            _check(series, features)
        _same_columns(series.columns, tuple(columns), name)
        return series
    kind: Kind
    values: Sequence[Numbers] | Numbers
    if is_list_of_series(u):
        kind, values = "list", [as_numbers(each, f"{name}[{b}]", dtype) for b, each in enumerate(u)]  # type: ignore[arg-type]
        _same_features(values, name)
    else:
        array = as_numbers(u, name, dtype)
        if array.ndim == 1:
            array = array[:, None]
        if array.ndim not in (2, 3):
            raise ValueError(f"{name} must be (T, F), (B, T, F) or a list of (T, F), got shape {array.shape}.")
        kind, values = ("one", array[None]) if array.ndim == 2 else ("batch", array)
    if len(values) == 0:
        raise ValueError(f"{name} holds no series at all.")
    series = Series(values, kind, name, _columns(u, kind, name), _index(u, kind))
    _check(series, features, gaps)
    _same_columns(series.columns, tuple(columns), name)
    return series


def as_targets(
    y: SeriesLike | Series, series: Series, name: str = "y", dtype: npt.DTypeLike = np.float64, *, gaps: bool = False
) -> Series:
    """Targets step by step for `series`: the same lengths, one or more columns; a missing last axis is one column."""
    check_rows(y, series, name)
    if isinstance(y, Series):
        targets = as_series(y, dtype=dtype)
    elif y is None or np.isscalar(y):
        raise ValueError(f"{name} must hold one target series for every series, got {y!r}.")
    elif series.kind == "one":
        targets = as_series(y, name=name, dtype=dtype, gaps=gaps)
        if targets.kind != "one":
            raise ValueError(f"{name} must be (T,) or (T, outputs) for one series, got shape {np.asarray(y).shape}.")
    elif series.kind == "batch" and getattr(y, "ndim", 0) == 2:
        targets = as_series(np.asanyarray(y)[..., None], name=name, dtype=dtype, gaps=gaps)
    else:
        targets = as_series([_column(each) for each in y], name=name, dtype=dtype, gaps=gaps)  # type: ignore[union-attr]
    if targets.count != series.count:
        raise ValueError(f"{name} holds {targets.count} series, the input {series.count}; give one target series for each.")
    for b in np.flatnonzero(targets.lengths != series.lengths)[:1]:
        which = name if series.kind == "one" else f"{name}[{b}]"
        raise ValueError(
            f"{which} has {targets.lengths[b]} steps, its input {series.lengths[b]}; they must be of the same length."
        )
    return targets


def teacher_forced(u: SeriesLike | Series, y: SeriesLike | Series, before: npt.ArrayLike | None = None) -> Series:
    """Returns the inputs of a network with output feedback, with known outputs in place of its own: (s(t), y(t-1)).

    Parameters
    ----------
    u : (T, F), (T,), (B, T, F) or list of (T_b, F)
        Inputs s(t).
    y : (T,), (T, O), (B, T), (B, T, O) or list
        Output of every step, in the units that the network receives.
    before : (O,) or (B, O), optional
        Outputs before the first step; 0 by default.

    Returns
    -------
    Series
        Columns (T, F + O) of every series, for `esn.run`, `es.readouts.statistics` and every function that takes inputs.

    Examples
    --------
    >>> import echoscale as es
    >>> es.engine.teacher_forced([0.1, 0.2, 0.3], [1.0, 2.0, 3.0]).values[0].tolist()
    [[0.1, 0.0], [0.2, 1.0], [0.3, 2.0]]
    >>> esn = es.single(20, feedback_scaling=0.5).build(n_inputs=1, n_outputs=1)
    >>> esn.run(es.engine.teacher_forced([0.1, 0.2, 0.3], [1.0, 2.0, 3.0])).shape
    (3, 20)
    """
    series = as_series(u)
    targets = as_targets(y, series)
    _check(targets, None)
    shape = series.count, targets.features
    first = np.zeros(shape) if before is None else np.broadcast_to(as_numbers(before, "before", np.float64), shape)
    values = [
        np.concatenate([s, np.concatenate([start[None], outputs[:-1]])], axis=1)
        for s, start, outputs in zip(series.values, first, targets.values, strict=True)
    ]
    return Series(np.stack(values) if isinstance(series.values, np.ndarray) else values, series.kind, series.name)


def is_list_of_series(u: object) -> bool:
    """Whether u is a list or tuple whose entries have two axes each. (A list of numbers or of rows is one series.)"""
    return isinstance(u, list | tuple) and len(u) > 0 and all(axes(each) == 2 for each in u)


def check_longer_than(series: Series, washout: int, name: str = "u") -> None:
    """Refuses series that are not longer than the washout."""
    for b in np.flatnonzero(series.lengths <= washout)[:1]:
        which = name if series.kind == "one" else f"{name}[{b}]"
        raise ValueError(
            f"{which} has {series.lengths[b]} steps, not more than washout={washout}: nothing would be left. "
            "Lower the washout or give a longer series."
        )


def washout_steps(washout: int | None, shortest: int | None = None) -> int:
    """The number of steps at the start of every series that are run but not counted."""
    if washout is not None:
        return checks.integer(washout, "washout")
    return MOST_WASHOUT if shortest is None else min(MOST_WASHOUT, shortest // 10)


def held(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Gaps (NaN) filled with the last value before them: what is known at the time, and no later."""
    table = values[:, None] if values.ndim == 1 else values
    known = ~np.isnan(table)
    place = np.maximum.accumulate(np.where(known, np.arange(len(table))[:, None], 0), axis=0)
    found = np.nan_to_num(np.take_along_axis(table, place, axis=0))
    return found[:, 0] if values.ndim == 1 else found


def axes(value: object) -> int:
    """The number of axes, without copying the data; nested lists count their depth."""
    if hasattr(value, "ndim"):
        return int(value.ndim)
    return 1 + axes(value[0]) if isinstance(value, list | tuple) and len(value) else int(isinstance(value, list | tuple))


def _column(values: npt.ArrayLike) -> npt.ArrayLike:
    return np.asanyarray(values)[:, None] if axes(values) == 1 else values


def as_entries(y: Any, series: Series, name: str = "y") -> list[Numbers]:
    """Targets or labels in the user's form, one array for every series; a label of a whole sequence has no axis."""
    refuse_masked(y, name)
    check_rows(y, series, name)
    entries = [y] if series.kind == "one" else list(y)
    if len(entries) != series.count:
        raise ValueError(
            f"{name} holds {len(entries)} entries for {series.count} series: give one label or one target series each."
        )
    return [as_written(each) for each in entries]


def check_labels(labels: Sequence[Numbers], name: str = "y") -> None:
    """Refuses labels that are missing: None, NaN, NaT or pandas' NA."""
    if any(each.dtype.kind == "c" for each in labels):
        raise TypeError(f"{name} is complex; labels are text, truth values or whole numbers.")
    missing = np.concatenate([_missing(each.ravel()) for each in labels])
    if missing.any():
        raise ValueError(
            f"{name} lacks {missing.sum()} of {len(missing)} labels (None, NaN or NA), the first at place "
            f"{int(np.argmax(missing))}: leave these out, or give them a label of their own."
        )


def check_rows(y: Any, u: Any, name: str = "y") -> None:
    """Refuses targets whose row labels (dates) differ from the row labels of their input. Data without row labels match by
    position.
    """
    one, inputs = (u.kind == "one", u.name) if isinstance(u, Series) else (True, "X")
    own = u.index if isinstance(u, Series) else _index(u, "one")
    if not own or y is None or np.isscalar(y):
        return
    theirs = y.index if isinstance(y, Series) else tuple(map(index_of, [y] if one else y))
    for b, (ours, other) in enumerate(zip(own, theirs, strict=False)):
        if ours is None or other is None or len(ours) != len(other) or ours.equals(other):
            continue
        # The default index of pandas counts rows. It says nothing about dates.
        if any(_counts(this) and that.dtype.kind not in "iu" for this, that in ((ours, other), (other, ours))):
            continue
        t = int(np.argmax(np.asarray(ours != other)))
        which = "" if one else f"[{b}]"
        raise ValueError(
            f"{name}{which} and {inputs}{which} have different row labels: row {t} is {other[t]} in {name} and {ours[t]} in "
            f"{inputs}. Align them by their labels, or pass {name}.to_numpy() if the rows belong together in this order."
        )


def index_of(value: Any) -> Any:
    """The row labels of a data frame, or None."""
    index = getattr(value, "index", None)
    return index if hasattr(index, "equals") else None


def _counts(index: Any) -> bool:
    """Whether an index is 0, 1, 2, ..., the default of pandas."""
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def _index(u: Any, kind: Kind) -> tuple[Any, ...]:
    found = tuple(map(index_of, u)) if kind == "list" else (index_of(u),)
    return found if any(each is not None for each in found) else ()


def _columns(u: Any, kind: Kind, name: str) -> tuple[str, ...]:
    """Names of the columns of data frames, where all of them are text."""
    found: tuple[str, ...] = ()
    for b, each in enumerate(u if kind == "list" else [u]):
        names = tuple(getattr(each, "columns", ()))
        if names and all(isinstance(one, str) for one in names):
            _same_columns(names, found, f"{name}[{b}]")
            found = names
    return found


def _same_columns(found: tuple[str, ...], expected: tuple[str, ...], name: str) -> None:
    if found and expected and found != expected:
        raise ValueError(
            f"{name} has the columns {list(found)}, but {list(expected)} are needed, in this order: "
            f"use {name}[{list(expected)}]."
        )


def refuse_twice(names: Sequence[str], what: object) -> None:
    """Refuses two columns with the same name."""
    for name, count in Counter(names).items():
        if count > 1:
            raise ValueError(f"{what} has two columns named {name!r}: give every column its own name.")


def as_written(value: object) -> Numbers:
    """An array of the user's values, without conversion."""
    raw = np.asarray(value)
    if raw.dtype.kind in "US" and isinstance(value, list | tuple):
        # NumPy would turn None and NaN beside text into text.
        objects = np.asarray(value, object)
        return objects if _missing(objects).any() else raw
    return raw


def _missing(values: Numbers) -> npt.NDArray[np.bool_]:
    """Which values are None, NaN, NaT or NA."""
    if values.dtype.kind != "O":
        return np.asarray(values != values)
    import pandas as pd  # imported late, since objects are rare

    return np.asarray(pd.isna(values))


def refuse_masked(value: object, name: str) -> None:
    """Refuses masked values, which NumPy would pass on as numbers. An array with nothing masked is fine."""
    if isinstance(value, list | tuple):
        for each in value:
            refuse_masked(each, name)
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ValueError(f"{name} is a masked array with {np.sum(value.mask)} masked values. Fill or cut the gaps first.")


def as_numbers(value: object, name: str, dtype: npt.DTypeLike) -> Numbers:
    """Real numbers of the given dtype, from any object that holds real numbers; numbers that are too large become infinite.

    Rows lie one after the other in memory for any input, so that sums over them have the same bits.
    """
    refuse_masked(value, name)
    if hasattr(value, "toarray"):
        raise TypeError(f"{name} is a sparse matrix; series are dense. Use {name}.toarray().")
    try:
        raw = np.asarray(value)
    except ValueError as error:
        raise ValueError(
            f"{name} cannot be read as numbers of shape (T, F): {error}. In a list of series every one needs two axes, (T, F)."
        ) from error
    if np.iscomplexobj(raw):
        raise TypeError(f"{name} is complex; give real and imaginary part as two features.")
    if raw.dtype.kind in "mMV":  # times and records, which NumPy would turn into numbers silently
        raise TypeError(f"{name} cannot be read as numbers: its dtype is {raw.dtype}.")
    try:
        with np.errstate(over="ignore"):
            return raw.astype(dtype, order="C", copy=False)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name} cannot be read as numbers: {error}") from error


def _same_features(values: Sequence[Numbers], name: str) -> None:
    counts = [each.shape[1] for each in values]
    if len(set(counts)) > 1:
        other = next(b for b, count in enumerate(counts) if count != counts[0])
        raise ValueError(
            f"all series of {name} must have the same number of features: {name}[0] has {counts[0]}, {name}[{other}] "
            f"has {counts[other]}."
        )


def _check(series: Series, features: int | None = None, gaps: bool = False) -> None:
    """Refuses series that are empty, have another number of features, or are not finite (with `gaps`, NaN is allowed)."""

    def sound_numbers(array: Numbers) -> npt.NDArray[np.bool_]:
        return np.asarray(~np.isinf(array) if gaps else np.isfinite(array))

    values = series.values
    sound = features in (None, series.features) and series.features > 0 and bool(series.lengths.all())
    # All series are checked at once; only if one is bad, they are searched one by one.
    if sound and all(sound_numbers(each).all() for each in ([values] if isinstance(values, np.ndarray) else values)):
        return
    for b, array in enumerate(values):
        name = series.called(b)
        if array.size == 0:
            raise ValueError(f"{name} is empty: its shape is {array.shape}.")
        if features not in (None, array.shape[1]):
            raise ValueError(
                f"{name} has {array.shape[1]} features, the network was built for {features}. "
                f"A series is (T, {features}), time first."
            )
        finite = sound_numbers(array)
        if not finite.all():
            t, f = np.argwhere(~finite)[0]
            found = "NaN" if np.isnan(array[t, f]) else array[t, f]
            raise ValueError(
                f"{name} must be finite, found {found} at step {t}, feature {f} "
                f"({np.size(finite) - finite.sum()} such values; read as {array.dtype}). Fill or cut the gaps first"
                + (", or use dtype='float64' if they are too large for float32." if array.dtype == np.float32 else ".")
            )
