"""The squared error of ridge-optimal readouts on the folds that they have not seen, from sufficient statistics alone.

    E(theta) = mean over outputs of  mean (y - W_k^T x - b_k)^2 / Var y      r = y - W_k^T x - b_k,  k: the fold of the step
    dr_p = -(v_p + dW_p^T x),     dE_p = 2 <dr_p, r>,     curvature 2 <dr_p, dr_q>  (Gauss and Newton)

W_k depends on theta too (variable projection, Golub and Pereyra 1973). All inner products are sums over steps of products of
(states, v, targets), so that a few matrices hold all that is needed, whatever the length of the series.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale.readouts.folds import total
from echoscale.readouts.ridge import Readout, mean_squared_errors, ridge
from echoscale.readouts.statistics import Statistics
from echoscale.tuning import ridge_slopes
from echoscale.tuning.objective import Loss, Model, Networks, Value
from echoscale.tuning.runs import unstacked

Floats = npt.NDArray[np.float64]


class Squares(Loss):
    """The NMSE."""

    name = "NRMSE"
    linear = True

    def value_of_batch(self, at: Networks) -> Value:
        """See `objective.Loss`."""
        train, held_out = self.runs.statistics(at.hyper)
        readout = ridge(train, self.runs.above_floor(train, at.penalties))
        share = held_out.count / held_out.count.sum(axis=1, keepdims=True)
        squares = np.sum(mean_squared_errors(readout, held_out) * share[..., None], axis=1)
        return Value((squares / self._variance(unstacked(held_out))).mean(axis=-1), readout)

    @np.errstate(over="ignore", invalid="ignore")
    def model_of_batch(self, z: Floats, readout: Readout) -> Model:
        """See `objective.Loss`."""
        runs, theta = self.runs, self.runs.space.values(z)
        found = runs.tangents(z, readout)
        count = np.sum([part.count for part in found.held_out], axis=0)
        weight = 1 / (count[:, None] * runs.outputs * self._variance(found.held_out))
        products: Any = 0.0
        for k, (train, held_out) in enumerate(zip(found.train, found.held_out, strict=True)):
            features, moved, targets = ridge_slopes.columns(runs, k)
            slopes = ridge_slopes.slopes(runs, found, readout, z, k)
            # The coefficients, on the columns of the statistics, of every dr_p and last of r.
            mixed = np.zeros((len(z), runs.outputs, z.shape[1] + 1, train.mean.shape[-1]))
            mixed[:, :, :-1, features] = -slopes.transpose(0, 2, 1, 3)
            mixed[:, :, -1, features] = -readout.coef[:, k]
            for o in range(runs.outputs):
                mixed[:, o, -1, targets[o]] = 1
                for p in range(len(runs.space.learned)):
                    mixed[:, o, p, moved[p * runs.outputs + o]] = -theta[:, p]
            # Second moments of what is held out about the means of training, which are what the intercept takes off.
            apart = held_out.mean - train.mean
            moments = held_out.scatter + held_out.count[:, None, None] * apart[:, :, None] * apart[:, None, :]
            products = products + np.einsum("sopc,socq,so->spq", mixed, moments[:, None] @ mixed.transpose(0, 1, 3, 2), weight)
        return Model(products[:, -1, -1], 2 * products[:, :-1, -1], 2 * products[:, :-1, :-1])

    def shown(self, error: Floats) -> Floats:
        """NRMSE."""
        return np.sqrt(error)

    def _variance(self, held_out: list[Statistics]) -> Floats:
        """Of the targets of all folds together, (S, O)."""
        o = self.runs.outputs
        pooled = total([Statistics(each.count, each.mean[:, -o:], each.scatter[:, -o:, -o:], 0) for each in held_out])
        variance = np.einsum("soo->so", pooled.scatter) / pooled.count[:, None]
        if not (variance > 0).all():
            raise ValueError("a target is constant on the validation part: errors cannot be normalised by its variance.")
        return np.asarray(variance)
