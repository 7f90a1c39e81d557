"""How many images of permuted sequential MNIST go through a network in a second: echoscale, the same in C, and reservoirpy.

    python benchmarks/psmnist.py             some minutes on two cores
    python benchmarks/psmnist.py --quick     a small network, seconds

2 x 600 units, the first drives the second, 10 weights a row, 784 steps, 28 snapshots, float32. A call takes images that are in
memory and ends when their snapshots are. Contenders take turns, so that a noisy machine slows all alike. The C kernel
(`kernel.c`, compiled here where there is gcc) is a reference for what the processor can do and no part of the package; several
widths are tried and the fastest counts. reservoirpy is left out where it is not installed.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import common
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

import echoscale as es
from echoscale.engine import devices
from echoscale.readouts import features
from echoscale.tasks import mnist

Floats = npt.NDArray[np.float32]

UNITS, LEAK_RATES, RADIUS, INPUT_SCALING, COUPLING = (600, 600), (1.0, 0.5), 0.99, 1.0, 0.31623
STEPS, EVERY = 784, 28
C_OPTIONS = ("-O3", "-march=native", "-ffast-math")
C_LANES = (32, 64, 128)
AT_ONCE = 128  # images of a call of the C kernel
MANUAL_IMAGES, MATRIX_IMAGES = 4, 16  # of reservoirpy, which runs them one after another on each core
OURS, OF_C, MANUAL, MATRIX = "echoscale", "C, {} lanes", "reservoirpy, by its manual", "reservoirpy, our matrices, workers={}"
TOLERANCE = 1e-5  # of states in float32; that of a wrong weight is above 1e-3


def network(units: Sequence[int] = UNITS) -> es.ESN:
    """The paper's two levels, with its spectral radius."""
    return es.hierarchical(
        list(units),
        leak_rate=list(LEAK_RATES),
        spectral_radius=RADIUS,
        input_scaling=INPUT_SCALING,
        coupling=COUPLING,
        connections=10,
        coupling_connections=10,
    ).build(1, seed=0)


def images(count: int, steps: int = STEPS) -> tuple[Floats, str]:
    """(count, steps, 1) in [0, 1]: MNIST where it is, else noise; the time is the same."""
    if mnist.available() and steps == STEPS:
        return np.ascontiguousarray(es.tasks.psmnist("train", download=False).u[:count]), "MNIST"
    return np.random.default_rng(0).random((count, steps, 1), dtype=np.float32), "uniform noise"


