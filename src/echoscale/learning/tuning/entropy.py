"""Cross-entropy of classes on held-out folds, with ridge readouts fitted to one-hot targets.

    q = softmax(k z),   z = W^T x + b,   E(theta) = -mean log q_label          k: sharpness, learned with the other numbers
    dE_p = mean (q - y) . d(k z)_p,      curvature  mean d(k z)_p . (diag q - q q^T) d(k z)_q   (generalised Gauss-Newton)

Outputs of a ridge readout are near 1 for the right class and near 0 for the others. The sharpness turns them into
probabilities.

`PooledEntropy` is for labels of whole sequences, which are judged by pooled states (means, spreads, extremes):

    z_b = W^T f_b + b,   f_b standardised pools of sequence b (`readouts.pooling`),   dz/dz_p ~ (z(+h) - z(-h)) / (step taken)

There is one row per sequence, so difference quotients of the outputs are cheaper than tangents of every pool: two networks for
every learned number, all on lanes of one run, each with its own ridge solutions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from echoscale._internal.types import Floats, Indices
from echoscale.engine import feed
from echoscale.engine.hyper import Hyper
from echoscale.learning.tuning import gradient
from echoscale.learning.tuning.losses import Loss, Model, Networks, Value
from echoscale.learning.tuning.space import BOUNDS, SHARPNESS
from echoscale.readouts.pooling import Pools, columns, standard_rows, statistics_of
from echoscale.readouts.ridge import Readout
from echoscale.readouts.statistics import Statistics


class Entropy(Loss):
    """The mean negative logarithm of the probability that the right class was given, in nats."""

    name = "cross-entropy"

    @cached_property
    def labels(self) -> Floats:
        """One-hot targets of all held-out steps, (rows, O), series after series."""
        return self.data.held_out(self.data.targets.values)

    def value_of_batch(self, at: Networks) -> Value:
        """See `Loss`."""
        outputs, readout = self.judged_outputs(at)
        logs = log_softmax(at.sharpness[:, None, None] * outputs, axis=-1)
        return Value(np.einsum("sro,ro->s", -logs, self.labels) / len(self.labels), readout)

    def judged_outputs(self, at: Networks) -> tuple[Floats, Readout]:
        """z of all held-out rows, (S, rows, O), series after series, and the readouts of the folds."""
        series, inputs, judged = self.data.series, self.inputs, self.data.judged
        readout = self.fitted(self.statistics(at.hyper)[0], at.penalties)
        found = np.empty((len(readout.coef), len(self.labels), self.outputs))

        def read(point: int, b: int, steps: slice, states: Floats) -> None:
            seen = np.concatenate([np.asarray(states, np.float64), inputs[b][steps]], axis=1)
            for k, first, end, row in judged[b]:
                low, high = max(first, steps.start), min(end, steps.stop)
                if low < high:
                    rows = seen[low - steps.start : high - steps.start]
                    outputs = rows @ readout.coef[point, k].T + readout.intercept[point, k]
                    found[point, row + low - first : row + high - first] = outputs

        self.esn.run_chunks(series, feed.one_by_one(series, read), hyper=at.hyper)
        return found, readout

    @np.errstate(over="ignore", invalid="ignore")
    def model_of_batch(self, z: Floats, readout: Readout) -> Model:
        """See `Loss`."""
        theta, found = self.space.values(z), gradient.tangents(self, z, readout, keep_rows=True)
        assert found.rows is not None
        learned, units, count = len(self.space.learned), self.esn.units, found.rows.shape[1]
        inputs = self.data.held_out(self.inputs)
        every = np.concatenate([found.rows[..., :units], np.broadcast_to(inputs, (len(z), *inputs.shape))], axis=2)
        outputs = np.empty((len(z), count, self.outputs))
        moves = np.empty((len(z), learned + self.space.ridge, count, self.outputs))
        for k, train in enumerate(found.train):
            here = np.flatnonzero(self.data.fold_of_rows == k)
            features, moved, _ = gradient.places(self, k)
            slopes = gradient.ridge_slopes(self, found, readout, z, k)
            rows = every[:, here]
            outputs[:, here] = np.einsum("srf,sof->sro", rows, readout.coef[:, k]) + readout.intercept[:, None, k]
            # The intercept removes the training means of the features in W^T x and of v.
            moves[:, :, here] = np.einsum("srf,spof->spro", rows - train.mean[:, None, features], slopes)
            v = found.rows[:, here, units:] - train.mean[:, None, moved]
            v = v.reshape(*v.shape[:2], learned, self.outputs).transpose(0, 2, 1, 3)
            moves[:, :learned, here] += theta[:, :learned, None, None] * v
        return self.model_from(outputs, moves, self.space.sharpnesses(z))

    def model_from(self, outputs: Floats, moves: Floats, sharpness: Floats) -> Model:
        """The model from z (S, rows, O), its slopes along all coordinates but the sharpness (S, P - 1, rows, O), and k (S,)."""
        k, labels, count = sharpness[:, None, None], self.labels, outputs.shape[1]
        logits = k * outputs
        jacobian = np.concatenate([k[:, None] * moves, logits[:, None]], axis=1)
        logs = log_softmax(logits, axis=-1)
        q = np.exp(logs)
        slopes = np.einsum("spro,sro->sp", jacobian, q - labels) / count
        centred = jacobian - np.einsum("spro,sro->spr", jacobian, q)[..., None]
        curvature = np.einsum("spro,sqro,sro->spq", centred, centred, q, optimize=True) / count
        return Model(np.einsum("sro,ro->s", -logs, labels) / count, slopes, curvature)

    def sharpened(self, networks: Networks) -> Floats:
        """The sharpness with the least error for each network, (S,), if none was learned."""
        low, high = BOUNDS[SHARPNESS]
        search: Any = minimize_scalar
        found = []
        for outputs in self.judged_outputs(networks)[0]:

            def error(z: float, outputs: Floats = outputs) -> float:
                return float(-(log_softmax(math.exp(z) * outputs, axis=-1) * self.labels).sum())

            found.append(math.exp(search(error, bounds=(math.log(low), math.log(high)), method="bounded").x))
        return np.array(found)

    def shown(self, error: Floats) -> Floats:
        """The cross-entropy itself."""
        return error


@dataclass(frozen=True, eq=False)
class PooledEntropy(Entropy):
    """The mean negative logarithm of the probability that the right class of a sequence was given, in nats."""

    pools: Pools = field(default_factory=Pools)

    @cached_property
    def features(self) -> int:
        """Number of columns of a row, or number of sequences if that is less."""
        pools, series = self.pools, self.data.series
        snapshots = pools.parts if pools.every is None else int(series.lengths.max()) // pools.every
        wide = columns(pools.names, self.esn.units, pools.parts, snapshots)
        return min(max(int(each.stop) for each in wide.values()), series.count)

    @cached_property
    def segment(self) -> Indices:
        """The segment of every sequence, (B,): the segment that its last step belongs to."""
        return np.array([int(np.flatnonzero(np.diff(each))[0]) for each in self.data.edges])

    def rows(self, hyper: Hyper) -> Floats:
        """Features of all sequences, (S, B, features), standardised over the sequences that train."""
        train = sorted({s for each in self.data.folds for s in each.train})
        return standard_rows(self.esn, self.data.series, self.pools, hyper, np.isin(self.segment, train))

    def parts_of(self, rows: Floats) -> list[Statistics]:
        """The statistics of every segment."""
        codes = np.stack([np.asarray(each[-1], np.float64) for each in self.data.targets.values])
        segments = range(len(self.data.edges[0]) - 1)
        return [statistics_of(rows, codes, np.flatnonzero(self.segment == s)) for s in segments]

    def parts(self, hyper: Hyper) -> list[Statistics]:
        """See `Loss`."""
        return self.parts_of(self.rows(hyper))

    def judged_outputs(self, at: Networks) -> tuple[Floats, Readout]:
        """See `Entropy`."""
        rows, folds = self.rows(at.hyper), self.data.folds
        readout = self.fitted(self.data.folded(self.parts_of(rows))[0], at.penalties)
        found = np.empty((*rows.shape[:2], self.outputs))
        for k, each in enumerate(folds):
            here = np.isin(self.segment, each.held_out)
            found[:, here] = rows[:, here] @ readout.coef[:, k].swapaxes(1, 2) + readout.intercept[:, None, k]
        return found[:, np.isin(self.segment, [s for each in folds for s in each.held_out])], readout

    @property
    def model_runs(self) -> int:
        """Two runs for every coordinate but the sharpness, and one for the point itself."""
        return 1 + 2 * (len(self.space.names) - 1)

    @property
    def model_numbers(self) -> int:
        """See `Loss`."""
        return (self.features + self.outputs) ** 2 * self.model_runs

    def model_of_batch(self, z: Floats, readout: Readout) -> Model:
        """See `Loss`. Steps go to both sides, or to one side at a bound."""
        space = self.space
        moved = len(space.names) - 1
        apart = float(np.finfo(self.esn.dtype).eps) ** 0.25
        around = np.repeat(z[:, None, None], moved, axis=1).repeat(2, axis=2)  # (S, P - 1, 2, P)
        place = np.arange(moved)
        around[:, place, 0, place] = np.minimum(z[:, :-1] + apart, space.high[:-1])
        around[:, place, 1, place] = np.maximum(z[:, :-1] - apart, space.low[:-1])
        taken = around[:, place, 0, place] - around[:, place, 1, place]  # (S, P - 1)
        points = np.concatenate([z[:, None], around.reshape(len(z), -1, z.shape[1])], axis=1).reshape(-1, z.shape[1])
        found, _ = self.judged_outputs(self.networks(points))
        found = found.reshape(len(z), 1 + 2 * moved, *found.shape[1:])
        sides = found[:, 1:].reshape(len(z), moved, 2, *found.shape[2:])
        moves = (sides[:, :, 0] - sides[:, :, 1]) / taken[..., None, None]
        return self.model_from(found[:, 0], moves, space.sharpnesses(z))
