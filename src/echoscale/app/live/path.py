"""Learning step by step: the path on the map. Whoever stops asking stops the learning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from echoscale._internal.types import Floats
from echoscale.app.live.controls import RANGES, Controls
from echoscale.app.live.data import LabData
from echoscale.data.scaling import scaling_of
from echoscale.data.series import as_series
from echoscale.learning import Adam, OnlineLearner, tune
from echoscale.readouts.rls import RLS

PIECE = 250  # steps of the stream between two points of the path
RATE = 3e-4  # of the hyper-parameters, a step
FORGETTING = 0.9995
ROUNDS = 2  # of `tune` between two points
MOST = 100  # of these
PASSES = 200  # over the training steps
LEAST = 1e-3  # where a search may go whose slider begins at 0: it walks along logarithms


def online(controls: Controls, data: LabData, names: Sequence[str]) -> Iterator[Floats]:
    """An `OnlineLearner` that hears the training steps again and again: its readout by RLS, its hyper-parameters by Adam."""
    _, trained, *_ = data.cuts
    u, y = (scaling_of("standard", as_series(each[:trained])).forward(each[:trained]) for each in (data.u, data.y))
    esn = controls.network().build(u.shape[1], controls.seed)
    readout, rates = RLS(controls.ridge, FORGETTING), Adam(RATE)
    learner = OnlineLearner(esn, y.shape[1], parameters=list(names), readout=readout, rates=rates, record=PIECE)
    for _ in range(PASSES):
        for begin in range(0, trained, PIECE):
            learner.partial_fit(u[begin : begin + PIECE], y[begin : begin + PIECE])
            yield np.asarray(learner.values[0], np.float64)


def tuned(controls: Controls, data: LabData, names: Sequence[str]) -> Iterator[Floats]:
    """`es.tune` on the steps before the test, two rounds at a time, until it stays where it is."""
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


def _moved(controls: Controls, names: Sequence[str], values: Floats) -> Controls:
    for name, value in zip(names, values.tolist(), strict=True):
        controls = controls.changed(name, value)
    return controls
