"""Layout of a diagram: columns, rows and captions of the reservoirs, and the room for the lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from echoscale.network import Concentric, Network, Reservoir
from echoscale.network.diagram.wires import (
    AIR,
    LANE,
    LETTER,
    LINE,
    NODE,
    TRACK,
    Link,
    Wire,
    gap_before,
    lanes_of,
    least_radius,
    links_of,
    name_of,
    number,
    ports_of,
    wire_of,
)
from echoscale.network.matrix import IDENTITY, Matrix

MANY_ROWS = 4  # with this number of rows, captions are wide instead of high


class Spot(NamedTuple):
    """A circle."""

    x: float
    y: float
    radius: float


class Caption(NamedTuple):
    """The text above and below a reservoir."""

    above: str
    below: tuple[str, ...]

    @property
    def width(self) -> float:
        return LETTER * max(len(line) for line in (self.above, *self.below))


class Drawing(NamedTuple):
    """Positions of all parts in inches; (0, 0) is the middle of the input.

    columns  the column of each reservoir, from 0
    wires    the arrows: inputs, couplings, readouts, output feedback, each in the order of the network
    """

    input: Spot
    output: Spot
    reservoirs: tuple[Spot, ...]
    captions: tuple[Caption, ...]
    columns: tuple[int, ...]
    wires: tuple[Wire, ...]
    left: float
    right: float
    bottom: float
    top: float

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.top - self.bottom


def layout(network: Network, *, size: float = 1.0) -> Drawing:
    """The positions of all parts; a pure function of the network."""
    pairs = [(each.source, each.target) for each in network.couplings]
    column = _columns(pairs, len(network.reservoirs))
    row = _rows(pairs, column)
    members = [_members(column, here) for here in range(max(column) + 1)]
    links = links_of(network, column)
    captions = tuple(_caption(k, each, max(map(len, members)) >= MANY_ROWS) for k, each in enumerate(network.reservoirs))

    radius = [max(size * radius_of(each), least_radius(links, k)) for k, each in enumerate(network.reservoirs)]
    rise = [r + LINE + AIR / 2 for r in radius]
    fall = [r + LINE * len(caption.below) + AIR / 2 for r, caption in zip(radius, captions, strict=True)]
    stacks = [each for each in members if len(each) > 1]
    pitch = max((max(rise[k] for k in each) + max(fall[k] for k in each) for each in stacks), default=0.0)
    y = [-each * (pitch + 2 * AIR) for each in row]
    tops = [max(y[k] + rise[k] for k in each) for each in members]
    bottoms = [min(y[k] - fall[k] for k in each) for each in members]
    lanes = lanes_of((each for each in links if each.way == "over"), tops)
    below = lanes_of((each for each in links if each.way in ("under", "out")), [-each for each in bottoms])
    lanes |= {key: -depth for key, depth in below.items()}

    ports = ports_of(links, y, radius)
    half = [NODE, *(max(max(radius[k], captions[k].width / 2) for k in each) for each in members), NODE]
    x, gaps = [0.0], []
    for place in range(len(members) + 1):
        gaps.append(gap_before(links, place, x[-1] + half[place], ports, size))
        x.append(gaps[-1].end + half[place + 1])

    heights = [NODE, -NODE, *tops, *bottoms, *lanes.values()]
    heights += [lane + (LANE if lane > 0 else -LANE) for key, lane in lanes.items() if isinstance(key, Link)]  # its label
    return Drawing(
        Spot(0.0, 0.0, NODE),
        Spot(x[-1], 0.0, NODE),
        tuple(Spot(x[column[k] + 1], y[k], r) for k, r in enumerate(radius)),
        captions,
        column,
        tuple(wire_of(each, x, ports[each], gaps, lanes.get(each.bus, 0.0)) for each in links),
        left=-NODE - AIR,
        right=x[-1] + NODE + AIR + (TRACK if network.feeds_back else 0.0),
        bottom=min(heights) - AIR,
        top=max(heights) + AIR,
    )


def _columns(links: Sequence[tuple[int, int]], count: int) -> tuple[int, ...]:
    """The column of each reservoir: the longest path to it over links (source, target); cycles are laid out in a row."""
    reach = [_reach(links, k) for k in range(count)]
    cycles = [[j for j in range(count) if j == k or (j in reach[k] and k in reach[j])] for k in range(count)]
    first = [0] * count
    for _ in range(count):  # no path is longer
        for source, target in links:
            if target not in cycles[source]:
                for member in cycles[target]:
                    first[member] = max(first[member], first[source] + len(cycles[source]))
    return tuple(first[k] + cycles[k].index(k) for k in range(count))


def _reach(links: Sequence[tuple[int, int]], start: int) -> set[int]:
    found: set[int] = set()
    ahead = {start}
    while ahead:
        ahead = {target for source, target in links if source in ahead} - found
        found |= ahead
    return found


def _rows(links: Sequence[tuple[int, int]], column: Sequence[int]) -> list[float]:
    """Row numbers around 0, from the top down: each reservoir is near its drivers, so that few lines cross."""
    row = [0.0] * len(column)
    for here in range(max(column) + 1):
        drivers = [[row[a] for a, b in links if b == k and column[a] < here] for k in range(len(column))]
        members = sorted(_members(column, here), key=lambda k: (sum(drivers[k]) / max(1, len(drivers[k])), k))
        for place, k in enumerate(members):
            row[k] = place - (len(members) - 1) / 2
    return row


def _members(column: Sequence[int], here: int) -> list[int]:
    return [k for k, each in enumerate(column) if each == here]


def radius_of(reservoir: Reservoir) -> float:
    """A radius that grows slowly: ten times the units, twice the area."""
    return float(min(0.65, max(0.21, 0.3 * (reservoir.units / 50) ** 0.15)))


def _caption(k: int, reservoir: Reservoir, wide: bool) -> Caption:
    units = f"{reservoir.units:,} unit{'s' * (reservoir.units != 1)}"
    slowest = reservoir.leak_rate * math.exp(-reservoir.leak_spread)
    rates = f"{number(slowest)}–" * (reservoir.leak_spread > 0) + number(reservoir.leak_rate)
    pace = [f"α = {rates}", f"ρ = {number(reservoir.spectral_radius)}"]
    more = []
    if isinstance(reservoir.topology, Matrix):
        more.append("own matrix")
    elif isinstance(reservoir.topology, Concentric):
        more.append("concentric")
    elif reservoir.topology != "normal":
        more.append(reservoir.topology.replace("_", " "))
    if reservoir.residual != IDENTITY:
        more.append("O own" if isinstance(reservoir.residual, Matrix) else f"O {reservoir.residual}")
    if reservoir.activation != "tanh":
        more.append("linear")
    if reservoir.bias_scaling:
        more.append(f"bias {number(reservoir.bias_scaling)}")
    if wide:
        return Caption(f"{name_of(k)}: {units}", tuple(", ".join(line) for line in (pace, more) if line))
    return Caption(name_of(k), (units, *pace, *more))
