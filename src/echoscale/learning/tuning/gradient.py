"""The gradient through the ridge solution: how outputs and readouts change with the learned numbers theta_p.

Outputs of a fixed readout, for all starts in one scan:

    v_p(t) = W_out^T dx(t)/dtheta_p          enters the Jacobian of the error
    c_p    = sum over training of (dx/dtheta_p) r(t)^T,   r(t) = y(t) - W_out^T x(t) - b
    e_p    = sum over training of dx/dtheta_p,   q_p = sum over training of x . dx/dtheta_p     growth of the states' squares

Every fold has its own readout and its own training steps. The readouts of K folds are handled like one readout with K O
outputs. The tangents dx/dtheta_p are the exact traces of `engine.traces`. Only their projections leave the scan.

The readout itself, from these sums (`ridge_slopes`):

    W      = (S_xx + ridge I)^-1 S_xy                        S: centred sums over training (`readouts.ridge`)
    dW_p   = (S_xx + ridge I)^-1 (dX_p^T R - X^T dX_p W)     R = Y - X W, both centred
    dW/d log ridge = -ridge (S_xx + ridge I)^-1 W

At its floor the penalty is floor * trace(S_xx) / features: it does not follow the learned penalty, but grows with the states.

Lanes of the scan are (point, series) pairs, point-major. They are cut into blocks that run on one thread each; nothing grows
with the length of the series, except for the held-out rows that a loss asks to keep.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from echoscale._internal.types import Floats, Indices
from echoscale.data.series import Series
from echoscale.engine import devices, feed, lanes, traces
from echoscale.engine.devices import one_thread
from echoscale.engine.dynamics import State, Weights
from echoscale.engine.hyper import Hyper, Parameter
from echoscale.engine.traces import Traces
from echoscale.readouts.moments import HostMoments
from echoscale.readouts.ridge import Readout
from echoscale.readouts.statistics import Statistics, gather

if TYPE_CHECKING:
    from echoscale.learning.tuning.losses import Loss

COMPILER_OPTIONS = devices.without(devices.SHARING_KERNELS)
BLOCK_LANES = 128
CHUNK_BYTES, LONGEST_CHUNK = 8 << 20, 512


class Tangents(NamedTuple):
    """At S points, for P learned numbers, K folds and O outputs, of columns (states, v_p, inputs, targets).

    train, held_out  statistics of every fold, (S, ...) each
    cross            the sums c_p over the training steps of every fold, (S, features, P, K O); zero for inputs
    growth           the sums of (x - mean) . dx/dtheta_p over the training steps of every fold, (S, P, K)
    rows             the states of all held-out steps and v_p of their folds, (S, rows, N + P O), if requested
    """

    train: list[Statistics]
    held_out: list[Statistics]
    cross: Floats
    growth: Floats
    rows: Floats | None


class TangentCarry(NamedTuple):
    """The state (n_k, lanes), its traces, and the sums so far.

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
    seen: Array,
    y: Array,
    counts: Array,
    learned: tuple[Parameter, ...],
) -> tuple[TangentCarry, Array]:
    """A chunk of steps: inputs u (L, F, lanes or 1) and targets y (L, O, lanes or 1) -> rows (L, lanes, N + P K O) of x and v.

    coef    coefficients of the readouts of all folds, per reservoir (n_k, K O, lanes), then of the inputs of the readouts
            (E, K O, lanes), if any; intercept (K O, lanes)
    seen    inputs of the readouts (L, E, lanes or 1)
    counts  (L, K, lanes or 1): 1 for steps that train fold k, 0 for others
    """
    which = [traces.reaches(weights, each) for each in learned]

    def body(carry: TangentCarry, now: tuple[Array, Array, Array, Array]) -> tuple[TangentCarry, Array]:
        u_t, seen_t, y_t, count = now
        state, tangents = traces.step(weights, hyper, carry.state, carry.traces, u_t, learned)
        outputs = intercept + sum(_read(part, x) for part, x in zip(coef, (*state, seen_t), strict=False))
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

    return jax.lax.scan(body, carry, (u, seen, y, counts))


def _read(coef: Array, x: Array) -> Array:
    """(n, O, lanes) and (n, lanes) -> (O, lanes)."""
    return jnp.sum(coef * x[:, None], axis=0)


