"""Which figures there are, and how one is made: computed or taken from its file, drawn, saved."""

from __future__ import annotations

import importlib
import io
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from echoscale._internal import checks
from echoscale._internal.files import make_folder, write_atomically
from echoscale._internal.progress import Progress
from echoscale.sweeps.run import Runner
from paper.provenance import SCALES, description

if TYPE_CHECKING:
    import xarray

# Number in the paper -> module with SETTINGS (one frozen dataclass for each scale), compute(scale, run) and draw(data).
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
LEDGER = "ledger.sqlite"  # in the folder of the figures: finished jobs of all of them


class Result(NamedTuple):
    """A figure that was made.

    Attributes
    ----------
    picture : Path
        The PNG.
    file : Path
        The data as netCDF.
    data : xarray.Dataset
        The data, with all settings, seeds and versions in `attrs`.
    reused : bool
        Whether the data came from an earlier run.
    """

    picture: Path
    file: Path
    data: xarray.Dataset
    reused: bool


def make(
    number: int,
    scale: str,
    folder: str | Path,
    *,
    fresh: bool = False,
    progress: bool | Progress = False,
    variant: str | None = None,
) -> Result:
    """Compute and draw one figure of the paper: `folder`/fig1-quick.nc and .png.

    Data of an earlier run with these settings are reused. Finished jobs of an interrupted run are in `folder`/ledger.sqlite:
    the same call goes on from there.

    Parameters
    ----------
    number : int
        Of the figure in the paper, 1 to 9.
    scale : {"smoke", "quick", "paper"}
        How much is computed: seconds, minutes, or all seeds and sizes of the paper.
    folder : path
        Where data, picture and ledger are written; made if it is not there.
    fresh : bool
        Whether everything is computed anew, and replaces what is there.
    progress : bool or function
        True for a bar in the terminal; a function is called as progress(done, total, note) with the number of jobs done.
    variant : str, optional
        Which of a figure's variants is drawn (figures 3 and 4 have four; all are computed); the first unless given.

    Returns
    -------
    Result
        Where picture and data were saved, the data, and whether they came from an earlier run.

    Examples
    --------
    >>> import tempfile
    >>> from echoscale import paper
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paper.make(8, "smoke", folder).picture.name
    'fig8-smoke.png'
    """
    folder = Path(folder)
    checks.choice(number, tuple(FIGURES), "figure")
    checks.choice(scale, SCALES, "scale")
    module = importlib.import_module(f"paper.{FIGURES[number]}")
    make_folder(folder)
    variants = getattr(module, "VARIANTS", ())
    if variant is not None and not variants:
        raise ValueError(f"figure {number} has no variants, got variant={variant!r}.")
    if variant is not None:
        checks.choice(variant, variants, f"the variant of figure {number}")
    named = "" if variant in (None, *variants[:1]) else "-" + re.sub(r"[^a-z0-9]+", "-", str(variant).lower())
    file, picture = folder / f"fig{number}-{scale}.nc", folder / f"fig{number}-{scale}{named}.png"
    # Some choose their settings by the data that are there.
    settings = module.settings_of(scale) if hasattr(module, "settings_of") else module.SETTINGS[scale]
    described = description(number, scale, settings)
    data = None if fresh else _load(file, described)
    reused = data is not None
    if data is None:
        start = time.perf_counter()
        run = Runner(folder / LEDGER, described, fresh=fresh, progress=progress, what=f"Figure {number}")
        data = module.compute(scale, run)
        data.attrs["seconds"] = round(time.perf_counter() - start, 1)
        data.attrs["job_seconds"] = round(run.seconds, 1)  # an interrupted run took longer than its last part
        write_atomically(file, bytes(data.to_netcdf(engine="scipy")))
    pixels = io.BytesIO()
    drawn = module.draw(data) if variant is None else module.draw(data, variant)
    drawn.savefig(pixels, format="png", dpi=200)
    write_atomically(picture, pixels.getvalue())
    return Result(picture, file, data, reused)


def read(file: Path) -> xarray.Dataset:
    """The data of a figure; an error where the file cannot be read or does not describe its data.

    Parameters
    ----------
    file : Path
        What `make` wrote.
    """
    import xarray

    try:
        with xarray.open_dataset(io.BytesIO(file.read_bytes()), engine="scipy") as opened:
            data = opened.load()
    except Exception as error:
        raise ValueError(f"{file} cannot be read ({error}): compute it again with fresh=True (--fresh).") from error
    missing = [name for name in ("figure", "scale", "settings") if name not in data.attrs]
    if missing:
        raise ValueError(f"{file} holds no data of a figure: it does not say its {missing[0]}.")
    return data


def _load(file: Path, described: dict[str, Any]) -> xarray.Dataset | None:
    """The data of an earlier run; None where there are none, or where other settings made them."""
    if not file.exists():
        return None
    try:
        data = read(file)
    except ValueError:  # computed anew
        return None
    return data if all(data.attrs.get(name) == value for name, value in described.items()) else None
