"""Save and load fitted models: one safetensors file, arrays as tensors and the rest as JSON in its header. No pickle.

Loading runs no code from the file. A checksum over the description and all arrays tells a damaged or changed file from a good
one. Files are written beside their place and moved there at the end, so a killed save leaves the old file as it was.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import safetensors
import safetensors.numpy
import scipy.sparse

from echoscale.automatic import AutoModel, SequenceModel, packing
from echoscale.esn import ESN
from echoscale.estimators import ESNClassifier, ESNFeatures, ESNRegressor
from echoscale.features.normal_scores import NormalScores
from echoscale.files import write_atomically
from echoscale.hyper import Hyper
from echoscale.network import Concentric, Network
from echoscale.network.matrix import Matrix
from echoscale.online import OnlineLearner
from echoscale.online import saved as archive
from echoscale.readouts.hidden import Hidden
from echoscale.readouts.penalties import RidgeCurve
from echoscale.readouts.ridge import Readout
from echoscale.readouts.rls import RLS, RLSState
from echoscale.readouts.statistics import Statistics
from echoscale.scaling import Scaling
from echoscale.weights.drawn import Drawn

# 2: estimators hold scalings, the curve of the ridge, and the statistics of a stream's folds.
# 3: classifiers of sequences hold their transformer, and rows of features in place of statistics.
FORMAT_VERSION = 3
KINDS = {"ESNRegressor": ESNRegressor, "ESNClassifier": ESNClassifier}
# Fitted attributes that are plain arrays or numbers; the others (network, readout, statistics, classes) have their own way.
ARRAYS = ("state_", "last_target_", "steps_seen_", "rows_", "codes_")
SCALINGS = ("scaling_", "target_scaling_")
CURVE = ("relative", "errors", "unit")
STATISTICS = ("count", "mean", "scatter")
NUMBERS = ("flat_targets_", "per_sequence_", "ridge_", "steepness_", "washout_", "direct_", "n_features_in_")

Tensors = dict[str, npt.NDArray[Any]]


class StorageError(ValueError):
    """The file is not a good echoscale model: damaged, changed, of another kind, or from a newer version."""


def save(
    model: ESN | ESNRegressor | ESNClassifier | OnlineLearner | RLS | AutoModel | SequenceModel, path: str | os.PathLike[str]
) -> Path:
    """Write a model to one file, atomically: safetensors, with a checksum and without pickle.

    Parameters
    ----------
    model : ESN, ESNRegressor, ESNClassifier, OnlineLearner, RLS, AutoModel or SequenceModel
        A built network, a fitted estimator, a learner, or a model of `es.auto`.
    path : path
        Where to; a file that is there is replaced.

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
        about = {"kind": "RLS", "rls": {name: getattr(model, name) for name in ("ridge", "forgetting", "fit_intercept")}}
        if model.state is not None:
            tensors |= {f"rls.{name}": np.asarray(value) for name, value in model.state._asdict().items()}
    elif isinstance(model, AutoModel | SequenceModel):
        about = packing.pack(model, tensors, _pack_esn)
    elif type(model).__name__ in KINDS:
        about = _pack_estimator(model, tensors)
    else:
        raise TypeError(
            "save takes an ESN, ESNRegressor, ESNClassifier, OnlineLearner, RLS or a model of es.auto, "
            f"got {type(model).__name__}."
        )
    tensors = {name: np.array(array, order="C") for name, array in tensors.items()}
    text = json.dumps(about, sort_keys=True)
    header = {"format": "echoscale", "version": str(FORMAT_VERSION), "model": text, "sha256": _digest(text, tensors)}
    target = Path(path)
    write_atomically(target, safetensors.numpy.save(tensors, metadata=header))
    return target


def load(path: str | os.PathLike[str]) -> Any:
    """The model that `save` wrote: it predicts the same bits, and `partial_fit` carries on where it was.

    No code in the file is run.

    Parameters
    ----------
    path : path
        What `save` wrote.

    Returns
    -------
    ESN, ESNRegressor, ESNClassifier, OnlineLearner, RLS, AutoModel or SequenceModel
    """
    source = Path(path)
    if not source.is_file():
        raise FileNotFoundError(f"there is no file {source}.")
    try:
        with safetensors.safe_open(source, framework="numpy") as file:
            header = dict(file.metadata() or {})
            _check_header(header, source)
            tensors: Tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    except safetensors.SafetensorError as error:
        raise StorageError(f"{source} is damaged or not an echoscale model ({error}). Save the model again.") from error
    if _digest(header["model"], tensors) != header["sha256"]:
        raise StorageError(f"{source} was changed after it was saved: its checksum does not match. Save the model again.")
    try:
        about = json.loads(header["model"])
        if about["kind"] == "RLS":
            return _unpack_rls(about["rls"], tensors)
        if about["kind"] in packing.KINDS:
            return packing.unpack(about["kind"], about["auto"], tensors, _unpack_esn)
        if about["kind"] == "OnlineLearner":
            return archive.unpack(about["learner"], _unpack_esn(about["esn"], tensors), tensors)
        return _unpack_esn(about["esn"], tensors) if about["kind"] == "ESN" else _unpack_estimator(about, tensors)
    except (KeyError, TypeError, ValueError) as error:
        raise StorageError(f"{source} does not describe a whole model ({error!r}). Save the model again.") from error


