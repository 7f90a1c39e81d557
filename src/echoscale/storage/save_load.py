"""Save and load fitted models: one safetensors file, with arrays as tensors and the rest as JSON in its header. No pickle.

Loading runs no code from the file and checks its content: kinds, shapes, ranges and the structure of sparse matrices. A
checksum over the description and all arrays finds damage. It is computed piece by piece, before memory for the arrays is
allocated. A file is written under another name and moved into place at the end, so an interrupted save keeps the old file.
"""

from __future__ import annotations

import hashlib
import json
import operator
import os
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
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
LONGEST_HEADER = 100_000_000  # bytes, as in safetensors
# Kinds of numbers that a model may hold, by the names of safetensors.
DTYPES = {"F64": "f8", "F32": "f4", "F16": "f2", "BOOL": "?"}
DTYPES |= {f"{letter}{8 * size}": f"{letter.lower()}{size}" for letter in "IU" for size in (1, 2, 4, 8)}

KINDS = {each.of.__name__: each for each in MODELS}


class StorageError(ValueError):
    """Error in a model file: it is damaged, of another kind, or of another version."""


def save(
    model: ESN | Estimator | NVAR | OnlineLearner | RLS | AutoModel | SequenceModel | Forecaster,
    path: str | os.PathLike[str],
    *,
    notes: Mapping[str, Any] | None = None,
) -> Path:
    """Writes a model to one file: safetensors, with a checksum and without pickle.

    The write is atomic: an interrupted save keeps the old file.

    Parameters
    ----------
    model : ESN, ESNRegressor, ESNStepClassifier, ESNClassifier, NVAR, OnlineLearner, RLS, AutoModel, SequenceModel, Forecaster
        Built network, fitted estimator, learner, model of `es.auto`, or forecaster.
    path : path
        Path of the file. An existing file is replaced and keeps its permissions; a link is followed.
    notes : mapping, optional
        Notes that are stored with the model as JSON, such as column names or the source of the data. `storage.notes` reads
        them.

    Returns
    -------
    Path
        The same path.

    See Also
    --------
    echoscale.load : Reads the model.
    echoscale.export : Writes a model as C or ONNX, for programs without Python.

    Examples
    --------
    >>> import echoscale as es, numpy as np
    >>> esn = es.single(20).build(1, seed=3)
    >>> again = es.load(es.save(esn, "network.safetensors"))
    >>> np.array_equal(esn.run(np.ones((5, 1))), again.run(np.ones((5, 1))))
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
    """The metadata of a file: version, checksum and description in one entry, since safetensors does not keep an order."""
    parts = ((name, each.dtype, each.shape, [np.ascontiguousarray(each).data]) for name, each in arrays.items())
    return {FORMAT: f"{FORMAT_VERSION} {_checksum(text, parts)} {text}"}


def load(path: str | os.PathLike[str]) -> Any:
    """Reads a model that `save` wrote.

    The model predicts the same bits, and `partial_fit` continues where the saved model stopped. No code in the file is run, and
    its whole content is checked. A bad file raises a `StorageError` that names the problem.

    Parameters
    ----------
    path : path
        Path of the file.

    Returns
    -------
    ESN, ESNRegressor, ESNStepClassifier, ESNClassifier, NVAR, OnlineLearner, RLS, AutoModel, SequenceModel, Forecaster
    """
    return _read(Path(path), _model)


def notes(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Returns the `notes` that were saved with a model, or an empty dictionary. The file is checked as in `load`."""
    found: dict[str, Any] = _read(Path(path), lambda about, arrays: dict(about.get("notes", {})))
    return found


def _model(about: Any, arrays: dict[str, Stored]) -> Any:
    """The model of a description; it uses all arrays."""
    kind = checks.choice(about["kind"], tuple(KINDS), "kind")
    made = KINDS[kind].read(about["model"], arrays, "", ChainMap())
    if arrays:
        raise ValueError(f"a {kind} has no array {min(arrays)}")
    return made


def _read(source: Path, take: Callable[[Any, dict[str, Stored]], Any]) -> Any:
    """The object of a description and of the arrays of a file, whose checksum is right."""
    if not source.is_file():
        raise FileNotFoundError(f"there is no file {source}.")
    try:
        with source.open("rb") as file:
            header, arrays = _layout(file)
            text = _checked(header, arrays, source)
            return take(json.loads(text), arrays)
    except (OSError, StorageError):
        raise
    except MemoryError as error:
        raise StorageError(f"{source} needs more memory than there is ({error}).") from error
    except Exception as error:  # a file that `save` did not write can cause any error
        raise StorageError(
            f"{source} is damaged or not a whole echoscale model ({_said(error)}). Save the model again."
        ) from error


def _checked(header: str, arrays: Mapping[str, Stored], source: Path) -> str:
    """The description in our entry of the metadata, if version and checksum are right."""
    if header.count(" ") < 2:
        raise StorageError(f"{source} is a safetensors file, but not an echoscale model.")
    version, checksum, text = header.split(" ", 2)
    if version != str(FORMAT_VERSION):
        known = f"this echoscale reads {FORMAT_VERSION}. Install a newer echoscale."
        raise StorageError(f"{source} has format version {version[:20]}, {known}")
    if _checksum(text, ((name, each.dtype, each.shape, each.pieces()) for name, each in arrays.items())) != checksum:
        raise StorageError(f"{source} was changed after it was saved: its checksum does not match. Save the model again.")
    return text


def _layout(file: BinaryIO) -> tuple[str, dict[str, Stored]]:
    """Our entry in the metadata of a safetensors file, and its arrays by name, which together fill the file."""
    size = os.fstat(file.fileno()).st_size
    length = int.from_bytes(file.read(8), "little")
    start = 8 + length
    if not 0 < length <= LONGEST_HEADER or start > size:
        raise ValueError(f"a header of {length:,} bytes in a file of {size:,}")
    layout = json.loads(file.read(length))
    header = string(layout.pop("__metadata__", {}).get(FORMAT, ""), "its description")
    arrays = {}
    for name, each in layout.items():
        if each["dtype"] not in DTYPES:
            raise ValueError(f"{name} is of {each['dtype']}, which no model holds")
        begin, end = map(operator.index, each["data_offsets"])
        shape = tuple(map(operator.index, each["shape"]))
        arrays[name] = stored = Stored(np.dtype(DTYPES[each["dtype"]]), shape, file, start + begin)
        if min(shape, default=0) < 0 or begin < 0 or end - begin != stored.size or start + end > size:
            raise ValueError(f"{name} of shape {shape} does not fit its place in the file")
    if start + sum(each.size for each in arrays.values()) != size:
        raise ValueError("its arrays do not fill the file")
    return header, arrays


def _said(error: Exception) -> str:
    """The error in one line, since descriptions may be long."""
    said = f"no {error}" if isinstance(error, KeyError) else str(error) or type(error).__name__
    return said if len(said) < 300 else f"{said[:300]} ..."


def _checksum(text: str, arrays: Iterable[tuple[str, np.dtype[Any], tuple[int, ...], Iterable[bytes | memoryview]]]) -> str:
    """The checksum of the description and of the name, kind, shape and content of every array."""
    digest = hashlib.sha256(f"{FORMAT_VERSION} {text}".encode())
    for name, dtype, shape, pieces in sorted(arrays, key=lambda each: each[0]):
        digest.update(f"{name} {dtype} {shape}".encode())
        for piece in pieces:
            digest.update(piece)
    return digest.hexdigest()
