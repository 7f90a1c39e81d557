"""The update of the states and the scans over it; the only file that knows how a matrix is stored.

    x_k(t+1) = (1 - leak_rate_k) x_k(t) + leak_rate_k tanh(h_k(t))
    h_k(t)   = input_scaling_k W_in_k s(t) + bias_scaling_k b_k + spectral_radius_k W_k x_k(t)
               + sum over couplings l -> k of coupling_kl W_kl x_l(t)

Layout: a state is neuron-major, one array (n_k, lanes) per reservoir, lanes contiguous; a lane is one network with its own
series or its own hyper-parameters. A sparse W is applied as unrolled gather-multiply-adds, which XLA fuses with tanh.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse

from echoscale.hyper import Hyper
from echoscale.network import Network
from echoscale.weights import Drawn

Array = jax.Array
State = tuple[Array, ...]

# Longer lists are not unrolled but looped over, since unrolling takes long to compile.
MOST_UNROLLED = 32
FEW_LANES = 16

# Up to so many weights, one lane sums over all neighbours in one operation, a bit faster; beyond, XLA splits it over threads.
SMALL = 4096

# Vectors of 512 bits where the processor has them: faster, most of all for many lanes (XLA prefers 256).
COMPILER_OPTIONS = {"xla_cpu_prefer_vector_width": 512}

# Passes of XLA that are left out where they do harm. Kernels of some microseconds take longer when the first shares them out
# over threads: blocks of lanes share the cores better. Without the second, a barrier between two steps stays.
SHARING_KERNELS, REMOVING_BARRIERS = "cpu-parallel-task-assigner", "cse_barrier_expander"


def without(*passes: str) -> dict[str, Any]:
    """Options of the compiler that leave these passes out."""
    return {**COMPILER_OPTIONS, "xla_disable_hlo_passes": ",".join(passes)}


SCAN_OPTIONS = without(SHARING_KERNELS, REMOVING_BARRIERS)


class Neighbours(NamedTuple):
    """A sparse matrix as padded neighbour lists, entry j holding every row's j-th weight: columns (k, n), values (k, n, 1)."""

    columns: Array
    values: Array


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["recurrent", "inputs", "biases", "couplings"],
    meta_fields=["links", "coupling_delay"],
)
@dataclass(frozen=True)
class Weights:
    """The fixed arrays of a network on the device; the graph itself is static.

    recurrent, couplings  `Neighbours`, or a dense array (post, pre)
    inputs                (n_k, F)
    biases                (n_k, 1)
    links                 (source, target) of every coupling
    """

    recurrent: tuple[Any, ...]
    inputs: tuple[Array, ...]
    biases: tuple[Array, ...]
    couplings: tuple[Any, ...]
    links: tuple[tuple[int, int], ...]
    coupling_delay: int


def store(network: Network, drawn: Drawn, dtype: Any, lanes: int) -> Weights:
    """The drawn matrices in the form that is fastest for this number of lanes."""
    return Weights(
        recurrent=tuple(store_matrix(each, dtype, lanes) for each in drawn.recurrent),
        inputs=tuple(jnp.asarray(each, dtype) for each in drawn.inputs),
        biases=tuple(jnp.asarray(each[:, None], dtype) for each in drawn.biases),
        couplings=tuple(store_matrix(each, dtype, lanes) for each in drawn.couplings),
        links=tuple((each.source, each.target) for each in network.couplings),
        coupling_delay=network.coupling_delay,
    )


def store_matrix(matrix: scipy.sparse.csr_array, dtype: Any, lanes: int) -> Neighbours | Array:
    """Neighbour lists for sparse matrices; dense where rows are full, or the product so small that it costs nothing."""
    counts = np.diff(matrix.indptr)
    most = int(counts.max(initial=0))
    if dense_is_faster(matrix.shape[1], most, lanes):
        return jnp.asarray(matrix.toarray(), dtype)
    index = np.zeros((max(most, 1), matrix.shape[0]), np.int32)
    value = np.zeros((max(most, 1), matrix.shape[0], 1))
    row = np.repeat(np.arange(matrix.shape[0]), counts)
    place = np.arange(matrix.nnz) - np.repeat(matrix.indptr[:-1], counts)
    index[place, row] = matrix.indices
    value[place, row, 0] = matrix.data
    return Neighbours(jnp.asarray(index), jnp.asarray(value, dtype))


def dense_is_faster(pre: int, most: int, lanes: int) -> bool:
    """Whether a dense product beats lists of up to `most` of `pre` columns (two cores, benchmarks/storage.py).

    One lane gathers slowly, many lanes as fast as they load; lists that are looped over do not fuse, which few lanes feel.
    """
    if most <= MOST_UNROLLED:
        return pre <= (7 if lanes == 1 else 3) * most
    return pre <= (30 if lanes < FEW_LANES else 3) * most


def apply(matrix: Neighbours | Array, x: Array) -> Array:
    """W x: (post, pre) applied to (pre, lanes)."""
    if not isinstance(matrix, Neighbours):
        return jnp.matmul(matrix, x, precision="highest")
    if x.shape[1] == 1 and matrix.values.size <= SMALL:
        return jnp.sum(matrix.values * x[matrix.columns], axis=0)
    total = matrix.values[0] * x[matrix.columns[0]]
    if len(matrix.columns) > MOST_UNROLLED:
        rest = Neighbours(matrix.columns[1:], matrix.values[1:])
        return jax.lax.scan(lambda sum, each: (sum + each.values * x[each.columns], None), total, rest, unroll=8)[0]
    for j in range(1, len(matrix.columns)):
        total = total + matrix.values[j] * x[matrix.columns[j]]
    return total


