"""The headline table: the main results of the paper, ours, and the best possible ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, SupportsFloat

import numpy as np
import numpy.typing as npt

from paper.comparison import standard_error
from paper.files import write
from paper.provenance import settings_in

if TYPE_CHECKING:
    import xarray

HEADER = ("task", "network", "paper", "ours", "ceiling")
CAUTION = "Fewer seeds and smaller problems than in the paper: compare the networks with each other, not with its values."
# The readings of Fig. 3 and Fig. 4 in which the paper's comparison holds.
NARMA_VARIANT = "lag 1, ridge >= 1e-5"
TELEGRAPH = {"readout": "online", "rho": 0.1, "task": "joint"}
PAIRS = {"unconnected": "parallel", "connected": "hierarchical"}  # the paper's names in the data, and ours


class Row(NamedTuple):
    """One line of the table; errors are standard errors of the mean over the seeds."""

    task: str
    network: str
    paper: str
    ours: str
    ceiling: str


def write_table(data: Mapping[int, xarray.Dataset], scale: str, folder: str | Path) -> tuple[list[Row], Path]:
    """Write the table of these figures to headline-<scale>.md; return its rows and the file."""
    rows = headline(data)
    file = Path(folder) / f"headline-{scale}.md"
    write(file, _markdown(rows, scale).encode())
    return rows, file


def headline(data: Mapping[int, xarray.Dataset]) -> list[Row]:
    """The lines of the table that these figures decide."""
    rows: list[Row] = []
    if 3 in data:
        rows += _narma(data[3])
    if 4 in data:
        rows += _telegraph(data[4])
    if 6 in data:
        rows += _permuted_images(data[6])
    return rows


def _narma(data: xarray.Dataset) -> list[Row]:
    """Test NRMSE at the best leak rates. The paper shows its errors in pictures; by its text the hierarchy wins."""
    chosen, rows = data.sel(variant=NARMA_VARIANT), []
    for task in data["task"].values:
        name = f"{task}, test NRMSE"
        alone = chosen.sel(task=task)
        rows.append(Row(name, "single", "", _plus_minus(alone["single_best_test"], alone["single_best_test_error"]), ""))
        for kind, text in (("unconnected", "parallel"), ("strong", "hierarchical")):
            both = chosen.sel(surface=f"{task}, {kind}")
            paper = "the lowest" if kind == "strong" else ""
            rows.append(Row(name, text, paper, _plus_minus(both["best_test"], both["best_test_error"]), ""))
    return rows


def _telegraph(data: xarray.Dataset) -> list[Row]:
    """Joint accuracy at the best leak rates, and the best possible one on the same series."""
    chosen = data.sel(TELEGRAPH)
    ceiling = f"{float(chosen['ceiling'].sel(part='test').mean()):.3f}"
    name = "telegraph, joint accuracy"
    rows = [Row(name, "single", "0.64", _of_seeds(chosen["single_best"]), ceiling)]
    rows += [Row(name, text, "0.75", _of_seeds(chosen["best"].sel(network=kind)), ceiling) for kind, text in PAIRS.items()]
    return rows


def _permuted_images(data: xarray.Dataset) -> list[Row]:
    """Test accuracy at the best leak rates. The text of the paper states only its best one."""
    mnist, most = settings_in(data)["data"] == "mnist", data["snapshots"].values.max()
    rows = []
    for count in data["snapshots"].values:
        name = f"{'psMNIST' if mnist else 'psDigits'}, {count} snapshots, accuracy"
        found = data.sel(snapshots=count)
        rows.append(Row(name, "single", "", _of_seeds(found["single_best"], 4), ""))
        for kind, text in PAIRS.items():
            paper = "0.96" if mnist and kind == "connected" and count == most else ""
            rows.append(Row(name, text, paper, _of_seeds(found["best"].sel(network=kind), 4), ""))
    return rows


def _of_seeds(values: npt.ArrayLike, digits: int = 3) -> str:
    """The mean and its standard error, in words where there are too few seeds for one."""
    numbers = np.asarray(values, np.float64)
    if numbers.size == 2:  # the spread of two seeds means little, and may be 0 by chance
        return f"{float(numbers.mean()):.{digits}f} (2 seeds)"
    return _plus_minus(numbers.mean(), standard_error(numbers), digits)


def _plus_minus(mean: SupportsFloat, error: SupportsFloat, digits: int = 3) -> str:
    """The mean and its error; the mean alone if there is no error, as for one seed."""
    known = np.isfinite(float(error))
    return f"{float(mean):.{digits}f}" + (f" ± {float(error):.{digits}f}" if known else "")


def markdown_table(rows: Sequence[Row]) -> str:
    """The rows as a table in Markdown."""
    lines = [f"| {' | '.join(HEADER)} |", "|---" * len(HEADER) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _markdown(rows: Sequence[Row], scale: str) -> str:
    warning = "" if scale == "paper" else f"{CAUTION}\n\n"
    return f"# Headline, {scale} scale\n\n{warning}{markdown_table(rows)}\n"
