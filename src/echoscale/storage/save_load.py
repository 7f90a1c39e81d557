"""Save and load fitted models: one safetensors file, arrays as tensors and the rest as JSON in its header. No pickle.

Loading runs no code from the file and checks its content: kinds, shapes, ranges and the structure of sparse matrices. A
checksum over the description and all arrays finds damage. It is computed piece by piece, before memory for the arrays is
allocated. Files are written beside their place and moved there at the end, so a killed save leaves the old file as it was.
"""

from __future__ import annotations

import hashlib
import json
import math
import operator
import os
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt
import safetensors.numpy

from echoscale._internal import checks
from echoscale._internal.files import write_atomically
from echoscale.engine.esn import ESN
from echoscale.estimators import NVAR, ESNClassifier, ESNRegressor, ESNStepClassifier
from echoscale.forecasting import AutoModel, Forecaster, SequenceModel
from echoscale.learning import OnlineLearner
from echoscale.readouts.rls import RLS
from echoscale.storage.codec import Arrays, Stored, string
from echoscale.storage.declared import MODELS

Estimator = ESNRegressor | ESNStepClassifier | ESNClassifier

FORMAT, FORMAT_VERSION = "echoscale", 1
PIECE = 1 << 20  # bytes of a file that are read at a time for its checksum
LONGEST_HEADER = 100_000_000  # bytes, as in safetensors
# Kinds of numbers that a model may hold, by the names of safetensors.
DTYPES = {"F64": "f8", "F32": "f4", "F16": "f2", "BOOL": "?"}
DTYPES |= {f"{letter}{8 * size}": f"{letter.lower()}{size}" for letter in "IU" for size in (1, 2, 4, 8)}

KINDS = {each.of.__name__: each for each in MODELS}


class StorageError(ValueError):
    """The file is not a good echoscale model: damaged, of another kind, or of another version."""


class Place(NamedTuple):
    """Where an array stands in a file: its first byte, and its number of bytes."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    size: int


def save(
    model: ESN | Estimator | NVAR | OnlineLearner | RLS | AutoModel | SequenceModel | Forecaster,
    path: str | os.PathLike[str],
    *,
    notes: Mapping[str, Any] | None = None,
) -> Path:
    """Write a model to one file, atomically: safetensors, with a checksum and without pickle.

    Parameters
    ----------
    model : ESN, ESNRegressor, ESNStepClassifier, ESNClassifier, NVAR, OnlineLearner, RLS, AutoModel, SequenceModel, Forecaster
        A built network, a fitted estimator, a learner, a model of `es.auto`, or a forecaster.
    path : path
        Where to; a file that is there is replaced, with its permissions. A link is followed.
    notes : mapping, optional
        What else is to be kept with it, as JSON: names of columns, where the data came from. `storage.notes` reads it.

    Returns
    -------
    Path
        The same path.

    Examples
    --------
    >>> import echoscale as es, numpy as np
    >>> esn = es.single(20).build(1, seed=3)
    >>> again = es.load(es.save(esn, "network.safetensors"))
    >>> bool((esn.run(np.ones((5, 1))) == again.run(np.ones((5, 1)))).all())
    True
    """
    declared = KINDS.get(type(model).__name__)
    if declared is None or type(model) is not declared.of:
        raise TypeError(f"save takes {', '.join(KINDS)}, got {type(model).__name__}.")
    arrays: Arrays = {}
    about = {"kind": type(model).__name__, "model": declared.write(model, arrays, "")}
    arrays = {name: np.array(array, order="C") for name, array in arrays.items()}
    if notes:
        about["notes"] = dict(notes)
    text = json.dumps(about, sort_keys=True)
    target = Path(path)
    write_atomically(target, safetensors.numpy.save(arrays, metadata=described(text, arrays)))
    return target


def described(text: str, arrays: Arrays) -> dict[str, str]:
    """The metadata of a file: version, checksum and description in one entry, since safetensors orders several at random."""
    parts = ((name, each.dtype, each.shape, [np.ascontiguousarray(each).data]) for name, each in arrays.items())
    return {FORMAT: f"{FORMAT_VERSION} {_checksum(text, parts)} {text}"}


def load(path: str | os.PathLike[str]) -> Any:
    """The model that `save` wrote: it predicts the same bits, and `partial_fit` carries on where it was.

    No code in the file is run, and all that it holds is checked. What is wrong with it is told by a `StorageError`.

    Parameters
    ----------
    path : path
        What `save` wrote.

    Returns
    -------
    ESN, ESNRegressor, ESNStepClassifier, ESNClassifier, NVAR, OnlineLearner, RLS, AutoModel, SequenceModel, Forecaster
    """
    return _read(Path(path), _model)


def notes(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What was kept with a model: the `notes` of `save`; empty where there are none. The file is checked as by `load`."""
    found: dict[str, Any] = _read(Path(path), _notes)
    return found


