"""What the data of a figure say about themselves: figure, scale, settings with all seeds, versions and machine."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import asdict, fields, is_dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import xarray
    from _typeshed import DataclassInstance

    Settings = TypeVar("Settings", bound=DataclassInstance)

SCALES = ("smoke", "quick", "paper")


def with_seeds(settings: Settings, seeds: Sequence[int]) -> Settings:
    """Replace all seeds in the settings and in settings inside them; a field for a single seed takes the first one."""
    changed: dict[str, Any] = {}
    for field in fields(settings):
        value = getattr(settings, field.name)
        if is_dataclass(value) and not isinstance(value, type):
            changed[field.name] = with_seeds(value, seeds)
        elif field.name.endswith("seeds"):
            changed[field.name] = tuple(seeds)
        elif field.name.endswith("seed"):
            changed[field.name] = seeds[0]
    return replace(settings, **changed)


def description(number: int, scale: str, settings: DataclassInstance) -> dict[str, Any]:
    """Describe all that determines the numbers of a figure: equal descriptions mean equal data."""
    from echoscale.sweeps import NUMERICS

    written = json.dumps(_without_scale(asdict(settings)), sort_keys=True)
    return {"figure": number, "scale": scale, "numerics": NUMERICS, "settings": written}


def _without_scale(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings without `scale=None`, which the committed data of figures 3 and 9 do not state."""
    return {
        name: _without_scale(value) if isinstance(value, dict) else value
        for name, value in settings.items()
        if (name, value) != ("scale", None)
    }


def labelled(data: xarray.Dataset, number: int, scale: str, settings: DataclassInstance) -> xarray.Dataset:
    """Add the description, the versions and the machine to the attributes of the data."""
    import echoscale as es

    libraries = {name: version(name) for name in ("numpy", "scipy", "jax")}
    described = description(number, scale, settings)
    return data.assign_attrs(described, echoscale=es.__version__, machine=_machine(), **libraries)


def settings_in(data: xarray.Dataset) -> dict[str, Any]:
    """The settings that made the data, read from the data."""
    found: dict[str, Any] = json.loads(data.attrs["settings"])
    return found


def _machine() -> str:
    """The processor, its cores, and the accelerator if JAX uses one."""
    import jax

    from echoscale.engine import cores

    kind = jax.devices()[0].device_kind
    return f"{platform.machine()}, {cores()} cores" + ("" if jax.default_backend() == "cpu" else f", {kind}")
