"""Save and load fitted models: one safetensors file, arrays as tensors and the rest as JSON in its header. No pickle.

Loading runs no code from the file, and trusts nothing in it: kinds, shapes, ranges and the structure of sparse matrices are
checked before anything is made of them. A checksum over the description and all arrays tells a damaged file from a good one. A
key signs a file (HMAC-SHA-256): who loads with the same key knows that nobody without it wrote or changed the file. Files are
written beside their place and moved there at the end, so a killed save leaves the old file as it was.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import numbers
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import safetensors
import safetensors.numpy
import scipy.sparse

from echoscale import _checks
from echoscale.automatic import AutoModel, SequenceModel, packing
from echoscale.esn import ESN
from echoscale.estimators import NVAR, ESNClassifier, ESNFeatures, ESNRegressor, nvar_files
from echoscale.features.normal_scores import columns_heard, read_heard
from echoscale.features.pooling import check_pools
from echoscale.files import write_atomically
from echoscale.forecasting import Forecaster, forecaster_files
from echoscale.hyper import Hyper
from echoscale.network import Concentric, Network
from echoscale.network.matrix import Matrix
from echoscale.network.residuals import check_residual
from echoscale.online import OnlineLearner
from echoscale.online import saved as archive
from echoscale.readouts.hidden import Hidden
from echoscale.readouts.penalties import RidgeCurve
from echoscale.readouts.ridge import Readout
from echoscale.readouts.rls import RLS, RLSState
from echoscale.readouts.statistics import Statistics
from echoscale.scaling import Scaling
from echoscale.tensors import Tensors, kept_hyper, kept_labels, read_hyper, read_labels, taken
from echoscale.weights.drawn import Drawn

# 2: estimators hold scalings, the curve of the ridge, and the statistics of a stream's folds.
# 3: the checksum covers the version, labels say what they are, and a file can be signed; classifiers of sequences hold their
#    transformer, and rows of features in place of statistics.
FORMAT_VERSION = 3
VARIABLE = "ECHOSCALE_KEY"
LEAST_KEY = 16  # bytes
KINDS = {"ESNRegressor": ESNRegressor, "ESNClassifier": ESNClassifier}
# Fitted attributes that are plain arrays or numbers; the others (network, readout, statistics, classes) have their own way.
ARRAYS = ("state_", "last_target_", "steps_seen_", "rows_", "codes_")
SCALINGS = ("scaling_", "target_scaling_")
CURVE = ("relative", "errors", "unit")
STATISTICS = ("count", "mean", "scatter")
NUMBERS = (
    "flat_targets_",
    "per_sequence_",
    "ridge_",
    "steepness_",
    "washout_",
    "direct_",
    "n_features_in_",
    "no_forecast_",
)

Key = str | bytes | None


class StorageError(ValueError):
    """The file is not a good echoscale model: damaged, changed, of another kind, or from a newer version."""


def save(
    model: ESN | ESNRegressor | ESNClassifier | NVAR | OnlineLearner | RLS | AutoModel | SequenceModel | Forecaster,
    path: str | os.PathLike[str],
    *,
    key: Key = None,
) -> Path:
    """Write a model to one file, atomically: safetensors, with a checksum and without pickle.

    Parameters
    ----------
    model : ESN, ESNRegressor, ESNClassifier, NVAR, OnlineLearner, RLS, AutoModel, SequenceModel or Forecaster
        A built network, a fitted estimator, a learner, a model of `es.auto`, or a forecaster.
    path : path
        Where to; a file that is there is replaced, with its permissions. A link is followed.
    key : str or bytes, optional
        Signs the file, of 16 bytes at least: `load` with the same key refuses files of anybody else. Without it, that of the
        environment variable ECHOSCALE_KEY, or none.

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
    elif isinstance(model, Forecaster):
        about = {"kind": "Forecaster", "forecaster": forecaster_files.pack(model, tensors, _pack_esn)}
    elif isinstance(model, NVAR):
        about = {"kind": "NVAR", "nvar": nvar_files.pack(model, tensors)}
    elif type(model).__name__ in KINDS:
        about = _pack_estimator(model, tensors)
    else:
        raise TypeError(
            "save takes an ESN, ESNRegressor, ESNClassifier, NVAR, OnlineLearner, RLS, Forecaster or a model of es.auto, "
            f"got {type(model).__name__}."
        )
    tensors = {name: np.array(array, order="C") for name, array in tensors.items()}
    text = json.dumps(about, sort_keys=True)
    header = {"format": "echoscale", "version": str(FORMAT_VERSION), "model": text}
    header["sha256"] = _digest(text, tensors)
    if (secret := _secret(key)) is not None:
        header["hmac-sha256"] = _signature(secret, header["sha256"])
    target = Path(path)
    write_atomically(target, safetensors.numpy.save(tensors, metadata=header))
    return target


