"""What the data of a figure say about themselves: which figure, which scale, all settings and seeds, which versions."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import echoscale
from echoscale.engine.devices import cores
from echoscale.sweeps import job

if TYPE_CHECKING:
    import xarray
    from _typeshed import DataclassInstance

SCALES = ("smoke", "quick", "paper")


def description(number: int, scale: str, settings: DataclassInstance) -> dict[str, Any]:
    """All that determines the numbers: the same description, the same data."""
    written = json.dumps(_in_their_units(asdict(settings)), sort_keys=True)
    return {"figure": number, "scale": scale, "numerics": job.NUMERICS, "settings": written}


def _in_their_units(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings without `scale=None`: the data of figures 3 and 9 that are in the repository do not state it."""
    return {
        name: _in_their_units(value) if isinstance(value, dict) else value
        for name, value in settings.items()
        if (name, value) != ("scale", None)
    }


def labelled(data: xarray.Dataset, number: int, scale: str, settings: DataclassInstance) -> xarray.Dataset:
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
