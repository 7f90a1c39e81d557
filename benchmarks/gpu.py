"""One GPU: does it agree with the CPU, how many sequences a second, how long a sweep, what does a step of one series cost?

python benchmarks/gpu.py            on a machine with a GPU, about two minutes
python benchmarks/gpu.py --quick    small sizes, on whatever there is: a CPU is then compared with itself
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import common
import jax
import numpy as np

import echoscale as es
from echoscale.engine.devices import on_cpu


def agreement(device: str, steps: int) -> dict[str, float]:
    """Largest difference between device and CPU: states, and readout coefficients relative to their size."""
    u, y = es.tasks.narma(steps, order=10, seed=0)
    network = es.hierarchical([50, 50], leak_rate=[1.0, 0.2], spectral_radius=0.95, input_scaling=0.2)
    result = {}
    for dtype in ("float32", "float64"):
        both = [network.build(1, seed=0, dtype=dtype, device=where) for where in (device, "cpu")]
        ours, theirs = (esn.run(u) for esn in both)
        result[f"states {dtype}"] = float(np.abs(ours - theirs).max())
        ours, theirs = (es.readouts.ridge(es.readouts.statistics(esn, u, y, washout=200), 1e-5).coef for esn in both)
        result[f"coefficients {dtype}"] = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    return result


def sequences_per_second(lanes: int, units: int, steps: int) -> dict[str, float]:
    """Two levels: the last states alone, and a snapshot every 28 steps brought to the host."""
    network = es.hierarchical([units, units], spectral_radius=0.99, coupling_normalisation="sqrt_connections")
    esn = network.build(1, seed=0)
    images = np.random.default_rng(0).random((lanes, steps, 1), dtype=np.float32)
    return {
        "last state": lanes / common.best(lambda: esn.run_chunks(images)),
        "snapshots on the host": lanes / common.best(lambda: esn.snapshots(images, every=28)),
    }


def sweep_seconds(points: int, steps: int) -> float:
    """points x points leak rates on NARMA10, 2 x 50 units: states to fitted ridge."""
    u, y = es.tasks.narma(steps, order=10, seed=0)
    esn = es.hierarchical([50, 50], spectral_radius=0.95, input_scaling=0.2).build(1, seed=0)
    grid = np.linspace(1 / points, 1, points)
    first, second = np.meshgrid(grid, grid, indexing="ij")
    hyper = esn.hyper.replace(leak_rate=[first.ravel(), second.ravel()])
    return common.best(lambda: es.readouts.ridge(es.readouts.statistics(esn, u, y, washout=200, hyper=hyper), 1e-5))


def step_microseconds(units: int, steps: int) -> float:
    """Microseconds a step of one series."""
    esn = es.single(units, leak_rate=0.5, input_scaling=0.2).build(1, seed=0)
    u = np.random.default_rng(0).random((steps, 1))
    return common.best(lambda: esn.run(u)) / len(u) * 1e6


def measure(options: argparse.Namespace) -> common.Raw:
    quick = options.quick
    if on_cpu(None) and not quick:
        raise SystemExit("gpu.py measures a GPU, and JAX finds none here. Install jax for your GPU, or try --quick.")
    sizes: dict[str, Any] = {"units": 600, "steps": 784, "lanes": [1024, 4096, 16384], "points": 20, "series": [100, 1000]}
    if quick:
        sizes = {"units": 30, "steps": 56, "lanes": [16], "points": 2, "series": [20]}
    long = 400 if quick else 5000
    return {
        "device": jax.devices()[0].device_kind,
        "sizes": {**sizes, "sweep_steps": long},
        "difference_from_cpu": agreement("cpu" if on_cpu(None) else "gpu", 400 if quick else 3000),
        "sequences_per_second": {
            str(lanes): sequences_per_second(lanes, sizes["units"], sizes["steps"]) for lanes in sizes["lanes"]
        },
        "sweep_seconds": sweep_seconds(sizes["points"], long),
        "step_microseconds": {str(units): step_microseconds(units, 1000 if quick else 10_000) for units in sizes["series"]},
    }


def table(raw: common.Raw) -> str:
    """Three small tables."""
    s = raw["sizes"]
    speeds = raw["sequences_per_second"]
    lines = [
        "# One GPU",
        "",
        common.origin(raw),
        "",
        *common.rows(
            ("largest difference from the CPU", ""),
            [(name, f"{value:.1e}") for name, value in raw["difference_from_cpu"].items()],
        ),
        "",
        f"Coefficients: of the largest. 2 x {s['units']} units, {s['steps']} steps, a snapshot every 28 steps:",
        "",
        *common.rows(
            ("sequences at once", *(f"{name}, sequences/s" for name in next(iter(speeds.values())))),
            [(f"{int(lanes):,}", *(f"{rate:,.0f}" for rate in each.values())) for lanes, each in speeds.items()],
        ),
        "",
        *common.rows(
            ("", ""),
            [
                (
                    f"{s['points']} x {s['points']} leak rates, 2 x 50 units, {s['sweep_steps']:,} steps, states to ridge",
                    f"{raw['sweep_seconds']:.2f} s",
                ),
                *((f"one series, {units} units", f"{each:.1f} µs a step") for units, each in raw["step_microseconds"].items()),
            ],
        ),
        "",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> common.Raw:
    return common.main("gpu", __doc__, measure, table, arguments=arguments)


if __name__ == "__main__":
    main()
