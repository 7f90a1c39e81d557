"""Timescales of a reservoir whose neurons have different leak rates: M = I - A + rho A W, A = diag(alpha_1 ... alpha_n).

Neurons exchange their timescales through W: the spectrum is not a plain mixture of one disc per leak rate, except at rho = 0.
For large random W the eigenvalues 1 + z lie where

    rho^2 mean_i alpha_i^2 / |z + alpha_i|^2 >= 1

(Ahmadian, Fumarola and Miller 2015, for M = M_0 + L W R). Let w(z) be the root of rho^2 mean_i alpha_i^2 / D_i = 1 above 0,
with D_i = |z + alpha_i|^2 + w alpha_i^2, and w = 0 if there is none. The share of eigenvalues left of x is a mixture over the
neurons:

    P(Re z <= x) = 1/2 + 1 / (2 pi) mean_i integral over y of (x + alpha_i) / D_i(x + i y),   tau = -dt / Re z

With a single leak rate this is `timescales.cumulative`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.types import Floats
from echoscale.network.leaks import LogNormal, LogUniform, places_of

QUANTILES = 200  # that stand for a distribution
NODES = 24  # of the quadrature over y
MOST_ROUNDS = 60
AT_ONCE = 1 << 18  # numbers that fit into the cache
TINY = 1e-60  # avoids 0 / 0 where x is minus a neuron's leak rate


def mixture_cumulative(
    tau: npt.ArrayLike, leak_rates: npt.ArrayLike | LogUniform | LogNormal, spectral_radius: float, dt: float = 1.0
) -> Any:
    """Probability of a timescale up to tau in a reservoir whose neurons have different leak rates.

    Parameters
    ----------
    tau : float or array
        Timescales, in units of time.
    leak_rates : (n,) array, LogUniform or LogNormal
        Leak rates alpha_i of all neurons, such as `esn.matrices().leak_rate`, or their distribution.
    spectral_radius : float
        Spectral radius rho in (0, 1].
    dt : float
        Time between two steps.

    Returns
    -------
    float or array
        Probability.

    Examples
    --------
    >>> import echoscale as es
    >>> round(float(es.timescales.mixture_cumulative(2.0, [0.5, 0.5], spectral_radius=0.9)), 6)
    0.5
    """
    alpha, rho = _checked(leak_rates, spectral_radius, dt)

    def share(x: Floats, inside: Floats, edge: Floats) -> Floats:
        beyond = np.sign(x) * (np.pi / 2 - np.arctan2(edge[:, None], np.abs(x)))
        return np.asarray(0.5 + (inside + beyond.mean(axis=1)) / np.pi)

    return _over(tau, alpha, rho, dt, share, slopes=False)


def mixture_density(
    tau: npt.ArrayLike, leak_rates: npt.ArrayLike | LogUniform | LogNormal, spectral_radius: float, dt: float = 1.0
) -> Any:
    """Density of the timescales of a reservoir whose neurons have different leak rates, the derivative of `mixture_cumulative`.

    Parameters
    ----------
    tau : float or array
        Timescales, in units of time.
    leak_rates : (n,) array, LogUniform or LogNormal
        Leak rates alpha_i of all neurons, or their distribution.
    spectral_radius : float
        Spectral radius rho in (0, 1].
    dt : float
        Time between two steps.

    Returns
    -------
    float or array
        p(tau), per unit of time.

    Examples
    --------
    >>> import echoscale as es
    >>> round(float(es.timescales.mixture_density(1.0, [1.0, 1.0], spectral_radius=0.5)), 4)
    1.2732
    """
    alpha, rho = _checked(leak_rates, spectral_radius, dt)

    def share(x: Floats, inside: Floats, edge: Floats) -> Floats:
        beyond = np.where(edge[:, None] > 0, edge[:, None] / (edge[:, None] ** 2 + x**2 + TINY), 0.0)
        return np.asarray((inside + beyond.mean(axis=1)) / np.pi)

    times = np.asarray(tau, np.float64)
    found = _over(tau, alpha, rho, dt, share, slopes=True)
    return (found * np.divide(dt, times**2, out=np.zeros_like(times), where=times > 0))[()]


def mixture_bounds(
    leak_rates: npt.ArrayLike | LogUniform | LogNormal, spectral_radius: float, dt: float = 1.0
) -> tuple[float, float]:
    """Shortest and longest timescale of a reservoir whose neurons have different leak rates.

        tau = -dt / x   at the real x with   rho^2 mean_i alpha_i^2 / (x + alpha_i)^2 = 1

    Parameters
    ----------
    leak_rates : (n,) array, LogUniform or LogNormal
        Leak rates alpha_i of all neurons, or their distribution.
    spectral_radius : float
        Spectral radius rho in (0, 1].
    dt : float
        Time between two steps.

    Returns
    -------
    (tau_min, tau_max)
        Floats; tau_max is infinite at rho = 1.

    Examples
    --------
    >>> import echoscale as es
    >>> [round(each, 6) for each in es.timescales.mixture_bounds([0.5, 0.5], spectral_radius=0.6)]
    [1.25, 5.0]
    """
    alpha, rho = _checked(leak_rates, spectral_radius, dt)

    def root(near: float, far: float) -> float:
        """The root between a leak rate, where the mean is infinite, and a point where it is below 1."""
        for _ in range(2 * MOST_ROUNDS):
            middle = (near + far) / 2
            with np.errstate(divide="ignore"):
                over = rho**2 * np.mean(alpha**2 / (alpha - middle) ** 2) > 1
            near, far = (middle, far) if over else (near, middle)
        return far

    slow, fast = root(float(alpha.min()), 0.0), root(float(alpha.max()), float(alpha.max()) * (1 + rho) * (1 + 1e-12))
    return dt / fast, dt / slow if slow > 1e-15 else np.inf


def rates_of(leak_rates: npt.ArrayLike | LogUniform | LogNormal) -> Floats:
    """alpha_i, (n,), in units of 1 / step: as given, or quantiles of a distribution."""
    if isinstance(leak_rates, LogUniform | LogNormal):
        made = leak_rates.leaks(QUANTILES)
        return np.asarray(made.leak_rate * np.exp(-made.leak_spread * places_of(made.leak_places, QUANTILES)))
    return np.atleast_1d(np.asarray(leak_rates, np.float64)).ravel()


def _over(tau: npt.ArrayLike, alpha: Floats, rho: float, dt: float, share: Any, slopes: bool) -> Any:
    """A function of x = -dt / tau for several tau at once; the integral over y is split at the edge of the spectrum."""
    times = np.asarray(tau, np.float64)
    if np.isnan(times).any():
        raise ValueError("tau holds NaN; timescales are numbers.")
    with np.errstate(divide="ignore"):
        x = np.where(times > 0, -dt / np.where(times > 0, times, 1.0), -np.inf).ravel()
    x = np.maximum(x, -4 * alpha.max())  # beyond all eigenvalues
    rows = max(AT_ONCE // (len(alpha) * NODES), 1)
    parts = [_part(x[begin : begin + rows], alpha, rho, share, slopes) for begin in range(0, len(x), rows)]
    return np.concatenate(parts).reshape(times.shape)[()] if parts else times


def _part(x: Floats, alpha: Floats, rho: float, share: Any, slopes: bool) -> Floats:
    off, square = x[:, None] + alpha, alpha**2  # (X, n)
    edge = _edge(off, square, rho)
    # y = edge sin(angle): the root of w at the edge becomes smooth.
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    angle = np.pi / 4 * (nodes + 1)
    y = edge[:, None] * np.sin(angle)  # (X, J)
    factor = edge[:, None] * np.cos(angle) * weights * np.pi / 4
    base = (off[:, None] ** 2) + y[..., None] ** 2  # (X, J, n)
    w = _root(base, square, square, rho)
    D = base + w[..., None] * square + TINY
    if slopes:
        moved = -2 * np.sum(square * off[:, None] / D**2, axis=-1) / np.sum(square**2 / D**2, axis=-1)
        terms = 1 / D - off[:, None] * (2 * off[:, None] + moved[..., None] * square) / D**2
    else:
        terms = off[:, None] / D
    inside = np.sum(np.mean(terms, axis=-1) * factor, axis=1)
    return np.asarray(share(off, inside, edge))


def _edge(off: Floats, square: Floats, rho: float) -> Floats:
    """The largest imaginary part y of an eigenvalue at each x, (X,); 0 if there is none."""
    return np.sqrt(_root(off**2, square, np.ones_like(square), rho))


def _root(base: Floats, square: Floats, weight: Floats, rho: float) -> Floats:
    """v >= 0 with rho^2 mean(square / (base + v weight)) = 1, the mean over the last axis; 0 if there is none above 0.

    Newton's method on 1 / mean = rho^2, whose left side is concave and nearly linear in v, rises from 0 to the root.
    """
    v: Floats = np.zeros(base.shape[:-1])
    most = rho**2 * float(np.max(square / weight))  # upper bound of the root
    for _ in range(MOST_ROUNDS):
        D = base + v[..., None] * weight + TINY
        mean = np.mean(square / D, axis=-1)
        step = (rho**2 - 1 / mean) * mean**2 / np.mean(square / D * (weight / D), axis=-1)
        v = np.maximum(v + step, 0)
        if ((np.abs(step) <= 1e-13 * most) | (v == 0)).all():
            break
    return v


def _checked(leak_rates: npt.ArrayLike | LogUniform | LogNormal, spectral_radius: float, dt: float) -> tuple[Floats, float]:
    checks.time_step(dt)
    alpha, rho = rates_of(leak_rates), checks.number(spectral_radius, "spectral_radius")
    if not len(alpha) or not ((alpha > 0) & (alpha <= 1)).all():
        raise ValueError(f"leak_rates must lie in (0, 1], got {alpha.min(initial=np.inf):g} to {alpha.max(initial=0):g}.")
    if not 0 < rho <= 1:
        raise ValueError(f"the theory holds for a spectral radius in (0, 1], got {rho}: above 1 no tau_max exists.")
    return alpha, rho
