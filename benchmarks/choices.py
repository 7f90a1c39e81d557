"""What do the choices of the engine gain? Each is measured against its alternative, in turns, on this machine.

python benchmarks/choices.py            three minutes
python benchmarks/choices.py --quick    seconds

vectors    512-bit vectors against XLA's 256, one lane and 128
pairs      two steps a turn of the loop with a barrier, against one; and without the barrier
columns    of neighbours as unsigned numbers, against signed ones
threads    XLA does not share small kernels out over threads, against its default
turning    states are turned step by step in the loop, against whole chunks afterwards
shared     lanes of a grid that have the same first level share its run, against all for themselves
BLAS       one thread while JAX computes, against as many as BLAS takes
Adam       by hand on one flat array, against optax
radius     ARPACK for the spectral radius, against LAPACK
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any
from unittest import mock

import common
import jax
import jax.numpy as jnp
import numpy as np
import optax

import echoscale as es
from echoscale.engine import devices, dynamics, matrices, scan, shared_runs
from echoscale.learning.online import adam

Case = dict[str, Callable[[], object]]
KEPT = "as it is"


def scanned(esn: es.ESN, lanes: int, steps: int, every: int, options: dict[str, Any], **kinds: bool) -> Callable[[], object]:
    """A chunk through the network, compiled with these options."""

    def run(weights: Any, hyper: Any, state: Any, u: Any, remaining: Any) -> Any:
        return scan._scan(weights, hyper, state, u, remaining, every, **kinds)

    state = tuple(np.zeros((size, lanes), np.float32) for size in esn.sizes)
    u = np.random.default_rng(0).random((steps, 1, lanes), dtype=np.float32)
    remaining, weights, hyper = np.full(lanes, steps, np.int32), esn.weights(lanes), esn.numbers()
    arrays = weights, hyper, state, u, remaining
    compiled = jax.jit(run, compiler_options={**devices.SCAN_OPTIONS, **options}).lower(*arrays).compile()
    return lambda: common.finished(compiled(*arrays))


def large(quick: bool) -> es.ESN:
    """The network of psMNIST, or a small one."""
    units = 20 if quick else 600
    return es.hierarchical([units, units], leak_rate=[1.0, 0.5], spectral_radius=0.99).build(1, seed=0)


def small(quick: bool) -> es.ESN:
    """The network of NARMA10, or a smaller one."""
    units = 10 if quick else 50
    return es.hierarchical([units, units], leak_rate=[1.0, 0.2], spectral_radius=0.95, input_scaling=0.2).build(1, seed=0)


def vectors(lanes: int, quick: bool) -> Case:
    """Widths of vectors in bits."""
    run = partial(scanned, large(quick), lanes, 56 if quick else 280, 28)
    return {KEPT: run({}), "256-bit vectors": run({"xla_cpu_prefer_vector_width": 256})}


def pairs(quick: bool) -> Case:
    """Without a barrier the two steps of a turn run into each other."""
    run = partial(scanned, large(quick), 32 if quick else 128, 56, 28)
    with mock.patch.object(jax.lax, "optimization_barrier", lambda values: values):
        removed = run({}, whole=True, pairs=True)
    return {
        KEPT: run({}, whole=True, pairs=True),
        "one step a turn": run({}, whole=True),
        "two steps a turn, the barrier removed": removed,
        "one step a turn, every step masked": run({}),
    }


def columns(lanes: int, quick: bool) -> Case:
    """States of the same bits, whatever numbers name the neighbours."""
    with mock.patch.object(matrices, "INDEX", np.int32):
        signed = scanned(large(quick), lanes, 56, 28, {}, whole=True, pairs=True)
    return {KEPT: scanned(large(quick), lanes, 56, 28, {}, whole=True, pairs=True), "signed": signed}


def threads(quick: bool) -> Case:
    """16 lanes: kernels of some microseconds."""
    run = partial(scanned, small(quick), 16, 100 if quick else 1000, 1)
    return {
        KEPT: run({}),
        "kernels shared out over threads": run({"xla_disable_hlo_passes": ",".join(devices.AGAINST_BARRIERS)}),
    }


def turning(quick: bool) -> Case:
    """All states (steps, lanes, units)."""
    esn, lanes, steps = large(quick), 16 if quick else 128, 56
    weights, hyper = esn.weights(lanes), esn.numbers()
    state = tuple(np.zeros((size, lanes), np.float32) for size in esn.sizes)
    u = np.random.default_rng(0).random((steps, 1, lanes), dtype=np.float32)

    @partial(jax.jit, compiler_options=devices.SCAN_OPTIONS)
    def afterwards(state: Any, u: Any) -> Any:
        def step(now: Any, u_t: Any) -> Any:
            new = dynamics.step(weights, hyper, now, u_t)
            return new, jnp.concatenate(new)

        return jax.lax.scan(step, state, u)[1].swapaxes(1, 2)

    return {
        KEPT: scanned(esn, lanes, steps, 1, {}, whole=True),
        "turned afterwards": lambda: common.finished(afterwards(state, u)),
    }


def shared(kind: str, quick: bool) -> Case:
    """A grid of leak rates on NARMA10: states to statistics."""
    points, steps, units = (3, 300, 10) if quick else (20, 5000, 50)
    build = es.hierarchical if kind == "hierarchical" else es.parallel
    esn = build([units, units], spectral_radius=0.95, input_scaling=0.2).build(1, seed=0)
    u, y = es.tasks.narma(steps, order=10, seed=0)
    first, second = np.meshgrid(*[np.linspace(1 / points, 1, points)] * 2, indexing="ij")
    hyper = esn.hyper.replace(leak_rate=[first.ravel(), second.ravel()])

    def run() -> object:
        return es.readouts.statistics(esn, u, y, washout=100, hyper=hyper)

    def alone() -> object:
        with mock.patch.object(shared_runs, "WORTH_IT", 0.0):
            return run()

    return {KEPT: run, "every lane by itself": alone}


def blas(quick: bool) -> Case:
    """A fit: the states of 100 neurons by JAX, their products by BLAS at the same time."""
    u, y = es.tasks.narma(500 if quick else 20_000, order=10, seed=0)
    esn = es.single(20 if quick else 100, input_scaling=0.2).build(1, seed=0)

    def run() -> object:
        return es.readouts.ridge(es.readouts.statistics(esn, u, y, washout=100), 1e-5)

    def free() -> object:
        unlimited = mock.Mock()
        unlimited.limit.return_value = nullcontext()
        with mock.patch.object(devices, "_controller", return_value=unlimited):
            return run()

    return {KEPT: run, "as many threads as BLAS takes": free}


def by_hand(quick: bool) -> Case:
    """Steps of Adam for a readout of 100 neurons with intercept and two leak rates."""
    rows, learned, steps = 101, 2, 100 if quick else 10_000
    start = np.zeros((rows + learned, 1), np.float32)
    gradients = np.random.default_rng(0).standard_normal((16, *start.shape)).astype(np.float32)
    rule = adam.settings(adam.Adam(1e-3), adam.Adam(5e-6, beta1=0.99), [5e-6] * learned, rows, 1, np.float32)
    labels = {"readout": start[:rows], "learned": start[rows:]}
    theirs = optax.multi_transform(
        {"readout": optax.adam(1e-3), "learned": optax.adam(5e-6, b1=0.99)}, {name: name for name in labels}
    )

    @partial(jax.jit, compiler_options=devices.SCAN_OPTIONS)
    def own(theta: Any, memory: Any) -> Any:
        def step(k: Any, now: Any) -> Any:
            return adam.update(now[0], jnp.asarray(gradients)[k % 16], now[1], rule, rows, jnp.bool_(True))

        return jax.lax.fori_loop(0, steps, step, (theta, memory))[0]

    @partial(jax.jit, compiler_options=devices.SCAN_OPTIONS)
    def of_optax(theta: Any, memory: Any) -> Any:
        def step(k: Any, now: Any) -> Any:
            gradient = jnp.asarray(gradients)[k % 16]
            moves, new = theirs.update({"readout": gradient[:rows], "learned": gradient[rows:]}, now[1])
            return optax.apply_updates(now[0], moves), new

        return jax.lax.fori_loop(0, steps, step, (theta, memory))[0]

    memory = adam.init(rows + learned, 1, np.float32)
    return {
        KEPT: lambda: common.finished(own(start, memory)),
        "optax": lambda: common.finished(of_optax(labels, theirs.init(labels))),
    }


def radius(quick: bool) -> Case:
    """The spectral radius of a sparse reservoir."""
    from echoscale.engine import eigen

    units = 150 if quick else 1000
    matrix = es.single(units).build(1, seed=0).drawn.recurrent[0]
    return {
        KEPT: lambda: eigen.spectral_radius(matrix),
        "LAPACK": lambda: np.abs(np.linalg.eigvals(matrix.toarray())).max(),
    }


def cases(quick: bool) -> dict[str, Callable[[], Case]]:
    """Name: what is compared, made when its turn comes."""
    most = 16 if quick else 128
    return {
        "vectors, 1 lane": partial(vectors, 1, quick),
        f"vectors, {most} lanes": partial(vectors, most, quick),
        "pairs of steps": partial(pairs, quick),
        "columns, 8 lanes": partial(columns, 8, quick),
        f"columns, {most} lanes": partial(columns, most, quick),
        "threads in kernels": partial(threads, quick),
        "turning of states": partial(turning, quick),
        "shared runs, hierarchical": partial(shared, "hierarchical", quick),
        "shared runs, parallel": partial(shared, "parallel", quick),
        "BLAS threads": partial(blas, quick),
        "Adam": partial(by_hand, quick),
        "spectral radius": partial(radius, quick),
    }


def measure(options: argparse.Namespace) -> common.Raw:
    """Seconds of every variant in every round."""
    rounds = 1 if options.quick else 9
    wanted = cases(options.quick)
    if options.quick:  # every variant of a scan is another program to compile
        left_out = ("vectors, 1 ", "columns, 8 ", "shared runs, par")
        wanted = {name: each for name, each in wanted.items() if not name.startswith(left_out)}
    found = {}
    for name, make in wanted.items():
        found[name] = common.take_turns(make(), rounds)
        common.say(name)
    return {"rounds": rounds, "seconds": found}


def table(raw: common.Raw) -> str:
    """Times of what the package does: fastest round, and median."""
    body = []
    for name, variants in raw["seconds"].items():
        own = variants[KEPT]
        for variant, times in variants.items():
            fastest, middle = min(times) / min(own), common.median(times) / common.median(own)
            ratios = ("1", "1") if variant == KEPT else (f"{fastest:.2f}", f"{middle:.2f}")
            body.append((name if variant == KEPT else "", variant, f"{1e3 * min(times):.3g} ms", *ratios))
    lines = [
        "# Choices of the engine",
        "",
        common.origin(raw),
        "",
        f"Each choice against its alternatives, which take turns for {raw['rounds']} rounds: time of the fastest round, and "
        "how many times the time of the package that is, in the fastest round and in the median. What each line runs stands in "
        "the script.",
        "",
        *common.rows(("choice", "variant", "fastest", "ratio", "ratio of medians"), body, left=2),
        "",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> common.Raw:
    return common.main("choices", __doc__, measure, table, arguments=arguments, libraries=("optax",))


if __name__ == "__main__":
    main()
