"""W_in (n, F) and b (n,) of a reservoir: U[-1, 1], with zeros where inputs are sparse, or a user's own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Floats
from echoscale.network import Reservoir


def input_matrix(
    rng: np.random.Generator, mask_rng: Callable[[], np.random.Generator], reservoir: Reservoir, n_inputs: int, place: int
) -> Floats:
    """W_in of reservoir number `place`, (n, F)."""
    own = reservoir.input_weights
    if own is not None:
        if own.shape[1] != n_inputs:
            raise ValueError(
                f"the input_weights of reservoir {place} have {own.shape[1]} columns, but the network is built for "
                f"n_inputs={n_inputs}."
            )
        return np.asarray(own.sparse().toarray())
    # Drawn feature by feature, so that one more input does not change the weights of the others.
    weights = rng.uniform(-1, 1, (n_inputs, reservoir.units)).T.copy()
    if reservoir.input_connections is None:
        return weights
    return weights * _heard(mask_rng(), reservoir.input_connections, weights.shape, place)


def bias_vector(rng: np.random.Generator, reservoir: Reservoir) -> Floats:
    """b of one reservoir, (n,)."""
    return rng.uniform(-1, 1, reservoir.units) if reservoir.bias is None else np.array(reservoir.bias)


def _heard(rng: np.random.Generator, connections: int | float, shape: tuple[int, int], place: int) -> npt.NDArray[np.bool_]:
    """Which neuron hears which input, (n, F): so many inputs a neuron, or such a share of the neurons for every input."""
    units, inputs = shape
    if isinstance(connections, int):
        if connections > inputs:
            raise ValueError(
                f"input_connections={connections} of reservoir {place} is above the {inputs} inputs; use at most {inputs}, or "
                "a share of the neurons, below 1.0."
            )
        return rng.random(shape).argsort(axis=1).argsort(axis=1) < connections
    count = max(round(connections * units), 1)
    return (rng.random((inputs, units)).argsort(axis=1).argsort(axis=1) < count).T
