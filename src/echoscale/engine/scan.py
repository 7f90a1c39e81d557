"""The scan over the steps of a chunk: the states of all lanes after every step, or after every few steps."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from echoscale.engine import dynamics
from echoscale.engine.devices import SCAN_OPTIONS
from echoscale.engine.dynamics import State, Weights, masked_step, step
from echoscale.engine.hyper import Hyper


def _scan(
    weights: Weights,
    hyper: Hyper,
    state: State,
    u: Array,
    remaining: Array,
    every: int = 1,
    apart: bool = False,
    whole: bool = False,
    pairs: bool = False,
) -> tuple[State, Any]:
    """A chunk of steps: u (L, F, lanes or 1) -> the last state, and the states after every `every` steps (L / every, lanes, N).

    `remaining` (lanes,) says how many steps of the chunk each lane's series still has; later rows repeat its last state.
    The chunk has a fixed length, so that series of any length share one compiled program. `apart` gives the states of every
    reservoir separately, (L / every, lanes_k, n_k), for any number of lanes of each.
    `whole` says that no series ends within the chunk, `pairs` takes two steps at a time: the same states, faster.
    """

    def body(carry: tuple[State, Array], u_t: Array) -> tuple[tuple[State, Array], None]:
        state, t = carry
        new = step(weights, hyper, state, u_t) if whole else masked_step(weights, hyper, state, u_t, t < remaining)
        return (new, t + 1), None

    def two(carry: tuple[State, Array], u_two: Array) -> tuple[tuple[State, Array], None]:
        """Two steps per turn of the loop: a loop copies its state at every turn, since gathers cannot write where they read.

        Without the barrier, XLA would compute the first step again for every neighbour of the second.
        """
        first, _ = body(carry, u_two[0])
        return body(jax.lax.optimization_barrier(first), u_two[1])  # type: ignore[no-untyped-call]

    def several(carry: tuple[State, Array], part: Array) -> tuple[State, Array]:
        if every == 1:
            return body(carry, part[0])[0]
        if pairs and every % 2 == 0:
            return jax.lax.scan(two, carry, part.reshape(every // 2, 2, *part.shape[1:]))[0]
        return jax.lax.scan(body, carry, part)[0]

    def stretch(carry: tuple[State, Array], part: Array) -> tuple[tuple[State, Array], Any]:
        carry = several(carry, part)
        # Transposed here, while the chunk is in the cache.
        return carry, tuple(each.T for each in carry[0]) if apart else jnp.concatenate(carry[0]).T

    hyper = dynamics.resolved(weights, hyper)  # once, not at every step
    parts = u.reshape(u.shape[0] // every, every, *u.shape[1:])
    (last, _), states = jax.lax.scan(stretch, (state, jnp.int32(0)), parts)
    return last, states


scan = jax.jit(_scan, static_argnames=("every", "apart", "whole", "pairs"), compiler_options=SCAN_OPTIONS)


def along(weights: Weights, hyper: Hyper, u: Array, state: Array, sizes: tuple[int, ...]) -> Array:
    """All states (T, N) of one network along u (T, F), from the state (N,); leaves of `hyper` are scalars. Pure."""
    numbers = dynamics.resolved(weights, hyper.map(lambda leaf: jnp.reshape(jnp.asarray(leaf, state.dtype), (1,))))

    def body(now: State, u_t: Array) -> tuple[State, Array]:
        new = step(weights, numbers, now, u_t[:, None])
        return new, jnp.concatenate(new)[:, 0]

    parts = tuple(jnp.split(state[:, None], np.cumsum(sizes)[:-1].tolist()))
    return jax.lax.scan(body, parts, u)[1]


@partial(jax.jit, static_argnames="sizes", compiler_options=SCAN_OPTIONS)
def advance(weights: Weights, hyper: Hyper, state: Array, u: Array, sizes: tuple[int, ...]) -> Array:
    """One step of whole state vectors: (B, N) and inputs (B, F) -> (B, N).

    A loop of two steps that stops after the first: XLA compiles its body as in `scan`, so that both agree to the last bit.
    """
    parts = tuple(jnp.split(state.T, np.cumsum(sizes)[:-1].tolist()))
    last, _ = _scan(weights, hyper, parts, jnp.stack([u.T, u.T]), jnp.ones(len(u), jnp.int32), every=1)
    return jnp.concatenate(last).T
