"""The coordinates of the search: the logarithms of the learned numbers, within bounds.

    z_i = log |theta_i|,   low_i <= z_i <= high_i

All hyper-parameters of a reservoir are factors, so steps of equal ratio are equally important. A leak rate of 1 is a bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from echoscale._internal import checks
from echoscale._internal.types import Floats
from echoscale.engine.hyper import Hyper, Parameter, chosen, put
from echoscale.timescales.candidates import Candidate

RIDGE, SHARPNESS = "ridge", "sharpness"
BOUNDS = {
    "leak_rate": (0.003, 1.0),
    "leak_spread": (0.01, 7.0),
    "spectral_radius": (0.01, 1.5),
    "input_scaling": (0.01, 10.0),
    "bias_scaling": (0.01, 10.0),
    "coupling": (0.01, 10.0),
    "feedback_scaling": (1e-6, 10.0),
    RIDGE: (1e-12, 10.0),
    SHARPNESS: (0.1, 1000.0),
}
# With folds: the ridge penalty per training step, so that its bounds follow the length of the data, and input scalings for
# inputs of standard deviation 1. The least penalty is the floor of the loss.
RIDGE_PER_STEP = (1e-30, 10.0)
INPUT_SCALING = (1e-6, 10.0)
# Ranges of the random starts: values that people try first, well inside the bounds.
STARTS = {
    "leak_rate": (0.05, 1.0),
    "leak_spread": (0.3, 4.5),
    "spectral_radius": (0.1, 1.2),
    "input_scaling": (0.05, 2.0),
    "bias_scaling": (0.05, 2.0),
    "coupling": (0.05, 2.0),
    "feedback_scaling": (0.05, 2.0),
    RIDGE: (1e-8, 1e-2),
    SHARPNESS: (2.0, 10.0),
}
# For free runs: slopes help little, so the search hardly leaves the range of the starts. Networks with many inputs need small
# input scalings, large biases and almost no recurrence.
FREE_STARTS = {"spectral_radius": (0.02, 1.2), "input_scaling": (0.01, 2.0), "bias_scaling": (0.05, 4.0)}
FIRST_SHARPNESS = math.sqrt(math.prod(STARTS[SHARPNESS]))
START_RIDGE_PER_STEP = (1e-11, 1e-2)
# Order of learning if data are short: one hyper-parameter for every STEPS_FOR_ONE training steps.
FIRST_LEARNED = (
    RIDGE,
    "input_scaling",
    "leak_rate",
    "spectral_radius",
    "leak_spread",
    "coupling",
    "feedback_scaling",
    "bias_scaling",
)
STEPS_FOR_ONE = 50


def affordable(hyper: Hyper, steps: float) -> tuple[list[str], list[str]]:
    """Names of the hyper-parameters for which this number of training steps suffices, and the other names."""
    kinds = [name for name in FIRST_LEARNED if name == RIDGE or len(getattr(hyper, name))]
    counts = [1 if name == RIDGE else len(getattr(hyper, name)) for name in kinds]
    many = max(int(np.searchsorted(np.cumsum(counts), steps / STEPS_FOR_ONE, side="right")), 1)
    return kinds[:many], kinds[many:]


@dataclass(frozen=True)
class Space:
    """The P coordinates: learned leaves of `Hyper`, the ridge penalty if it is learned, the sharpness of class probabilities.

    low, high    bounds of the logarithms, (P,)
    first, last  range of the random starts, (P,)
    signs        signs of the numbers, (P,)
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
        steps: float | None = None,
        free: bool = False,
    ) -> Space:
        """Make the space from the names that the user chose; `bounds` replaces default bounds, by name or for one leaf.

        Default bounds are widened to hold the values of `hyper`. With `steps` (folds judge), bounds of the ridge are per step.
        For `free` runs, the range of the starts is wider.
        """
        several = [names] if isinstance(names, str) else list(names)
        leaves = [name for name in several if name != RIDGE]
        learned = chosen(leaves, hyper) if leaves or not several else ()
        ridge = RIDGE in several
        keys = [*map(str, learned), *([RIDGE] if ridge else []), *([SHARPNESS] if sharpness else [])]
        kinds = [key.partition("[")[0] for key in keys]
        for name in bounds:
            if name not in keys and name not in kinds:
                raise ValueError(f"bounds are given for {name!r}, which is not learned; learned are {', '.join(keys)}.")
        wide, near = dict(BOUNDS), {**STARTS, **(FREE_STARTS if free else {})}
        if steps is not None:
            wide["input_scaling"] = INPUT_SCALING
            wide[RIDGE] = (RIDGE_PER_STEP[0] * steps, RIDGE_PER_STEP[1] * steps)
            near[RIDGE] = (START_RIDGE_PER_STEP[0] * steps, START_RIDGE_PER_STEP[1] * steps)
        limits = []
        for place, (key, kind) in enumerate(zip(keys, kinds, strict=True)):
            low, high = _limits(bounds.get(key, bounds.get(kind, wide[kind])), key, kind)
            if key not in bounds and kind not in bounds and place < len(learned):
                values = np.abs(np.ravel(learned[place].of(hyper)))
                low, high = min([low, *values[values > 0]]), max([high, *values])
            limits.append((low, high))
        low_z, high_z = np.log(np.array(limits)).T
        usual = np.log(np.array([near[kind] for kind in kinds])).T
        first, last = np.clip(usual[0], low_z, high_z), np.clip(usual[1], low_z, high_z)
        # Only couplings may be negative; they keep their sign.
        own = [math.copysign(1, float(np.ravel(each.of(hyper))[0])) for each in learned]
        signs = np.array([*own, *[1.0] * (len(keys) - len(own))])
        # If the user's bounds lie outside the usual range, starts fill these bounds.
        outside = first >= last
        return cls(
            learned, ridge, sharpness, low_z, high_z, np.where(outside, low_z, first), np.where(outside, high_z, last), signs
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the coordinates as shown to the user."""
        return (*map(str, self.learned), *([RIDGE] if self.ridge else []), *([SHARPNESS] if self.sharpness else []))

    def hyper(self, base: Hyper, z: Floats) -> Hyper:
        """Hyper-parameters at points z (lanes, P), one lane per point."""
        return put(base, self.learned, list(self.values(z).T[: len(self.learned)]))

    def values(self, z: Floats) -> Floats:
        """The numbers themselves."""
        return np.asarray(self.signs * np.exp(z))

    def penalties(self, z: Floats, fixed: float) -> Floats:
        """The ridge penalty at points z (lanes, P)."""
        return np.exp(z[:, len(self.learned)]) if self.ridge else np.full(len(z), fixed)

    def sharpnesses(self, z: Floats) -> Floats:
        """Factors on the outputs of classes at points z (lanes, P); 1 without classes."""
        return np.exp(z[:, -1]) if self.sharpness else np.ones(len(z))

    def outside(self, hyper: Hyper) -> list[str]:
        """Sentences about hyper-parameters that lie outside the user's bounds; 0, which has no logarithm, is left out."""
        found = []
        for each, low, high in zip(self.learned, np.exp(self.low), np.exp(self.high), strict=False):
            for value in np.abs(np.ravel(each.of(hyper))):
                if value > 0 and not low * (1 - 1e-12) <= value <= high * (1 + 1e-12):
                    found.append(f"{each}={value:.4g} lies outside its bounds ({low:.4g}, {high:.4g})")
        return found

    def at_bound(self, z: Floats) -> list[str]:
        """The names of coordinates of one point (P,) that lie at a bound."""
        near = (z <= self.low + 1e-9) | (z >= self.high - 1e-9)
        return [name for name, yes in zip(self.names, near, strict=True) if yes]

    def point(self, hyper: Hyper, penalty: float) -> Floats:
        """The point of given hyper-parameters, (P,), moved into the bounds."""
        values = [float(each.of(hyper)) for each in self.learned]
        values += [penalty] * self.ridge + [FIRST_SHARPNESS] * self.sharpness
        with np.errstate(divide="ignore"):
            return np.asarray(np.clip(np.log(np.abs(values)), self.low, self.high))

    def likely(self, tried: Sequence[Candidate], hyper: Hyper, penalty: float) -> Floats:
        """The points of candidates, (C, P), without repetition: leak rates fall from level to level, the rest is unchanged."""
        own = tuple(self.point(hyper, penalty))
        points = [tuple(self.point(each.on(hyper), penalty)) for each in tried]
        return np.array([each for each in dict.fromkeys(points) if each != own]).reshape(-1, len(own))

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """Random points, (count, P): leak rates, their spreads and radii uniform, the others uniform in their logarithm."""
        at = rng.random((count, len(self.low)))
        even = np.array([name.startswith(("leak_", "spectral_radius")) for name in self.names])
        ends = np.exp(self.first), np.exp(self.last)
        return np.where(even, np.log(ends[0] + at * (ends[1] - ends[0])), self.first + at * (self.last - self.first))


def _limits(pair: Sequence[float], key: str, kind: str) -> tuple[float, float]:
    try:
        first, last = pair
    except (TypeError, ValueError):
        raise ValueError(f"the bounds of {key} must be a pair (low, high), got {pair!r}.") from None
    low, high = checks.number(first, f"the lower bound of {key}"), checks.number(last, f"the upper bound of {key}")
    if not 0 < low < high:
        raise ValueError(f"the bounds of {key} must satisfy 0 < low < high, got {low} and {high}.")
    checks.leaf(kind)(high, f"the upper bound of {key}")
    return low, high
