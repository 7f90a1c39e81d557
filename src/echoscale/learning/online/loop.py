"""The compiled loop of online learning: states, traces, readout and learned hyper-parameters move at every time step.

    z = W_out x,    d = dE/dz,    dE/dW_out = d x^T,    dE/dtheta_i = d . (W_out e_i),      e_i = dx/dtheta_i (traces)

for S starts with B sequences each on the lanes of one network (lane = sequence * S + start). Choices that were measured to be
faster:

- Features are neuron-major like the states; the last one is always 1, for the intercept.
- Sums over neurons and sequences are written out term by term: XLA makes one vectorised kernel of each sum. A product of such
  small matrices is a library call that takes several times as long.
- Results of these sums are stored (`_kept`). Otherwise XLA computes them again inside every operation that uses them.
- W_out and the learned hyper-parameters are also carried with one column per lane: a choice of columns inside a kernel is not
  vectorised.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import cache, reduce
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import Array

from echoscale.data import losses
from echoscale.engine import devices, traces
from echoscale.engine.dynamics import State, Weights
from echoscale.engine.hyper import Hyper, Parameter, put
from echoscale.engine.traces import Traces
from echoscale.learning.online import adam, constraints
from echoscale.readouts import rls

T = TypeVar("T")

# Sums as trees and products by a library are for larger arrays than these. With the last two options, `_kept` would have no
# effect or abort.
CPU_OPTIONS = devices.without(
    devices.SHARING_KERNELS, "tree_reduction_rewriter", "dot-library-rewriter", *devices.AGAINST_BARRIERS
)

# Longer sums are not written out: they take long to compile, and products of larger matrices are faster.
MOST_NEURONS, MOST_SEQUENCES = 64, 16


class LoopPlan(NamedTuple):
    """Static arguments of the compiled program."""

    learned: tuple[Parameter, ...]
    form: str
    loss: str
    constraint: str
    outputs: int
    starts: int
    batch: int
    sequences: int  # real sequences of the batch; the others are idle
    back: int | None  # recursive least squares: see `rls.returns`; None: Adam
    plain: bool  # whether the mean of W_out weighs all steps equally, or decays


class Fixed(NamedTuple):
    """Constants of the loop: the network, Adam's settings and bounds (M, 1), and some numbers.

    ones  (n,)  n: size of the largest reservoir
    """

    weights: Weights
    hyper: Hyper
    rule: adam.AdamSettings
    low: Any
    high: Any
    ridge: Any
    forgetting: Any
    decay: Any
    ones: Any


class Carry(NamedTuple):
    """Values that one step hands to the next.

    theta     (M, S)        rows of the readout (feature * O + output; none with least squares), then the hyper-parameters
    readout   (F, O, lanes) W_out for every lane, or (F, O, 1) for one start
    values    P x (lanes,)  the learned hyper-parameters for every lane, or (1,)
    squares   one `rls.RLSState` with a leading axis S, or None
    average   (F * O, S) and (S,) the running mean of W_out, and the power of its decay or its number of steps; or None
    sums      (1 + P, S)    loss and gradients since the window began, and the number of steps with a target, ()
    """

    state: State
    traces: Traces
    theta: Any
    readout: Any
    values: tuple[Any, ...]
    moments: adam.AdamAverages
    squares: rls.RLSState | None
    average: tuple[Any, Any] | None
    sums: tuple[Any, Any]


class StepRows(NamedTuple):
    """A buffer: inputs (T, F, lanes), targets (T, O, lanes), weights in the loss (T, lanes); whether any target counts (T,),
    and whether W_out after this step enters the average (T,)."""

    u: Any
    y: Any
    weight: Any
    moves: Any
    averaged: Any


def _run(plan: LoopPlan, fixed: Fixed, carry: Carry, data: StepRows, n: Array) -> tuple[Carry, Array, Array]:
    """The first n steps of a buffer, or fewer in case of a fault: the carry, the number of steps, and whether all is well."""

    def body(now: tuple[Carry, Array, Array]) -> tuple[Carry, Array, Array]:
        carry, t, _ = now
        row = jax.tree.map(lambda each: each[t], data)
        new, well = step(plan, fixed, carry, row)
        return new, t + 1, well

    start = (carry, jnp.int32(0), jnp.bool_(True))
    last: tuple[Carry, Array, Array] = jax.lax.while_loop(lambda now: (now[1] < n) & now[2], body, start)
    return last


@cache
def program(on_cpu: bool) -> Any:
    """`_run`, compiled."""
    return jax.jit(_run, static_argnums=0, compiler_options=CPU_OPTIONS if on_cpu else None)


def step(plan: LoopPlan, fixed: Fixed, carry: Carry, row: StepRows) -> tuple[Carry, Array]:
    """One time step of everything, and whether loss, gradients, readout and learned hyper-parameters are in order."""
    hyper = put(fixed.hyper, plan.learned, carry.values)
    state, new_traces = traces.step(fixed.weights, hyper, carry.state, carry.traces, row.u, plan.learned, plan.form)
    lanes = state[0].shape[1]
    z = _read(plan, fixed, carry.readout, dict(enumerate(state)), state) + carry.readout[-1]
    moved = []
    for parameter, block in zip(plan.learned, new_traces.blocks, strict=True):
        which = traces.reaches(fixed.weights, parameter)
        moved.append(_read(plan, fixed, carry.readout, dict(zip(which, block, strict=True)), state))
    z, moved = _kept((z, moved))
    slope, value = losses.slope_and_value(plan.loss, z, row.y)
    slope = _kept(slope * row.weight)
    pulls = [jnp.sum(slope * each, axis=0) for each in moved]
    # One row for the loss, one per learned number: (1 + P, S).
    small = _over_sequences(plan, jnp.stack([value * row.weight, *pulls]))
    features = [*state, jnp.ones((1, lanes), state[0].dtype)]

    rows = 0 if plan.back is not None else sum(map(len, features)) * plan.outputs
    free = carry.theta[rows:]
    gradient = small[1:] * constraints.of_free(free, plan.learned, plan.constraint)[1]
    if rows:
        gradient = _kept(jnp.concatenate([_readout_gradient(plan, features, slope), gradient]))
    theta, moments = adam.update(carry.theta, gradient, carry.moments, fixed.rule, rows, row.moves)
    if plan.constraint == "clip":
        theta = jnp.clip(theta, fixed.low, fixed.high)
    squares = None if carry.squares is None else _least_squares(plan, fixed, carry.squares, state, row)
    values, readout = spread(plan, theta, squares)
    sums = (carry.sums[0] + small, carry.sums[1] + row.moves)
    average = _average(plan, fixed, carry.average, theta[:rows], row.averaged)
    new = Carry(state, new_traces, theta, readout, values, moments, squares, average, sums)
    return new, _in_order(plan, small, theta[rows:], squares)


def spread(plan: LoopPlan, theta: Array, squares: rls.RLSState | None) -> tuple[tuple[Array, ...], Array]:
    """The learned hyper-parameters and W_out with a column for every lane (one column for one start)."""
    rows = len(theta) - len(plan.learned)
    values, _ = constraints.of_free(theta[rows:], plan.learned, plan.constraint)
    readout = theta[:rows]
    if squares is not None:
        readout = _of_squares(plan, squares).astype(theta.dtype)
    if plan.starts > 1:
        both = _kept(jnp.concatenate([jnp.concatenate([readout, values])] * plan.batch, axis=1))
        readout, values = both[: len(readout)], both[len(readout) :]
    return tuple(values), readout.reshape(-1, plan.outputs, readout.shape[1])


def _kept(values: T) -> T:
    """The same values, computed once and stored."""
    same: T = jax.lax.optimization_barrier(values)  # type: ignore[no-untyped-call]
    return same


def _read(plan: LoopPlan, fixed: Fixed, readout: Array, parts: dict[int, Array], state: State) -> Array:
    """W_out applied to some reservoirs' blocks (n_k, lanes): (O, lanes)."""
    begins = [sum(len(each) for each in state[:k]) for k in range(len(state))]
    own = {k: readout[begins[k] : begins[k] + len(part)] for k, part in parts.items()}
    if max(map(len, parts.values())) <= MOST_NEURONS:
        return reduce(operator.add, [own[k][i] * part[i] for k, part in parts.items() for i in range(len(part))])
    if plan.starts == 1:
        products = [jax.lax.dot_general(own[k][..., 0], part, (((0,), (0,)), ((), ())), "highest") for k, part in parts.items()]
        return sum(products[1:], products[0])
    # Every lane has its own weights: multiply, and sum over the neurons by a product. Reservoirs of equal size are added first.
    by_size: dict[int, Array] = {}
    for k, part in parts.items():
        product = (own[k] * part[:, None, :]).reshape(len(part), -1)
        by_size[len(part)] = by_size[len(part)] + product if len(part) in by_size else product
    total = sum(jnp.matmul(fixed.ones[:size], product, precision="highest") for size, product in by_size.items())
    return jnp.reshape(total, (plan.outputs, -1))


