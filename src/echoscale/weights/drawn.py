"""Seed -> matrices. Everything is drawn in float64 by NumPy, one child seed per matrix, and never changes afterwards."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse
import scipy.sparse.linalg

from echoscale.network import Concentric, Coupling, Network, Reservoir
from echoscale.network.matrix import Matrix
from echoscale.weights.eigen import spectral_radius

Sparse = scipy.sparse.csr_array
Floats = npt.NDArray[np.float64]


class Drawn(NamedTuple):
    """The fixed arrays of a network, without any factor of `Hyper`.

    recurrent  per reservoir, (n_k, n_k), unit spectral radius
    inputs     per reservoir, (n_k, F), U[-1, 1], drawn even where input_scaling is 0 so that a zero can be learned away
    biases     per reservoir, (n_k,), U[-1, 1], likewise
    couplings  per coupling, (n_target, n_source)
    """

    recurrent: tuple[Sparse, ...]
    inputs: tuple[Floats, ...]
    biases: tuple[Floats, ...]
    couplings: tuple[Sparse, ...]


def draw(network: Network, n_inputs: int, seed: int) -> Drawn:
    """All matrices of a network. Adding a level, a coupling or an input leaves the others as they were."""

    def rng(kind: int, *place: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(kind, *place)))

    members = list(enumerate(network.reservoirs))
    return Drawn(
        recurrent=tuple(recurrent_matrix(rng(0, k), reservoir) for k, reservoir in members),
        # Drawn feature by feature, so that one more input does not change the weights of the others.
        inputs=tuple(rng(1, k).uniform(-1, 1, (n_inputs, reservoir.units)).T.copy() for k, reservoir in members),
        biases=tuple(rng(2, k).uniform(-1, 1, reservoir.units) for k, reservoir in members),
        couplings=tuple(
            coupling_matrix(
                rng(3, each.target, each.source),
                each,
                (network.reservoirs[each.target].units, network.reservoirs[each.source].units),
            )
            for each in network.couplings
        ),
    )


def recurrent_matrix(rng: np.random.Generator, reservoir: Reservoir) -> Sparse:
    """W of one reservoir, (n, n), divided by its spectral radius unless told otherwise."""
    units, topology = reservoir.units, reservoir.topology
    if isinstance(topology, Matrix):
        matrix = topology.sparse()
    elif isinstance(topology, Concentric):
        matrix = concentric(units, topology)
    elif topology == "delay_line":
        return delay_line(units)  # nilpotent: every eigenvalue is 0, its weights of 1 are the normalisation
    elif topology == "ring":
        return ring(units)  # a permutation: every eigenvalue lies on the unit circle already
    else:
        matrix = random_sparse(rng, (units, units), reservoir.links, topology)
    return unit_radius(matrix, f"the {_name(topology)} matrix of {units} units") if reservoir.normalise else matrix


def coupling_matrix(rng: np.random.Generator, coupling: Coupling, shape: tuple[int, int]) -> Sparse:
    """W^(kl) of one coupling, (n_target, n_source)."""
    links = coupling.links(shape[1])
    if isinstance(coupling.topology, Matrix):
        matrix = coupling.topology.sparse()
    else:
        matrix = random_sparse(rng, shape, links, coupling.topology)
    if coupling.normalisation == "spectral_radius":
        return unit_radius(matrix, f"the matrix of the coupling {coupling.source} -> {coupling.target}")
    return matrix / np.sqrt(links) if coupling.normalisation == "sqrt_connections" else matrix


def random_sparse(rng: np.random.Generator, shape: tuple[int, int], links: int, law: str) -> Sparse:
    """Exactly `links` weights in each row at random places, N(0, 1) for "normal", U[-1, 1] for "uniform"."""
    post, pre = shape
    columns = np.sort([rng.choice(pre, links, replace=False, shuffle=False) for _ in range(post)], axis=1)
    values = rng.standard_normal((post, links)) if law == "normal" else rng.uniform(-1, 1, (post, links))
    starts = np.arange(0, post * links + 1, links)
    return scipy.sparse.csr_array((values.ravel(), columns.ravel(), starts), shape=shape)


def delay_line(units: int) -> Sparse:
    """Unit i hears unit i - 1 with weight 1; nobody drives unit 0 but the input."""
    post = np.arange(1, units)
    return scipy.sparse.csr_array((np.ones(units - 1), (post, post - 1)), shape=(units, units))


def ring(units: int) -> Sparse:
    """Unit i hears unit i - 1 with weight 1, and unit 0 hears the last one."""
    post = np.arange(units)
    return scipy.sparse.csr_array((np.ones(units), (post, (post - 1) % units)), shape=(units, units))


def concentric(units: int, topology: Concentric) -> Sparse:
    """Rings of (nearly) equal size; unit i of a ring and unit i of the next are joined both ways."""
    sizes = [len(part) for part in np.array_split(np.arange(units), topology.rings)]
    blocks: list[list[Any]] = [[None] * topology.rings for _ in sizes]
    for k, size in enumerate(sizes):
        blocks[k][k] = ring(size)
        if k:
            jump = topology.jump * scipy.sparse.eye_array(size, sizes[k - 1])
            blocks[k][k - 1], blocks[k - 1][k] = jump, jump.T
    return scipy.sparse.csr_array(scipy.sparse.block_array(blocks, format="csr"))


def unit_radius(matrix: Sparse, what: str) -> Sparse:
    """matrix / max |eigenvalue|."""
    radius = spectral_radius(matrix)
    # Eigenvalues of 0 that are not simple come out of the solvers with the root of a rounding error, not with exactly 0.
    if radius <= 1e-6 * scipy.sparse.linalg.norm(matrix):
        raise ValueError(
            f"{what} has spectral radius 0 and cannot be normalised to 1. Give it a cycle of non-zero weights, or set "
            'normalise=False (for a coupling: normalisation="none").'
        )
    # Ten digits: eigen-solvers differ from machine to machine in the last ones, the weights must not.
    return scipy.sparse.csr_array(matrix / float(f"{radius:.10g}"))


def _name(topology: object) -> str:
    return topology if isinstance(topology, str) else type(topology).__name__.lower()
