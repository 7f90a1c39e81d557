"""How many images of permuted sequential MNIST go through a network in a second: echoscale, the same in C, and reservoirpy.

    python benchmarks/psmnist.py             everything, some minutes on two cores
    python benchmarks/psmnist.py --quick     fewer images and rounds, about a minute

2 x 600 units, the first drives the second, 10 weights a row, 784 steps, 28 snapshots, float32. A call takes images that are in
memory and ends when their snapshots are. Contenders take turns, so that a noisy machine slows all alike. The C kernel
(`kernel.c`, compiled here where there is gcc) is a reference for what the processor can do and no part of the package; several
widths are tried and the fastest counts. reservoirpy is left out where it is not installed. Writes results/psmnist.json;
`psmnist.md` beside it holds the report and what else was tried.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import report

import echoscale as es
from echoscale import features
from echoscale.engine import machine
from echoscale.tasks import mnist

HERE = Path(__file__).resolve().parent
Floats = npt.NDArray[np.float32]

UNITS, LEAK_RATES, RADIUS, INPUT_SCALING, COUPLING = (600, 600), (1.0, 0.5), 0.99, 1.0, 0.31623
STEPS, EVERY = 784, 28
C_OPTIONS = ("-O3", "-march=native", "-ffast-math", "-shared", "-fPIC")
C_LANES = (32, 64, 128)
AT_ONCE = 128  # images of a call of the C kernel
MANUAL_IMAGES, MATRIX_IMAGES = 4, 16  # of reservoirpy, which runs them one after another on each core
OURS, OF_C, MANUAL, MATRIX = "echoscale", "C, {} lanes", "reservoirpy, by its manual", "reservoirpy, our matrices, workers={}"
TOLERANCE = 1e-5  # of states in float32; that of a wrong weight is above 1e-3


def network() -> es.ESN:
    """The paper's two levels, with its spectral radius."""
    return es.hierarchical(
        list(UNITS),
        leak_rate=list(LEAK_RATES),
        spectral_radius=RADIUS,
        input_scaling=INPUT_SCALING,
        coupling=COUPLING,
        connections=10,
        coupling_connections=10,
    ).build(1, seed=0)


def images(count: int) -> tuple[Floats, str]:
    """(count, 784, 1) in [0, 1]: MNIST where it is, else noise; the time is the same."""
    if mnist.available():
        return np.ascontiguousarray(es.tasks.psmnist("train", download=False).u[:count]), "MNIST"
    return np.random.default_rng(0).random((count, STEPS, 1), dtype=np.float32), "uniform noise"


