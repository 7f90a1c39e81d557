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
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt
import safetensors.numpy
import scipy.sparse

from echoscale._internal import checks
from echoscale._internal.files import write_atomically
from echoscale.data.model_arrays import Tensors, taken
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Hyper, without_lanes
from echoscale.engine.weights.drawn import Drawn
from echoscale.estimators import NVAR, ESNClassifier, ESNRegressor
from echoscale.forecasting import AutoModel, Forecaster, SequenceModel
from echoscale.learning import OnlineLearner
from echoscale.network import Network
from echoscale.network.matrix import check_residual
from echoscale.readouts.rls import RLS, RLSState
from echoscale.storage import auto, estimators, forecaster, nvar
from echoscale.storage import online as archive
from echoscale.storage.hyper import kept_hyper, read_hyper

FORMAT_VERSION = 1
PIECE = 1 << 20  # bytes of a file that are read at a time for its checksum
LONGEST_HEADER = 100_000_000  # bytes, as in safetensors
# Kinds of numbers that a model may hold, by the names of safetensors.
DTYPES = {"F64": "f8", "F32": "f4", "F16": "f2", "BOOL": "?"}
DTYPES |= {f"{letter}{8 * size}": f"{letter.lower()}{size}" for letter in "IU" for size in (1, 2, 4, 8)}


class StorageError(ValueError):
    """The file is not a good echoscale model: damaged, of another kind, or of another version."""


class _Stored(NamedTuple):
    """Where an array stands in a file: its first byte, and its number of bytes."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    size: int


def save(
    model: ESN | ESNRegressor | ESNClassifier | NVAR | OnlineLearner | RLS | AutoModel | SequenceModel | Forecaster,
    path: str | os.PathLike[str],
    *,
    notes: Mapping[str, Any] | None = None,
) -> Path:
    """Write a model to one file, atomically: safetensors, with a checksum and without pickle.

    Parameters
    ----------
    model : ESN, ESNRegressor, ESNClassifier, NVAR, OnlineLearner, RLS, AutoModel, SequenceModel or Forecaster
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
    tensors: Tensors = {}
    if isinstance(model, ESN):
        about: dict[str, Any] = {"kind": "ESN", "esn": _pack_esn(model, tensors)}
    elif isinstance(model, OnlineLearner):
        about = {"kind": "OnlineLearner", "esn": _pack_esn(model.esn, tensors), "learner": archive.pack(model, tensors)}
    elif isinstance(model, RLS):
        about = {"kind": "RLS", "rls": {name: getattr(model, name) for name in ("ridge", "forgetting")}}
        if model.state is not None:
            tensors |= {f"rls.{name}": np.asarray(value) for name, value in model.state._asdict().items()}
    elif isinstance(model, AutoModel | SequenceModel):
        about = auto.pack(model, tensors, _pack_esn)
    elif isinstance(model, Forecaster):
        about = {"kind": "Forecaster", "forecaster": forecaster.pack(model, tensors, _pack_esn)}
    elif isinstance(model, NVAR):
        about = {"kind": "NVAR", "nvar": nvar.pack(model, tensors)}
    elif type(model).__name__ in estimators.KINDS:
        about = estimators.pack(model, tensors, _pack_esn)
    else:
        raise TypeError(
            "save takes an ESN, ESNRegressor, ESNClassifier, NVAR, OnlineLearner, RLS, Forecaster or a model of es.auto, "
            f"got {type(model).__name__}."
        )
    tensors = {name: np.array(array, order="C") for name, array in tensors.items()}
    if notes:
        about["notes"] = dict(notes)
    text = json.dumps(about, sort_keys=True)
    header = {"format": "echoscale", "version": str(FORMAT_VERSION), "model": text, "sha256": _digest(text, tensors)}
    target = Path(path)
    write_atomically(target, safetensors.numpy.save(tensors, metadata=header))
    return target


def load(path: str | os.PathLike[str]) -> Any:
    """The model that `save` wrote: it predicts the same bits, and `partial_fit` carries on where it was.

    No code in the file is run, and all that it holds is checked. What is wrong with it is told by a `StorageError`.

    Parameters
    ----------
    path : path
        What `save` wrote.

    Returns
    -------
    ESN, ESNRegressor, ESNClassifier, NVAR, OnlineLearner, RLS, AutoModel, SequenceModel or Forecaster
    """
    source = Path(path)
    header, tensors = _read(source)
    try:
        return _unpack(json.loads(header["model"]), tensors)
    except Exception as error:  # a description that no `save` wrote may make anything fail
        raise StorageError(f"{source} does not describe a whole model ({_said(error)}). Save the model again.") from error


