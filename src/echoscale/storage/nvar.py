"""A fitted `NVAR` as plain arrays and JSON, for `storage`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from echoscale._internal import checks
from echoscale.data.model_arrays import Tensors, read_names, taken
from echoscale.data.scaling import read_scaling
from echoscale.estimators.nvar import NVAR
from echoscale.readouts.penalties import RidgeCurve
from echoscale.readouts.ridge import Readout

CURVE = ("relative", "errors", "unit")
SCALINGS = ("scaling_", "target_scaling_")


def pack(model: NVAR, tensors: Tensors) -> dict[str, Any]:
    """Put the arrays into `tensors`; what is left, as JSON."""
    check_is_fitted(model, "readout_")
    tensors |= {f"readout.{name}": np.asarray(value) for name, value in model.readout_._asdict().items()}
    for scaling in SCALINGS:
        tensors |= {f"{scaling}.{name}": value for name, value in getattr(model, scaling)._asdict().items()}
    if model.ridge_curve_ is not None:
        tensors |= {f"ridge_curve_.{name}": np.asarray(getattr(model.ridge_curve_, name)) for name in CURVE}
    tensors |= {"state_": model.state_, "last_target_": np.asarray(model.last_target_)}
    given = model.get_params(deep=False)
    # Numbers of NumPy as plain ones, several penalties as a list.
    parameters = {name: np.asarray(value).tolist() for name, value in given.items() if value is not None}
    return {
        "parameters": {**dict.fromkeys(given), **parameters},
        "flat_targets_": bool(model.flat_targets_),
        "no_forecast_": model.no_forecast_,
        "feature_names": [str(name) for name in getattr(model, "feature_names_in_", [])],
    }


def unpack(about: Mapping[str, Any], tensors: Tensors) -> NVAR:
    """The inverse of `pack`; the content of the file is checked."""
    model = NVAR(**about["parameters"])
    model._check_parameters()
    (features,) = taken(tensors, "scaling_.mean", (None,)).shape
    model.n_features_in_ = checks.integer(features, "inputs", minimum=1)
    coef = taken(tensors, "readout.coef", (None, len(model._places(features))))
    outputs = checks.integer(len(coef), "outputs", minimum=1)
    ridge = taken(tensors, "readout.ridge", (), least=0)
    model.readout_ = Readout(coef, taken(tensors, "readout.intercept", (outputs,)), ridge)
    model.ridge_, model.ridge_curve_ = float(ridge), None
    if "ridge_curve_.relative" in tensors:
        relative = taken(tensors, "ridge_curve_.relative", (None,))
        errors = taken(tensors, "ridge_curve_.errors", relative.shape, finite=False)
        model.ridge_curve_ = RidgeCurve(relative, errors, float(taken(tensors, "ridge_curve_.unit", ())))
    for name, size in zip(SCALINGS, (features, outputs), strict=True):
        setattr(model, name, read_scaling(tensors, name, size))
    model.washout_ = (model.lags - 1) * model.stride
    width = model.washout_ * features
    model.state_ = taken(tensors, "state_", (width,) if tensors["state_"].ndim < 2 else (None, width))
    last = tensors["last_target_"]
    model.last_target_ = taken(tensors, "last_target_", (outputs,) if last.ndim < 2 else (None, outputs), finite=False)
    model.flat_targets_ = checks.choice(about["flat_targets_"], (True, False), "flat_targets_")
    if not isinstance(about["no_forecast_"], str):
        raise ValueError(f"no_forecast_ must be a reason, not {about['no_forecast_']!r}")
    model.no_forecast_ = about["no_forecast_"]
    if names := read_names(about["feature_names"], features):
        model.feature_names_in_ = np.array(names, dtype=object)
    return model
