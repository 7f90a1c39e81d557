"""All of MNIST through the network on a GPU: seconds, images a second, and what of the chip's limits that is.

    python benchmarks/psmnist_gpu.py [FILE]     the table, on a machine with a GPU; also to FILE

2 x 600 units, the first drives the second, 10 weights a row, 784 steps, 28 snapshots, float32: the network of `psmnist.py`.
The images lie on the device (as when many networks see them) or come from the host; the snapshots stay on the device.

Limits are measured here, in the same run: how fast memory is copied, how fast an array that fits the cache is read, how many
multiply-adds in float32 there are. A step needs, for every image, one number for every weight, 10 x 600 of each of three
matrices; the states of a block of images fit the cache, so that these reads are the cache's.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import psmnist

import echoscale as es
from echoscale import features

IMAGES, WEIGHTS, UNITS, STEPS, SNAPSHOTS = 60_000, 3 * 6000, 1200, 784, 28
TANH = 20  # multiply-adds of a tanh, about: two polynomials, a division, the limits
REPEATS = 5


def fastest(function: Callable[[], Any]) -> float:
    """Seconds of the fastest of some calls, after one that compiles; each ends when its result is there."""
    jax.block_until_ready(function())
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        jax.block_until_ready(function())
        times.append(time.perf_counter() - begin)
    return min(times)


def copied() -> float:
    """Bytes a second of memory, read and written."""
    x = jnp.zeros(1 << 30, jnp.float32)
    add = jax.jit(lambda x: x + 1)
    return 2 * x.nbytes / fastest(lambda: add(x))


def read_from_cache(width: int) -> float:
    """Bytes a second of gathered rows, without the arithmetic of a network: the mean of 10 rows of an array for each row."""
    rows = UNITS
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
    return turns * 10 * x.nbytes / fastest(lambda: run(x))


def multiply_adds() -> float:
    """Floating-point operations a second of a long chain of multiply-adds in registers, two for each."""
    x = jnp.linspace(0, 1, 1 << 24, dtype=jnp.float32)
    length, chains = 100, 4  # side by side, so that none waits for the one before it

    @jax.jit
    def run(x: jax.Array) -> jax.Array:
        y = [x + k for k in range(chains)]
        for _ in range(length):
            y = [each * x + x for each in y]
        return y[0] + y[1] + y[2] + y[3]

    return 2 * chains * length * x.size / fastest(lambda: run(x))


def forward() -> dict[str, float]:
    """Seconds of all images, from the device and from the host."""
    esn = psmnist.network()
    u, data = psmnist.images(IMAGES)
    sent = jax.device_put(u)
    return {
        f"images on the device ({data})": fastest(
            lambda: features.compute(esn, sent, STEPS // SNAPSHOTS, on_device=True).array
        ),
        f"images on the host ({data})": fastest(lambda: features.compute(esn, u, STEPS // SNAPSHOTS, on_device=True).array),
    }


def main() -> None:
    """Measure, and show the arithmetic."""
    found = forward()
    width = features.driver.block_size((IMAGES, SNAPSHOTS, UNITS), 4, False)
    limits = {"memory": copied(), "cache": read_from_cache(width), "arithmetic": multiply_adds()}
    steps = IMAGES * STEPS
    gathered = steps * WEIGHTS * 4
    operations = steps * 2 * (WEIGHTS + UNITS * (TANH + 2))
    moved = IMAGES * 4 * (STEPS + 3 * SNAPSHOTS * UNITS)  # pixels once; snapshots written, read and put in their place
    best = min(found.values())
    lines = [
        f"{jax.devices()[0].device_kind}, jax {jax.__version__}, echoscale {es.__version__}; fastest of {REPEATS} calls.",
        "",
        "| all 60,000 images, 784 steps, 28 snapshots | seconds | images/s |",
        "|---|---:|---:|",
        *(f"| {name} | {seconds:.3f} | {IMAGES / seconds:,.0f} |" for name, seconds in found.items()),
        "",
        "| needed | how much | the chip, measured here | alone it would take | of the time |",
        "|---|---|---:|---:|---:|",
    ]
    shown = (
        ("neighbours read from the cache", gathered, "60,000 x 784 x 18,000 weights x 4 bytes", limits["cache"], "B"),
        ("memory", moved, "60,000 x 4 bytes x (784 pixels + 3 x 28 x 1,200 numbers of snapshots)", limits["memory"], "B"),
        (
            "arithmetic",
            operations,
            f"60,000 x 784 x 2 x (18,000 weights + 1,200 neurons x {TANH + 2})",
            limits["arithmetic"],
            "FLOP",
        ),
    )
    for name, much, how, limit, unit in shown:
        lines.append(
            f"| {name} | {how} = {much / 1e12:.2f} T{unit} | {limit / 1e12:.1f} T{unit}/s | {much / limit:.3f} s "
            f"| {much / limit / best:.0%} |"
        )
    lines += ["", f"Blocks of {width} images: their states are {width * UNITS * 4 / 2**20:.0f} MiB."]
    text = "\n".join(lines)
    print(text, flush=True)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(text + "\n")


if __name__ == "__main__":
    main()
