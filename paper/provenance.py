"""What the data of a figure say about themselves: figure, scale, settings with all seeds, versions and machine."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, fields, is_dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
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


def description(number: int | str, scale: str, settings: DataclassInstance) -> dict[str, Any]:
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


def labelled(data: xarray.Dataset, number: int | str, scale: str, settings: DataclassInstance) -> xarray.Dataset:
    """Add the description, the versions and the machine to the attributes of the data."""
    import echoscale as es

    libraries = {name: version(name) for name in ("numpy", "scipy", "jax")}
    described = description(number, scale, settings)
    origin = {"commit": _commit(), "date": datetime.now(UTC).isoformat(timespec="minutes"), "machine": _machine()}
    return data.assign_attrs(described, echoscale=es.__version__, **origin, **libraries)


def settings_in(data: xarray.Dataset) -> dict[str, Any]:
    """The settings that made the data, read from the data."""
    found: dict[str, Any] = json.loads(data.attrs["settings"])
    return found


def _commit() -> str:
    """The commit of the code, "with changes" where files differ from it; ECHOSCALE_COMMIT where there is no repository."""
    if told := os.environ.get("ECHOSCALE_COMMIT"):
        return told
    found = _git("rev-parse", "HEAD")
    return f"{found}{' with changes' if _git('status', '--porcelain', '--', 'src', 'paper') else ''}" if found else "unknown"


def _git(*words: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(Path(__file__).parent.parent), *words], capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _machine() -> str:
    """The processor, its cores, and the accelerator if JAX uses one."""
    import jax

    from echoscale.engine import cores

    kind = jax.devices()[0].device_kind
    return f"{platform.machine()}, {cores()} cores" + ("" if jax.default_backend() == "cpu" else f", {kind}")
