"""The input for which capacities are defined: uniform, and independent from step to step."""

from __future__ import annotations

import numpy as np
from numpy.polynomial import legendre

from echoscale._internal import checks
from echoscale._internal.types import Floats
from echoscale.data.series import Series

# Standard errors above which a value differs from 0 by more than chance.
CLEARLY = 6.0
WHITE_LAGS = 20


def noise(length: int, features: int = 1, seed: int = 0, *, low: float | Floats = -1.0, high: float | Floats = 1.0) -> Floats:
    """Uniform noise in [low, high], independent from step to step, (T, F).

    Parameters
    ----------
    length : int
        T, the number of steps.
    features : int
        F, the number of inputs.
    seed : int
        Random seed.
    low, high : float or (F,)
        Range of all features, or of each.

    Examples
    --------
    >>> import echoscale as es
    >>> es.measures.noise(1000, low=0, high=0.5).shape
    (1000, 1)
    """
    shape = checks.integer(length, "length", minimum=1), checks.integer(features, "features", minimum=1)
    rng = np.random.default_rng(checks.integer(seed, "seed"))
    return np.asarray(rng.uniform(low, high, shape))


def check_white(series: Series) -> None:
    """Refuse inputs that depend on each other: a readout could infer past inputs that the network does not remember."""
    u = np.asarray(series.values[0], np.float64)
    spread = u.std(axis=0)
    if not (spread > 0).all():
        raise ValueError(f"feature {int(np.argmin(spread))} of u is constant: it carries nothing to remember.")
    z = (u - u.mean(axis=0)) / spread
    most = CLEARLY / len(z) ** 0.5
    for lag in range(min(WHITE_LAGS, len(z) - 1) + 1):
        found = z[lag:].T @ z[: len(z) - lag] / len(z) - (np.eye(z.shape[1]) if lag == 0 else 0)
        worst = float(np.abs(found).max())
        if worst > most:
            raise ValueError(
                f"u is not independent from step to step: a correlation of {worst:.2g} at lag {lag}. Capacities are for "
                "independent inputs: use es.measures.noise(length, low=..., high=...) in the range of your data."
            )


def polynomials(u: Floats, degree: int) -> Floats:
    """sqrt(2 d + 1) P_d(u) for d = 0 ... degree, (degree + 1, T, F): Legendre's, orthonormal over uniform u in [-1, 1]."""
    scale = np.sqrt(2 * np.arange(degree + 1) + 1)
    return np.asarray(np.moveaxis(legendre.legvander(u, degree), -1, 0) * scale[:, None, None])


def uniform_units(series: Series, degree: int) -> Floats:
    """u scaled to [-1, 1] by its extremes, (T, F); inputs that are not uniform are refused."""
    u = np.asarray(series.values[0], np.float64)
    low, high = u.min(axis=0), u.max(axis=0)
    scaled: Floats = 2 * (u - low) / (high - low) - 1
    means = polynomials(scaled, max(degree, 4))[1:].mean(axis=1)
    if np.abs(means).max() > CLEARLY / len(u) ** 0.5:
        raise ValueError(
            "u is not uniform between its extremes, so Legendre polynomials of it are not orthogonal: use "
            "es.measures.noise(length, low=..., high=...)."
        )
    return scaled
