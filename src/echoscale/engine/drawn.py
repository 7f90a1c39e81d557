"""The matrices of a network: drawn from a seed, and put together as one reservoir with all factors of `Hyper` applied.

    W_in (n, F), b (n,)  U[-1, 1], with zeros in W_in where inputs are sparse; or the user's own
    O (n, n)             of x(t+1) = (1 - alpha) O x(t) + alpha tanh(...): identity, shift, random orthogonal, or the user's own

All arrays are drawn in float64 by NumPy and never change afterwards. Every matrix has a child seed of its own, so that one more
level, coupling or input does not change the other matrices.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse
import scipy.sparse.linalg

from echoscale._internal.types import Floats
from echoscale.engine.devices import one_thread
from echoscale.engine.eigen import spectral_radius
from echoscale.engine.hyper import Hyper
from echoscale.engine.topologies.random_links import random_sparse
from echoscale.network import Coupling, Network, Reservoir
from echoscale.network.leaks import places_of
from echoscale.network.matrix import IDENTITY, SHIFT
from echoscale.network.matrix import Matrix as Matrix
from echoscale.network.topologies import FILES, name_of

Sparse = scipy.sparse.csr_array


class Drawn(NamedTuple):
    """Fixed arrays of a network, without any factor of `Hyper`.

    Attributes
    ----------
    recurrent : tuple of csr_array
        Recurrent matrix W of each reservoir, (n_k, n_k), with spectral radius 1.
    inputs : tuple of arrays
        Input matrix W_in of each reservoir, (n_k, F), U[-1, 1] or the user's own; drawn even if `input_scaling` is 0, so that
        learning can change the scaling.
    biases : tuple of arrays
        Bias b of each reservoir, (n_k,), U[-1, 1] or the user's own; also drawn if `bias_scaling` is 0.
    couplings : tuple of csr_array
        Matrix W_kl of each coupling, (n_target, n_source).
    feedback : tuple of arrays
        Feedback matrix W_fb of each reservoir, (n_k, O), U[-1, 1]; empty without output feedback.
    leak_places : tuple of arrays
        Places q of the neurons of each reservoir, (n_k,), in [0, 1]: neuron i has the leak rate alpha exp(-s q_i). Empty if no
        reservoir spreads its leak rates.
    residuals : tuple of csr_array
        Residual matrix O of each reservoir, (n_k, n_k); empty if all are the identity.
    """

    recurrent: tuple[Sparse, ...]
    inputs: tuple[Floats, ...]
    biases: tuple[Floats, ...]
    couplings: tuple[Sparse, ...]
    feedback: tuple[Floats, ...] = ()
    leak_places: tuple[Floats, ...] = ()
    residuals: tuple[Sparse, ...] = ()


class Matrices(NamedTuple):
    """Matrices of one reservoir that equals the whole network, for use with other libraries.

        x(t+1) = (1 - a) O x + a tanh(W x + W_in s + bias),   a = leak_rate

    All factors are applied. With output feedback, s is (s(t), y(t-1)) and W_in is (W_in, W_fb). The equation holds for
    coupling_delay=1. With 0 the blocks are the same, but they act within one step.

    Attributes
    ----------
    W : (N, N) scipy sparse array
        Recurrent matrix, with a block for every reservoir and coupling.
    W_in : (N, F + O)
        Input weights; with output feedback, the weights of the O outputs follow.
    bias : (N,)
        Biases.
    leak_rate : (N,)
        Leak rate of every neuron.
    residual : (N, N) scipy sparse array or None
        Residual matrix O; None is the identity.
    linear : (N,) bool or None
        Whether each neuron is linear; None: all have tanh.
    """

    W: scipy.sparse.csr_array
    W_in: Floats
    bias: Floats
    leak_rate: Floats
    residual: scipy.sparse.csr_array | None = None
    linear: npt.NDArray[np.bool_] | None = None


def draw(network: Network, n_inputs: int, seed: int, n_outputs: int = 0) -> Drawn:
    """All matrices of a network. An additional level, coupling or input leaves the others unchanged."""

    def rng(kind: int, *place: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(kind, *place)))

    members = list(enumerate(network.reservoirs))
    return Drawn(
        recurrent=tuple(recurrent_matrix(rng(0, k), reservoir) for k, reservoir in members),
        inputs=tuple(input_matrix(rng(1, k), partial(rng, 7, k), reservoir, n_inputs, k) for k, reservoir in members),
        biases=tuple(
            rng(2, k).uniform(-1, 1, reservoir.units) if reservoir.bias is None else np.array(reservoir.bias)
            for k, reservoir in members
        ),
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


def block_matrices(network: Network, drawn: Drawn, hyper: Hyper) -> Matrices:
    """Every block at its place, times its factor."""
    count = len(network.reservoirs)
    blocks: list[list[Any]] = [[None] * count for _ in range(count)]
    for k, matrix in enumerate(drawn.recurrent):
        blocks[k][k] = matrix * float(hyper.spectral_radius[k])
    for j, coupling in enumerate(network.couplings):
        blocks[coupling.target][coupling.source] = drawn.couplings[j] * float(hyper.coupling[j])
    W_in = _scaled(hyper.input_scaling, drawn.inputs)
    if drawn.feedback:
        W_in = np.concatenate([W_in, _scaled(hyper.feedback_scaling, drawn.feedback)], axis=1)
    sizes = [each.units for each in network.reservoirs]
    leak_rate = np.repeat(np.asarray(hyper.leak_rate, np.float64), sizes)
    if hyper.leak_spread:
        spread = np.repeat(np.asarray(hyper.leak_spread, np.float64), sizes)
        leak_rate = leak_rate * np.exp(-spread * np.concatenate(drawn.leak_places))
    residual = scipy.sparse.csr_array(scipy.sparse.block_diag(drawn.residuals, format="csr")) if drawn.residuals else None
    return Matrices(
        W=scipy.sparse.csr_array(scipy.sparse.block_array(blocks, format="csr")),
        W_in=W_in,
        bias=_scaled(hyper.bias_scaling, drawn.biases),
        leak_rate=leak_rate,
        residual=residual,
        linear=np.repeat(network.linear, sizes) if network.linear else None,
    )


def _scaled(factors: tuple[Any, ...], parts: tuple[Floats, ...]) -> Floats:
    return np.concatenate([factor * part for factor, part in zip(factors, parts, strict=True)])


def leak_places(rng: np.random.Generator, reservoir: Reservoir) -> Floats:
    """Places q of one reservoir, (n,): a named shape in a random order, or the user's own places."""
    places = places_of(reservoir.leak_places, reservoir.units)
    return rng.permutation(places) if isinstance(reservoir.leak_places, str) else places


