"""Errors relative to the spread of the target, and how long a forecast stays below one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from echoscale._internal import checks
from echoscale.data.scaling import is_constant
from echoscale.data.series import Numbers, Series, SeriesLike, as_numbers, as_series

# A smaller gain, as a share of the error, is not worth a change.
LEAST_GAIN = 0.02


def clearly_less(rows: float = np.inf) -> float:
    """The ratio of two errors below which the smaller one counts as clearly smaller: 1 - max(0.02, 1 / sqrt(rows)).

    By chance alone, an error on this number of rows varies by about 1 / sqrt(rows) of its size.
    """
    return 1 - max(LEAST_GAIN, float(rows**-0.5))


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
    both = list(_series(y, "y").values), list(_series(y_hat, "y_hat").values)
    _check_shapes(*both)
    truth, guess = map(np.concatenate, both)
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


def valid_time(
    y: SeriesLike | Series,
    y_hat: SeriesLike | Series,
    *,
    threshold: float = 0.4,
    dt: float = 1.0,
    lyapunov: float | None = None,
    spread: float | SeriesLike | None = None,
) -> Any:
    """t* = the first t at which d(t) > threshold, d(t)^2 = mean over outputs of (y_hat - y)^2 / spread^2, in units of time.

    Step t of a forecast is at time t dt: one that is wrong from its first value on has a valid time of 0, and one that never
    is has that of its whole length, T dt. NaN and infinity count as wrong.

    Parameters
    ----------
    y : (T,), (T, O), (B, T, O) or list of (T_b, O)
        The truth after the origin, or after each of B origins.
    y_hat : as y
        The forecasts.
    threshold : float
        Of d, in standard deviations.
    dt : float
        Time between two steps.
    lyapunov : float or None
        The largest Lyapunov exponent, per unit of time: the result is then in Lyapunov times, lyapunov t*.
    spread : float, (O,) or None
        Standard deviations of the outputs. None: of all of y. A long series gives better ones.

    Returns
    -------
    float or (B,) array
        The valid time, of every origin.

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
            held = np.sqrt((((other - one) / deviation) ** 2).mean(axis=1)) <= limit  # what is not a number is not
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
