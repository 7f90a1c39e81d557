"""Whether a model was fitted one step ahead, y(t) = u(t + 1), so that its outputs can be its next inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale.series import Series, is_next_input

Array = npt.NDArray[Any]

NOT_SHOWN = "nothing that it was fitted to shows that y[t] is X[t + 1]."


def why_not(series: Series, targets: Series, ends: Array | None = None) -> str:
    """Why outputs cannot be the next inputs, in words; empty where y(t) = u(t + 1), as far as the data show.

    Parameters
    ----------
    series, targets : Series
        What was fitted, in units of the data.
    ends : (O,) or (B, O), optional
        The targets of the step before the first.
    """
    if series.features != targets.features:
        return f"this one has {targets.features} outputs and {series.features} inputs."
    pairs = [*zip(series.values, targets.values, strict=True)]
    if ends is not None:
        first = np.reshape(ends, (series.count, -1))[:, None]
        pairs = [(np.concatenate([one, u]), np.concatenate([one, y])) for (u, y), one in zip(pairs, first, strict=True)]
    if all(np.isnan(y[:-1]).any(axis=1).all() for _, y in pairs):
        return NOT_SHOWN
    if all(is_next_input(u, y) for u, y in pairs):
        return ""
    known = [~np.isnan(y[:-1]).any(axis=1) for _, y in pairs]
    u, y = (np.concatenate([each[k] for each, k in zip(part, known, strict=True)]) for part in _next(pairs))
    with np.errstate(invalid="ignore", divide="ignore"):
        alike = [abs(np.corrcoef(u[:, k], y[:, k])[0, 1]) > 1 - 1e-6 for k in range(u.shape[1])] if len(u) > 2 else [False]
    if all(alike):
        return (
            "its targets are the next inputs in other units: a scaler stands before the model. Leave the scaler out; "
            'scale="standard" does the same inside.'
        )
    return "y[t] is not X[t + 1] in what it was fitted to (a model for more than one step ahead, or of another quantity)."


def _next(pairs: Sequence[tuple[Array, Array]]) -> tuple[list[Array], list[Array]]:
    """u(t + 1) and y(t)."""
    return [u[1:] for u, _ in pairs], [y[:-1] for _, y in pairs]
