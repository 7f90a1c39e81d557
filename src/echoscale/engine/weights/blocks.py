"""A whole network as one reservoir: block matrices with all factors of `Hyper` applied."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse

from echoscale._internal.types import Floats
from echoscale.engine.hyper import Hyper
from echoscale.engine.weights.drawn import Drawn
from echoscale.network import Network


class Matrices(NamedTuple):
    """One reservoir that equals the whole network: x(t+1) = (1 - a) O x + a tanh(W x + W_in s + bias), a = leak_rate.

    With output feedback s is (s(t), y(t-1)), and W_in is (W_in, W_fb).

    All factors are applied. This is the bridge to other libraries. It describes coupling_delay=1; with 0 the blocks are the
    same but act at once.

    Attributes
    ----------
    W : (N, N) scipy sparse array
        A block for every reservoir and coupling.
    W_in : (N, F + O)
        Input weights; with output feedback, the weights of the O outputs follow.
    bias : (N,)
        Biases.
    leak_rate : (N,)
        The leak rate of every neuron.
    residual : (N, N) scipy sparse array or None
        O; None is the identity.
    linear : (N,) bool or None
        Which neurons have no tanh; None: all have one.
    """

    W: scipy.sparse.csr_array
    W_in: Floats
    bias: Floats
    leak_rate: Floats
    residual: scipy.sparse.csr_array | None = None
    linear: npt.NDArray[np.bool_] | None = None


def block_matrices(network: Network, drawn: Drawn, hyper: Hyper) -> Matrices:
    """Every block in its place, times its factor."""
    count = len(network.reservoirs)
    blocks: list[list[Any]] = [[None] * count for _ in range(count)]
    for k, matrix in enumerate(drawn.recurrent):
        blocks[k][k] = matrix * float(hyper.spectral_radius[k])
    for j, coupling in enumerate(network.couplings):
        blocks[coupling.target][coupling.source] = drawn.couplings[j] * float(hyper.coupling[j])
    W_in = _scaled(hyper.input_scaling, drawn.inputs)
    if drawn.feedback:
        W_in = np.concatenate([W_in, _scaled(hyper.feedback_scaling, drawn.feedback)], axis=1)
    residual = scipy.sparse.csr_array(scipy.sparse.block_diag(drawn.residuals, format="csr")) if drawn.residuals else None
    return Matrices(
        W=scipy.sparse.csr_array(scipy.sparse.block_array(blocks, format="csr")),
        W_in=W_in,
        bias=_scaled(hyper.bias_scaling, drawn.biases),
        leak_rate=np.concatenate([_leak_rates(network, drawn, hyper, k) for k in range(count)]),
        residual=residual,
        linear=np.repeat(network.linear, [each.units for each in network.reservoirs]) if network.linear else None,
    )


def _scaled(factors: tuple[Any, ...], parts: tuple[Floats, ...]) -> Floats:
    return np.concatenate([factor * part for factor, part in zip(factors, parts, strict=True)])


def _leak_rates(network: Network, drawn: Drawn, hyper: Hyper, k: int) -> Floats:
    """alpha_i of every neuron of reservoir k, (n_k,)."""
    leak = float(hyper.leak_rate[k])
    if not hyper.leak_spread:
        return np.full(network.reservoirs[k].units, leak)
    return np.asarray(leak * np.exp(-float(hyper.leak_spread[k]) * drawn.leak_places[k]))
