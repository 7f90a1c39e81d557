"""The comparison on held-out test data: the tuned network against the network before tuning.

Both are fitted to all that was tuned on, with their own ridge penalties. Errors that survive rounding and noise, and how sure:

    float32   the same network and ridge with states in float32
    sure      number of standard errors by which the tuned one is better, from log ratios of errors of consecutive blocks
    noisy     with noise of 1e-4 of the states' standard deviation, the ridge chosen again by the folds; exact on average:
              noise of variance s^2 adds n s^2 I to the Gram matrix of n rows, and s^2 |W|^2 to the squared error
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from echoscale._internal.types import Floats
from echoscale.data.metrics import clearly_less
from echoscale.data.scaling import Scaling
from echoscale.engine.hyper import Hyper
from echoscale.learning.tuning.losses import Entropy, Loss, Networks
from echoscale.learning.tuning.runs import Runs
from echoscale.learning.tuning.split import TuningData
from echoscale.network import Network
from echoscale.readouts import splits
from echoscale.readouts.columns import Columns
from echoscale.readouts.penalties import RELATIVE, fold_errors, in_units, least
from echoscale.readouts.ridge import mean_squared_errors, ridge, ridge_path
from echoscale.readouts.splits import Split, total
from echoscale.readouts.statistics import Statistics, split_statistics, with_noise

NOISE = 1e-4
# Blocks of the test part whose errors are compared, and how many rows each has at least.
BLOCKS, LEAST_ROWS = 8, 20
CLEARLY = 2.0  # standard errors


class Start(NamedTuple):
    """The network before tuning: its hyper-parameters as one lane, ridge per training step, sharpness, error of the folds."""

    hyper: Hyper
    per_step: float
    sharpness: float
    error: float


def start_of(task: Loss, own: Hyper, per_step: float) -> Start:
    """The network before tuning, with this ridge penalty."""
    runs = task.runs
    penalties = (per_step + runs.noise**2) * runs.train_rows[None]
    sharpness = task.sharpened(Networks(own, penalties, np.ones(1))) if isinstance(task, Entropy) else np.ones(1)
    error = task.value_at(Networks(own, penalties, sharpness)).error[0]
    return Start(own, per_step, float(sharpness[0]), float(error))


class Verdict(NamedTuple):
    """Reported errors on held-out test data; `noisy` is only for squared errors.

    sure    standard errors by which the tuned one is better; None if the blocks would be too short, and for other losses
    """

    tuned: float
    start: float
    float32: float
    noisy: float | None
    sure: float | None = None


def last_penalty(runs: Runs, data: TuningData, hyper: Hyper, learned: float | None) -> float:
    """For all data, by folds over all of them, the test part too; without the part that stands for noise.

    A learned one stays unless another is clearly better: on data that drift, the newest say most. The units are those of
    all data, as the final fit has them.
    """
    series, targets = (
        each if scaling.is_none else Scaling.of(each.values).apply(each)
        for each, scaling in zip(data.whole, data.scalings, strict=True)
    )
    series = data.heard(series, targets)
    parts = replace(runs, series=series, targets=targets, edges=data.all_data.edges, folds=data.all_data.splits).parts(hyper)
    whole = total(parts)
    unit = float(whole.unit)
    path = np.array([*([] if learned is None else [learned / unit]), *runs.path])
    errors = fold_errors(splits.pairs(parts, data.all_data.splits), path).mean(axis=-1)
    best = int(least(errors).place)
    if learned is not None and not errors[best] < clearly_less() ** 2 * errors[0]:
        return learned
    return float(path[best] * unit)


def judge(task: Loss, network: Network, data: TuningData, hyper: Hyper, per_step: Floats, sharpness: Floats) -> Verdict:
    """Compare two lanes, before and after tuning, with their ridge penalties per training step (2,) and sharpnesses (2,)."""
    last = len(data.whole_edges[0]) - 2
    test = Split(tuple(range(last)), (last,))
    series = data.heard(*data.whole)
    runs = replace(task.runs, series=series, targets=data.whole[1], edges=data.whole_edges, folds=(test,), rows=None)
    networks = Networks(hyper, per_step[:, None] * runs.train_rows, sharpness)
    start, tuned = _errors(task, runs, networks)
    own = runs.esn
    rough = network.build(own.n_inputs, own.seed, "float32", own.device, n_outputs=own.n_outputs)
    float32 = _errors(task, replace(runs, esn=rough), networks)[1] if runs.esn.dtype == "float64" else tuned
    noisy = _noisy(replace(runs, folds=data.folds), runs, hyper) if task.linear else None
    shown = None if noisy is None else float(task.shown(np.array([noisy]))[0])
    return Verdict(tuned, start, float32, shown, _sure(runs, networks) if task.linear else None)


def _sure(runs: Runs, networks: Networks) -> float | None:
    """Blocks of time in the test part; of several series, the same share of each."""
    count = min(BLOCKS, min(int(each[-1] - each[-2]) for each in runs.edges) // LEAST_ROWS)
    if count < 3:
        return None
    cut = [np.concatenate([each[:-2], np.linspace(each[-2], each[-1], count + 1).astype(int)]) for each in runs.edges]
    columns = Columns(int(runs.direct))
    parts, _ = split_statistics(runs.esn, runs.series, runs.targets, cut, columns=columns, hyper=networks.hyper)
    train = total(parts[:-count])
    penalties = np.maximum(networks.penalties[:, 0], runs.floor * train.unit)
    readout = ridge(train, penalties)
    start, tuned = np.stack([mean_squared_errors(readout, each).mean(axis=-1) for each in parts[-count:]], axis=1)
    tiny = np.finfo(float).tiny
    gains = np.log(np.maximum(start, tiny) / np.maximum(tuned, tiny))
    spread = float(gains.std(ddof=1)) / count**0.5
    return float(gains.mean()) / spread if spread > 0 else float(np.sign(gains.mean())) * np.inf


def _errors(task: Loss, runs: Runs, networks: Networks) -> list[float]:
    return [float(each) for each in task.shown(replace(task, runs=runs).value_at(networks).error)]


def _noisy(folds: Runs, test: Runs, hyper: Hyper) -> float:
    """The normalised squared error of the last lane with noise on its states."""
    train, judged = test.statistics(hyper)
    variance = NOISE**2 * train.unit / train.count  # (S, 1)
    errors = _with_noise(*folds.statistics(hyper), variance)  # (n, S, K, O)
    best = int(least(errors.sum(axis=(2, 3))[:, -1]).place)
    spread = np.einsum("skoo->sko", judged.scatter[..., train.features :, train.features :])
    return float((_with_noise(train, judged, variance)[best] / spread)[-1].mean())


def _with_noise(train: Statistics, judged: Statistics, variance: Floats) -> Floats:
    """Summed squared errors, (n, S, K, O), for all penalties `RELATIVE` to the states."""
    readout = ridge_path(in_units(with_noise(train, variance)), RELATIVE)
    noise = variance[..., None] * (readout.coef**2).sum(axis=-1)
    return np.asarray((mean_squared_errors(readout, judged) + noise) * judged.count[..., None])
