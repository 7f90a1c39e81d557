"""Where a series begins whose past is not known: the state of a network that has heard the mean input for long.

    x* = f(x*, u = 0)     in units of the network, where the mean of the training inputs is 0

A readout has seen no state near zero where biases hold the network elsewhere, and its weights may be large: from the zero state
the first outputs can be a thousand times too large. From x* every state is that of a possible past.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale.esn import ESN
from echoscale.hyper import Hyper

STEPS = 1000  # of the mean input


def at_rest(esn: ESN, hyper: Hyper | None = None) -> npt.NDArray[Any] | None:
    """x*, (N,), or (H, N) with lanes; None where it is the zero state, since there is no bias.

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
    return np.asarray(esn.run_chunks(np.zeros((STEPS, esn.columns)), hyper=hyper))
