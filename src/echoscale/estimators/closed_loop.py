"""Closed loop: the readout's output becomes the next input."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from echoscale.engine import dynamics
from echoscale.engine.machine import device_of, precision_and_device
from echoscale.esn import ESN
from echoscale.hyper import Hyper
from echoscale.readouts.ridge import Readout


def closed_loop(esn: ESN, readout: Readout, state: npt.ArrayLike, last_input: npt.ArrayLike, steps: int) -> npt.NDArray[Any]:
    """y(t) = W_out (x(t), u(t)) + b, then u(t+1) = y(t).

    Parameters
    ----------
    esn : ESN
        The network.
    readout : Readout
        Of states, or of states and inputs.
    state : (N,) or (B, N)
        x(t) to begin with.
    last_input : (F,) or (B, F)
        The u(t) that `state` has seen last; only readouts with direct input features use it.
    steps : int
        How many.

    Returns
    -------
    (steps, O) or (B, steps, O) array
        y(t), y(t+1), ...
    """
    states = np.atleast_2d(np.asarray(state, esn.dtype))
    with precision_and_device(esn.dtype, device_of(esn.device)):
        edges = np.cumsum(esn.sizes)[:-1]
        outputs = _scan(
            esn.weights(len(states)),
            esn.numbers(),
            tuple(jnp.asarray(part) for part in np.split(np.ascontiguousarray(states.T), edges)),
            jnp.asarray(np.atleast_2d(last_input).T, esn.dtype),
            jnp.asarray(readout.coef, esn.dtype),
            jnp.asarray(readout.intercept[:, None], esn.dtype),
            1 << (steps - 1).bit_length(),  # powers of two, so that another horizon seldom compiles again
        )
    result = np.array(outputs, np.float64)[:, :steps]
    return result if np.ndim(state) == 2 else result[0]


@partial(jax.jit, static_argnames="steps")
def _scan(
    weights: dynamics.Weights,
    hyper: Hyper,
    state: dynamics.State,
    u: jax.Array,
    coef: jax.Array,
    intercept: jax.Array,
    steps: int,
) -> jax.Array:
    def read(state: dynamics.State, u: jax.Array) -> jax.Array:
        features = jnp.concatenate([*state, u])[: coef.shape[1]]
        return jnp.matmul(coef, features, precision="highest") + intercept

    def body(carry: tuple[dynamics.State, jax.Array], _: None) -> tuple[tuple[dynamics.State, jax.Array], jax.Array]:
        state, y = carry
        new = dynamics.step(weights, hyper, state, y)
        return (new, read(new, y)), y

    _, outputs = jax.lax.scan(body, (state, read(state, u)), None, length=steps)
    return jnp.transpose(outputs, (2, 0, 1))
