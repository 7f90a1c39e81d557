"""The coordinates of the search: the logarithms of the learned numbers, within bounds.

    z_i = log |theta_i|,   low_i <= z_i <= high_i

All numbers of a reservoir are factors, so that steps of equal ratio matter alike; a leak rate of 1 is a bound like any other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from echoscale import _checks
from echoscale.hyper import Hyper, Parameter, chosen, put

Floats = npt.NDArray[np.float64]

RIDGE, SHARPNESS = "ridge", "sharpness"
BOUNDS = {
    "leak_rate": (0.01, 1.0),
    "spectral_radius": (0.01, 1.5),
    "input_scaling": (0.01, 10.0),
    "bias_scaling": (0.01, 10.0),
    "coupling": (0.01, 10.0),
    RIDGE: (1e-12, 10.0),
    SHARPNESS: (0.1, 1000.0),
}
# Where random starts are drawn from: what people try first, well inside the bounds.
STARTS = {
    "leak_rate": (0.05, 1.0),
    "spectral_radius": (0.1, 1.2),
    "input_scaling": (0.05, 2.0),
    "bias_scaling": (0.05, 2.0),
    "coupling": (0.05, 2.0),
    RIDGE: (1e-8, 1e-2),
    SHARPNESS: (2.0, 10.0),
}


@dataclass(frozen=True)
class Space:
    """P coordinates: the leaves of `Hyper` that are learned, the penalty if it is, the sharpness of class probabilities.

    low, high    bounds of the logarithms, (P,)
    first, last  within which starts are drawn, (P,)
    signs        of the numbers, (P,)
    """

    learned: tuple[Parameter, ...]
    ridge: bool
    sharpness: bool
    low: Floats
    high: Floats
    first: Floats
    last: Floats
    signs: Floats

    @classmethod
    def of(
        cls,
        names: str | Sequence[str],
        hyper: Hyper,
        bounds: Mapping[str, tuple[float, float]],
        sharpness: bool = False,
    ) -> Space:
        """From the names that the user chose; `bounds` replaces some of the usual ones, by name or for one leaf alone."""
        several = [names] if isinstance(names, str) else list(names)
        leaves = [name for name in several if name != RIDGE]
        learned = chosen(leaves, hyper) if leaves or not several else ()
        ridge = RIDGE in several
        keys = [*map(str, learned), *([RIDGE] if ridge else []), *([SHARPNESS] if sharpness else [])]
        kinds = [key.partition("[")[0] for key in keys]
        for name in bounds:
            if name not in keys and name not in kinds:
                raise ValueError(f"bounds are given for {name!r}, which is not learned; learned are {', '.join(keys)}.")
        limits = [
            _limits(bounds.get(key, bounds.get(kind, BOUNDS[kind])), key, kind) for key, kind in zip(keys, kinds, strict=True)
        ]
        low, high = np.log(np.array(limits)).T
        usual = np.log(np.array([STARTS[kind] for kind in kinds])).T
        first, last = np.clip(usual[0], low, high), np.clip(usual[1], low, high)
        # Only couplings may be negative; they keep their sign.
        own = [math.copysign(1, float(np.ravel(each.of(hyper))[0])) for each in learned]
        signs = np.array([*own, *[1.0] * (len(keys) - len(own))])
        # Where the user's bounds lie outside of the usual range, all of what they allow.
        outside = first >= last
        return cls(learned, ridge, sharpness, low, high, np.where(outside, low, first), np.where(outside, high, last), signs)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the coordinates, as they are shown."""
        return (*map(str, self.learned), *([RIDGE] if self.ridge else []), *([SHARPNESS] if self.sharpness else []))

    def hyper(self, base: Hyper, z: Floats) -> Hyper:
        """The numbers at points z (lanes, P), one lane each."""
        return put(base, self.learned, list(self.values(z).T[: len(self.learned)]))

    def values(self, z: Floats) -> Floats:
        """The numbers themselves."""
        return np.asarray(self.signs * np.exp(z))

    def penalties(self, z: Floats, fixed: float) -> Floats:
        """The ridge penalty at points z (lanes, P)."""
        return np.exp(z[:, len(self.learned)]) if self.ridge else np.full(len(z), fixed)

    def point(self, hyper: Hyper, penalty: float) -> Floats:
        """Where numbers lie, (P,), moved into the bounds."""
        values = [float(each.of(hyper)) for each in self.learned]
        values += [penalty] * self.ridge + [float(np.sqrt(np.prod(STARTS[SHARPNESS])))] * self.sharpness
        with np.errstate(divide="ignore"):
            return np.asarray(np.clip(np.log(np.abs(values)), self.low, self.high))

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """Random points, (count, P): leak rates and radii uniform, scalings and penalties uniform in their logarithm."""
        at = rng.random((count, len(self.low)))
        even = np.array([name.startswith(("leak_rate", "spectral_radius")) for name in self.names])
        ends = np.exp(self.first), np.exp(self.last)
        return np.where(even, np.log(ends[0] + at * (ends[1] - ends[0])), self.first + at * (self.last - self.first))


def _limits(pair: Sequence[float], key: str, kind: str) -> tuple[float, float]:
    try:
        first, last = pair
    except (TypeError, ValueError):
        raise ValueError(f"the bounds of {key} must be a pair (low, high), got {pair!r}.") from None
    low, high = _checks.number(first, f"the lower bound of {key}"), _checks.number(last, f"the upper bound of {key}")
    if not 0 < low < high:
        raise ValueError(f"the bounds of {key} must satisfy 0 < low < high, got {low} and {high}.")
    if kind == "leak_rate":
        _checks.leak_rate(high, f"the upper bound of {key}")
    return low, high
