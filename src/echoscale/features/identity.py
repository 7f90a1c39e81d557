"""What features depend on, as two checksums: one of the network with its numbers, one of the inputs."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale.esn import ESN
from echoscale.hyper import Hyper

AT_ONCE = 1 << 26  # bytes of inputs


def of_network(esn: ESN, hyper: Hyper) -> str:
    """sha256 of all that makes states out of inputs: drawn matrices, the graph, leak rates and scalings, the precision."""
    network = esn.network
    links = [(each.source, each.target) for each in network.couplings]
    digest = hashlib.sha256(repr((esn.dtype, esn.n_inputs, esn.sizes, links, network.coupling_delay)).encode())
    for matrix in (*esn.drawn.recurrent, *esn.drawn.couplings):
        for part, dtype in ((matrix.data, "<f8"), (matrix.indices, "<i8"), (matrix.indptr, "<i8")):
            _add(digest, part, dtype)
    for values in (*esn.drawn.inputs, *esn.drawn.biases, *(leaf for leaves in hyper for leaf in leaves)):
        _add(digest, np.asarray(values), "<f8")
    return digest.hexdigest()


def of_inputs(u: npt.NDArray[Any]) -> str:
    """sha256 of the inputs that are run, (B, T, F), in the precision in which they are run."""
    digest = hashlib.sha256(repr(u.shape).encode())
    rows = max(AT_ONCE // u[0].nbytes, 1)  # in parts: a cut or turned array is copied
    for begin in range(0, len(u), rows):
        _add(digest, u[begin : begin + rows], u.dtype.newbyteorder("<"))
    return digest.hexdigest()


def _add(digest: Any, array: npt.NDArray[Any], dtype: Any) -> None:
    digest.update(np.ascontiguousarray(array, dtype).data)
