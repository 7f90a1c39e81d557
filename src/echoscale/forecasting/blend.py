"""Weights of the candidates, from their errors at judged origins.

    w = (u + v) / 2
    u = argmin mean over origins and horizons of (sum_k u_k e_k)^2 + sum_k u_k^2 mean e_k^2,   u >= 0,   sum u = 1
    v_k proportional to (error_k / least error)^-8, 0 for errors far above the least

Errors are in units of the least error of their horizon, so that all horizons count alike. u knows which errors cancel, with
variances counted twice, since the best of many looks better than it is (Bates and Granger 1969), and with errors that are far
from a candidate's others drawn in; v knows sizes alone. Short and long horizons have their own weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from echoscale.automatic import shares

Floats = npt.NDArray[np.float64]

POWER, WORST = 8.0, 1.3
# In mean absolute errors of a candidate: what is farther is drawn in.
FAR = 4.0
# Horizons up to these share weights, which come from the horizons from two thirds of the first to one and a half of the last.
GROUPS = (2, 6, 12, 24, 48)
ABOUT = 1.5
# Candidates that may share u, the best first.
MOST = 12
# Judged rows that a candidate must have, of those that others have.
LEAST_SHARE = 0.8


def by_horizon(errors: Sequence[Floats], usable: npt.NDArray[np.bool_]) -> Floats:
    """w of every horizon, (K, H).

    Parameters
    ----------
    errors : sequence of K (O, H)
        Of every candidate at judged origins; NaN where there is no target.
    usable : (K,) of bool
        Candidates without a forecast now get no weight.
    """
    horizon = errors[0].shape[1]
    edges = [0, *(each for each in GROUPS if each < horizon), horizon]
    found = np.zeros((len(errors), horizon))
    for low, high in pairwise(edges):
        first, last = int(low / ABOUT), int(np.ceil(high * ABOUT))
        found[:, low:high] = weights([each[:, first:last] for each in errors], usable)[:, None]
    return found


def weights(errors: Sequence[Floats], usable: npt.NDArray[np.bool_]) -> Floats:
    """w, (K,).

    Parameters
    ----------
    errors : sequence of K (O, H)
        Of every candidate at judged origins; NaN where there is no target.
    usable : (K,) of bool
        Candidates without a forecast now get no weight.
    """
    every = np.stack(errors)
    counts = np.isfinite(every).sum(axis=(1, 2))
    good = np.flatnonzero(usable & (counts > 0) & (counts >= LEAST_SHARE * counts.max()))
    found = np.zeros(len(every))
    if not len(good):
        found[usable] = 1 / max(int(usable.sum()), 1)
        return found
    some = every[good]
    # Horizons that nobody could be judged at say nothing.
    some = some[:, :, np.isfinite(some).any(axis=(0, 1))]
    size = np.nanmean(np.abs(some), axis=1)
    least = np.where(size.min(axis=0) > 0, size.min(axis=0), 1.0)
    score = np.exp(np.log(np.maximum(size / least, 1e-12)).mean(axis=1))
    score = score / score.min()
    v = np.where(score <= WORST, score**-POWER, 0.0)
    best = np.argsort(score, kind="stable")[:MOST]
    u = np.zeros(len(good))
    u[best] = _least_squares(some[best] / least)
    found[good] = (u + v / v.sum()) / 2
    return found


def _least_squares(errors: Floats) -> Floats:
    """u of candidates (K, O, H)."""
    both = np.isfinite(errors).all(axis=0)
    far = FAR * np.nanmean(np.abs(errors), axis=1, keepdims=True)
    return shares.of_errors(np.clip(errors, -far, far)[:, both])