def tangents(loss: Loss, z: Floats, readout: Readout, keep_rows: bool = False) -> Tangents:
    """A second run with known readouts: the derivatives of their outputs and residuals by the learned numbers."""
    esn, data, learned, dtype = loss.esn, loss.data, loss.space.learned, np.dtype(loss.esn.dtype)
    series, folds = data.series, len(data.folds)
    many, wide = len(z) * series.count, folds * loss.outputs
    moved = len(learned) * wide
    parts = max(-(-many // BLOCK_LANES), min(devices.cores(), many // 8), 1)
    blocks = np.array_split(np.arange(many), parts)
    width, longest = lanes.lane_count(len(blocks[0])), int(series.lengths.max())
    steps = lanes.chunk_steps(longest, width * (esn.units + moved) * dtype.itemsize, CHUNK_BYTES, LONGEST_CHUNK)
    fixed, hyper, slices = esn.weights(width), loss.networks(z).hyper, esn.network.slices
    seen = Series(loss.inputs, series.kind)
    coef_of_all = readout.coef.reshape(len(z), wide, loss.features)
    coefs = np.split(coef_of_all, np.cumsum(esn.sizes), axis=2)[: len(esn.sizes) + bool(seen.features)]
    moments = [HostMoments(block, series.count, esn.units + moved, loss.extra, data.edges) for block in blocks]
    cross = np.zeros((many, loss.features, len(learned), wide + folds))
    squares = np.zeros((many, len(learned), folds))
    kept: list[list[Floats]] = [[np.empty((0, esn.units + moved // folds))] for _ in range(many)]
    # A held-out row keeps only the tangents of its own fold.
    own = esn.units + np.arange(moved).reshape(len(learned), folds, loss.outputs)
    columns = [np.concatenate([np.arange(esn.units), own[:, k].ravel()]) for k in range(folds)]

    @np.errstate(over="ignore", invalid="ignore")
    def run(place: int, stop: threading.Event) -> None:
        block = blocks[place]
        padded = np.pad(block, (0, width - len(block)), mode="edge")  # idle lanes repeat the last one
        point, which = np.divmod(padded, series.count)
        numbers = hyper.on(point, dtype)
        coef = tuple(np.asarray(part[point].transpose(2, 1, 0), dtype) for part in coefs)
        intercept = np.asarray(readout.intercept.reshape(len(z), wide)[point].T, dtype)

        def advance(carry: TangentCarry, begin: int) -> tuple[TangentCarry, jax.Array]:
            u, e, y = (feed.inputs(each, which, begin, steps, dtype) for each in (series, seen, data.targets))
            counts = data.trains_at(which, begin, steps).astype(dtype) * ~np.isnan(y).any(axis=1, keepdims=True)
            y = np.nan_to_num(y)  # steps without a target train nothing
            made: tuple[TangentCarry, jax.Array] = scan(fixed, numbers, coef, intercept, carry, u, e, y, counts, learned)
            return made

        def hand_on(begin: int, rows: jax.Array) -> None:
            states = np.asarray(rows)[:, : len(block)]
            moments[place].add(begin, states)
            for lane, b in enumerate(which[: len(block)] if keep_rows else ()):
                for k, first, last, _ in data.judged[b]:
                    low, high = np.clip([first - begin, last - begin], 0, len(states))
                    kept[block[lane]].append(np.array(states[low:high, lane][:, columns[k]]))

        carry = start(fixed, learned, width, wide, folds)
        end = feed.over_chunks(advance, carry, hand_on, longest, steps, stop)
        for p, (parameter, sums) in enumerate(zip(learned, end.cross, strict=True)):
            squares[block[0] : block[-1] + 1, p] = np.asarray(end.squares[p])[:, : len(block)].T
            for k, each in zip(traces.reaches(fixed, parameter), sums, strict=True):
                cross[block[0] : block[-1] + 1, slices[k], p] = np.asarray(each)[..., : len(block)].transpose(2, 0, 1)

    feed.over_blocks(run, range(parts), min(devices.cores(), parts), dtype, esn.device)
    train, held_out = data.folded(gather(moments, len(z), loss.features))
    by_lane = [np.concatenate(each) for each in kept]
    rows = [np.concatenate(by_lane[lane : lane + series.count]) for lane in range(0, many, series.count)]
    cross, squares = (each.reshape(len(z), series.count, *each.shape[1:]).sum(axis=1) for each in (cross, squares))
    means = np.stack([each.mean[:, : esn.units] for each in train], axis=-1)  # (S, N, K)
    growth = squares - np.einsum("snk,snpk->spk", means, cross[:, : esn.units, :, wide:])
    return Tangents(train, held_out, cross[..., :wide], growth, np.stack(rows) if keep_rows else None)


def places(loss: Loss, fold: int) -> tuple[Indices, Indices, Indices]:
    """Columns of the statistics in `Tangents`: features, v_p of this fold (P O, parameter-major), and targets."""
    units, learned, folds, outputs = loss.esn.units, len(loss.space.learned), len(loss.data.folds), loss.outputs
    moved = units + np.arange(learned * folds * outputs).reshape(learned, folds, outputs)
    rest = units + moved.size + np.arange(loss.features - units + outputs)
    return np.concatenate([np.arange(units), rest[:-outputs]]), moved[:, fold].ravel(), rest[-outputs:]


def ridge_slopes(loss: Loss, found: Tangents, readout: Readout, z: Floats, fold: int) -> Floats:
    """dW of one fold by the logarithm of every learned number, (S, P, O, features); P includes a learned ridge penalty."""
    scatter, theta = found.train[fold].scatter, loss.space.values(z)
    coef, penalty = readout.coef[:, fold], readout.ridge[:, fold]
    features, moved, _ = places(loss, fold)
    shape = len(scatter), len(features), len(loss.space.learned), loss.outputs
    of_fold = slice(fold * loss.outputs, (fold + 1) * loss.outputs)
    changes = found.cross[..., of_fold] - scatter[:, features[:, None], moved].reshape(shape)
    changes *= theta[:, None, : shape[2], None]
    at_floor = penalty > loss.penalties(z)[:, fold] * (1 + 1e-9)
    shrinking = coef.transpose(0, 2, 1)[:, :, None]  # (S, features, 1, O)
    growth = np.where(at_floor[:, None], 2 * loss.floor / len(features) * found.growth[..., fold] * theta[:, : shape[2]], 0.0)
    changes -= growth[:, None, :, None] * shrinking
    if loss.space.ridge:
        learned = np.where(at_floor, 0.0, loss.learned_penalties(z)[:, fold])
        changes = np.concatenate([changes, -learned[:, None, None, None] * shrinking], axis=2)
    flat = changes.reshape(*shape[:2], -1)
    with one_thread():
        penalised = scatter[:, features[:, None], features] + penalty[:, None, None] * np.eye(len(features))
        moves = np.linalg.solve(penalised, flat)
    return np.asarray(moves.reshape(changes.shape).transpose(0, 2, 3, 1))
