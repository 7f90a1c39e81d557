"""The cross-entropy of classes on validation data, with a ridge readout that was fitted to one-hot targets.

    q = softmax(k z),   z = W^T x + b,   E(theta) = -mean log q_label          k: sharpness, learned with the other numbers
    dE_p = mean (q - y) . d(k z)_p,      curvature  mean d(k z)_p . (diag q - q q^T) d(k z)_q   (generalised Gauss-Newton)

Outputs of a ridge readout are near 1 for the right class and 0 for the others; the sharpness makes probabilities of them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax

from echoscale.readouts.ridge import Readout, ridge
from echoscale.tuning import ridge_slopes
from echoscale.tuning.objective import Loss, Model, Value

Floats = npt.NDArray[np.float64]


class Entropy(Loss):
    """The mean negative logarithm of the probability that the right class was given, in nats."""

    name = "cross-entropy"

    @property
    def labels(self) -> Floats:
        """One-hot targets of all validation steps, (rows, O), series after series."""
        runs = self.runs
        return np.concatenate([runs.targets.values[b][edges[1] : edges[2]] for b, edges in enumerate(runs.edges)])

    def value(self, z: Floats) -> Value:
        """See `objective.Loss`."""
        train, _ = self.runs.statistics(z)
        readout = ridge(train, self.runs.space.penalties(z, self.runs.penalty))
        logs = log_softmax(self._sharpness(z) * self.runs.validation_outputs(z, readout), axis=-1)
        return Value(np.einsum("sro,ro->s", -logs, self.labels) / len(self.labels), readout)

    @np.errstate(over="ignore", invalid="ignore")
    def model(self, z: Floats, readout: Readout) -> Model:
        """See `objective.Loss`."""
        runs, theta = self.runs, self.runs.space.values(z)
        found = runs.tangents(z, readout, keep_rows=True)
        assert found.rows is not None
        features, moved, _ = ridge_slopes.columns(runs, found.train.mean.shape[-1])
        slopes = ridge_slopes.slopes(runs, found, readout, theta)
        rows, mean = self._features(found.rows), found.train.mean
        outputs = np.einsum("srf,sof->sro", rows, readout.coef) + readout.intercept[:, None]
        # The intercept takes off the means of training: of the features in W^T x, and of v.
        moves = np.einsum("srf,spof->spro", rows - mean[:, None, features], slopes)
        v = found.rows[..., runs.esn.units :] - mean[:, None, moved]
        learned = len(runs.space.learned)
        moves[:, :learned] += theta[:, :learned, None, None] * v.reshape(*v.shape[:2], learned, runs.outputs).transpose(
            0, 2, 1, 3
        )
        sharpness = self._sharpness(z)
        logits = sharpness * outputs
        jacobian = np.concatenate([sharpness[:, None] * moves, logits[:, None]], axis=1)
        logs = log_softmax(logits, axis=-1)
        q, labels, count = np.exp(logs), self.labels, len(self.labels)
        gradient = np.einsum("spro,sro->sp", jacobian, q - labels) / count
        centred = jacobian - np.einsum("spro,sro->spr", jacobian, q)[..., None]
        curvature = np.einsum("spro,sqro,sro->spq", centred, centred, q, optimize=True) / count
        return Model(np.einsum("sro,ro->s", -logs, labels) / count, gradient, curvature)

    def shown(self, error: Floats) -> Floats:
        """The cross-entropy itself."""
        return error

    def _sharpness(self, z: Floats) -> Floats:
        return np.exp(z[:, -1])[:, None, None]

    def _features(self, rows: Floats) -> Floats:
        runs = self.runs
        states = rows[..., : runs.esn.units]
        if not runs.direct:
            return states
        inputs = np.concatenate([runs.series.values[b][edges[1] : edges[2]] for b, edges in enumerate(runs.edges)])
        return np.concatenate([states, np.broadcast_to(inputs, (len(rows), *inputs.shape))], axis=2)
