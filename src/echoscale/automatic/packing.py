"""The models of `es.auto` as plain arrays and JSON, for `storage`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale.automatic.drive import Drive
from echoscale.automatic.lags import LinearMap
from echoscale.automatic.model import AutoModel, Group
from echoscale.automatic.sequences import SequenceMember, SequenceModel
from echoscale.esn import ESN
from echoscale.estimators.transformer import ESNFeatures
from echoscale.features.normal_scores import NormalScores
from echoscale.hyper import Hyper
from echoscale.readouts.ridge import Readout
from echoscale.scaling import Scaling

Tensors = dict[str, npt.NDArray[Any]]
KINDS = ("AutoModel", "SequenceModel")


def pack(
    model: AutoModel | SequenceModel, tensors: Tensors, pack_esn: Callable[[ESN, Tensors], dict[str, Any]]
) -> dict[str, Any]:
    """Put the arrays into `tensors`; what is left, as JSON.

    Parameters
    ----------
    model : AutoModel or SequenceModel
        The model.
    tensors : dict
        Gets the arrays.
    pack_esn : function of (ESN, tensors)
        Does the same with a network.
    """
    if isinstance(model, SequenceModel):
        return {"kind": "SequenceModel", "auto": _pack_sequences(model, tensors, pack_esn)}
    groups = []
    for g, group in enumerate(model.groups):
        own: Tensors = {"coef": group.coef}
        groups.append(pack_esn(group.esn, own))
        for name, leaves in zip(Hyper._fields, group.hyper, strict=True):
            own |= {f"lanes.{name}.{k}": np.asarray(leaf, np.float64) for k, leaf in enumerate(leaves)}
        tensors |= {f"group.{g}.{name}": array for name, array in own.items()}
    tensors |= {"linear.coef": model.linear.coef, "linear.intercept": model.linear.intercept}
    tensors |= {"scaling.mean": model.scaling.mean, "scaling.spread": model.scaling.spread}
    about: dict[str, Any] = {"groups": groups, "lags": list(model.linear.lags), "class_names": None}
    if model.classes_ is not None and model.classes_.dtype.kind in "biuf":
        tensors["classes"] = model.classes_
    elif model.classes_ is not None:
        about["class_names"] = [str(each) for each in model.classes_]
    tensors |= {"target.mean": model.target_scaling.mean, "target.spread": model.target_scaling.spread}
    tensors |= {"drive.changes": model.drive.changes, "drive.spread": model.drive.spread, "state": model.state_}
    about["flat"] = model.flat
    return {"kind": "AutoModel", "auto": about}


def _pack_sequences(
    model: SequenceModel, tensors: Tensors, pack_esn: Callable[[ESN, Tensors], dict[str, Any]]
) -> dict[str, Any]:
    members = []
    for m, member in enumerate(model.members):
        made, own = member.transformer, dict[str, npt.NDArray[Any]]()
        members.append({"esn": pack_esn(made.esn_, own), "features": list(made.features), "ranks": made.ranks})
        own |= {f"readout.{name}": np.asarray(value) for name, value in member.readout._asdict().items()}
        own |= {f"heard.{name}": value for name, value in made.scaling_._asdict().items()}
        tensors |= {f"member.{m}.{name}": array for name, array in own.items()}
    if model.summary is not None:
        tensors |= {f"summary.{name}": np.asarray(value) for name, value in model.summary._asdict().items()}
    tensors |= {"scaling.mean": model.scaling.mean, "scaling.spread": model.scaling.spread}
    numbers = model.classes_.dtype.kind in "biuf"
    if numbers:
        tensors["classes"] = model.classes_
    names = None if numbers else [str(each) for each in model.classes_]
    return {"members": members, "class_names": names, "steepness": model.steepness}


def _unpack_sequences(
    about: Mapping[str, Any], tensors: Tensors, unpack_esn: Callable[[Mapping[str, Any], Tensors], ESN]
) -> SequenceModel:
    members = []
    for m, each in enumerate(about["members"]):
        start = f"member.{m}."
        own = {name.removeprefix(start): array for name, array in tensors.items() if name.startswith(start)}
        esn = unpack_esn(each["esn"], own)
        made = ESNFeatures(network=esn.network, features=tuple(each["features"]), ranks=each["ranks"], random_state=esn.seed)
        kind: Any = NormalScores if each["ranks"] else Scaling
        made.esn_, made.scaling_ = esn, kind(*(own[f"heard.{name}"] for name in kind._fields))
        made.n_features_in_ = len(tensors["scaling.mean"])
        members.append(SequenceMember(made, Readout(*(own[f"readout.{name}"] for name in Readout._fields))))
    summary = Readout(*(tensors[f"summary.{name}"] for name in Readout._fields)) if "summary.coef" in tensors else None
    names = about["class_names"]
    classes = tensors["classes"] if names is None else np.array(names)
    scaling = Scaling(tensors["scaling.mean"], tensors["scaling.spread"])
    return SequenceModel(tuple(members), summary, scaling, classes, float(about["steepness"]))


def unpack(
    kind: str, about: Mapping[str, Any], tensors: Tensors, unpack_esn: Callable[[Mapping[str, Any], Tensors], ESN]
) -> AutoModel | SequenceModel:
    """The inverse of `pack`.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    about : mapping
        What was left as JSON.
    tensors : dict
        The arrays.
    unpack_esn : function of (JSON, tensors)
        Does the same with a network.
    """
    if kind == "SequenceModel":
        return _unpack_sequences(about, tensors, unpack_esn)
    groups = []
    for g, each in enumerate(about["groups"]):
        start = f"group.{g}."
        own = {name.removeprefix(start): array for name, array in tensors.items() if name.startswith(start)}
        esn = unpack_esn(each, own)
        counts = (len(leaves) for leaves in esn.hyper)
        lanes = Hyper(
            *(tuple(own[f"lanes.{name}.{k}"] for k in range(n)) for name, n in zip(Hyper._fields, counts, strict=True))
        )
        groups.append(Group(esn, lanes, own["coef"]))
    linear = LinearMap(tuple(about["lags"]), tensors["linear.coef"], tensors["linear.intercept"])
    scaling = Scaling(tensors["scaling.mean"], tensors["scaling.spread"])
    names = about["class_names"]
    classes = tensors.get("classes") if names is None else np.array(names)
    target = Scaling(tensors["target.mean"], tensors["target.spread"])
    drive = Drive(tensors["drive.changes"], tensors["drive.spread"])
    return AutoModel(linear, tuple(groups), scaling, target, classes, bool(about["flat"]), drive, tensors["state"])
