"""Targets of a stream at every step, and where there are none."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from echoscale.data.series import Numbers, Series, as_numbers, check_rows
from echoscale.data.targets import one_hot


def read(
    y: npt.ArrayLike, series: Series, loss: str, outputs: int, dtype: npt.DTypeLike
) -> tuple[Numbers, npt.NDArray[np.bool_]]:
    """Targets (B, T, O) of the series, zero where there is none, and where there is one, (B, T).

    A step whose target holds a NaN has none. For "softmax", (T,) or (B, T) are numbers of classes from 0 on.
    """
    check_rows(y, series)
    raw = as_numbers(y, "y", np.float64)
    whole = raw[None] if series.kind == "one" else raw
    shape = (series.count, int(series.lengths[0]))
    labels = whole.shape == shape
    if labels and loss == "softmax":
        whole = _codes(whole, outputs)
    elif labels and outputs == 1:
        whole = whole[..., None]
    if whole.shape != (*shape, outputs):
        raise ValueError(f"y has shape {np.shape(y)}, but the input needs {_wanted(series, loss, outputs)}.")
    if np.isinf(whole).any():
        b, t, _ = np.argwhere(np.isinf(whole))[0]
        raise ValueError(f"y must be finite, or NaN where there is no target; found infinity at step {t} of sequence {b}.")
    there: npt.NDArray[np.bool_] = np.asarray(~np.isnan(whole).any(axis=-1))
    filled = np.where(there[..., None], whole, 0.0)
    if loss != "mse":
        _check_probabilities(filled, there, loss)
    return filled.astype(dtype), there


def _codes(labels: npt.NDArray[np.float64], outputs: int) -> npt.NDArray[np.float64]:
    known = labels[~np.isnan(labels)]
    wrong = known[(known != np.floor(known)) | (known < 0) | (known >= outputs)]
    if wrong.size:
        raise ValueError(
            f"y holds {wrong[0]:g}: with loss='softmax' and one number a step it must be a class, a whole number from 0 to "
            f"{outputs - 1}."
        )
    hot = one_hot(labels, np.arange(outputs))
    hot[np.isnan(labels)] = np.nan
    return hot


def _check_probabilities(y: npt.NDArray[np.float64], there: npt.NDArray[np.bool_], loss: str) -> None:
    if ((y < 0) | (y > 1)).any():
        wrong = y[(y < 0) | (y > 1)][0]
        raise ValueError(
            f"y holds {wrong:g}: with loss={loss!r} targets are probabilities from 0 to 1. Use loss='mse' for others."
        )
    sums = y.sum(axis=-1)[there]
    if loss == "softmax" and (np.abs(sums - 1) > 1e-6).any():
        wrong = sums[np.abs(sums - 1) > 1e-6][0]
        raise ValueError(f"the {y.shape[-1]} targets of a step add up to {wrong:g}: with loss='softmax' they must add up to 1.")


def _wanted(series: Series, loss: str, outputs: int) -> str:
    length = int(series.lengths[0])
    lead = f"({length}" if series.kind == "one" else f"({series.count}, {length}"
    if loss == "softmax":
        return f"{lead}) with numbers of classes, or {lead}, {outputs})"
    return f"{lead}) or {lead}, 1)" if outputs == 1 else f"{lead}, {outputs}), for outputs={outputs}"
