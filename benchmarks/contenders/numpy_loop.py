"""The loop that people write by hand: dense float64 matrices, one Python iteration per step."""

from __future__ import annotations

import numpy as np
import rows
import scipy.linalg
from rows import Floats, Row

from contenders import Candidate

SWEEP_POINTS = 8


def prepare(row: Row) -> list[Candidate]:
    if row.kind in ("snapshots", "states"):
        return [_batch(row)]
    return [_sweep(row)] if row.kind == "sweep" else [_single(row)]


def run(whole: Floats, inputs: Floats, leak: Floats | float, u: Floats) -> Floats:
    """All states of one series, (steps, units)."""
    x = np.zeros(len(whole))
    states = np.empty((len(u), len(whole)))
    for t in range(len(u)):
        x = (1 - leak) * x + leak * np.tanh(whole @ x + inputs @ u[t])
        states[t] = x
    return states


def _single(row: Row) -> Candidate:
    whole, inputs = rows.draw_weights(row).block()
    leak, u = row.leak_rates[0], rows.draw_input(row)[0]
    return Candidate(
        "W @ x",
        "float64",
        lambda: run(whole, inputs, leak, u),
        lambda: run(whole, inputs, leak, rows.probe_input(row)[0])[None],
    )


def _batch(row: Row) -> Candidate:
    def run_columns(u: Floats, every: int) -> Floats:
        """States after every `every` steps of all series, (steps / every, units, series)."""
        first, second = (np.zeros((units, len(u))) for units in row.units)
        kept = np.empty((u.shape[1] // every, row.total_units, len(u)))
        for t in range(u.shape[1]):
            heard_first = w.recurrent[0] @ first + w.inputs[0] @ u[:, t].T
            heard_second = w.recurrent[1] @ second + w.couplings[0] @ first
            first = (1 - a) * first + a * np.tanh(heard_first)
            second = (1 - b) * second + b * np.tanh(heard_second)
            if (t + 1) % every == 0:
                kept[t // every, : row.units[0]] = first
                kept[t // every, row.units[0] :] = second
        return kept

    w, u = rows.draw_weights(row), rows.draw_input(row)
    a, b = row.leak_rates
    return Candidate(
        "W @ X, series as columns",
        "float64",
        lambda: run_columns(u, row.every),
        lambda: np.transpose(run_columns(rows.probe_input(row), 1), (2, 0, 1)),
    )


def _sweep(row: Row) -> Candidate:
    whole, inputs = rows.draw_weights(row).block()
    u = rows.draw_input(row)[0]
    y = rows.narma10(u)
    points = rows.sweep_points(row, SWEEP_POINTS)

    def call() -> list[Floats]:
        return [fit_ridge(run(whole, inputs, row.leak_vector(point), u), y, row.washout) for point in points]

    def probe() -> Floats:
        return run(whole, inputs, row.leak_vector(), rows.probe_input(row)[0])[None]

    return Candidate(f"{len(points)} of {row.lanes} points", "float64", call, probe, len(points) / row.lanes)


def fit_ridge(states: Floats, y: Floats, washout: int) -> Floats:
    """Ridge coefficients by the normal equations, an intercept last."""
    features = np.column_stack([states, np.ones(len(states))])[washout:]
    gram = features.T @ features + rows.RIDGE * np.eye(features.shape[1])
    return scipy.linalg.solve(gram, features.T @ y[washout:], assume_a="pos")
