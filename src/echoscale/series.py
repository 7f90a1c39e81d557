"""What users pass as data, brought into one form: arrays, lists, data frames; one series, a batch, or unequal lengths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from echoscale import _checks

Numbers = npt.NDArray[Any]
# What users may pass as a series: (T, F), (B, T, F) or (T,) as array, nested list or data frame; or a list of (T_b, F).
SeriesLike = npt.ArrayLike | Sequence[npt.ArrayLike]
MOST_WASHOUT = 100
Kind = Literal["one", "batch", "list"]


@dataclass(frozen=True, eq=False)
class Series:
    """Checked series of one dtype. `values[b]` is (T_b, F); `kind` remembers the shape that the user gave."""

    values: Sequence[Numbers] | Numbers
    kind: Kind
    name: str = "u"

    @property
    def count(self) -> int:
        """B, the number of series."""
        return len(self.values)

    @property
    def features(self) -> int:
        """F."""
        return int(self.values[0].shape[1])

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """T_b of every series, (B,)."""
        if isinstance(self.values, np.ndarray):
            return np.full(len(self.values), self.values.shape[1], np.int64)
        return np.array([len(each) for each in self.values], np.int64)

    def cast(self, dtype: np.dtype[Any]) -> Series:
        """The same series in another precision; values that do not fit in it are named."""
        if self.values[0].dtype == dtype:
            return self
        return as_series(self.values[0] if self.kind == "one" else self.values, name=self.name, dtype=dtype)


def as_series(u: Any, features: int | None = None, name: str = "u", dtype: Any = np.float64) -> Series:
    """(T, F) is one series, (B, T, F) a batch, a list of (T_b, F) series of unequal length. One axis (T,) is (T, 1).

    Everything must be finite, non-empty, and have `features` columns where that is given.
    """
    kind: Kind
    values: Sequence[Numbers] | Numbers
    if is_list_of_series(u):
        kind, values = "list", [_array(each, f"{name}[{b}]", dtype) for b, each in enumerate(u)]
        _same_features(values, name)
    else:
        array = _array(u, name, dtype)
        if array.ndim == 1:
            array = array[:, None]
        if array.ndim not in (2, 3):
            raise ValueError(f"{name} must be (T, F), (B, T, F) or a list of (T, F), got shape {array.shape}.")
        kind, values = ("one", array[None]) if array.ndim == 2 else ("batch", array)
    if len(values) == 0:
        raise ValueError(f"{name} holds no series at all.")
    # A batch is looked at as a whole; only a bad one is searched series by series.
    if kind != "batch" or values[0].size == 0 or features not in (None, values[0].shape[1]) or not np.isfinite(values).all():
        for b, each in enumerate(values):
            _check_one(each, features, name if kind == "one" else f"{name}[{b}]")
    return Series(values, kind, name)


def as_targets(y: Any, series: Series, name: str = "y", dtype: Any = np.float64) -> Series:
    """Targets step by step for `series`: the same lengths, one or more columns; a missing last axis is one column."""
    if y is None or np.isscalar(y):
        raise ValueError(f"{name} must hold one target series for every series, got {y!r}.")
    if series.kind == "one":
        targets = as_series(y, name=name, dtype=dtype)
        if targets.kind != "one":
            raise ValueError(f"{name} must be (T,) or (T, outputs) for one series, got shape {np.shape(y)}.")
    elif series.kind == "batch" and hasattr(y, "ndim") and y.ndim == 2:
        targets = as_series(np.asarray(y)[..., None], name=name, dtype=dtype)
    else:
        columns = [_column(each) for each in y]
        targets = as_series(columns, name=name, dtype=dtype)
    if targets.count != series.count:
        raise ValueError(f"{name} holds {targets.count} series, the input {series.count}; give one target series for each.")
    for b, (ours, theirs) in enumerate(zip(targets.lengths, series.lengths, strict=True)):
        if ours != theirs:
            which = name if series.kind == "one" else f"{name}[{b}]"
            raise ValueError(f"{which} has {ours} steps, its input {theirs}; they must be of the same length.")
    return targets


def is_list_of_series(u: Any) -> bool:
    """A list or tuple whose entries have two axes each. (A list of numbers or of rows is one series.)"""
    return isinstance(u, list | tuple) and len(u) > 0 and all(axes(each) == 2 for each in u)


def check_longer_than(series: Series, washout: int, name: str = "u") -> None:
    """Every series must be longer than the steps that are thrown away."""
    for b, length in enumerate(series.lengths):
        if length <= washout:
            which = name if series.kind == "one" else f"{name}[{b}]"
            raise ValueError(
                f"{which} has {length} steps, not more than washout={washout}: nothing would be left. "
                "Lower the washout or give a longer series."
            )


def washout_steps(washout: int | None, shortest: int | None = None) -> int:
    """The steps at the start of every series that are run but not counted.

    Parameters
    ----------
    washout : as the user gave it; None is 100, or a tenth of the shortest series where that is less
    shortest : steps of the shortest series; None for a stream, whose end is not known
    """
    if washout is not None:
        return _checks.integer(washout, "washout")
    return MOST_WASHOUT if shortest is None else min(MOST_WASHOUT, shortest // 10)


def axes(value: Any) -> int:
    """The number of axes without copying the data; nested lists count their depth."""
    if hasattr(value, "ndim"):
        return int(value.ndim)
    return 1 + axes(value[0]) if isinstance(value, list | tuple) and len(value) else int(isinstance(value, list | tuple))


def _column(values: Any) -> Any:
    return np.asarray(values)[:, None] if axes(values) == 1 else values


def _array(value: Any, name: str, dtype: Any) -> Numbers:
    if hasattr(value, "toarray"):
        raise TypeError(f"{name} is a sparse matrix; series are dense. Use {name}.toarray().")
    try:
        raw = np.asarray(value)
    except ValueError as error:
        raise ValueError(
            f"{name} cannot be read as numbers of shape (T, F): {error}. In a list of series every one needs two axes, (T, F)."
        ) from error
    return as_numbers(raw, name, dtype)


def as_numbers(value: Any, name: str, dtype: Any) -> Numbers:
    """Real numbers of the given dtype, from anything that holds real numbers; too large ones become infinite."""
    raw = np.asarray(value)
    if np.iscomplexobj(raw):
        raise TypeError(f"{name} is complex; give real and imaginary part as two features.")
    if raw.dtype.kind in "mMV":  # times and records, which NumPy would turn into numbers without a word
        raise TypeError(f"{name} cannot be read as numbers: its dtype is {raw.dtype}.")
    try:
        with np.errstate(over="ignore"):
            return raw.astype(dtype, copy=False)
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


def _check_one(array: Numbers, features: int | None, name: str) -> None:
    if array.shape[0] == 0 or array.shape[1] == 0:
        raise ValueError(f"{name} is empty: its shape is {array.shape}.")
    if features is not None and array.shape[1] != features:
        raise ValueError(
            f"{name} has {array.shape[1]} features, the network was built for {features}. "
            f"A series is (T, {features}), time first."
        )
    finite = np.isfinite(array)
    if not finite.all():
        t, f = np.argwhere(~finite)[0]
        found = "NaN" if np.isnan(array[t, f]) else array[t, f]
        raise ValueError(
            f"{name} must be finite, found {found} at step {t}, feature {f} "
            f"({np.size(finite) - finite.sum()} such values; read as {array.dtype}). Fill or cut the gaps first"
            + (", or use dtype='float64' if they are too large for float32." if array.dtype == np.float32 else ".")
        )
