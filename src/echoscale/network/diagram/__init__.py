"""A network as a diagram, after Fig. 2 of the paper: input at the left, reservoirs in columns, output at the right.

`layout` places all parts, in inches; `draw` paints them with matplotlib, in a layout that fits its axes. Neighbouring columns
are joined in the gap between them. Longer links run in lanes. Couplings that skip columns and inputs to later columns run above
the columns; feedback and the readouts of earlier columns run below. So no line crosses a reservoir or its caption.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from math import hypot
from typing import TYPE_CHECKING, Any

import numpy as np

from echoscale._internal.types import Floats
from echoscale.network import Concentric, Network, Reservoir
from echoscale.network.diagram.layout import Caption, Drawing, Spot, layout, radius_of
from echoscale.network.diagram.wires import AIR, CORNER, LINE, Point, Wire, name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.path import Path


__all__ = ["draw", "layout"]

FONT = 8.0  # points
# Distinct for the colour-blind, and by width in grey.
COLOURS = {"input": "#009E73", "coupling": "#000000", "readout": "#D55E00", "feedback": "#CC79A7", "silent": "#8C8C8C"}
WIDTHS = {"input": 1.3, "coupling": 1.3, "readout": 0.8, "feedback": 1.3}  # points
FAST, SLOW = (0.90, 0.95, 0.98), (0.0, 0.447, 0.698)  # the second is #0072B2
SIZES = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6)  # tried one after another until the diagram fits


def draw(network: Network, ax: Axes | None = None, *, seed: int = 0) -> Figure:
    """The diagram of a network, in a new figure or in `ax`; returns the figure.

    Numbers on arrows are gamma (input), phi (output feedback) and the strength of couplings, which are grey and dashed if it is
    0. Numbers at reservoirs are units, alpha and rho. Slower reservoirs are darker.
    """
    if ax is None:
        from matplotlib.figure import Figure

        plan = layout(network)
        width, height = plan.width, plan.height
        ax = Figure(figsize=(width, height)).add_axes((0, 0, 1, 1))
    else:
        width, height = _room(ax)
        plan = _fitting(network, width, height)
    _frame(ax, plan, width, height)
    for wire in plan.wires:
        _draw_wire(ax, wire)
    _draw_node(ax, plan.input, "s(t)")
    _draw_node(ax, plan.output, "y(t)")
    for k, reservoir in enumerate(network.reservoirs):
        _draw_reservoir(ax, reservoir, plan.reservoirs[k], name_of(k), np.random.default_rng((seed, k)))
        _draw_caption(ax, plan.captions[k], plan.reservoirs[k], name_of(k))
    return ax.figure.figure  # the whole figure, not a subfigure


def shade(leak_rate: float) -> tuple[float, float, float]:
    """The colour of a reservoir (red, green, blue): the longer its timescale 1 / leak_rate, the darker."""
    slow = 1 - leak_rate**0.5  # spreads the leak rates in use: 0, 0.3, 0.55, 0.7 and 0.9 for 1, 0.5, 0.2, 0.1 and 0.01
    red, green, blue = (light + slow * (dark - light) for light, dark in zip(FAST, SLOW, strict=True))
    return red, green, blue


def _room(ax: Axes) -> tuple[float, float]:
    """Width and height of the axes in inches, once the figure has arranged them."""
    figure = ax.figure.figure
    ax.set_axis_off()
    engine = figure.get_layout_engine()
    if engine is not None:
        # Ticks take room. Axes that are still empty may be for diagrams: their ticks do not count.
        empty = [each for each in figure.axes if each.axison and not each.has_data()]
        for each in empty:
            each.set_axis_off()
        engine.execute(figure)
        for each in empty:
            each.set_axis_on()
    box = ax.get_position(original=True).transformed(ax.figure.transSubfigure)
    return box.width / figure.dpi, box.height / figure.dpi


def _fitting(network: Network, width: float, height: float) -> Drawing:
    """The largest size that fits within 3 %; if none does, because text is too wide, the largest that comes closest."""
    plans = [layout(network, size=size) for size in SIZES]
    excess = [max(1.0, each.width / width, each.height / height) for each in plans]
    return next(each for each, much in zip(plans, excess, strict=True) if much < 1.03 * min(excess))


def _frame(ax: Axes, plan: Drawing, width: float, height: float) -> None:
    """Limits that fill the axes, at full size if there is room, with the input at half the height if possible."""
    scale = max(1.0, plan.width / width, plan.height / height)
    width, height = scale * width, scale * height
    left = (plan.left + plan.right - width) / 2
    low = min(max(0.0, plan.top - height / 2), plan.bottom + height / 2) - height / 2
    ax.set_axis_off()
    ax.set(xlim=(left, left + width), ylim=(low, low + height), aspect="equal", anchor="N")


def _draw_wire(ax: Axes, wire: Wire) -> None:
    from matplotlib.patches import FancyArrowPatch

    arrow = FancyArrowPatch(
        path=_rounded(wire.points),
        arrowstyle="-|>",
        mutation_scale=5 + 2.5 * WIDTHS[wire.kind],
        linewidth=WIDTHS[wire.kind],
        linestyle=(0, (3, 2)) if wire.silent else "-",
        color=COLOURS["silent" if wire.silent else wire.kind],
        capstyle="butt",
        joinstyle="miter",
        zorder=1 if wire.kind == "readout" else 1.2 if wire.silent else 1.4,
        gid=wire.name,
    )
    ax.add_patch(arrow)
    if wire.label:
        _write(ax, wire.at, wire.label, f"{wire.name} label", color="0.35" if wire.silent else "black")


def _rounded(points: Sequence[Point]) -> Path:
    from matplotlib.path import Path

    if len(points) == 3:  # a bow
        return Path(points, [Path.MOVETO, Path.CURVE3, Path.CURVE3])
    vertices, codes = [points[0]], [Path.MOVETO]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        ends = []
        for x, y in (before, after):
            length = hypot(x - corner[0], y - corner[1])
            share = min(0.5, (CORNER if (x, y) in (points[0], points[-1]) else 2 * CORNER) / length)
            ends.append((corner[0] + share * (x - corner[0]), corner[1] + share * (y - corner[1])))
        vertices += [ends[0], corner, ends[1]]
        codes += [Path.LINETO, Path.CURVE3, Path.CURVE3]
    return Path([*vertices, points[-1]], [*codes, Path.LINETO])


def _draw_node(ax: Axes, spot: Spot, text: str) -> None:
    from matplotlib.patches import Circle

    ax.add_patch(Circle((spot.x, spot.y), spot.radius, facecolor="white", edgecolor="black", zorder=2, gid=text))
    _write(ax, (spot.x, spot.y), text, f"{text} label", va="center_baseline", style="italic", path_effects=[])


def _draw_reservoir(ax: Axes, reservoir: Reservoir, spot: Spot, name: str, rng: np.random.Generator) -> None:
    from matplotlib.collections import LineCollection, PatchCollection
    from matplotlib.patches import Circle

    colour = shade(reservoir.leak_rate * math.exp(-reservoir.leak_spread / 2))
    ax.add_patch(Circle((spot.x, spot.y), spot.radius, facecolor=colour, edgecolor="black", zorder=2, gid=name))
    places, joined = _neurons(reservoir, rng)
    places = 0.78 * spot.radius * places + (spot.x, spot.y)
    lines = LineCollection(
        [places[list(pair)] for pair in joined], colors="0.25", linewidths=0.6, zorder=3, gid=f"{name} links"
    )
    dots = PatchCollection([Circle((x, y), min(0.028, 0.09 * spot.radius)) for x, y in places], zorder=4, gid=f"{name} neurons")
    dots.set(facecolor="white", edgecolor="black", linewidth=0.6)
    for each in (lines, dots):
        ax.add_collection(each, autolim=False)


def _neurons(reservoir: Reservoir, rng: np.random.Generator) -> tuple[Floats, list[tuple[int, int]]]:
    """Some neurons in the unit circle, (n, 2), and their links: by topology, or random neighbours."""
    count = min(reservoir.units, 7)
    angle = np.linspace(0, 2 * np.pi, count, endpoint=False)
    circle = np.stack([np.sin(angle), np.cos(angle)], axis=1)
    chain = list(pairwise(range(count)))
    if reservoir.topology == "delay_line":
        return circle, chain
    ring = [*chain, (count - 1, 0)]
    if reservoir.topology == "ring":
        return circle, ring
    if isinstance(reservoir.topology, Concentric):
        inner = [(a + count, b + count) for a, b in ring]
        return np.concatenate([circle, 0.5 * circle]), [*ring, *inner, *((k, k + count) for k in range(count))]
    if reservoir.units == 1:
        return np.zeros((1, 2)), []
    count = min(reservoir.units, round(20 * radius_of(reservoir) + 3))
    places = np.zeros((0, 2))
    for _ in range(count):  # of several tries, the one farthest from the others
        tries = rng.uniform(-1, 1, (60, 2))
        tries = tries[np.hypot(*tries.T) <= 1]
        apart = np.hypot(*(tries[:, None] - places).T).min(axis=0, initial=np.inf)
        places = np.concatenate([places, tries[[np.argmax(apart)]]])
    joined = set()
    for k in range(count):
        nearest = np.argsort(np.hypot(*(places - places[k]).T))[1:5]
        joined |= {(min(k, j), max(k, j)) for j in rng.permutation(nearest)[:2].tolist()}
    return places, sorted(joined)


def _draw_caption(ax: Axes, caption: Caption, spot: Spot, name: str) -> None:
    """Draw a caption line by line, since the spacing of a text of several lines depends on its letters."""
    _write(ax, (spot.x, spot.y + spot.radius + AIR), caption.above, f"{name} caption", weight="bold")
    for n, line in enumerate(caption.below, start=1):
        _write(ax, (spot.x, spot.y - spot.radius - n * LINE), line, f"{name} caption")


def _write(ax: Axes, at: Point, text: str, gid: str, **style: Any) -> None:
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=2, foreground="white")]  # for lines that pass behind it
    style = {"va": "baseline", "color": "black", "path_effects": halo} | style
    ax.text(*at, text, fontsize=FONT, ha="center", zorder=5, gid=gid, **style)
