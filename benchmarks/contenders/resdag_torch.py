"""resdag: `ESNLayer`s of PyTorch with our weights, dense or CSR, and its Cholesky ridge readout."""

from __future__ import annotations

import warnings

import numpy as np
import rows
import torch
from resdag.layers import CholeskyReadoutLayer, ESNLayer
from rows import Floats, Row

from contenders import Candidate, keep

SWEEP_POINTS = 4

warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")


def prepare(row: Row) -> list[Candidate]:
    make = _sweep if row.kind == "sweep" else _run
    return [make(row, sparse) for sparse in (False, True)]


def _layer(recurrent: Floats, drive: Floats, leak: float, sparse: bool) -> ESNLayer:
    """Its word for the signal that drives a reservoir is feedback."""
    layer = ESNLayer(
        reservoir_size=len(recurrent),
        feedback_size=drive.shape[1],
        bias=False,
        leak_rate=leak,
        sparse=sparse,
        topology=lambda *_, **__: torch.tensor(recurrent, dtype=torch.float32),
        feedback_initializer=lambda *_, **__: torch.tensor(drive, dtype=torch.float32),
    )
    return layer.eval()


def _layers(row: Row, sparse: bool) -> list[ESNLayer]:
    weights = rows.draw_weights(row)
    drives = (weights.inputs[0], *weights.couplings)
    return [
        _layer(recurrent, drive, leak, sparse)
        for recurrent, drive, leak in zip(weights.recurrent, drives, row.leak_rates, strict=True)
    ]


@torch.inference_mode()
def _states(layers: list[ESNLayer], u: torch.Tensor) -> list[torch.Tensor]:
    """(series, steps, units) of every layer, from rest."""
    states = []
    for layer in layers:
        layer.reset_state()
        u = layer(u)
        states.append(u)
    return states


def _probe(row: Row, layers: list[ESNLayer]) -> Floats:
    part = torch.tensor(rows.probe_input(row), dtype=torch.float32)
    return np.concatenate([states.numpy() for states in _states(layers, part)], axis=-1)


def _options(sparse: bool) -> str:
    return "sparse W" if sparse else "dense W"


def _run(row: Row, sparse: bool) -> Candidate:
    layers = _layers(row, sparse)
    u = torch.tensor(rows.draw_input(row), dtype=torch.float32)
    return Candidate(
        _options(sparse),
        "float32",
        lambda: [keep(states, row).clone() if row.every > 1 else states for states in _states(layers, u)],
        lambda: _probe(row, layers),
        coupling="same-step",
    )


def _sweep(row: Row, sparse: bool) -> Candidate:
    layers = _layers(row, sparse)
    series = rows.draw_input(row)
    u = torch.tensor(series, dtype=torch.float32)
    y = torch.tensor(rows.narma10(series[0]), dtype=torch.float32)[None]
    points = rows.sweep_points(row, SWEEP_POINTS)

    def set_leak_rates(point: tuple[float, ...]) -> None:
        for layer, leak in zip(layers, point, strict=True):
            layer.leak_rate = leak

    def fit(point: tuple[float, float]) -> torch.Tensor:
        set_leak_rates(point)
        states = torch.cat(_states(layers, u), dim=-1)[:, row.washout :]
        readout = CholeskyReadoutLayer(row.total_units, 1, alpha=rows.RIDGE)
        readout.fit(states, y[:, row.washout :])
        return readout.weight

    def probe() -> Floats:
        set_leak_rates(row.leak_rates)
        return _probe(row, layers)

    options = f"{_options(sparse)}, {len(points)} of {row.lanes} points"
    share = len(points) / row.lanes
    return Candidate(options, "float32", lambda: [fit(point) for point in points], probe, share, "same-step")