def _check_header(header: Mapping[str, str], source: Path) -> None:
    if header.get("format") != "echoscale" or not {"version", "model", "sha256"} <= set(header):
        raise StorageError(f"{source} is a safetensors file, but not an echoscale model.")
    if not header["version"].isdigit() or int(header["version"]) > FORMAT_VERSION:
        raise StorageError(
            f"{source} has format version {header['version']}, this echoscale reads up to {FORMAT_VERSION}. "
            "Install a newer echoscale."
        )


def _digest(text: str, tensors: Tensors) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        array = tensors[name]
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _pack_esn(esn: ESN, tensors: Tensors) -> dict[str, Any]:
    for name in ("recurrent", "couplings"):
        for k, matrix in enumerate(getattr(esn.drawn, name)):
            tensors[f"{name}.{k}.data"] = matrix.data
            tensors[f"{name}.{k}.indices"] = matrix.indices.astype(np.int32)
            tensors[f"{name}.{k}.indptr"] = matrix.indptr.astype(np.int32)
    for name in ("inputs", "biases"):
        for k, array in enumerate(getattr(esn.drawn, name)):
            tensors[f"{name}.{k}"] = array
    for name, leaves in zip(Hyper._fields, esn.hyper, strict=True):
        for k, leaf in enumerate(leaves):
            tensors[f"hyper.{name}.{k}"] = np.asarray(leaf, np.float64)
    device = esn.device if isinstance(esn.device, str) else None
    return {"network": esn.network.to_dict(), "n_inputs": esn.n_inputs, "seed": esn.seed, "dtype": esn.dtype, "device": device}


def _unpack_esn(about: Mapping[str, Any], tensors: Tensors) -> ESN:
    network = Network.from_dict(about["network"])
    sizes = [each.units for each in network.reservoirs]

    def sparse(name: str, k: int, shape: tuple[int, int]) -> Any:
        parts = tuple(tensors[f"{name}.{k}.{part}"] for part in ("data", "indices", "indptr"))
        return scipy.sparse.csr_array(parts, shape=shape)

    levels = range(len(sizes))
    drawn = Drawn(
        recurrent=tuple(sparse("recurrent", k, (sizes[k], sizes[k])) for k in levels),
        inputs=tuple(tensors[f"inputs.{k}"] for k in levels),
        biases=tuple(tensors[f"biases.{k}"] for k in levels),
        couplings=tuple(
            sparse("couplings", j, (sizes[each.target], sizes[each.source])) for j, each in enumerate(network.couplings)
        ),
    )
    counts = [len(sizes)] * 4 + [len(network.couplings)]
    hyper = Hyper(
        *(tuple(tensors[f"hyper.{name}.{k}"] for k in range(n)) for name, n in zip(Hyper._fields, counts, strict=True))
    )
    return ESN(network, about["n_inputs"], about["seed"], about["dtype"], about["device"], drawn, hyper)


def _unpack_rls(about: Mapping[str, Any], tensors: Tensors) -> RLS:
    model = RLS(about["ridge"], about["forgetting"], fit_intercept=about["fit_intercept"])
    if tensors:
        values: Any = [tensors[f"rls.{name}"] for name in RLSState._fields]
        model.state = RLSState(*values)
    return model


def _pack_estimator(model: ESNRegressor | ESNClassifier, tensors: Tensors) -> dict[str, Any]:
    if not hasattr(model, "readout_"):
        raise ValueError(f"this {type(model).__name__} is not fitted yet: there is nothing to save. Call fit first.")
    for name in ARRAYS:
        if hasattr(model, name):
            tensors[name] = np.asarray(getattr(model, name))
    for name, value in model.readout_._asdict().items():  # of a `Readout`, or a `Hidden`
        tensors[f"readout.{name}"] = np.asarray(value)
    for scaling in SCALINGS:  # a `Scaling`, or `NormalScores`
        for name, value in getattr(model, scaling)._asdict().items():
            tensors[f"{scaling}.{name}"] = value
    if model.ridge_curve_ is not None:
        for name in CURVE:
            tensors[f"ridge_curve_.{name}"] = np.asarray(getattr(model.ridge_curve_, name))
    folds = getattr(model, "fold_statistics_", [])
    for name in STATISTICS:
        if hasattr(model, "statistics_"):  # a readout that was trained by minibatches has none
            tensors[f"statistics.{name}"] = np.asarray(getattr(model.statistics_, name))
        if folds:
            tensors[f"fold_statistics_.{name}"] = np.stack([getattr(each, name) for each in folds])
    if hasattr(model, "classes_") and model.classes_.dtype.kind in "biuf":
        tensors["classes"] = model.classes_
    return {
        "kind": type(model).__name__,
        "esn": _pack_esn(model.esn_, tensors),
        "parameters": _plain_parameters(model),
        "numbers": {name: _plain(getattr(model, name), name) for name in NUMBERS if hasattr(model, name)},
        "features": model.statistics_.features if hasattr(model, "statistics_") else None,
        "transformer": _plain_parameters(model.transformer_) if hasattr(model, "transformer_") else None,
        "feature_names": [str(name) for name in getattr(model, "feature_names_in_", [])],
        "class_names": [str(name) for name in model.classes_]
        if hasattr(model, "classes_") and "classes" not in tensors
        else None,
    }


