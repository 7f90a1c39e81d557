"""echoscale. Every call to it in this benchmark is in this file."""

from __future__ import annotations

from collections.abc import Callable

import jax
import numpy as np
import rows
from rows import Floats, Row

import echoscale as es
from contenders import Candidate

OneFit = Callable[[], es.ESNRegressor]
SEED = 0


def prepare(row: Row) -> list[Candidate]:
    """Batches and sweeps run together in one scan."""
    esn = build(row)
    name, call = {
        "run": ("run", lambda: run_echoscale(row, esn)),
        "states": ("run", lambda: run_echoscale(row, esn)),
        "snapshots": ("snapshots", lambda: snapshots_echoscale(row, esn)),
        "sweep": (f"statistics and ridge, {row.lanes} lanes", lambda: sweep_echoscale(row, esn)),
    }[row.kind]
    matrices = esn.matrices()
    return [Candidate(name, "float32", call(), lambda: _probe(row, esn), block=(matrices.W.toarray(), matrices.W_in))]


def build(row: Row) -> es.ESN:
    """The row's network, with weights of echoscale's own drawing."""
    if len(row.units) > 1:
        return hierarchy(row, row.leak_rates).build(n_inputs=1, seed=SEED)
    network = es.single(
        row.units[0],
        leak_rate=row.leak_rates[0],
        spectral_radius=rows.SPECTRAL_RADIUS,
        input_scaling=rows.INPUT_SCALING,
        connections=rows.CONNECTIONS,
    )
    return network.build(n_inputs=1, seed=SEED)


def hierarchy(row: Row, leak_rates: tuple[float, ...]) -> es.Network:
    """The description of a row's hierarchy with these leak rates."""
    return es.hierarchical(
        list(row.units),
        leak_rate=list(leak_rates),
        spectral_radius=rows.SPECTRAL_RADIUS,
        input_scaling=rows.INPUT_SCALING,
        coupling=rows.COUPLING_STRENGTH,
        connections=rows.CONNECTIONS,
        coupling_connections=rows.CONNECTIONS,
    )


def regressor(row: Row, network: es.Network) -> es.ESNRegressor:
    """The estimator for a sweep."""
    return es.ESNRegressor(
        network=network,
        columns=es.readouts.Columns(0),
        washout=row.washout,
        scale=None,
        ridge=rows.RIDGE,
        random_state=SEED,
    )


def search_candidate(row: Row, name: str, share: float, call: Callable[[], object], one_fit: OneFit) -> Candidate:
    """A tool that drives the estimator; `one_fit` gives the model that it fits at `row.leak_rates`, which is what is checked.

    It is checked against the weights that echoscale itself is measured with.
    """
    matrices = build(row).matrices()
    return Candidate(
        name,
        "float32",
        call,
        lambda: _probe(row, one_fit().esn_),
        share,
        block=(matrices.W.toarray(), matrices.W_in),
        readout=lambda: one_fit().readout_.coef,
    )


def _probe(row: Row, esn: es.ESN) -> Floats:
    return np.asarray(esn.run(rows.probe_input(row)))


def _input(row: Row) -> np.ndarray:
    """(steps, 1) for one series, (batch, steps, 1) for many."""
    u = rows.draw_input(row).astype(np.float32)
    return u if row.batch > 1 else u[0]


def run_echoscale(row: Row, esn: es.ESN) -> Callable[[], object]:
    """All states."""
    u = _input(row)
    return lambda: jax.block_until_ready(esn.run(u))


def snapshots_echoscale(row: Row, esn: es.ESN) -> Callable[[], object]:
    """The states after every `row.every` steps."""
    u = _input(row)
    return lambda: jax.block_until_ready(esn.snapshots(u, every=row.every))


def sweep_echoscale(row: Row, esn: es.ESN) -> Callable[[], object]:
    """All points as lanes of one scan: states to Gram matrices to the readouts of all of them."""
    u = _input(row)
    y = rows.narma10(rows.draw_input(row)[0]).astype(np.float32)
    first, second = rows.leak_grid(row)

    def call() -> object:
        hyper = esn.hyper.replace(leak_rate=[first, second])
        stats = es.readouts.statistics(esn, u, y, washout=row.washout, hyper=hyper)
        return jax.block_until_ready(es.readouts.ridge(stats, rows.RIDGE))

    return call
