"""The best points of a grid, by the error on validation data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from echoscale.sweeps.archive import in_order
from echoscale.table import Table

if TYPE_CHECKING:
    import xarray

SHOWN = 5
SEEDS = ("seed", "weights_seed", "task_seed")  # axes that errors are averaged over


def over_seeds(data: xarray.Dataset) -> tuple[xarray.Dataset, bool]:
    """The means over all axes of seeds, and whether there is one.

    Parameters
    ----------
    data : xarray.Dataset
        What `es.sweep` or `sweeps.recall` returned.
    """
    seeds = [name for name in SEEDS if name in data.dims]
    return (data.mean(seeds, keep_attrs=True) if seeds else data), bool(seeds)


def best_points(data: xarray.Dataset) -> Table:
    """The points with the least validation error, averaged over seeds, with their test error.

    Parameters
    ----------
    data : xarray.Dataset
        What `es.sweep` or `sweeps.recall` returned.
    """
    mean, averaged = over_seeds(data)
    frame = in_order(mean[["validation", "test"]]).sort_values("validation").head(SHOWN)
    rows = tuple(tuple(_plain(value) for value in row) for row in frame.itertuples(index=False))
    title = f"The best {len(rows)} of {mean['test'].size} points by validation error" + ", mean over seeds" * averaged
    return Table(tuple(map(str, frame.columns)), rows, title)


def _plain(value: object) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return None if value != value else value  # NaN: not finished
