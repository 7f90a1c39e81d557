"""Ridge readouts from the rows themselves, for penalties so small that a Gram matrix would lose them in rounding.

    (1, X, Y) = Q R,   X = U s V^T   =>   W = Y^T U s / (s^2 + ridge) V^T

A Gram matrix squares the singular values: of X^T X, those below 1e-8 of the largest are rounding. The triangular factor R of
a QR decomposition keeps them down to 1e-16. Like statistics, factors add up: the factor of two pieces is the factor of their
factors, stacked. Folds therefore cost decompositions of small matrices here too, and no row is needed twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Floats
from echoscale.readouts.penalties import RELATIVE
from echoscale.readouts.ridge import Readout, threads_for

# In relative units: if the best penalty is as small as this, the Gram matrix may be too ill-conditioned.
FROM = 1e-10
# Largest number of entries in float64 that may be held for an exact solution.
MOST_BYTES = 512 << 20
# 0, half decades below the path of Gram matrices, then that path.
EXACT_RELATIVE = np.concatenate([[0.0], 10.0 ** np.arange(-24, -12, 0.5), RELATIVE])


@dataclass(frozen=True, eq=False)
class Factor:
    """R of (1, X, Y) = Q R. Factors of two pieces of data add up: `one + other`.

    Attributes
    ----------
    count : float
        Rows.
    r : (k, 1 + F + O)
        R, with k <= its columns.
    features : int
        F.
    """

    count: float
    r: Floats
    features: int

    def __add__(self, other: Factor) -> Factor:
        """The factor of both pieces together."""
        return Factor(self.count + other.count, _triangle(np.concatenate([self.r, other.r])), self.features)

    @property
    def centred(self) -> tuple[Floats, Floats]:
        """Features and targets about their means: (k, F) and (k, O)."""
        r = self.r[1:, 1:]
        return r[:, : self.features], r[:, self.features :]

    @property
    def unit(self) -> float:
        """The mean squared singular value of the features; 1 if the features are constant."""
        mean_square = float((self.centred[0] ** 2).sum()) / max(self.features, 1)
        return mean_square if mean_square > 0 else 1.0

    @property
    def variance(self) -> Floats:
        """Variance of the targets, (O,)."""
        return np.asarray((self.centred[1] ** 2).sum(axis=0) / self.count)


def factor(features: npt.ArrayLike, targets: npt.ArrayLike) -> Factor:
    """The factor R of rows that are arrays in memory."""
    x, y = np.asarray(features, np.float64), np.asarray(targets, np.float64)
    columns = [np.ones((len(x), 1)), x, y]
    return Factor(float(len(x)), _triangle(np.concatenate(columns, axis=1)), x.shape[1])


def path(whole: Factor, ridge: Sequence[float] | Floats) -> Readout:
    """V s / (s^2 + ridge) U^T Y for all penalties, from one decomposition; 0 is least squares of minimum norm."""
    penalties = np.asarray(ridge, np.float64)
    x, y = whole.centred
    with threads_for(x):
        u, s, vt = np.linalg.svd(x, full_matrices=False)
    # Singular values that are only rounding count as 0, which gives the minimum-norm solution.
    noise = np.finfo(np.float64).eps * max(x.shape) * s.max(initial=0.0)
    kept = np.where(s > noise, s, 0.0)
    weight = np.divide(kept, kept**2 + penalties[:, None], out=np.zeros((len(penalties), len(s))), where=kept > 0)
    coef = np.swapaxes(vt.T @ (weight[..., None] * (u.T @ y)), -1, -2)
    mean = whole.r[0, 1:] / whole.r[0, 0]
    return Readout(coef, mean[whole.features :] - coef @ mean[: whole.features], penalties)


def path_squares(train: Factor, held_out: Factor, relative: Floats) -> Floats:
    """Summed squared errors on the held-out rows along the path, (R, O), without squares of singular values.

    sum |y - W x - b|^2 = |R_y - R_x W^T - R_1 b^T|^2: no cancellation.
    """
    readout = path(train, relative * train.unit)
    r, f = held_out.r, held_out.features + 1
    apart = r[:, f:] - r[:, 1:f] @ np.swapaxes(readout.coef, -1, -2) - r[:, :1] * readout.intercept[..., None, :]
    return np.asarray((apart**2).sum(axis=-2))


def _triangle(rows: Floats) -> Floats:
    with threads_for(rows):
        return np.asarray(np.linalg.qr(rows, mode="r"), np.float64)
