"""All figures of the paper in one go, and a table of what matters in them: the paper's number, ours, and what is possible.

Whatever an earlier run has finished is used again: whole figures, and finished jobs of others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, SupportsFloat

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.files import write_atomically
from echoscale._internal.progress import Progress
from paper.gallery import FIGURES, Result, make
from paper.provenance import SCALES, settings_in

if TYPE_CHECKING:
    import xarray

__all__ = ["reproduce"]

HEADER = ("task", "network", "paper", "ours", "ceiling")
CAUTION = "Fewer seeds and smaller problems than the paper's: compare the networks with each other, not with its values."
# Fig. 3 in the reading under which the paper's comparison holds; Fig. 4 likewise.
NARMA_VARIANT = "lag 1, ridge >= 1e-5"
TELEGRAPH = {"readout": "online", "rho": 0.1, "task": "joint"}


class Row(NamedTuple):
    """One line of the table; errors are those of the mean over the seeds."""

    task: str
    network: str
    paper: str
    ours: str
    ceiling: str


def reproduce(
    scale: str = "quick",
    numbers: Sequence[int] = tuple(FIGURES),
    folder: str | Path = "out",
    *,
    fresh: bool = False,
    progress: bool | Progress = False,
) -> tuple[list[Row], Path]:
    """Make the figures of the paper, and a table of its main results beside ours.

    Parameters
    ----------
    scale : {"smoke", "quick", "paper"}
        How much is computed.
    numbers : sequence of int
        Which figures; all of them unless given.
    folder : path
        Where everything is written; the table is headline-<scale>.md there.
    fresh : bool
        Whether everything is computed anew.
    progress : bool or function
        True for a bar in the terminal; a function is called as progress(done, total, note) with the jobs of one figure.

    Returns
    -------
    rows : list of Row
        The lines of the table.
    file : Path
        Where it is.

    Examples
    --------
    >>> import tempfile
    >>> from paper.reproduce import reproduce
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows, file = reproduce("smoke", [2], folder)
    ...     print(file.name)
    headline-smoke.md
    """
    found = dict(made(scale, numbers, folder, fresh=fresh, progress=progress))
    return write_table({number: result.data for number, result in found.items()}, scale, folder)


def made(
    scale: str, numbers: Sequence[int], folder: str | Path, *, fresh: bool = False, progress: bool | Progress = False
) -> Iterator[tuple[int, Result]]:
    """The figures one by one, each as soon as it is there. Arguments as of `reproduce`."""
    checks.choice(scale, SCALES, "scale")
    for number in numbers:
        checks.choice(number, tuple(FIGURES), "figure")
    for number in numbers:
        yield number, make(number, scale, folder, fresh=fresh, progress=progress)


def write_table(data: Mapping[int, xarray.Dataset], scale: str, folder: str | Path) -> tuple[list[Row], Path]:
    """The table of these figures, and where it was written."""
    rows = headline(data)
    file = Path(folder) / f"headline-{scale}.md"
    write_atomically(file, _markdown(rows, scale).encode())
    return rows, file


def headline(data: Mapping[int, xarray.Dataset]) -> list[Row]:
    """The lines that these figures have something to say to."""
    rows: list[Row] = []
    if 3 in data:
        rows += _narma(data[3])
    if 4 in data:
        rows += _telegraph(data[4])
    if 6 in data:
        rows += _permuted_images(data[6])
    return rows


def _narma(data: xarray.Dataset) -> list[Row]:
    """Test NRMSE at the best leak rates. The paper has its errors in pictures only; in words, the connected network wins."""
    chosen, rows = data.sel(variant=NARMA_VARIANT), []
    for task in data["task"].values:
        name = f"{task}, test NRMSE"
        alone = chosen.sel(task=task)
        rows.append(Row(name, "single", "", _plus_minus(alone["single_best_test"], alone["single_best_test_error"]), ""))
        for kind, text in (("unconnected", "unconnected"), ("strong", "connected")):
            both = chosen.sel(surface=f"{task}, {kind}")
            paper = "the lowest" if kind == "strong" else ""
            rows.append(Row(name, text, paper, _plus_minus(both["best_test"], both["best_test_error"]), ""))
    return rows


def _telegraph(data: xarray.Dataset) -> list[Row]:
    """Joint accuracy at the best leak rates, beside the best possible on the same series."""
    chosen = data.sel(TELEGRAPH)
    ceiling = f"{float(chosen['ceiling'].sel(part='test').mean()):.3f}"
    name = "telegraph, joint accuracy"
    rows = [Row(name, "single", "0.64", _of_seeds(chosen["single_best"]), ceiling)]
    rows += [
        Row(name, kind, "0.75", _of_seeds(chosen["best"].sel(network=kind)), ceiling) for kind in ("unconnected", "connected")
    ]
    return rows


def _permuted_images(data: xarray.Dataset) -> list[Row]:
    """Test accuracy at the best leak rates. The paper gives one number in words, its best."""
    mnist, most = settings_in(data)["data"] == "mnist", data["snapshots"].values.max()
    rows = []
    for count in data["snapshots"].values:
        name = f"{'psMNIST' if mnist else 'psDigits'}, {count} snapshots, accuracy"
        found = data.sel(snapshots=count)
        rows.append(Row(name, "single", "", _of_seeds(found["single_best"], 4), ""))
        for kind in ("unconnected", "connected"):
            paper = "0.96" if mnist and kind == "connected" and count == most else ""
            rows.append(Row(name, kind, paper, _of_seeds(found["best"].sel(network=kind), 4), ""))
    return rows


def _of_seeds(values: npt.ArrayLike, digits: int = 3) -> str:
    numbers = np.asarray(values, np.float64)
    if numbers.size == 1:
        return f"{float(numbers.mean()):.{digits}f}"
    if numbers.size == 2:  # a spread of two says next to nothing, and may be 0 by chance
        return f"{float(numbers.mean()):.{digits}f} (2 seeds)"
    return _plus_minus(numbers.mean(), numbers.std(ddof=1) / numbers.size**0.5, digits)


def _plus_minus(mean: SupportsFloat, error: SupportsFloat, digits: int = 3) -> str:
    return f"{float(mean):.{digits}f} ± {float(error):.{digits}f}"


def markdown_table(rows: Sequence[Row]) -> str:
    """The rows as a table in Markdown."""
    lines = [f"| {' | '.join(HEADER)} |", "|---" * len(HEADER) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _markdown(rows: Sequence[Row], scale: str) -> str:
    warning = "" if scale == "paper" else f"{CAUTION}\n\n"
    return f"# Headline, {scale} scale\n\n{warning}{markdown_table(rows)}\n"
