"""Make one figure: compute its data or read them from its file, draw them, save both.

The library is imported inside the functions, so the command line answers at once.
"""

from __future__ import annotations

import importlib
import io
import re
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from paper.files import make_folder, write
from paper.provenance import SCALES, description, with_seeds

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

# Number in the paper -> module with SETTINGS (one frozen dataclass for each scale), compute and draw, and with draw_supplement
# if it has a second picture.
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
# Studies beside the paper's figures, by their names.
STUDIES = {"hierarchy": "hierarchy", "timescales": "learned_timescales"}
JOBS = "jobs"  # folder inside the folder of the figures: the finished jobs of all figures
# Series with numbers from here on are those of learners (`learned_paths.FIRST_SERIES`) and of scores: a seed must lie below.
MOST_SEED = 9_999

Progress = Callable[[int, int, str], None]


class Result(NamedTuple):
    """A figure that was made.

    Attributes
    ----------
    picture : Path
        The PNG file.
    file : Path
        The data as a netCDF file.
    data : xarray.Dataset
        The data, with all settings, seeds and versions in `attrs`.
    reused : bool
        Whether the data came from an earlier run.
    supplement : Path or None
        A second PNG file of the same data with more panels; None for most figures.
    """

    picture: Path
    file: Path
    data: xarray.Dataset
    reused: bool
    supplement: Path | None = None


def make(
    number: int | str,
    scale: str,
    folder: str | Path,
    *,
    seeds: Sequence[int] | None = None,
    variant: str | None = None,
    fresh: bool = False,
    processes: int = 1,
    progress: bool | Progress = False,
) -> Result:
    """Compute and draw one figure of the paper or one study, and save for example fig3-quick.nc and fig3-quick.png.

    Some figures have a second picture of the same data, for example fig3-quick-supplement.png.

    Data of an earlier run with the same settings are used again. Finished jobs of an interrupted run are in the folder
    "jobs" inside the same folder: the same call continues from there.

    Parameters
    ----------
    number : int or str
        Number of the figure in the paper, 1 to 9, or the name of a study in `STUDIES`.
    scale : {"smoke", "quick", "paper"}
        Size of the computation: seconds, minutes, or all seeds and sizes of the paper.
    folder : path
        Folder for data, picture and finished jobs; it is made if it is not there.
    seeds : sequence of int, optional
        Random seeds in place of those of the scale. Figure 2 draws no random numbers.
    variant : str, optional
        Variant to draw, of a figure that has several (figures 3 and 4); the first one by default. All are computed.
    fresh : bool
        Whether to compute again what is already there.
    processes : int
        Number of processes with one core each; 1 computes in this process, which uses all cores for one job at a time.
    progress : bool or function
        True shows a bar in the terminal; a function is called as progress(done, total, note) with the number of jobs done.

    Returns
    -------
    Result
        Files, data, and whether the data came from an earlier run.

    Examples
    --------
    >>> import tempfile
    >>> import paper
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paper.make(8, "smoke", folder).picture.name
    'fig8-smoke.png'
    """
    from echoscale.sweeps import Runner
    from paper.processes import Processes

    folder, module, settings = Path(folder), module_of(number), settings_of(number, scale, seeds)
    name = name_of(number)
    if variant is not None:
        one_of(variant, variants_of(number), f"variant of {name}")
    make_folder(folder)
    named = "" if variant in (None, *variants_of(number)[:1]) else "-" + re.sub(r"[^a-z0-9]+", "-", str(variant).lower())
    file = folder / f"{stem_of(number)}-{scale}.nc"
    described = description(number, scale, settings)
    data = None if fresh else _load(file, described)
    reused = data is not None
    if data is None:
        start = time.perf_counter()
        options: dict[str, Any] = {"fresh": fresh, "progress": progress, "what": name[0].upper() + name[1:]}
        jobs = folder / JOBS
        with Processes(jobs, processes, **options) if processes > 1 else nullcontext(Runner(jobs, **options)) as run:
            data = module.compute(settings, scale, run)
        data.attrs["seconds"] = round(time.perf_counter() - start, 1)
        data.attrs["job_seconds"] = round(run.seconds, 1)  # an interrupted run took longer than its last part
        write(file, bytes(data.to_netcdf(engine="scipy")))
    chosen = () if variant is None else (variant,)
    picture = _save(file.with_name(f"{file.stem}{named}.png"), module.draw(data, *chosen))
    supplement = None
    if hasattr(module, "draw_supplement"):
        supplement = _save(file.with_name(f"{file.stem}{named}-supplement.png"), module.draw_supplement(data, *chosen))
    return Result(picture, file, data, reused, supplement)


def _save(target: Path, drawn: Figure) -> Path:
    """Write a figure as a PNG file."""
    pixels = io.BytesIO()
    drawn.savefig(pixels, format="png", dpi=200)
    write(target, pixels.getvalue())
    return target


def one_of(value: object, choices: Iterable[object], what: str) -> None:
    """Raise an error that names the value and the choices, unless the value is one of them."""
    choices = tuple(choices)
    if not choices:
        raise ValueError(f"there is no {what}, got {value!r}: leave it out.")
    if value not in choices:
        raise ValueError(f"there is no {what} {value!r}: choose {', '.join(map(str, choices[:-1]))} or {choices[-1]}.")


def module_of(number: int | str) -> Any:
    """The module of a figure or a study."""
    known: dict[Any, str] = {**FIGURES, **STUDIES}
    one_of(number, known, "figure")
    return importlib.import_module(f"paper.{known[number]}")


def name_of(number: int | str) -> str:
    """How a line about a figure or a study begins."""
    return f"study {number}" if number in STUDIES else f"figure {number}"


def stem_of(number: int | str) -> str:
    """How the names of its files begin."""
    return str(number) if number in STUDIES else f"fig{number}"


def variants_of(number: int | str) -> tuple[str, ...]:
    """The variants that a figure can be drawn in; none for most figures."""
    variants: tuple[str, ...] = getattr(module_of(number), "VARIANTS", ())
    return variants


def settings_of(number: int | str, scale: str, seeds: Sequence[int] | None = None) -> Any:
    """The settings of a figure at a scale, with other seeds if they are given."""
    module = module_of(number)
    one_of(scale, SCALES, "scale")
    # Figure 6 chooses its settings by the data that are there.
    settings = module.settings_of(scale) if hasattr(module, "settings_of") else module.SETTINGS[scale]
    return settings if seeds is None else with_seeds(settings, seeds)


def read(file: Path) -> xarray.Dataset:
    """Read the data of a figure; raise an error if the file is damaged or holds no figure."""
    import xarray

    try:
        with xarray.open_dataset(io.BytesIO(file.read_bytes()), engine="scipy") as opened:
            data = opened.load()
    except Exception as error:
        raise ValueError(f"{file} cannot be read ({error}): compute it again with fresh=True (--fresh).") from error
    missing = [name for name in ("figure", "scale", "settings") if name not in data.attrs]
    if missing:
        raise ValueError(f"{file} holds no data of a figure: the attribute {missing[0]} is missing.")
    return data


def _load(file: Path, described: dict[str, Any]) -> xarray.Dataset | None:
    """The data of an earlier run; None if there are none, or if they were made with other settings."""
    if not file.exists():
        return None
    try:
        data = read(file)
    except ValueError:  # a damaged file is computed again
        return None
    return data if all(data.attrs.get(name) == value for name, value in described.items()) else None
