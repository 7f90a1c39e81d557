"""Estimators from one flat dictionary of options, for tests that vary many of them.

Options of the network (`structure`, `bias_scaling`, ...), of `Columns`, `Pools` and a trained readout go where they belong.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

import echoscale as es

T = TypeVar("T")
SEARCHED = ("units", "leak_rate", "spectral_radius", "input_scaling")
NETWORK = ("structure", "bias_scaling", "coupling", "coupling_delay", "connections", "topology", "feedback_scaling")
COLUMNS = ("inputs", "squares", "products")
POOLS = ("features", "every", "parts", "changes", "ranks", "standardise")
TRAINING = ("epochs", "rate", "batch", "calibrate")
READOUTS: dict[str, Any] = {"softmax": es.readouts.Softmax, "sigmoid": es.readouts.Sigmoid, "ridge": lambda **_: None}


def options(kind: type[Any], **given: Any) -> dict[str, Any]:
    """Parameters of the constructor of this class."""

    def taken(names: tuple[str, ...]) -> dict[str, Any]:
        return {name: given.pop(name) for name in names if name in given}

    if kind is es.ESNRegressor and "network" not in given:  # these tests are not about the choice of timescales
        given = {"leak_rate": 1.0, "input_scaling": 0.1, **given}
    if any(name in given for name in NETWORK):
        usual = {name: value for name, value in kind().get_params().items() if name in SEARCHED and value is not None}
        described = {"leak_rate": 1.0, "input_scaling": 0.3, "bias_scaling": 0.5, **usual, **taken(SEARCHED), **taken(NETWORK)}
        build = es.hierarchical if described.pop("structure", "") == "hierarchical" else es.parallel
        given["network"] = build(np.atleast_1d(described.pop("units")).tolist(), **described)
    if columns := taken(COLUMNS):
        given["columns"] = es.readouts.Columns(**columns)
    if pools := taken(POOLS):
        given["pools"] = es.readouts.Pools(**pools)
    training = taken(TRAINING)
    if "readout" in given:
        given["readout"] = READOUTS[given["readout"]](**training) if given["readout"] in READOUTS else given["readout"]
    return given


def flat(kind: type[T], **given: Any) -> T:
    """An estimator of this class."""
    return kind(**options(kind, **given))
