"""Leak rates that differ between neurons: distributions and arrays, and how a description stores them.

    alpha_i = alpha exp(-s q_i),   q_i in [0, 1] fixed

alpha (`leak_rate`) is the leak rate of the fastest neuron, and s (`leak_spread`) the logarithm of the ratio of the fastest to
the slowest. For any s >= 0, all leak rates stay in (0, 1]. The places q_i (`leak_places`) are the shape.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.types import Floats
from echoscale.network.matrix import per_neuron

if TYPE_CHECKING:
    # Values that users may pass as the leak rate of a reservoir.
    LeakLike: TypeAlias = "float | LogUniform | LogNormal | npt.ArrayLike"

Places: TypeAlias = str | tuple[float, ...]

SHAPES = ("even", "normal")


class Leaks(NamedTuple):
    """alpha_i = leak_rate exp(-leak_spread q_i), with q the places: a name in `SHAPES`, or a number for every neuron."""

    leak_rate: float
    leak_spread: float
    leak_places: Places


@dataclass(frozen=True)
class LogUniform:
    """Log-uniform leak rates: neighbouring leak rates of a reservoir have equal ratio.

        alpha_i = high (low / high)^((i - 1) / (n - 1)),   i = 1 ... n

    A seeded permutation assigns the leak rates to the n neurons.

    Parameters
    ----------
    low : float
        Leak rate of the slowest neuron, in (0, 1].
    high : float
        Leak rate of the fastest neuron, in (0, 1], at least `low`.

    Examples
    --------
    >>> import echoscale as es
    >>> network = es.single(100, leak_rate=es.LogUniform(0.01, 1.0))
    >>> rates = network.build(n_inputs=1).matrices().leak_rate
    >>> round(float(rates.min()), 6), round(float(rates.max()), 6)
    (0.01, 1.0)
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        low, high = checks.leak_rate(self.low, "low"), checks.leak_rate(self.high, "high")
        if low > high:
            raise ValueError(f"LogUniform(low, high) needs low <= high, got {low} and {high}.")

    def leaks(self, units: int) -> Leaks:
        """Returns the leak rates in the form that a description stores.

        Parameters
        ----------
        units : int
            Number of neurons.
        """
        _several(units, "LogUniform")
        return Leaks(float(self.high), math.log(self.high / self.low), "even")


@dataclass(frozen=True)
class LogNormal:
    """Log-normal leak rates: the logarithms of the leak rates are normally distributed.

        alpha_i = median exp(sigma z_i),   z_i = Phi^-1((i - 1/2) / n),   i = 1 ... n

    Phi is the normal distribution function. A seeded permutation assigns the leak rates to the n neurons.

    Parameters
    ----------
    median : float
        Median leak rate, in (0, 1].
    sigma : float
        Standard deviation of the logarithms, at least 0. The fastest neuron must stay at or below 1.

    Examples
    --------
    >>> import numpy as np, echoscale as es
    >>> esn = es.single(100, leak_rate=es.LogNormal(0.1, 0.5)).build(n_inputs=1)
    >>> round(float(np.median(esn.matrices().leak_rate)), 3)
    0.1
    """

    median: float
    sigma: float

    def __post_init__(self) -> None:
        checks.leak_rate(self.median, "median")
        checks.non_negative(self.sigma, "sigma", "It is a standard deviation.")

    def leaks(self, units: int) -> Leaks:
        """Returns the leak rates in the form that a description stores.

        Parameters
        ----------
        units : int
            Number of neurons.
        """
        _several(units, "LogNormal")
        reach = float(_normal_quantiles(units)[-1])
        fastest = self.median * math.exp(min(self.sigma * reach, 700.0))
        if fastest > 1 + 1e-12:
            raise ValueError(
                f"{self!r} gives the fastest of {units} neurons a leak rate of {fastest:.4g}, outside (0, 1]: take sigma of "
                f"{-math.log(self.median) / reach:.4g} at most, or a smaller median."
            )
        return Leaks(min(fastest, 1.0), 2 * self.sigma * reach, "normal")


def is_spread(value: object) -> bool:
    """Whether this describes several leak rates instead of one number."""
    return isinstance(value, LogUniform | LogNormal) or np.ndim(value) > 0  # type: ignore[arg-type]


def leaks_of(value: LeakLike, units: int) -> Leaks:
    """The leak rates of a reservoir of `units` neurons, from a distribution or one value for every neuron."""
    if isinstance(value, LogUniform | LogNormal):
        return value.leaks(units)
    rates = per_neuron(value, units, "leak_rate", " Or give one number, or a distribution such as LogUniform(0.05, 1.0).")
    outside = np.flatnonzero((rates <= 0) | (rates > 1))
    if len(outside):
        raise ValueError(f"leak rates must lie in (0, 1], got {rates[outside[0]]} for neuron {outside[0]}.")
    fastest, slowest = float(rates.max()), float(rates.min())
    spread = math.log(fastest / slowest)
    places = tuple(np.clip(np.log(fastest / rates) / spread, 0, 1).tolist()) if spread > 0 else "even"
    return Leaks(fastest, spread, places)


def places_of(places: Places, units: int) -> Floats:
    """The places q (units,), from 0 for the fastest neuron to 1 for the slowest."""
    if not isinstance(places, str):
        return np.array(places)
    if places == "even":
        return np.linspace(0, 1, units)
    z = _normal_quantiles(units)
    return np.asarray((z[-1] - z[::-1]) / (2 * z[-1]))


def check_places(value: Any, units: int, spread: float) -> Places:
    """Checked places of a description: a name, or a number in [0, 1] for every neuron."""
    if isinstance(value, str):
        name: str = checks.choice(value, SHAPES, "leak_places")
        if spread > 0:
            _several(units, "leak_spread")
        return name
    places = per_neuron(value, units, "leak_places", f" Or give one of {', '.join(map(repr, SHAPES))}.")
    low, high = places.min(), places.max()
    if low < 0 or high > 1:
        raise ValueError(f"leak_places must lie in [0, 1], got {low} to {high}: 0 is the fastest neuron.")
    return tuple(places.tolist())


def _several(units: int, what: str) -> None:
    if units < 2:
        raise ValueError(f"{what} spreads leak rates over neurons, but the reservoir has {units}: give it one leak rate.")


def _normal_quantiles(units: int) -> Floats:
    import scipy.special

    return np.asarray(scipy.special.ndtri((np.arange(units) + 0.5) / units))
