"""Converts models to JSON and named arrays, and back, by declarations.

A declaration describes a value: `Array("O C")` is an array with O rows and C columns, `Record(Readout, ...)` an object with
certain attributes. The first array that names a size sets it, and all others must agree. A size that is first named inside an
entry of a list belongs to this entry alone.

Reading runs no code of the file. The kind and shape of an array are checked before it is read from the disk, its range after.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import numbers
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.exceptions import NotFittedError

from echoscale._internal import checks
from echoscale.network.matrix import Matrix

# Kinds of numbers that a model may hold, by the letters of NumPy.
KINDS = {"f": "real numbers", "i": "whole numbers", "b": "truth values"}
ARRAY = "array"  # placeholder of an array in the JSON
PIECE = 1 << 20  # number of bytes that are read at a time for the checksum

Arrays = dict[str, npt.NDArray[Any]]
Sizes = ChainMap[str, int]


class Stored(NamedTuple):
    """An array that is still in the file, starting at this byte."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    file: BinaryIO
    begin: int

    @property
    def size(self) -> int:
        """Number of bytes."""
        return math.prod(self.shape) * self.dtype.itemsize

    def pieces(self) -> Iterator[bytes]:
        """The bytes, piece by piece."""
        self.file.seek(self.begin)
        for left in range(self.size, 0, -PIECE):
            yield self.file.read(min(left, PIECE))

    def read(self) -> npt.NDArray[Any]:
        """The array."""
        self.file.seek(self.begin)
        return np.fromfile(self.file, self.dtype, math.prod(self.shape)).reshape(self.shape)