def _plain_parameters(model: ESNRegressor | ESNClassifier | ESNFeatures) -> dict[str, Any]:
    parameters = {name: _plain(value, name) for name, value in model.get_params(deep=False).items() if name != "random_state"}
    # A generator cannot be written down; the seed that it gave can.
    return {**parameters, "random_state": model.esn_.seed}


def _unpack_estimator(about: Mapping[str, Any], tensors: Tensors) -> Any:
    if about["kind"] == "ESNClassifier" and about["numbers"]["per_sequence_"] and about.get("transformer") is None:
        raise ValueError("a classifier of sequences from before format 3, whose features were others: fit it again")
    # Models of format 1 had no scale: their network sees the units of the data.
    parameters = {"scale": None, **about["parameters"]}
    model = KINDS[about["kind"]](**{name: _rich(value) for name, value in parameters.items()})
    model.esn_ = _unpack_esn(about["esn"], tensors)
    for name in ARRAYS:
        if name in tensors:
            setattr(model, name, tensors[name])
    # Nor did they know how many inputs the readout sees but from their parameter.
    for name, value in {"direct_": int(parameters["direct"] or 0), **about["numbers"]}.items():
        setattr(model, name, value)
    readout = Hidden if "readout.outer" in tensors else Readout
    model.readout_ = readout(*(tensors[f"readout.{name}"] for name in readout._fields))
    sizes = about["numbers"]["n_features_in_"], model.readout_.coef.shape[0]
    for scaling, size in zip(SCALINGS, sizes, strict=True):
        kind = next((each for each in (Scaling, NormalScores) if f"{scaling}.{each._fields[0]}" in tensors), None)
        found = Scaling.none(size) if kind is None else kind(*(tensors[f"{scaling}.{name}"] for name in kind._fields))
        setattr(model, scaling, found)
    if about.get("transformer") is not None:
        _unpack_transformer(model, about["transformer"])
    model.ridge_curve_ = None
    if "ridge_curve_.relative" in tensors:
        relative, errors, unit = (tensors[f"ridge_curve_.{name}"] for name in CURVE)
        model.ridge_curve_ = RidgeCurve(relative, errors, float(unit))
    if about["features"] is not None:
        count, mean, scatter = (tensors[f"statistics.{name}"] for name in STATISTICS)
        model.statistics_ = Statistics(count, mean, scatter, about["features"])
    if "fold_statistics_.count" in tensors:
        pieces = zip(*(tensors[f"fold_statistics_.{name}"] for name in STATISTICS), strict=True)
        model.fold_statistics_ = [Statistics(np.asarray(n), m, s, about["features"]) for n, m, s in pieces]
    if about["feature_names"]:
        model.feature_names_in_ = np.array(about["feature_names"], dtype=object)
    if about["kind"] == "ESNClassifier":
        names = about["class_names"]
        model.classes_ = tensors["classes"] if names is None else np.array(names)
        if not hasattr(model, "steepness_"):  # before format 3
            model.settle_steepness()
    return model


def _unpack_transformer(model: ESNClassifier, parameters: Mapping[str, Any]) -> None:
    """What a classifier of sequences judges them by; its network and its scaling are the classifier's."""
    made = ESNFeatures(**{name: _rich(value) for name, value in parameters.items()})
    made.esn_, made.scaling_, made.n_features_in_ = model.esn_, model.scaling_, model.n_features_in_
    model.transformer_ = made


def _plain(value: object, name: str) -> Any:
    """A parameter as JSON."""
    if isinstance(value, Network):
        return {"network": value.to_dict()}
    if isinstance(value, Concentric):
        return {"concentric": {"rings": value.rings, "jump": value.jump}}
    if isinstance(value, np.generic):
        return value.item()
    if name == "topology" and not isinstance(value, str | list | tuple):
        return {"matrix": Matrix.of(cast(Any, value)).to_dict()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(each, name) for each in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return None  # a device object: the machine that loads has its own


def _rich(value: object) -> Any:
    """The inverse of `_plain`; sequences come back as tuples."""
    if isinstance(value, list):
        return tuple(_rich(each) for each in value)
    if isinstance(value, dict):
        [(kind, content)] = value.items()
        if kind == "concentric":
            return Concentric(**content)
        return Network.from_dict(content) if kind == "network" else Matrix.from_dict(content)
    return value
