"""The test part, which took no part in tuning, judges: the tuned network beside the one that tuning began with.

Both are fitted to all that was tuned on, with their own ridge penalties. Errors that survive rounding and noise:

    float32   the same network and ridge with states in float32
    noisy     with noise of 1e-4 of the states' standard deviation, the ridge chosen anew by the folds; exact on average:
              noise of variance s^2 adds n s^2 I to the Gram matrix of n rows, and s^2 |W|^2 to the squared error
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale.hyper import Hyper
from echoscale.network import Network
from echoscale.readouts.penalties import RELATIVE, in_units, unit_of
from echoscale.readouts.ridge import mean_squared_errors, ridge_path
from echoscale.readouts.statistics import Statistics
from echoscale.tuning.objective import Loss, Networks
from echoscale.tuning.runs import Runs, with_noise
from echoscale.tuning.split import Fold, TuningData

Floats = npt.NDArray[np.float64]

NOISE = 1e-4


class Verdict(NamedTuple):
    """Errors on the test part, as they are reported; `noisy` is for squared errors alone."""

    tuned: float
    start: float
    float32: float
    noisy: float | None


def judge(task: Loss, network: Network, data: TuningData, hyper: Hyper, per_step: Floats, sharpness: Floats) -> Verdict:
    """Of two lanes, the start and the tuned one, with their ridge penalties per training step (2,) and sharpnesses (2,)."""
    test = Fold(tuple(range(len(data.whole_edges[0]) - 2)), len(data.whole_edges[0]) - 2)
    runs = replace(task.runs, series=data.whole[0], targets=data.whole[1], edges=data.whole_edges, folds=(test,), rows=None)
    networks = Networks(hyper, per_step[:, None] * runs.train_rows, sharpness)
    start, tuned = _errors(task, runs, networks)
    rough = network.build(runs.esn.n_inputs, seed=runs.esn.seed, dtype="float32", device=runs.esn.device)
    float32 = _errors(task, replace(runs, esn=rough), networks)[1] if runs.esn.dtype == "float64" else tuned
    noisy = _noisy(replace(runs, folds=data.folds), runs, hyper) if task.linear else None
    return Verdict(tuned, start, float32, None if noisy is None else float(task.shown(np.array([noisy]))[0]))


def _errors(task: Loss, runs: Runs, networks: Networks) -> list[float]:
    return [float(each) for each in task.shown(replace(task, runs=runs).value_at(networks).error)]


def _noisy(folds: Runs, test: Runs, hyper: Hyper) -> float:
    """The normalised squared error of the last lane with noise on its states."""
    train, judged = test.statistics(hyper)
    variance = NOISE**2 * unit_of(train) / train.count  # (S, 1)
    errors = _with_noise(*folds.statistics(hyper), variance)  # (n, S, K, O)
    best = int(np.argmin(errors.sum(axis=(2, 3))[:, -1]))
    spread = np.einsum("skoo->sko", judged.scatter[..., train.features :, train.features :])
    return float((_with_noise(train, judged, variance)[best] / spread)[-1].mean())


def _with_noise(train: Statistics, judged: Statistics, variance: Floats) -> Floats:
    """Summed squared errors, (n, S, K, O), for all penalties `RELATIVE` to the states."""
    readout = ridge_path(in_units(with_noise(train, variance)), RELATIVE)
    noise = variance[..., None] * (readout.coef**2).sum(axis=-1)
    return np.asarray((mean_squared_errors(readout, judged) + noise) * judged.count[..., None])
