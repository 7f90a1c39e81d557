"""What an online step costs, as ratios measured in one run, and that a long stream needs no more memory than a short one.

2 x 50 units, minibatch 10, both leak rates and W_out learned at every step. The plain step is a bare `lax.scan` over
`dynamics.step` with the same lanes and the same compiler options. Jobs take turns, so that a noisy machine slows all alike.

Run: python benchmarks/online.py [--quick]      Writes benchmarks/results/online.md.
"""

from __future__ import annotations

import argparse
import platform
import resource
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

import echoscale as es
from echoscale import dynamics
from echoscale.online import RLS, OnlineLearner, loop

BATCH, LANES, STEPS = 10, 16, 1000
RESULTS = Path(__file__).parent / "results" / "online.md"


def network() -> es.ESN:
    """The paper's for NARMA10."""
    return es.hierarchical([50, 50], leak_rate=[0.5, 0.5], spectral_radius=0.95, input_scaling=0.2).build(1, seed=0)


def plain(esn: es.ESN) -> Callable[[], Any]:
    """A bare scan over the same number of lanes."""

    @partial(jax.jit, compiler_options=loop.CPU_OPTIONS)
    def scan(weights: Any, hyper: Any, state: Any, u: Any) -> Any:
        return jax.lax.scan(lambda now, row: (dynamics.step(weights, hyper, now, row), None), state, u)[0]

    state = tuple(np.zeros((size, LANES), np.float32) for size in esn.sizes)
    u = np.random.default_rng(0).random((STEPS, 1, LANES), dtype=np.float32)
    return lambda: [each.block_until_ready() for each in scan(esn.weights(LANES), esn.numbers(), state, u)]


def jobs(esn: es.ESN, u: Any, y: Any) -> dict[str, tuple[Callable[[], Any], int]]:
    """Name: what to time, and how many networks it moves."""
    starts = esn.hyper.replace(leak_rate=[np.linspace(0.2, 0.9, 8), np.linspace(0.9, 0.2, 8)])
    kinds: dict[str, dict[str, Any]] = {
        "online, Adam": {},
        "online, Adam, 8 starts": {"starts": starts},
        "online, recursive least squares": {"readout": RLS(1e-5, 0.9999)},
        "online, Adam, all nine numbers": {
            "parameters": ["leak_rate", "spectral_radius", "input_scaling", "bias_scaling", "coupling"],
        },
    }
    found: dict[str, tuple[Callable[[], Any], int]] = {
        "plain step (bare scan)": (plain(esn), BATCH),
        "plain step (`run_chunks`, last state only)": (lambda: esn.run_chunks(u), BATCH),
    }
    for name, settings in kinds.items():
        learner = OnlineLearner(esn, washout=0, record=STEPS, **settings)
        found[name] = (partial(learner.partial_fit, u, y), BATCH * learner.settings.starts)
    return found


def take_turns(todo: dict[str, tuple[Callable[[], Any], int]], rounds: int) -> dict[str, float]:
    """Microseconds a step, the fastest of all rounds: what others do on the machine only ever adds."""
    times: dict[str, list[float]] = {name: [] for name in todo}
    for turn in range(rounds + 2):
        for name, (job, _) in todo.items():
            start = time.perf_counter()
            job()
            if turn >= 2:  # compiled, and warm
                times[name].append(time.perf_counter() - start)
    return {name: min(each) / STEPS * 1e6 for name, each in times.items()}


def long_stream(esn: es.ESN, steps: int) -> str:
    """Many steps in chunks; the peak of the resident memory after a tenth of them and at the end."""
    learner = OnlineLearner(esn)
    u, y = es.tasks.narma(BATCH * 20_000, order=10, seed=1)
    u, y = u.reshape(BATCH, -1, 1), y.reshape(BATCH, -1, 1)
    early, start = 0, time.perf_counter()
    while learner.steps < steps:
        learner.partial_fit(u, y)
        if early == 0 and learner.steps >= steps / 10:
            early = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = time.perf_counter() - start
    late = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    kept = learner.history
    return (
        f"{learner.steps:,} steps in chunks of 20,000: {seconds:.0f} s ({seconds / learner.steps * 1e6:.1f} us a step, "
        f"{BATCH * learner.steps / seconds:,.0f} network-steps/s), peak memory {early / 1024:.0f} MiB after a tenth, "
        f"{late / 1024:.0f} MiB at the end; {kept.sizes['step']:,} windows of {kept.attrs['window']:,} steps kept."
    )


def main() -> None:
    """One table, and one line for the long stream."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, and 200,000 steps in place of 10,000,000")
    quick = parser.parse_args().quick
    esn = network()
    u, y = es.tasks.narma(BATCH * STEPS, order=10, seed=0)
    todo = jobs(esn, u.reshape(BATCH, STEPS, 1), y.reshape(BATCH, STEPS, 1))
    cost = take_turns(todo, 10 if quick else 60)
    base, one = cost["plain step (bare scan)"], cost["online, Adam"]
    lines = [
        "# Online learning: what a step costs",
        "",
        f"`python benchmarks/online.py{' --quick' if quick else ''}`, {platform.machine()}, jax {jax.__version__}: 2 x 50 "
        f"units, minibatch {BATCH} on {LANES} lanes, float32; jobs take turns, the fastest round counts. Online steps are "
        "whole calls of `partial_fit`.",
        "",
        "| job | us a step | of a plain step | of one start | network-steps/s |",
        "|---|---|---|---|---|",
    ]
    for name, (_, networks) in todo.items():
        share = f"{cost[name] / one:.2f}" if name.startswith("online") else ""
        lines.append(f"| {name} | {cost[name]:.1f} | {cost[name] / base:.2f} | {share} | {networks / cost[name] * 1e6:,.0f} |")
    lines += ["", long_stream(esn, 200_000 if quick else 10_000_000), ""]
    text = "\n".join(lines)
    RESULTS.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
