"""Results of sweeps: read from the folder of their jobs, written to files, and as a table of the best points.

The best points of a grid have the least error on validation data, averaged over seeds.
"""

from __future__ import annotations

import importlib.util
import io
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from echoscale._internal.files import check_writable, write_atomically
from echoscale._internal.table import Table
from echoscale.sweeps import jobs
from echoscale.sweeps.axes import SEEDS
from echoscale.sweeps.grid import dataset

if TYPE_CHECKING:
    import pandas
    import xarray

FORMATS = ("nc", "csv", "parquet")
SHOWN = 5  # best points in the table


def recall(folder: str | Path, sweep: str) -> xarray.Dataset:
    """Read the results of a sweep from the folder of its jobs, without running anything.

    Parameters
    ----------
    folder : path
        Folder of the sweep.
    sweep : str
        Id of the sweep (`echoscale sweeps list` shows it), or the beginning of the id.

    Returns
    -------
    xarray.Dataset
        The same as from `sweep`; NaN for unfinished jobs.

    Examples
    --------
    >>> import tempfile
    >>> import echoscale as es
    >>> from echoscale.sweeps import Protocol, recall
    >>> short = Protocol(washout=50, train=300, validation=100, test=100)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = es.sweep(es.single(20), "narma", {"seed": range(2)}, protocol=short, folder=folder)
    ...     recall(folder, result.attrs["sweep"]).equals(result)
    True
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}: give the folder of the sweep.")
    content = _find(folder, sweep)
    files = [jobs.file_of(folder, key) for key in content["jobs"]]
    found = [jobs.read(each) or jobs.Outcome(None, jobs.error_in(each), 0.0) for each in files]
    return dataset(content["settings"], found)


def export(data: xarray.Dataset, target: str | Path) -> Path:
    """Write the results of a sweep to a file, completely or not at all.

    Parameters
    ----------
    data : xarray.Dataset
        Result of `sweep` or `recall`.
    target : path
        File name ending in .nc (netCDF), .csv, or .parquet if pyarrow is installed. Its folder must exist.

    Returns
    -------
    Path
        The same path.

    Examples
    --------
    >>> import tempfile
    >>> import echoscale as es
    >>> from echoscale.sweeps import Protocol, export
    >>> short = Protocol(washout=50, train=300, validation=100, test=100)
    >>> result = es.sweep(es.single(20), "narma", {"seed": range(2)}, protocol=short)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export(result, f"{folder}/seeds.csv").read_text().splitlines()[0]
    'seed,test,validation,train,ridge'
    """
    target = Path(target)
    check_target(target)
    ending = target.suffix.removeprefix(".")
    if ending == "nc":
        content = bytes(data.to_netcdf(engine="scipy"))
    else:
        frame = in_order(data)
        buffer = io.BytesIO()
        if ending == "csv":
            frame.to_csv(buffer, index=False)
        else:
            frame.to_parquet(buffer, index=False)
        content = buffer.getvalue()
    write_atomically(target, content)
    return target


def check_target(target: Path) -> None:
    """Raise an error if `export` could not write to this path."""
    if target.suffix.removeprefix(".") not in FORMATS:
        raise ValueError(f"{target} must end in one of {', '.join('.' + each for each in FORMATS)}.")
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder: give the name of a file.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target} cannot be written: there is no folder {target.parent}. Make it first.")
    check_writable(target)
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"{target} cannot be written: the folder {target.parent} is read-only.")
    if target.suffix == ".parquet" and importlib.util.find_spec("pyarrow") is None:
        raise ImportError("Parquet files need pyarrow: pip install pyarrow, or write .nc or .csv.")


def in_order(data: xarray.Dataset) -> pandas.DataFrame:
    """One row for every point, columns and rows in the order of the axes."""
    axes = [name for name, *_ in json.loads(data.attrs["settings"])["axes"] if name in data.dims]
    if not axes:  # the mean over the only axis: one point
        return data.expand_dims("point").to_dataframe().reset_index(drop=True)
    return data.to_dataframe(dim_order=axes).reset_index()


def over_seeds(data: xarray.Dataset) -> tuple[xarray.Dataset, bool]:
    """Means over all axes of seeds, and whether there is such an axis."""
    seeds = [name for name in SEEDS if name in data.dims]
    return (data.mean(seeds, keep_attrs=True) if seeds else data), bool(seeds)


def best_points(data: xarray.Dataset) -> Table:
    """The points with the least validation error, averaged over seeds, with their test error."""
    mean, averaged = over_seeds(data)
    frame = in_order(mean[["validation", "test"]]).sort_values("validation").head(SHOWN)
    rows = tuple(tuple(_plain(value) for value in row) for row in frame.itertuples(index=False))
    title = f"The best {len(rows)} of {mean['test'].size} points by validation error" + ", mean over seeds" * averaged
    return Table(tuple(map(str, frame.columns)), rows, title)


def _find(folder: Path, sweep: str) -> dict[str, Any]:
    """The settings and the jobs of the sweep whose id has this beginning."""
    known = jobs.sweep_names(folder)
    matches = [name for name in known if name.startswith(sweep)]
    if len(matches) != 1:
        what = "is not unique" if matches else f"is not in {folder}"
        raise ValueError(f"the sweep {sweep!r} {what}: there are {', '.join(matches or known) or 'none'}.")
    content = jobs.read_sweep(folder, matches[0])
    if content is None:
        raise ValueError(f"{folder / matches[0]}.json is damaged: run the sweep again. Its finished jobs do not run again.")
    return content


def _plain(value: object) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return None if value != value else value  # NaN: unfinished
