"""The pairs of reservoirs that the figures compare with a single one of the same size."""

from __future__ import annotations

from typing import Any

from echoscale.network import Network, hierarchical, parallel


def two(units: int, coupling: float | None, *, connections: int, **shared: Any) -> Network:
    """Two reservoirs of units // 2: both hear the input (coupling None), or the first drives the second.

    connections  weights a row, of each reservoir and of the coupling
    shared       spectral_radius and input_scaling of both
    """
    sizes = [units // 2] * 2
    if coupling is None:
        return parallel(sizes, connections=connections, **shared)
    return hierarchical(sizes, coupling=coupling, connections=connections, coupling_connections=connections, **shared)
