"""The exact forward filter of a hidden Markov model with Gaussian emissions: the best possible observer.

    P(z_t = j | u_1..u_t)  ~  N(u_t; mean_j, noise_t^2)  sum over i of P(z_t = j | z_{t-1} = i) P(z_{t-1} = i | u_1..u_{t-1})

Choosing the class with the largest probability is the causal estimator with the fewest errors: the ceiling for every network
on the same series. Until they are normalised, sums are kept as logarithms in float64: neither long series nor noise near 0
underflow. Noise 0 is the exact limit.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Floats
from echoscale.engine.devices import precision_and_device

if TYPE_CHECKING:
    import jax

    Array: TypeAlias = jax.Array
    Known: TypeAlias = tuple[Array, Array]  # probabilities of the states, and whether this is the first step
    Row: TypeAlias = tuple[Array, Array, Array]  # input, noise, and index of the transitions to this step

__all__ = ["forward"]


# Steps of one compiled call: one program serves all lengths, and memory holds one piece.
PIECE = 8192


def forward(
    u: Floats,
    means: Floats,
    noise: float | Floats,
    transitions: Floats,
    first: Floats,
    which: npt.NDArray[np.intp] | None = None,
) -> Floats:
    """Exact forward filter of a hidden Markov model: probabilities of the hidden states, given all inputs so far.

        P(z_t = j | u_1..u_t) ~ N(u_t; mean_j, noise_t^2) sum over i of P(z_t = j | z_{t-1} = i) P(z_{t-1} = i | u_1..u_{t-1})

    Choosing the state with the largest probability is the causal estimator with the fewest errors on average.

    Parameters
    ----------
    u : (B, T)
        Inputs of B series.
    means : (S,)
        Means of the emissions of the S hidden states.
    noise : float or (T,)
        Standard deviation of the emissions; 0 is the exact limit.
    transitions : (S, S) or (K, S, S)
        Transition probabilities P(j | i), at [i, j] or [k, i, j].
    first : (S,) or (B, S)
        Probabilities of the hidden states at the first step, before its input.
    which : (T,) or None
        Index of the transitions that lead to step t (the entry of the first step is not used); 0 unless given.

    Returns
    -------
    (B, T, S) array
        Probabilities of the hidden states after every step.

    Examples
    --------
    >>> import echoscale as es, numpy as np
    >>> stay = np.array([[0.9, 0.1], [0.1, 0.9]])
    >>> known = es.tasks.hmm.forward(np.array([[0.0, 1.0]]), np.array([0.0, 1.0]), 0.0, stay, np.array([0.5, 0.5]))
    >>> known[0]
    array([[1., 0.],
           [0., 1.]])
    """
    series, length = u.shape
    table = np.asarray(transitions, np.float64).reshape(-1, len(means), len(means))
    path = np.zeros(length, np.int32) if which is None else np.asarray(which, np.int32)
    spread = np.broadcast_to(np.asarray(noise, np.float64), (length,))
    _check_exact(u, means, spread)
    known = np.ascontiguousarray(np.broadcast_to(first, (series, len(means))).T, np.float64)
    posterior = np.empty((series, length, len(means)))
    # Small kernels, one after the other: the CPU is fastest.
    with precision_and_device(np.float64, "cpu"):
        for begin in range(0, length, PIECE):
            end = min(begin + PIECE, length)
            rows: list[npt.NDArray[Any]] = [u.T[begin:end], spread[begin:end], path[begin:end]]
            padded = [np.pad(each, [(0, PIECE - len(each)), *[(0, 0)] * (each.ndim - 1)], mode="edge") for each in rows]
            found = np.asarray(_program()(known, np.asarray(means, np.float64), table, begin == 0, *padded))
            posterior[:, begin:end] = found[: end - begin].transpose(2, 0, 1)
            known = found[end - begin - 1]
    if np.isnan(posterior).any():
        b, t, _ = np.argwhere(np.isnan(posterior))[0]
        raise ValueError(f"series {b} is impossible under this model at step {t}: no reachable hidden state gives {u[b, t]:g}.")
    return posterior


def _check_exact(u: Floats, means: Floats, noise: Floats) -> None:
    """Refuse inputs that differ from all means where the noise is 0."""
    exact = noise == 0
    wrong = exact & ~np.isin(u, means)
    if wrong.any():
        b, t = np.argwhere(wrong)[0]
        levels = ", ".join(f"{each:g}" for each in np.unique(means))
        raise ValueError(
            f"noise is 0 at step {t}, where series {b} holds {u[b, t]:g}: without noise it can only be {levels}. "
            "Give the noise of the series."
        )


@cache
def _program() -> Any:
    """The filter of one piece, compiled: states (S, B) in, posteriors (PIECE, S, B) out."""
    import jax
    import jax.numpy as jnp

    def step(now: Known, row: Row, means: Array, table: Array) -> tuple[Known, Array]:
        known, at_first = now
        u, noise, which = row
        ahead = jnp.where(at_first, known, jnp.einsum("ij,ib->jb", table[which], known, precision="highest"))
        apart = jnp.abs(u - means[:, None])
        # Relative to the nearest reachable mean: the square of a far input would hide the differences.
        nearest = jnp.min(jnp.where(ahead > 0, apart, jnp.inf), axis=0)
        scale = jnp.where(noise > 0, noise, 1)
        exact = jnp.where(apart == 0, 0.0, -jnp.inf)
        likely = jnp.where(noise > 0, -0.5 * ((apart - nearest) / scale) * ((apart + nearest) / scale), exact)
        logs = jnp.where(ahead > 0, jnp.log(ahead) + likely, -jnp.inf)
        raw = jnp.exp(logs - jnp.max(logs, axis=0))
        new = raw / jnp.sum(raw, axis=0)
        return (new, jnp.bool_(False)), new

    @jax.jit
    def piece(known: Array, means: Array, table: Array, at_first: bool, u: Array, noise: Array, which: Array) -> Array:
        def body(now: Known, row: Row) -> tuple[Known, Array]:
            return step(now, row, means, table)

        return jax.lax.scan(body, (known, jnp.bool_(at_first)), (u, noise, which))[1]

    return piece