class Kind:
    """The kind of a value: `write` returns its JSON and adds its arrays to `arrays`, `read` checks them and makes the value."""

    def write(self, value: Any, arrays: Arrays, name: str) -> Any:
        """The JSON of a value; numbers and text are written as they are."""
        return value

    def read(self, about: Any, arrays: dict[str, Stored], name: str, sizes: Sizes) -> Any:
        """The value, from its JSON and the arrays that it removes from `arrays`."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class Plain(Kind):
    """A number or text that a function checks: `check(value, name)` returns the value; it may be a size."""

    check: Callable[[Any, str], Any]
    size: str | None = None

    def write(self, value: Any, arrays: Arrays, name: str) -> Any:
        return value.item() if hasattr(value, "item") else value

    def read(self, about: Any, arrays: dict[str, Stored], name: str, sizes: Sizes) -> Any:
        value = self.check(about, name)
        if self.size:
            _agree(sizes, self.size, value, name)
        return value


def string(value: Any, name: str) -> str:
    """A string."""
    if not isinstance(value, str):
        raise ValueError(f"{name} must be text, not {value!r}")
    return value


def one_of(*options: Any) -> Plain:
    """One of some values."""
    return Plain(lambda value, name: checks.choice(value, options, name))


COUNT, POSITIVE = Plain(checks.integer), Plain(partial(checks.integer, minimum=1))
NUMBER, SIZE = Plain(checks.number), Plain(checks.non_negative)
TRUTH, TEXT = one_of(True, False), Plain(string)


@dataclasses.dataclass(frozen=True)
class Maybe(Kind):
    """A value, or None."""

    kind: Kind

    def write(self, value: Any, arrays: Arrays, name: str) -> Any:
        return None if value is None else self.kind.write(value, arrays, name)

    def read(self, about: Any, arrays: dict[str, Stored], name: str, sizes: Sizes) -> Any:
        return None if about is None else self.kind.read(about, arrays, name, sizes)


class IfThere(Maybe):
    """An attribute that only some objects have."""


class Array(Kind):
    """An array, described by its axes: names of sizes, numbers, sums of them, or `?` for any length; a first axis `...` is
    optional.

    Without axes (None), any shape is allowed.
    """

    def __init__(
        self,
        axes: str | None = "",
        *,
        kind: str = "f",
        least: float = -np.inf,
        above: float | None = None,
        finite: bool = True,
    ) -> None:
        self.axes, self.kind, self.finite = None if axes is None else axes.split(), kind, finite
        self.least, self.above = least, above

    def write(self, value: Any, arrays: Arrays, name: str) -> Any:
        arrays[name] = np.asarray(value)
        return ARRAY

    def read(self, about: Any, arrays: dict[str, Stored], name: str, sizes: Sizes) -> npt.NDArray[Any]:
        if about != ARRAY or name not in arrays:
            raise ValueError(f"there is no array {name}")
        stored = arrays.pop(name)
        kind = "i" if stored.dtype.kind == "u" else stored.dtype.kind
        if kind not in self.kind:
            raise ValueError(f"{name} must hold {' or '.join(KINDS[each] for each in self.kind)}, not {stored.dtype}")
        if self.axes is not None:
            _check_shape(stored.shape, self.axes, name, sizes)
        array = stored.read()
        if kind == "f" and self.finite and not np.isfinite(array).all():
            raise ValueError(f"{name} must be finite")
        if array.size and array.min() < self.least:
            raise ValueError(f"{name} must be at least {self.least}, not {array.min()}")
        if array.size and self.above is not None and array.min() <= self.above:
            raise ValueError(f"{name} must be above {self.above}, not {array.min()}")
        return array


def _check_shape(shape: tuple[int, ...], axes: list[str], name: str, sizes: Sizes) -> None:
    axes = axes[1:] if axes[:1] == ["..."] and len(shape) < len(axes) else axes
    wanted = [_length(each, sizes) for each in axes]
    if len(shape) != len(wanted) or any(want not in (None, have) for want, have in zip(wanted, shape, strict=True)):
        said = ", ".join("any" if want is None else str(want) for want in wanted)
        raise ValueError(f"{name} must have shape ({said}), not {shape}")
    for axis, have in zip(axes, shape, strict=True):
        if axis.isidentifier():
            _agree(sizes, axis, have, name)


def _length(axis: str, sizes: Sizes) -> int | None:
    """The length of an axis, if it is known."""
    parts = [int(each) if each.isdigit() else sizes.get(each) for each in axis.split("+")]
    return None if None in parts else sum(cast("list[int]", parts))


def _agree(sizes: Sizes, size: str, value: int, name: str) -> None:
    if sizes.setdefault(size, value) != value:
        raise ValueError(f"{name} is of {size} = {value}, all before it of {sizes[size]}")


class Sparse(Kind):
    """A matrix of SciPy in compressed rows."""

    def write(self, value: Any, arrays: Arrays, name: str) -> Any:
        arrays[f"{name}.data"] = value.data
        arrays[f"{name}.indices"], arrays[f"{name}.indptr"] = value.indices.astype(np.int32), value.indptr.astype(np.int32)
        return list(value.shape)

    def read(self, about: Any, arrays: dict[str, Stored], name: str, sizes: Sizes) -> scipy.sparse.csr_array:
        rows, columns = (checks.integer(each, f"{name}, rows and columns,") for each in about)
        data, indices, indptr = (
            Array("?", kind=kind).read(ARRAY, arrays, f"{name}.{part}", sizes)
            for part, kind in (("data", "f"), ("indices", "i"), ("indptr", "i"))
        )
        made = scipy.sparse.csr_array((data.astype(np.float64, copy=False), indices, indptr), shape=(rows, columns))
        made.check_format(full_check=True)
        # SciPy does not check these if the last row ends at 0 or below, and reads foreign memory.
        if (made.indptr < 0).any() or (np.diff(made.indptr) < 0).any():
            raise ValueError(f"{name} is no sparse matrix: its rows are not in order")
        return made


@dataclasses.dataclass(frozen=True)
class Many(Kind):
    """A list or tuple of values of one kind; their number may be a size, or 0 with `or_none`."""

    kind: Kind
    make: Callable[[Any], Any] = tuple
    size: str | None = None
    or_none: bool = False

    def write(self, value: Any, arrays: Arrays, name: str) -> Any:
        return [self.kind.write(each, arrays, f"{name}.{k}") for k, each in enumerate(value)]

    def read(self, about: Any, arrays: dict[str, Stored], name: str, sizes: Sizes) -> Any:
        if not isinstance(about, list):
            raise ValueError(f"{name} must be a list, not {about!r}")
        if self.size and (about or not self.or_none):
            _agree(sizes, self.size, len(about), name)
        return self.make([self.kind.read(each, arrays, f"{name}.{k}", sizes.new_child()) for k, each in enumerate(about)])


class Labels(Kind):
    """Class labels, all different: their dtype, and numbers, text or times (whole numbers) as JSON."""

    def __init__(self, size: str) -> None:
        self.size = size

    def write(self, value: Any, arrays: Arrays, name: str) -> Any:
        labels = (value.view(np.int64) if value.dtype.kind in "mM" else value).tolist()
        for each in labels:
            if value.dtype.kind not in "biufmMU" and not isinstance(each, str):
                raise TypeError(f"labels must be numbers, strings or times to be saved, got {each!r} of {type(each).__name__}.")
        return [value.dtype.str, labels]

    def read(self, about: Any, arrays: dict[str, Stored], name: str, sizes: Sizes) -> npt.NDArray[Any]:
        dtype, given = np.dtype(about[0]), about[1]
        if checks.choice(dtype.kind, tuple("biufmMUO"), name) in "UO":
            # No longer than the labels: the dtype of a crafted file could ask for any amount of memory.
            dtype, given = np.dtype("U" if dtype.kind == "U" else "O"), Many(TEXT, list).read(given, arrays, name, sizes)
        labels = np.array(given, dtype)
        if labels.ndim != 1 or not len(labels) or len(set(labels.tolist())) < len(labels) or (labels != labels).any():
            raise ValueError("labels must be there, and different")
        _agree(sizes, self.size, len(labels), name)
        return labels


class Value(Kind):
    """A setting: a number, text, None, a list or mapping of settings, or a value object of one of these classes.

    Lists come back as tuples, matrices as `Matrix`.
    """

    def __init__(self, *classes: type) -> None:
        self.classes = {each.__name__: each for each in classes}

    def write(self, value: Any, arrays: Arrays, name: str) -> Any:
        if value is None or isinstance(value, str | bool | int | float):
            return value
        if isinstance(value, np.generic):
            return value.item()
        if scipy.sparse.issparse(value) or (hasattr(value, "__array__") and np.ndim(value) == 2):
            value = Matrix.of(value)
        if isinstance(value, Mapping) and "dict" in self.classes:
            return {"dict": {str(key): self.write(each, arrays, name) for key, each in value.items()}}
        kind = type(value).__name__
        if type(value) is self.classes.get(kind):
            if hasattr(value, "to_dict"):
                return {kind: value.to_dict()}
            fields = dataclasses.fields(cast(Any, value))
            return {kind: {each.name: self.write(getattr(value, each.name), arrays, each.name) for each in fields}}
        if isinstance(value, Sequence | np.ndarray):
            return [self.write(each, arrays, name) for each in value]
        if isinstance(value, numbers.Real):  # a fraction, for example
            return int(value) if isinstance(value, numbers.Integral) else float(value)
        what = name.split(".")[-1]
        raise TypeError(f"{what}={value!r} of type {kind} cannot be saved: give a number, a string or a list.")

    def read(self, about: Any, arrays: dict[str, Stored], name: str, sizes: Sizes) -> Any:
        if isinstance(about, list):
            return tuple(self.read(each, arrays, name, sizes) for each in about)
        if not isinstance(about, dict):
            return about
        [(kind, content)] = about.items()
        made: Any = self.classes[checks.choice(kind, tuple(self.classes), name)]
        if hasattr(made, "from_dict"):
            return made.from_dict(content)
        return made(**{key: self.read(each, arrays, name, sizes) for key, each in content.items()})


# Kind of a field of a data class, by its annotation.
PLAIN = {
    "int": COUNT,
    "float": NUMBER,
    "bool": TRUTH,
    "str": TEXT,
    "int | None": Maybe(COUNT),
    "str | None": Maybe(TEXT),
    "tuple[int, ...]": Many(COUNT),
    "tuple[str, ...]": Many(TEXT),
}


class Record(Kind):
    """An object of a class, described by its attributes: those of the constructor are passed to it, the others are set.

    Parameters
    ----------
    of : type
        Class of the object. Fields of a data class that are not named here follow their annotations: `PLAIN`.
    shapes : str
        Attributes that are arrays of real numbers, with their axes: "coef O C, intercept O".
    finish : function, optional
        Function of the object that was read: it raises an error if the parts do not fit together, and adds what the file does
        not hold.
    kept : function, optional
        Function of the object to be written: it returns an object with the attributes of the file.
    left_out : tuple of str
        Attributes that no file holds: caches, and values that are computed again.
    **kinds : Kind
        Kind of every attribute.
    """

    def __init__(
        self,
        of: type,
        shapes: str = "",
        *,
        finish: Callable[[Any], object] | None = None,
        kept: Callable[[Any], Any] | None = None,
        left_out: tuple[str, ...] = (),
        **kinds: Kind,
    ) -> None:
        self.of, self.finish, self.kept, self.left_out = of, finish, kept, left_out
        self.given = set(inspect.signature(of).parameters)
        entries = [entry.split(maxsplit=1) for entry in shapes.split(",") if entry]
        self.kinds: dict[str, Kind] = {name: Array(axes) for name, axes in entries} | kinds
        fields = getattr(of, "__dataclass_fields__", getattr(of, "_fields", ()))
        for field in [each for each in fields if each not in {*self.kinds, *left_out}]:
            annotation: Any = of.__annotations__[field]  # a string, in tuples in a `ForwardRef`
            self.kinds[field] = PLAIN[getattr(annotation, "__forward_arg__", annotation)]

    def write(self, value: Any, arrays: Arrays, name: str) -> dict[str, Any]:
        shown = value if self.kept is None else self.kept(value)
        about = {}
        for field, kind in self.kinds.items():
            if hasattr(shown, field):
                about[field] = kind.write(getattr(shown, field), arrays, f"{name}.{field}" if name else field)
            elif not isinstance(kind, IfThere):
                raise NotFittedError(f"this {self.of.__name__} is not fitted yet: there is nothing to save. Call fit first.")
        return about

    def read(self, about: Any, arrays: dict[str, Stored], name: str, sizes: Sizes) -> Any:
        kind = self.of.__name__
        if not isinstance(about, dict):
            raise ValueError(f"{about!r} is no {kind}")
        if unknown := sorted(set(about) - set(self.kinds)):
            raise ValueError(f"a {kind} has no {unknown[0]}")
        values = {}
        for field, each in self.kinds.items():
            if field in about:
                values[field] = each.read(about[field], arrays, f"{name}.{field}" if name else field, sizes)
            elif not isinstance(each, IfThere):
                raise ValueError(f"the {kind} has no {field}")
        made = self.of(**{field: value for field, value in values.items() if field in self.given})
        for field in values.keys() - self.given:
            vars(made)[field] = values[field]
        if self.finish is not None:
            self.finish(made)
        return made


@dataclasses.dataclass(frozen=True)
class OneOf(Kind):
    """An object of one of several classes."""

    records: Mapping[str, Record]

    def write(self, value: Any, arrays: Arrays, name: str) -> Any:
        kind = type(value).__name__
        return {kind: self.records[kind].write(value, arrays, name)}

    def read(self, about: Any, arrays: dict[str, Stored], name: str, sizes: Sizes) -> Any:
        [(kind, content)] = about.items()
        return self.records[checks.choice(kind, tuple(self.records), name)].read(content, arrays, name, sizes)
