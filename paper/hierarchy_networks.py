"""Tasks, networks and random points of the study of hierarchies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

import echoscale as es
from paper.types import Floats

if TYPE_CHECKING:
    from echoscale import Hyper, Network

CENTRE = 10.0  # steps: geometric mean of the timescales of every task
ORDERS = ("any", "fast first", "slow first")
HIERARCHIES = ("first", "all")  # by the levels that receive the input
# Ranges of the random points, on logarithmic scales; radii are uniform.
RANGES = {"fast": (0.01, 1.0), "slow": (0.01, 1.0), "input": (0.01, 2.0), "bias": (0.05, 2.0), "coupling": (0.05, 2.0)}
RADII = (0.1, 1.2)


class Task(NamedTuple):
    """K timescales whose slowest is `ratio` times the fastest."""

    number: int
    ratio: float

    @property
    def timescales(self) -> list[float]:
        """K timescales of equal ratios around `CENTRE`."""
        return [float(each) for each in np.geomspace(CENTRE / self.ratio**0.5, CENTRE * self.ratio**0.5, self.number)]


def levels_of(kind: str) -> int:
    """Number of levels of a network."""
    return 1 if kind in ("single", "spread") else int(kind.split()[1])


def is_flat(kind: str) -> bool:
    """Whether no level drives another."""
    return kind.split()[0] not in HIERARCHIES


def network_of(kind: str, units: int) -> Network:
    """The network of this name; its numbers are set on lanes."""
    levels = levels_of(kind)
    sizes = [len(part) for part in np.array_split(np.arange(units), levels)]
    shared: dict[str, Any] = {"bias_scaling": 0.3, "input_scaling": 0.5}
    if kind == "single":
        return es.single(units, **shared)
    if kind == "spread":
        return es.single(units, leak_rate=es.LogUniform(0.1, 1.0), **shared)
    if kind.startswith("parallel"):
        return es.parallel(sizes, **shared)
    return es.hierarchical(sizes, inputs=kind.split()[0], **shared)


def learned(kind: str) -> list[str]:
    """The names of the numbers of a network: the columns of its points."""
    levels = levels_of(kind)
    inputs = 1 if kind.startswith("first") else levels
    names = [f"leak_rate[{k}]" for k in range(levels)] + [f"spectral_radius[{k}]" for k in range(levels)]
    names += [f"input_scaling[{k}]" for k in range(inputs)] + [f"bias_scaling[{k}]" for k in range(levels)]
    names += [] if is_flat(kind) else [f"coupling[{k}]" for k in range(levels - 1)]
    return [*names, "leak_spread[0]"] if kind == "spread" else names


def random_points(kind: str, count: int) -> Floats:
    """Random points (count, numbers): the leak rates of the levels have equal ratios, all other numbers are shared."""
    rng = np.random.default_rng([count, 31])
    drawn = {name: np.exp(rng.uniform(np.log(low), np.log(high), count)) for name, (low, high) in RANGES.items()}
    radius = rng.uniform(*RADII, count)
    levels, fast, slow = levels_of(kind), drawn["fast"], drawn["slow"]
    if kind == "spread":
        fast, slow = np.maximum(fast, slow), np.minimum(fast, slow)
    columns = {
        "leak_rate": [fast * (slow / fast) ** (k / max(levels - 1, 1)) for k in range(levels)],
        "spectral_radius": [radius] * levels,
        "input_scaling": [drawn["input"]] * levels,
        "bias_scaling": [drawn["bias"]] * levels,
        "coupling": [drawn["coupling"]] * levels,
        "leak_spread": [np.log(fast / slow)],
    }
    named = (name.removesuffix("]").split("[") for name in learned(kind))
    return np.stack([columns[leaf][int(place)] for leaf, place in named], axis=1)


def hyper_of(hyper: Hyper, kind: str, points: Floats) -> Hyper:
    """The hyper-parameters of a network with one lane for each point."""
    leaves = {name: list(getattr(hyper, name)) for name in hyper._fields}
    for name, values in zip(learned(kind), points.T, strict=True):
        leaf, place = name.removesuffix("]").split("[")
        leaves[leaf][int(place)] = values
    return hyper.replace(**{name: values for name, values in leaves.items() if values})


def in_order(kind: str, points: Floats, order: str) -> npt.NDArray[np.bool_]:
    """Which points have this order of leak rates, (points,)."""
    if order == "any" or levels_of(kind) == 1:
        return np.full(len(points), order == "any")
    fast_first = points[:, 0] >= points[:, levels_of(kind) - 1]
    return fast_first if order == "fast first" else ~fast_first
