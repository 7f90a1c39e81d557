"""Where a plot goes: the user's axes, or a new figure that leaves matplotlib's global state alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def new_axes(width: float = 7.0, height: float = 3.0) -> Axes:
    """Axes in a new figure of this size in inches, made without pyplot."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained").subplots()
