"""Whether tuning helped: the tuned network against the network before tuning, on the folds and on held-out test data.

On the test data both are fitted to all that was tuned on, with their own ridge penalties. Errors that survive rounding and
noise, and how sure:

    float32   the same network and ridge with states in float32
    sure      number of standard errors by which the tuned one is better, from log ratios of errors of consecutive blocks
    noisy     with noise of 1e-4 of the states' standard deviation, the ridge chosen again by the folds; exact on average:
              noise of variance s^2 adds n s^2 I to the Gram matrix of n rows, and s^2 |W|^2 to the squared error
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import NamedTuple

import jax
import numpy as np

from echoscale._internal.types import Floats
from echoscale.data.metrics import clearly_less
from echoscale.engine.hyper import Hyper, into_network
from echoscale.learning.tuning.entropy import Entropy
from echoscale.learning.tuning.losses import Loss, Networks
from echoscale.learning.tuning.search import Search
from echoscale.learning.tuning.space import RIDGE
from echoscale.learning.tuning.split import TuningData
from echoscale.network import EchoStateWarning, Network
from echoscale.readouts import splits
from echoscale.readouts.penalties import RELATIVE, fold_errors, in_units, least
from echoscale.readouts.ridge import mean_squared_errors, ridge_path
from echoscale.readouts.splits import total
from echoscale.readouts.statistics import Statistics, with_noise

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


class Verdict(NamedTuple):
    """Reported errors on held-out test data; `noisy` is only for squared errors.

    sure    standard errors by which the tuned one is better; None if the blocks would be too short, and for other losses
    """

    tuned: float
    start: float
    float32: float
    noisy: float | None
    sure: float | None = None


class Decision(NamedTuple):
    """The network that is returned and what is said of it, by the names of `Tuned`."""

    network: Network
    ridge: float
    error: float
    start_error: float
    verdict: Verdict | None
    helped: bool
    sharpness: float | None
    at_bound: tuple[str, ...]
    at_floor: bool


def one_lane(hyper: Hyper) -> Hyper:
    """Hyper-parameters of one network as one lane."""
    return hyper.map(lambda leaf: np.full(1, float(leaf)))


def start_of(task: Loss, own: Hyper, per_step: float) -> Start:
    """The network before tuning, with this ridge penalty."""
    penalties = (per_step + task.noise**2) * task.data.train_rows[None]
    sharpness = task.sharpened(Networks(own, penalties, np.ones(1))) if isinstance(task, Entropy) else np.ones(1)
    error = task.value_at(Networks(own, penalties, sharpness)).error[0]
    return Start(own, per_step, float(sharpness[0]), float(error))


def decide(network: Network, search: Search, data: TuningData, start: Start, chooses: bool) -> Decision:
    """The best start of the search if it is clearly better, or else the network as it came.

    chooses  whether folds over all data choose the last ridge penalty
    """
    task, space, best, folds = search.loss, search.loss.space, search.best, data.tuned
    z = search.z[best]
    values = space.values(z)
    penalty = float(space.penalties(z[None], task.penalty)[0])
    with warnings.catch_warnings():
        # A radius above 1 was tried on the data, and did well.
        warnings.simplefilter("ignore", EchoStateWarning)
        tuned = into_network(network, space.learned, values[: len(space.learned)].tolist())
    error, start_error = task.shown(np.array([search.value.error[best], start.error])).tolist()
    # Folds that chose among many points say too little about a small gain, and so does a short test part.
    helped = error < (1.0 if folds.tail else clearly_less()) * start_error
    sharpness = float(values[-1]) if space.sharpness else 1.0
    verdict = None
    if data.tested:
        both = jax.tree.map(np.append, start.hyper, Hyper.of(tuned))
        per_step = np.array([start.per_step, penalty / folds.rows]) + task.noise**2
        verdict = judge(task, network, data, both, per_step, np.array([start.sharpness, sharpness]))
        rows = sum(end - begin for begin, end in data.test.spans[0])
        helped = helped and verdict.tuned < (1.0 if folds.tail else clearly_less(rows)) * verdict.start
        if verdict.sure is not None and not folds.tail:
            helped = helped and verdict.sure >= CLEARLY
    used = search.value.readout.ridge[best]
    at_floor = not (used <= task.penalties(z[None])[0] * (1 + 1e-9)).all()
    if at_floor:  # what was judged is returned, not what was asked for
        penalty = float((used / folds.train_rows).max() - task.noise**2) * folds.rows
    if not helped:
        tuned, penalty, error, sharpness = network, start.per_step * folds.rows, start_error, start.sharpness
    last = penalty / data.share
    if chooses:
        last = last_penalty(task, data, one_lane(Hyper.of(tuned)), last if helped else None)
    return Decision(
        network=tuned,
        ridge=last + task.noise**2 * folds.rows / data.share,
        error=error,
        start_error=start_error,
        verdict=verdict,
        helped=helped,
        sharpness=sharpness if space.sharpness else None,
        at_bound=tuple(name for name in space.at_bound(z) if not (at_floor and name == RIDGE)),
        at_floor=at_floor and helped,
    )


def last_penalty(task: Loss, data: TuningData, hyper: Hyper, learned: float | None) -> float:
    """For all data, by folds over all of them, the test part too; without the part that stands for noise.

    A learned one stays unless another is clearly better: on data that drift, the newest say most. The units are those of
    all data, as the final fit has them.
    """
    everything = replace(task, data=data.over_all())
    parts = everything.parts(hyper)
    unit = float(total(parts).unit[0])
    path = np.array([*([] if learned is None else [learned / unit]), *task.path])
    errors = fold_errors(splits.pairs(parts, everything.data.folds), path)[:, 0].mean(axis=-1)
    best = int(least(errors).place)
    if learned is not None and not errors[best] < clearly_less() ** 2 * errors[0]:
        return learned
    return float(path[best] * unit)


def judge(task: Loss, network: Network, data: TuningData, hyper: Hyper, per_step: Floats, sharpness: Floats) -> Verdict:
    """Compare two lanes, before and after tuning, with their ridge penalties per training step (2,) and sharpnesses (2,)."""
    test = replace(task, data=data.test)
    networks = Networks(hyper, per_step[:, None] * test.data.train_rows, sharpness)
    start, tuned = _errors(test, networks)
    own = task.esn
    rough = network.build(own.n_inputs, own.seed, "float32", own.device, n_outputs=own.n_outputs)
    float32 = _errors(replace(test, esn=rough), networks)[1] if own.dtype == "float64" else tuned
    if not task.linear:
        return Verdict(tuned, start, float32, None)
    folds = replace(test, data=replace(data.test, folds=data.tuned.folds))
    noisy = float(task.shown(np.array([_noisy(folds, test, hyper)]))[0])
    return Verdict(tuned, start, float32, noisy, _sure(test, networks))


def _sure(test: Loss, networks: Networks) -> float | None:
    """Blocks of time in the test part; of several series, the same share of each."""
    data = test.data
    count = min(BLOCKS, min(int(each[-1] - each[-2]) for each in data.edges) // LEAST_ROWS)
    if count < 3:
        return None
    cut = [np.concatenate([each[:-2], np.linspace(each[-2], each[-1], count + 1).astype(int)]) for each in data.edges]
    parts = replace(test, data=replace(data, edges=cut)).parts(networks.hyper)
    readout = test.fitted([total(parts[:-count])], networks.penalties).at((slice(None), 0))
    start, tuned = np.stack([mean_squared_errors(readout, each).mean(axis=-1) for each in parts[-count:]], axis=1)
    tiny = np.finfo(float).tiny
    gains = np.log(np.maximum(start, tiny) / np.maximum(tuned, tiny))
    spread = float(gains.std(ddof=1)) / count**0.5
    return float(gains.mean()) / spread if spread > 0 else float(np.sign(gains.mean())) * np.inf


def _errors(test: Loss, networks: Networks) -> list[float]:
    return [float(each) for each in test.shown(test.value_at(networks).error)]


def _noisy(folds: Loss, test: Loss, hyper: Hyper) -> float:
    """The normalised squared error of the last lane with noise on its states."""
    [train], [judged] = test.statistics(hyper)
    variance = NOISE**2 * train.unit / train.count  # (S,)
    pairs = zip(*folds.statistics(hyper), strict=True)
    errors = np.sum([_with_noise(*pair, variance).sum(axis=-1) * pair[1].count for pair in pairs], axis=0)  # (n, S)
    best = int(least(errors[:, -1]).place)
    return float((_with_noise(train, judged, variance)[best] / judged.variance)[-1].mean())


def _with_noise(train: Statistics, judged: Statistics, variance: Floats) -> Floats:
    """Mean squared errors, (n, S, O), for all penalties `RELATIVE` to the states."""
    readout = ridge_path(in_units(with_noise(train, variance)), RELATIVE)
    return np.asarray(mean_squared_errors(readout, judged) + variance[:, None] * (readout.coef**2).sum(axis=-1))
