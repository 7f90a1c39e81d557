"""reservoirpy as its manual shows it: nodes that draw their own weights, joined by `>>`."""

from __future__ import annotations

from typing import Any

import numpy as np
import rows
from reservoirpy.nodes import Reservoir, Ridge
from rows import Floats, Row

from contenders import Candidate, keep, subset

SERIES = 4
SWEEP_POINTS = 8


def prepare(row: Row) -> list[Candidate]:
    return [_sweep(row) if row.kind == "sweep" else _run(row)]


def _levels(row: Row, leak_rates: tuple[float, ...] | None = None) -> list[Reservoir]:
    scalings = (rows.INPUT_SCALING, rows.COUPLING_STRENGTH)
    return [
        Reservoir(units, lr=leak, sr=rows.SPECTRAL_RADIUS, input_scaling=scaling, bias=0.0, seed=seed)
        for seed, (units, leak, scaling) in enumerate(zip(row.units, leak_rates or row.leak_rates, scalings, strict=False))
    ]


def _run(row: Row) -> Candidate:
    count, share = subset(row, SERIES)
    u = rows.draw_input(row)
    series = list(u[:count]) if row.batch > 1 else u[0]
    levels = _levels(row)
    model = levels[0] if len(levels) == 1 else levels[0] >> levels[1]
    model.run(u[0][:2])  # draws the weights

    def call() -> object:
        states = model.run(series)
        return [keep(np.asarray(each), row) for each in states] if row.batch > 1 else states

    options = "own weights" if row.batch == 1 else f"own weights, r1 >> r2, {count} of {row.batch} series"
    return Candidate(options, "float64", call, lambda: _probe(row, levels), share, "same-step", _block(levels))


def _sweep(row: Row) -> Candidate:
    u = rows.draw_input(row)[0]
    y = rows.narma10(u)
    points = rows.sweep_points(row, SWEEP_POINTS)
    levels = _levels(row)
    (levels[0] >> levels[1]).run(u[:2])

    def fit(point: tuple[float, float]) -> object:
        first, second = _levels(row, point)
        model = first >> second >> Ridge(ridge=rows.RIDGE)
        return model.fit(u, y, warmup=row.washout)

    options = f"own weights, r1 >> r2 >> Ridge, {len(points)} of {row.lanes} points"
    share = len(points) / row.lanes
    work = lambda: [fit(point) for point in points]  # noqa: E731
    return Candidate(options, "float64", work, lambda: _probe(row, levels), share, "same-step", _block(levels))


def _probe(row: Row, levels: list[Reservoir]) -> Floats:
    """The states of all levels side by side, from the zero state."""
    results = []
    for u in rows.probe_input(row):
        states = []
        for level in levels:
            level.reset()
            u = level.run(u)
            states.append(u)
        results.append(np.concatenate(states, axis=1))
    return np.stack(results)


def _block(levels: list[Reservoir]) -> tuple[Floats, Floats]:
    def dense(matrix: Any) -> Floats:
        return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix)

    sizes = [dense(level.W).shape[0] for level in levels]
    whole, inputs = np.zeros((sum(sizes), sum(sizes))), np.zeros((sum(sizes), 1))
    inputs[: sizes[0]] = dense(levels[0].Win)
    start = 0
    for k, level in enumerate(levels):
        end = start + sizes[k]
        whole[start:end, start:end] = dense(level.W)
        if k:
            whole[start:end, start - sizes[k - 1] : start] = dense(level.Win)
        start = end
    return whole, inputs
