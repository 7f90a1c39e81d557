"""OpenReservoirComputing: its ESN models with our weights put in, forced with `force`."""

from __future__ import annotations

import warnings

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import rows
from jax.experimental import sparse
from rows import Floats, Row

from contenders import Candidate, keep

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it asks for float64, here everybody who can runs float32
    from orc.classifier import ESNClassifier
    from orc.utils.regressions import ridge_regression

POINTS_TOGETHER = 40
LOOP_POINTS = 8


def prepare(row: Row) -> list[Candidate]:
    whole, inputs = (jnp.asarray(matrix, jnp.float32) for matrix in rows.draw_weights(row).block())
    matrices = {"sparse": sparse.BCOO.fromdense(whole[None], n_batch=1), "dense": whole[None]}
    if row.kind == "sweep":
        return [make(row, name, w, inputs) for name, w in matrices.items() for make in (_sweep_loop, _sweep_mapped)]
    return [_run(row, name, matrix, inputs) for name, matrix in matrices.items()]


def _model(row: Row, matrix: object, inputs: jax.Array) -> ESNClassifier:
    """The library's model of one reservoir; matrices and leak rates are leaves that we replace."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ESNClassifier(
            data_dim=1,
            n_classes=2,
            res_dim=row.total_units,
            bias=0.0,
            Wr_density=rows.CONNECTIONS / row.total_units,
            dtype=jnp.float32,
            use_sparse_eigs=row.total_units > 100,
        )
    return eqx.tree_at(
        lambda m: (m.driver.wr, m.embedding.win, m.driver.leak),
        model,
        (matrix, inputs[None], jnp.asarray(row.leak_vector(), jnp.float32)),
        is_leaf=lambda leaf: isinstance(leaf, sparse.BCOO),
    )


def _probe(row: Row, model: ESNClassifier) -> Floats:
    part = jnp.asarray(rows.probe_input(row), jnp.float32)
    return np.asarray(jax.vmap(model.force, (0, None))(part, model.driver.default_state()))


def _run(row: Row, name: str, matrix: object, inputs: jax.Array) -> Candidate:
    model = _model(row, matrix, inputs)
    start = model.driver.default_state()
    u = jnp.asarray(rows.draw_input(row), jnp.float32)

    @eqx.filter_jit
    def run(model: ESNClassifier, u: jax.Array) -> jax.Array:
        return keep(jax.vmap(model.force, (0, None))(u, start), row)

    def call() -> object:
        return model.force(u[0], start).block_until_ready() if row.batch == 1 else run(model, u).block_until_ready()

    options = f"force, {name} W" if row.batch == 1 else f"vmap(force), {name} W"
    return Candidate(options, "float32", call, lambda: _probe(row, model))


def _fit(row: Row, model: ESNClassifier, u: jax.Array, y: jax.Array, leak: jax.Array) -> jax.Array:
    """One point of the sweep: states, then the library's ridge regression."""
    model = eqx.tree_at(lambda m: m.driver.leak, model, leak)
    states = model.force(u, model.driver.default_state())
    return ridge_regression(states[row.washout :], y[row.washout :], rows.RIDGE)


def _sweep_data(row: Row) -> tuple[jax.Array, jax.Array]:
    u = rows.draw_input(row)[0]
    return jnp.asarray(u, jnp.float32), jnp.asarray(rows.narma10(u), jnp.float32)


def _leaks(row: Row, count: int) -> jax.Array:
    return jnp.asarray([row.leak_vector(point) for point in rows.sweep_points(row, count)], jnp.float32)


def _sweep_loop(row: Row, name: str, matrix: object, inputs: jax.Array) -> Candidate:
    model, (u, y), leaks = _model(row, matrix, inputs), _sweep_data(row), _leaks(row, LOOP_POINTS)
    fit = eqx.filter_jit(lambda model, u, y, leak: _fit(row, model, u, y, leak))

    def call() -> object:
        return [fit(model, u, y, leak).block_until_ready() for leak in leaks]

    options = f"compiled loop, {name} W, {len(leaks)} of {row.lanes} points"
    return Candidate(options, "float32", call, lambda: _probe(row, model), len(leaks) / row.lanes)


def _sweep_mapped(row: Row, name: str, matrix: object, inputs: jax.Array) -> Candidate:
    model, (u, y), leaks = _model(row, matrix, inputs), _sweep_data(row), _leaks(row, POINTS_TOGETHER)

    @eqx.filter_jit
    def fit(model: ESNClassifier, u: jax.Array, y: jax.Array, leaks: jax.Array) -> jax.Array:
        return jax.vmap(lambda leak: _fit(row, model, u, y, leak))(leaks)

    options = f"vmap over points, {name} W, {len(leaks)} of {row.lanes} points"
    share = len(leaks) / row.lanes
    return Candidate(options, "float32", lambda: fit(model, u, y, leaks).block_until_ready(), lambda: _probe(row, model), share)
