"""All of MNIST through the network on a GPU: seconds, images a second, and what of the chip's limits that is.

    python benchmarks/psmnist_gpu.py            on a machine with a GPU, a minute
    python benchmarks/psmnist_gpu.py --quick    small sizes, on whatever there is

2 x 600 units, the first drives the second, 10 weights a row, 784 steps, 28 snapshots, float32: the network of `psmnist.py`.
The images lie on the device (as when many networks see them) or come from the host; the snapshots stay on the device.

Limits are measured here, in the same run: how fast memory is copied, how fast an array that fits the cache is read, how many
multiply-adds in float32 there are. A step needs, for every image, one number for every weight, 10 x 600 of each of three
matrices; the states of a block of images fit the cache, so that these reads are the cache's.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import common
import jax
import jax.numpy as jnp
import numpy as np
import psmnist

from echoscale.engine.devices import on_cpu
from echoscale.readouts import features

TANH = 20  # multiply-adds of a tanh, about: two polynomials, a division, the limits
SNAPSHOT = 28  # steps


class Sizes(NamedTuple):
    """units is that of each of the two levels; memory and numbers are those of the arrays that limits are measured with."""

    images: int = 60_000
    units: int = 600
    steps: int = 784
    memory: int = 1 << 30
    numbers: int = 1 << 24
    repeats: int = 5


def fastest(function: Callable[[], Any], repeats: int) -> float:
    """Seconds of the fastest of some calls, after one that compiles; each ends when its result is there."""
    return common.best(lambda: common.finished(function()), repeats)


def copied(sizes: Sizes) -> float:
    """Bytes a second of memory, read and written."""
    x = jnp.zeros(sizes.memory, jnp.float32)
    add = jax.jit(lambda x: x + 1)
    return 2 * x.nbytes / fastest(lambda: add(x), sizes.repeats)


def read_from_cache(sizes: Sizes, width: int) -> float:
    """Bytes a second of gathered rows, without the arithmetic of a network: the mean of 10 rows of an array for each row."""
    rows = 2 * sizes.units
    which = jnp.asarray(np.random.default_rng(0).integers(0, rows, (10, rows)))
    turns = 200

    @jax.jit
    def run(x: jax.Array) -> jax.Array:
        def body(x: jax.Array, _: None) -> tuple[jax.Array, None]:
            total = x[which[0]]
            for j in range(1, 10):
                total = total + x[which[j]]
            return 0.1 * total, None

        return jax.lax.scan(body, x, None, length=turns)[0]

    x = jnp.ones((rows, width), jnp.float32)
    return turns * 10 * x.nbytes / fastest(lambda: run(x), sizes.repeats)


def multiply_adds(sizes: Sizes) -> float:
    """Floating-point operations a second of a long chain of multiply-adds in registers, two for each."""
    x = jnp.linspace(0, 1, sizes.numbers, dtype=jnp.float32)
    length, chains = 100, 4  # side by side, so that none waits for the one before it

    @jax.jit
    def run(x: jax.Array) -> jax.Array:
        y = [x + k for k in range(chains)]
        for _ in range(length):
            y = [each * x + x for each in y]
        return y[0] + y[1] + y[2] + y[3]

    return 2 * chains * length * x.size / fastest(lambda: run(x), sizes.repeats)


def forward(sizes: Sizes) -> dict[str, float]:
    """Seconds of all images, from the device and from the host."""
    esn = psmnist.network([sizes.units] * 2)
    u, data = psmnist.images(sizes.images, sizes.steps)
    sent = jax.device_put(u)

    def run(images: Any) -> Callable[[], Any]:
        return lambda: features.compute(esn, images, SNAPSHOT, on_device=not on_cpu(None)).array

    return {
        f"images on the device ({data})": fastest(run(sent if not on_cpu(None) else u), sizes.repeats),
        f"images on the host ({data})": fastest(run(u), sizes.repeats),
    }


def measure(options: argparse.Namespace) -> common.Raw:
    """Seconds of the network, and the limits of the chip."""
    if on_cpu(None) and not options.quick:
        raise SystemExit("psmnist_gpu.py measures a GPU, and JAX finds none here. Install jax for your GPU, or try --quick.")
    sizes = Sizes(64, 20, 56, 1 << 16, 1 << 12, 1) if options.quick else Sizes()
    seconds = forward(sizes)
    width = min(features.block_size((sizes.images, sizes.steps // SNAPSHOT, 2 * sizes.units), 4, False), sizes.images)
    limits = {"memory": copied(sizes), "cache": read_from_cache(sizes, width), "arithmetic": multiply_adds(sizes)}
    return {"sizes": sizes._asdict(), "images_at_once": width, "seconds": seconds, "limits": limits}


def table(raw: common.Raw) -> str:
    """Seconds, and the arithmetic of what they could be."""
    s, limits, width = raw["sizes"], raw["limits"], raw["images_at_once"]
    units, weights, shots = 2 * s["units"], 3 * 10 * s["units"], s["steps"] // SNAPSHOT
    steps = s["images"] * s["steps"]
    best = min(raw["seconds"].values())
    of_images, of_steps = f"{s['images']:,}", f"{s['images']:,} x {s['steps']}"
    needed = (
        ("neighbours read from the cache", steps * weights * 4, f"{of_steps} x {weights:,} weights x 4 bytes", "cache", "B"),
        (
            "memory",
            # Pixels once; snapshots written, read and put in their place.
            s["images"] * 4 * (s["steps"] + 3 * shots * units),
            f"{of_images} x 4 bytes x ({s['steps']} pixels + 3 x {shots} x {units:,} states of snapshots)",
            "memory",
            "B",
        ),
        (
            "arithmetic",
            steps * 2 * (weights + units * (TANH + 2)),
            f"{of_steps} x 2 x ({weights:,} weights + {units:,} neurons x {TANH + 2})",
            "arithmetic",
            "FLOP",
        ),
    )
    body = [
        (
            name,
            f"{how} = {much / 1e12:.2g} T{unit}",
            f"{limits[limit] / 1e12:.2g} T{unit}/s",
            f"{much / limits[limit]:.3f} s",
            f"{much / limits[limit] / best:.0%}",
        )
        for name, much, how, limit, unit in needed
    ]
    lines = [
        "# Permuted sequential MNIST on a GPU, and its limits",
        "",
        common.origin(raw),
        "",
        f"The network of `psmnist.py`, 2 x {s['units']} units, float32; snapshots stay on the device; fastest of "
        f"{s['repeats']} "
        "calls.",
        "",
        *common.rows(
            (f"{of_images} images, {s['steps']} steps, {shots} snapshots", "seconds", "images/s"),
            [(name, f"{each:.3f}", f"{s['images'] / each:,.0f}") for name, each in raw["seconds"].items()],
        ),
        "",
        *common.rows(("needed", "how much", "the chip, measured here", "alone it would take", "of the time"), body, left=2),
        "",
        (
            f"Blocks of {width:,} images: their states are {width * units * 4 / 2**20:.0f} MiB, which fit the cache. "
            if width
            else ""
        )
        + "The speed of the cache is that of the mean of ten gathered rows of an array of that size, without tanh and weights.",
        "",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> common.Raw:
    return common.main("psmnist_gpu", __doc__, measure, table, arguments=arguments)


if __name__ == "__main__":
    main()
