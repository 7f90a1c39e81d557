"""echoes: the numba engine behind its estimators, and scikit-learn's Ridge as these use it."""

from __future__ import annotations

import numpy as np
import rows
from echoes.reservoir import ReservoirLeakyNeurons
from echoes.utils import tanh
from rows import Floats, Row
from sklearn.linear_model import Ridge

from contenders import Candidate, keep, subset

SERIES = 4
SWEEP_POINTS = 8


def prepare(row: Row) -> list[Candidate]:
    make = _sweep if row.kind == "sweep" else _run
    return [make(row, dtype) for dtype in ("float32", "float64")]


class _Chain:
    """Reservoirs in turn, each driven by the states of the one before it."""

    def __init__(self, row: Row, dtype: str, leak_rates: tuple[float, ...]) -> None:
        weights = rows.draw_weights(row)
        drives = (weights.inputs[0], *weights.couplings)
        self.dtype = dtype
        self.reservoirs = [
            ReservoirLeakyNeurons(
                W_in=np.ascontiguousarray(drive, dtype),
                W=np.ascontiguousarray(matrix, dtype),
                W_fb=np.zeros((len(matrix), 1), dtype),
                bias=0.0,
                activation=tanh,
                leak_rate=leak,
            )
            for drive, matrix, leak in zip(drives, weights.recurrent, leak_rates, strict=True)
        ]

    def set_leak_rates(self, leak_rates: tuple[float, ...]) -> None:
        for reservoir, leak in zip(self.reservoirs, leak_rates, strict=True):
            reservoir.leak_rate = np.array(leak, self.dtype)

    def run(self, u: Floats) -> Floats:
        """All states of one series, (steps, units). The engine starts at its second step, so one is put in front."""
        signal = np.concatenate([np.zeros_like(u[:1]), u])
        no_feedback = np.zeros((len(signal), 1), self.dtype)
        states = []
        for reservoir in self.reservoirs:
            signal = reservoir.harvest_states(signal, no_feedback)
            states.append(signal[1:])
        return states[0] if len(states) == 1 else np.concatenate(states, axis=1)


def _probe(row: Row, dtype: str) -> Floats:
    chain = _Chain(row, dtype, row.leak_rates)
    return np.stack([chain.run(series) for series in rows.probe_input(row).astype(dtype)])


def _run(row: Row, dtype: str) -> Candidate:
    count, share = subset(row, SERIES)
    u = rows.draw_input(row)[:count].astype(dtype)
    chain = _Chain(row, dtype, row.leak_rates)
    options = "dense W" if row.batch == 1 else f"dense W, {count} of {row.batch} series"
    return Candidate(
        options,
        dtype,
        lambda: [keep(chain.run(series), row) for series in u],
        lambda: _probe(row, dtype),
        share,
        "same-step",
    )


def _sweep(row: Row, dtype: str) -> Candidate:
    u = rows.draw_input(row)[0].astype(dtype)
    y = rows.narma10(rows.draw_input(row)[0]).astype(dtype)
    points = rows.sweep_points(row, SWEEP_POINTS)
    chain = _Chain(row, dtype, row.leak_rates)

    def fit(point: tuple[float, float]) -> Floats:
        chain.set_leak_rates(point)
        states = chain.run(u)
        return Ridge(alpha=rows.RIDGE, solver="cholesky").fit(states[row.washout :], y[row.washout :]).coef_

    options = f"dense W, {len(points)} of {row.lanes} points"
    return Candidate(
        options,
        dtype,
        lambda: [fit(point) for point in points],
        lambda: _probe(row, dtype),
        len(points) / row.lanes,
        "same-step",
    )
