"""The models of `es.auto` as plain arrays and JSON, for `storage`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale.automatic.drive import Drive
from echoscale.automatic.lags import LinearMap
from echoscale.automatic.model import AutoModel, Group
from echoscale.automatic.sequences import SequenceModel
from echoscale.esn import ESN
from echoscale.hyper import Hyper
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
        counts = (len(leaves) for leaves in esn.hyper)
        lanes = Hyper(
            *(tuple(own[f"lanes.{name}.{k}"] for k in range(n)) for name, n in zip(Hyper._fields, counts, strict=True))
        )
        groups.append(Group(esn, lanes, own["coef"]))
    linear = LinearMap(tuple(about["lags"]), tensors["linear.coef"], tensors["linear.intercept"])
    scaling = Scaling(tensors["scaling.mean"], tensors["scaling.spread"])
    names = about["class_names"]
    classes = tensors.get("classes") if names is None else np.array(names)
    if kind == "SequenceModel":
        if classes is None:
            raise ValueError("a model of labels without labels")
        return SequenceModel(linear, tuple(groups), scaling, classes)
    target = Scaling(tensors["target.mean"], tensors["target.spread"])
    drive = Drive(tensors["drive.changes"], tensors["drive.spread"])
    return AutoModel(linear, tuple(groups), scaling, target, classes, bool(about["flat"]), drive, tensors["state"])
