"""A ring: W[i, i - 1] = 1, and W[0, last] = 1."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from echoscale.network import Reservoir

NORMALISED = True  # a permutation: every eigenvalue lies on the unit circle already


def matrix(rng: np.random.Generator, reservoir: Reservoir) -> scipy.sparse.csr_array:
    """Unit i receives unit i - 1 with weight 1, and unit 0 receives the last unit."""
    return ring(reservoir.units)


def ring(units: int) -> scipy.sparse.csr_array:
    """One cycle through all units, (units, units)."""
    post = np.arange(units)
    return scipy.sparse.csr_array((np.ones(units), (post, (post - 1) % units)), shape=(units, units))
