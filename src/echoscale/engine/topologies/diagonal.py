"""A diagonal of complex pairs in real numbers: blocks r [[cos a, -sin a], [sin a, cos a]] with the eigenvalues r e^(+-i a)."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from echoscale.network import Reservoir


def matrix(rng: np.random.Generator, reservoir: Reservoir) -> scipy.sparse.csr_array:
    """Pairs of neurons that are linked to themselves and to each other; eigenvalues uniform in the unit disc, as of random
    matrices.

    For an odd number of neurons, the last one has a real eigenvalue.
    """
    units = reservoir.units
    first = np.arange(0, units - 1, 2)
    radius, angle = np.sqrt(rng.uniform(0, 1, len(first))), rng.uniform(0, np.pi, len(first))
    turn, across = radius * np.cos(angle), radius * np.sin(angle)
    rows = [first, first + 1, first, first + 1]
    columns = [first, first + 1, first + 1, first]
    values = [turn, turn, -across, across]
    if units % 2:
        rows, columns = [*rows, np.array([units - 1])], [*columns, np.array([units - 1])]
        values = [*values, rng.uniform(-1, 1, 1)]
    triples = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    return scipy.sparse.csr_array(triples, shape=(units, units))
