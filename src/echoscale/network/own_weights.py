"""Input weights and biases of one's own, and sparse input weights, as a description keeps them."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from echoscale import _checks
from echoscale.network.matrix import Matrix

if TYPE_CHECKING:
    from echoscale.network.matrix import SparseLike

    # What users may give: (units, F), or (units,) for one input.
    WeightsLike: TypeAlias = Matrix | npt.ArrayLike | SparseLike


def check_input_weights(value: WeightsLike | None, units: int) -> Matrix | None:
    """W_in (units, F) as a description keeps it; None is drawn."""
    if value is None:
        return None
    column = np.ndim(value) == 1 if not isinstance(value, Matrix) else False  # type: ignore[arg-type]
    kept = Matrix.of(np.asarray(value)[:, None] if column else value, "input_weights")
    if kept.shape[0] != units:
        raise ValueError(f"input_weights must have shape (units, inputs) = ({units}, inputs), got {kept.shape}.")
    return kept


def check_bias(value: npt.ArrayLike | None, units: int, scaling: float) -> tuple[float, ...] | None:
    """b (units,) as a description keeps it; None is drawn."""
    if value is None:
        return None
    try:
        given = np.asarray(value, np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"bias must hold one number for every neuron, got {value!r:.80}.") from error
    if given.shape != (units,):
        raise ValueError(f"bias must have shape (units,) = ({units},), got {given.shape}.")
    if not np.isfinite(given).all():
        where = int(np.flatnonzero(~np.isfinite(given))[0])
        raise ValueError(f"bias must be finite, found {given[where]} for neuron {where}.")
    if not scaling:
        raise ValueError("a bias is given, but bias_scaling, the factor on it, is 0: set bias_scaling=1.0 to have it as it is.")
    return tuple(given.tolist())


def check_input_connections(value: Any, own: Matrix | None) -> int | float | None:
    """How many inputs each neuron hears, a whole number, or the share in (0, 1] of neurons that hear each input; None: all."""
    if value is None:
        return None
    if own is not None:
        raise ValueError(f"input_connections={value!r} is for drawn weights, but input_weights are given: leave it out.")
    if isinstance(value, numbers.Integral):
        return _checks.integer(value, "input_connections", minimum=1)
    share = _checks.number(value, "input_connections")
    if not 0 < share <= 1:
        raise ValueError(
            f"input_connections must be a whole number (inputs that each neuron hears) or a share in (0, 1] (of the neurons "
            f"that hear each input), got {share}."
        )
    return share
