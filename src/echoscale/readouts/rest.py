"""Where a series begins whose past is not known: the state of a network that has heard the mean input for long.

    x* = f(x*, u = 0)     in units of the network, where the mean of the training inputs is 0

A readout has seen no state near zero where biases hold the network elsewhere, and its weights may be large: from the zero state
the first outputs can be a thousand times too large. From x* every state is that of a possible past. So is every state of a
network that never comes to rest but stays bounded, as all of tanh do. A linear level may grow without bound: it has no such
state, and begins at zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale.engine import feed
from echoscale.esn import ESN
from echoscale.hyper import Hyper
from echoscale.series import as_series

STEPS = 1000  # of the mean input
# Over the second half of them, a level that sums up its bias doubles, and one that forgets within 700 steps grows by less.
GROWS = 1.5


def at_rest(esn: ESN, hyper: Hyper | None = None) -> npt.NDArray[Any] | None:
    """x*, (N,), or (H, N) with lanes; zero where a linear level grows; None where it is zero since there is no bias.

    Parameters
    ----------
    esn : ESN
        The network.
    hyper : Hyper, optional
        Other hyper-parameters than its own, with H lanes or none.
    """
    used = esn.hyper if hyper is None else hyper
    if not any(np.any(scaling) and np.any(bias) for scaling, bias in zip(used.bias_scaling, esn.drawn.biases, strict=True)):
        return None
    # Not by `run_chunks`, which refuses all lanes where one has grown beyond the range of its precision.
    dtype, series = np.dtype(esn.dtype), as_series(np.zeros((STEPS // 2, esn.columns)), dtype=esn.dtype)
    half = feed.feed(esn.weights, esn.sizes, used, series, None, None, dtype, esn.device)
    last = feed.feed(esn.weights, esn.sizes, used, series, half, None, dtype, esn.device)
    for own, linear in zip(esn.network.slices, esn.network.linear, strict=False):
        if linear:
            before, after = (np.abs(states[:, own]).max(axis=1) for states in (half, last))
            last[~(np.isfinite(after) & (after <= GROWS * before))] = 0
    return last if used.lanes is not None else last[0]
