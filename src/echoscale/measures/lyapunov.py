"""Conditional Lyapunov exponents: how fast small differences of the states grow or shrink under the same input.

    J(t) = dx(t+1) / dx(t),   J(t) Q(t) = Q(t+1) R(t),   l_i = mean over t of log |R_ii(t)|        (Benettin et al. 1980)

Exponents are per step, the largest first. If the largest is below 0, the network has the echo state property for this input.
With weak input the largest is log |lambda|max of the linear regime. The sum of all N is the mean of log |det J(t)|.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from echoscale._internal import checks
from echoscale._internal.types import Floats
from echoscale.data.series import SeriesLike
from echoscale.engine.devices import COMPILER_OPTIONS, precision_and_device
from echoscale.engine.dynamics import State, Weights, step
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Hyper
from echoscale.engine.lanes import power_of_two
from echoscale.measures.inputs import first_step, one_series
from echoscale.measures.results import labelled, slabs

if TYPE_CHECKING:
    import xarray


FEWEST_STEPS = 100
# Decompositions in one call of the compiled program: series of any length share a few programs.
CHUNK = 256


def lyapunov_exponents(
    esn: ESN,
    u: SeriesLike,
    k: int = 1,
    *,
    every: int = 1,
    washout: int | None = None,
    seed: int = 0,
    hyper: Hyper | None = None,
) -> xarray.Dataset:
    """Largest conditional Lyapunov exponents: how fast small differences of the states grow or shrink under the same input.

        l_i = mean over t of log |R_ii(t)|,   J(t) Q(t) = Q(t+1) R(t),   J(t) = dx(t+1) / dx(t)

    If the largest exponent is below 0, the network has the echo state property for this input. Computed in float64.

    Parameters
    ----------
    esn : ESN
        Network.
    u : (T, F)
        Inputs.
    k : int
        Number of exponents, at most N.
    every : int
        Number of steps between two QR decompositions. More steps save time if k is large. Differences between exponents times
        `every` must stay well below 36, the limit of float64.
    washout : int, optional
        Number of steps at the start that are left out, while states and directions settle; by default 100, or a tenth of u if
        that is less.
    seed : int
        Random seed of the first directions.
    hyper : Hyper, optional
        Hyper-parameters in place of the network's own, with or without lanes.

    Returns
    -------
    xarray.Dataset
        `exponent` over (lane, place), the largest first, in natural logarithms per step.

    Examples
    --------
    With weak input, the largest exponent is the decay rate of the slowest mode.

    >>> import numpy as np, echoscale as es
    >>> esn = es.single(10, leak_rate=0.5, topology="ring", spectral_radius=0.9, input_scaling=1e-6).build(1, seed=0)
    >>> found = es.measures.lyapunov_exponents(esn, es.measures.noise(1000), washout=300)
    >>> round(float(found.exponent[0]), 4), round(float(np.log(abs(esn.spectrum().eigenvalues).max())), 4)
    (-0.0513, -0.0513)
    """
    series, used = one_series(esn, u), esn.hyper if hyper is None else hyper
    count = checks.integer(k, "k", minimum=1)
    if count > esn.units:
        raise ValueError(f"k={count} exponents of {esn.units} neurons: there are at most {esn.units}.")
    every = checks.integer(every, "every", minimum=1)
    first = first_step(series, washout, max(FEWEST_STEPS, 2 * every), "a Lyapunov exponent")
    rng = np.random.default_rng(checks.integer(seed, "seed"))
    start = np.linalg.qr(rng.standard_normal((esn.units, count)))[0]
    wide = ESN(esn.network, esn.n_inputs, esn.seed, "float64", esn.device, esn.drawn, esn.hyper, esn.n_outputs)
    found = np.empty((used.lanes or 1, count))
    for which, part in slabs(used, 32 * esn.units * count):
        found[which] = _mean_logs(wide, part, np.asarray(series.values[0]), start, every, first)
    # Converged exponents are already in order; others may not be.
    found = -np.sort(-found, axis=1)
    return labelled("Lyapunov exponents", used, {"exponent": (("place",), found)}, {"place": np.arange(1, count + 1)})


def _mean_logs(esn: ESN, hyper: Hyper, u: Floats, start: Floats, every: int, first: int) -> Floats:
    """(H, k): mean of log |R_ii| over all whole stretches of `every` steps from step `first` on."""
    lanes, (units, count) = hyper.lanes or 1, start.shape
    stretches = len(u) // every
    chunk = min(power_of_two(stretches), CHUNK)
    counted = np.arange(stretches) * every >= first
    logs = np.zeros((lanes, count))
    with precision_and_device("float64", esn.device):
        weights, numbers = esn.weights(lanes * count), hyper.on(np.arange(lanes), np.float64)
        state = tuple(np.zeros((size, lanes)) for size in esn.sizes)
        directions = np.broadcast_to(start, (lanes, units, count))
        for begin in range(0, stretches, chunk):
            here = counted[begin : begin + chunk]
            inputs = np.zeros((chunk * every, u.shape[1], 1))
            part = u[begin * every : (begin + len(here)) * every]
            inputs[: len(part), :, 0] = part
            state, directions, made = _driven(weights, numbers, state, directions, inputs, every)
            logs += np.asarray(made)[: len(here)][here].sum(axis=0)
    return np.asarray(logs / (counted.sum() * every))


@partial(jax.jit, static_argnames="every", compiler_options=COMPILER_OPTIONS)
def _driven(
    weights: Weights, hyper: Hyper, state: State, directions: jax.Array, u: jax.Array, every: int
) -> tuple[State, jax.Array, jax.Array]:
    """`stretches` of a network that receives u (T, F, 1)."""
    return stretches(lambda x, u_t: step(weights, hyper, x, u_t), state, directions, u, every)


def stretches(
    advance: Callable[[State, jax.Array], State], state: State, directions: jax.Array, u: jax.Array, every: int
) -> tuple[State, jax.Array, jax.Array]:
    """Runs a map and its derivative along u: the last states and directions, and log |R_ii| of every stretch.

    advance     the map: a tuple of (n_k, H) and an input -> the next tuple
    directions  (H, N, k), orthonormal
    every       number of steps between two QR decompositions; the logarithms are (stretches, H, k)
    """
    cuts = np.cumsum([len(part) for part in state])[:-1].tolist()

    def one_step(carry: tuple[State, State], u_t: jax.Array) -> tuple[tuple[State, State], None]:
        states, tangents = carry
        after, moved = jax.linearize(lambda x: advance(x, u_t), states)
        return (after, jax.vmap(moved)(tangents)), None

    def stretch(carry: tuple[State, jax.Array], inputs: jax.Array) -> tuple[tuple[State, jax.Array], jax.Array]:
        states, q = carry
        tangents = tuple(jnp.split(q.transpose(2, 1, 0), cuts, axis=1))  # of each part (k, n, H)
        (states, tangents), _ = jax.lax.scan(one_step, (states, tangents), inputs)
        moved = jnp.concatenate(tangents, axis=1).transpose(2, 1, 0)
        if q.shape[2] == 1:
            size = jnp.linalg.norm(moved, axis=1)  # (H, 1)
            q, grown = moved / jnp.where(size > 0, size, 1.0)[:, None], size
        else:
            q, r = jnp.linalg.qr(moved)
            grown = jnp.abs(jnp.diagonal(r, axis1=1, axis2=2))
        return (states, q), jnp.log(grown)

    (state, directions), logs = jax.lax.scan(stretch, (state, directions), u.reshape(len(u) // every, every, *u.shape[1:]))
    return state, directions, logs
