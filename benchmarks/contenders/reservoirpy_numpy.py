"""reservoirpy on NumPy: `Reservoir` with given matrices, dense or scipy sparse, and `Ridge`."""

from __future__ import annotations

import numpy as np
import rows
import scipy.sparse
from reservoirpy.nodes import Reservoir, Ridge
from rows import Floats, Row

from contenders import Candidate, keep, subset

SERIES = 16
SWEEP_POINTS = 8


def prepare(row: Row) -> list[Candidate]:
    whole, inputs = rows.draw_weights(row).block()
    matrices = {"dense": whole, "sparse": scipy.sparse.csr_array(whole)}
    if row.kind in ("snapshots", "states"):
        # A block matrix of which one entry in a hundred is used: dense has no chance, workers have.
        sparse = matrices["sparse"]
        return [_run(row, "sparse", sparse, inputs, workers=workers) for workers in (1, -1)]
    make = _sweep if row.kind == "sweep" else _run
    return [make(row, name, matrix, inputs) for name, matrix in matrices.items()]


def _reservoir(row: Row, matrix: object, inputs: Floats, point: tuple[float, ...] | None = None) -> Reservoir:
    return Reservoir(W=matrix, Win=inputs, lr=row.leak_vector(point), bias=0.0)


def _run(row: Row, name: str, matrix: object, inputs: Floats, workers: int = 1) -> Candidate:
    count, share = subset(row, SERIES)
    u = rows.draw_input(row)[:count] if row.batch > 1 else rows.draw_input(row)[0]
    reservoir = _reservoir(row, matrix, inputs)

    def call() -> Floats:
        reservoir.reset()
        return keep(np.asarray(reservoir.run(u, workers=workers)), row)

    def probe() -> Floats:
        return _reservoir(row, matrix, inputs).run(rows.probe_input(row))

    reservoir.initialize(u)
    options = f"{name} W" if row.batch == 1 else f"{name} W, workers={workers}, {count} of {row.batch} series"
    return Candidate(options, "float64", call, probe, share)


def _sweep(row: Row, name: str, matrix: object, inputs: Floats) -> Candidate:
    u = rows.draw_input(row)[0]
    y = rows.narma10(u)
    points = rows.sweep_points(row, SWEEP_POINTS)

    def fit(point: tuple[float, float]) -> Floats:
        states = _reservoir(row, matrix, inputs, point).run(u)
        return Ridge(ridge=rows.RIDGE).fit(states, y, warmup=row.washout).Wout

    def probe() -> Floats:
        return _reservoir(row, matrix, inputs).run(rows.probe_input(row))

    options = f"{name} W, {len(points)} of {row.lanes} points"
    return Candidate(options, "float64", lambda: [fit(point) for point in points], probe, len(points) / row.lanes)
