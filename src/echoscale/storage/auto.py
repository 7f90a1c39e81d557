"""The models of `es.auto` as plain arrays and JSON, for `storage`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale.data.model_arrays import Tensors, kept_labels, read_labels, read_names, taken, under
from echoscale.data.normal_scores import ONLY, columns_heard, read_heard
from echoscale.data.scaling import read_scaling
from echoscale.engine.esn import ESN
from echoscale.estimators.features import ESNFeatures
from echoscale.forecasting.networks import Drive
from echoscale.forecasting.selection.lags import LinearMap, ProductMap
from echoscale.forecasting.selection.model import AutoModel, Group, SequenceMember, SequenceModel
from echoscale.forecasting.selection.problem import Range
from echoscale.readouts.pooling import check_pools
from echoscale.readouts.ridge import Readout
from echoscale.storage.hyper import kept_hyper, read_hyper

PackESN = Callable[[ESN, Tensors], dict[str, Any]]
UnpackESN = Callable[[Mapping[str, Any], Tensors], ESN]
KINDS = ("AutoModel", "SequenceModel")


def pack(model: AutoModel | SequenceModel, tensors: Tensors, pack_esn: PackESN) -> dict[str, Any]:
    """Put the arrays into `tensors`; what is left, as JSON."""
    if isinstance(model, SequenceModel):
        return {"kind": "SequenceModel", "auto": _pack_sequences(model, tensors, pack_esn)}
    groups = []
    for g, group in enumerate(model.groups):
        own: Tensors = {"coef": group.coef}
        groups.append(pack_esn(group.esn, own))
        own |= kept_hyper(group.hyper, "lanes")
        tensors |= {f"group.{g}.{name}": array for name, array in own.items()}
    tensors |= {"linear.coef": model.linear.coef, "linear.intercept": model.linear.intercept}
    tensors |= {f"products.{k}": each.coef for k, each in enumerate(model.linear.products)}
    tensors |= {"scaling.mean": model.scaling.mean, "scaling.spread": model.scaling.spread}
    about: dict[str, Any] = {"groups": groups, "lags": list(model.linear.lags), "labelled": model.classes_ is not None}
    about["products"] = [list(each.lags) for each in model.linear.products]
    about["labels"] = None if model.classes_ is None else kept_labels(model.classes_, tensors)
    tensors |= {"target.mean": model.target_scaling.mean, "target.spread": model.target_scaling.spread}
    tensors |= {"drive.changes": model.drive.changes, "drive.spread": model.drive.spread, "state": model.state_}
    if model.range_ is not None:
        tensors |= {"range.low": model.range_.low, "range.high": model.range_.high}
    about |= {"flat": model.flat, "feature_names": list(model.feature_names_in_)}
    return {"kind": "AutoModel", "auto": about}


def _pack_sequences(model: SequenceModel, tensors: Tensors, pack_esn: PackESN) -> dict[str, Any]:
    members = []
    for m, member in enumerate(model.members):
        made, own = member.transformer, dict[str, npt.NDArray[Any]]()
        heard = {"ranks": made.ranks, "changes": member.changes, "backwards": member.backwards}
        members.append({"esn": pack_esn(made.esn_, own), "features": list(made.features), **heard})
        own |= {f"readout.{name}": np.asarray(value) for name, value in member.readout._asdict().items()}
        own |= {f"heard.{name}": value for name, value in made.scaling_._asdict().items()}
        tensors |= {f"member.{m}.{name}": array for name, array in own.items()}
    if model.summary is not None:
        tensors |= {f"summary.{name}": np.asarray(value) for name, value in model.summary._asdict().items()}
    tensors |= {"scaling.mean": model.scaling.mean, "scaling.spread": model.scaling.spread}
    labels = kept_labels(model.classes_, tensors)
    names = list(model.feature_names_in_)
    return {"members": members, "labels": labels, "steepness": model.steepness, "feature_names": names}


def _unpack_sequences(about: Mapping[str, Any], tensors: Tensors, unpack_esn: UnpackESN) -> SequenceModel:
    (features,) = taken(tensors, "scaling.mean", (None,)).shape
    classes = read_labels(about["labels"], tensors)
    members = []
    for m, each in enumerate(about["members"]):
        own = under(tensors, f"member.{m}.")
        esn = unpack_esn(each["esn"], own)
        ranks = checks.choice(each["ranks"], (True, False), "ranks")
        changes: Any = checks.choice(each["changes"], (True, False, ONLY), "changes")
        if columns_heard(features, changes) != esn.n_inputs:
            raise ValueError(f"member {m} hears {columns_heard(features, changes)} inputs, its network {esn.n_inputs}")
        made = ESNFeatures(
            network=esn.network,
            features=tuple(each["features"]),
            ranks=ranks,
            changes=False,
            random_state=esn.seed,
        )
        check_pools(made.features)
        made.esn_, made.n_features_in_ = esn, esn.n_inputs
        made.scaling_ = read_heard(own, "heard", esn.n_inputs, ranks)  # type: ignore[assignment]
        backwards = checks.choice(each["backwards"], (True, False), "backwards")
        members.append(SequenceMember(made, _readout(own, "readout", len(classes)), changes, backwards))
    summary = _readout(tensors, "summary", len(classes)) if "summary.coef" in tensors else None
    if not members and summary is None:
        raise ValueError("a model of labels that reads nothing")
    steepness = checks.non_negative(about["steepness"], "steepness")
    names, scaling = read_names(about["feature_names"], features), read_scaling(tensors, "scaling", features)
    return SequenceModel(tuple(members), summary, scaling, classes, steepness, feature_names_in_=names)


def _readout(tensors: Tensors, start: str, outputs: int) -> Readout:
    coef = taken(tensors, f"{start}.coef", (outputs, None))
    return Readout(coef, taken(tensors, f"{start}.intercept", (outputs,)), taken(tensors, f"{start}.ridge", (), least=0))


def unpack(kind: str, about: Mapping[str, Any], tensors: Tensors, unpack_esn: UnpackESN) -> AutoModel | SequenceModel:
    """The inverse of `pack`."""
    if kind == "SequenceModel":
        return _unpack_sequences(about, tensors, unpack_esn)
    groups = []
    for g, each in enumerate(about["groups"]):
        own = under(tensors, f"group.{g}.")
        esn = unpack_esn(each, own)
        lanes = read_hyper(esn.hyper, own, "lanes")
        outputs = tensors["linear.intercept"].size
        groups.append(Group(esn, lanes, taken(own, "coef", (lanes.lanes or 1, outputs, esn.units))))
    lags = tuple(checks.integer(each, "lags") for each in about["lags"])
    (features,) = taken(tensors, "scaling.mean", (None,)).shape
    coef = taken(tensors, "linear.coef", (None, len(lags) * features))
    products = []
    for k, each in enumerate(about["products"]):
        own_lags = tuple(checks.integer(lag, "lags") for lag in each)
        size = len(own_lags) * features
        if not set(own_lags) <= set(lags) or not own_lags:
            raise ValueError("products of lags that the model does not see")
        products.append(ProductMap(own_lags, taken(tensors, f"products.{k}", (len(coef), size * (size + 1) // 2))))
    linear = LinearMap(lags, coef, taken(tensors, "linear.intercept", coef.shape[:1]), tuple(products))
    classes = read_labels(about["labels"], tensors) if about["labelled"] else None
    scaling, target = read_scaling(tensors, "scaling", features), read_scaling(tensors, "target", len(coef))
    drive = Drive(taken(tensors, "drive.changes", (features,), "b"), taken(tensors, "drive.spread", (features,)))
    if not (drive.spread > 0).all():
        raise ValueError("drive.spread must be above 0")
    if classes is not None and len(classes) != len(coef):
        raise ValueError(f"{len(coef)} outputs have {len(classes)} labels")
    state = taken(tensors, "state", (None,) * min(max(tensors["state"].ndim, 1), 2))
    names = read_names(about["feature_names"], features)
    known = None
    if "range.low" in tensors:
        known = Range(*(taken(tensors, f"range.{name}", (features,), finite=False) for name in Range._fields))
    model = AutoModel(linear, tuple(groups), scaling, target, classes, bool(about["flat"]), drive, state, names, known)
    if state.shape[-1] != model.state_size:
        raise ValueError(f"the state has {state.shape[-1]} numbers, the networks and lags need {model.state_size}")
    return model
