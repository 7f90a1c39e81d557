"""The models of `es.auto` as plain arrays and JSON, for `storage`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from echoscale import _checks
from echoscale.automatic.drive import Drive
from echoscale.automatic.lags import LinearMap
from echoscale.automatic.model import AutoModel, Group
from echoscale.automatic.sequences import SequenceModel
from echoscale.esn import ESN
from echoscale.scaling import Scaling
from echoscale.tensors import Tensors, kept_hyper, kept_labels, read_hyper, read_labels, taken

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
    groups = []
    for g, group in enumerate(model.groups):
        own: Tensors = {"coef": group.coef}
        groups.append(pack_esn(group.esn, own))
        own |= kept_hyper(group.hyper, "lanes")
        tensors |= {f"group.{g}.{name}": array for name, array in own.items()}
    tensors |= {"linear.coef": model.linear.coef, "linear.intercept": model.linear.intercept}
    tensors |= {"scaling.mean": model.scaling.mean, "scaling.spread": model.scaling.spread}
    about: dict[str, Any] = {"groups": groups, "lags": list(model.linear.lags), "labelled": model.classes_ is not None}
    about["labels"] = None if model.classes_ is None else kept_labels(model.classes_, tensors)
    if isinstance(model, AutoModel):
        tensors |= {"target.mean": model.target_scaling.mean, "target.spread": model.target_scaling.spread}
        tensors |= {"drive.changes": model.drive.changes, "drive.spread": model.drive.spread, "state": model.state_}
        about["flat"] = model.flat
    return {"kind": type(model).__name__, "auto": about}


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
    groups = []
    for g, each in enumerate(about["groups"]):
        start = f"group.{g}."
        own = {name.removeprefix(start): array for name, array in tensors.items() if name.startswith(start)}
        esn = unpack_esn(each, own)
        lanes = read_hyper(esn.hyper, own, "lanes")
        outputs = tensors["linear.intercept"].size
        states = 2 * esn.units if kind == "SequenceModel" else esn.units
        groups.append(Group(esn, lanes, taken(own, "coef", (lanes.lanes or 1, outputs, states))))
    lags = tuple(_checks.integer(each, "lags") for each in about["lags"])
    (features,) = taken(tensors, "scaling.mean", (None,)).shape
    coef = taken(tensors, "linear.coef", (None, 4 * features if kind == "SequenceModel" else len(lags) * features))
    linear = LinearMap(lags, coef, taken(tensors, "linear.intercept", coef.shape[:1]))
    scaling = _scaling(tensors, "scaling", features)
    classes = None
    if about.get("class_names") is not None:  # before format 3
        classes = read_labels({"dtype": "str", "names": about["class_names"]}, tensors)
    elif about.get("labelled", "classes" in tensors):
        classes = read_labels(about.get("labels"), tensors)
    if kind == "SequenceModel":
        if classes is None or len(classes) != len(coef):
            raise ValueError("a model of labels without its labels")
        return SequenceModel(linear, tuple(groups), scaling, classes)
    target = _scaling(tensors, "target", len(coef))
    drive = Drive(taken(tensors, "drive.changes", (features,), "b"), taken(tensors, "drive.spread", (features,), least=0))
    state = taken(tensors, "state", (None,) * min(max(tensors["state"].ndim, 1), 2))
    return AutoModel(linear, tuple(groups), scaling, target, classes, bool(about["flat"]), drive, state)


def _scaling(tensors: Tensors, name: str, size: int) -> Scaling:
    mean, spread = taken(tensors, f"{name}.mean", (size,)), taken(tensors, f"{name}.spread", (size,))
    if not (spread > 0).all():
        raise ValueError(f"{name}.spread must be above 0")
    return Scaling(mean, spread)
