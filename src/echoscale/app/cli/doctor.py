"""`echoscale doctor`: versions and devices."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

import typer

import echoscale as es
from echoscale.app.cli.output import print_json, working
from echoscale.engine.devices import cores

PACKAGES = ("jax", "jaxlib", "numpy", "scipy", "scikit-learn", "safetensors", "matplotlib", "xarray", "pandas", "typer")
OPTIONAL = ("pyarrow", "distributed", "sktime", "aeon", "bokeh")


def show(json: bool, quiet: bool) -> None:
    """Print the versions of echoscale and its packages, the system, and the devices of JAX."""
    with working("Looking for devices", quiet):
        devices = _devices()
    versions = {"echoscale": es.__version__, "python": platform.python_version(), **_versions()}
    system = f"{platform.system()} {platform.machine()}, {cores()} cores for echoscale"
    if json:
        print_json({"versions": versions, "system": system, "devices": devices})
        return
    typer.echo("\n".join(f"{name} {number}" for name, number in versions.items()))
    typer.echo(f"system: {system}")
    typer.echo(f"devices: {', '.join(devices)}")


def _devices() -> list[str]:
    import jax

    return [f"{each.platform}:{each.id} ({each.device_kind})" for each in jax.devices()]


def _versions() -> dict[str, str]:
    found = {}
    for name in (*PACKAGES, *OPTIONAL):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            if name in PACKAGES:
                found[name] = "missing"
    return found
