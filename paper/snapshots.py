"""Gradients of a network that classifies sequences from snapshots: the setting of permuted sequential MNIST.

    z = intercept + sum over l = 1..K of coef_l x(l M)
    E = - sum over classes of [y log p + (1 - y) log(1 - p)],   p = sigmoid(z),  y one-hot,  mean over the minibatch

    dE/dtheta = dE/dz . dz/dtheta,      dz/dtheta = sum over l of coef_l e(l M)

e = dx/dtheta are the traces of `echoscale.engine.traces`, carried through the sequence from zero. A snapshot is taken after
every M steps; steps after the last snapshot are ignored. The loss comes at the end of the sequence, yet no trace has to be
kept for it: dz/dtheta, one number per class, adds up on the way. Memory holds K snapshots of the states (for dE/dcoef),
however long the sequence is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from echoscale import Hyper
from echoscale.engine import Parameter, Weights, traces

State = tuple[Array, ...]


class SnapshotReadout(NamedTuple):
    """z = intercept + sum over l of coef_l x_l: coef (classes, K, N), intercept (classes,)."""

    coef: Any
    intercept: Any


class Gradients(NamedTuple):
    """dE/dcoef (classes, K, N), dE/dintercept (classes,) and dE/dtheta, one number per parameter (P,)."""

    coef: Array
    intercept: Array
    parameters: Array


def cross_entropy(z: Array, labels: Array) -> Array:
    """E of the minibatch, z (classes, lanes) and labels (lanes,)."""
    return jnp.mean(_slope_and_value(z, labels)[1])


def gradients(
    weights: Weights,
    hyper: Hyper,
    readout: SnapshotReadout,
    u: Array,
    labels: Array,
    learned: tuple[Parameter, ...],
    *,
    every: int,
    form: str = "exact",
) -> tuple[Array, Gradients]:
    """E and its gradients for a minibatch: u (T, F, lanes), labels (lanes,); every leaf of `hyper` is (1,).

    form: "exact" or "truncated" traces, as in `traces.step`
    """
    parts = cut(u, every)
    start = zero_state(weights, parts.shape[-1], parts.dtype)
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
    slope, errors = _slope_and_value(z, labels)
    by_z = slope / len(labels)
    by_coef = jnp.einsum("cb,knb->ckn", by_z, snapshots, precision="highest")
    by_parameters = jnp.stack([jnp.sum(by_z * slope) for slope in slopes])
    return jnp.mean(errors), Gradients(by_coef, by_z.sum(axis=1), by_parameters)


def cut(u: Array, every: int) -> Array:
    """(T, F, lanes) -> (K, every, F, lanes): one stretch for each snapshot, without the steps after the last one."""
    count = u.shape[0] // every
    return u[: count * every].reshape(count, every, *u.shape[1:])


def zero_state(weights: Weights, lanes: int, dtype: Any = None) -> State:
    """A state of zeros, one array (n, lanes) for each reservoir."""
    return tuple(jnp.zeros((each.shape[0], lanes), dtype) for each in weights.biases)


def _slope_and_value(z: Array, labels: Array) -> tuple[Array, Array]:
    """dE/dz (classes, lanes) and E (lanes,) of every sequence."""
    y = jax.nn.one_hot(labels, z.shape[0], axis=0, dtype=z.dtype)
    return jax.nn.sigmoid(z) - y, jnp.sum(jax.nn.softplus(z) - y * z, axis=0)


def _product(coef: Array, x: Array) -> Array:
    return jnp.matmul(coef, x, precision="highest")
