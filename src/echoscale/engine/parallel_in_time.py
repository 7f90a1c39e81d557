"""All steps of a chunk at once, level by level, for networks whose levels are all linear and diagonal. For GPUs.

    x(t+1) = A x(t) + d(t),   A = (1 - alpha) I + alpha rho W

Where A is a diagonal of complex pairs, z = x_1 + i x_2 of a pair follows z(t+1) = lambda z(t) + d(t). The composition of such
maps is associative: log2(T) rounds of elementwise operations on the whole chunk replace T steps. States equal the states of
the step, but for rounding. On a GPU a step of few neurons leaves most of the machine idle (benchmarks/linear_levels.py).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax import Array

from echoscale.engine import dynamics
from echoscale.engine.devices import to_device
from echoscale.engine.drawn import Drawn
from echoscale.engine.dynamics import State, Weights
from echoscale.engine.hyper import Hyper
from echoscale.network import Network


def plan(network: Network, drawn: Drawn, dtype: npt.DTypeLike) -> tuple[Array, ...] | None:
    """W of every level as complex numbers, one for every pair of neurons (for an odd number, the last one is real).

    None if a level is not linear and diagonal with one leak rate and without a residual matrix. Two neurons of a pair with
    different leak rates have a 2 x 2 matrix that is no complex number. Levels that receive states of later levels, or outputs,
    must be advanced together with them, step by step.
    """
    of_pairs = all(
        each.activation == "identity" and each.residual == "identity" and each.leak_spread == 0 and each.topology == "diagonal"
        for each in network.reservoirs
    )
    if not of_pairs or drawn.feedback or any(each.source > each.target for each in network.couplings):
        return None
    complex_type = np.result_type(dtype, np.complex64)
    return tuple(to_device(complex_pairs(each), complex_type) for each in drawn.recurrent)


def complex_pairs(matrix: Any) -> npt.NDArray[np.complex128]:
    """The complex numbers of a diagonal of rotations, (ceil(n / 2),)."""
    size = matrix.shape[0]
    first = np.arange(0, size, 2)
    across = np.zeros(len(first))
    whole = first + 1 < size
    across[whole] = np.asarray(matrix[first[whole] + 1, first[whole]]).ravel()
    return np.asarray(matrix.diagonal()[first] + 1j * across)


@partial(jax.jit, static_argnames="whole")
def scan(
    weights: Weights,
    hyper: Hyper,
    pairs: tuple[Array, ...],
    state: State,
    u: Array,
    remaining: Array,
    whole: bool = False,
) -> tuple[State, Array]:
    """`scan.scan` level by level: u (L, F, lanes or 1) -> the last state, and all states (L, lanes, N)."""
    numbers = dynamics.resolved(weights, hyper)
    found: list[Array] = []  # (L, n_k, lanes)
    for k, start in enumerate(state):
        before = [jnp.concatenate([first[None], made[:-1]]) for first, made in zip(state, found, strict=False)]
        # The input from other levels does not depend on the states of this level: all steps at once.
        drive = jax.vmap(partial(dynamics.drive, weights, numbers, k, own=None))
        received = jnp.broadcast_to(drive(before, found, u), (len(u), *start.shape))
        leak = numbers.leak_rate[k]
        factor = (1 - leak) + leak * numbers.spectral_radius[k] * pairs[k][:, None]
        found.append(_of_pairs(factor, leak * received, start))
    if not whole:  # rows past the end of a series repeat its last state
        row = jnp.clip(remaining, 0, jnp.arange(1, len(u) + 1)[:, None])[:, None]
        since = [jnp.concatenate([first[None], made]) for first, made in zip(state, found, strict=True)]
        found = [jnp.take_along_axis(each, row, axis=0) for each in since]
    return tuple(made[-1] for made in found), jnp.concatenate(found, axis=1).swapaxes(1, 2)


def _of_pairs(factor: Array, drive: Array, start: Array) -> Array:
    """All steps of x(t+1) = A x(t) + d(t) of a diagonal level: factor (pairs, lanes), drive (L, n, lanes), start (n, lanes)."""
    length, size, lanes = drive.shape
    odd = size % 2
    d, x = jnp.pad(drive, ((0, 0), (0, odd), (0, 0))), jnp.pad(start, ((0, odd), (0, 0)))
    first = jax.lax.complex(d[:, 0::2], d[:, 1::2]).at[0].add(factor * jax.lax.complex(x[0::2], x[1::2]))

    def join(one: tuple[Array, Array], then: tuple[Array, Array]) -> tuple[Array, Array]:
        return one[0] * then[0], then[0] * one[1] + then[1]

    z = jax.lax.associative_scan(join, (jnp.broadcast_to(factor, first.shape), first))[1]
    return jnp.stack([z.real, z.imag], axis=2).reshape(length, size + odd, lanes)[:, :size]
