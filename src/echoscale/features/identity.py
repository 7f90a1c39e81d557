"""What features depend on, as two fingerprints: one of the network with its hyper-parameters, one of the inputs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from echoscale.esn import ESN
from echoscale.fingerprint import fingerprint
from echoscale.hyper import Hyper
from echoscale.series import Numbers

AT_ONCE = 1 << 24  # bytes of inputs that are copied to be read


def of_network(esn: ESN, hyper: Hyper) -> str:
    """All that makes states out of inputs: drawn matrices, the graph, leak rates and scalings, the precision."""

    def plain(values: npt.ArrayLike, dtype: npt.DTypeLike = np.float64) -> Numbers:
        return np.asarray(values, dtype)  # indices have 32 or 64 bits

    drawn, network = esn.drawn, esn.network
    sparse = [
        (plain(each.data), plain(each.indices, np.int64), plain(each.indptr, np.int64))
        for each in (*drawn.recurrent, *drawn.couplings, *drawn.residuals)
    ]
    return fingerprint(
        {
            "precision": (esn.dtype, esn.columns, esn.sizes),
            "graph": ([(each.source, each.target) for each in network.couplings], network.coupling_delay),
            "sparse": sparse,
            "dense": [plain(each) for each in (*drawn.inputs, *drawn.biases, *drawn.feedback, *drawn.leak_places)],
            "hyper": [[plain(leaf) for leaf in leaves] for leaves in hyper],
            "linear": network.linear,
        }
    )


def of_inputs(u: Numbers) -> str:
    """The inputs that are run, (B, T, F), in the precision in which they are run; some sequences at once, not all."""
    rows = max(AT_ONCE // u[0].nbytes, 1)
    return fingerprint({"sequences": [u[begin : begin + rows] for begin in range(0, len(u), rows)]})
