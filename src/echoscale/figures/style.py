"""One look for all figures: colours told apart by the colour-blind, bold panel letters, quiet axes."""

from __future__ import annotations

from typing import Any

# Okabe and Ito.
BLUE, ORANGE, GREEN, RED, PINK, SKY, BLACK = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000"
WIDTH = 7.2  # inches: two columns of a journal


def figure(height: float, width: float = WIDTH) -> Any:
    """An empty figure; sizes in inches. No pyplot: nothing global is touched."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def panel(ax: Any, letter: str, *, x: str = "", y: str = "", title: str = "") -> None:
    """Letter, labels and frame of one panel."""
    ax.set_title(title, fontsize=9)
    ax.set_title(letter, fontsize=11, fontweight="bold", loc="left")
    ax.set_xlabel(x, fontsize=9)
    ax.set_ylabel(y, fontsize=9)
    ax.tick_params(labelsize=8)
    ax.spines[["top", "right"]].set_visible(False)