def project(inputs: Array, u: Array) -> Array:
    """W_in s: (n, F) applied to (F, lanes), as multiply-adds where there are few features, so that they fuse."""
    if inputs.shape[1] > MOST_UNROLLED:
        return jnp.matmul(inputs, u, precision="highest")
    total = inputs[:, 0:1] * u[0]
    for j in range(1, inputs.shape[1]):
        total = total + inputs[:, j : j + 1] * u[j]
    return total


def step(
    weights: Weights,
    hyper: Hyper,
    state: State,
    u: Array,
    own: State | None = None,
    fire: Callable[[int, Array], Array] | None = None,
) -> State:
    """One time step of all reservoirs: states (n_k, lanes) and input (F, lanes) to new states (n_k, lanes).

    A reservoir may have fewer lanes than one that it drives: each of them then stands for a group of consecutive lanes there.
    `own` is what each reservoir hears of itself, its state unless given: a derivative with `own` fixed leaves that way out.
    `fire(k, h)` stands for tanh(h) of reservoir k where it is given.
    """
    new: list[Array] = []
    for k, x in enumerate(state):
        h = hyper.input_scaling[k] * project(weights.inputs[k], u)
        h = h + hyper.bias_scaling[k] * weights.biases[k]
        h = h + hyper.spectral_radius[k] * apply(weights.recurrent[k], x if own is None else own[k])
        for j, (source, target) in enumerate(weights.links):
            if target == k:
                fresh = weights.coupling_delay == 0 and source < k
                heard = apply(weights.couplings[j], new[source] if fresh else state[source])
                if heard.shape[1] < x.shape[1]:
                    heard = jnp.matmul(heard, _copies(heard.shape[1], x), precision="highest")
                h = h + hyper.coupling[j] * heard
        leak = hyper.leak_rate[k]
        new.append((1 - leak) * x + leak * (jnp.tanh(h) if fire is None else fire(k, h)))
    return tuple(new)


def _copies(lanes: int, x: Array) -> Any:
    """(lanes, lanes of x): a product with it repeats every lane for its group, faster on a CPU than `repeat` in a loop."""
    return np.repeat(np.eye(lanes, dtype=x.dtype), x.shape[1] // lanes, axis=1)


def masked_step(weights: Weights, hyper: Hyper, state: State, u: Array, live: Array) -> State:
    """`step`, but lanes whose series has ended (live False) keep their state."""
    new = step(weights, hyper, state, u)
    return tuple(jnp.where(live, after, before) for after, before in zip(new, state, strict=True))


def _scan(
    weights: Weights,
    hyper: Hyper,
    state: State,
    u: Array,
    remaining: Array,
    every: int = 1,
    apart: bool = False,
    whole: bool = False,
    pairs: bool = False,
) -> tuple[State, Any]:
    """A chunk of steps: u (L, F, lanes or 1) -> the last state, and the states after every `every` steps (L / every, lanes, N).

    `remaining` (lanes,) says how many steps of the chunk each lane's series still has; later rows repeat its last state.
    The chunk has a fixed length, so that series of any length share one compiled program. `apart` gives the states of every
    reservoir by itself, (L / every, lanes_k, n_k), whatever number of lanes each has.
    `whole` says that no series ends within the chunk, `pairs` takes two steps at a time: the same states, sooner.
    """

    def body(carry: tuple[State, Array], u_t: Array) -> tuple[tuple[State, Array], None]:
        state, t = carry
        new = step(weights, hyper, state, u_t) if whole else masked_step(weights, hyper, state, u_t, t < remaining)
        return (new, t + 1), None

    def two(carry: tuple[State, Array], u_two: Array) -> tuple[tuple[State, Array], None]:
        """A loop copies its state at every turn, since gathers cannot write where they read: here at every other step.

        Without the barrier, XLA would compute the first step anew for every neighbour of the second.
        """
        first, _ = body(carry, u_two[0])
        return body(jax.lax.optimization_barrier(first), u_two[1])  # type: ignore[no-untyped-call]

    def several(carry: tuple[State, Array], part: Array) -> tuple[State, Array]:
        if every == 1:
            return body(carry, part[0])[0]
        if pairs and every % 2 == 0:
            return jax.lax.scan(two, carry, part.reshape(every // 2, 2, *part.shape[1:]))[0]
        return jax.lax.scan(body, carry, part)[0]

    def stretch(carry: tuple[State, Array], part: Array) -> tuple[tuple[State, Array], Any]:
        carry = several(carry, part)
        # Turned here, while in the cache, not afterwards in memory.
        return carry, tuple(each.T for each in carry[0]) if apart else jnp.concatenate(carry[0]).T

    parts = u.reshape(u.shape[0] // every, every, *u.shape[1:])
    (last, _), states = jax.lax.scan(stretch, (state, jnp.int32(0)), parts)
    return last, states


scan = jax.jit(_scan, static_argnames=("every", "apart", "whole", "pairs"), compiler_options=SCAN_OPTIONS)


@partial(jax.jit, static_argnames="sizes", compiler_options=SCAN_OPTIONS)
def advance(weights: Weights, hyper: Hyper, state: Array, u: Array, sizes: tuple[int, ...]) -> Array:
    """One step of whole state vectors: (B, N) and inputs (B, F) -> (B, N).

    A loop of two steps that stops after the first: XLA compiles its body as in `scan`, so that both agree to the last bit.
    """
    parts = tuple(jnp.split(state.T, np.cumsum(sizes)[:-1].tolist()))
    last, _ = _scan(weights, hyper, parts, jnp.stack([u.T, u.T]), jnp.ones(len(u), jnp.int32), every=1)
    return jnp.concatenate(last).T
