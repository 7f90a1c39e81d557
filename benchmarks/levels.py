"""What does a level cost that is not a plain leaky one? Microseconds a step of one reservoir, beside the plain step.

    python benchmarks/levels.py            a minute
    python benchmarks/levels.py --quick    seconds

Kinds take turns, and the fastest of many short runs counts: what else runs on the machine then matters little.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import common
import numpy as np

import echoscale as es
from echoscale.engine import machine, scan

KINDS: dict[str, dict[str, Any]] = {
    "plain": {"leak_rate": 0.5},
    "leak rates": {"leak_rate": es.LogUniform(0.05, 0.5)},
    "shift": {"leak_rate": 0.5, "residual": "shift"},
    "orthogonal": {"leak_rate": 0.5, "residual": "orthogonal"},
}
LANES = (1, 16, 64)
# A run should take some milliseconds: long enough for the clock, short enough to fall between what else runs.
NEURON_STEPS = 1 << 20


def runner(units: int, lanes: int, steps: int, options: dict[str, Any]) -> Callable[[], Any]:
    """A scan that keeps its last state alone, of one reservoir on so many lanes."""
    esn = es.single(units, **options).build(1, seed=0)
    weights = esn.weights(lanes)
    hyper = esn.hyper.on(np.zeros(lanes, np.int64), np.float32).map(lambda leaf: np.broadcast_to(leaf, (lanes,)))
    state = (np.zeros((units, lanes), np.float32),)
    u = np.random.default_rng(0).random((steps, 1, lanes), dtype=np.float32)
    remaining = np.full(lanes, steps, np.int32)
    pairs = machine.on_cpu(None)
    return lambda: common.finished(scan.scan(weights, hyper, state, u, remaining, steps, whole=True, pairs=pairs))


def compile_seconds(units: int, distinct: int) -> float:
    """Of the first run of a reservoir with so many different leak rates."""
    rates = np.resize(np.geomspace(0.05, 1.0, distinct), units)
    run = runner(units, 1, 64 + distinct, {"leak_rate": rates})
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def measure(options: argparse.Namespace) -> common.Raw:
    quick = options.quick
    sizes, lanes, rounds = ((50,), (1,), 2) if quick else ((100, 1000), LANES, 60)
    found = []
    for units in sizes:
        for count in lanes:
            steps = 64 if quick else max(NEURON_STEPS // (units * count) // 2 * 2, 64)
            runs = {name: runner(units, count, steps, kind) for name, kind in KINDS.items()}
            best = {name: min(times) for name, times in common.take_turns(runs, rounds).items()}
            found.append({"units": units, "lanes": count, **{name: best[name] / steps * 1e6 for name in runs}})
    distinct = (2, 20) if quick else (2, 10, 25, 100)
    return {
        "microseconds_a_step": found,
        "compile_seconds": [{"distinct": each, "seconds": compile_seconds(100, each)} for each in distinct],
    }


def table(raw: common.Raw) -> str:
    """Microseconds a step, and in how far each kind is dearer than the plain one."""
    body = []
    for row in raw["microseconds_a_step"]:
        plain = row["plain"]
        cells = [f"{row[name]:.2f} ({row[name] / plain - 1:+.1%})" for name in KINDS if name != "plain"]
        body.append([f"{row['units']:,}", str(row["lanes"]), f"{plain:.2f}", *cells])
    seconds = [[str(each["distinct"]), f"{each['seconds']:.2f}"] for each in raw["compile_seconds"]]
    lines = [
        "# What a level costs",
        "",
        common.origin(raw),
        "",
        "Microseconds a step of one reservoir, 10 connections a row, float32; in brackets, how much dearer than plain.",
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
