"""Decay and frequency of a residual level: M = (1 - alpha) O + alpha rho W, its eigenvalues lambda = |lambda| e^(i theta).

    lambda = (1 - alpha) lambda_O + alpha rho lambda_W                           where O and W commute (shift and ring)
    |lambda|^2 within (1 - alpha)^2 +- (alpha rho)^2, theta uniform on the circle     O a shift or random, W large and random

A mode's envelope falls by a factor e in the decay time -dt / log |lambda|, and the mode oscillates with the period
2 pi dt / |theta|. With O a shift or a random rotation the two are independent: leak rate and spectral radius set the decay
time, O sets all frequencies. (The moduli: Ahmadian, Fumarola and Miller 2015, for M = M_0 + L W R with M_0 = (1 - alpha) O.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.types import Floats


def decay_bounds(leak_rate: npt.ArrayLike, spectral_radius: npt.ArrayLike, dt: float = 1.0) -> tuple[Any, Any]:
    """Shortest and longest decay time of a residual reservoir (`residual` "shift" or "orthogonal").

        -dt / log |lambda|   at   |lambda|^2 = (1 - alpha)^2 -+ (alpha rho)^2

    The shortest is 0 if alpha rho >= 1 - alpha. The longest is infinite if the largest modulus reaches 1.

    Parameters
    ----------
    leak_rate : float or array
        Leak rate alpha in (0, 1].
    spectral_radius : float or array
        Spectral radius rho >= 0.
    dt : float
        Time between two steps.

    Returns
    -------
    (shortest, longest)
        Floats or arrays, in units of time.

    Examples
    --------
    >>> import echoscale as es
    >>> [round(float(each), 2) for each in es.timescales.decay_bounds(leak_rate=0.1, spectral_radius=0.9)]
    [9.06, 9.96]
    """
    kept, driven = _squares(leak_rate, spectral_radius, dt)
    return _decay(np.maximum(kept - driven, 0), dt)[()], _decay(kept + driven, dt)[()]


def decay_cumulative(time: npt.ArrayLike, leak_rate: npt.ArrayLike, spectral_radius: npt.ArrayLike, dt: float = 1.0) -> Any:
    """Probability of a decay time up to `time` in a residual reservoir (`residual` "shift" or "orthogonal").

        P = 1/2 + (2 r^2 - sqrt(s^2 + 4 c r^2)) / (2 s),   r = e^(-dt / time),   c = (1 - alpha)^2,   s = (alpha rho)^2

    P is 0 below and 1 above `decay_bounds`. All arguments broadcast.

    Parameters
    ----------
    time : float or array
        Decay times, in units of time.
    leak_rate : float or array
        Leak rate alpha in (0, 1].
    spectral_radius : float or array
        Spectral radius rho > 0.
    dt : float
        Time between two steps.

    Returns
    -------
    float or array
        Probability.

    Examples
    --------
    >>> import echoscale as es
    >>> round(float(es.timescales.decay_cumulative(9.5, leak_rate=0.1, spectral_radius=0.9)), 3)
    0.508
    """
    kept, driven = _squares(leak_rate, spectral_radius, dt, above=True)
    square = _modulus(time, dt) ** 2
    # (2 r^2 - root) / (2 s) + 1/2, each part of the size of s: no digits are lost where s is small.
    root = np.sqrt(driven**2 + 4 * kept * square)
    share = 0.5 + (4 * square**2 - driven**2 - 4 * kept * square) / (2 * driven * (2 * square + root + 1e-300))
    return np.where(square <= kept - driven, 0.0, np.where(square >= kept + driven, 1.0, share))[()]


def decay_density(time: npt.ArrayLike, leak_rate: npt.ArrayLike, spectral_radius: npt.ArrayLike, dt: float = 1.0) -> Any:
    """Density of the decay times of a residual reservoir, the derivative of `decay_cumulative`.

        p(time) = 2 r^2 dt / (s time^2) (1 - c / sqrt(s^2 + 4 c r^2))

    Parameters
    ----------
    time : float or array
        Decay times, in units of time.
    leak_rate : float or array
        Leak rate alpha in (0, 1].
    spectral_radius : float or array
        Spectral radius rho > 0.
    dt : float
        Time between two steps.

    Returns
    -------
    float or array
        p(time), per unit of time.

    Examples
    --------
    >>> import numpy as np, echoscale as es
    >>> times = np.linspace(8, 12, 4001)
    >>> round(float(np.trapezoid(es.timescales.decay_density(times, 0.1, 0.9), times)), 2)
    1.0
    """
    kept, driven = _squares(leak_rate, spectral_radius, dt, above=True)
    times = np.asarray(time, np.float64)
    square = _modulus(times, dt) ** 2
    slope = 2 * square / driven * (1 - kept / np.sqrt(driven**2 + 4 * kept * square))
    inside = (square > kept - driven) & (square < kept + driven) & (times > 0)
    return np.where(inside, slope * dt / np.where(times > 0, times, 1.0) ** 2, 0.0)[()]


def period_cumulative(period: npt.ArrayLike, dt: float = 1.0) -> Any:
    """Probability of a period up to p in a residual reservoir, the same for all leak rates and spectral radii.

        P = 1 - 2 dt / p   for p >= 2 dt, else 0

    Parameters
    ----------
    period : float or array
        Periods p, in units of time.
    dt : float
        Time between two steps.

    Returns
    -------
    float or array
        Probability.

    Examples
    --------
    >>> import echoscale as es
    >>> float(es.timescales.period_cumulative(4.0))
    0.5
    """
    step = checks.time_step(dt)
    p = np.asarray(period, np.float64)
    return np.maximum(1 - 2 * step / np.maximum(p, step), 0.0)[()]


def _modulus(time: npt.ArrayLike, dt: float) -> Floats:
    times = np.asarray(time, np.float64)
    if np.isnan(times).any():
        raise ValueError("time holds NaN; decay times are numbers.")
    return np.where(times > 0, np.exp(-dt / np.where(times > 0, times, 1.0)), 0.0)


def _decay(square: Floats, dt: float) -> Floats:
    """-dt / log |lambda| from squared moduli; 0 for 0, infinite from 1 on."""
    with np.errstate(divide="ignore"):
        rate = -np.log(square) / 2
        return np.where(rate > 0, dt / rate, np.inf)


def _squares(leak_rate: npt.ArrayLike, spectral_radius: npt.ArrayLike, dt: float, above: bool = False) -> tuple[Floats, Floats]:
    """c = (1 - alpha)^2 and s = (alpha rho)^2, checked."""
    checks.time_step(dt)
    alpha, rho = np.asarray(leak_rate, np.float64), np.asarray(spectral_radius, np.float64)
    if not ((alpha > 0) & (alpha <= 1)).all():
        raise ValueError(f"leak_rate must lie in (0, 1], got {alpha.tolist()}.")
    if not ((rho > 0) | ((rho == 0) & (not above))).all() or not np.isfinite(rho).all():
        raise ValueError(f"spectral_radius must be finite and {'above' if above else 'at least'} 0, got {rho.tolist()}.")
    return (1 - alpha) ** 2, (alpha * rho) ** 2
