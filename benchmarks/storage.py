"""Where does the switch between neighbour lists and dense matrices lie? Microseconds a step of one reservoir, both ways.

    python benchmarks/storage.py            two minutes
    python benchmarks/storage.py --quick    seconds

`engine.matrices.dense_is_faster` holds what came out of it.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any
from unittest import mock

import common
import numpy as np

import echoscale as es
from echoscale.engine import dynamics, matrices, scan

LANES = (1, 2, 8, 64)
SPARSE = 10  # connections a row while the number of units grows


def microseconds(units: int, lanes: int, connections: int, dense: bool, steps: int, rounds: int) -> float:
    """The fastest of some scans, in microseconds a step."""
    esn = es.single(units, leak_rate=0.5, connections=connections).build(1, seed=0)
    with mock.patch.object(matrices, "dense_is_faster", return_value=dense):
        weights = dynamics.store(esn.network, esn.drawn, np.dtype(np.float32), lanes)
    state = (np.zeros((units, lanes), np.float32),)
    u = np.random.default_rng(0).random((steps, 1, lanes), dtype=np.float32)
    remaining = np.full(lanes, steps, np.int32)

    def run() -> Any:
        return common.finished(scan.scan(weights, esn.numbers(), state, u, remaining, steps))

    return common.best(run, rounds) / steps * 1e6


def measure(options: argparse.Namespace) -> common.Raw:
    quick = options.quick
    cases = [(units, SPARSE) for units in (32, 50, 64, 100, 200, 400)]
    cases += [(units, connections) for units in (200, 1000) for connections in (32, 64, 100)]
    steps, rounds, lanes = (64, 1, LANES[:1]) if quick else (1024, 8, LANES)
    found = [
        {
            "units": units,
            "connections": connections,
            "lanes": count,
            "lists": microseconds(units, count, connections, False, steps, rounds),
            "dense": microseconds(units, count, connections, True, steps, rounds),
        }
        for units, connections in (cases[:2] if quick else cases)
        for count in lanes
    ]
    return {"steps": steps, "microseconds_a_step": found}


def table(raw: common.Raw) -> str:
    """Lists / dense; the faster one in bold."""
    found = raw["microseconds_a_step"]
    lanes = list(dict.fromkeys(each["lanes"] for each in found))
    body = []
    for units, connections in dict.fromkeys((each["units"], each["connections"]) for each in found):
        cells = [str(units), str(connections)]
        for count in lanes:
            [cell] = [
                each for each in found if (each["units"], each["connections"], each["lanes"]) == (units, connections, count)
            ]
            pair = [
                f"**{cell[kind]:.2f}**" if cell[kind] == min(cell["lists"], cell["dense"]) else f"{cell[kind]:.2f}"
                for kind in ("lists", "dense")
            ]
            cells.append(" / ".join(pair))
        body.append(cells)
    lines = [
        "# Neighbour lists or dense matrices",
        "",
        common.origin(raw),
        "",
        f"Microseconds a step of one reservoir, lists / dense, float32, the fastest of some scans of {raw['steps']:,} steps. "
        "Bold: the faster one. Lanes are networks or series that run together.",
        "",
        *common.rows(("units", "connections a row", *(f"{count} lanes" for count in lanes)), body, left=2),
        "",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> common.Raw:
    return common.main("storage", __doc__, measure, table, arguments=arguments)


if __name__ == "__main__":
    main()
