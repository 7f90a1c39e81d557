"""Leaks learned on sequences that are classified from snapshots: the setting of permuted sequential MNIST.

    z = intercept + sum over l = 1..K of coef_l x(l M),      E = cross-entropy of z and the label, mean over the minibatch
    dE/dtheta = dE/dz . dz/dtheta,                           dz/dtheta = sum over l of coef_l e(l M)

e = dx/dtheta are the traces of `gradients.traces`, carried through the sequence from zero; K snapshots are taken after every M
steps, and steps after the last one are ignored. The loss comes at the end of the sequence, yet no trace has to be kept for it:
dz/dtheta, one number per class, adds up on the way. Memory holds K snapshots of the states (for dE/dcoef), whatever T is.

    sigmoid  E = - sum over classes of [y log p + (1 - y) log(1 - p)], p = sigmoid(z), y one-hot     (paper, "psMNIST")
    softmax  E = - log softmax(z)[label]

Forms of the gradient: "exact" and "truncated" traces, and "bptt", the same loss differentiated backwards, as a reference.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from echoscale.data import losses
from echoscale.engine import dynamics, traces
from echoscale.engine.dynamics import Array, State, Weights
from echoscale.engine.hyper import Hyper, Parameter, put

LOSSES = losses.OF_CLASSES
FORMS = (*traces.FORMS, "bptt")


class SnapshotReadout(NamedTuple):
    """z = intercept + sum over l of coef_l x_l: coef (classes, K, N), intercept (classes,)."""

    coef: Any
    intercept: Any


class Gradients(NamedTuple):
    """dE/dcoef (classes, K, N), dE/dintercept (classes,) and dE/dtheta, one number per parameter (P,)."""

    coef: Array
    intercept: Array
    parameters: Array


def cross_entropy(z: Array, labels: Array, loss: str) -> Array:
    """E of the minibatch, z (classes, lanes) and labels (lanes,)."""
    return jnp.mean(losses.slope_and_value(loss, z, _one_hot(labels, z))[1])


def gradients(
    weights: Weights,
    hyper: Hyper,
    readout: SnapshotReadout,
    u: Array,
    labels: Array,
    learned: tuple[Parameter, ...],
    *,
    every: int,
    loss: str = "sigmoid",
    form: str = "exact",
) -> tuple[Array, Gradients]:
    """E and its gradients for a minibatch: u (T, F, lanes), labels (lanes,); every leaf of `hyper` is (1,). Pure."""
    run = _backwards if form == "bptt" else partial(_forwards, form=form)
    return run(weights, hyper, readout, cut(u, every), labels, learned, loss)


def cut(u: Array, every: int) -> Array:
    """(T, F, lanes) -> (K, every, F, lanes): one stretch per snapshot; the rest after the last one is left out."""
    count = u.shape[0] // every
    return u[: count * every].reshape(count, every, *u.shape[1:])


def logits(weights: Weights, hyper: Hyper, readout: SnapshotReadout, parts: Array) -> Array:
    """z (classes, lanes) of the stretches (K, M, F, lanes). Backwards a stretch is run again: K + M states are kept."""

    @jax.checkpoint
    def stretch(state: State, part: Array) -> State:
        return jax.lax.scan(lambda x, u_t: (dynamics.step(weights, hyper, x, u_t), None), state, part)[0]

    def body(carry: tuple[State, Array], given: tuple[Array, Array]) -> tuple[tuple[State, Array], None]:
        part, coef = given
        state = stretch(carry[0], part)
        return (state, carry[1] + _product(coef, jnp.concatenate(state))), None

    start = _zero_state(weights, parts)
    first = jnp.broadcast_to(readout.intercept[:, None], (len(readout.intercept), parts.shape[-1]))
    return jax.lax.scan(body, (start, first), (parts, jnp.swapaxes(readout.coef, 0, 1)))[0][1]


def _backwards(
    weights: Weights,
    hyper: Hyper,
    readout: SnapshotReadout,
    parts: Array,
    labels: Array,
    learned: tuple[Parameter, ...],
    loss: str,
) -> tuple[Array, Gradients]:
    """Back-propagation through time."""

    def error(readout: SnapshotReadout, values: list[Array]) -> Array:
        return cross_entropy(logits(weights, put(hyper, learned, values), readout, parts), labels, loss)

    value, (by_readout, by_values) = jax.value_and_grad(error, argnums=(0, 1))(readout, [each.of(hyper) for each in learned])
    by_parameters = jnp.concatenate([each.reshape(1) for each in by_values])
    return value, Gradients(by_readout.coef, by_readout.intercept, by_parameters)


def _forwards(
    weights: Weights,
    hyper: Hyper,
    readout: SnapshotReadout,
    parts: Array,
    labels: Array,
    learned: tuple[Parameter, ...],
    loss: str,
    form: str,
) -> tuple[Array, Gradients]:
    """The traces, carried along with the states."""
    start = _zero_state(weights, parts)
    edges = np.cumsum([0, *(each.shape[0] for each in start)])
    reached = [traces.reaches(weights, each) for each in learned]

    def step(carry: tuple[State, traces.Traces], u_t: Array) -> tuple[tuple[State, traces.Traces], None]:
        return traces.step(weights, hyper, carry[0], carry[1], u_t, learned, form), None

    def stretch(carry: Any, given: tuple[Array, Array]) -> tuple[Any, Array]:
        (moving, slopes), (part, coef) = carry, given
        moving, _ = jax.lax.scan(step, moving, part)
        # coef_l e(l M) of the reservoirs that each parameter reaches, (classes, lanes)
        new = [
            slope + sum(_product(coef[:, edges[k] : edges[k + 1]], e) for k, e in zip(which, blocks, strict=True))
            for slope, which, blocks in zip(slopes, reached, moving[1].blocks, strict=True)
        ]
        return (moving, new), jnp.concatenate(moving[0])

    flat = jnp.zeros((len(readout.intercept), parts.shape[-1]), readout.coef.dtype)
    carry = ((start, traces.init(weights, learned, start)), [flat for _ in learned])
    (_, slopes), snapshots = jax.lax.scan(stretch, carry, (parts, jnp.swapaxes(readout.coef, 0, 1)))
    z = readout.intercept[:, None] + jnp.einsum("ckn,knb->cb", readout.coef, snapshots, precision="highest")
    slope, errors = losses.slope_and_value(loss, z, _one_hot(labels, z))
    by_z = slope / len(labels)
    by_coef = jnp.einsum("cb,knb->ckn", by_z, snapshots, precision="highest")
    by_parameters = jnp.stack([jnp.sum(by_z * slope) for slope in slopes])
    return jnp.mean(errors), Gradients(by_coef, by_z.sum(axis=1), by_parameters)


def _one_hot(labels: Array, z: Array) -> Array:
    return jax.nn.one_hot(labels, z.shape[0], axis=0, dtype=z.dtype)


def _product(coef: Array, x: Array) -> Array:
    return jnp.matmul(coef, x, precision="highest")


def _zero_state(weights: Weights, parts: Array) -> State:
    return tuple(jnp.zeros((each.shape[0], parts.shape[-1]), parts.dtype) for each in weights.biases)
