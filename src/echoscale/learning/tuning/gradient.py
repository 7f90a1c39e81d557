"""The gradient through the ridge solution: how outputs and readouts change with the learned numbers theta_p.

Outputs of a fixed readout, for all starts in one scan:

    v_p(t) = W_out^T dx(t)/dtheta_p          this enters the Jacobian of the error
    c_p    = sum over training of (dx/dtheta_p) r(t)^T,   r(t) = y(t) - W_out^T x(t) - b
    e_p    = sum over training of dx/dtheta_p,   q_p = sum over training of x . dx/dtheta_p     growth of the states' squares

Every fold has its own readout and its own training steps; the readouts of K folds stand beside each other like K O outputs.
The tangents dx/dtheta_p are the exact traces of `engine.traces`. Only these projections of them leave the scan.

The readout itself, from these sums (`ridge_slopes`):

    W      = (S_xx + ridge I)^-1 S_xy                        S: centred sums over training (`readouts.ridge`)
    dW_p   = (S_xx + ridge I)^-1 (dX_p^T R - X^T dX_p W)     R = Y - X W, both with their means taken off
    dW/d log ridge = -ridge (S_xx + ridge I)^-1 W

At its floor the penalty is floor * trace(S_xx) / features: it no longer follows the learned penalty, but grows with the states.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax import Array

from echoscale._internal.types import Floats
from echoscale.engine import devices, traces
from echoscale.engine.devices import one_thread
from echoscale.engine.dynamics import State, Weights
from echoscale.engine.hyper import Hyper, Parameter
from echoscale.engine.traces import Traces
from echoscale.readouts.ridge import Readout

if TYPE_CHECKING:
    from echoscale.learning.tuning.runs import Runs, Tangents

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


def columns(runs: Runs, fold: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Which columns of the statistics in `Tangents` are features, v_p of this fold (P O, parameter-major), and targets."""
    units, learned, folds, outputs = runs.esn.units, len(runs.space.learned), len(runs.folds), runs.outputs
    moved = units + np.arange(learned * folds * outputs).reshape(learned, folds, outputs)
    rest = units + moved.size + np.arange(runs.features - units + outputs)
    return np.concatenate([np.arange(units), rest[:-outputs]]), moved[:, fold].ravel(), rest[-outputs:]


def ridge_slopes(runs: Runs, found: Tangents, readout: Readout, z: Floats, fold: int) -> Floats:
    """dW of one fold by the logarithm of every learned number, (S, P, O, features), P with the ridge if that is learned."""
    scatter, theta = found.train[fold].scatter, runs.space.values(z)
    coef, penalty = readout.coef[:, fold], readout.ridge[:, fold]
    features, moved, _ = columns(runs, fold)
    shape = len(scatter), len(features), len(runs.space.learned), runs.outputs
    of_fold = slice(fold * runs.outputs, (fold + 1) * runs.outputs)
    changes = found.cross[..., of_fold] - scatter[:, features[:, None], moved].reshape(shape)
    changes *= theta[:, None, : shape[2], None]
    at_floor = penalty > runs.penalties(z)[:, fold] * (1 + 1e-9)
    shrinking = coef.transpose(0, 2, 1)[:, :, None]  # (S, features, 1, O)
    growth = np.where(at_floor[:, None], 2 * runs.floor / len(features) * found.growth[..., fold] * theta[:, : shape[2]], 0.0)
    changes -= growth[:, None, :, None] * shrinking
    if runs.space.ridge:
        learned = np.where(at_floor, 0.0, runs.learned_penalties(z)[:, fold])
        changes = np.concatenate([changes, -learned[:, None, None, None] * shrinking], axis=2)
    flat = changes.reshape(*shape[:2], -1)
    with one_thread():
        penalised = scatter[:, features[:, None], features] + penalty[:, None, None] * np.eye(len(features))
        moves = np.linalg.solve(penalised, flat)
    return np.asarray(moves.reshape(changes.shape).transpose(0, 2, 3, 1))
