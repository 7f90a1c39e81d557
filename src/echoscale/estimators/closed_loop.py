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
from echoscale.scaling import Scaling


def closed_loop(
    esn: ESN, readout: Readout, state: npt.ArrayLike, recent: npt.ArrayLike, steps: int, inputs: Scaling
) -> npt.NDArray[Any]:
    """y(t) = W_out (x(t), u(t), u(t-1), ...) + b, then u(t+1) = (y(t) - mean) / spread.

    Parameters
    ----------
    esn : ESN
        The network.
    readout : Readout
        Of states, or of states and inputs; its outputs are in units of the data.
    state : (N,) or (B, N)
        x(t) to begin with.
    recent : (D F,) or (B, D F)
        u(t), which `state` has seen last, and those before it, newest first, in units of the network; D >= 1, and as many as
        the readout sees.
    steps : int
        How many.
    inputs : Scaling
        Of inputs in units of the data.

    Returns
    -------
    (steps, O) or (B, steps, O) array
        y(t), y(t+1), ...
    """
    states = np.atleast_2d(np.asarray(state, esn.dtype))
    # The loop runs in units of the network: in those of the data, a large offset would cost digits of float32.
    coef, intercept = readout.coef / inputs.spread[:, None], inputs.forward(readout.intercept)
    weights, hyper, edges = esn.weights(len(states)), esn.numbers(), np.cumsum(esn.sizes)[:-1]
    # The readout is float64, as in open loop: its coefficients may be large where its penalty is small.
    with precision_and_device(np.float64, device_of(esn.device)):
        outputs = _scan(
            weights,
            hyper,
            tuple(jnp.asarray(part) for part in np.split(np.ascontiguousarray(states.T), edges)),
            jnp.asarray(np.atleast_2d(recent).T, np.float64),
            jnp.asarray(coef),
            jnp.asarray(intercept[:, None]),
            1 << (steps - 1).bit_length(),  # powers of two, so that another horizon seldom compiles again
        )
    result = np.array(outputs, np.float64)[:, :steps]
    result = result if inputs.is_none else inputs.back(result)
    return result if np.ndim(state) == 2 else result[0]


@partial(jax.jit, static_argnames="steps")
def _scan(
    weights: dynamics.Weights,
    hyper: Hyper,
    state: dynamics.State,
    recent: jax.Array,
    coef: jax.Array,
    intercept: jax.Array,
    steps: int,
) -> jax.Array:
    Carry = tuple[dynamics.State, jax.Array, jax.Array]

    def read(state: dynamics.State, recent: jax.Array) -> jax.Array:
        features = jnp.concatenate([*(each.astype(coef.dtype) for each in state), recent])[: coef.shape[1]]
        return jnp.matmul(coef, features, precision="highest") + intercept

    def body(carry: Carry, _: None) -> tuple[Carry, jax.Array]:
        state, recent, y = carry
        new = dynamics.step(weights, hyper, state, y.astype(state[0].dtype))
        shifted = jnp.concatenate([y, recent])[: len(recent)]
        return (new, shifted, read(new, shifted)), y

    _, outputs = jax.lax.scan(body, (state, recent, read(state, recent)), None, length=steps)
    return jnp.transpose(outputs, (2, 0, 1))