def load(path: str | os.PathLike[str], *, key: Key = None) -> Any:
    """The model that `save` wrote: it predicts the same bits, and `partial_fit` carries on where it was.

    No code in the file is run, and all that it holds is checked. What is wrong with it is told by a `StorageError`.

    Parameters
    ----------
    path : path
        What `save` wrote.
    key : str or bytes, optional
        The key that the file was signed with: files that were not signed with it are refused. Without it, that of the
        environment variable ECHOSCALE_KEY; with neither, signatures are not looked at.

    Returns
    -------
    ESN, ESNRegressor, ESNClassifier, NVAR, OnlineLearner, RLS, AutoModel, SequenceModel or Forecaster
    """
    source = Path(path)
    if not source.is_file():
        raise FileNotFoundError(f"there is no file {source}.")
    secret = _secret(key)
    try:
        with safetensors.safe_open(source, framework="numpy") as file:
            header = dict(file.metadata() or {})
            version = _check_header(header, source)
            tensors: Tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    except (safetensors.SafetensorError, KeyError, TypeError, AttributeError) as error:  # the last three: kinds NumPy has not
        raise StorageError(f"{source} is damaged or not an echoscale model ({error}). Save the model again.") from error
    if _digest(header["model"], tensors, version) != header["sha256"]:
        raise StorageError(f"{source} was changed after it was saved: its checksum does not match. Save the model again.")
    if secret is not None:
        _check_signature(secret, header, source)
    try:
        return _unpack(json.loads(header["model"]), tensors)
    except Exception as error:  # an enemy's description may make anything fail
        raise StorageError(f"{source} does not describe a whole model ({_said(error)}). Save the model again.") from error


def _unpack(about: Mapping[str, Any], tensors: Tensors) -> Any:
    for name, array in tensors.items():
        if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
            raise ValueError(f"{name} is of {array.dtype}, which no model holds")
    if about["kind"] == "RLS":
        return _unpack_rls(about["rls"], tensors)
    if about["kind"] == "NVAR":
        return nvar_files.unpack(about["nvar"], tensors)
    if about["kind"] == "Forecaster":
        return forecaster_files.unpack(about["forecaster"], tensors, _unpack_esn)
    if about["kind"] in packing.KINDS:
        return packing.unpack(about["kind"], about["auto"], tensors, _unpack_esn)
    if about["kind"] == "OnlineLearner":
        return archive.unpack(about["learner"], _unpack_esn(about["esn"], tensors), tensors)
    return _unpack_esn(about["esn"], tensors) if about["kind"] == "ESN" else _unpack_estimator(about, tensors)


def _said(error: Exception) -> str:
    """In a line: descriptions may be long, or too deep to be shown."""
    said = "it is nested too deeply" if isinstance(error, RecursionError) else str(error) or type(error).__name__
    said = f"no {said}" if isinstance(error, KeyError) else said
    return said if len(said) < 300 else f"{said[:300]} ..."


def _secret(key: Key) -> bytes | None:
    """The key as bytes; None where files are not signed."""
    given = os.environ.get(VARIABLE) or None if key is None else key
    if given is None:
        return None
    if not isinstance(given, str | bytes):
        raise TypeError(f"key must be a string or bytes, got {type(given).__name__}.")
    secret = given.encode() if isinstance(given, str) else given
    if len(secret) < LEAST_KEY:
        raise ValueError(
            f"a key of {len(secret)} bytes can be guessed: give {LEAST_KEY} at least, such as secrets.token_hex(32)."
        )
    return secret


def _signature(secret: bytes, digest: str) -> str:
    return hmac.new(secret, f"echoscale {digest}".encode(), hashlib.sha256).hexdigest()


def _check_signature(secret: bytes, header: Mapping[str, str], source: Path) -> None:
    if "hmac-sha256" not in header:
        raise StorageError(f"{source} is not signed, but a key was given: save it with the key, or load it without one.")
    if not hmac.compare_digest(_signature(secret, header["sha256"]).encode(), header["hmac-sha256"].encode()):
        raise StorageError(f"{source} was signed with another key, or changed by somebody who has none: do not use it.")


def _check_header(header: Mapping[str, str], source: Path) -> int:
    """The version of the format."""
    if header.get("format") != "echoscale" or not {"version", "model", "sha256"} <= set(header):
        raise StorageError(f"{source} is a safetensors file, but not an echoscale model.")
    written = header["version"]
    version = int(written) if written.isascii() and written.isdecimal() and len(written) < 9 else -1
    if not 1 <= version <= FORMAT_VERSION:
        raise StorageError(
            f"{source} has format version {written[:20]}, this echoscale reads 1 to {FORMAT_VERSION}. "
            "Install a newer echoscale."
        )
    return version


