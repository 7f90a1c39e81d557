"""Pictures that pages draw themselves: their Python is run in a folder of its own, and what it saves goes to docs/figures."""

from __future__ import annotations

import io
import os
import re
import tempfile
from pathlib import Path
from typing import Any

from echoscale._internal.files import write_atomically
from generator.results import ROOT

FIGURES = ROOT / "docs" / "figures"
PAGES = ("first_steps.md", "gallery.md")


def blocks(page: Path) -> list[str]:
    """The Python of a page."""
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def draw() -> None:
    """All pictures of `PAGES`, and the one of the first page."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    found = {page: run(page) for page in PAGES}
    plt.close("all")
    landing(found["first_steps.md"])


def run(page: str) -> dict[str, Any]:
    """The names that the Python of a page leaves; its pictures are moved to docs/figures."""
    found: dict[str, Any] = {}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for block in blocks(ROOT / "docs" / page):
                exec(block, found)
            for picture in Path(folder).glob("*.png"):
                write_atomically(FIGURES / picture.name, picture.read_bytes())
        finally:
            os.chdir(before)
    return found


def landing(first: dict[str, Any]) -> None:
    """A network, the timescales of its reservoirs, and the test data of the first tutorial."""
    import matplotlib.pyplot as plt
    import numpy as np

    import echoscale as es

    leaks, radius = (1.0, 0.2), 0.9
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 2.6), width_ratios=(1.25, 0.8, 1.25), layout="constrained")
    es.hierarchical([50, 50], leak_rate=leaks, spectral_radius=radius, input_scaling=0.2).plot(axes[0])
    for leak, colour in zip(leaks, ("#56B4E9", "#0072B2"), strict=True):
        low, high = es.timescales.bounds(leak, radius)
        tau = np.geomspace(low, high, 400)
        axes[1].plot(tau, tau * es.timescales.density(tau, leak, radius), color=colour, label=f"leak rate {leak:g}")
    axes[1].set(xscale="log", xlabel="timescale, steps", ylabel="density of the logarithm", yticks=[], ylim=(0, None))
    axes[1].legend(frameon=False, fontsize=8)
    axes[2].plot(first["y"][first["test"]][140:260], color="0.6", linewidth=2.5, label="laser")
    axes[2].plot(first["y_hat"][140:260], color="#D55E00", linewidth=1.2, label="forecast, one step ahead")
    axes[2].set(xlabel="step", ylabel="intensity", xlim=(0, 119), ylim=(-10, 290))
    axes[2].legend(frameon=False, fontsize=8, ncols=2)
    for ax in axes[1:]:
        ax.spines[["top", "right"]].set_visible(False)
    pixels = io.BytesIO()
    figure.savefig(pixels, format="png", dpi=130)
    write_atomically(FIGURES / "landing.png", pixels.getvalue())
