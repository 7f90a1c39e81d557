"""Errors relative to the spread of the target."""

from __future__ import annotations

import numpy as np

from echoscale.scaling import is_constant
from echoscale.series import Series, SeriesLike, as_series


def nmse(y: SeriesLike | Series, y_hat: SeriesLike | Series) -> float:
    """NMSE = mean((y_hat - y)^2) / Var(y): 0 is perfect, 1 is what the mean of y achieves.

    Several outputs are normalised one by one and averaged.

    Parameters
    ----------
    y : (T,), (T, O), (B, T, O) or list of series
        The truth; no output of it may be constant.
    y_hat : as y
        What was predicted.

    Examples
    --------
    >>> import echoscale as es
    >>> es.nmse([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 2.0, 2.0])
    0.2
    """
    both = _series(y, "y"), _series(y_hat, "y_hat")
    ours, theirs = ([each.shape for each in series.values] for series in both)
    if ours != theirs:
        shapes = f"{ours} and {theirs}" if len(ours) < 10 else f"{len(ours)} and {len(theirs)} series"
        raise ValueError(f"y and y_hat must have the same shape, series by series, got {shapes}.")
    truth, guess = (np.concatenate(list(series.values)) for series in both)
    if is_constant(truth).any():
        raise ValueError("y is constant: its variance is 0, so errors cannot be normalised by it.")
    # In units of a power of two near the largest number, which changes no bit: squares then stay numbers.
    unit = np.ldexp(1.0, -np.frexp(np.abs(truth).max(axis=0))[1])
    truth, guess = truth * unit, guess * unit
    return float((((guess - truth) ** 2).mean(axis=0) / truth.var(axis=0)).mean())


def nrmse(y: SeriesLike | Series, y_hat: SeriesLike | Series) -> float:
    """NRMSE = sqrt(NMSE) = sqrt(mean((y_hat - y)^2) / Var(y)): the paper's error on NARMA10.

    Parameters
    ----------
    y : (T,), (T, O), (B, T, O) or list of series
        The truth; no output of it may be constant.
    y_hat : as y
        What was predicted.

    Examples
    --------
    >>> import echoscale as es
    >>> es.nrmse([0.0, 1.0, 2.0, 3.0], [1.5, 1.5, 1.5, 1.5])
    1.0
    """
    return float(np.sqrt(nmse(y, y_hat)))


def _series(values: SeriesLike | Series, name: str) -> Series:
    """Checked series; a list of arrays of one axis, as estimators return it, is a list of series with one output."""
    if isinstance(values, list | tuple) and values and all(getattr(each, "ndim", 0) == 1 for each in values):
        values = [np.asarray(each)[:, None] for each in values]
    return as_series(values, name=name)