def _digest(text: str, tensors: Tensors, version: int = FORMAT_VERSION) -> str:
    digest = hashlib.sha256(f"{version} {text}".encode() if version >= 3 else text.encode())
    for name in sorted(tensors):
        array = tensors[name]
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
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
    tensors |= kept_hyper(esn._check_single(esn.hyper), "hyper")
    device = esn.device if isinstance(esn.device, str) else None
    about = {"network": esn.network.to_dict(), "n_inputs": esn.n_inputs, "seed": esn.seed, "dtype": esn.dtype, "device": device}
    return {**about, "n_outputs": esn.n_outputs} if esn.n_outputs else about


def _unpack_esn(about: Mapping[str, Any], tensors: Tensors) -> ESN:
    network = Network.from_dict(about["network"])
    sizes = [each.units for each in network.reservoirs]
    n_inputs = _checks.integer(about["n_inputs"], "n_inputs", minimum=1)
    outputs = _checks.integer(about["n_outputs"], "n_outputs", minimum=1) if network.feeds_back else 0
    _checks.choice(about["dtype"], ("float32", "float64"), "dtype")
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
    return ESN(
        network, n_inputs, _checks.integer(about["seed"], "seed"), about["dtype"], about["device"], drawn, hyper, outputs
    )


def _unpack_rls(about: Mapping[str, Any], tensors: Tensors) -> RLS:
    model = RLS(about["ridge"], about["forgetting"], fit_intercept=about["fit_intercept"])
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
    labels = kept_labels(model.classes_, tensors) if hasattr(model, "classes_") else None
    return {
        "kind": type(model).__name__,
        "esn": _pack_esn(model.esn_, tensors),
        "parameters": _plain_parameters(model),
        "numbers": {name: _plain(getattr(model, name), name) for name in NUMBERS if hasattr(model, name)},
        "features": model.statistics_.features if hasattr(model, "statistics_") else None,
        "transformer": _plain_parameters(model.transformer_) if hasattr(model, "transformer_") else None,
        "feature_names": [str(name) for name in getattr(model, "feature_names_in_", [])],
        "labels": labels,
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
    model._check_parameters()
    model.make_network()
    model.esn_ = esn = _unpack_esn(about["esn"], tensors)
    # Nor did they know how many inputs the readout sees but from their parameter.
    for name, value in {"direct_": int(parameters["direct"] or 0), **about["numbers"]}.items():
        setattr(model, name, _number(name, value))
    needed = {"n_features_in_", "ridge_", "washout_", "flat_targets_" if about["kind"] == "ESNRegressor" else "per_sequence_"}
    if missing := sorted(needed - set(about["numbers"])):
        raise ValueError(f"the model has no {missing[0]}")
    features, direct, per_sequence = model.n_features_in_, model.direct_, bool(getattr(model, "per_sequence_", False))
    transformer = about.get("transformer")
    heard = features if transformer is None else columns_heard(features, transformer["changes"])
    if heard != esn.n_inputs:
        raise ValueError(f"the model has {heard} inputs, its network {esn.n_inputs}")
    model.readout_ = _readout(tensors)
    columns, outputs = model.readout_.coef.shape[1], _outputs(model.readout_)
    if not per_sequence and columns != esn.units * (1 + bool(model.squares)) + direct * esn.columns:
        raise ValueError(f"the readout has {columns} columns for {esn.units} states and {direct} of {esn.columns} inputs")
    _unpack_state(model, tensors, outputs)
    for scaling, size in zip(SCALINGS, (heard, outputs), strict=True):
        ranks = f"{scaling}.values" in tensors
        known = ranks or f"{scaling}.mean" in tensors
        setattr(model, scaling, read_heard(tensors, scaling, size, ranks) if known else Scaling.none(size))
    if transformer is not None:
        _unpack_transformer(model, transformer)
    if "rows_" in tensors or "codes_" in tensors:
        model.rows_ = taken(tensors, "rows_", (None, columns))
        model.codes_ = taken(tensors, "codes_", (len(model.rows_), outputs))
    model.ridge_curve_ = None
    if "ridge_curve_.relative" in tensors:
        relative = taken(tensors, "ridge_curve_.relative", (None,))
        errors = taken(tensors, "ridge_curve_.errors", relative.shape, finite=False)
        model.ridge_curve_ = RidgeCurve(relative, errors, float(taken(tensors, "ridge_curve_.unit", ())))
    if about["features"] is not None:
        seen = _checks.integer(about["features"], "features", minimum=1)
        if seen != columns:
            raise ValueError(f"statistics of {seen} features for a readout of {columns}")
        model.statistics_ = _statistics(tensors, "statistics", (), columns, outputs)
        if "fold_statistics_.count" in tensors:
            (count,) = taken(tensors, "fold_statistics_.count", (None,)).shape
            whole = _statistics(tensors, "fold_statistics_", (count,), columns, outputs)
            model.fold_statistics_ = [whole.lane(k) for k in range(count)]
    if about["feature_names"]:
        if len(about["feature_names"]) != features or not all(isinstance(each, str) for each in about["feature_names"]):
            raise ValueError("the names of the inputs are not theirs")
        model.feature_names_in_ = np.array(about["feature_names"], dtype=object)
    if about["kind"] == "ESNClassifier":
        if about.get("class_names") is not None:  # before format 3
            model.classes_ = read_labels({"dtype": "str", "names": about["class_names"]}, tensors)
        else:
            model.classes_ = read_labels(about.get("labels"), tensors)
        if len(model.classes_) not in ((2,) if outputs == 1 else (outputs,)):
            raise ValueError(f"{len(model.classes_)} labels for {outputs} outputs")
        if not hasattr(model, "steepness_"):  # before format 3
            model.settle_steepness()
    return model


def _readout(tensors: Tensors) -> Readout | Hidden:
    """Linear, or with a hidden layer."""
    rows, _ = taken(tensors, "readout.coef", (None, None)).shape
    taken(tensors, "readout.intercept", (rows,))
    if "readout.outer" not in tensors:
        taken(tensors, "readout.ridge", (), least=0)
        return Readout(*(tensors[f"readout.{name}"] for name in Readout._fields))
    outputs, _ = taken(tensors, "readout.outer", (None, rows)).shape
    taken(tensors, "readout.offset", (outputs,))
    return Hidden(*(tensors[f"readout.{name}"] for name in Hidden._fields))


def _outputs(readout: Readout | Hidden) -> int:
    return len(readout.offset if isinstance(readout, Hidden) else readout.coef)


def _unpack_transformer(model: ESNClassifier, parameters: Mapping[str, Any]) -> None:
    """What a classifier of sequences judges them by; its network and its scaling are the classifier's."""
    made = ESNFeatures(**{name: _rich(value) for name, value in parameters.items()})
    check_pools(made.features)
    made.esn_, made.scaling_, made.n_features_in_ = model.esn_, model.scaling_, model.n_features_in_
    model.transformer_ = made


def _unpack_state(model: Any, tensors: Tensors, outputs: int) -> None:
    """Where the last fit ended: states, last targets, and the steps of every series."""
    if "state_" in tensors:
        state = tensors["state_"]
        esn = model.esn_
        width = esn.units + max(model.direct_ - 1, 0) * esn.columns + esn.n_outputs
        model.state_ = taken(tensors, "state_", (width,) if state.ndim < 2 else (None, width))
    if "last_target_" in tensors:
        target = tensors["last_target_"]
        model.last_target_ = taken(tensors, "last_target_", (outputs,) if target.ndim < 2 else (None, outputs))
    if "steps_seen_" in tensors:
        model.steps_seen_ = taken(tensors, "steps_seen_", (None,), "i", least=0)


def _statistics(tensors: Tensors, start: str, lanes: tuple[int, ...], features: int, outputs: int) -> Statistics:
    both = features + outputs
    count = taken(tensors, f"{start}.count", lanes, least=0)
    mean, scatter = taken(tensors, f"{start}.mean", (*lanes, both)), taken(tensors, f"{start}.scatter", (*lanes, both, both))
    return Statistics(count, mean, scatter, features)


def _number(name: str, value: object) -> Any:
    """A fitted number, checked by its name."""
    if name in ("flat_targets_", "per_sequence_"):
        if not isinstance(value, bool):
            raise ValueError(f"{name} must be true or false, not {value!r}")
        return value
    if name in ("ridge_", "steepness_"):
        return _checks.non_negative(value, name)
    if name == "no_forecast_":
        if value is not None and not isinstance(value, str):
            raise ValueError(f"{name} must be a reason or nothing, not {value!r}")
        return value
    if name not in NUMBERS:
        raise ValueError(f"a model has no {name}")
    return _checks.integer(value, name, minimum=int(name == "n_features_in_"))


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
    if isinstance(value, list | tuple | range | np.ndarray):
        return [_plain(each, name) for each in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):  # a fraction
        return float(value)
    if name == "device":
        return None  # a device object: the machine that loads has its own
    raise TypeError(f"{name}={value!r} of type {type(value).__name__} cannot be saved: give a number, a string or a list.")


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
