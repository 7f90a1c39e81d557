"""Pictures that pages draw: their Python is run in a folder of its own, and what it saves goes to docs/figures."""

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
PAGES = ("first_steps.md", "examples.md")
FAST, SLOW, DATA = "#56B4E9", "#0072B2", "#D55E00"


def blocks(page: Path) -> list[str]:
    """The Python of a page."""
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def draw() -> None:
    """All pictures of `PAGES`, of the README and of the page on forecasts."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    for page in PAGES:
        run(page)
    plt.close("all")
    example: dict[str, Any] = {}
    exec(blocks(ROOT / "README.md")[0], example)
    landing(example, "landing.png", rows=1, columns=3, figsize=(11.5, 3.1), width_ratios=(1.1, 1.1, 1.0))
    landing(example, "landing-narrow.png", rows=3, columns=1, figsize=(5.0, 8.0))
    forecasts()


def run(page: str) -> None:
    """Run the Python of a page, and move its pictures to docs/figures."""
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


def landing(found: dict[str, Any], name: str, rows: int, columns: int, **options: Any) -> None:
    """The example of the README: the suggested network, its timescales beside those of the data, and the errors."""
    import matplotlib.pyplot as plt
    import numpy as np

    import echoscale as es

    network, errors = found["two"], found["errors"]
    figure, axes = plt.subplots(rows, columns, layout="constrained", **options)
    network.plot(axes[0])
    said = {"R1": "fast", "R2": "slow", "s(t)": "u", "y(t)": "y"}
    for text in axes[0].texts:  # the other numbers are in the example
        words = said.get(text.get_text(), text.get_text().replace("α =", "leak rate"))
        text.set_text(words if words in said.values() or words.startswith("leak") or "units" in words else "")
    for reservoir, colour, level in zip(network.reservoirs, (FAST, SLOW), ("fast level", "slow level"), strict=True):
        leak, radius = reservoir.leak_rate, reservoir.spectral_radius
        tau = np.geomspace(*es.timescales.bounds(leak, radius), 400)
        density = tau * es.timescales.density(tau, leak, radius)
        axes[1].fill_between(tau, density / density.max(), color=colour, alpha=0.8, linewidth=0)
        axes[1].text(tau[density.argmax()], 1.04, level, ha="center", color=SLOW)
    for tau in (3, 30):
        axes[1].axvline(tau, ymax=0.86, color=DATA, linestyle="--")
        axes[1].text(tau, 1.28, f"{tau} steps\nin the data", ha="center", va="bottom", color=DATA)
    axes[1].set(xscale="log", xlim=(0.4, 60), ylim=(0, 1.45), yticks=[], xlabel="timescale, steps (logarithmic)")
    axes[1].set_xticks([1, 3, 10, 30], labels=["1", "3", "10", "30"])
    methods = [each.replace(" on", "\non").replace(" and", "\nand") for each in errors]
    bars = axes[2].barh(methods, list(errors.values()), color=["0.75", "0.55", SLOW])
    axes[2].bar_label(bars, fmt="%.2f", padding=3)
    axes[2].set(xlabel="error on test data (NRMSE)", xlim=(0, 1.2), xticks=[0, 0.5, 1])
    axes[2].invert_yaxis()
    for ax in axes[1:]:
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(axis="y", length=0)
    _save(figure, name)


def forecasts() -> None:
    """The forecast and the backtest of the first example of the page on forecasts."""
    import matplotlib.pyplot as plt

    found: dict[str, Any] = {}
    exec(blocks(ROOT / "docs" / "forecasting.md")[0], found)
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
        _save(figure, f"{name}.png")


def _save(figure: Any, name: str) -> None:
    pixels = io.BytesIO()
    figure.savefig(pixels, format="png", dpi=150)
    write_atomically(FIGURES / name, pixels.getvalue())
