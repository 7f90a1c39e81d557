"""Pictures of examples, run: the README's, and those of the page on forecasts."""

from __future__ import annotations

import io
import re
from typing import Any

from echoscale._internal.files import write_atomically
from generator.results import ROOT

PICTURE = ROOT / "docs" / "figures" / "example.png"
SHOWN = 120


def draw() -> None:
    """Target and prediction over the first steps that the readout was not fitted to."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    found: dict[str, Any] = {}
    exec(_first_block("README.md"), found)
    y, y_hat = found["y"], found["y_hat"]
    first = len(y) - len(y_hat)
    steps = range(first, first + SHOWN)
    figure, ax = plt.subplots(figsize=(7.0, 2.2), layout="constrained")
    ax.plot(steps, y[first : first + SHOWN, 0], color="0.6", linewidth=2.5, label="target")
    ax.plot(steps, y_hat[:SHOWN, 0], color="C0", linewidth=1.2, label="prediction")
    ax.set(xlabel="step", ylabel="84 steps ahead", xlim=(first, first + SHOWN - 1))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, ncols=2, loc="upper right")
    pixels = io.BytesIO()
    figure.savefig(pixels, format="png", dpi=150)
    write_atomically(PICTURE, pixels.getvalue())


def draw_forecasts() -> None:
    """The forecast and the backtest of the first example of the page on forecasts."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    found: dict[str, Any] = {}
    exec(_first_block("docs/forecasting.md"), found)
    model, free = found["model"], found["free"]
    pictures = {
        "forecast": lambda axes: model.plot(28, free[252:], axes=axes),
        "backtest": lambda axes: model.backtest(horizon=14, origins=4).plot(axes),
    }
    for name, picture in pictures.items():
        figure, axes = plt.subplots(figsize=(7.0, 2.6), layout="constrained")
        picture(axes)
        axes.set(ylabel="visitors")
        axes.spines[["top", "right"]].set_visible(False)
        pixels = io.BytesIO()
        figure.savefig(pixels, format="png", dpi=150)
        write_atomically(ROOT / "docs" / "figures" / f"{name}.png", pixels.getvalue())


def _first_block(page: str) -> str:
    """The first Python of a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    block = re.search(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    assert block is not None
    return block[1]