def _model(about: Any, arrays: dict[str, Stored]) -> Any:
    """The model of a description; it uses all arrays."""
    kind = checks.choice(about["kind"], tuple(KINDS), "kind")
    made = KINDS[kind].read(about["model"], arrays, "", ChainMap())
    if arrays:
        raise ValueError(f"a {kind} has no array {min(arrays)}")
    return made


def _notes(about: Any, arrays: dict[str, Stored]) -> dict[str, Any]:
    found = about.get("notes", {})
    if not isinstance(found, dict):
        raise ValueError("its notes cannot be read")
    return found


def _read(source: Path, take: Callable[[Any, dict[str, Stored]], Any]) -> Any:
    """What is made of the description and of the arrays of a file whose checksum is right."""
    if not source.is_file():
        raise FileNotFoundError(f"there is no file {source}.")
    try:
        with source.open("rb") as file:
            header, places = _layout(file)
            if header.count(" ") < 2:
                raise StorageError(f"{source} is a safetensors file, but not an echoscale model.")
            version, checksum, text = header.split(" ", 2)
            if version != str(FORMAT_VERSION):
                known = f"this echoscale reads {FORMAT_VERSION}. Install a newer echoscale."
                raise StorageError(f"{source} has format version {version[:20]}, {known}")
            parts = ((name, each.dtype, each.shape, _pieces(file, each)) for name, each in places.items())
            if _checksum(text, parts) != checksum:
                raise StorageError(
                    f"{source} was changed after it was saved: its checksum does not match. Save the model again."
                )
            arrays = {name: Stored(each.dtype, each.shape, partial(_array, file, each)) for name, each in places.items()}
            try:
                return take(json.loads(text), arrays)
            except MemoryError:
                raise
            except Exception as error:  # a description that no `save` wrote may make anything fail
                raise StorageError(
                    f"{source} does not describe a whole model ({_said(error)}). Save the model again."
                ) from error
    except (OSError, StorageError):
        raise
    except MemoryError as error:
        raise StorageError(f"{source} needs more memory than there is ({error}).") from error
    except Exception as error:  # a header that no `save` wrote may make anything fail
        raise StorageError(f"{source} is damaged or not an echoscale model ({_said(error)}). Save the model again.") from error


def _layout(file: BinaryIO) -> tuple[str, dict[str, Place]]:
    """Our entry in the metadata of a safetensors file, and its arrays by name. Together they fill the file."""
    size = os.fstat(file.fileno()).st_size
    length = int.from_bytes(file.read(8), "little")
    start = 8 + length
    if not 0 < length <= LONGEST_HEADER or start > size:
        raise ValueError(f"a header of {length:,} bytes in a file of {size:,}")
    layout = json.loads(file.read(length))
    header = string(layout.pop("__metadata__", {}).get(FORMAT, ""), "its description")
    stored = {}
    for name, each in layout.items():
        if each["dtype"] not in DTYPES:
            raise ValueError(f"{name} is of {each['dtype']}, which no model holds")
        dtype, shape = np.dtype(DTYPES[each["dtype"]]), tuple(map(operator.index, each["shape"]))
        begin, end = map(operator.index, each["data_offsets"])
        extent = math.prod(shape) * dtype.itemsize
        if min(shape, default=0) < 0 or begin < 0 or end - begin != extent or start + end > size:
            raise ValueError(f"{name} of shape {shape} does not fit its place in the file")
        stored[name] = Place(dtype, shape, start + begin, extent)
    if start + sum(each.size for each in stored.values()) != size:
        raise ValueError("its arrays do not fill the file")
    return header, stored


def _pieces(file: BinaryIO, stored: Place) -> Iterator[bytes]:
    """The bytes of an array, a few at a time."""
    file.seek(stored.begin)
    for left in range(stored.size, 0, -PIECE):
        yield file.read(min(left, PIECE))


def _array(file: BinaryIO, stored: Place) -> npt.NDArray[Any]:
    file.seek(stored.begin)
    return np.fromfile(file, stored.dtype, math.prod(stored.shape)).reshape(stored.shape)


def _said(error: Exception) -> str:
    """In a line: descriptions may be long, or too deep to be shown."""
    said = "it is nested too deeply" if isinstance(error, RecursionError) else str(error) or type(error).__name__
    said = f"no {said}" if isinstance(error, KeyError) else said
    return said if len(said) < 300 else f"{said[:300]} ..."


def _checksum(text: str, arrays: Iterable[tuple[str, np.dtype[Any], tuple[int, ...], Iterable[bytes | memoryview]]]) -> str:
    """The checksum of the description and of the name, kind, shape and content of every array."""
    digest = hashlib.sha256(f"{FORMAT_VERSION} {text}".encode())
    for name, dtype, shape, pieces in sorted(arrays, key=lambda each: each[0]):
        digest.update(f"{name} {dtype} {shape}".encode())
        for piece in pieces:
            digest.update(piece)
    return digest.hexdigest()
