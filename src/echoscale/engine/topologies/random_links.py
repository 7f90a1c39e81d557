"""Random sparse matrices: "normal" and "uniform"."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from echoscale.network import Reservoir


def matrix(rng: np.random.Generator, reservoir: Reservoir) -> scipy.sparse.csr_array:
    """W (units, units), `connections` weights in each row."""
    return random_sparse(rng, (reservoir.units, reservoir.units), reservoir.links, str(reservoir.topology))


def random_sparse(rng: np.random.Generator, shape: tuple[int, int], links: int, law: str) -> scipy.sparse.csr_array:
    """Exactly `links` weights in each row at random places, N(0, 1) for "normal", U[-1, 1] for "uniform"."""
    post, pre = shape
    columns = np.sort([rng.choice(pre, links, replace=False, shuffle=False) for _ in range(post)], axis=1)
    values = rng.standard_normal((post, links)) if law == "normal" else rng.uniform(-1, 1, (post, links))
    starts = np.arange(0, post * links + 1, links)
    return scipy.sparse.csr_array((values.ravel(), columns.ravel(), starts), shape=shape)
