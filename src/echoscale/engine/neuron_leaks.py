"""A leak rate for every neuron, out of the hyper-parameters of its reservoir.

    alpha_i = alpha exp(-s q_i),   d alpha_i / d alpha = exp(-s q_i),   d alpha_i / d s = -q_i alpha_i

The step takes leaves `leak_rate` of shape (lanes,) or (n_k, lanes) alike: nothing else knows of the spread s and the places q.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from echoscale.hyper import Hyper, Parameter

if TYPE_CHECKING:
    from echoscale.engine.dynamics import Weights

Array = jax.Array


def resolved(weights: Weights, hyper: Hyper) -> Hyper:
    """The hyper-parameters with leak rates (n_k, lanes) and without a spread; as they are where they have none."""
    if not hyper.leak_spread:
        return hyper
    each = zip(hyper.leak_rate, hyper.leak_spread, weights.leak_places, strict=True)
    return hyper._replace(leak_rate=tuple(leak * jnp.exp(-spread * places) for leak, spread, places in each), leak_spread=())


_compiled = jax.jit(resolved)


def once(weights: Weights, hyper: Hyper) -> Hyper:
    """`resolved` for many chunks of steps, by a program of its own where networks have leak rates of their own.

    Those of one network are resolved in no time, and again in every chunk.
    """
    several = any(np.size(leaf) > 1 for leaf in (*hyper.leak_rate, *hyper.leak_spread))
    return _compiled(weights, hyper) if hyper.leak_spread and several else hyper


def moved_leaf(weights: Weights, hyper: Hyper, parameter: Parameter) -> tuple[Parameter, Array]:
    """The leaf of `resolved` hyper-parameters that a parameter moves, and its derivative by the parameter, of its shape."""
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
