"""Errors relative to the spread of the target."""

from __future__ import annotations

from typing import Any

import numpy as np

from echoscale.series import as_series, is_list_of_series


def nmse(y: Any, y_hat: Any) -> float:
    """NMSE = mean((y_hat - y)^2) / Var(y): 0 is perfect, 1 is what the mean of y achieves.

    y and y_hat are (T,), (T, outputs), (B, T, outputs) or lists of series. Several outputs are normalised one by one and
    averaged.
    """
    truth, guess = _rows(y, "y"), _rows(y_hat, "y_hat")
    if truth.shape != guess.shape:
        raise ValueError(f"y and y_hat must have the same shape, got {truth.shape} and {guess.shape}.")
    variance = truth.var(axis=0)
    if not (variance > 0).all():
        raise ValueError("y is constant: its variance is 0, so errors cannot be normalised by it.")
    return float((((guess - truth) ** 2).mean(axis=0) / variance).mean())


def nrmse(y: Any, y_hat: Any) -> float:
    """NRMSE = sqrt(mean((y_hat - y)^2) / Var(y)) (paper, NARMA10); see `nmse`."""
    return float(np.sqrt(nmse(y, y_hat)))


def _rows(values: Any, name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """(rows, outputs) of all series together."""
    series = as_series(values, name=name)
    if is_list_of_series(values) or series.kind == "batch":
        return np.concatenate(list(series.values))
    return np.asarray(series.values[0])
