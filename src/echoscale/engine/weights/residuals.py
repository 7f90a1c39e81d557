"""O of x(t+1) = (1 - alpha) O x(t) + alpha tanh(...), (n, n): identity, shift, random orthogonal, or a user's own."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse

from echoscale.engine.devices import one_thread
from echoscale.network import Reservoir
from echoscale.network.matrix import IDENTITY, SHIFT, Matrix


def residual_matrix(rng: np.random.Generator, reservoir: Reservoir) -> scipy.sparse.csr_array:
    """O of one reservoir, (n, n)."""
    size, residual = reservoir.units, reservoir.residual
    if isinstance(residual, Matrix):
        return residual.sparse()
    if residual == IDENTITY:
        return scipy.sparse.csr_array(scipy.sparse.eye_array(size))
    if residual == SHIFT:
        place = np.arange(size)
        return scipy.sparse.csr_array((np.ones(size), (place, (place - 1) % size)), shape=(size, size))
    return scipy.sparse.csr_array(random_orthogonal(rng, size))


def random_orthogonal(rng: np.random.Generator, size: int) -> npt.NDArray[np.float64]:
    """A uniformly distributed rotation or reflection, (n, n): Q of a normal matrix, its signs set by the diagonal of R."""
    with one_thread():
        Q, R = np.linalg.qr(rng.standard_normal((size, size)))
    # Twelve digits: LAPACK differs from machine to machine in the last ones, the weights must not.
    return np.asarray(np.round(Q * np.sign(np.diagonal(R)), 12))
