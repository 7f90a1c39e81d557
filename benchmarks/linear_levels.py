"""How much faster is a linear level in parallel over time than step by step, and which way over time is the fastest?

    python benchmarks/linear_levels.py            a minute on a GPU, several on two cores
    python benchmarks/linear_levels.py --quick    seconds

    z(t+1) = lambda z(t) + d(t),  t = 0 ... T - 1

of n / 2 complex pairs along one series, float32, from the inputs on the device to all states (T, n) on the device. Every way
computes the same numbers but for rounding. Ways take turns, and the fastest of some runs counts; compilation counts apart.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial

import common
import jax
import jax.numpy as jnp
import numpy as np

import echoscale as es
from echoscale.engine import parallel_in_time, scan

Array = jax.Array
Way = Callable[[Array, Array], Array]  # lambda (m,) and d (T, m) -> z(1) ... z(T), (T, m), from zero

SIZES = ((100, 100_000), (1000, 100_000))  # units, steps
STEP, OURS = "step by step", "as `esn.run`"


def padded(drive: Array, to: int) -> Array:
    """Zero steps at the end, up to a multiple of `to`."""
    return jnp.pad(drive, ((0, -len(drive) % to), (0, 0)))


def delayed(drive: Array, by: int = 1) -> Array:
    """d(t - by), zero before the first."""
    return jnp.pad(drive[:-by], ((by, 0), (0, 0)))


def powers(factor: Array, most: int) -> Array:
    """lambda^0 ... lambda^most, (most + 1, m): by products, since powers of complex numbers take logarithms and lose digits."""
    return jnp.cumprod(jnp.broadcast_to(factor, (most + 1, len(factor))).at[0].set(1), axis=0)


def doubling(factor: Array, drive: Array) -> Array:
    """z <- z + lambda^k z(t - k) for k = 1, 2, 4, ...: more work than a tree, in plain passes."""
    by = 1
    while by < len(drive):
        drive = drive + factor * delayed(drive, by)
        factor, by = factor * factor, 2 * by
    return drive


def library(factor: Array, drive: Array) -> Array:
    """JAX's own associative scan of pairs (factor, drive)."""

    def join(first: tuple[Array, Array], then: tuple[Array, Array]) -> tuple[Array, Array]:
        return first[0] * then[0], then[0] * first[1] + then[1]

    return jax.lax.associative_scan(join, (jnp.broadcast_to(factor, drive.shape), drive))[1]  # type: ignore[no-any-return]


def tree(radix: int) -> Way:
    """Ends of `radix` steps, the same over the ends, and from there the steps between."""

    def unrolled(factor: Array, now: Array, rows: list[Array]) -> list[Array]:
        found = []
        for each in rows:
            now = factor * now + each
            found.append(now)
        return found

    def way(factor: Array, drive: Array) -> Array:
        steps, width = drive.shape
        if steps <= radix:
            return jnp.stack(unrolled(factor, jnp.zeros_like(factor), list(drive)))
        parts = padded(drive, radix).reshape(-1, radix, width)
        rows = [parts[:, j] for j in range(radix)]
        ends = way(powers(factor, radix)[-1], unrolled(factor, jnp.zeros_like(rows[0]), rows)[-1])
        return jnp.stack(unrolled(factor, delayed(ends), rows), axis=1).reshape(-1, width)[:steps]

    return way


def blocks(length: int) -> Way:
    """All blocks of so many steps at once, step by step from zero; then what comes from the blocks before."""

    def way(factor: Array, drive: Array) -> Array:
        steps = len(drive)
        parts = padded(drive, length).reshape(-1, length, drive.shape[1]).swapaxes(0, 1)

        def body(now: Array, each: Array) -> tuple[Array, Array]:
            new = factor * now + each
            return new, new

        ends, made = jax.lax.scan(body, jnp.zeros_like(parts[0]), parts)
        weights = powers(factor, length)
        made = made + weights[1:, None] * delayed(doubling(weights[-1], ends))
        return made.swapaxes(0, 1).reshape(-1, drive.shape[1])[:steps]

    return way


def products(length: int) -> Way:
    """Within blocks by a matrix of powers of lambda for every pair; then what comes from the blocks before."""

    def way(factor: Array, drive: Array) -> Array:
        steps = len(drive)
        parts = padded(drive, length).reshape(-1, length, drive.shape[1])
        weights = powers(factor, length)
        apart = np.arange(length)[:, None] - np.arange(length)
        within = jnp.where(apart[..., None] >= 0, weights[np.maximum(apart, 0)], 0)
        made = jnp.einsum("ijm,bjm->bim", within, parts, precision="highest")
        made = made + weights[1:] * delayed(doubling(weights[-1], made[:, -1]))[:, None]
        return made.reshape(-1, drive.shape[1])[:steps]

    return way


