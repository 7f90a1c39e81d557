"""What the data of a figure say about themselves: which figure, which scale, all settings and seeds, which versions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import echoscale

if TYPE_CHECKING:
    import xarray

SCALES = ("smoke", "quick", "paper")
# Raised when a change of the code changes the numbers of a figure, so that files of older code are computed anew.
NUMERICS = 1

# Wraps the jobs of a computation and yields them, with a progress bar or without.
Track = Callable[[Sequence[Any]], Iterable[Any]]


def in_order(jobs: Sequence[Any]) -> Iterable[Any]:
    """No progress bar."""
    return jobs


def description(number: int, scale: str, settings: Any) -> dict[str, Any]:
    """All that determines the numbers: the same description, the same data."""
    return {"figure": number, "scale": scale, "numerics": NUMERICS, "settings": json.dumps(asdict(settings), sort_keys=True)}


def labelled(data: xarray.Dataset, number: int, scale: str, settings: Any) -> xarray.Dataset:
    """The data with their description and the versions that made them in `attrs`."""
    libraries = {name: version(name) for name in ("numpy", "scipy", "jax")}
    return data.assign_attrs(description(number, scale, settings), echoscale=echoscale.__version__, **libraries)
