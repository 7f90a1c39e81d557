"""Are the differences of Fig. 3 those of the networks, or those of 20 seeds? Its NARMA10 comparison on 60 seeds that are new.

The protocol of the figure at paper scale: 100 neurons, lag 1 (the state that predicts y[t] has seen u[t]), ridge >= 1e-5 chosen
for every network on validation data, 20 x 20 leak rates chosen by the mean validation error over the seeds; shown are errors on
held-out test data. Seeds 0 to 19 are those of the figure; here 20 to 79. One seed draws weights and series, so that differences
between networks are taken seed by seed.

    python benchmarks/narma_seeds.py            some minutes; resumes from --folder
    python benchmarks/narma_seeds.py --quick    seconds
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import common
import numpy as np
import numpy.typing as npt

import echoscale as es

Floats = npt.NDArray[np.float64]

RADII = (1.0, 0.95, 0.63)


def extend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--folder", type=Path, default=common.HERE.parent / "out" / "narma_seeds", help="resumes from it")


def measure(options: argparse.Namespace) -> common.Raw:
    """Every seed's validation and test error of every network at its chosen leak rates."""
    quick = options.quick
    seeds = list(range(20, 22 if quick else 80))
    alpha = np.linspace(0.25, 1, 4) if quick else np.linspace(0.05, 1, 20)
    sizes: dict[str, Any] = {"washout": 200, "train": 5000, "validation": 1500, "test": 2500}
    if quick:
        sizes = {"washout": 50, "train": 500, "validation": 200, "test": 200}
    units = 20 if quick else 100
    protocol = es.sweeps.Protocol(**sizes, scale=None)
    shared: dict[str, Any] = {"connections": 10, "spectral_radius": 0.95, "input_scaling": 0.2}
    halves = [units // 2] * 2
    networks = {
        "parallel": es.parallel(halves, **shared),
        "hierarchical": es.hierarchical(halves, coupling=1.0, coupling_connections=10, **shared),
    }

    def swept(network: Any, axes: dict[str, Any]) -> Any:
        task = es.sweeps.Task("narma", {"order": 10})
        folder = None if quick else options.folder
        return es.sweep(network, task, {"seed": seeds, **axes}, protocol=protocol, folder=folder)

    found: dict[str, Any] = {}
    single = swept(es.single(units, **shared), {"spectral_radius": list(RADII), "leak_rate": alpha})
    for radius in RADII:
        found[f"single, radius {radius:g}"] = chosen(single.sel(spectral_radius=radius), ("leak_rate",))
        common.say(f"single, radius {radius:g}")
    for name, network in networks.items():
        data = swept(network, {"leak_rate[0]": alpha, "leak_rate[1]": alpha})
        found[name] = chosen(data, ("leak_rate[0]", "leak_rate[1]"))
        common.say(name)
    settings = {**sizes, "units": units, "leak_rates": alpha.tolist()}
    return {"settings": settings, "seeds": seeds, "networks": found}


def chosen(data: Any, dims: tuple[str, ...]) -> dict[str, Any]:
    """The leak rates of least mean validation error, and the errors of every seed there."""
    mean = data["validation"].mean("seed")
    place = {dim: int(each) for dim, each in mean.argmin(dim=list(dims)).items()}
    at = data.isel(place)
    return {
        "leak_rates": [float(data[dim][place[dim]]) for dim in dims],
        **{part: at[part].values.tolist() for part in ("validation", "test", "ridge")},
    }


def table(raw: common.Raw) -> str:
    """Means with standard errors, and paired differences from the best single network and from the parallel one."""
    s, seeds, networks = raw["settings"], raw["seeds"], raw["networks"]
    singles = [name for name in networks if name.startswith("single")]
    best = min(singles, key=lambda name: float(np.mean(networks[name]["validation"])))
    body = []
    for name, each in networks.items():
        leaks = ", ".join(f"{leak:g}" for leak in each["leak_rates"])
        cells = [f"**{name}**" if name == best else name, f"({leaks})", common.mean_and_error(each["test"], 4)]
        for rival in (best, "parallel"):
            cells.append("" if rival == name else difference(each["test"], networks[rival]["test"]))
        body.append(cells)
    head = ("network", "leak rates", "test NRMSE", "minus best single (better in)", "minus parallel (better in)")
    lines = [
        "# NARMA10 on seeds that are new",
        "",
        common.origin(raw),
        "",
        f"{s['units']} neurons in all; pairs with spectral radius 0.95, hierarchical with coupling 1; input scaling "
        "0.2; washout "
        f"{s['washout']}, training {s['train']}, validation {s['validation']}, test {s['test']} steps; {len(s['leak_rates'])} "
        f"leak rates from {s['leak_rates'][0]:g} to 1 for every reservoir; ridge from 1e-5 up, chosen for every "
        f"network on validation data; float32. Seeds {seeds[0]} to {seeds[-1]} draw weights and series; leak rates have the "
        "least mean validation error over them. ± is the standard error of the mean, or of the mean difference seed by seed. "
        "Bold: the single network with the least mean validation error.",
        "",
        *common.rows(head, body, left=2),
        "",
    ]
    gain = np.array(networks["hierarchical"]["test"]), np.array(networks[best]["test"]), np.array(networks["parallel"]["test"])
    lines += [
        f"The hierarchical network has {_percent(gain[0], gain[1])} of the error of the best single network and "
        f"{_percent(gain[0], gain[2])} of that of the parallel one (ratio of means).",
        "",
    ]
    return "\n".join(lines)


def difference(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """Mean ± standard error of the differences, and in how many seeds ours is less."""
    apart = np.array(ours) - np.array(theirs)
    error = apart.std(ddof=1) / len(apart) ** 0.5
    return f"{apart.mean():+.4f} ± {error:.4f} ({(apart < 0).sum()} of {len(apart)})"


def _percent(ours: Floats, theirs: Floats) -> str:
    return f"{100 * ours.mean() / theirs.mean():.1f} %"


def main(arguments: Sequence[str] | None = None) -> common.Raw:
    return common.main("narma_seeds", __doc__, measure, table, arguments=arguments, extend=extend)


if __name__ == "__main__":
    main()
