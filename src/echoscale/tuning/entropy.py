"""The cross-entropy of classes on held-out folds, with ridge readouts that were fitted to one-hot targets.

    q = softmax(k z),   z = W^T x + b,   E(theta) = -mean log q_label          k: sharpness, learned with the other numbers
    dE_p = mean (q - y) . d(k z)_p,      curvature  mean d(k z)_p . (diag q - q q^T) d(k z)_q   (generalised Gauss-Newton)

Outputs of a ridge readout are near 1 for the right class and 0 for the others; the sharpness makes probabilities of them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from echoscale.readouts.ridge import Readout, ridge
from echoscale.tuning import ridge_slopes
from echoscale.tuning.objective import Loss, Model, Networks, Value
from echoscale.tuning.space import BOUNDS, SHARPNESS

Floats = npt.NDArray[np.float64]


class Entropy(Loss):
    """The mean negative logarithm of the probability that the right class was given, in nats."""

    name = "cross-entropy"

    @property
    def labels(self) -> Floats:
        """One-hot targets of all held-out steps, (rows, O), series after series."""
        return self.runs.held_out(self.runs.targets.values)

    def value_of_batch(self, at: Networks) -> Value:
        """See `objective.Loss`."""
        outputs, readout = self.held_out_outputs(at)
        logs = log_softmax(at.sharpness[:, None, None] * outputs, axis=-1)
        return Value(np.einsum("sro,ro->s", -logs, self.labels) / len(self.labels), readout)

    def held_out_outputs(self, at: Networks) -> tuple[Floats, Readout]:
        """z of all held-out rows, (S, rows, O), and the readouts of the folds that have it."""
        train, _ = self.runs.statistics(at.hyper)
        readout = ridge(train, self.runs.above_floor(train, at.penalties))
        return self.runs.held_out_outputs(at.hyper, readout), readout

    @np.errstate(over="ignore", invalid="ignore")
    def model_of_batch(self, z: Floats, readout: Readout) -> Model:
        """See `objective.Loss`."""
        runs, theta = self.runs, self.runs.space.values(z)
        found = runs.tangents(z, readout, keep_rows=True)
        assert found.rows is not None
        learned, every, count = len(runs.space.learned), self._features(found.rows), found.rows.shape[1]
        outputs = np.empty((len(z), count, runs.outputs))
        moves = np.empty((len(z), learned + runs.space.ridge, count, runs.outputs))
        for k, train in enumerate(found.train):
            here = np.flatnonzero(runs.fold_of_rows == k)
            features, moved, _ = ridge_slopes.columns(runs, k)
            slopes = ridge_slopes.slopes(runs, found, readout, z, k)
            rows = every[:, here]
            outputs[:, here] = np.einsum("srf,sof->sro", rows, readout.coef[:, k]) + readout.intercept[:, None, k]
            # The intercept takes off the means of training: of the features in W^T x, and of v.
            moves[:, :, here] = np.einsum("srf,spof->spro", rows - train.mean[:, None, features], slopes)
            v = found.rows[:, here, runs.esn.units :] - train.mean[:, None, moved]
            v = v.reshape(*v.shape[:2], learned, runs.outputs).transpose(0, 2, 1, 3)
            moves[:, :learned, here] += theta[:, :learned, None, None] * v
        return self.model_from(outputs, moves, runs.space.sharpnesses(z))

    def model_from(self, outputs: Floats, moves: Floats, sharpness: Floats) -> Model:
        """From z (S, rows, O), its slopes along all coordinates but the sharpness (S, P - 1, rows, O), and k (S,)."""
        k, labels, count = sharpness[:, None, None], self.labels, outputs.shape[1]
        logits = k * outputs
        jacobian = np.concatenate([k[:, None] * moves, logits[:, None]], axis=1)
        logs = log_softmax(logits, axis=-1)
        q = np.exp(logs)
        gradient = np.einsum("spro,sro->sp", jacobian, q - labels) / count
        centred = jacobian - np.einsum("spro,sro->spr", jacobian, q)[..., None]
        curvature = np.einsum("spro,sqro,sro->spq", centred, centred, q, optimize=True) / count
        return Model(np.einsum("sro,ro->s", -logs, labels) / count, gradient, curvature)

    def sharpened(self, networks: Networks) -> Floats:
        """The sharpness with the least error for each of these networks, (S,), where none was learned."""
        outputs, _ = self.held_out_outputs(networks)
        labels = self.labels
        found = []
        for each in outputs:

            def error(z: float, outputs: Floats = each) -> float:
                return float(-(log_softmax(math.exp(z) * outputs, axis=-1) * labels).sum())

            low, high = BOUNDS[SHARPNESS]
            search: Any = minimize_scalar
            found.append(math.exp(search(error, bounds=(math.log(low), math.log(high)), method="bounded").x))
        return np.array(found)

    def shown(self, error: Floats) -> Floats:
        """The cross-entropy itself."""
        return error

    def _features(self, rows: Floats) -> Floats:
        runs = self.runs
        states = rows[..., : runs.esn.units]
        if not runs.direct:
            return states
        inputs = runs.held_out(runs.series.values)
        return np.concatenate([states, np.broadcast_to(inputs, (len(rows), *inputs.shape))], axis=2)
