"""Estimators as plain arrays and JSON, for `storage`."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from dataclasses import astuple
from typing import Any, cast

import numpy as np

from echoscale._internal import checks
from echoscale.data.model_arrays import Tensors, kept_labels, read_labels, read_names, taken
from echoscale.data.normal_scores import columns_heard, read_heard
from echoscale.engine.esn import ESN
from echoscale.estimators.classifier import ESNClassifier
from echoscale.estimators.features import ESNFeatures
from echoscale.estimators.regressor import ESNRegressor
from echoscale.network import Concentric, LogNormal, LogUniform, Network
from echoscale.network.matrix import Matrix
from echoscale.readouts.columns import Columns
from echoscale.readouts.penalties import RidgeCurve
from echoscale.readouts.pooling import check_pools
from echoscale.readouts.ridge import Readout
from echoscale.readouts.statistics import Statistics

PackESN = Callable[[ESN, Tensors], dict[str, Any]]
UnpackESN = Callable[[Mapping[str, Any], Tensors], ESN]
KINDS = {"ESNRegressor": ESNRegressor, "ESNClassifier": ESNClassifier}
DISTRIBUTIONS: dict[str, Any] = {"LogUniform": LogUniform, "LogNormal": LogNormal}  # of leak rates
# Fitted attributes that are plain arrays or numbers; the others (network, readout, statistics, classes) have their own way.
ARRAYS = ("state_", "rest_", "last_target_", "steps_seen_", "rows_", "codes_")
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


def pack(model: ESNRegressor | ESNClassifier, tensors: Tensors, pack_esn: PackESN) -> dict[str, Any]:
    """Put the arrays into `tensors`; what is left, as JSON."""
    if not hasattr(model, "readout_"):
        raise ValueError(f"this {type(model).__name__} is not fitted yet: there is nothing to save. Call fit first.")
    for name in ARRAYS:
        if hasattr(model, name):
            tensors[name] = np.asarray(getattr(model, name))
    for name, value in model.readout_._asdict().items():
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
        "esn": pack_esn(model.esn_, tensors),
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


def unpack(about: Mapping[str, Any], tensors: Tensors, unpack_esn: UnpackESN) -> ESNRegressor | ESNClassifier:
    """The inverse of `pack`; the content of the file is checked."""
    model: Any = KINDS[about["kind"]](**{name: _rich(value) for name, value in about["parameters"].items()})
    model._check_parameters()
    model.make_network()
    model.esn_ = unpack_esn(about["esn"], tensors)
    _unpack_numbers(model, about["numbers"])
    heard = _inputs_heard(model, about["transformer"])
    model.readout_ = _readout(tensors)
    outputs = len(model.readout_.coef)
    _check_columns(model)
    _unpack_state(model, tensors, outputs)
    for scaling, size in zip(SCALINGS, (heard, outputs), strict=True):
        setattr(model, scaling, read_heard(tensors, scaling, size, f"{scaling}.values" in tensors))
    if getattr(model, "per_sequence_", False):
        _unpack_transformer(model, about["transformer"])
    _unpack_what_was_seen(model, about["features"], tensors, outputs)
    model.ridge_curve_ = _curve(tensors)
    if names := read_names(about["feature_names"], model.n_features_in_):
        model.feature_names_in_ = np.array(names, dtype=object)
    if about["kind"] == "ESNClassifier":
        _unpack_labels(model, about, tensors, outputs)
    return cast("ESNRegressor | ESNClassifier", model)


def _unpack_numbers(model: Any, numbers: Mapping[str, object]) -> None:
    for name, value in numbers.items():
        setattr(model, name, _number(name, value))
    own = {"flat_targets_"} if isinstance(model, ESNRegressor) else {"per_sequence_", "steepness_"}
    if not getattr(model, "per_sequence_", False):
        own.add("direct_")
    if missing := sorted({"n_features_in_", "ridge_", "washout_", *own} - set(numbers)):
        raise ValueError(f"the model has no {missing[0]}")


def _inputs_heard(model: Any, transformer: Mapping[str, Any] | None) -> int:
    """How many inputs the network hears: those of the data, and of a transformer their changes too."""
    features: int = model.n_features_in_
    heard = features if transformer is None else columns_heard(features, transformer["changes"])
    if heard != model.esn_.n_inputs:
        raise ValueError(f"the model has {heard} inputs, its network {model.esn_.n_inputs}")
    return heard


def _check_columns(model: Any) -> None:
    """Those of a readout of steps are states, products of them, and inputs; of sequences, what pools give."""
    if getattr(model, "per_sequence_", False):
        return
    esn, direct, columns = model.esn_, model.direct_, model.readout_.coef.shape[1]
    if columns != Columns(direct, bool(model.squares), int(model.products)).width(esn):
        raise ValueError(f"the readout has {columns} columns for {esn.units} states and {direct} of {esn.columns} inputs")


def _unpack_what_was_seen(model: Any, features: object, tensors: Tensors, outputs: int) -> None:
    """What `partial_fit` adds to: rows of features of sequences, or statistics of steps and of their folds."""
    columns = model.readout_.coef.shape[1]
    if "rows_" in tensors or "codes_" in tensors:
        model.rows_ = taken(tensors, "rows_", (None, columns))
        model.codes_ = taken(tensors, "codes_", (len(model.rows_), outputs))
    if features is None:
        return
    seen = checks.integer(features, "features", minimum=1)
    if seen != columns:
        raise ValueError(f"statistics of {seen} features for a readout of {columns}")
    model.statistics_ = _statistics(tensors, "statistics", (), columns, outputs)
    if "fold_statistics_.count" in tensors:
        (count,) = taken(tensors, "fold_statistics_.count", (None,)).shape
        whole = _statistics(tensors, "fold_statistics_", (count,), columns, outputs)
        model.fold_statistics_ = [whole.lane(k) for k in range(count)]


def _curve(tensors: Tensors) -> RidgeCurve | None:
    if "ridge_curve_.relative" not in tensors:
        return None
    relative = taken(tensors, "ridge_curve_.relative", (None,))
    errors = taken(tensors, "ridge_curve_.errors", relative.shape, finite=False)
    return RidgeCurve(relative, errors, float(taken(tensors, "ridge_curve_.unit", ())))


def _unpack_labels(model: Any, about: Mapping[str, Any], tensors: Tensors, outputs: int) -> None:
    model.classes_ = read_labels(about["labels"], tensors)
    if len(model.classes_) not in ((2,) if outputs == 1 else (outputs,)):
        raise ValueError(f"{len(model.classes_)} labels for {outputs} outputs")


def _readout(tensors: Tensors) -> Readout:
    rows, _ = taken(tensors, "readout.coef", (None, None)).shape
    taken(tensors, "readout.intercept", (rows,))
    taken(tensors, "readout.ridge", (), least=0)
    return Readout(*(tensors[f"readout.{name}"] for name in Readout._fields))


def _unpack_transformer(model: ESNClassifier, parameters: Mapping[str, Any]) -> None:
    """What a classifier of sequences judges them by; its network and its scaling are the classifier's."""
    made = ESNFeatures(**{name: _rich(value) for name, value in parameters.items()})
    check_pools(made.features)
    made.esn_, made.scaling_, made.n_features_in_ = model.esn_, model.scaling_, model.n_features_in_
    model.transformer_ = made


