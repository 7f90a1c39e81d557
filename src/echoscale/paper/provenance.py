"""What the data of a figure say about themselves: which figure, which scale, all settings and seeds, which versions."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import echoscale
from echoscale.engine.machine import cores

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
    """The data with their description and the versions and the machine that made them in `attrs`."""
    libraries = {name: version(name) for name in ("numpy", "scipy", "jax")}
    described = description(number, scale, settings)
    return data.assign_attrs(described, echoscale=echoscale.__version__, machine=_machine(), **libraries)


def settings_in(data: xarray.Dataset) -> dict[str, Any]:
    """The settings that made the data, as they say themselves."""
    found: dict[str, Any] = json.loads(data.attrs["settings"])
    return found


def _machine() -> str:
    """What computed: the processor, its cores, and the accelerator where JAX uses one."""
    import jax

    kind = jax.devices()[0].device_kind
    return f"{platform.machine()}, {cores()} cores" + ("" if jax.default_backend() == "cpu" else f", {kind}")
