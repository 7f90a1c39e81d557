"""Networks that cannot be read out: states that stand at +-1, or that hardly move."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale.esn import ESN
from echoscale.network.description import LINEAR

Floats = npt.NDArray[Any]


# E[x^2]: its mean over the neurons, and that of one neuron.
SATURATED, SATURATED_NEURON = 0.8, 0.9
# A state that moves by less than so many roundings of its own size has hardly any digit to read.
ROUNDINGS = 1000


class StateWarning(UserWarning):
    """The states of a network are of little use: saturated at +-1, or hardly moving."""


def check_states(mean: Floats, variance: Floats, esn: ESN, above: int = 4) -> None:
    """Warn where E[x^2] is near 1 for most neurons of tanh, or std(x) is near the rounding of x for most neurons.

    Parameters
    ----------
    mean, variance : (n,)
        Of every state, over the steps (or sequences) after the washout.
    esn : ESN
        The network: its precision, and which neurons are linear and have no bounds.
    above : int
        How many calls above this one the user's is.
    """
    square = mean**2 + variance
    still = np.sqrt(np.maximum(variance, 0)) <= ROUNDINGS * np.finfo(esn.dtype).eps * np.sqrt(square)
    bounded = square[np.repeat([each.activation != LINEAR for each in esn.network.reservoirs], esn.sizes)]
    if bounded.size and (bounded.mean() > SATURATED or (bounded > SATURATED_NEURON).mean() > 0.5):
        message = (
            f"the network is saturated: the mean square of its states is {bounded.mean():.2f}, near the bounds of tanh, and "
            "inputs hardly show in them. Lower input_scaling or bias_scaling, or use scale='standard'."
        )
    elif still.mean() > 0.5:
        message = (
            f"the network hardly moves: {still.mean():.0%} of its states vary by less than {ROUNDINGS} roundings of "
            f"{esn.dtype}. Raise input_scaling, use scale='standard', or look for inputs that are constant."
        )
    else:
        return
    warnings.warn(message, StateWarning, stacklevel=above)