def _by_start(plan: LoopPlan, values: Array) -> Array:
    """(..., lanes) -> (..., B, S)."""
    return values.reshape(*values.shape[:-1], plan.batch, plan.starts)


def _over_sequences(plan: LoopPlan, values: Array) -> Array:
    """(..., lanes) -> (..., S), the sum over the sequences."""
    if plan.sequences <= MOST_SEQUENCES:
        return reduce(operator.add, [values[..., b * plan.starts : (b + 1) * plan.starts] for b in range(plan.sequences)])
    return jnp.sum(_by_start(plan, values), axis=-2)


def _readout_gradient(plan: LoopPlan, features: Sequence[Array], slope: Array) -> Array:
    """sum over the sequences of x d^T, (F * O, S), from blocks of features (n, lanes)."""
    if plan.sequences <= MOST_SEQUENCES:
        places = [slice(b * plan.starts, (b + 1) * plan.starts) for b in range(plan.sequences)]
        sums = [reduce(operator.add, [block[:, None, at] * slope[:, at] for at in places]) for block in features]
        return _kept(jnp.concatenate(sums)).reshape(-1, plan.starts)
    whole = jnp.concatenate(features)
    if plan.starts == 1:
        return jax.lax.dot_general(whole, slope, (((1,), (1,)), ((), ())), "highest").reshape(-1, 1)
    products = whole[:, None, :] * slope
    return jnp.sum(_by_start(plan, products), axis=2).reshape(-1, plan.starts)


