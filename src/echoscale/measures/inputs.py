"""Inputs of measures: checks of one series, and the independent noise for which capacities are defined."""

from __future__ import annotations

import numpy as np

from echoscale._internal import checks
from echoscale._internal.types import Floats
from echoscale.data.series import Series, SeriesLike, as_series, washout_steps
from echoscale.engine.esn import ESN

# Standard errors above which a value differs from 0 by more than chance.
CLEARLY = 6.0
WHITE_LAGS = 20


def noise(length: int, features: int = 1, seed: int = 0, *, low: float | Floats = -1.0, high: float | Floats = 1.0) -> Floats:
    """Uniform noise in [low, high], independent from step to step, (T, F).

    Parameters
    ----------
    length : int
        Number of steps T.
    features : int
        Number of inputs F.
    seed : int
        Random seed.
    low, high : float or (F,)
        Range of all features, or of each feature.

    Examples
    --------
    >>> import echoscale as es
    >>> es.measures.noise(1000, low=0, high=0.5).shape
    (1000, 1)
    """
    shape = checks.integer(length, "length", minimum=1), checks.integer(features, "features", minimum=1)
    rng = np.random.default_rng(checks.integer(seed, "seed"))
    return np.asarray(rng.uniform(low, high, shape))


def one_series(esn: ESN, u: SeriesLike | Series) -> Series:
    """u as one checked series of this network."""
    series = as_series(u, esn.columns)
    if series.count != 1:
        raise ValueError(f"u holds {series.count} series, but a measure needs one. Give the longest.")
    return series


def first_step(series: Series, washout: int | None, counted: int, why: str, least: int = 0) -> int:
    """The first step that counts, at least `least`; raises an error if the series is too short."""
    length = int(series.lengths[0])
    first = max(washout_steps(washout, length), least)
    if length < first + counted:
        raise ValueError(
            f"u has {length} steps, but {why} needs at least {first + counted}: a washout of {first}, and {counted} more."
        )
    return first


def check_white(series: Series) -> None:
    """Refuse inputs that depend on each other: a readout could infer past inputs that the network does not remember."""
    u = np.asarray(series.values[0], np.float64)
    spread = u.std(axis=0)
    if not (spread > 0).all():
        raise ValueError(f"feature {int(np.argmin(spread))} of u is constant: there is nothing to remember. Leave it out.")
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
