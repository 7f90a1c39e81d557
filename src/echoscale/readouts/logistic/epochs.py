"""The compiled loops: one scan over the minibatches of a block, which takes its rows from the block by their numbers.

    z = W ((x - mean) / spread) + gain b,      E = mean over the minibatch of loss(z, label) + ridge/2 |W|^2
    W <- W - rate_k m / (sqrt(v) + epsilon),      m and v Adam's averages of dE/dW and of its square

The scaling acts on the weights and not on the rows, which are more. Rates and ridge are arguments: nothing is compiled anew for
others.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from echoscale.data import losses
from echoscale.engine import devices

ADAM = optax.scale_by_adam(0.9, 0.999, 1e-8)  # paper, table of parameters; the rate comes afterwards


class ReadoutWeights(NamedTuple):
    """z = coef x + intercept of scaled features.

    Parameters
    ----------
    coef : (O, F)
        W.
    intercept : (O,)
        b.
    """

    coef: Any
    intercept: Any


class Scale(NamedTuple):
    """How features are standardised, and what the intercept is multiplied by.

    mean     (F,) of every feature
    inverse  (F,) 1 / spread
    gain     sqrt(F), the size of a standardised row. Adam moves all weights alike, and centred features cannot stand in for an
             intercept: without a gain it would be left behind by the F weights beside it
    """

    mean: Any
    inverse: Any
    gain: Any


class EpochState(NamedTuple):
    """The weights, Adam's averages, and the sum of the weights after every minibatch of this epoch (None: not wanted)."""

    weights: ReadoutWeights
    averages: Any
    total: ReadoutWeights | None


def on_features(weights: ReadoutWeights, scale: Scale | None) -> ReadoutWeights:
    """The same readout, of features as they are."""
    if scale is None:
        return weights
    coef = weights.coef * scale.inverse
    return ReadoutWeights(coef, scale.gain * weights.intercept - coef @ scale.mean)


@partial(jax.jit, static_argnames="loss", donate_argnames="learning", compiler_options=devices.COMPILER_OPTIONS)
def train(
    learning: EpochState,
    block: Array,
    labels: Array,
    table: Array,
    rates: Array,
    ridge: Array,
    scale: Scale | None,
    loss: str,
) -> tuple[EpochState, Array]:
    """One step for every minibatch of the table; also the sum over rows of the losses, each before its step.

    block   (rows, F), labels (rows,)
    table   (steps, minibatch) numbers of rows, -1 where there is none; a minibatch without any leaves everything as it is
    rates   (steps,)
    """

    def objective(weights: ReadoutWeights, rows: Array, right: Array, there: Array) -> tuple[Array, Array]:
        each = losses.of_labels(loss, _outputs(on_features(weights, scale), rows), right)
        total = jnp.sum(jnp.where(there, each, 0))
        return total / jnp.maximum(jnp.sum(there), 1) + ridge / 2 * jnp.sum(weights.coef**2), total

    def step(now: EpochState, minibatch: tuple[Array, Array]) -> tuple[EpochState, Array]:
        which, rate = minibatch
        slopes, total = jax.grad(objective, has_aux=True)(now.weights, *_take(block, labels, which), which >= 0)
        moves, averages = ADAM.update(slopes, now.averages)
        weights = jax.tree.map(lambda weight, move: weight - rate * move, now.weights, moves)
        summed = None if now.total is None else jax.tree.map(jnp.add, now.total, weights)
        live = jnp.any(which >= 0)
        return jax.tree.map(partial(jnp.where, live), EpochState(weights, averages, summed), now), total

    learning, totals = jax.lax.scan(step, learning, (table, rates))
    return learning, jnp.sum(totals)


@partial(jax.jit, static_argnames="loss", compiler_options=devices.COMPILER_OPTIONS)
def judge(
    weights: ReadoutWeights, block: Array, labels: Array, table: Array, scale: Scale | None, loss: str
) -> tuple[Array, Array]:
    """The sum of the losses of the rows in the table, and how many are given their label."""
    ready = on_features(weights, scale)

    def step(sums: tuple[Array, Array], which: Array) -> tuple[tuple[Array, Array], None]:
        rows, right = _take(block, labels, which)
        z = _outputs(ready, rows)
        each = jnp.where(which >= 0, losses.of_labels(loss, z, right), 0)
        correct = (which >= 0) & (jnp.argmax(z, axis=1) == right)
        return (sums[0] + jnp.sum(each), sums[1] + jnp.sum(correct, dtype=jnp.int32)), None

    start = jnp.zeros((), block.dtype), jnp.zeros((), jnp.int32)
    return jax.lax.scan(step, start, table)[0]


@jax.jit
def middle(block: Array, which: Array) -> Array:
    """The mean of these rows, (F,); -1 is none."""
    return jnp.mean(jnp.take(block, which, axis=0, mode="clip"), axis=0, where=(which >= 0)[:, None])


@partial(jax.jit, compiler_options=devices.COMPILER_OPTIONS)
def moments(block: Array, table: Array, shift: Array) -> tuple[Array, Array]:
    """Sums of x - shift and of its square, (F,) each, over the rows in the table."""

    def step(sums: tuple[Array, Array], which: Array) -> tuple[tuple[Array, Array], None]:
        apart = jnp.take(block, which, axis=0, mode="clip") - shift
        there = (which >= 0).astype(apart.dtype)
        # Products, since XLA adds up rows of a wide matrix fifteen times more slowly by itself.
        first, second = (jnp.matmul(there, each, precision="highest") for each in (apart, apart * apart))
        return (sums[0] + first, sums[1] + second), None

    return jax.lax.scan(step, (jnp.zeros_like(shift), jnp.zeros_like(shift)), table)[0]


def _take(block: Array, labels: Array, which: Array) -> tuple[Array, Array]:
    """Rows and labels by their numbers; -1 takes the first, which then does not count."""
    return jnp.take(block, which, axis=0, mode="clip"), jnp.take(labels, which, mode="clip")


def _outputs(weights: ReadoutWeights, rows: Array) -> Array:
    """z (rows, O). A GPU would round float32 to ten bits, and reading the rows takes longer."""
    z: Array = jnp.matmul(rows, weights.coef.T, precision="highest") + weights.intercept
    return z
