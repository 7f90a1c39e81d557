"""Where a plot goes: the user's axes, or a new figure that leaves matplotlib's global state alone; and its file."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def new_axes(width: float = 7.0, height: float = 3.0) -> Axes:
    """Axes in a new figure of this size in inches, made without pyplot."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained").subplots()


def drawn(plot: Axes | Figure, ending: str = "png") -> bytes:
    """The content of a picture file of a figure, or of the figure of these axes."""
    file = io.BytesIO()
    plot.figure.savefig(file, format=ending, dpi=160)  # type: ignore[union-attr]
    return file.getvalue()
