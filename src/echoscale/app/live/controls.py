"""Positions of the sliders, and the network that they describe."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from echoscale._internal import checks

if TYPE_CHECKING:
    from echoscale.network import Network

STRUCTURES = ("hierarchical", "parallel")
MOST_LEVELS = 3
# Least value, largest value and step of every slider.
RANGES = {
    "leak_rate": (0.01, 1.0, 0.01),
    "spectral_radius": (0.0, 1.5, 0.01),
    "input_scaling": (0.0, 2.0, 0.01),
    "bias_scaling": (0.0, 2.0, 0.01),
    "coupling": (0.0, 3.0, 0.01),
}
SIZES = (10, 200, 10)
PENALTIES = tuple(f"1e{k}" for k in range(-10, 3))


class Level(NamedTuple):
    """The sliders of one level, as in `es.single`; the first level and parallel levels ignore `coupling`."""

    units: int = 50
    leak_rate: float = 1.0
    spectral_radius: float = 0.95
    input_scaling: float = 0.2
    bias_scaling: float = 0.0
    coupling: float = 1.0


class Controls(NamedTuple):
    """Positions of all sliders, with one to three levels; immutable."""

    levels: tuple[Level, ...] = (Level(leak_rate=0.9, bias_scaling=0.2), Level(leak_rate=0.3, input_scaling=0.0))
    structure: str = "hierarchical"
    ridge: float = 1e-3
    seed: int = 0

    @property
    def names(self) -> list[str]:
        """Names of the hyper-parameters for the axes of the map and for learning: "leak_rate[0]", ..."""
        levels = len(self.levels)
        links = levels - 1 if self.structure == "hierarchical" else 0
        return [f"{kind}[{k}]" for kind in RANGES for k in range(links if kind == "coupling" else levels)]

    def described(self) -> tuple[str, list[int], dict[str, list[float]]]:
        """The builder of the network, and its arguments: units, and one number for every level or coupling."""
        levels = self.levels
        factors = {name: [getattr(each, name) for each in levels] for name in RANGES if name != "coupling"}
        joined = checks.choice(self.structure, STRUCTURES, "structure") == "hierarchical" and len(levels) > 1
        if joined:
            factors["coupling"] = [each.coupling for each in levels[1:]]
        return "hierarchical" if joined else "parallel", [each.units for each in levels], factors

    def network(self) -> Network:
        """The description of the network."""
        import echoscale as es

        builder, units, factors = self.described()
        found: Network = getattr(es, builder)(units, **factors)
        return found

    def value(self, name: str) -> float:
        """The value of one hyper-parameter."""
        kind, level = place_of(name)
        return float(getattr(self.levels[level], kind))

    def changed(self, name: str, value: float) -> Controls:
        """The controls with another value of one hyper-parameter."""
        kind, level = place_of(name)
        levels = list(self.levels)
        levels[level] = levels[level]._replace(**{kind: value})  # type: ignore[arg-type]
        return self._replace(levels=tuple(levels))


def bounded(name: str, value: float) -> float:
    """The value, clipped to the range of its slider: a browser may send any number."""
    low, high, _ = SIZES if name == "units" else RANGES[name]
    return min(high, max(low, value))


def place_of(name: str) -> tuple[str, int]:
    """The slider and its level; coupling k is a slider of the level that it drives."""
    kind, place = name.removesuffix("]").split("[")
    return kind, int(place) + (kind == "coupling")
