"""Numbers and curves of the live page, from sliders and data: the fitted model, the error map, and learning step by step.

`look` fits a model on the training steps and returns the numbers and curves of the page. `rows` computes the validation error
over two hyper-parameters row by row, so the map can fill gradually. `online` and `tuned` yield the path of learning on the map
point by point: learning stops when the page asks for no further point.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from echoscale._internal.types import Complex, Floats
from echoscale.app.live.controls import RANGES, Controls
from echoscale.app.live.data import LabData
from echoscale.data.metrics import nrmse
from echoscale.data.scaling import scaling_of
from echoscale.data.series import as_series, as_targets
from echoscale.engine.hyper import with_lanes
from echoscale.learning import Adam, OnlineLearner, tune
from echoscale.readouts.ridge import normalised_errors, ridge
from echoscale.readouts.rls import RLS
from echoscale.readouts.statistics import split_statistics
from echoscale.timescales import theory

if TYPE_CHECKING:
    from echoscale.estimators import ESNRegressor

TIMES = np.geomspace(0.5, 1000, 300)  # timescales of the density curves
DELAYS = 100  # steps of the impulse response
NEURONS = 3  # neurons of each level whose states are shown: more lines look the same
_RECORDING = Lock()  # warnings are recorded for the whole process
CELLS = 20  # cells of the map along each axis: more take longer
PIECE = 250  # steps of the stream between two points of the path: fewer show more points, and take longer
RATE = 3e-4  # learning rate of the hyper-parameters
FORGETTING = 0.9995
ROUNDS = 2  # of `tune` between two points
MOST = 100  # points of the path of `tune`
PASSES = 200  # over the training steps
LEAST = 1e-3  # least value in a search if the slider begins at 0, since the search uses logarithms


@dataclass(frozen=True, eq=False)
class Seen:
    """The numbers and curves of the page.

    Attributes
    ----------
    model : ESNRegressor
        Model, fitted on the training steps.
    errors : dict of str to float
        NRMSE on the steps of "training", "validation" and "test".
    accuracies : dict of str to float
        Accuracies of "state", "regime" and "joint" on the test steps; empty except for the telegraph.
    eigenvalues : list of (n,) complex arrays
        Eigenvalues of every level by itself.
    densities : list of arrays
        Density of the timescales `TIMES` of every level per factor e, scaled to maximum 1; empty if no theory applies.
    responses : list of (DELAYS + 1,) arrays
        Response of every level to an impulse in the first input: root mean square over its neurons, in the linear regime.
    states : list of (steps shown, NEURONS) arrays
        States of the first neurons of every level.
    prediction : (steps shown,) array
        Output for the first column of the targets.
    notes : tuple of str
        Warnings of the library.
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
    """Fit a model on the training steps and return its numbers and curves."""
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
    """The fitted model, the same as "Save model" saves and the copied Python code makes."""
    from echoscale.estimators import ESNRegressor
    from echoscale.readouts import Columns

    washout, trained, *_ = data.cuts
    network, seed = controls.network(), controls.seed
    model = ESNRegressor(network=network, columns=Columns(0), ridge=controls.ridge, washout=washout, random_state=seed)
    return model.fit(data.u[:trained], data.y[:trained])


def density(leak_rate: float, spectral_radius: float) -> Floats:
    """tau p(tau) at `TIMES`, the density per factor e of time, scaled to maximum 1; empty for radius 0 or above 1."""
    if not 0 < spectral_radius <= 1:
        return np.empty(0)
    found = TIMES * theory.density(TIMES, leak_rate, spectral_radius)
    return np.asarray(found / found.max()) if found.max() > 0 else np.empty(0)


def as_python(controls: Controls, data: LabData) -> str:
    """A program that prints the test error of the page."""
    washout, trained, validated, _ = data.cuts
    builder, units, factors = controls.described()
    return "\n".join(
        [
            "import numpy as np",
            "import echoscale as es",
            "",
            data.code,
            f"network = es.{builder}(",
            f"    {units},",
            *(f"    {name}=[{', '.join(f'{each:.6g}' for each in values)}]," for name, values in factors.items()),
            ")",
            "model = es.ESNRegressor(",
            f"    network=network, ridge={controls.ridge:g}, columns=es.readouts.Columns(0),",
            f"    washout={washout}, random_state={controls.seed},",
            ")",
            f"model.fit(u[:{trained}], y[:{trained}])",
            f"prediction = model.predict(u[{trained}:], state=model.state_)",
            f"print(es.nrmse(y[{validated}:], prediction[{validated - trained}:]))",
        ]
    )


