"""Errors relative to the variance of the target, and the time for which a forecast stays valid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from echoscale._internal import checks
from echoscale.data.scaling import is_constant
from echoscale.data.series import Numbers, Series, SeriesLike, as_numbers, as_series

# Smallest gain, as a share of the error, that is worth a change.
LEAST_GAIN = 0.02


def clearly_less(rows: float = np.inf) -> float:
    """The ratio of two errors below which the smaller error is clearly smaller: 1 - max(0.02, 1 / sqrt(rows)).

    By chance alone, an error on this number of rows varies by about 1 / sqrt(rows) of its size.
    """
    return 1 - max(LEAST_GAIN, float(rows**-0.5))


def nmse(y: SeriesLike | Series, y_hat: SeriesLike | Series) -> float:
    """Returns the normalised mean squared error.

        NMSE = mean((y_hat - y)^2) / Var(y)

    0 is a perfect prediction; 1 is the error of the mean of y. Several outputs are normalised separately and averaged.

    Parameters
    ----------
    y : (T,), (T, O), (B, T, O) or list of series
        True values; no output may be constant.
    y_hat : as y
        Predictions.

    See Also
    --------
    echoscale.nrmse : Square root of the NMSE.

    Examples
    --------
    >>> import echoscale as es
    >>> es.nmse([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 2.0, 2.0])
    0.2
    """
    both = list(_series(y, "y").values), list(_series(y_hat, "y_hat").values)
    _check_shapes(*both)
    truth, guess = map(np.concatenate, both)
    if is_constant(truth).any():
        raise ValueError("y is constant: its variance is 0, so errors cannot be normalised by it.")
    # In units of a power of two near the largest number, which changes no bit and keeps squares finite.
    unit = np.ldexp(1.0, -np.frexp(np.abs(truth).max(axis=0))[1])
    truth, guess = truth * unit, guess * unit
    return float((((guess - truth) ** 2).mean(axis=0) / truth.var(axis=0)).mean())


def nrmse(y: SeriesLike | Series, y_hat: SeriesLike | Series) -> float:
    """Returns the normalised root mean squared error, the paper's error on NARMA10.

        NRMSE = sqrt(NMSE) = sqrt(mean((y_hat - y)^2) / Var(y))

    0 is a perfect prediction; 1 is the error of the mean of y.

    Parameters
    ----------
    y : (T,), (T, O), (B, T, O) or list of series
        True values; no output may be constant.
    y_hat : as y
        Predictions.

    Examples
    --------
    >>> import echoscale as es
    >>> es.nrmse([0.0, 1.0, 2.0, 3.0], [1.5, 1.5, 1.5, 1.5])
    1.0
    """
    return float(np.sqrt(nmse(y, y_hat)))


def valid_time(
    y: SeriesLike | Series,
    y_hat: SeriesLike | Series,
    *,
    threshold: float = 0.4,
    dt: float = 1.0,
    lyapunov: float | None = None,
    spread: float | SeriesLike | None = None,
) -> Any:
    """Returns the time for which a forecast stays close to the truth.

        t* = first t with d(t) > threshold,    d(t)^2 = mean over outputs of (y_hat - y)^2 / spread^2

    Step t of a forecast has the time t dt. A forecast that is wrong from its first value has a valid time of 0. A forecast that
    is never wrong has the valid time T dt. NaN and infinity count as wrong.

    Parameters
    ----------
    y : (T,), (T, O), (B, T, O) or list of (T_b, O)
        True values after the origin, or after each of B origins.
    y_hat : as y
        Forecasts.
    threshold : float, default 0.4
        Largest error d of a valid forecast, in standard deviations.
    dt : float, default 1.0
        Time between two steps.
    lyapunov : float or None
        Largest Lyapunov exponent, per unit of time. If given, the result is in Lyapunov times, lyapunov t*.
    spread : float, (O,) or None
        Standard deviations of the outputs. None: measured on y; a longer series gives better values.

    Returns
    -------
    float or (B,) array
        Valid time of every origin.

    Examples
    --------
    >>> import echoscale as es
    >>> import numpy as np
    >>> truth = np.array([0.0, 1.0, 0.0, -1.0, 0.0, 1.0])
    >>> es.valid_time(truth, truth + [0, 0, 0, 0.1, 0.5, 0], spread=1.0, dt=0.1)
    0.4
    """
    truth = _series(y, "y")
    limit, step = checks.non_negative(threshold, "threshold"), checks.non_negative(dt, "dt")
    rate = 1.0 if lyapunov is None else checks.non_negative(lyapunov, "lyapunov")
    guesses = _unchecked(y_hat, truth)
    deviation = np.concatenate(list(truth.values)).std(axis=0) if spread is None else np.asarray(spread, np.float64)
    if deviation.ndim > 1 or deviation.size not in (1, truth.features):
        raise ValueError(f"spread must be one number or one for each of {truth.features} outputs, got shape {deviation.shape}.")
    if not (deviation > 0).all():
        raise ValueError("the standard deviation of an output is 0: errors cannot be normalised by it. Give spread.")
    found = []
    for one, other in zip(truth.values, guesses, strict=True):
        with np.errstate(over="ignore", invalid="ignore"):
            held = np.sqrt((((other - one) / deviation) ** 2).mean(axis=1)) <= limit  # False for NaN
        found.append((len(one) if held.all() else int(np.argmin(held))) * step * rate)
    return found[0] if truth.kind == "one" else np.array(found)


def _unchecked(y_hat: Any, truth: Series) -> list[Any]:
    """Forecasts as they are, finite or not, in the shape of the truth."""
    given = list(y_hat.values) if isinstance(y_hat, Series) else [y_hat] if truth.kind == "one" else list(y_hat)
    guesses = [as_numbers(each, "y_hat", np.float64) for each in given]
    guesses = [each[:, None] if each.ndim == 1 else each for each in guesses]
    _check_shapes(list(truth.values), guesses)
    return guesses


def _check_shapes(truth: Sequence[Numbers], guesses: Sequence[Numbers]) -> None:
    ours, theirs = [each.shape for each in truth], [each.shape for each in guesses]
    if ours != theirs:
        shapes = f"{ours} and {theirs}" if len(ours) < 10 else f"{len(ours)} and {len(theirs)} series"
        raise ValueError(f"y and y_hat must have the same shape, series by series, got {shapes}.")


def _series(values: SeriesLike | Series, name: str) -> Series:
    """Checked series; a list of arrays of one axis, as estimators return it, is a list of series with one output."""
    if isinstance(values, list | tuple) and values and all(getattr(each, "ndim", 0) == 1 for each in values):
        values = [np.asarray(each)[:, None] for each in values]
    return as_series(values, name=name)