def notes(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What was kept with a model: the `notes` of `save`; empty where there are none. The file is checked as by `load`."""
    source = Path(path)
    header, _ = _read(source)
    try:
        found = json.loads(header["model"]).get("notes", {})
    except (ValueError, AttributeError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise StorageError(f"{source} does not describe a whole model (its notes cannot be read). Save the model again.")
    return found


def _read(source: Path) -> tuple[dict[str, str], Tensors]:
    """Header and arrays of a file whose checksum is right."""
    if not source.is_file():
        raise FileNotFoundError(f"there is no file {source}.")
    try:
        with source.open("rb") as file:
            header, stored = _layout(file)
            _check_header(header, source)
            parts = ((name, each.dtype, each.shape, _pieces(file, each)) for name, each in stored.items())
            if _checksum(header["model"], parts) != header["sha256"]:
                raise StorageError(
                    f"{source} was changed after it was saved: its checksum does not match. Save the model again."
                )
            tensors = {name: _array(file, each) for name, each in stored.items()}
    except (OSError, StorageError):
        raise
    except MemoryError as error:
        raise StorageError(f"{source} needs more memory than there is ({error}).") from error
    except Exception as error:  # a header that no `save` wrote may make anything fail
        raise StorageError(f"{source} is damaged or not an echoscale model ({_said(error)}). Save the model again.") from error
    return header, tensors


def _layout(file: BinaryIO) -> tuple[dict[str, str], dict[str, _Stored]]:
    """Metadata of a safetensors file, and the arrays by name. Together they fill the file."""
    size = os.fstat(file.fileno()).st_size
    length = int.from_bytes(file.read(8), "little")
    start = 8 + length
    if not 0 < length <= LONGEST_HEADER or start > size:
        raise ValueError(f"a header of {length:,} bytes in a file of {size:,}")
    described = json.loads(file.read(length))
    header = dict(described.pop("__metadata__", {}))
    if not all(isinstance(each, str) for each in header.values()):
        raise ValueError("its metadata are not strings")
    stored = {}
    for name, each in described.items():
        if each["dtype"] not in DTYPES:
            raise ValueError(f"{name} is of {each['dtype']}, which no model holds")
        dtype, shape = np.dtype(DTYPES[each["dtype"]]), tuple(map(operator.index, each["shape"]))
        begin, end = map(operator.index, each["data_offsets"])
        extent = math.prod(shape) * dtype.itemsize
        if min(shape, default=0) < 0 or begin < 0 or end - begin != extent or start + end > size:
            raise ValueError(f"{name} of shape {shape} does not fit its place in the file")
        stored[name] = _Stored(dtype, shape, start + begin, extent)
    if start + sum(each.size for each in stored.values()) != size:
        raise ValueError("its arrays do not fill the file")
    return header, stored


def _pieces(file: BinaryIO, stored: _Stored) -> Iterator[bytes]:
    """The bytes of an array, a few at a time."""
    file.seek(stored.begin)
    for left in range(stored.size, 0, -PIECE):
        yield file.read(min(left, PIECE))


def _array(file: BinaryIO, stored: _Stored) -> npt.NDArray[Any]:
    file.seek(stored.begin)
    return np.fromfile(file, stored.dtype, math.prod(stored.shape)).reshape(stored.shape)


def _unpack(about: Mapping[str, Any], tensors: Tensors) -> Any:
    if about["kind"] == "RLS":
        return _unpack_rls(about["rls"], tensors)
    if about["kind"] == "NVAR":
        return nvar.unpack(about["nvar"], tensors)
    if about["kind"] == "Forecaster":
        return forecaster.unpack(about["forecaster"], tensors, _unpack_esn)
    if about["kind"] in auto.KINDS:
        return auto.unpack(about["kind"], about["auto"], tensors, _unpack_esn)
    if about["kind"] == "OnlineLearner":
        return archive.unpack(about["learner"], _unpack_esn(about["esn"], tensors), tensors)
    if about["kind"] == "ESN":
        return _unpack_esn(about["esn"], tensors)
    return estimators.unpack(about, tensors, _unpack_esn)


def _said(error: Exception) -> str:
    """In a line: descriptions may be long, or too deep to be shown."""
    said = "it is nested too deeply" if isinstance(error, RecursionError) else str(error) or type(error).__name__
    said = f"no {said}" if isinstance(error, KeyError) else said
    return said if len(said) < 300 else f"{said[:300]} ..."


def _check_header(header: Mapping[str, str], source: Path) -> None:
    if header.get("format") != "echoscale" or not {"version", "model", "sha256"} <= set(header):
        raise StorageError(f"{source} is a safetensors file, but not an echoscale model.")
    if (written := header["version"]) != str(FORMAT_VERSION):
        raise StorageError(
            f"{source} has format version {written[:20]}, this echoscale reads {FORMAT_VERSION}. Install a newer echoscale."
        )


def _digest(text: str, tensors: Tensors) -> str:
    """The checksum of arrays in memory."""
    arrays = ((name, each.dtype, each.shape, [np.ascontiguousarray(each).data]) for name, each in tensors.items())
    return _checksum(text, arrays)


def _checksum(text: str, arrays: Iterable[tuple[str, np.dtype[Any], tuple[int, ...], Iterable[bytes | memoryview]]]) -> str:
    """The checksum of the description and of the name, kind, shape and content of every array."""
    digest = hashlib.sha256(f"{FORMAT_VERSION} {text}".encode())
    for name, dtype, shape, pieces in sorted(arrays, key=lambda each: each[0]):
        digest.update(f"{name} {dtype} {shape}".encode())
        for piece in pieces:
            digest.update(piece)
    return digest.hexdigest()


def _pack_esn(esn: ESN, tensors: Tensors) -> dict[str, Any]:
    for name in ("recurrent", "couplings", "residuals"):
        for k, matrix in enumerate(getattr(esn.drawn, name)):
            tensors[f"{name}.{k}.data"] = matrix.data
            tensors[f"{name}.{k}.indices"] = matrix.indices.astype(np.int32)
            tensors[f"{name}.{k}.indptr"] = matrix.indptr.astype(np.int32)
    for name in ("inputs", "biases", "feedback", "leak_places"):
        for k, array in enumerate(getattr(esn.drawn, name)):
            tensors[f"{name}.{k}"] = array
    tensors |= kept_hyper(without_lanes(esn.hyper), "hyper")
    device = esn.device if isinstance(esn.device, str) else None
    about = {"network": esn.network.to_dict(), "n_inputs": esn.n_inputs, "seed": esn.seed, "dtype": esn.dtype, "device": device}
    return {**about, "n_outputs": esn.n_outputs} if esn.n_outputs else about


def _unpack_esn(about: Mapping[str, Any], tensors: Tensors) -> ESN:
    network = Network.from_dict(about["network"])
    sizes = [each.units for each in network.reservoirs]
    n_inputs = checks.integer(about["n_inputs"], "n_inputs", minimum=1)
    outputs = checks.integer(about["n_outputs"], "n_outputs", minimum=1) if network.feeds_back else 0
    checks.choice(about["dtype"], ("float32", "float64"), "dtype")
    if about["device"] is not None and not isinstance(about["device"], str):
        raise ValueError(f"device must be a name, not {about['device']!r}")

    def sparse(name: str, k: int, shape: tuple[int, int]) -> Any:
        data = taken(tensors, f"{name}.{k}.data", (None,)).astype(np.float64, copy=False)
        indices = taken(tensors, f"{name}.{k}.indices", data.shape, "i", least=0, most=shape[1] - 1)
        indptr = taken(tensors, f"{name}.{k}.indptr", (shape[0] + 1,), "i", least=0, most=len(data))
        if indptr[0] != 0 or indptr[-1] != len(data) or (np.diff(indptr) < 0).any():
            raise ValueError(f"{name}.{k} is no sparse matrix: its rows are not in order")
        made = scipy.sparse.csr_array((data, indices, indptr), shape=shape)
        made.check_format(full_check=True)
        return made

    levels = range(len(sizes))
    drawn = Drawn(
        recurrent=tuple(sparse("recurrent", k, (sizes[k], sizes[k])) for k in levels),
        inputs=tuple(taken(tensors, f"inputs.{k}", (sizes[k], n_inputs)) for k in levels),
        biases=tuple(taken(tensors, f"biases.{k}", (sizes[k],)) for k in levels),
        couplings=tuple(
            sparse("couplings", j, (sizes[each.target], sizes[each.source])) for j, each in enumerate(network.couplings)
        ),
        feedback=tuple(taken(tensors, f"feedback.{k}", (sizes[k], outputs)) for k in levels) if outputs else (),
        leak_places=tuple(taken(tensors, f"leak_places.{k}", (sizes[k],), least=0, most=1) for k in levels)
        if network.spreads_leaks
        else (),
        residuals=tuple(sparse("residuals", k, (sizes[k], sizes[k])) for k in levels) if network.turns else (),
    )
    for each, size in zip(drawn.residuals, sizes, strict=False):
        check_residual(each, size)
    hyper = read_hyper(Hyper.of(network), tensors, "hyper")
    if hyper.lanes is not None:
        raise ValueError(f"the hyper-parameters of a network are numbers, not {hyper.lanes} lanes")
    return ESN(network, n_inputs, checks.integer(about["seed"], "seed"), about["dtype"], about["device"], drawn, hyper, outputs)


def _unpack_rls(about: Mapping[str, Any], tensors: Tensors) -> RLS:
    model = RLS(about["ridge"], about["forgetting"])
    if tensors:
        features, outputs = taken(tensors, "rls.coef", (None, None)).shape
        shapes = {"mean": (features,), "target": (outputs,), "inverse": (features, features)}
        for name, shape in shapes.items():
            taken(tensors, f"rls.{name}", shape)
        taken(tensors, "rls.weight", (), least=0)
        taken(tensors, "rls.turn", (), "i", least=0, most=features - 1)
        values: Any = [tensors[f"rls.{name}"] for name in RLSState._fields]
        model.state = RLSState(*values)
    return model