def _least_squares(plan: LoopPlan, fixed: Fixed, squares: rls.RLSState, state: State, row: StepRows) -> rls.RLSState:
    """One step of recursive least squares per start, in its own precision."""
    assert plan.back is not None
    back, memory = plan.back, {"ridge": fixed.ridge, "forgetting": fixed.forgetting}

    def rows(values: Array) -> Array:  # (C, lanes) -> (S, sequences, C)
        return _by_start(plan, values)[:, : plan.sequences].transpose(2, 1, 0)

    counts = _by_start(plan, row.weight > 0)[: plan.sequences].T
    wide = squares.coef.dtype
    given = (squares, rows(jnp.concatenate(state)).astype(wide), rows(row.y).astype(wide), counts)

    def one(each: tuple[rls.RLSState, Array, Array, Array]) -> rls.RLSState:
        now, x, y, there = each
        return rls.update(now, x, y, back=back, counts=there, **memory)

    if plan.starts == 1:
        alone: rls.RLSState = jax.tree.map(lambda leaf: leaf[None], one(jax.tree.map(lambda leaf: leaf[0], given)))
        return alone
    # One start after another: products of single matrices are fast, products of stacks of matrices are not.
    new: rls.RLSState = jax.lax.map(one, given)
    return new


def _of_squares(plan: LoopPlan, squares: rls.RLSState) -> Array:
    """W_out of least squares, intercept last, (F * O, S)."""
    coef = jnp.concatenate([squares.coef, jax.vmap(rls.intercept_of)(squares)[:, None, :]], axis=1)
    return coef.reshape(plan.starts, -1).T


def _average(
    plan: LoopPlan, fixed: Fixed, average: tuple[Array, Array] | None, readout: Array, counts: Array
) -> tuple[Array, Array] | None:
    """The mean of W_out over the steps that moved W_out and enter the average."""
    if average is None:
        return None
    mean, memory = average
    if plan.plain:
        number = memory + counts
        return mean + jnp.where(counts, (readout - mean) / jnp.maximum(number, 1), 0), number
    hold = jnp.where(counts, fixed.decay, 1)
    return hold * mean + (1 - hold) * readout, memory * hold


def _in_order(plan: LoopPlan, small: Array, free: Array, squares: rls.RLSState | None) -> Array:
    """Whether loss and gradients are finite and the learned hyper-parameters allowed.

    Adam's W_out is finite if the loss is finite: its steps are bounded by the rate.
    """
    values, _ = constraints.of_free(free, plan.learned, plan.constraint)
    well = jnp.all(jnp.isfinite(small)) & jnp.all(constraints.allowed(values, plan.learned, plan.constraint))
    if squares is not None:
        well = well & jnp.all(jnp.isfinite(squares.coef))
    return well
