"""Where the switch between neighbour lists and dense matrices lies: microseconds a step of one reservoir, both ways.

`dynamics.dense_is_faster` holds what came out of it. Run: python benchmarks/storage.py
"""

from __future__ import annotations

import time
from unittest import mock

import jax
import numpy as np

import echoscale as es
from echoscale.engine import dynamics, scan

STEPS = 1024


def microseconds(units: int, lanes: int, connections: int, dense: bool) -> float:
    """The fastest of some scans, in microseconds a step."""
    esn = es.single(units, leak_rate=0.5, connections=connections).build(1, seed=0)
    with mock.patch.object(dynamics, "dense_is_faster", return_value=dense):
        weights = dynamics.store(esn.network, esn.drawn, np.float32, lanes)
    state = (np.zeros((units, lanes), np.float32),)
    u = np.random.default_rng(0).random((STEPS, 1, lanes), dtype=np.float32)
    remaining = np.full(lanes, STEPS, np.int32)
    times = []
    for _ in range(8):
        start = time.perf_counter()
        jax.block_until_ready(scan.scan(weights, esn.numbers(), state, u, remaining, STEPS))
        times.append(time.perf_counter() - start)
    return min(times) / STEPS * 1e6


def main() -> None:
    """One table: lists / dense, in microseconds a step; 10 connections a row, then rows of growing fullness."""
    lane_counts = (1, 2, 8, 64)
    print("units  " + "".join(f"{f'{lanes} lanes':>16}" for lanes in lane_counts))
    for units in (32, 50, 64, 100, 200, 400):
        cells = [[microseconds(units, lanes, 10, dense) for dense in (False, True)] for lanes in lane_counts]
        print(f"{units:5}  " + "".join(f"{lists:8.2f}/{dense:7.2f}" for lists, dense in cells), flush=True)
    for units in (200, 1000):
        print(f"\n{units} units, connections a row")
        for connections in (10, 32, 64, 100):
            cells = [[microseconds(units, lanes, connections, dense) for dense in (False, True)] for lanes in lane_counts]
            print(f"{connections:5}  " + "".join(f"{lists:8.2f}/{dense:7.2f}" for lists, dense in cells), flush=True)


if __name__ == "__main__":
    main()