class Kernel:
    """`kernel.c` for so many lanes, over as many threads as there are cores; a call leaves Python alone while it runs."""

    def __init__(self, esn: es.ESN, width: int, folder: str) -> None:
        library = str(Path(folder) / f"kernel{width}.so")
        wide = any(" avx512f " in line for line in _lines("/proc/cpuinfo"))
        sizes = (f"-DLANES={width}", f"-DWIDTH={16 if wide else 8}")
        subprocess.run(["gcc", *C_OPTIONS, *sizes, "-o", library, str(HERE / "kernel.c")], check=True)
        self.library, self.units = ctypes.CDLL(library), esn.units
        whole = esn.matrices()
        weights = whole.W.sorted_indices()
        self.lists = [weights.indptr.astype(np.int32), weights.indices.astype(np.int32)]
        self.lists += [each.astype(np.float32) for each in (weights.data, whole.W_in[:, 0], whole.bias, whole.leak_rate)]

    def __call__(self, u: Floats) -> Floats:
        kept = np.empty((len(u), STEPS // EVERY, self.units), np.float32)

        def run(begin: int) -> None:
            part, rows = u[begin : begin + AT_ONCE], kept[begin : begin + AT_ONCE]
            sizes = [ctypes.c_long(each) for each in (len(part), STEPS, EVERY)]
            failed = self.library.forward(
                ctypes.c_long(self.units), *map(_pointer, self.lists), _pointer(part), *sizes, _pointer(rows)
            )
            if failed:
                raise MemoryError("the C kernel got no memory for its states.")

        with ThreadPoolExecutor(machine.cores()) as pool:
            list(pool.map(run, range(0, len(u), AT_ONCE)))
        return kept

    def tanh(self, x: Floats) -> Floats:
        y = np.empty_like(x)
        self.library.squash(_pointer(x), ctypes.c_long(x.size), _pointer(y))
        return y


def _pointer(array: npt.NDArray[Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def manual() -> Callable[[Floats], Any]:
    """reservoirpy as its manual shows it: nodes that draw their own weights, joined by `>>`."""
    from reservoirpy.nodes import Reservoir

    scalings = (INPUT_SCALING, COUPLING)
    first, second = (
        Reservoir(units, lr=leak, sr=RADIUS, input_scaling=scaling, bias=0.0, seed=seed)
        for seed, (units, leak, scaling) in enumerate(zip(UNITS, LEAK_RATES, scalings, strict=True))
    )
    model = first >> second
    model.run(np.zeros((2, 1)))  # draws the weights

    def run(u: Floats) -> Any:
        return [np.asarray(each)[EVERY - 1 :: EVERY] for each in model.run(list(u.astype(np.float64)))]

    return run


def matrix(esn: es.ESN, workers: int) -> Callable[[Floats], Any]:
    """reservoirpy with our weights as one sparse matrix and a leak rate per neuron, its fastest form of a hierarchy."""
    from reservoirpy.nodes import Reservoir

    whole = esn.matrices()
    reservoir = Reservoir(W=whole.W, Win=whole.W_in, lr=whole.leak_rate, bias=0.0)
    reservoir.initialize(np.zeros((1, 2, 1)))

    def run(u: Floats) -> Any:
        reservoir.reset()
        return np.asarray(reservoir.run(u.astype(np.float64), workers=workers))[:, EVERY - 1 :: EVERY]

    return run


def take_turns(jobs: dict[str, tuple[Callable[[Floats], Any], Floats]], rounds: int) -> dict[str, list[float]]:
    """Images a second of every job in every round, after a call that compiles."""
    found: dict[str, list[float]] = {name: [] for name in jobs}
    for turn in range(rounds + 1):
        for name, (job, u) in jobs.items():
            start = time.perf_counter()
            job(u)
            if turn:
                found[name].append(len(u) / (time.perf_counter() - start))
        print(f"round {turn} of {rounds}", flush=True)
    return found


def ulps(function: Callable[[Floats], Any]) -> float:
    """The largest error of a tanh in float32, in units of the last place of the result."""
    x = np.concatenate([np.linspace(-12, 12, 1 << 21), 10.0 ** np.linspace(-8, 0, 1 << 20)]).astype(np.float32)
    exact = np.tanh(x.astype(np.float64))
    return float((np.abs(np.asarray(function(x)) - exact) / np.spacing(np.abs(exact).astype(np.float32))).max())


def compare(esn: es.ESN, jobs: dict[str, tuple[Callable[[Floats], Any], Floats]], expected: Floats) -> dict[str, float]:
    """The largest difference of the states of each contender with our weights from ours."""
    found = {}
    for name, (job, u) in jobs.items():
        if name not in (OURS, MANUAL):
            found[name] = float(np.abs(job(u) - expected[: len(u)]).max())
            if not found[name] < TOLERANCE:
                raise RuntimeError(f"{name}: states differ from ours by {found[name]:.2g}, expected float32 rounding.")
    return found


def main() -> None:
    """One table on standard output, everything in a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="256 images and 3 rounds in place of 1,024 and 10")
    quick = parser.parse_args().quick
    esn, host = network(), report.machine()
    u, data = images(256 if quick else 1024)
    jobs: dict[str, tuple[Callable[[Floats], Any], Floats]] = {}
    jobs[OURS] = (lambda u: features.compute(esn, u, EVERY).array, u)
    tanh = {OURS: ulps(jnp.tanh)}
    with tempfile.TemporaryDirectory() as folder:
        if shutil.which("gcc"):
            for width in C_LANES:
                kernel = Kernel(esn, width, folder)
                jobs[OF_C.format(width)] = (kernel, u)
            tanh["C"] = ulps(kernel.tanh)
        if importlib.util.find_spec("reservoirpy"):
            jobs[MANUAL] = (manual(), u[:MANUAL_IMAGES])
            for workers in (1, -1):
                jobs[MATRIX.format(workers)] = (matrix(esn, workers), u[:MATRIX_IMAGES])
        differences = compare(esn, jobs, np.asarray(features.compute(esn, u, EVERY).array))
        rates = take_turns(jobs, 3 if quick else 10)
    summary = {name: {"fastest": max(each), "median": statistics.median(each), "rounds": each} for name, each in rates.items()}
    results = {
        "command": f"python benchmarks/psmnist.py{' --quick' if quick else ''}",
        "machine": {**host, "load_after": round(os.getloadavg()[0], 2)},
        "versions": {each: version(each) for each in ("echoscale", "jax", "jaxlib", "numpy")}
        | ({"reservoirpy": version("reservoirpy")} if MANUAL in jobs else {})
        | (
            {"gcc": subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True).stdout.strip()}
            if "C" in tanh
            else {}
        ),
        "data": data,
        "images": len(u),
        "images_per_second": summary,
        "differences": differences,
        "tanh_ulps": tanh,
    }
    if not quick:
        (HERE / "results" / "psmnist.json").write_text(json.dumps(results, indent=2) + "\n")
    print(json.dumps({key: results[key] for key in results if key != "images_per_second"}, indent=2))
    print("\n| contender | images/s, fastest | median | of echoscale, fastest | median |\n|---|---:|---:|---:|---:|")
    ours = summary[OURS]
    for name, each in summary.items():
        parts = " | ".join(f"{each[kind] / ours[kind]:.4g}" for kind in ("fastest", "median"))
        print(f"| {name} | {each['fastest']:,.4g} | {each['median']:,.4g} | {parts} |")


if __name__ == "__main__":
    main()