def _unpack_state(model: Any, tensors: Tensors, outputs: int) -> None:
    """Where the last fit ended: states, last targets, and the steps of every series; and where a new series begins."""
    if "state_" in tensors:
        state = tensors["state_"]
        esn = model.esn_
        width = esn.units + max(model.direct_ - 1, 0) * esn.columns + esn.n_outputs
        model.state_ = taken(tensors, "state_", (width,) if state.ndim < 2 else (None, width))
        model.rest_ = taken(tensors, "rest_", (width,))
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
        return checks.non_negative(value, name)
    if name == "no_forecast_":
        if value is not None and not isinstance(value, str):
            raise ValueError(f"{name} must be a reason or nothing, not {value!r}")
        return value
    if name not in NUMBERS:
        raise ValueError(f"a model has no {name}")
    return checks.integer(value, name, minimum=int(name == "n_features_in_"))


def _plain(value: object, name: str) -> Any:
    """A parameter as JSON."""
    if isinstance(value, Network):
        return {"network": value.to_dict()}
    if isinstance(value, Concentric):
        return {"concentric": {"rings": value.rings, "jump": value.jump}}
    if isinstance(value, LogUniform | LogNormal):
        return {type(value).__name__: list(astuple(value))}
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
        if kind in DISTRIBUTIONS:
            return DISTRIBUTIONS[kind](*content)
        return Network.from_dict(content) if kind == "network" else Matrix.from_dict(content)
    return value
