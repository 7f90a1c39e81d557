"""The same drive from different starts: what echo index and consistency compare."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from echoscale import _checks
from echoscale.esn import ESN
from echoscale.series import Series

Floats = npt.NDArray[np.float64]

FEWEST_STEPS = 100


def starts_of(esn: ESN, count: int, seed: int) -> Floats:
    """Independent and uniform in [-1, 1], where states lie, (S, N).

    Parameters
    ----------
    esn : ESN
        The network.
    count : int
        S.
    seed : int
        Draws them.
    """
    rng = np.random.default_rng(_checks.integer(seed, "seed"))
    return np.asarray(rng.uniform(-1, 1, (_checks.integer(count, "starts", minimum=2), esn.units)))


def copies(series: Series, count: int) -> Series:
    """One series, so many times.

    Parameters
    ----------
    series : Series
        One series.
    count : int
        How many times.
    """
    values = np.asarray(series.values[0])
    return Series(np.broadcast_to(values, (count, *values.shape)), "batch", series.name)
