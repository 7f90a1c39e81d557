"""How the figures compare networks: pairs of reservoirs beside a single one, each at its best point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale.network import Network, hierarchical, parallel
from paper.types import Floats

if TYPE_CHECKING:
    import xarray


def two(units: int, coupling: float | None, *, connections: int, **shared: Any) -> Network:
    """Two reservoirs of units // 2: both receive the input (coupling None), or the first drives the second.

    connections  weights in a row, of each reservoir and of the coupling
    shared       spectral_radius and input_scaling of both
    """
    sizes = [units // 2] * 2
    if coupling is None:
        return parallel(sizes, connections=connections, **shared)
    return hierarchical(sizes, coupling=coupling, connections=connections, coupling_connections=connections, **shared)


class Best(NamedTuple):
    """The best point by the mean validation score over the seeds, and the test scores there.

    test    (..., seed) errors or accuracies
    places  name of a dimension -> (...) its value at the best point
    dims    the names of the axes before the seed
    """

    test: Floats
    places: dict[str, Floats]
    dims: tuple[str, ...]


def best(validation: xarray.DataArray, test: xarray.DataArray, dims: Sequence[str], *, largest: bool = False) -> Best:
    """Find the point over `dims` with the least (or largest) mean over the dimension "seed"."""
    rest = tuple(f"{name}" for name in validation.dims if name not in (*dims, "seed"))
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

    `name`best        (..., seed) test accuracies of all seeds at the best point
    `name`best_<dim>  (...) value of a dimension at the best point
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


def standard_error(values: npt.ArrayLike, axis: int = -1) -> Any:
    """The standard error of the mean along an axis; NaN for a single value, which has none."""
    array = np.asarray(values)
    count = array.shape[axis]
    return array.std(axis=axis, ddof=1) / count**0.5 if count > 1 else np.full_like(array.mean(axis=axis), np.nan)


def counted(seeds: int) -> str:
    """ "one seed" or for example "20 seeds"."""
    return "one seed" if seeds == 1 else f"{seeds} seeds"
