"""Which figures there are, and how one is made: computed or taken from its file, drawn, saved."""

from __future__ import annotations

import importlib
import io
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from echoscale import _checks
from echoscale.files import write_atomically
from echoscale.paper.parts import Parts
from echoscale.paper.provenance import SCALES, Track, description, in_order

if TYPE_CHECKING:
    import xarray

# Number in the paper -> module with SETTINGS (one frozen dataclass for each scale), compute(scale, track) and draw(data).
FIGURES = {
    1: "fig1_timescales",
    2: "fig2_architectures",
    3: "fig3_narma",
    4: "fig4_telegraph",
    5: "fig5_adaptation",
    6: "fig6_psmnist",
    7: "fig7_online_gradient",
    8: "fig8_relaxation",
    9: "fig9_delayed_input",
}
# Those whose compute(scale, track, parts) keeps finished jobs.
RESUMABLE = (4, 5, 6)


class Result(NamedTuple):
    """Where a figure and its data were saved, the data, and whether they came from an earlier run."""

    picture: Path
    file: Path
    data: xarray.Dataset
    reused: bool


def make(
    number: int, scale: str, folder: Path, *, fresh: bool = False, track: Track = in_order, variant: str | None = None
) -> Result:
    """Compute and draw one figure: `folder`/fig1-quick.nc and .png. Data of an earlier run with these settings are reused.

    variant  which of a figure's variants is drawn (Fig. 3 has four; all are computed); the first unless given
    """
    _checks.choice(number, tuple(FIGURES), "figure")
    _checks.choice(scale, SCALES, "scale")
    module = importlib.import_module(f"echoscale.paper.{FIGURES[number]}")
    folder.mkdir(parents=True, exist_ok=True)
    variants = getattr(module, "VARIANTS", ())
    if variant is not None and not variants:
        raise ValueError(f"figure {number} has no variants, got variant={variant!r}.")
    if variant is not None:
        _checks.choice(variant, variants, f"the variant of figure {number}")
    named = "" if variant in (None, *variants[:1]) else "-" + re.sub(r"[^a-z0-9]+", "-", str(variant).lower())
    file, picture = folder / f"fig{number}-{scale}.nc", folder / f"fig{number}-{scale}{named}.png"
    # Some choose their settings by the data that are there.
    settings = module.settings_of(scale) if hasattr(module, "settings_of") else module.SETTINGS[scale]
    described = description(number, scale, settings)
    data = None if fresh else _load(file, described)
    reused = data is not None
    if data is None:
        start = time.perf_counter()
        # Long figures keep what is finished, and go on from there.
        parts = Parts.beside(file, described)
        if fresh:
            parts.remove()
        data = module.compute(scale, track, parts) if number in RESUMABLE else module.compute(scale, track)
        data.attrs["seconds"] = round(time.perf_counter() - start, 1)
        if parts.seconds:  # an interrupted run took longer than its last part
            data.attrs["job_seconds"] = round(parts.seconds, 1)
        write_atomically(file, bytes(data.to_netcdf(engine="scipy")))
        parts.remove()
    pixels = io.BytesIO()
    drawn = module.draw(data) if variant is None else module.draw(data, variant)
    drawn.savefig(pixels, format="png", dpi=200)
    write_atomically(picture, pixels.getvalue())
    return Result(picture, file, data, reused)


def _load(file: Path, described: dict[str, Any]) -> xarray.Dataset | None:
    """The data of an earlier run; None where there are none, or where other settings made them."""
    import xarray

    if not file.exists():
        return None
    try:
        with xarray.open_dataset(file, engine="scipy") as opened:
            data = opened.load()
    except (ValueError, TypeError, OSError, KeyError, IndexError):  # not a file of ours, or a broken one: computed anew
        return None
    return data if all(data.attrs.get(name) == value for name, value in described.items()) else None
