"""The squared error of the ridge-optimal readout on validation data, from sufficient statistics alone.

    E(theta) = mean over outputs of  mean (y - W^T x - b)^2 / Var y          r = y - W^T x - b
    dr_p = -(v_p + dW_p^T x),     dE_p = 2 <dr_p, r>,     curvature 2 <dr_p, dr_q>  (Gauss and Newton)

W depends on theta too (variable projection, Golub and Pereyra 1973). All inner products are sums over steps of products of
(states, v, targets), so that a few matrices hold all that is needed, whatever the length of the series.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from echoscale.readouts.ridge import Readout, mean_squared_errors, ridge
from echoscale.readouts.statistics import Statistics
from echoscale.tuning import ridge_slopes
from echoscale.tuning.objective import Loss, Model, Value

Floats = npt.NDArray[np.float64]


class Squares(Loss):
    """The NMSE."""

    name = "NRMSE"

    def value(self, z: Floats) -> Value:
        """See `objective.Loss`."""
        train, validation = self.runs.statistics(z)
        readout = ridge(train, self.runs.space.penalties(z, self.runs.penalty))
        return Value((mean_squared_errors(readout, validation) / self._variance(validation)).mean(axis=-1), readout)

    @np.errstate(over="ignore", invalid="ignore")
    def model(self, z: Floats, readout: Readout) -> Model:
        """See `objective.Loss`."""
        runs, theta = self.runs, self.runs.space.values(z)
        found = runs.tangents(z, readout)
        total = found.train.mean.shape[-1]
        features, moved, targets = ridge_slopes.columns(runs, total)
        slopes = ridge_slopes.slopes(runs, found, readout, theta)
        # The coefficients, on the columns of the statistics, of every dr_p and last of r.
        mixed = np.zeros((len(z), runs.outputs, z.shape[1] + 1, total))
        mixed[:, :, :-1, features] = -slopes.transpose(0, 2, 1, 3)
        mixed[:, :, -1, features] = -readout.coef
        for o in range(runs.outputs):
            mixed[:, o, -1, targets[o]] = 1
            for p in range(len(runs.space.learned)):
                mixed[:, o, p, moved[p * runs.outputs + o]] = -theta[:, p]
        # Second moments of validation about the means of training, which are what the intercept takes off.
        apart = found.validation.mean - found.train.mean
        moments = found.validation.scatter + found.validation.count[:, None, None] * apart[:, :, None] * apart[:, None, :]
        weight = 1 / (found.validation.count[:, None] * runs.outputs * self._variance(found.validation))
        products = np.einsum("sopc,socq,so->spq", mixed, moments[:, None] @ mixed.transpose(0, 1, 3, 2), weight)
        return Model(products[:, -1, -1], 2 * products[:, :-1, -1], 2 * products[:, :-1, :-1])

    def shown(self, error: Floats) -> Floats:
        """NRMSE."""
        return np.sqrt(error)

    def _variance(self, validation: Statistics) -> Floats:
        o = self.runs.outputs
        variance = np.einsum("soo->so", validation.scatter[:, -o:, -o:]) / validation.count[:, None]
        if not (variance > 0).all():
            raise ValueError("a target is constant on the validation part: errors cannot be normalised by its variance.")
        return np.asarray(variance)
