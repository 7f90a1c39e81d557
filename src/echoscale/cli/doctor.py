"""`echoscale doctor`: versions, devices, the numerics against the equations in plain NumPy, and the speed.

    x_k(t+1) = (1 - a_k) x_k(t) + a_k tanh(gamma_k W_in_k s(t) + rho_k W_k x_k(t) + beta_k b_k + sum_l c_kl W_kl x_l(t))

`naive_states` is written out here, from the equations, and shares no code with the engine.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import typer

import echoscale as es
from echoscale.cli.shell import print_json, working
from echoscale.engine.machine import cores
from echoscale.files import cache_of, home
from echoscale.table import Table

Floats = npt.NDArray[np.float64]

PACKAGES = ("jax", "jaxlib", "numpy", "scipy", "scikit-learn", "safetensors", "matplotlib", "xarray", "pandas", "typer")
OPTIONAL = ("pyarrow", "distributed", "sktime", "aeon", "bokeh")
LARGEST = {"float64": 1e-12, "float32": 1e-4}  # differences of states
STEPS, SPEED_STEPS = 60, 20_000


@dataclass(frozen=True)
class Check:
    """What was checked, whether it holds, and what was found."""

    name: str
    passed: bool
    found: str


def naive_states(esn: Any, u: Floats) -> Floats:
    """x(t) of every step, (T, N), by the equations above; a coupling hears this step of levels before (delay 0), or the last.

    Parameters
    ----------
    esn : ESN
        Any without output feedback, residuals or leak rates for every neuron.
    u : (T, F)
        s.
    """
    hyper, drawn, network = esn.hyper, esn.drawn, esn.network
    x = [np.zeros(size) for size in esn.sizes]
    rows = []
    for s in u:
        new: list[Floats] = []
        for k in range(len(x)):
            h = hyper.input_scaling[k] * (drawn.inputs[k] @ s) + hyper.bias_scaling[k] * drawn.biases[k]
            h = h + hyper.spectral_radius[k] * (drawn.recurrent[k].toarray() @ x[k])
            for j, link in enumerate(network.couplings):
                if link.target == k:
                    heard = new[link.source] if network.coupling_delay == 0 and link.source < k else x[link.source]
                    h = h + hyper.coupling[j] * (drawn.couplings[j].toarray() @ heard)
            leak = float(hyper.leak_rate[k])
            new.append((1 - leak) * x[k] + leak * np.tanh(h))
        x = new
        rows.append(np.concatenate(x))
    return np.array(rows)


def examine(json: bool, quiet: bool) -> bool:
    """Print all of it; whether all checks passed.

    Parameters
    ----------
    json : bool
        Whether to print JSON.
    quiet : bool
        Whether to show no progress.
    """
    with working("Looking for devices", quiet):
        devices = _devices()
    results = []
    for name, check in checks(devices).items():
        with working(f"Checking {name}", quiet):
            results.append(_tried(name, check))
    with working("Measuring the speed", quiet):
        speed = _speed()
    healthy = all(each.passed for each in results)
    versions = {"echoscale": es.__version__, "python": platform.python_version(), **_versions()}
    system = f"{platform.system()} {platform.machine()}, {cores()} cores for echoscale"
    if json:
        told = [{"name": each.name, "passed": each.passed, "found": each.found} for each in results]
        every = {"healthy": healthy, "versions": versions, "system": system, "devices": devices, "checks": told}
        print_json({**every, "steps_a_second": speed})
        return healthy
    typer.echo("\n".join(f"{name} {number}" for name, number in versions.items()))
    typer.echo(f"system: {system}")
    typer.echo(f"devices: {', '.join(devices)}\n")
    rows = tuple((each.name, "passed" if each.passed else "FAILED", each.found) for each in results)
    typer.echo(str(Table(("check", "result", "found"), rows)))
    if speed is not None:
        typer.echo(f"\nspeed: {speed:,.0f} steps a second, two levels of 100 neurons, float32")
    typer.echo("All is well." if healthy else "Something is wrong: see the checks that failed.")
    return healthy


def checks(devices: list[str]) -> dict[str, Callable[[], tuple[bool, str]]]:
    """Name -> what returns whether it holds, and what was found.

    Parameters
    ----------
    devices : list of str
        Of JAX.
    """
    platforms = list(dict.fromkeys(each.split(":")[0] for each in devices))
    found: dict[str, Callable[[], tuple[bool, str]]] = {
        f"states, {dtype}, {device}": _states(dtype, device) for device in platforms for dtype in LARGEST
    }
    return {**found, "ridge readout": _ridge, "timescales": _timescales, "save and load": _saved, "cache folder": _cache}


def _tried(name: str, check: Callable[[], tuple[bool, str]]) -> Check:
    try:
        return Check(name, *check())
    except Exception as error:  # whatever is broken is to be told, beside the other checks
        return Check(name, False, f"{type(error).__name__}: {error}".splitlines()[0][:120])


def _states(dtype: str, device: str) -> Callable[[], tuple[bool, str]]:
    def check() -> tuple[bool, str]:
        network = es.hierarchical([30, 20], leak_rate=[1.0, 0.2], spectral_radius=0.9, coupling=0.5)
        esn = network.build(2, seed=1, dtype=dtype, device=device)
        u = np.random.default_rng(0).uniform(-1, 1, (STEPS, 2))
        apart = float(np.abs(np.asarray(esn.run(u), np.float64) - naive_states(esn, u)).max())
        return apart < LARGEST[dtype], f"largest difference {apart:.1e}, allowed {LARGEST[dtype]:.0e}"

    return check


def _ridge() -> tuple[bool, str]:
    """A readout by the library, and by the normal equations of states from the naive loop."""
    u, y = es.tasks.narma(length=300, seed=0)
    esn = es.single(20).build(1, seed=1, dtype="float64")
    states, washout = naive_states(esn, u), 50
    model = es.ESNRegressor(
        network=es.single(20), random_state=1, dtype="float64", scale=None, direct=False, ridge=0.0, washout=washout
    )
    guess = np.asarray(model.fit(u, y).predict(u)).reshape(-1)
    rows = np.column_stack([states, np.ones(len(states))])
    coef = np.linalg.lstsq(rows[washout:], np.asarray(y).reshape(-1)[washout:], rcond=None)[0]
    apart = float(np.abs(guess - rows @ coef)[washout:].max())
    return apart < 1e-6, f"largest difference {apart:.1e}, allowed 1e-06"


def _timescales() -> tuple[bool, str]:
    """The slowest mode of a ring: 1 / (leak rate (1 - spectral radius))."""
    spectrum = es.single(50, leak_rate=0.5, spectral_radius=0.95, topology="ring").build(1).spectrum()
    found = float(spectrum.timescales.max())
    return abs(found - 40) < 1e-9, f"slowest mode {found:.6g} steps, 40 by the formula"


def _saved() -> tuple[bool, str]:
    esn = es.single(10).build(1, seed=2)
    u = np.ones((5, 1))
    with tempfile.TemporaryDirectory() as folder:
        again = es.load(es.save(esn, Path(folder) / "model.safetensors"))
    same = bool((np.asarray(esn.run(u)) == np.asarray(again.run(u))).all())
    return same, "the same bits" if same else "other states after loading"


def _cache() -> tuple[bool, str]:
    folder = cache_of(sys.platform, os.environ, home())
    place = folder
    while not place.exists():
        place = place.parent
    fine = os.access(place, os.W_OK)
    return fine, str(folder) if fine else f"{place} is read-only: set ECHOSCALE_CACHE"


def _speed() -> float | None:
    """Steps a second of the second run; None where it does not run."""
    try:
        esn = es.hierarchical([100, 100]).build(1, seed=0)
        u = np.zeros((SPEED_STEPS, 1))
        esn.run(u)
        began = time.perf_counter()
        np.asarray(esn.run(u))
        return SPEED_STEPS / (time.perf_counter() - began)
    except Exception:  # the checks have told why
        return None


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
