"""Closed forms for the timescales of one reservoir in the linear regime (paper, "Survey of timescales").

    tau = dt / (leak_rate (1 - spectral_radius Re(lambda_W))),   lambda_W uniform in the unit disc

The disc is the limit of large random matrices with independent weights (the circular law).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.plots import new_axes
from echoscale._internal.table import Table
from echoscale._internal.types import Floats
from echoscale.network.leaks import places_of
from echoscale.network.matrix import IDENTITY
from echoscale.timescales.mixtures import mixture_bounds, mixture_density
from echoscale.timescales.rotation import decay_bounds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from echoscale.network import Network, Reservoir


ROUNDING = 1e-12  # the inverse forms may give a leak rate a little above 1
POINTS = 300  # of a density
LONGEST = 1e6  # in units of the shortest timescale: densities end here where the longest timescale is infinite


def density(tau: npt.ArrayLike, leak_rate: npt.ArrayLike, spectral_radius: npt.ArrayLike, dt: float = 1.0) -> Any:
    """Density of the timescales of one reservoir.

        p(tau) = 2 dt / (pi alpha^2 rho^2 tau^2) sqrt(alpha^2 rho^2 - (alpha - dt / tau)^2)

    The density is 0 outside the bounds. It integrates to 1 for every dt (the paper's prefactor, 2 dt^2, holds only at dt = 1).
    All arguments broadcast.

    Parameters
    ----------
    tau : float or array
        Timescales, in units of time.
    leak_rate : float or array
        Leak rate alpha in (0, 1].
    spectral_radius : float or array
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
    >>> round(float(es.timescales.density(1.0, leak_rate=1.0, spectral_radius=0.5)), 4)
    1.2732
    """
    alpha, rho = _checked(leak_rate, spectral_radius, dt)
    if not (rho > 0).all():
        raise ValueError(
            "spectral_radius is 0: every timescale is dt / leak_rate and there is no density. Use `cumulative`, a step there."
        )
    times = _times(tau)
    with np.errstate(over="ignore"):
        rate = np.divide(dt, times, out=np.zeros_like(times), where=times > 0)  # a rate of 0 has no density
        # 1 - r^2 of the semicircle, r = (alpha - dt / tau) / (alpha rho), as a product: no digits are lost near the bounds.
        inside = (alpha * (1 + rho) - rate) / (alpha * rho) * ((rate - alpha * (1 - rho)) / (alpha * rho))
    rate = np.where(inside > 0, rate, 0.0)
    return (2 * rate**2 / (np.pi * alpha * rho * dt) * np.sqrt(np.maximum(inside, 0)))[()]


def cumulative(tau: npt.ArrayLike, leak_rate: npt.ArrayLike, spectral_radius: npt.ArrayLike, dt: float = 1.0) -> Any:
    """Probability of a timescale up to tau, the integral of `density`.

        P(timescale <= tau) = 1/2 + (r sqrt(1 - r^2) + arcsin r) / pi,   r = (1 - dt / (alpha tau)) / rho

    At rho = 0 it is a step at dt / alpha. All arguments broadcast.

    Parameters
    ----------
    tau : float or array
        Timescales, in units of time.
    leak_rate : float or array
        Leak rate alpha in (0, 1].
    spectral_radius : float or array
        Spectral radius rho in [0, 1].
    dt : float
        Time between two steps.

    Returns
    -------
    float or array
        Probability.

    Examples
    --------
    >>> import echoscale as es
    >>> float(es.timescales.cumulative(2.0, leak_rate=0.5, spectral_radius=0.9))
    0.5
    """
    alpha, rho = _checked(leak_rate, spectral_radius, dt)
    times = _times(tau)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        offset = np.where(times > 0, 1 - dt / (alpha * times), -np.inf)
        # At rho = 0 all timescales are dt / alpha, so the function is a step.
        r = np.clip(np.where(rho > 0, offset / rho, np.where(offset >= 0, 1.0, -1.0)), -1, 1)
    return (0.5 + (r * np.sqrt(1 - r**2) + np.arcsin(r)) / np.pi)[()]


def bounds(leak_rate: npt.ArrayLike, spectral_radius: npt.ArrayLike, dt: float = 1.0) -> tuple[Any, Any]:
    """Shortest and longest timescale of one reservoir.

        tau_min = dt / (alpha (1 + rho)),   tau_max = dt / (alpha (1 - rho)), infinite at rho = 1

    Parameters
    ----------
    leak_rate : float or array
        Leak rate alpha in (0, 1].
    spectral_radius : float or array
        Spectral radius rho in [0, 1].
    dt : float
        Time between two steps.

    Returns
    -------
    (tau_min, tau_max)
        Floats or arrays.

    Examples
    --------
    >>> import echoscale as es
    >>> [float(each) for each in es.timescales.bounds(leak_rate=0.5, spectral_radius=0.6)]
    [1.25, 5.0]
    """
    alpha, rho = _checked(leak_rate, spectral_radius, dt)
    with np.errstate(divide="ignore"):
        return (dt / (alpha * (1 + rho)))[()], (dt / (alpha * (1 - rho)))[()]


def peak(leak_rate: npt.ArrayLike, spectral_radius: npt.ArrayLike, dt: float = 1.0) -> Any:
    """Most probable timescale of one reservoir.

        tau_peak = 5 dt / (4 alpha (1 - rho^2)) (1 - sqrt(1 - 24/25 (1 - rho^2)))

    At rho = 1 this is 0.6 dt / alpha.

    Parameters
    ----------
    leak_rate : float or array
        Leak rate alpha in (0, 1].
    spectral_radius : float or array
        Spectral radius rho in [0, 1].
    dt : float
        Time between two steps.

    Returns
    -------
    float or array

    Examples
    --------
    >>> import echoscale as es
    >>> float(es.timescales.peak(leak_rate=0.5, spectral_radius=1.0))
    1.2
    """
    alpha, rho = _checked(leak_rate, spectral_radius, dt)
    return (dt / alpha * _peak_factor(rho))[()]


def ratio(spectral_radius: npt.ArrayLike) -> Any:
    """Ratio of the longest to the shortest timescale, the same for all leak rates.

        tau_max / tau_min = (1 + rho) / (1 - rho), infinite at rho = 1

    Parameters
    ----------
    spectral_radius : float or array
        Spectral radius rho in [0, 1].

    Returns
    -------
    float or array

    Examples
    --------
    >>> import echoscale as es
    >>> float(es.timescales.ratio(0.5))
    3.0
    """
    _, rho = _checked(1.0, spectral_radius, 1.0)
    with np.errstate(divide="ignore"):
        return ((1 + rho) / (1 - rho))[()]


def for_range(shortest: float, longest: float, dt: float = 1.0) -> tuple[float, float]:
    """Leak rate and spectral radius of a reservoir with timescales from `shortest` to `longest`: the inverse of `bounds`.

        rho = (longest - shortest) / (longest + shortest),   alpha = dt (longest + shortest) / (2 longest shortest)

    Parameters
    ----------
    shortest : float
        Wanted tau_min, in units of time.
    longest : float
        Wanted tau_max, in units of time; can be infinite.
    dt : float
        Time between two steps.

    Returns
    -------
    (leak_rate, spectral_radius)

    Examples
    --------
    >>> import echoscale as es
    >>> leak_rate, spectral_radius = es.timescales.for_range(2.0, 38.0)
    >>> round(leak_rate, 4), round(spectral_radius, 4)
    (0.2632, 0.9)
    """
    low = checks.number(shortest, "shortest")
    high = np.inf if longest == np.inf else checks.number(longest, "longest")
    dt = checks.time_step(dt)
    if not 0 < low <= high:
        raise ValueError(f"timescales must satisfy 0 < shortest <= longest, got {shortest} and {longest}.")
    # In rates, so that an infinite `longest` (rho = 1) is no special case.
    fast, slow = dt / low, dt / high
    alpha, rho = (fast + slow) / 2, (fast - slow) / (fast + slow)
    if alpha > 1 + ROUNDING:
        raise ValueError(
            f"timescales from {low:g} to {high:g} need a leak rate of {alpha:.4g}, above 1: the mean of dt / shortest and "
            f"dt / longest must not exceed 1. Take a longer `shortest`, or sample more finely (dt={dt:g})."
        )
    return min(alpha, 1.0), rho


def for_peak(peak: float, spectral_radius: float, dt: float = 1.0) -> float:
    """Leak rate at which the most probable timescale is `peak`: the inverse of the function `peak`.

    Parameters
    ----------
    peak : float
        Wanted most probable timescale, in units of time.
    spectral_radius : float
        Spectral radius rho in [0, 1].
    dt : float
        Time between two steps.

    Returns
    -------
    float

    Examples
    --------
    >>> import echoscale as es
    >>> round(es.timescales.for_peak(6.0, spectral_radius=1.0), 4)
    0.1
    """
    wanted = checks.number(peak, "peak")
    if not wanted > 0:
        raise ValueError(f"peak must be above 0, got {wanted}.")
    _, rho = _checked(1.0, spectral_radius, dt)
    alpha = float(dt / wanted * _peak_factor(rho))
    if alpha > 1 + ROUNDING:
        raise ValueError(
            f"a peak at {wanted:g} needs a leak rate of {alpha:.4g}, above 1: with spectral_radius={spectral_radius:g} the "
            f"shortest possible peak is {float(dt * _peak_factor(rho)):.4g}."
        )
    return min(alpha, 1.0)


@dataclass(frozen=True, repr=False)
class TimescaleTable(Table):
    """The theoretical timescales of the reservoirs of a network, with a plot.

    Parameters
    ----------
    columns : tuple of str
        Names of the columns.
    rows : tuple of tuples
        One row for every reservoir, with one value for each column.
    title : str
        Text printed above.
    notes : tuple of str
        Lines printed below.
    densities : dict
        Name of a reservoir -> its timescales and their density p(tau); reservoirs without a closed form are missing.

    Examples
    --------
    >>> import echoscale as es
    >>> found = es.hierarchical([50, 50], leak_rate=[1.0, 0.1]).timescales()
    >>> found["tau_peak"]
    (0.614..., 6.147...)
    >>> found.plot().get_xlabel()
    'timescale'
    """

    densities: dict[str, tuple[Floats, Floats]] = field(default_factory=dict, compare=False)

    def plot(self, axes: Axes | None = None) -> Axes:
        """Plots the density of the logarithm of the timescales of every reservoir: equal areas hold equal numbers of modes.

        Parameters
        ----------
        axes : matplotlib Axes or None
            Axes to plot into; None: a new figure.

        Returns
        -------
        matplotlib Axes
        """
        if not self.densities:
            raise ValueError("no reservoir has a density in closed form; esn.spectrum().plot() shows a built network.")
        axes = new_axes(5) if axes is None else axes
        rates = dict(zip(self["reservoir"], self["leak_rate"], strict=True))
        for name, (tau, p) in self.densities.items():
            axes.fill_between(tau, tau * p, alpha=0.25, linewidth=0)
            axes.plot(tau, tau * p, label=f"{name}, leak rate {rates[name]:.3g}")
        axes.set(xscale="log", xlabel="timescale", ylabel="density of its logarithm", ylim=(0, None))
        axes.legend(frameon=False)
        return axes


def table(network: Network, dt: float = 1.0) -> TimescaleTable:
    """Theoretical timescales of every reservoir of a network: `bounds`, `peak` and `ratio`.

    Parameters
    ----------
    network : Network
        Description of the network; no weights are drawn.
    dt : float
        Time between two steps.

    Returns
    -------
    TimescaleTable
        One row per reservoir.

    Examples
    --------
    >>> import echoscale as es
    >>> es.timescales.table(es.parallel([50, 50], leak_rate=[1.0, 0.1]))["tau_max"]
    (19.99..., 199.9...)
    """
    checks.time_step(dt)
    notes: dict[str, None] = {}
    densities: dict[str, tuple[Floats, Floats]] = {}
    rows = tuple(_row(f"R{k + 1}", each, dt, notes, densities) for k, each in enumerate(network.reservoirs))
    columns = ("reservoir", "units", "leak_rate", "spectral_radius", "tau_min", "tau_peak", "tau_max", "tau_max/tau_min")
    title = f"Timescales by theory, in units of time (one step is {dt:g})"
    return TimescaleTable(columns, rows, title, tuple(notes), densities)


def _row(
    name: str, reservoir: Reservoir, dt: float, notes: dict[str, None], densities: dict[str, tuple[Floats, Floats]]
) -> tuple[Any, ...]:
    alpha, rho, topology = reservoir.leak_rate, reservoir.spectral_radius, reservoir.topology
    low: Any = None
    high: Any = None
    top: Any = None
    spread: Any = None
    random = topology in ("normal", "uniform") and reservoir.normalise
    if reservoir.residual != IDENTITY:
        if random and isinstance(reservoir.residual, str) and not reservoir.leak_spread:
            low, high = decay_bounds(alpha, rho, dt)
            spread = float(high / low) if low > 0 else np.inf
            notes[
                f"{name}: a residual level; its times are decay times, its periods all from {2 * dt:g} on (decay_bounds)."
            ] = None
        else:
            notes[f"{name}: of this residual level the modes are known after building only: esn.timescales()."] = None
    elif reservoir.leak_spread and 0 < rho <= 1 and random:
        rates = alpha * np.exp(-reservoir.leak_spread * places_of(reservoir.leak_places, reservoir.units))
        low, high = mixture_bounds(rates, rho, dt)
        spread = high / low
        times = np.geomspace(low, min(high, LONGEST * low), POINTS)
        densities[name] = times, mixture_density(times, rates, rho, dt)
        top = times[np.argmax(densities[name][1])]
        notes[f"{name}: leak rates from {rates.min():.3g} to {alpha:.3g}, one for every neuron (mixture_density)."] = None
    elif reservoir.leak_spread:
        notes[f"{name}: with a leak rate for every neuron its modes are known after building only: esn.timescales()."] = None
    elif topology == "delay_line":
        low = high = top = dt / alpha
        spread = 1.0
        notes[f"{name}: a delay line has no eigenvalue but 0; its memory is its length, {reservoir.units} steps."] = None
    elif not reservoir.normalise:
        notes[f"{name}: its matrix is not normalised, so its radius is known after building only: esn.timescales()."] = None
    elif rho > 1:
        low = dt / (alpha * (1 + rho))
        notes[f"{name}: with a spectral radius above 1 some modes grow in the linear regime: no tau_max, no peak."] = None
    else:
        (low, high), spread = bounds(alpha, rho, dt), ratio(rho)
        if topology in ("normal", "uniform", "diagonal"):
            top = peak(alpha, rho, dt)
            if rho > 0:
                times = np.geomspace(low, min(high, LONGEST * low), POINTS)
                densities[name] = times, density(times, alpha, rho, dt)
        else:
            notes[f"{name}: the peak holds for a random matrix; for this topology only the bounds are known."] = None
    numbers = (None if each is None else float(each) for each in (low, top, high, spread))
    return (name, reservoir.units, alpha, rho, *numbers)


def _peak_factor(rho: Floats) -> Floats:
    return 1.2 / (1 + np.sqrt(1 - 24 / 25 * (1 - rho**2)))


def _times(tau: npt.ArrayLike) -> Floats:
    times = np.asarray(tau, np.float64)
    if np.isnan(times).any():
        raise ValueError("tau holds NaN; timescales are numbers.")
    return times


def _checked(leak_rate: npt.ArrayLike, spectral_radius: npt.ArrayLike, dt: float) -> tuple[Floats, Floats]:
    checks.time_step(dt)
    alpha, rho = np.asarray(leak_rate, np.float64), np.asarray(spectral_radius, np.float64)
    if not ((alpha > 0) & (alpha <= 1)).all():
        raise ValueError(f"leak_rate must lie in (0, 1], got {alpha.tolist()}.")
    if not ((rho >= 0) & (rho <= 1)).all():
        raise ValueError(f"the theory holds for a spectral radius in [0, 1], got {rho.tolist()}: above 1 no tau_max exists.")
    return alpha, rho
