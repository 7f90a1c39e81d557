"""A stream between two buffers of steps: its first carry, fresh readouts, values in a carry, and the buffers themselves.

Pure functions of the settings; `Stream` is all that changes while learning.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Array, Flags, Floats
from echoscale.data.series import Numbers, Series, as_targets
from echoscale.data.targets import one_hot
from echoscale.engine import traces
from echoscale.engine.esn import ESN
from echoscale.learning.online import adam, constraints, history, loop, over_cores, reinitialise
from echoscale.learning.online.history import History
from echoscale.learning.online.over_cores import Groups
from echoscale.learning.online.reinitialise import ProtocolMemory
from echoscale.learning.online.settings import LearnerSettings
from echoscale.readouts import rls
from echoscale.readouts.rls import RLS

# Largest number of steps of one compiled call.
BUFFER = 1024
# The size of a fresh W_out: small, but not 0, since the learned hyper-parameters would have no gradient.
FRESH = 0.01


class Stream(NamedTuple):
    """Plan of the compiled program, and all that changes: one object, so that an interrupt leaves the old one or the new one.

    frozen  (P, S), set by the user
    """

    plan: loop.LoopPlan
    fixed: loop.Fixed
    groups: Groups
    carry: loop.Carry
    step: int
    history: History
    memory: ProtocolMemory
    frozen: Flags


def begin(settings: LearnerSettings, esn: ESN, sequences: int) -> Stream:
    """A stream before its first step: zero states and traces, the hyper-parameters of the starts, fresh readouts."""
    plan = plan_of(settings, sequences)
    fixed = fixed_of(settings, plan, esn)
    dtype, lanes, count = np.dtype(settings.dtype), plan.starts * plan.batch, len(settings.learned)
    state: Any = tuple(np.zeros((size, lanes), dtype) for size in esn.sizes)
    free = constraints.to_free(settings.first_values, settings.learned, settings.constraint)
    theta = np.concatenate([np.zeros((settings.rows, plan.starts)), free[:, of_padded(settings, plan)]])
    rows, squares = settings.rows, None
    if isinstance(settings.readout, RLS):
        one = rls.init(settings.network.units, settings.outputs, settings.readout.ridge)
        squares = jax.tree.map(lambda leaf: np.tile(leaf, (plan.starts, *[1] * leaf.ndim)), one)
    carry = loop.Carry(
        state=state,
        traces=traces.init(fixed.weights, settings.learned, state),
        theta=theta.astype(dtype),
        readout=None,
        values=(),
        moments=adam.init(rows + count, plan.starts, dtype),
        squares=squares,
        average=None if settings.average is None else (np.zeros((rows, plan.starts), dtype), np.zeros(plan.starts, dtype)),
        sums=(np.zeros((1 + count, plan.starts), dtype), np.zeros((), np.int32)),
    )
    starts = settings.starts
    carry = fresh(settings, plan, carry, np.ones(starts, bool), np.zeros(starts, np.int64))
    book = history.init(settings.record, count, starts)
    memory, frozen = reinitialise.init(count, starts), np.zeros((count, starts), bool)
    return Stream(plan, fixed, over_cores.over_cores(settings, plan), carry, 0, book, memory, frozen)


def plan_of(settings: LearnerSettings, sequences: int) -> loop.LoopPlan:
    """The sizes to compile for this number of sequences."""
    starts, batch = over_cores.padded(settings.starts, sequences)
    rule = settings.readout
    return loop.LoopPlan(
        learned=settings.learned,
        form=settings.trace,
        loss=settings.loss,
        constraint=settings.constraint,
        outputs=settings.outputs,
        starts=starts,
        batch=batch,
        sequences=sequences,
        back=rls.returns(settings.network.units, rule.forgetting) if isinstance(rule, RLS) else None,
        plain=settings.averages_plainly,
    )


def of_padded(settings: LearnerSettings, plan: loop.LoopPlan) -> npt.NDArray[np.int64]:
    """Index of the start for every padded start: idle ones repeat the last."""
    return np.minimum(np.arange(plan.starts), settings.starts - 1)


def fixed_of(settings: LearnerSettings, plan: loop.LoopPlan, esn: ESN) -> loop.Fixed:
    """The constants of the loop, on the device."""
    dtype, lanes = np.dtype(settings.dtype), plan.starts * plan.batch
    which = of_padded(settings, plan)

    def on_lanes(leaf: npt.ArrayLike) -> Array:
        values = np.asarray(leaf, dtype)
        return np.tile(values[which], plan.batch) if values.ndim and plan.starts > 1 else values.reshape(-1)[:1]

    own = settings.readout if isinstance(settings.readout, adam.Adam) else None
    squares = settings.readout if isinstance(settings.readout, RLS) else RLS()
    edges = np.array([constraints.bounds(each, settings.constraint) for each in settings.learned]).reshape(-1, 2)
    free = np.full(settings.rows, np.inf)
    constants = loop.Fixed(
        weights=esn.weights(lanes),
        hyper=settings.hyper.map(on_lanes),
        rule=adam.settings(own, settings.rates, settings.speeds, settings.rows, plan.starts, dtype),
        low=np.concatenate([-free, edges[:, 0]]).astype(dtype)[:, None],
        high=np.concatenate([free, edges[:, 1]]).astype(dtype)[:, None],
        ridge=squares.ridge,
        forgetting=squares.forgetting,
        decay=np.asarray(0.0 if settings.averages_plainly else settings.average or 0.0, dtype),
        ones=np.ones(max(esn.sizes), dtype),
    )
    on_device: loop.Fixed = jax.device_put(constants)
    return on_device


def fixed_now(settings: LearnerSettings, stream: Stream) -> loop.Fixed:
    """The constants of the loop, with rate 0 for frozen hyper-parameters."""
    rate = np.array(stream.fixed.rule.rate)
    rate[settings.rows :][(stream.frozen | stream.memory.converged)[:, of_padded(settings, stream.plan)]] = 0
    return stream.fixed._replace(rule=stream.fixed.rule._replace(rate=rate))


def fresh(
    settings: LearnerSettings,
    plan: loop.LoopPlan,
    carry: loop.Carry,
    reset: Flags,
    resets: npt.NDArray[np.int64],
) -> loop.Carry:
    """A carry with a small random W_out and zero moments for the starts (S,) that reset; the n-th reset is the same for all.

    The moments of the learned hyper-parameters stay. Least squares begins with W_out = 0.
    """
    which = of_padded(settings, plan)
    carry = jax.tree.map(np.array, carry)  # writable copies
    rows, moments = settings.rows, carry.moments
    for s in np.flatnonzero(reset[which]):
        if isinstance(settings.readout, RLS):
            one = rls.init(settings.network.units, settings.outputs, settings.readout.ridge)
            for place, leaf in zip(carry.squares or (), one, strict=True):
                place[s] = leaf
            continue
        rng = np.random.default_rng([settings.seed, int(resets[which[s]])])
        drawn = FRESH * rng.standard_normal((settings.features, settings.outputs))
        drawn[settings.network.units :] = 0  # the intercept
        carry.theta[:rows, s] = drawn.ravel()
        moments.mean[:rows, s], moments.square[:rows, s], moments.power1[0, s], moments.power2[0, s] = 0, 0, 1, 1
        if carry.average is not None:
            carry.average[0][:, s], carry.average[1][s] = 0, 0 if plan.plain else 1
    values, readout = spread(settings, plan, carry)
    return carry._replace(values=values, readout=readout)


def spread(settings: LearnerSettings, plan: loop.LoopPlan, carry: loop.Carry) -> tuple[tuple[Array, ...], Array]:
    """`loop.spread` for NumPy arrays, without compilation."""
    rows, theta = settings.rows, np.asarray(carry.theta)
    values = np.asarray(constraints.of_free(theta[rows:], settings.learned, settings.constraint)[0], theta.dtype)
    readout = theta[:rows]
    if carry.squares is not None:
        readout = _of_squares(carry.squares).reshape(plan.starts, -1).T.astype(theta.dtype)
    if plan.starts > 1:
        values, readout = np.tile(values, plan.batch), np.tile(readout, plan.batch)
    return tuple(values), readout.reshape(-1, settings.outputs, readout.shape[1])


def _of_squares(squares: rls.RLSState) -> Floats:
    """W_out of least squares, intercept last, (starts, F, O)."""
    coef = np.asarray(squares.coef)
    last = np.asarray(squares.target) - np.einsum("sf,sfo->so", squares.mean, coef)
    return np.concatenate([coef, last[:, None]], axis=1)


def values(settings: LearnerSettings, carry: loop.Carry) -> Floats:
    """The learned hyper-parameters, (P, S)."""
    free = np.asarray(carry.theta, np.float64)[settings.rows :, : settings.starts]
    return np.asarray(constraints.of_free(free, settings.learned, settings.constraint)[0])


def readouts(settings: LearnerSettings, carry: loop.Carry) -> Floats:
    """W_out with the intercept last, or its running mean, (S, O, F)."""
    if carry.squares is not None:
        return _of_squares(carry.squares)[: settings.starts].transpose(0, 2, 1)
    rows = np.asarray(carry.theta, np.float64)[: settings.rows]
    if carry.average is not None:
        mean, memory = (np.asarray(each, np.float64) for each in carry.average)
        share = np.minimum(memory, 1) if settings.averages_plainly else 1 - memory  # weight of the mean
        rows = np.where(share > 0, mean / np.where(share > 0, share, 1), rows)
    return rows[:, : settings.starts].reshape(settings.features, settings.outputs, -1).transpose(2, 1, 0)


def buffer(settings: LearnerSettings, plan: loop.LoopPlan, u: Array, y: Array, there: Array, begin: int) -> loop.StepRows:
    """u (B, n, F), y (B, n, O) and the mask of targets (B, n), from step `begin` on, as lanes with time first.

    A sequence without a target, or in the washout, has weight 0; the others share the loss.
    """
    dtype = np.dtype(settings.dtype)
    sequences, n = there.shape
    shown = there.T & (begin + np.arange(n) >= settings.washout)[:, None]
    counts = shown.sum(axis=1)

    def block(values: Array) -> Array:  # (B, n, C) -> (BUFFER, C, lanes)
        whole = np.zeros((BUFFER, values.shape[2], plan.batch, plan.starts), dtype)
        whole[:n, :, :sequences] = values.transpose(1, 2, 0)[..., None]
        return whole.reshape(BUFFER, values.shape[2], -1)

    weight = shown / np.maximum(counts, 1)[:, None]
    moves = np.zeros(BUFFER, bool)
    moves[:n] = counts > 0
    averaged = moves & (begin + np.arange(BUFFER) >= (settings.average or 0 if settings.averages_plainly else 0))
    return loop.StepRows(block(u), block(y), block(weight.T[..., None])[:, 0], moves, averaged)


def read_targets(y: npt.ArrayLike, series: Series, settings: LearnerSettings) -> tuple[Numbers, Flags]:
    """Targets (B, T, O) of the series, 0 if missing, and the mask of targets, (B, T).

    A target that holds a NaN is missing. For "softmax", one column holds the indices of the classes, from 0.
    """
    targets, loss, outputs = as_targets(y, series, gaps=True), settings.loss, settings.outputs
    whole, there = np.stack(list(targets.values)), np.stack(targets.known)
    if loss == "softmax" and targets.features == 1:
        known = whole[there]
        wrong = known[(known != np.floor(known)) | (known < 0) | (known >= outputs)]
        if wrong.size:
            raise ValueError(
                f"y holds {wrong[0]:g}: with loss='softmax' and one number per step it must be a class, a whole number from 0 "
                f"to {outputs - 1}."
            )
        whole = one_hot(whole[..., 0], np.arange(outputs))
    if whole.shape[-1] != outputs:
        raise ValueError(f"y has {whole.shape[-1]} columns, and the learner has outputs={outputs}: give one column for each.")
    filled = np.where(there[..., None], whole, 0.0)
    if loss != "mse":
        _check_probabilities(filled, there, loss)
    return filled.astype(settings.dtype), there


def _check_probabilities(y: npt.NDArray[np.float64], there: npt.NDArray[np.bool_], loss: str) -> None:
    if ((y < 0) | (y > 1)).any():
        wrong = y[(y < 0) | (y > 1)][0]
        raise ValueError(
            f"y holds {wrong:g}: with loss={loss!r} targets are probabilities from 0 to 1. Use loss='mse' for others."
        )
    sums = y.sum(axis=-1)[there]
    if loss == "softmax" and (np.abs(sums - 1) > 1e-6).any():
        wrong = sums[np.abs(sums - 1) > 1e-6][0]
        raise ValueError(f"the {y.shape[-1]} targets of a step add up to {wrong:g}: with loss='softmax' they must add up to 1.")
