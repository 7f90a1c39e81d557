"""Seed -> matrices. Everything is drawn in float64 by NumPy, one child seed per matrix, and never changes afterwards."""

from __future__ import annotations

import importlib
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from echoscale._internal.types import Floats
from echoscale.engine.weights.eigen import spectral_radius
from echoscale.engine.weights.inputs import bias_vector, input_matrix
from echoscale.engine.weights.residuals import residual_matrix
from echoscale.engine.weights.topologies.random_links import random_sparse
from echoscale.network import Coupling, Network, Reservoir
from echoscale.network.leaks import places_of
from echoscale.network.matrix import Matrix
from echoscale.network.topologies import FILES, name_of

Sparse = scipy.sparse.csr_array


class Drawn(NamedTuple):
    """The fixed arrays of a network, without any factor of `Hyper`.

    Attributes
    ----------
    recurrent : tuple of csr_array
        W of each reservoir, (n_k, n_k), of unit spectral radius.
    inputs : tuple of arrays
        W_in of each reservoir, (n_k, F), U[-1, 1] or the user's own; drawn even where `input_scaling` is 0, so that it can be
        learned away.
    biases : tuple of arrays
        b of each reservoir, (n_k,), U[-1, 1]; likewise.
    couplings : tuple of csr_array
        W_kl of each coupling, (n_target, n_source).
    feedback : tuple of arrays
        W_fb of each reservoir, (n_k, O), U[-1, 1]; empty for a network without output feedback.
    leak_places : tuple of arrays
        q of each reservoir, (n_k,), in [0, 1]: neuron i has the leak rate alpha exp(-s q_i); empty where no reservoir spreads
        them.
    residuals : tuple of csr_array
        O of each reservoir, (n_k, n_k); empty where all are the identity.
    """

    recurrent: tuple[Sparse, ...]
    inputs: tuple[Floats, ...]
    biases: tuple[Floats, ...]
    couplings: tuple[Sparse, ...]
    feedback: tuple[Floats, ...] = ()
    leak_places: tuple[Floats, ...] = ()
    residuals: tuple[Sparse, ...] = ()


def draw(network: Network, n_inputs: int, seed: int, n_outputs: int = 0) -> Drawn:
    """All matrices of a network. Adding a level, a coupling or an input leaves the others as they were."""

    def rng(kind: int, *place: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(kind, *place)))

    members = list(enumerate(network.reservoirs))
    return Drawn(
        recurrent=tuple(recurrent_matrix(rng(0, k), reservoir) for k, reservoir in members),
        inputs=tuple(input_matrix(rng(1, k), partial(rng, 7, k), reservoir, n_inputs, k) for k, reservoir in members),
        biases=tuple(bias_vector(rng(2, k), reservoir) for k, reservoir in members),
        couplings=tuple(
            coupling_matrix(
                rng(3, each.target, each.source),
                each,
                (network.reservoirs[each.target].units, network.reservoirs[each.source].units),
            )
            for each in network.couplings
        ),
        feedback=tuple(rng(4, k).uniform(-1, 1, (n_outputs, reservoir.units)).T.copy() for k, reservoir in members)
        if network.feeds_back
        else (),
        leak_places=tuple(leak_places(rng(5, k), reservoir) for k, reservoir in members) if network.spreads_leaks else (),
        residuals=tuple(residual_matrix(rng(6, k), reservoir) for k, reservoir in members) if network.turns else (),
    )


def leak_places(rng: np.random.Generator, reservoir: Reservoir) -> Floats:
    """q of one reservoir, (n,): a named shape in a random order, places of one's own as they are."""
    places = places_of(reservoir.leak_places, reservoir.units)
    return rng.permutation(places) if isinstance(reservoir.leak_places, str) else places


def recurrent_matrix(rng: np.random.Generator, reservoir: Reservoir) -> Sparse:
    """W of one reservoir, (n, n), divided by its spectral radius unless told otherwise."""
    topology, name = reservoir.topology, name_of(reservoir.topology)
    normalised = not reservoir.normalise
    if isinstance(topology, Matrix):
        matrix = topology.sparse()
    else:
        home = importlib.import_module(f"echoscale.engine.weights.topologies.{FILES[name]}")
        matrix = home.matrix(rng, reservoir)
        normalised |= getattr(home, "NORMALISED", False)
    return matrix if normalised else unit_radius(matrix, f"the {name} matrix of {reservoir.units} units")


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
