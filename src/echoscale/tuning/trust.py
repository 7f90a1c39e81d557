"""Steps within bounds: the least value of a quadratic model in a box, and steps of several lengths to choose from.

minimise  g . s + s . H s / 2   with  low <= z + s <= high  and  |s_i| <= radius
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import lsq_linear

Floats = npt.NDArray[np.float64]

# Directions that hardly change the error must not make steps that are all length.
DAMPING = 1e-6


def step(gradient: Floats, curvature: Floats, low: Floats, high: Floats) -> Floats:
    """The minimiser s (P,) in the box low <= s <= high (which holds 0) of a convex model."""
    free = high > low
    found = np.clip(np.zeros_like(gradient), low, high)
    if not free.any():
        return found
    values, vectors = np.linalg.eigh(curvature[np.ix_(free, free)])
    damped = np.maximum(values, 0) + DAMPING * max(values[-1], np.finfo(float).tiny)
    root = np.sqrt(damped)
    target = -(vectors.T @ gradient[free]) / root
    found[free] = lsq_linear(root[:, None] * vectors.T, target, (low[free], high[free]), method="bvls").x
    return np.clip(found, low, high)


def trials(z: Floats, gradient: Floats, curvature: Floats, low: Floats, high: Floats, radius: float, lengths: Floats) -> Floats:
    """Points to try from z (P,): the step within the radius, made shorter and longer by these factors (K,); (K, P)."""
    whole = step(gradient, curvature, np.maximum(low - z, -radius), np.minimum(high - z, radius))
    return np.clip(z + lengths[:, None] * whole, low, high)
