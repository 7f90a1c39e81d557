"""Concentric rings: cycles of (nearly) equal size, joined both ways unit by unit."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from echoscale.engine.topologies.ring import ring
from echoscale.network import Concentric, Reservoir


def matrix(rng: np.random.Generator, reservoir: Reservoir) -> scipy.sparse.csr_array:
    """Ring weights of 1; unit i of a ring and unit i of the next are joined both ways by weights `jump`."""
    topology = reservoir.topology
    assert isinstance(topology, Concentric)  # the only topology of this name
    sizes = [len(part) for part in np.array_split(np.arange(reservoir.units), topology.rings)]
    blocks: list[list[Any]] = [[None] * topology.rings for _ in sizes]
    for k, size in enumerate(sizes):
        blocks[k][k] = ring(size)
        if k:
            jump = topology.jump * scipy.sparse.eye_array(size, sizes[k - 1])
            blocks[k][k - 1], blocks[k - 1][k] = jump, jump.T
    return scipy.sparse.csr_array(scipy.sparse.block_array(blocks, format="csr"))
