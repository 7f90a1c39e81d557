"""A delay line: W[i, i - 1] = 1."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from echoscale.network import Reservoir

NORMALISED = True  # nilpotent: every eigenvalue is 0, and weights of 1 are the normalisation


def matrix(rng: np.random.Generator, reservoir: Reservoir) -> scipy.sparse.csr_array:
    """Unit i receives unit i - 1 with weight 1; unit 0 receives the input only."""
    post = np.arange(1, reservoir.units)
    return scipy.sparse.csr_array((np.ones(len(post)), (post, post - 1)), shape=(reservoir.units, reservoir.units))
