"""One GPU: agreement with the CPU, images a second of the psMNIST network, and a sweep from states to fitted ridge.

Run on a machine with a GPU: python benchmarks/gpu.py [benchmarks/results/gpu.md]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import jax
import numpy as np

import echoscale as es


def best(function: Callable[[], Any], repeats: int = 3) -> float:
    """Seconds of the fastest call, after one that compiles."""
    function()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def agreement() -> dict[str, float]:
    """Largest difference between GPU and CPU: states, and readout coefficients relative to their size."""
    u, y = es.tasks.narma(3000, order=10, seed=0)
    network = es.hierarchical([50, 50], leak_rate=[1.0, 0.2], spectral_radius=0.95, input_scaling=0.2)
    result = {}
    for dtype in ("float32", "float64"):
        both = [network.build(1, seed=0, dtype=dtype, device=device) for device in ("gpu", "cpu")]
        ours, theirs = (esn.run(u) for esn in both)
        result[f"states {dtype}"] = float(np.abs(ours - theirs).max())
        ours, theirs = (es.ridge(es.statistics(esn, u, y, washout=200), 1e-5).coef for esn in both)
        result[f"coefficients {dtype}"] = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    return result


def images_per_second(lanes: int) -> dict[str, float]:
    """2 x 600 units, 784 steps: the last states alone, and 28 snapshots an image brought to the host."""
    network = es.hierarchical([600, 600], spectral_radius=0.99, coupling_normalisation="sqrt_connections")
    esn = network.build(1, seed=0)
    images = np.random.default_rng(0).random((lanes, 784, 1), dtype=np.float32)
    rates = {"last state": lanes / best(lambda: esn.run_chunks(images))}
    rates["28 snapshots on the host"] = lanes / best(lambda: esn.snapshots(images, every=28))
    return {name: round(rate) for name, rate in rates.items()}


def sweep_seconds() -> float:
    """20 x 20 leak rates on NARMA10, 2 x 50 units, T = 5,000: states to fitted ridge."""
    u, y = es.tasks.narma(5000, order=10, seed=0)
    esn = es.hierarchical([50, 50], spectral_radius=0.95, input_scaling=0.2).build(1, seed=0)
    grid = np.linspace(0.05, 1, 20)
    first, second = np.meshgrid(grid, grid, indexing="ij")
    hyper = esn.hyper.replace(leak_rate=[first.ravel(), second.ravel()])
    return best(lambda: es.ridge(es.statistics(esn, u, y, washout=200, hyper=hyper), 1e-5))


def series_microseconds(units: int) -> float:
    """Microseconds a step of one series."""
    esn = es.single(units, leak_rate=0.5, input_scaling=0.2).build(1, seed=0)
    u = np.random.default_rng(0).random((10_000, 1))
    return best(lambda: esn.run(u)) / len(u) * 1e6


def main() -> None:
    """Print the figures as they come, then all of them as a Markdown list (to a file, if one is named)."""
    lines = [
        f"# One GPU\n\n`python benchmarks/gpu.py`, {jax.devices()[0].device_kind}, jax {jax.__version__}, {date.today()}.\n"
    ]

    def report(what: str, value: object) -> None:
        lines.append(f"- {what}: {value}")
        print(lines[-1], flush=True)

    for what, difference in agreement().items():
        report(f"largest difference from the CPU, {what}", f"{difference:.1e}")
    for lanes in (1024, 4096, 16384):
        for what, rate in images_per_second(lanes).items():
            report(f"2 x 600 units, 784 steps, {lanes} sequences at once, {what}", f"{rate:,} sequences/s")
    report("20 x 20 leak rates, 2 x 50 units, 5,000 steps, states to ridge", f"{sweep_seconds():.2f} s")
    for units in (100, 1000):
        report(f"one series, {units} units", f"{series_microseconds(units):.1f} us a step")
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
