"""Named arrays of a model file. They are checked when the file is loaded: kind, shape and range."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Tensors = dict[str, npt.NDArray[Any]]
# Kinds of numbers that a model may hold, by the letters of NumPy.
KINDS = {"f": "real numbers", "i": "whole numbers", "b": "truth values"}


def taken(
    tensors: Tensors,
    name: str,
    shape: Sequence[int | None],
    kind: str = "f",
    *,
    finite: bool = True,
    least: float | None = None,
    most: float | None = None,
) -> npt.NDArray[Any]:
    """The array of this name, checked."""
    if name not in tensors:
        raise ValueError(f"there is no array {name}")
    array = tensors[name]
    if array.dtype.kind != kind and not (kind == "i" and array.dtype.kind == "u"):
        raise ValueError(f"{name} must hold {KINDS[kind]}, not {array.dtype}")
    if array.ndim != len(shape) or any(want not in (None, have) for want, have in zip(shape, array.shape, strict=True)):
        wanted = ", ".join("any" if each is None else str(each) for each in shape)
        raise ValueError(f"{name} must have shape ({wanted}), not {array.shape}")
    if kind == "f" and finite and not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite")
    if array.size and ((least is not None and array.min() < least) or (most is not None and array.max() > most)):
        raise ValueError(f"{name} must lie between {least} and {most}, not between {array.min()} and {array.max()}")
    return array


def under(tensors: Tensors, start: str) -> Tensors:
    """The arrays whose names begin so, by the rest of their names."""
    return {name.removeprefix(start): array for name, array in tensors.items() if name.startswith(start)}


def kept_labels(labels: npt.NDArray[Any], tensors: Tensors, name: str = "classes") -> dict[str, Any] | None:
    """Labels of classes as an array in `tensors`, or as JSON; with what `read_labels` needs to make them again."""
    if labels.dtype.kind in "biuf":
        tensors[name] = labels
        return None
    if labels.dtype.kind in "mM":
        tensors[name] = labels.view(np.int64)
        return {"dtype": labels.dtype.str}
    strange = next((each for each in labels.tolist() if not isinstance(each, str)), None)
    if strange is not None:
        raise TypeError(f"labels must be numbers, strings or times to be saved, got {strange!r} of {type(strange).__name__}.")
    return {"dtype": "object" if labels.dtype.kind == "O" else "str", "names": labels.tolist()}


def read_names(names: Any, features: int) -> tuple[str, ...]:
    """Names of the input columns, from a file; empty where a model was fitted to arrays."""
    if names and (len(names) != features or not all(isinstance(each, str) for each in names)):
        raise ValueError("the names of the inputs are not theirs")
    return tuple(names)


def read_labels(about: dict[str, Any] | None, tensors: Tensors, name: str = "classes") -> npt.NDArray[Any]:
    """The inverse of `kept_labels`."""
    if about is not None and "names" in about:
        names = about["names"]
        if not names or not all(isinstance(each, str) for each in names):
            raise ValueError("labels must be strings")
        labels = np.array(names, dtype=object if about["dtype"] == "object" else np.str_)
    elif about is not None:
        stamp = np.dtype(about["dtype"])
        if stamp.kind not in "mM":
            raise ValueError(f"labels are no {stamp}")
        labels = taken(tensors, name, (None,), "i").astype(np.int64).view(stamp)
    else:
        labels = tensors[name]
        if labels.ndim != 1 or labels.dtype.kind not in "biuf":
            raise ValueError(f"labels must be one row of numbers, not {labels.dtype} {labels.shape}")
    if not len(labels) or len(set(labels.tolist())) < len(labels):
        raise ValueError("labels must be there, and different")
    return labels
