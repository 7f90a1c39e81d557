"""The rate of every minibatch k = 0 .. K-1 of a training.

"constant"  rate
"cosine"    rate (1 + cos(pi k / K)) / 2: from the rate down towards 0, which quiets the noise of small minibatches
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

SCHEDULES = ("constant", "cosine")


def rates(schedule: str, rate: float, first: int, count: int, total: int) -> npt.NDArray[np.float64]:
    """rate_k of the minibatches k = first .. first + count - 1 of a training with `total` of them.

    Parameters
    ----------
    schedule : "constant" or "cosine"
        See above.
    rate : float
        The first rate.
    first : int
        The number of the first minibatch.
    count : int
        How many.
    total : int
        K, those of all epochs.

    Returns
    -------
    (count,) array
        Their rates.
    """
    if schedule == "constant":
        return np.full(count, rate)
    return np.asarray(rate * (1 + np.cos(np.pi * np.arange(first, first + count) / total)) / 2)
