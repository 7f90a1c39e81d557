"""What becomes of a neuron's last state: the matrix O of x(t+1) = (1 - alpha) O x(t) + alpha tanh(...).

The identity lets states fade where they are; an orthogonal O turns or moves them, and keeps their length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from echoscale import _checks
from echoscale.network.matrix import Matrix

if TYPE_CHECKING:
    import numpy.typing as npt

    from echoscale.network.matrix import SparseLike

# Name -> what O x is: the state itself, x_i from neuron i - 1 (the last one's goes to the first), or a random rotation of x.
IDENTITY, SHIFT, ORTHOGONAL = RESIDUALS = ("identity", "shift", "orthogonal")
TOLERANCE = 1e-8

Residual: TypeAlias = str | Matrix
if TYPE_CHECKING:
    # What users may give.
    ResidualLike: TypeAlias = Residual | npt.ArrayLike | SparseLike


def check_residual(value: ResidualLike, units: int) -> Residual:
    """A residual as a description keeps it: a name, or an orthogonal `Matrix` (units, units)."""
    if isinstance(value, str):
        name: str = _checks.choice(value, RESIDUALS, "residual")
        return name
    kept = Matrix.of(value, "residual")
    if kept.shape != (units, units):
        raise ValueError(f"a residual matrix must have shape (units, units) = ({units}, {units}), got {kept.shape}.")
    matrix = kept.sparse()
    off = matrix.T @ matrix - np.eye(units)
    largest = float(np.abs(off).max())
    if not largest <= TOLERANCE:  # NaN among them
        raise ValueError(
            f"a residual matrix O must be orthogonal: an entry of O^T O - I is {largest:.3g}. Take Q of numpy.linalg.qr(O), "
            'or residual="orthogonal".'
        )
    return kept
