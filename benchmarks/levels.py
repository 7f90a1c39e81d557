"""What does a level cost that is not a plain leaky one? Microseconds a step of one reservoir, beside the plain step.

    python benchmarks/levels.py            two minutes
    python benchmarks/levels.py --quick    seconds

Kinds take turns, and the fastest of many short runs counts: what else runs on the machine then matters little. Where arrays
lie in memory moves a step by some per cent: every kind is built anew several times, and the median counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import common
import numpy as np

import echoscale as es
from echoscale.engine import devices, dynamics, scan

KINDS: dict[str, dict[str, Any]] = {
    "plain": {"leak_rate": 0.5},
    "leak rates": {"leak_rate": es.LogUniform(0.05, 0.5)},
    "shift": {"leak_rate": 0.5, "residual": "shift"},
    "orthogonal": {"leak_rate": 0.5, "residual": "orthogonal"},
    "linear diagonal": {"leak_rate": 0.5, "activation": "identity", "topology": "diagonal"},
}
# How many lanes, and whether each is a series of one network, or a network with hyper-parameters of its own.
SERIES, NETWORKS = "series", "networks"
LANES = ((1, SERIES), (16, SERIES), (64, SERIES), (16, NETWORKS), (64, NETWORKS))
# A run should take a millisecond: long enough for the clock, short enough to fall between what else runs.
NEURON_STEPS = 1 << 18
BUILDS, ROUNDS = 15, 25


def runner(units: int, lanes: int, steps: int, options: dict[str, Any], kind: str = SERIES) -> Callable[[], Any]:
    """A scan that keeps its last state alone, of one reservoir on so many lanes."""
    esn = es.single(units, **options).build(1, seed=0)
    weights = esn.weights(lanes)
    hyper = esn.numbers()
    if kind == NETWORKS:
        hyper = dynamics.once(weights, hyper.map(lambda leaf: np.broadcast_to(leaf, (lanes,))))  # as every run does
    state = (np.zeros((units, lanes), np.float32),)
    u = np.random.default_rng(0).random((steps, 1, lanes), dtype=np.float32)
    remaining = np.full(lanes, steps, np.int32)
    pairs = devices.on_cpu(None)
    return lambda: common.finished(scan.scan(weights, hyper, state, u, remaining, steps, whole=True, pairs=pairs))


def step_times(units: int, lanes: int, of: str, builds: int, rounds: int) -> dict[str, Any]:
    """Microseconds a step of every kind, in each of its builds."""
    steps = max(NEURON_STEPS // (units * lanes) // 2 * 2, 64)
    found: dict[str, list[float]] = {name: [] for name in KINDS}
    kept = []  # so that what is built next lies elsewhere
    for _ in range(builds):
        runs = {name: runner(units, lanes, steps, options, of) for name, options in KINDS.items()}
        kept.append(runs)
        for name, times in common.take_turns(runs, rounds).items():
            found[name].append(min(times) / steps * 1e6)
    return {"units": units, "lanes": lanes, "of": of, **found}


def dearer(row: dict[str, Any], name: str) -> float:
    """By which share a step of this kind takes longer than a plain one: the median of all builds."""
    return float(np.median(np.divide(row[name], row["plain"]))) - 1


def compile_seconds(units: int, distinct: int) -> float:
    """Of the first run of a reservoir with so many different leak rates."""
    rates = np.resize(np.geomspace(0.05, 1.0, distinct), units)
    run = runner(units, 1, 64 + distinct, {"leak_rate": rates})
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def measure(options: argparse.Namespace) -> common.Raw:
    quick = options.quick
    sizes, lanes = ((50,), ((1, SERIES),)) if quick else ((100, 1000), LANES)
    found = [step_times(units, *those, *((2, 2) if quick else (BUILDS, ROUNDS))) for units in sizes for those in lanes]
    distinct = (2, 20) if quick else (2, 10, 25, 100)
    return {
        "microseconds_a_step": found,
        "compile_seconds": [{"distinct": each, "seconds": compile_seconds(100, each)} for each in distinct],
    }


def table(raw: common.Raw) -> str:
    """Microseconds a step, and in how far each kind is dearer than the plain one."""
    body = []
    for row in raw["microseconds_a_step"]:
        middle = {name: f"{np.median(row[name]):.2f}" for name in KINDS}
        cells = [f"{middle[name]} ({dearer(row, name):+.1%})" for name in KINDS if name != "plain"]
        of = "1 series" if row["lanes"] == 1 else f"{row['lanes']} {row['of']}"
        body.append([f"{row['units']:,}", of, middle["plain"], *cells])
    seconds = [[str(each["distinct"]), f"{each['seconds']:.2f}"] for each in raw["compile_seconds"]]
    lines = [
        "# What a level costs",
        "",
        common.origin(raw),
        "",
        "Microseconds a step of one reservoir, 10 connections a row, float32; in brackets, how much dearer than plain. "
        "All are medians of several builds. Lanes are series that one network hears, or networks that each have "
        "hyper-parameters of their own.",
        "",
        *common.rows(("units", "lanes", *KINDS), body),
        "",
        "Seconds of the first run of 100 neurons, compilation and all, by the number of different leak rates:",
        "",
        *common.rows(("leak rates", "s"), seconds),
        "",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> common.Raw:
    return common.main("levels", __doc__, measure, table, arguments=arguments)


if __name__ == "__main__":
    main()
