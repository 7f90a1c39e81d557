"""Sequences that lie on the device: turned there, and run block by block in one scan each, so that nothing comes from the host.

A GPU runs all of MNIST in less time than the host needs to turn and send the pixels; where many networks see the same
sequences, send them once (`jax.device_put`) and give them as a JAX array.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from echoscale.engine import dynamics
from echoscale.engine.machine import device_of, precision_and_device
from echoscale.esn import ESN
from echoscale.hyper import Hyper
from echoscale.series import Numbers


def batch(esn: ESN, u: jax.Array | Numbers) -> jax.Array:
    """Sequences (B, T, F) in the network's precision, checked where they lie."""
    if u.ndim != 3 or u.shape[2] != esn.columns or 0 in u.shape:
        raise ValueError(f"u must be sequences (B, T, {esn.columns}), none of them empty, got shape {tuple(u.shape)}.")
    with precision_and_device(esn.dtype, device_of(esn.device)):
        values = jnp.asarray(u, esn.dtype)
        if not bool(jnp.isfinite(values).all()):
            raise ValueError("u must be finite, but it holds NaN or infinity.")
    return values


def blocks(count: int, size: int) -> list[tuple[int, int]]:
    """All of one size, for one compiled program: the last one shares sequences with the one before."""
    ends = [min(begin + size, count) for begin in range(0, count, size)]
    return [(max(end - size, 0), end) for end in ends]


def run(
    esn: ESN,
    values: jax.Array,
    every: int,
    hyper: Hyper,
    begin: int,
    end: int,
    put: Callable[[int, int, jax.Array], None],
) -> None:
    """The snapshots of sequences begin .. end - 1, all at once to `put(0, 0, states (snapshots, rows, N))`."""
    dtype = np.dtype(esn.dtype)
    numbers = hyper.map(lambda leaf: np.asarray(leaf, dtype).reshape(1))
    with precision_and_device(dtype, device_of(esn.device)):
        states = _scanned(esn.weights(end - begin), numbers, values, begin, end - begin, every, esn.sizes)
        put(0, 0, states)


@partial(jax.jit, static_argnames=("rows", "every", "sizes"))
def _scanned(
    weights: dynamics.Weights,
    hyper: Hyper,
    values: jax.Array,
    begin: int | jax.Array,
    rows: int,
    every: int,
    sizes: tuple[int, ...],
) -> jax.Array:
    """(T // every, rows, N) of `rows` sequences from `begin` on."""
    block = jax.lax.dynamic_slice_in_dim(values, begin, rows)
    u = jnp.transpose(block[:, : values.shape[1] // every * every], (1, 2, 0))
    state = tuple(jnp.zeros((size, rows), values.dtype) for size in sizes)

    def body(x: dynamics.State, u_t: jax.Array) -> tuple[dynamics.State, None]:
        return dynamics.step(weights, hyper, x, u_t), None

    def stretch(x: dynamics.State, part: jax.Array) -> tuple[dynamics.State, jax.Array]:
        x, _ = jax.lax.scan(body, x, part)
        return x, jnp.concatenate(x).T

    parts = u.reshape(u.shape[0] // every, every, *u.shape[1:])
    _, states = jax.lax.scan(stretch, state, parts)
    return states