WAYS: dict[str, Way] = {
    "doubling": doubling,
    "jax.lax.associative_scan": library,
    **{f"tree of {radix}": tree(radix) for radix in (2, 4, 8, 16)},
    **{f"blocks of {length}": blocks(length) for length in (64, 256, 1024)},
    **{f"products of {length}": products(length) for length in (16, 64)},
}


@partial(jax.jit, static_argnames="way")
def states(way: Way, factor: Array, inputs: Array, leak: Array, u: Array) -> Array:
    """(T, n) from u (T, 1), with one input and no bias."""
    drive = leak * u * inputs[:, 0]
    z = way(factor, jax.lax.complex(drive[:, 0::2], drive[:, 1::2]))
    return jnp.stack([z.real, z.imag], axis=2).reshape(len(u), -1)


def linear_level(units: int, steps: int, rounds: int, ways: Sequence[str]) -> common.Raw:
    """Seconds of every way, those of its first run, and its largest difference from the step and from float64."""
    level = es.single(units, leak_rate=0.5, activation="identity", topology="diagonal")
    esn = level.build(1, seed=0)
    series = np.random.default_rng(0).random((steps, 1), dtype=np.float32)
    u, start = jnp.asarray(series), jnp.zeros(units, jnp.float32)
    weights, hyper = esn.weights(), esn.numbers()
    plan = parallel_in_time.plan(esn.network, esn.drawn, np.float32)
    assert plan is not None
    leak = hyper.leak_rate[0]
    factor = (1 - leak) + leak * hyper.spectral_radius[0] * plan[0]
    drive = hyper.input_scaling[0] * weights.inputs[0]

    remaining = np.full(1, steps, np.int32)

    def stepwise() -> Array:
        made: Array = scan.scan(weights, hyper, (start[:, None],), u[..., None], remaining, whole=True)[1]
        return made[:, 0]

    @jax.jit
    def at_once(u: Array) -> Array:
        made: Array = parallel_in_time.scan(weights, hyper, plan, (start[:, None],), u[..., None], remaining, whole=True)[1]
        return made[:, 0]

    def ours() -> Array:
        made: Array = at_once(u)
        return made

    runs: dict[str, Callable[[], Array]] = {STEP: stepwise, OURS: ours}
    for name in ways:
        runs[name] = partial(states, WAYS[name], factor, drive, leak, u)
    exact = level.build(1, seed=0, dtype="float64").run(series)
    found = {}
    for name, run in runs.items():
        began = time.perf_counter()
        made = common.finished(run())
        first = time.perf_counter() - began
        if name == STEP:
            reference = made
        found[name] = {
            "first": first,
            "apart": float(jnp.abs(made - reference).max()),
            "error": float(np.abs(np.asarray(made) - exact).max()),
        }
        del made
    for name, times in common.take_turns({name: partial(_finished, run) for name, run in runs.items()}, rounds).items():
        found[name]["seconds"] = min(times)
    return {"units": units, "steps": steps, "largest": float(np.abs(exact).max()), "ways": found}


def _finished(run: Callable[[], Array]) -> None:
    common.finished(run())


def measure(options: argparse.Namespace) -> common.Raw:
    if options.quick:
        return {"levels": [linear_level(8, 77, 1, ["tree of 8", "blocks of 64"])]}
    return {"levels": [linear_level(*size, 7, list(WAYS)) for size in SIZES]}


def table(raw: common.Raw) -> str:
    """A table for every size."""
    lines = ["# Linear levels over time", "", common.origin(raw), ""]
    for level in raw["levels"]:
        step = level["ways"][STEP]["seconds"]
        body = [
            [
                name,
                f"{1e3 * each['seconds']:.2f}",
                f"{step / each['seconds']:.1f}",
                f"{max(each['first'] - each['seconds'], 0):.1f}",
                f"{each['apart']:.1e}",
                f"{each['error']:.1e}",
            ]
            for name, each in level["ways"].items()
        ]
        lines += [
            f"{level['units']:,} diagonal units along {level['steps']:,} steps, float32, all states on the device. The largest "
            f"state is {level['largest']:.2g}; apart: largest difference from the step; error: from the step in float64.",
            "",
            *common.rows(("way", "ms", "times faster", "compilation, s", "apart", "error"), body),
            "",
        ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> common.Raw:
    return common.main("linear_levels", __doc__, measure, table, arguments=arguments)


if __name__ == "__main__":
    main()
