"""Weights of candidates in a mean, from their errors on held-out data, and whether one candidate is clearly better.

`of_errors` takes into account which errors cancel, `of_sizes` the sizes of errors alone. `by_horizon` gives the weights of
`Forecaster`:

    w = argmin mean over origins and horizons of (sum_k w_k e_k)^2 + sum_k w_k^2 mean e_k^2,   w >= 0,   sum w = 1

Errors are in units of the least error of their horizon, so that all horizons count alike. Errors far from the other errors of a
candidate are clipped. Short and long horizons have their own weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from echoscale._internal.types import Flags, Floats

# Candidates of one kind whose errors before a split are this close to the best cannot be told from it, and are averaged.
ALIKE = 1.03
# Errors beyond this many mean absolute errors of their candidate are clipped: a few of them would decide.
FAR = 4.0
# Horizons up to these share their weights.
GROUPS = (2, 6, 12, 24, 48)
# Candidates that may have weights, the best first: among more of them, chance decides.
MOST = 12
# Members with smaller weights are left out: they would change the mean little, and take as long as the others.
LEAST_WEIGHT = 0.01


def of_errors(errors: Floats) -> Floats:
    """Shares u of members in a mean, (K,), from their errors on held-out data, (K, rows); equal where nothing can be said.

        u = argmin u^T (G + diag G) u,   u >= 0,   sum u = 1,   G = mean of e e^T

    G takes into account which errors cancel. Variances count twice, since the best of many looks better than it is (Bates and
    Granger 1969).
    """
    from scipy.optimize import nnls

    count = len(errors)
    if errors.shape[1] < 2:
        return np.full(count, 1 / count)
    gram = errors @ errors.T / errors.shape[1]
    gram = gram + np.diag(np.diag(gram)) + 1e-9 * np.trace(gram) / count * np.eye(count)
    if not np.trace(gram) > 0:
        return np.full(count, 1 / count)
    root = np.linalg.cholesky(gram / np.trace(gram)).T
    # The sum of the shares is one equation more, of great weight.
    heavy = 1e3
    found, _ = nnls(np.vstack([root, np.full(count, heavy)]), np.append(np.zeros(count), heavy))
    return np.asarray(found / found.sum())


def of_sizes(sizes: Floats, power: float) -> Floats:
    """Shares proportional to (least size / size)^power, (K,)."""
    shares = (sizes.min() / sizes) ** power
    return np.asarray(shares / shares.sum())


def without_small(shares: Floats, least: float = LEAST_WEIGHT) -> Floats:
    """Shares (K, ...) without those below the least, which add up to 1 again."""
    kept = np.where(shares >= least, shares, 0.0)
    return np.asarray(kept / kept.sum(axis=0))


def by_horizon(errors: Sequence[Floats], usable: Flags) -> Floats:
    """w of every horizon, (K, H), from errors (O, H) of every candidate."""
    horizon = errors[0].shape[1]
    edges = [0, *(each for each in GROUPS if each < horizon), horizon]
    found = np.zeros((len(errors), horizon))
    for low, high in pairwise(edges):
        found[:, low:high] = of_horizons([each[:, low:high] for each in errors], usable)[:, None]
    return found


def of_horizons(errors: Sequence[Floats], usable: Flags) -> Floats:
    """w, (K,), of horizons that share their weights; 0 for candidates that could not be judged wherever others were."""
    every = np.stack(errors)
    counts = np.isfinite(every).sum(axis=(1, 2))
    good = np.flatnonzero(usable & (counts > 0) & (counts == counts.max()))
    found = np.zeros(len(every))
    if not len(good):
        found[usable] = 1 / max(int(usable.sum()), 1)
        return found
    some = every[good]
    # Horizons that nobody could be judged at say nothing.
    some = some[:, :, np.isfinite(some).any(axis=(0, 1))]
    size = np.nanmean(np.abs(some), axis=1)
    least = np.where(size.min(axis=0) > 0, size.min(axis=0), 1.0)
    score = np.log(np.maximum(size / least, 1e-12)).mean(axis=1)
    best = np.argsort(score, kind="stable")[:MOST]
    found[good[best]] = _least_squares(some[best] / least)
    return found


def _least_squares(errors: Floats) -> Floats:
    """w of candidates (K, O, H)."""
    both = np.isfinite(errors).all(axis=0)
    far = FAR * np.nanmean(np.abs(errors), axis=1, keepdims=True)
    return of_errors(np.clip(errors, -far, far)[:, both])


def standard_errors(better: Floats, other: Floats, horizon: int) -> float:
    """By how many standard errors the mean of other - better, squared errors (rows,), is above 0.

        d(t) = e_other(t)^2 - e_better(t)^2

    The standard error of the mean of d takes into account that neighbouring errors are alike (Bartlett's weights up to the
    horizon).
    """
    d = other - better
    apart = d - d.mean()
    variance = float((apart**2).mean())
    width = horizon + 1
    total = variance
    for lag in range(1, min(width, len(d) - 1)):
        total += 2 * (1 - lag / width) * float((apart[lag:] * apart[:-lag]).mean())
    # Of few rows the correlations are noise: they must not make the error small.
    total = max(total, 0.3 * variance)
    if total == 0:
        return float(np.sign(d.mean())) * np.inf if d.mean() else 0.0
    return float(d.mean() / np.sqrt(total / len(d)))
