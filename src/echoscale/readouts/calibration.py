"""Probabilities that mean what they say: outputs of held-out folds set how steep they are.

    p = softmax(beta z),    beta = argmin of - sum over rows of sum over classes of q log p

z are outputs of rows that took no part in the readout they come from. The row's own class has q = (R + 1) / (R + 2) for R rows,
and the others share the rest (Platt 1999): rows that are all told apart do not make probabilities of 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar

from echoscale.data.losses import probabilities
from echoscale.readouts.penalties import RidgeCurve
from echoscale.readouts.ridge import Readout, mean_squared_errors
from echoscale.readouts.statistics import Statistics

# Decimal logarithms of beta, in units of the outputs' standard deviation.
BOUNDS = (-4.0, 4.0)


def steepness(outputs: npt.ArrayLike, labels: npt.ArrayLike, loss: str = "softmax") -> float:
    """beta, from outputs of rows that were held out."""
    z, right = np.asarray(outputs, np.float64), np.asarray(labels, np.int64)
    rows, classes = z.shape
    spread = float((z - z.mean(axis=1, keepdims=True)).std())
    if spread == 0:
        return 1.0
    wanted = np.full(z.shape, 1 / (rows + 2) / max(classes - 1, 1))
    wanted[np.arange(rows), right] = (rows + 1) / (rows + 2)

    def entropy(power: float) -> float:
        p = probabilities(loss, 10**power / spread * z)
        return float(-(wanted * np.log(np.maximum(p, np.finfo(np.float64).tiny))).sum())

    found: Any = minimize_scalar(entropy, bounds=BOUNDS, method="bounded", options={"xatol": 1e-6})
    return float(10**found.x / spread)


def steepness_of_steps(statistics: Statistics, readout: Readout, curve: RidgeCurve | None) -> float:
    """beta = 1 / v: where z is a one-hot code with normal errors of variance v, p = softmax(z / v)."""
    spread = np.diagonal(statistics.scatter)[statistics.features :] / statistics.count
    if curve is not None:
        variance = float((spread * curve.errors[curve.place] ** 2).mean())
    else:
        variance = float(mean_squared_errors(readout, statistics).mean())
    return 1 / max(variance, np.finfo(np.float64).eps)
