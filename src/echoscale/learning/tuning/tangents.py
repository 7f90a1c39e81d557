"""How the outputs of a fixed readout change with the learned numbers, for all starts in one scan.

    v_p(t) = W_out^T dx(t)/dtheta_p          what enters the Jacobian of the error
    c_p    = sum over training of (dx/dtheta_p) r(t)^T,   r(t) = y(t) - W_out^T x(t) - b
    e_p    = sum over training of dx/dtheta_p,   q_p = sum over training of x . dx/dtheta_p     how the states' squares grow

Every fold has its own readout and its own training steps; the readouts of K folds stand beside each other like K O outputs.
The tangents dx/dtheta_p are the exact traces of `engine.traces`. Only these projections of them leave the scan.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from echoscale.engine import devices, traces
from echoscale.engine.dynamics import State, Weights
from echoscale.engine.hyper import Hyper, Parameter
from echoscale.engine.traces import Traces

COMPILER_OPTIONS = devices.without(devices.SHARING_KERNELS)


class TangentCarry(NamedTuple):
    """The state (n_k, lanes), its traces, and sums so far.

    cross    per parameter and reservoir that it reaches (n_k, K O + K, lanes): c_p, then e_p of every fold
    squares  per parameter (K, lanes): q_p
    """

    state: State
    traces: Traces
    cross: tuple[tuple[Array, ...], ...]
    squares: tuple[Array, ...]


def start(weights: Weights, learned: tuple[Parameter, ...], lanes: int, outputs: int, folds: int) -> TangentCarry:
    """The zero state; `outputs` counts the outputs of all folds."""
    dtype, sizes = weights.biases[0].dtype, [len(each) for each in weights.biases]
    reached = [traces.reaches(weights, each) for each in learned]

    def zeros(*inner: int) -> tuple[tuple[Any, ...], ...]:
        return tuple(tuple(np.zeros((sizes[k], *inner, lanes), dtype) for k in some) for some in reached)

    state: Any = tuple(np.zeros((size, lanes), dtype) for size in sizes)
    squares: Any = tuple(np.zeros((folds, lanes), dtype) for _ in learned)
    made: TangentCarry = jax.device_put(TangentCarry(state, traces.Traces(zeros()), zeros(outputs + folds), squares))
    return made


@partial(jax.jit, static_argnames="learned", compiler_options=COMPILER_OPTIONS, donate_argnames="carry")
def scan(
    weights: Weights,
    hyper: Hyper,
    coef: tuple[Array, ...],
    intercept: Array,
    carry: TangentCarry,
    u: Array,
    y: Array,
    counts: Array,
    learned: tuple[Parameter, ...],
) -> tuple[TangentCarry, Array]:
    """A chunk of steps: inputs u (L, F, lanes or 1) and targets y (L, O, lanes or 1) -> rows (L, lanes, N + P K O) of x and v.

    coef    of the readouts of all folds, per reservoir (n_k, K O, lanes), and of the inputs (F, K O, lanes) if they see them;
            intercept (K O, lanes)
    counts  (L, K, lanes or 1): 1 for steps that train fold k, 0 for others
    """
    which = [traces.reaches(weights, each) for each in learned]

    def body(carry: TangentCarry, now: tuple[Array, Array, Array]) -> tuple[TangentCarry, Array]:
        u_t, y_t, count = now
        state, tangents = traces.step(weights, hyper, carry.state, carry.traces, u_t, learned)
        outputs = intercept + sum(_read(part, x) for part, x in zip(coef, (*state, u_t), strict=False))
        folds, targets = count.shape[0], y_t.shape[0]
        residual = (jnp.tile(y_t, (folds, 1)) - outputs) * jnp.repeat(count, targets, axis=0)
        summed = jnp.concatenate([residual, jnp.broadcast_to(count, (folds, residual.shape[1]))])
        moved = [
            sum(_read(coef[k], e) for k, e in zip(reach, block, strict=True))
            for reach, block in zip(which, tangents.blocks, strict=True)
        ]
        cross = jax.tree.map(lambda total, e: total + e[:, None] * summed, carry.cross, tangents.blocks)
        squares = tuple(
            total + count * sum(jnp.sum(state[k] * e, axis=0) for k, e in zip(reach, block, strict=True))
            for total, reach, block in zip(carry.squares, which, tangents.blocks, strict=True)
        )
        return TangentCarry(state, tangents, cross, squares), jnp.concatenate([*state, *moved]).T

    return jax.lax.scan(body, carry, (u, y, counts))


def _read(coef: Array, x: Array) -> Array:
    """(n, O, lanes) and (n, lanes) -> (O, lanes)."""
    return jnp.sum(coef * x[:, None], axis=0)
