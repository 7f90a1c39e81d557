"""One style for all figures: colours that are distinct for the colour-blind, bold panel letters, quiet axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.colorbar import Colorbar
    from matplotlib.figure import Figure, SubFigure

# Okabe and Ito.
BLUE, ORANGE, GREEN, RED, PINK, SKY, BLACK = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000"
OLIVE = "#999933"  # Tol
# One meaning for each colour in all figures; measurements without a kind of network are black or grey.
SINGLE, UNCONNECTED, CONNECTED = BLACK, BLUE, RED
LEVELS = GREEN, PINK  # the first and the second reservoir
THEORY = ORANGE  # closed forms and ceilings
ONLINE, TUNED = BLACK, SKY  # how leak rates were learned
WIDTH = 7.2  # inches: two columns of a journal


def figure(height: float, width: float = WIDTH) -> Any:
    """An empty figure, sizes in inches, made without pyplot and its global state."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def title(figure: Figure, data: xarray.Dataset, text: str, size: str = "") -> None:
    """A title with the subject and the scale, so that the figure can stand alone."""
    scale = f"{data.attrs['scale']} scale{': ' if size else ''}{size}"
    figure.suptitle(f"Fig. {data.attrs['figure']}. {text}\n{scale}", fontsize=9)


def bar(
    figure: Figure | SubFigure, mesh: ScalarMappable, axes: Sequence[Axes], label: str, extend: str = "neither"
) -> Colorbar:
    """One colour bar below all these panels."""
    aspect = 15 * len(axes)
    made = figure.colorbar(mesh, ax=list(axes), location="bottom", aspect=aspect, fraction=0.06, pad=0.03, extend=extend)
    made.set_label(label, fontsize=8)
    made.ax.tick_params(labelsize=7)
    return made


def panel(ax: Axes, letter: str, *, x: str = "", y: str = "", title: str = "") -> None:
    """Letter, labels and frame of one panel."""
    ax.set_title(title, fontsize=9)
    ax.set_title(letter, fontsize=11, fontweight="bold", loc="left")
    ax.set_xlabel(x, fontsize=9)
    ax.set_ylabel(y, fontsize=9)
    ax.tick_params(labelsize=8)
    ax.spines[["top", "right"]].set_visible(False)


def cells(points: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Edges of cells around points, half-way on a logarithmic axis."""
    logs = np.log(points)
    between = (logs[1:] + logs[:-1]) / 2
    return np.asarray(np.exp(np.concatenate([[2 * logs[0] - between[0]], between, [2 * logs[-1] - between[-1]]])))


def cross(ax: Axes, x: float, y: float) -> None:
    """A white cross with a dark rim, visible on any background; at the edge it may leave the panel."""
    from matplotlib.patheffects import withStroke

    look: dict[str, Any] = {"color": "white", "markersize": 6, "markeredgewidth": 1.5, "clip_on": False, "zorder": 5}
    ax.plot(x, y, "x", **look, path_effects=[withStroke(linewidth=3, foreground=BLACK)])
