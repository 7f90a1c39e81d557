"""Rows with more features than there are rows, turned into as many features as rows: ridge regression sees no difference.

    X^T = Q R   =>   X = R^T Q^T,     W on X  =  (W on R^T) Q^T        with Q^T Q = 1

The least-norm solution lies in the span of the rows, and turning it changes no norm. A hundred sequences with a thousand
features each cost as much as a hundred features.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale.readouts.ridge import Readout, threads_for

Floats = npt.NDArray[np.float64]


class Turned(NamedTuple):
    """Rows, and the way back.

    Attributes
    ----------
    rows : (R, min(R, F))
        R^T, or the rows themselves where there are enough of them.
    basis : (F, R) or None
        Q; None where the rows were left as they are.
    """

    rows: Floats
    basis: Floats | None

    def back(self, readout: Readout) -> Readout:
        """A readout of `rows` as one of the features.

        Parameters
        ----------
        readout : Readout
            W (..., O, R) and b.
        """
        return readout if self.basis is None else readout._replace(coef=readout.coef @ self.basis.T)


def turned(features: npt.ArrayLike) -> Turned:
    """The rows turned into the space that they span, where that is the smaller one.

    Parameters
    ----------
    features : (R, F)
        Rows; centre them first where there is an intercept.
    """
    x = np.asarray(features, np.float64)
    if len(x) >= x.shape[1]:
        return Turned(x, None)
    with threads_for(x.T):
        q, r = np.linalg.qr(x.T)
    return Turned(np.ascontiguousarray(r.T), q)
