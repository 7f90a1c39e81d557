"""Sliders and data -> all numbers and curves of the page."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from echoscale._internal.types import Complex, Floats
from echoscale.app.live.controls import Controls
from echoscale.app.live.data import LabData
from echoscale.data.metrics import nrmse
from echoscale.timescales import theory

if TYPE_CHECKING:
    from echoscale.estimators import ESNRegressor


TIMES = np.geomspace(0.5, 1000, 300)
DELAYS = 100
NEURONS = 3  # of each level, whose states are shown
_RECORDING = Lock()  # warnings are recorded for the whole process


@dataclass(frozen=True, eq=False)
class Seen:
    """What the page shows.

    Attributes
    ----------
    model : ESNRegressor
        Fitted on the training steps.
    errors : dict of str to float
        NRMSE on the steps of "training", "validation" and "test".
    accuracies : dict of str to float
        Of "state", "regime" and "joint" on the test steps; empty but for the telegraph.
    eigenvalues : list of (n,) complex arrays
        Of every level by itself.
    densities : list of arrays
        Of the timescales `TIMES` of every level per factor e, the largest scaled to 1; empty where the theory does not hold.
    responses : list of (DELAYS + 1,) arrays
        Of every level to an impulse in the first input, the root of the mean square over its neurons, in the linear regime.
    states : list of (steps shown, NEURONS) arrays
        Of the first neurons of every level.
    prediction : (steps shown,) array
        Of the first column of the targets.
    notes : tuple of str
        What the library warned of.
    """

    model: ESNRegressor
    errors: dict[str, float]
    accuracies: dict[str, float]
    eigenvalues: list[Complex]
    densities: list[Floats]
    responses: list[Floats]
    states: list[Floats]
    prediction: Floats
    notes: tuple[str, ...]


def look(controls: Controls, data: LabData) -> Seen:
    """Fit on the training steps, and see."""
    washout, trained, validated, end = data.cuts
    with _RECORDING, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = fitted(controls, data)
    esn = model.esn_
    states = np.asarray(esn.run(model.scaling_.forward(data.u)), np.float64)
    prediction = np.asarray(model.readout_.predict(states))
    parts = {"training": (washout, trained), "validation": (trained, validated), "test": (validated, end)}
    linear = esn.linearised()
    kernel = linear.delay_kernel(DELAYS)[:, :, 0]
    shown = data.shown
    own = esn.network.slices
    return Seen(
        model=model,
        errors={name: nrmse(data.y[a:b], prediction[a:b]) for name, (a, b) in parts.items()},
        accuracies=_accuracies(data, prediction),
        eigenvalues=[np.linalg.eigvals(linear.part(k).M.toarray()).astype(np.complex128) for k in range(len(own))],
        densities=[density(each.leak_rate, each.spectral_radius) for each in controls.levels],
        responses=[np.sqrt((kernel[:, each] ** 2).mean(axis=1)) for each in own],
        states=[states[shown, each][:, :NEURONS] for each in own],
        prediction=prediction[shown, 0],
        notes=tuple(dict.fromkeys(str(each.message) for each in said)),
    )


def fitted(controls: Controls, data: LabData) -> ESNRegressor:
    """The model: what "save model" saves, and what the copied Python makes."""
    from echoscale.estimators import ESNRegressor

    washout, trained, *_ = data.cuts
    network, seed = controls.network(), controls.seed
    model = ESNRegressor(network=network, ridge=controls.ridge, direct=False, washout=washout, random_state=seed)
    return model.fit(data.u[:trained], data.y[:trained])


def density(leak_rate: float, spectral_radius: float) -> Floats:
    """tau p(tau) at `TIMES`, the largest scaled to 1: the density per factor e of time; empty beyond a radius of 1 and at 0."""
    if not 0 < spectral_radius <= 1:
        return np.empty(0)
    found = TIMES * theory.density(TIMES, leak_rate, spectral_radius)
    return np.asarray(found / found.max()) if found.max() > 0 else np.empty(0)


def _accuracies(data: LabData, prediction: Floats) -> dict[str, float]:
    if data.telegraph is None:
        return {}
    *_, begin, _ = data.cuts
    right = (prediction > 0.5)[begin:] == (data.y > 0.5)[begin:]
    return {"state": float(right[:, 0].mean()), "regime": float(right[:, 1].mean()), "joint": float(right.all(axis=1).mean())}


def as_python(controls: Controls, data: LabData) -> str:
    """A program that prints the test error of the page."""
    washout, trained, validated, _ = data.cuts
    levels, joined = controls.levels, controls.structure == "hierarchical" and len(controls.levels) > 1
    factors = [
        f"    {name}=[{', '.join(f'{getattr(each, name):.6g}' for each in levels)}],"
        for name in ("leak_rate", "spectral_radius", "input_scaling", "bias_scaling")
    ]
    if joined:
        factors.append(f"    coupling=[{', '.join(f'{each.coupling:.6g}' for each in levels[1:])}],")
    return "\n".join(
        [
            "import numpy as np",
            "import echoscale as es",
            "",
            data.code,
            f"network = es.{'hierarchical' if joined else 'parallel'}(",
            f"    {[each.units for each in levels]},",
            *factors,
            ")",
            "model = es.ESNRegressor(",
            f"    network=network, ridge={controls.ridge:g}, direct=False,",
            f"    washout={washout}, random_state={controls.seed},",
            ")",
            f"model.fit(u[:{trained}], y[:{trained}])",
            f"prediction = model.predict(u[{trained}:], state=model.state_)",
            f"print(es.nrmse(y[{validated}:], prediction[{validated - trained}:]))",
        ]
    )
