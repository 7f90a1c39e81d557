"""Storage of a matrix on the device, and its product with the states of all lanes.

Shapes are (post, pre), applied to (pre, lanes). A sparse matrix is applied as unrolled gather-multiply-adds, which XLA fuses.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import scipy.sparse
from jax import Array

from echoscale.engine.devices import to_device

# Longer lists use a loop, since unrolled code takes long to compile.
MOST_UNROLLED = 32
FEW_LANES = 16

# Up to this number of weights, one lane sums over all neighbours at once, a bit faster; beyond, XLA splits it over threads.
SMALL = 4096


# XLA clamps every index of a gather, at both ends if the index is signed: unsigned indices are faster
# (benchmarks/choices.py).
INDEX = np.uint32


class Neighbours(NamedTuple):
    """A sparse matrix as padded neighbour lists; entry j holds the j-th weight of every row: columns (k, n), values (k, n, 1).

    With a residual shift there is one more list of columns, for the neurons that the shift reads. It costs least as part of the
    same array (benchmarks/levels.py).
    """

    columns: Array
    values: Array


class Shift(NamedTuple):
    """The matrix that moves every state by one neuron, without numbers or a product."""


def store_matrix(
    matrix: scipy.sparse.csr_array, dtype: np.dtype[Any], lanes: int, *, shift: bool = False
) -> Neighbours | Array:
    """Neighbour lists for sparse matrices; dense if the rows are full, or if the product is so small that its cost does not
    matter.

    With `shift`, the last list holds the columns of a residual shift.
    """
    counts = np.diff(matrix.indptr)
    most = int(counts.max(initial=0))
    if dense_is_faster(matrix.shape[1], most, lanes):
        return to_device(matrix.toarray(), dtype)
    index = np.zeros((max(most, 1), matrix.shape[0]), INDEX)
    value = np.zeros((max(most, 1), matrix.shape[0], 1))
    row = np.repeat(np.arange(matrix.shape[0]), counts)
    place = np.arange(matrix.nnz) - np.repeat(matrix.indptr[:-1], counts)
    index[place, row] = matrix.indices
    value[place, row, 0] = matrix.data
    if shift:
        index = np.concatenate([index, _before(matrix.shape[0])[None]])
    return Neighbours(to_device(index, INDEX), to_device(value, dtype))


def dense_is_faster(pre: int, most: int, lanes: int) -> bool:
    """Whether a dense product is faster than lists of up to `most` of `pre` columns (two cores, benchmarks/storage.py).

    A gather is slow for one lane, and as fast as memory for many. Lists in a loop do not fuse, which slows down few lanes only.
    """
    if most <= MOST_UNROLLED:
        return pre <= (7 if lanes == 1 else 3) * most
    return pre <= (30 if lanes < FEW_LANES else 3) * most


def apply(matrix: Neighbours | Array, x: Array) -> Array:
    """W x: (post, pre) applied to (pre, lanes)."""
    if not isinstance(matrix, Neighbours):
        return jnp.matmul(matrix, x, precision="highest")
    count = len(matrix.values)
    if x.shape[1] == 1 and matrix.values.size <= SMALL:
        return jnp.sum(matrix.values * _rows(x, matrix.columns[:count]), axis=0)

    def part(j: int) -> Array:
        columns, values = (jax.lax.index_in_dim(each, j, keepdims=False) for each in matrix)
        return values * _rows(x, columns)

    total = part(0)
    if count > MOST_UNROLLED:
        rest = Neighbours(matrix.columns[1:count], matrix.values[1:])
        return jax.lax.scan(lambda sum, each: (sum + each.values * _rows(x, each.columns), None), total, rest, unroll=8)[0]
    for j in range(1, count):
        total = total + part(j)
    return total


def _rows(x: Array, which: Array) -> Array:
    """x[which] without handling negative indices, which would double the compile time."""
    numbers = jax.lax.GatherDimensionNumbers(offset_dims=(which.ndim,), collapsed_slice_dims=(0,), start_index_map=(0,))
    places = jax.lax.expand_dims(which, (which.ndim,))
    return jax.lax.gather(x, places, numbers, (1, x.shape[1]), mode=jax.lax.GatherScatterMode.PROMISE_IN_BOUNDS)


def turn(residual: Neighbours | Array | Shift | None, x: Array, recurrent: Neighbours | Array) -> Array:
    """O x: (n, n) applied to (n, lanes); None is the identity. `recurrent` is the matrix of the same reservoir."""
    if residual is None:
        return x
    if not isinstance(residual, Shift):
        return apply(residual, x)
    if x.shape[1] == 1:  # one lane rolls as a whole; for more lanes a gather is faster
        return jax.lax.pad(x, x[-1, 0], ((1, -1, 0), (0, 0, 0)))
    lists = recurrent.columns if isinstance(recurrent, Neighbours) else _before(x.shape[0])[None]
    return _rows(x, jnp.asarray(lists[-1]))


def _before(size: int) -> npt.NDArray[np.uint32]:
    """(n,): the neuron before each, the last one before the first."""
    return np.roll(np.arange(size, dtype=INDEX), 1)


def project(inputs: Array, u: Array) -> Array:
    """W_in s: (n, F) applied to (F, lanes); multiply-adds if there are few inputs, since they fuse."""
    if inputs.shape[1] > MOST_UNROLLED:
        return jnp.matmul(inputs, u, precision="highest")
    total = inputs[:, 0:1] * u[0]
    for j in range(1, inputs.shape[1]):
        total = total + inputs[:, j : j + 1] * u[j]
    return total
