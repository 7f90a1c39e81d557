"""The best point of a surface: chosen by validation, reported by test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray


def best(name: str, values: xarray.DataArray, dims: Sequence[str]) -> dict[str, Any]:
    """Where the accuracy (..., seed, part) is largest over `dims` in the mean over the seeds of the "validation" part.

    `name`best  (..., seed) the "test" accuracies of all seeds there;  `name`best_<dim>  (...) where that is
    """
    stacked = values.astype(np.float64).stack(point=dims)
    place = stacked.sel(part="validation").mean("seed").argmax("point")
    test = stacked.sel(part="test", drop=True).isel(point=place).drop_vars(["point", *dims, "part"], errors="ignore")
    found: dict[str, Any] = {f"{name}best": test.assign_attrs(long_name="test accuracy at the best point")}
    for dim in dims:
        there = xarray.DataArray(stacked[dim].values[place.values], dims=place.dims)
        found[f"{name}best_{dim}"] = there.assign_attrs(long_name=f"{dim} of the best point")
    return found
