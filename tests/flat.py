"""Estimators from one flat dictionary of options, for tests that vary many of them.

Options of the network (`structure`, `bias_scaling`, ...), of `Columns`, `Pools` and a trained readout go where they belong.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import echoscale as es

NETWORK = ("structure", "bias_scaling", "coupling", "coupling_delay", "connections", "topology", "feedback_scaling")
COLUMNS = ("inputs", "squares", "products")
POOLS = ("features", "every", "parts", "changes", "ranks", "standardise")
TRAINING = ("epochs", "rate", "batch", "calibrate")
READOUTS: dict[str, Any] = {"softmax": es.readouts.Softmax, "sigmoid": es.readouts.Sigmoid, "ridge": lambda **_: None}


def options(kind: type[Any], **given: Any) -> dict[str, Any]:
    """Parameters of the constructor of this class."""
    usual = kind().get_params()

    def taken(names: tuple[str, ...]) -> dict[str, Any]:
        return {name: given.pop(name) for name in names if name in given}

    if any(name in given for name in NETWORK):
        flat = {name: given.pop(name, usual[name]) for name in ("units", "leak_rate", "spectral_radius", "input_scaling")}
        flat = {
            name: {"leak_rate": 1.0, "input_scaling": 0.3}[name] if value is None else value for name, value in flat.items()
        }
        own = {"bias_scaling": 0.5, **taken(NETWORK)}
        build = es.hierarchical if own.pop("structure", "parallel") == "hierarchical" else es.parallel
        units = flat.pop("units")
        given["network"] = build(list(units) if np.ndim(units) else [units], **flat, **own)
    if columns := taken(COLUMNS):
        given["columns"] = es.readouts.Columns(**{**columns})
    if pools := taken(POOLS):
        given["pools"] = es.readouts.Pools(**pools)
    training = taken(TRAINING)
    if given.get("readout") in READOUTS:
        given["readout"] = READOUTS[given["readout"]](**training)
    return given


def flat(kind: type[Any], **given: Any) -> Any:
    """An estimator of this class."""
    return kind(**options(kind, **given))