class MapAxis(NamedTuple):
    """Cells along a hyper-parameter such as "leak_rate[0]": their middles (CELLS,) and their edges (CELLS + 1,)."""

    name: str
    values: Floats
    edges: Floats


def axis(name: str) -> MapAxis:
    """The range of the slider in equal cells; for leak rates, in equal cells of the logarithm."""
    low, high, _ = RANGES[name.split("[")[0]]
    if name.startswith("leak_rate"):
        edges = np.geomspace(low, high, CELLS + 1)
        return MapAxis(name, np.sqrt(edges[1:] * edges[:-1]), edges)
    edges = np.linspace(low, high, CELLS + 1)
    return MapAxis(name, (edges[1:] + edges[:-1]) / 2, edges)


def order() -> list[int]:
    """Row numbers from coarse to fine: each pass fills the middles between finished rows."""
    places, step = [0], 1 << (CELLS - 1).bit_length()
    while step > 1:
        step //= 2
        places += [k for k in range(step, CELLS, 2 * step)]
    return places


def rows(controls: Controls, data: LabData, across: MapAxis, up: MapAxis) -> Iterator[tuple[int, Floats]]:
    """Validation NRMSE of readouts fitted on the training steps. The networks of a row are the lanes of one run."""
    washout, trained, validated, _ = data.cuts
    series = scaling_of("standard", as_series(data.u[:trained])).apply(as_series(data.u[:validated]))
    targets = scaling_of("standard", as_series(data.y[:trained])).apply(as_series(data.y[:validated]))
    targets = as_targets(targets.values[0], series)
    esn = controls.network().build(series.features, controls.seed)
    for row in order():
        lanes = {across.name: across.values.tolist(), up.name: [float(up.values[row])] * CELLS}
        edges = [np.array([washout, trained, validated])]
        (train, validation), _ = split_statistics(esn, series, targets, edges, hyper=with_lanes(esn.hyper, lanes))
        yield row, normalised_errors(ridge(train, controls.ridge), validation)


def online(controls: Controls, data: LabData, names: Sequence[str]) -> Iterator[Floats]:
    """Pass the training steps through an `OnlineLearner` repeatedly: readout by RLS, hyper-parameters by Adam."""
    _, trained, *_ = data.cuts
    u, y = (scaling_of("standard", as_series(each[:trained])).forward(each[:trained]) for each in (data.u, data.y))
    learner = OnlineLearner(
        controls.network(),
        y.shape[1],
        parameters=list(names),
        readout=RLS(controls.ridge, FORGETTING),
        rates=Adam(RATE),
        record=PIECE,
        seed=controls.seed,
    )
    for _ in range(PASSES):
        for begin in range(0, trained, PIECE):
            learner.partial_fit(u[begin : begin + PIECE], y[begin : begin + PIECE])
            yield np.asarray(learner.values[0], np.float64)


def tuned(controls: Controls, data: LabData, names: Sequence[str]) -> Iterator[Floats]:
    """`es.tune` on the steps before the test, two rounds at a time, until the network stops changing."""
    washout, _, validated, _ = data.cuts
    u, y = data.u[:validated], data.y[:validated]
    ranges = [RANGES[name.split("[")[0]] for name in names]
    bounds = {name: (max(low, LEAST), high) for name, (low, high, _) in zip(names, ranges, strict=True)}
    here = np.array([np.clip(controls.value(name), *bounds[name]) for name in names])
    controls = _moved(controls, names, here)
    for _ in range(MOST):
        network = controls.network()
        starts = network.build(u.shape[1], controls.seed).hyper.map(lambda leaf: np.full(1, float(leaf)))
        found = tune(
            network,
            u,
            y,
            list(names),
            starts=starts,
            seed=controls.seed,
            washout=washout,
            test=0,
            ridge=controls.ridge,
            bounds=bounds,
            rounds=ROUNDS,
            relocate=False,
        )
        there = found.history["value"].sel(parameter=list(names)).values[-1, 0]
        if np.allclose(there, here, rtol=1e-4):
            return
        here = there
        controls = _moved(controls, names, here)
        yield here


def _accuracies(data: LabData, prediction: Floats) -> dict[str, float]:
    if data.telegraph is None:
        return {}
    *_, begin, _ = data.cuts
    right = (prediction > 0.5)[begin:] == (data.y > 0.5)[begin:]
    return {"state": float(right[:, 0].mean()), "regime": float(right[:, 1].mean()), "joint": float(right.all(axis=1).mean())}


def _moved(controls: Controls, names: Sequence[str], values: Floats) -> Controls:
    for name, value in zip(names, values.tolist(), strict=True):
        controls = controls.changed(name, value)
    return controls
