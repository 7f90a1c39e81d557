"""reservoirpy on JAX: `Reservoir` with given matrices, dense or BCOO, bare and compiled by the caller."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import rows
from jax.experimental import sparse
from reservoirpy.jax.nodes import Reservoir, Ridge
from rows import Floats, Row

from contenders import Candidate, keep

SWEEP_POINTS = 3


def prepare(row: Row) -> list[Candidate]:
    whole, inputs = (jnp.asarray(matrix, jnp.float32) for matrix in rows.draw_weights(row).block())
    matrices = {"dense": whole, "sparse": sparse.BCOO.fromdense(whole)}
    if row.kind == "sweep":
        return [_sweep(row, name, matrix, inputs) for name, matrix in matrices.items()]
    if row.batch > 1:
        return [_compiled(row, name, matrix, inputs) for name, matrix in matrices.items()]
    return [make(row, name, matrix, inputs) for name, matrix in matrices.items() for make in (_compiled, _bare)]


def _reservoir(row: Row, matrix: object, inputs: jax.Array, point: tuple[float, ...] | None = None) -> Reservoir:
    """A sparse matrix is accepted from an initializer only."""
    leak = jnp.asarray(row.leak_vector(point), jnp.float32)
    reservoir = Reservoir(row.total_units, W=lambda *_, **__: matrix, Win=inputs, lr=leak, bias=0.0)
    reservoir.initialize(jnp.zeros((1, 1)))
    return reservoir


def _compiled_run(row: Row, matrix: object, inputs: jax.Array) -> Callable[[jax.Array], jax.Array]:
    """(series, steps, 1) -> states, compiled once and mapped over the series."""
    return jax.jit(lambda u: keep(jax.vmap(_reservoir(row, matrix, inputs).run)(u), row))


def _compiled(row: Row, name: str, matrix: object, inputs: jax.Array) -> Candidate:
    u = jnp.asarray(rows.draw_input(row), jnp.float32)
    run = _compiled_run(row, matrix, inputs)

    def probe() -> Floats:
        all_states = jax.jit(jax.vmap(_reservoir(row, matrix, inputs).run))
        return np.asarray(all_states(jnp.asarray(rows.probe_input(row), jnp.float32)))

    return Candidate(f"jit(vmap(run)), {name} W", "float32", lambda: run(u).block_until_ready(), probe)


def _bare(row: Row, name: str, matrix: object, inputs: jax.Array) -> Candidate:
    u = jnp.asarray(rows.draw_input(row)[0], jnp.float32)
    reservoir = _reservoir(row, matrix, inputs)

    def call() -> object:
        reservoir.reset()
        return reservoir.run(u).block_until_ready()

    def probe() -> Floats:
        part = jnp.asarray(rows.probe_input(row), jnp.float32)
        return np.asarray(_reservoir(row, matrix, inputs).run(part))

    return Candidate(f"run, {name} W", "float32", call, probe)


def _sweep(row: Row, name: str, matrix: object, inputs: jax.Array) -> Candidate:
    series = rows.draw_input(row)[0]
    u, y = jnp.asarray(series, jnp.float32), jnp.asarray(rows.narma10(series), jnp.float32)
    points = rows.sweep_points(row, SWEEP_POINTS)

    def fit(point: tuple[float, float]) -> object:
        states = _reservoir(row, matrix, inputs, point).run(u)
        return jax.block_until_ready(Ridge(ridge=rows.RIDGE).fit(states, y, warmup=row.washout).Wout)

    def probe() -> Floats:
        part = jnp.asarray(rows.probe_input(row), jnp.float32)
        return np.asarray(_reservoir(row, matrix, inputs).run(part))

    options = f"{name} W, {len(points)} of {row.lanes} points"
    return Candidate(options, "float32", lambda: [fit(point) for point in points], probe, len(points) / row.lanes)
