"""The best point of a surface: chosen by validation, reported by test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import xarray

Floats = npt.NDArray[np.float64]


class Best(NamedTuple):
    """Where the mean over the seeds is best on validation data, and what the test data say there.

    test    (..., seed) errors or accuracies
    places  name of a dimension -> (...) its value at the best point
    dims    the names of the axes before the seed
    """

    test: Floats
    places: dict[str, Floats]
    dims: tuple[str, ...]


def best(validation: xarray.DataArray, test: xarray.DataArray, dims: Sequence[str], *, largest: bool = False) -> Best:
    """The best point over `dims`: that of the least mean over the dimension "seed", or of the largest.

    Parameters
    ----------
    validation, test : DataArray
        With the same dimensions, "seed" among them.
    dims : sequence of str
        The dimensions that are searched.
    largest : bool
        True for accuracies, False for errors.
    """
    rest = tuple(str(name) for name in validation.dims if name not in (*dims, "seed"))
    chosen, reported = (
        np.ascontiguousarray(each.transpose(*rest, *dims, "seed").values.astype(np.float64)) for each in (validation, test)
    )
    outer, inner = chosen.shape[: len(rest)], chosen.shape[len(rest) : -1]
    means = chosen.mean(axis=-1).reshape(*outer, -1)
    place = np.asarray(means.argmax(axis=-1) if largest else means.argmin(axis=-1))
    at_best = np.take_along_axis(reported.reshape(*outer, -1, chosen.shape[-1]), place[..., None, None], axis=-2)[..., 0, :]
    where = np.unravel_index(place, inner)
    return Best(at_best, {name: validation[name].values[each] for name, each in zip(dims, where, strict=True)}, rest)


def best_accuracies(name: str, values: xarray.DataArray, dims: Sequence[str]) -> dict[str, xarray.DataArray]:
    """The best point of accuracies (..., seed, part), as variables of a figure.

    `name`best  (..., seed) the "test" accuracies of all seeds there;  `name`best_<dim>  (...) where that is
    """
    import xarray

    validation, test = (values.sel(part=part, drop=True) for part in ("validation", "test"))
    found = best(validation, test, dims, largest=True)
    coords = {each: values[each] for each in (*found.dims, "seed")}
    there = xarray.DataArray(found.test, coords, (*found.dims, "seed"), attrs={"long_name": "test accuracy at the best point"})
    made = {f"{name}best": there.transpose(*(each for each in values.dims if each in there.dims))}
    for dim, place in found.places.items():
        made[f"{name}best_{dim}"] = xarray.DataArray(place, dims=found.dims, attrs={"long_name": f"{dim} of the best point"})
    return made
