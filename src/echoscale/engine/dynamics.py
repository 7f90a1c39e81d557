"""The update of the states: one time step of all reservoirs, and the fixed arrays that the step needs.

    x_k(t+1) = (1 - leak_rate_k) O_k x_k(t) + leak_rate_k tanh(h_k(t))
    h_k(t)   = input_scaling_k W_in_k s(t) + feedback_scaling_k W_fb_k y(t-1) + bias_scaling_k b_k
               + spectral_radius_k W_k x_k(t) + sum over couplings l -> k of coupling_kl W_kl x_l(t)

O is the identity unless a reservoir is residual. A linear reservoir has h in place of tanh(h). Fed-back outputs y(t-1) are
further columns of the input, after the columns of s(t).

A leak rate is one number for a reservoir, or one for every neuron i, from the spread s of the reservoir and the place q_i:

    alpha_i = alpha exp(-s q_i),   d alpha_i / d alpha = exp(-s q_i),   d alpha_i / d s = -q_i alpha_i

The step takes leaves `leak_rate` of shape (lanes,) or (n_k, lanes) alike. In this module only `resolved` and `moved_leaf`
compute with s and q.

Layout: a state is neuron-major, one array (n_k, lanes) per reservoir, lanes contiguous. A lane is one network with its own
series or its own hyper-parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from echoscale.engine.devices import to_device
from echoscale.engine.drawn import Drawn
from echoscale.engine.hyper import Hyper, Parameter
from echoscale.engine.matrices import Shift, apply, project, store_matrix, turn
from echoscale.network import Network
from echoscale.network.matrix import IDENTITY, SHIFT, Residual

State = tuple[Array, ...]


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["recurrent", "inputs", "biases", "couplings", "feedback", "leak_places", "residuals"],
    meta_fields=["links", "coupling_delay", "linear"],
)
@dataclass(frozen=True)
class Weights:
    """Fixed arrays of a network on the device, made by `ESN.weights`; the graph itself is static.

    Attributes
    ----------
    recurrent : tuple
        Recurrent matrix W_k of every reservoir: `Neighbours`, or a dense array (n_k, n_k).
    inputs : tuple of (n_k, F)
        Input matrices W_in_k.
    biases : tuple of (n_k, 1)
        Biases b_k.
    couplings : tuple
        Matrix W_kl of every coupling: `Neighbours`, or a dense array (n_k, n_l).
    feedback : tuple of (n_k, O)
        Feedback matrices W_fb_k; empty without output feedback.
    leak_places : tuple of (n_k, 1)
        Places q_k of the neurons; empty if no reservoir spreads its leak rates.
    residuals : tuple
        Residual matrices O_k: None (the identity), `Shift`, `Neighbours` or dense (n_k, n_k); empty if all are the identity.
    links : tuple of (int, int)
        Source and target of every coupling.
    coupling_delay : int
        Delay of the couplings. 1: couplings carry last states; 0: new states.
    linear : tuple of bool
        Whether each reservoir is linear; empty if none is.
    """

    recurrent: tuple[Any, ...]
    inputs: tuple[Array, ...]
    biases: tuple[Array, ...]
    couplings: tuple[Any, ...]
    feedback: tuple[Array, ...]
    leak_places: tuple[Array, ...]
    residuals: tuple[Any, ...]
    links: tuple[tuple[int, int], ...]
    coupling_delay: int
    linear: tuple[bool, ...]


def store(network: Network, drawn: Drawn, dtype: np.dtype[Any], lanes: int) -> Weights:
    """The drawn matrices in the form that is fastest for this number of lanes."""
    return Weights(
        recurrent=tuple(
            store_matrix(each, dtype, lanes, shift=reservoir.residual == SHIFT)
            for reservoir, each in zip(network.reservoirs, drawn.recurrent, strict=True)
        ),
        inputs=tuple(to_device(each, dtype) for each in drawn.inputs),
        biases=tuple(to_device(each[:, None], dtype) for each in drawn.biases),
        couplings=tuple(store_matrix(each, dtype, lanes) for each in drawn.couplings),
        feedback=tuple(to_device(each, dtype) for each in drawn.feedback),
        leak_places=tuple(to_device(each[:, None], dtype) for each in drawn.leak_places),
        residuals=tuple(
            _residual(reservoir.residual, matrix, dtype, lanes)
            for reservoir, matrix in zip(network.reservoirs, drawn.residuals, strict=False)
        ),
        links=tuple((each.source, each.target) for each in network.couplings),
        coupling_delay=network.coupling_delay,
        linear=network.linear,
    )


def _residual(kind: Residual, matrix: Any, dtype: np.dtype[Any], lanes: int) -> Any:
    if kind == IDENTITY:
        return None
    return Shift() if kind == SHIFT else store_matrix(matrix, dtype, lanes)


def step(weights: Weights, hyper: Hyper, state: State, u: Array) -> State:
    """Advances all reservoirs by one time step, inside programs of JAX.

    A reservoir may have fewer lanes than a reservoir that it drives: each lane then stands for a group of consecutive lanes.

    Parameters
    ----------
    weights : Weights
        Fixed arrays, from `ESN.weights`.
    hyper : Hyper
        Hyper-parameters on the device, from `ESN.numbers`.
    state : tuple of (n_k, lanes)
        Last state of every reservoir.
    u : (F + O, lanes)
        Input; with output feedback, the fed-back outputs follow.

    Returns
    -------
    tuple of (n_k, lanes)
        New states.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import numpy as np
    >>> import echoscale as es
    >>> esn = es.single(10).build(1, seed=0)
    >>> state = es.engine.step(esn.weights(1), esn.numbers(), (jnp.zeros((10, 1)),), jnp.full((1, 1), 0.5))
    >>> np.allclose(state[0][:, 0], esn.run(np.array([[0.5]]))[0])
    True
    """
    hyper = resolved(weights, hyper)
    new: list[Array] = []
    for k, x in enumerate(state):
        h = drive(weights, hyper, k, state, new, u, x)
        new.append(move(weights, hyper, k, x, activate(weights, k, h)))
    return tuple(new)


def drive(
    weights: Weights, hyper: Hyper, k: int, state: Sequence[Array], new: Sequence[Array], u: Array, own: Array | None
) -> Array:
    """h_k, everything inside the activation, from the last states and the new states of the reservoirs before k.

    `own` is the state that W_k multiplies; None leaves the recurrent term out.
    """
    if weights.feedback:
        features = weights.inputs[k].shape[1]
        h = hyper.input_scaling[k] * project(weights.inputs[k], u[:features])
        h = h + hyper.feedback_scaling[k] * project(weights.feedback[k], u[features:])
    else:
        h = hyper.input_scaling[k] * project(weights.inputs[k], u)
    h = h + hyper.bias_scaling[k] * weights.biases[k]
    if own is not None:
        h = h + hyper.spectral_radius[k] * apply(weights.recurrent[k], own)
    for j, (source, target) in enumerate(weights.links):
        if target == k:
            fresh = weights.coupling_delay == 0 and source < k
            heard = apply(weights.couplings[j], new[source] if fresh else state[source])
            if heard.shape[1] < h.shape[1]:
                heard = jnp.matmul(heard, _copies(heard.shape[1], h), precision="highest")
            h = h + hyper.coupling[j] * heard
    return h  # type: ignore[no-any-return]


def move(weights: Weights, hyper: Hyper, k: int, x: Array, fired: Array) -> Array:
    """x_k(t+1) = (1 - leak_rate_k) O_k x_k(t) + leak_rate_k f, with f the activation of h_k; of resolved `hyper`."""
    kept = turn(weights.residuals[k], x, weights.recurrent[k]) if weights.residuals else x
    return _leaked(hyper.leak_rate[k], kept, fired, moved=kept is not x)


def _leaked(leak: Array, kept: Array, fired: Array, moved: bool) -> Array:
    """(1 - leak) kept + leak fired, in the form and order that is fastest (benchmarks/levels.py).

    Values that differ between neurons or networks are read once. A state that was `moved` comes from another row, so it is used
    before `fired` is known.
    """
    if jnp.ndim(leak) == 2 or (moved and kept.shape[1] == 1):
        return (kept - leak * kept) + leak * fired
    if moved:
        return leak * fired + (kept - leak * kept if jnp.size(leak) > 1 else (1 - leak) * kept)
    return (1 - leak) * kept + leak * fired


def activate(weights: Weights, k: int, h: Array) -> Array:
    """tanh(h), or h of a linear reservoir k."""
    return h if weights.linear and weights.linear[k] else jnp.tanh(h)


def _copies(lanes: int, x: Array) -> Any:
    """(lanes, lanes of x): a product with it repeats every lane for its group, faster on a CPU than `repeat` in a loop."""
    return np.repeat(np.eye(lanes, dtype=x.dtype), x.shape[1] // lanes, axis=1)


def masked_step(weights: Weights, hyper: Hyper, state: State, u: Array, live: Array) -> State:
    """`step`, but lanes whose series has ended (live False) keep their state."""
    new = step(weights, hyper, state, u)
    return tuple(jnp.where(live, after, before) for after, before in zip(new, state, strict=True))


def resolved(weights: Weights, hyper: Hyper) -> Hyper:
    """The hyper-parameters with leak rates (n_k, lanes) and without a spread; unchanged without a spread."""
    if not hyper.leak_spread:
        return hyper
    each = zip(hyper.leak_rate, hyper.leak_spread, weights.leak_places, strict=True)
    return hyper._replace(leak_rate=tuple(leak * jnp.exp(-spread * places) for leak, spread, places in each), leak_spread=())


_compiled = jax.jit(resolved)


def once(weights: Weights, hyper: Hyper) -> Hyper:
    """`resolved` for many chunks of steps; a separate program if networks have leak rates of their own.

    The leak rates of a single network are resolved again in every chunk, since this costs next to nothing.
    """
    several = any(np.size(leaf) > 1 for leaf in (*hyper.leak_rate, *hyper.leak_spread))
    return _compiled(weights, hyper) if hyper.leak_spread and several else hyper


def moved_leaf(weights: Weights, hyper: Hyper, parameter: Parameter) -> tuple[Parameter, Array]:
    """The leaf of `resolved` hyper-parameters that a parameter changes, and its derivative with respect to the parameter."""
    if not hyper.leak_spread or parameter.name not in ("leak_rate", "leak_spread"):
        return parameter, jnp.ones_like(jnp.asarray(parameter.of(hyper)))
    k = parameter.place
    places = weights.leak_places[k]
    share = jnp.exp(-hyper.leak_spread[k] * places)
    slope = share if parameter.name == "leak_rate" else -places * (hyper.leak_rate[k] * share)
    leaf = Parameter("leak_rate", k)
    # Lanes that only the leak rate has.
    shape = jnp.broadcast_shapes(jnp.shape(hyper.leak_rate[k]), share.shape)
    return leaf, jnp.broadcast_to(slope, shape)
