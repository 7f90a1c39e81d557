"""A whole series at once, level by level: linear diagonal levels in parallel over time, the others step by step.

    x(t+1) = A x(t) + d(t),   A = (1 - alpha) I + alpha rho W

Where A is a diagonal of complex pairs, z = x_1 + i x_2 of a pair follows z(t+1) = lambda z(t) + d(t), and the scan of such maps
is associative: r steps are one step with lambda^r. Every r steps are joined until few are left, and then taken apart again:
log_r(T) rounds of elementwise operations on the whole series, in place of T steps. States are those of the step, but for
rounding. Levels that hear those behind them (feedback) must move together and are not for this.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax import Array

from echoscale.engine import dynamics
from echoscale.engine.devices import to_device
from echoscale.engine.dynamics import Weights
from echoscale.engine.hyper import Hyper
from echoscale.engine.matrices import apply, project, turn
from echoscale.engine.weights.drawn import Drawn
from echoscale.network import Network

CHUNK = 1 << 22  # numbers of the states that are made at once: on a CPU they stay near
RADIX = 4  # steps that are joined at a time (benchmarks/linear_levels.py)


class Pairs(NamedTuple):
    """A diagonal level: W as complex numbers, one for every pair of neurons (of an odd number the last one is real)."""

    values: Array


def plan(network: Network, drawn: Drawn, dtype: npt.DTypeLike) -> tuple[Pairs | None, ...]:
    """Which levels run in parallel over time: linear diagonal ones with one leak rate and no residual matrix.

    Two neurons of a pair with different leak rates have a 2 x 2 matrix that is no complex number.
    """
    made = tuple(
        Pairs(to_device(_pairs(matrix), np.result_type(dtype, np.complex64)))
        if reservoir.activation == "identity"
        and reservoir.residual == "identity"
        and reservoir.leak_spread == 0
        and reservoir.topology == "diagonal"
        else None
        for reservoir, matrix in zip(network.reservoirs, drawn.recurrent, strict=True)
    )
    _check(network, made)
    return made


def chunk(length: int, units: int, on_cpu: bool) -> int:
    """Steps that are made at once: all on a GPU; on a CPU as many as stay near."""
    return min(length, max(CHUNK // units, 1)) if on_cpu else length


def _check(network: Network, parallel: tuple[Pairs | None, ...]) -> None:
    """Raise where a network cannot run level by level, or would gain nothing."""
    back = [each for each in network.couplings if each.source > each.target]
    if back:
        raise ValueError(
            f"reservoir {back[0].target} hears reservoir {back[0].source} behind it: such levels move together, step by step. "
            "Use run(u)."
        )
    if all(each is None for each in parallel):
        for k, each in enumerate(network.reservoirs):
            if each.activation == "identity" and each.topology == "diagonal" and each.leak_spread > 0:
                raise ValueError(
                    f"reservoir {k} is linear and diagonal, but its neurons have leak rates of their own, and only pairs of "
                    "neurons with one leak rate run in parallel over time. Give it one leak rate, or use run(u)."
                )
        raise ValueError(
            'no level is linear and diagonal: nothing runs in parallel over time. Describe one with activation="identity" and '
            'topology="diagonal", or use run(u).'
        )


@partial(jax.jit, static_argnames="sizes")
def states(
    weights: Weights, hyper: Hyper, parallel: tuple[Pairs | None, ...], state: Array, u: Array, sizes: tuple[int, ...]
) -> Array:
    """All states (T, N) of one network along u (T, F), from the state (N,); every leaf of `hyper` is (1,)."""
    leaks = dynamics.resolved(weights, hyper).leak_rate
    starts = jnp.split(state, np.cumsum(sizes)[:-1].tolist())
    found: list[Array] = []  # per reservoir (n_k, T)
    for k, start in enumerate(starts):
        h = hyper.input_scaling[k] * project(weights.inputs[k], u.T) + hyper.bias_scaling[k] * weights.biases[k]
        for j, (source, target) in enumerate(weights.links):
            if target == k:
                heard = found[source]
                if weights.coupling_delay:
                    heard = jnp.concatenate([starts[source][:, None], heard[:, :-1]], axis=1)
                h = h + hyper.coupling[j] * apply(weights.couplings[j], heard)
        pairs = parallel[k]
        radius = hyper.spectral_radius[k]
        if pairs is not None:
            leak = hyper.leak_rate[k]
            found.append(_of_pairs((1 - leak) + leak * radius * pairs.values, leak * h, start))
        else:
            found.append(_stepwise(weights, k, leaks[k], radius, h, start))
    return jnp.concatenate(found).T


def _of_pairs(values: Array, drive: Array, start: Array) -> Array:
    """x(t+1) = A x(t) + d(t) of a diagonal level: drive (n, T) and the first state (n,) -> (n, T)."""
    size = drive.shape[0]
    odd = size % 2
    d, x = jnp.pad(drive.T, ((0, 0), (0, odd))), jnp.pad(start, (0, odd))
    first = jax.lax.complex(d[:, 0::2], d[:, 1::2]).at[0].add(values * jax.lax.complex(x[0::2], x[1::2]))
    z = joined(values, first)
    return jnp.stack([z.real, z.imag], axis=2).reshape(-1, size + odd)[:, :size].T


def joined(factor: Array, drive: Array, radix: int = RADIX) -> Array:
    """z(t+1) = factor z(t) + d(t) from zero, for all t: factor (m,) and d (T, m) -> z(1) ... z(T), (T, m).

    Where each `radix` steps end, from zero; the same over these ends with factor^radix; and from there the steps between. Time
    comes first, so that whole rows are read and written.
    """
    steps, width = drive.shape
    if steps <= radix:
        return jnp.stack(_unrolled(factor, jnp.zeros_like(factor), list(drive)))
    parts = jnp.pad(drive, ((0, -steps % radix), (0, 0))).reshape(-1, radix, width)
    rows = [parts[:, j] for j in range(radix)]
    power = factor
    for _ in range(radix - 1):  # powers of complex numbers take logarithms, and lose digits
        power = power * factor
    ends = joined(power, _unrolled(factor, jnp.zeros_like(rows[0]), rows)[-1], radix)
    before = jnp.pad(ends[:-1], ((1, 0), (0, 0)))
    return jnp.stack(_unrolled(factor, before, rows), axis=1).reshape(-1, width)[:steps]


def _unrolled(factor: Array, now: Array, drive: list[Array]) -> list[Array]:
    """z(1), z(2), ... from z(0) and d(0), d(1), ..."""
    found = []
    for each in drive:
        now = factor * now + each
        found.append(now)
    return found


def _stepwise(weights: Weights, k: int, leak: Array, radius: Array, drive: Array, start: Array) -> Array:
    """One reservoir along its drive (n, T), step by step: (n, T)."""

    def body(x: Array, d: Array) -> tuple[Array, Array]:
        kept = turn(weights.residuals[k], x, weights.recurrent[k]) if weights.residuals else x
        h = d[:, None] + radius * apply(weights.recurrent[k], x)
        new = (1 - leak) * kept + leak * dynamics.activate(weights, k, h)
        return new, new[:, 0]

    return jax.lax.scan(body, start[:, None], drive.T)[1].T


def _pairs(matrix: Any) -> npt.NDArray[np.complex128]:
    """The complex numbers of a diagonal of rotations, (ceil(n / 2),)."""
    size = matrix.shape[0]
    first = np.arange(0, size, 2)
    across = np.zeros(len(first))
    whole = first + 1 < size
    across[whole] = np.asarray(matrix[first[whole] + 1, first[whole]]).ravel()
    return np.asarray(matrix.diagonal()[first] + 1j * across)