class Kernel:
    """`kernel.c` for so many lanes, over as many threads as there are cores; a call leaves Python alone while it runs."""

    def __init__(self, esn: es.ESN, width: int, folder: str) -> None:
        library, compiled = (str(Path(folder) / f"kernel{width}.{kind}") for kind in ("so", "o"))
        wide = any(" avx512f " in line for line in _lines("/proc/cpuinfo"))
        sizes = (f"-DLANES={width}", f"-DWIDTH={16 if wide else 8}")
        subprocess.run(["gcc", *C_OPTIONS, *sizes, "-fPIC", "-c", "-o", compiled, str(common.HERE / "kernel.c")], check=True)
        # Without -ffast-math: a library that gcc before 13 links with it makes the process that loads it flush the smallest
        # numbers to zero.
        subprocess.run(["gcc", "-shared", "-o", library, compiled], check=True)
        self.library, self.units = ctypes.CDLL(library), esn.units
        whole = esn.matrices()
        weights = whole.W.sorted_indices()
        self.lists = [weights.indptr.astype(np.int32), weights.indices.astype(np.int32)]
        self.lists += [each.astype(np.float32) for each in (weights.data, whole.W_in[:, 0], whole.bias, whole.leak_rate)]

    def __call__(self, u: Floats) -> Floats:
        kept = np.empty((len(u), u.shape[1] // EVERY, self.units), np.float32)

        def run(begin: int) -> None:
            part, rows = u[begin : begin + AT_ONCE], kept[begin : begin + AT_ONCE]
            sizes = [ctypes.c_long(each) for each in (len(part), u.shape[1], EVERY)]
            failed = self.library.forward(
                ctypes.c_long(self.units), *map(_pointer, self.lists), _pointer(part), *sizes, _pointer(rows)
            )
            if failed:
                raise MemoryError("the C kernel got no memory for its states.")

        with ThreadPoolExecutor(devices.cores()) as pool:
            list(pool.map(run, range(0, len(u), AT_ONCE)))
        return kept

    def tanh(self, x: Floats) -> Floats:
        """As the kernel computes it."""
        y = np.empty_like(x)
        self.library.squash(_pointer(x), ctypes.c_long(x.size), _pointer(y))
        return y


def _pointer(array: npt.NDArray[Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def manual(units: Sequence[int]) -> Callable[[Floats], Any]:
    """reservoirpy as its manual shows it: nodes that draw their own weights, joined by `>>`."""
    from reservoirpy.nodes import Reservoir

    scalings = (INPUT_SCALING, COUPLING)
    first, second = (
        Reservoir(count, lr=leak, sr=RADIUS, input_scaling=scaling, bias=0.0, seed=seed)
        for seed, (count, leak, scaling) in enumerate(zip(units, LEAK_RATES, scalings, strict=True))
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


def ulps(function: Callable[[Floats], Any]) -> float:
    """The largest error of a tanh in float32, in units of the last place of the result."""
    x = np.concatenate([np.linspace(-12, 12, 1 << 21), 10.0 ** np.linspace(-8, 0, 1 << 20)]).astype(np.float32)
    exact = np.tanh(x.astype(np.float64))
    return float((np.abs(np.asarray(function(x)) - exact) / np.spacing(np.abs(exact).astype(np.float32))).max())


def compare(jobs: dict[str, tuple[Callable[[Floats], Any], Floats]], expected: Floats) -> dict[str, float]:
    """The largest difference of the states of each contender with our weights from ours."""
    found = {}
    for name, (job, u) in jobs.items():
        if name not in (OURS, MANUAL):
            found[name] = float(np.abs(job(u) - expected[: len(u)]).max())
            if not found[name] < TOLERANCE:
                raise RuntimeError(f"{name}: states differ from ours by {found[name]:.2g}, expected float32 rounding.")
    return found


def measure(options: argparse.Namespace) -> common.Raw:
    """Images a second of every contender in every round."""
    quick = options.quick
    units, steps, count, rounds, widths = ((40, 40), 56, 128, 1, C_LANES[:1]) if quick else (UNITS, STEPS, 1024, 10, C_LANES)
    esn = network(units)
    u, data = images(count, steps)
    jobs: dict[str, tuple[Callable[[Floats], Any], Floats]] = {}
    jobs[OURS] = (lambda u: features.compute(esn, u, EVERY).array, u)
    tanh, absent = {OURS: ulps(jnp.tanh)}, []
    with tempfile.TemporaryDirectory() as folder:
        if shutil.which("gcc"):
            for width in widths:
                kernel = Kernel(esn, width, folder)
                jobs[OF_C.format(width)] = (kernel, u)
            tanh["C"] = ulps(kernel.tanh)
        else:
            absent.append("gcc")
        if importlib.util.find_spec("reservoirpy"):
            jobs[MANUAL] = (manual(units), u[:MANUAL_IMAGES])
            for workers in (1,) if quick else (1, -1):
                jobs[MATRIX.format(workers)] = (matrix(esn, workers), u[:MATRIX_IMAGES])
        else:
            absent.append("reservoirpy")
        differences = compare(jobs, np.asarray(features.compute(esn, u, EVERY).array))
        seconds = common.take_turns({name: partial(job, u) for name, (job, u) in jobs.items()}, rounds)
    rates = {name: [len(jobs[name][1]) / each for each in times] for name, times in seconds.items()}
    return {
        "data": data,
        "units": list(units),
        "steps": steps,
        "images": len(u),
        "gcc": _gcc() if "gcc" not in absent else None,
        "absent": absent,
        "images_per_second": rates,
        "differences": differences,
        "tanh_ulps": tanh,
    }


def _gcc() -> str:
    return subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True).stdout.strip()


def table(raw: common.Raw) -> str:
    """Fastest and median round of every contender, and how they compare."""
    rates = raw["images_per_second"]
    both = {name: (max(each), common.median(each)) for name, each in rates.items()}
    ours, in_c = both[OURS], [each for name, each in both.items() if name.startswith("C,")]
    body = [
        (name, *(f"{rate:,.4g}" for rate in each), *(f"{rate / own:.3g}" for rate, own in zip(each, ours, strict=True)))
        for name, each in both.items()
    ]
    lines = [
        "# Permuted sequential MNIST: images a second through the network",
        "",
        common.origin(raw),
        "",
        f"{' + '.join(map(str, raw['units']))} units, the first drives the second, 10 weights a row, leak rates (1, 0.5), "
        f"{raw['steps']} steps, {raw['steps'] // EVERY} snapshots, float32, all cores. {raw['images']:,} images "
        f"({raw['data']}) "
        "in memory to their snapshots in memory (`features.compute`); reservoirpy, which takes them one by one, "
        f"{MANUAL_IMAGES} "
        f"(by its manual) or {MATRIX_IMAGES}. Contenders take turns for {len(rates[OURS])} rounds."
        + (f" Left out, since not installed: {', '.join(raw['absent'])}." if raw["absent"] else ""),
        "",
        *common.rows(("", "images/s, fastest round", "median", "of echoscale, fastest", "median"), body),
        "",
    ]
    if in_c:
        fastest, middle = (max(each[k] for each in in_c) for k in (0, 1))
        lines += [
            f"echoscale has {ours[0] / fastest:.0%} of the speed of the fastest C (median {ours[1] / middle:.0%}). The C "
            "kernel "
            f"(`kernel.c`, gcc {raw['gcc']}, `{' '.join(C_OPTIONS)}`) has the same neighbour lists with all factors "
            "applied, "
            "512-bit vectors where there are any, sums in registers, two states that change places and no copies. Its "
            "tanh is a "
            "ratio of polynomials with a reciprocal in place of the division: errors of up to "
            f"{raw['tanh_ulps']['C']:.1f} units "
            f"in the last place; that of XLA up to {raw['tanh_ulps'][OURS]:.1f}.",
            "",
        ]
    if raw["differences"]:
        lines += [f"States differ from ours by at most {max(raw['differences'].values()):.1e}.", ""]
    if MANUAL in both:
        lines += [
            "reservoirpy by its manual draws its own weights, one connection in ten. One core is enough for it, so that "
            "others on "
            "the machine slow it less than those that use all.",
            "",
        ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> common.Raw:
    return common.main("psmnist", __doc__, measure, table, arguments=arguments, libraries=("reservoirpy",))


if __name__ == "__main__":
    main()
