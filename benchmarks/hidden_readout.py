"""A readout of classes with one hidden layer: for a comparison in `psmnist_accuracy.py`, not part of the package.

    z = V relu(W x + b) + c,      E = mean over the minibatch of the softmax cross-entropy

Adam, with a rate that falls to 0 as a cosine. x are standardised features in bfloat16. A share of them and of the hidden layer
(`dropout`) is left out at random in every step. The network that gives x stays as it is: nothing is propagated back through
time.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax

from echoscale.readouts.logistic import schedule

AT_ONCE = 2000  # rows
LEAST_SPREAD = 1e-3
ADAM = optax.scale_by_adam()


class Hidden(NamedTuple):
    """The trained layers, and what features are standardised with."""

    layers: dict[str, jax.Array]
    mean: jax.Array
    spread: jax.Array

    def classes(self, features: Any) -> npt.NDArray[np.int64]:
        """(B, S, N) -> (B,)."""
        parts = range(0, len(features), AT_ONCE)
        found = [
            outputs(self.layers, standardised(features[begin : begin + AT_ONCE], self.mean, self.spread)) for begin in parts
        ]
        return np.concatenate([np.asarray(each).argmax(axis=1) for each in found])


@jax.jit
def standardised(features: jax.Array, mean: jax.Array, spread: jax.Array) -> jax.Array:
    """(B, S, N) -> (B, S N)."""
    return ((features.reshape(len(features), -1) - mean) / spread).astype(jnp.bfloat16)


@jax.jit
def outputs(layers: dict[str, jax.Array], rows: jax.Array) -> jax.Array:
    """z (B, classes)."""
    return _above(layers, _hidden(layers, rows))


def _hidden(layers: dict[str, jax.Array], rows: jax.Array) -> jax.Array:
    return jax.nn.relu(rows @ layers["W"].astype(jnp.bfloat16) + layers["b"].astype(jnp.bfloat16))


def _above(layers: dict[str, jax.Array], hidden: jax.Array) -> jax.Array:
    return hidden.astype(jnp.float32) @ layers["V"] + layers["c"]


def fit(
    features: jax.Array,
    labels: Any,
    classes: int,
    *,
    hidden: int,
    epochs: int,
    rate: float,
    minibatch: int,
    dropout: float,
    seed: int,
) -> Hidden:
    """Train on features (B, S, N) that lie on the device, one compiled scan an epoch."""
    parts = range(0, len(features), AT_ONCE)
    zero = jnp.zeros(features.shape[1] * features.shape[2])
    mean = sum((_squares(features[begin : begin + AT_ONCE], zero)[0] for begin in parts), zero) / len(features)
    squares = sum((_squares(features[begin : begin + AT_ONCE], mean)[1] for begin in parts), zero)
    spread = jnp.maximum(jnp.sqrt(squares / len(features)), LEAST_SPREAD)
    rows = jnp.concatenate([standardised(features[begin : begin + AT_ONCE], mean, spread) for begin in parts])
    first, second, chance = jax.random.split(jax.random.key(seed), 3)
    width = rows.shape[1]
    layers = {
        "W": jax.random.normal(first, (width, hidden)) * (2 / width) ** 0.5,
        "b": jnp.zeros(hidden),
        "V": jax.random.normal(second, (hidden, classes)) * hidden**-0.5,
        "c": jnp.zeros(classes),
    }
    steps = len(rows) // minibatch
    falling = schedule.rates("cosine", rate, 0, epochs * steps, epochs * steps)
    state, right, rng = ADAM.init(layers), jnp.asarray(labels), np.random.default_rng(seed)
    for rates in jnp.asarray(falling, jnp.float32).reshape(epochs, steps):
        table = jnp.asarray(rng.permutation(len(rows))[: steps * minibatch].reshape(steps, minibatch))
        layers, state, chance = _epoch(layers, state, chance, rows, right, (table, rates), dropout)
    return Hidden(layers, mean, spread)


@jax.jit
def _squares(features: jax.Array, mean: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Sums over the rows of x - mean and of its square."""
    apart = features.reshape(len(features), -1) - mean
    return apart.sum(axis=0), (apart**2).sum(axis=0)


@partial(jax.jit, static_argnames="dropout", donate_argnames=("layers", "state"))
def _epoch(layers: Any, state: Any, chance: Any, rows: Any, labels: Any, given: Any, dropout: float) -> Any:
    def loss(layers: Any, some: Any, right: Any, chance: Any) -> Any:
        first, second = jax.random.split(chance)
        hidden = _hidden(layers, _thinned(some, first, dropout))
        z = _above(layers, _thinned(hidden, second, dropout))
        return optax.softmax_cross_entropy_with_integer_labels(z, right).mean()

    def step(now: Any, minibatch: Any) -> Any:
        (layers, state, chance), (which, rate) = now, minibatch
        chance, new = jax.random.split(chance)
        slopes = jax.grad(loss)(layers, rows[which], labels[which], new)
        moves, state = ADAM.update(slopes, state)
        return (jax.tree.map(lambda weight, move: weight - rate * move, layers, moves), state, chance), None

    return jax.lax.scan(step, (layers, state, chance), given)[0]


def _thinned(x: Any, chance: Any, dropout: float) -> Any:
    return x * (jax.random.bernoulli(chance, 1 - dropout, x.shape) / (1 - dropout)).astype(x.dtype)
