"""One style for all figures: colours that are distinct for the colour-blind, readable letters, one vocabulary.

A figure has two panels side by side at most. At a width of 6 inches, letters of 9 points are then 7.5 pixels high on a phone.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.cm import ScalarMappable
    from matplotlib.colorbar import Colorbar
    from matplotlib.figure import Figure, SubFigure

# Okabe and Ito.
BLUE, ORANGE, GREEN, RED, PINK, SKY, BLACK = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000"
OLIVE = "#999933"  # Tol
# One meaning for each colour in all figures; measurements without a kind of network are black or grey.
SINGLE, PARALLEL, HIERARCHICAL = BLACK, BLUE, RED
LEVELS = GREEN, PINK  # the first and the second reservoir
THEORY = ORANGE  # closed forms and ceilings
ONLINE, TUNED = BLACK, SKY  # how leak rates were learned
# Our words for the kinds of networks in the data, which have the paper's.
WORDS = {"single": "single", "unconnected": "parallel", "connected": "hierarchical", "strong": "hierarchical"}
COLOURS = {"single": SINGLE, "unconnected": PARALLEL, "connected": HIERARCHICAL, "strong": HIERARCHICAL}
WIDTH = 6.0  # inches
SMALL, TEXT, HEAD, LETTER = 9, 10, 11, 12  # points: ticks and legends, labels, titles, panel letters
LETTERS_PER_INCH = 72 / (0.56 * TEXT)  # an average letter is 0.56 times as wide as its size
LEAK_RATES = "leak rate $\\alpha^{(1)}$", "leak rate $\\alpha^{(2)}$"


def figure(height: float, width: float = WIDTH) -> Any:
    """An empty figure, sizes in inches, made without pyplot and its global state."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def title(figure: Figure, data: xarray.Dataset, text: str, size: str = "", part: str = "") -> None:
    """A title with the subject and the scale, so that the figure can stand alone."""
    scale = f"{data.attrs['scale'].capitalize()} scale{': ' if size else ''}{size}"
    lines = f"Fig. {data.attrs['figure']}{part and ', '}{part}. {text}", scale
    letters = round(figure.get_figwidth() * LETTERS_PER_INCH * TEXT / HEAD)
    figure.suptitle("\n".join(wrapped(line, letters) for line in lines), fontsize=HEAD)


def heading(figure: SubFigure, text: str) -> None:
    """What a row of panels shows, in words."""
    letters = round(figure.bbox.width / figure.dpi * LETTERS_PER_INCH)
    figure.suptitle("\n".join(wrapped(line, letters) for line in text.split("\n")), fontsize=TEXT)


def wrapped(text: str, letters: int) -> str:
    """Text in lines of at most this number of letters: as few lines as possible, of about equal length."""
    lines = textwrap.wrap(text, letters)
    while letters > 1 and len(shorter := textwrap.wrap(text, letters - 1)) == len(lines):
        letters, lines = letters - 1, shorter
    return "\n".join(lines)


def legend(figure: Figure | SubFigure, keys: Mapping[str, Any], columns: int) -> None:
    """A legend of the marks, below all panels."""
    look: dict[str, Any] = {"loc": "outside lower center", "fontsize": SMALL, "frameon": False}
    figure.legend(list(keys.values()), list(keys), ncols=columns, **look)


def keys_of(ax: Axes) -> dict[str, Any]:
    """The marks of a panel by their labels, one of each kind."""
    handles, labels = ax.get_legend_handles_labels()
    return dict(zip(labels, handles, strict=True))


def bar(
    figure: Figure | SubFigure,
    mesh: ScalarMappable,
    axes: Sequence[Axes],
    label: str,
    extend: str = "neither",
    location: str = "bottom",
) -> Colorbar:
    """One colour bar for all these panels, below them or on their right."""
    aspect = 15 * len(axes) if location == "bottom" else 15
    made = figure.colorbar(mesh, ax=list(axes), location=location, aspect=aspect, fraction=0.06, pad=0.03, extend=extend)
    made.set_label(label, fontsize=TEXT)
    made.ax.tick_params(labelsize=SMALL)
    return made


def panel(ax: Axes, letter: str, *, x: str = "", y: str = "", title: str = "", aside: float = 0.3) -> None:
    """Letter, labels and frame of one panel whose axes have their scales: labels say which axes are logarithmic.

    aside: inches from the letter to the panel; over the labels of the y-axis, it is clear of the title
    """
    from matplotlib.transforms import ScaledTranslation

    ax.set_title(title, fontsize=TEXT)
    ax.set_title(letter, fontsize=LETTER, fontweight="bold", loc="left")
    own: Any = ax._left_title  # type: ignore[attr-defined]
    own.set_transform(own.get_transform() + ScaledTranslation(-aside, 0, ax.figure.dpi_scale_trans))
    ax.set_xlabel(scaled(x, ax.get_xscale()), fontsize=TEXT)
    ax.set_ylabel(scaled(y, ax.get_yscale()).replace(" (", "\n(") if ax.get_yscale() != "linear" else y, fontsize=TEXT)
    ax.tick_params(labelsize=SMALL)
    ax.spines[["top", "right"]].set_visible(False)


def scaled(label: str, scale: str) -> str:
    """A label with the scale of its axis, unless that is linear: "error (log scale)", "delay (steps, log scale)"."""
    says = {"log": "log scale", "symlog": "log scale, linear near 0"}.get(scale, "")
    if not label or not says:
        return label
    return f"{label[:-1]}, {says})" if label.endswith(")") else f"{label} ({says})"


def plain_ticks(axis: Axis, places: Iterable[float]) -> None:
    """Ticks of a logarithmic axis at these places alone, written out in place of powers of ten."""
    from matplotlib.ticker import FixedLocator, NullLocator

    axis.set_major_locator(FixedLocator(list(places)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter("{x:g}")


def cells(points: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Edges of cells around points, half-way on a logarithmic axis."""
    logs = np.log(points)
    between = (logs[1:] + logs[:-1]) / 2
    return np.asarray(np.exp(np.concatenate([[2 * logs[0] - between[0]], between, [2 * logs[-1] - between[-1]]])))


def cross(ax: Axes, x: float, y: float) -> None:
    """A white cross with a dark rim, visible on any background; at the edge it may leave the panel."""
    ax.plot(x, y, **_cross())


def cross_key(label: str) -> Any:
    """The same cross for a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, linestyle="none", **_cross())


def start_key(label: str) -> Any:
    """The square at the start of a path, for a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, linestyle="none", **START)


START: dict[str, Any] = {"marker": "s", "color": "white", "markeredgecolor": BLACK, "markeredgewidth": 0.9, "markersize": 4.5}


def _cross() -> dict[str, Any]:
    from matplotlib.patheffects import withStroke

    look: dict[str, Any] = {"marker": "x", "color": "white", "markersize": 6.5, "markeredgewidth": 1.6}
    return {**look, "clip_on": False, "zorder": 5, "path_effects": [withStroke(linewidth=3.2, foreground=BLACK)]}