def recurrent_matrix(rng: np.random.Generator, reservoir: Reservoir) -> Sparse:
    """W of one reservoir, (n, n), divided by its spectral radius unless `normalise` is False."""
    topology, name = reservoir.topology, name_of(reservoir.topology)
    normalised = not reservoir.normalise
    if isinstance(topology, Matrix):
        matrix = topology.sparse()
    else:
        home = importlib.import_module(f"echoscale.engine.topologies.{FILES[name]}")
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
    # Solvers return multiple eigenvalues of 0 as roots of a rounding error, not as exactly 0.
    if radius <= 1e-6 * scipy.sparse.linalg.norm(matrix):
        raise ValueError(
            f"{what} has spectral radius 0 and cannot be normalised to 1. Give it a cycle of non-zero weights, or set "
            'normalise=False (for a coupling: normalisation="none").'
        )
    # Ten digits: the last digits of eigen-solvers differ between machines, and the weights must not differ.
    return scipy.sparse.csr_array(matrix / float(f"{radius:.10g}"))


def input_matrix(
    rng: np.random.Generator, mask_rng: Callable[[], np.random.Generator], reservoir: Reservoir, n_inputs: int, place: int
) -> Floats:
    """W_in of reservoir number `place`, (n, F)."""
    own = reservoir.input_weights
    if own is not None:
        if own.shape[1] != n_inputs:
            raise ValueError(
                f"the input_weights of reservoir {place} have {own.shape[1]} columns, but the network is built for "
                f"n_inputs={n_inputs}."
            )
        return np.asarray(own.sparse().toarray())
    # Drawn feature by feature, so that one more input does not change the weights of the others.
    weights = rng.uniform(-1, 1, (n_inputs, reservoir.units)).T.copy()
    if reservoir.input_connections is None:
        return weights
    return weights * _heard(mask_rng(), reservoir.input_connections, weights.shape, place)


def _heard(rng: np.random.Generator, connections: int | float, shape: tuple[int, int], place: int) -> npt.NDArray[np.bool_]:
    """A mask (n, F) of the inputs that each neuron receives: a number of inputs per neuron, or a share of neurons per input."""
    units, inputs = shape
    if isinstance(connections, int):
        if connections > inputs:
            raise ValueError(
                f"input_connections={connections} of reservoir {place} is above the {inputs} inputs; use at most {inputs}, or "
                "a share of the neurons, below 1.0."
            )
        return rng.random(shape).argsort(axis=1).argsort(axis=1) < connections
    count = max(round(connections * units), 1)
    return (rng.random((inputs, units)).argsort(axis=1).argsort(axis=1) < count).T


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
    # Twelve digits: the last digits of LAPACK differ between machines, and the weights must not differ.
    return np.asarray(np.round(Q * np.sign(np.diagonal(R)), 12))
