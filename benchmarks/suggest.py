"""Does `timescales.suggest` help? Its network against grids of leak rates, on seven problems with seeds that are new to it.

For every problem and seed the network is suggested from the training and validation steps. Every error is that on the test
steps, with the ridge penalty chosen on the validation steps; the best of a grid is the least *test* error of its 100 points,
which no search could know beforehand.

    own grid     10 x 10 leak rates, all other numbers as suggested
    plain grid   10 x 10 leak rates, the paper's other numbers: spectral radius 0.95, no bias, and an input of the strength that
                 the paper gives NARMA10 (input scaling 0.2 at a standard deviation of 0.144)
    single       `single(100)` as it comes

Run: python benchmarks/suggest.py [--seeds 10]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import track

import echoscale as es
from echoscale.experiments.scores import path_errors
from echoscale.sweeps import Protocol

Floats = npt.NDArray[np.float64]

PROTOCOL = Protocol(washout=200, train=4000, validation=1000, test=2000, ridge=10.0 ** np.arange(-9, 1.01, 0.5))
KNOWN, LENGTH = PROTOCOL.length - PROTOCOL.test, PROTOCOL.length
AXIS = np.linspace(0.1, 1, 10)
GRID = [each.ravel() for each in np.meshgrid(AXIS, AXIS, indexing="ij")]
LIMIT = 1.15
FIRST_SEED = 2000  # smaller ones were used to set the constants of `suggest`


class Problem(NamedTuple):
    """Inputs (T, F) and targets (T, O)."""

    name: str
    u: Floats
    y: Floats


class Outcome(NamedTuple):
    """Test NRMSE of the suggestion, and what it is divided by."""

    network: es.Network
    error: float
    own_grid: float
    plain_grid: float
    single: float


def problems(seed: int) -> Iterator[Problem]:
    """The seven problems from one seed."""
    tasks = es.tasks
    yield Problem("NARMA5", *tasks.narma(LENGTH, order=5, seed=seed))
    yield Problem("NARMA10", *tasks.narma(LENGTH, order=10, seed=seed))
    yield Problem("NARMA20 (saturated, d = 0.01)", *tasks.narma(LENGTH, order=20, seed=seed, saturate=True, d=0.01))
    for horizon in (1, 10):
        yield Problem(f"Mackey-Glass, {horizon} ahead", *tasks.mackey_glass(LENGTH, seed=seed, horizon=horizon))
    for horizon in (1, 10):
        yield Problem(f"Lorenz, {horizon} ahead", *tasks.lorenz(LENGTH, seed=seed, horizon=horizon))


def unseen_errors(network: es.Network, problem: Problem, seed: int, leaks: list[Floats] | None = None) -> Floats:
    """NRMSE on the test steps, one for each pair of leak rates, or for those of the network."""
    esn = network.build(problem.u.shape[1], seed=seed)
    hyper = None if leaks is None else esn.hyper.replace(leak_rate=leaks)
    return path_errors(esn, problem.u, problem.y, PROTOCOL, hyper).best().test


def outcome(problem: Problem, seed: int) -> Outcome:
    """One suggestion and its rivals, with one seed for the series and for all weights."""
    network = es.timescales.suggest(problem.u[:KNOWN], problem.y[:KNOWN])
    strength = 0.2 * 0.144 / np.sqrt(problem.u[:KNOWN].var(axis=0).sum())
    plain = es.hierarchical([50, 50], spectral_radius=0.95, input_scaling=strength)
    return Outcome(
        network,
        float(unseen_errors(network, problem, seed)),
        float(unseen_errors(network, problem, seed, GRID).min()),
        float(unseen_errors(plain, problem, seed, GRID).min()),
        float(unseen_errors(es.single(100), problem, seed)),
    )


def table(seeds: int, console: Console) -> str:
    """Geometric means over the seeds, and in brackets the least and the largest."""
    jobs = [(seed, problem) for seed in range(FIRST_SEED, FIRST_SEED + seeds) for problem in problems(seed)]
    results: dict[str, list[Outcome]] = {}
    for seed, problem in track(jobs, "Problems", console=console):
        results.setdefault(problem.name, []).append(outcome(problem, seed))
    lines = [
        "| problem | leak rates, radius (one seed) | test NRMSE | / best of own grid | / best of plain grid | / single(100) |",
        "|---|---|---|---|---|---|",
    ]
    within = {"own_grid": 0, "plain_grid": 0, "single": 0}
    for name, runs in results.items():
        first, second = runs[0].network.reservoirs
        cells = [f"({first.leak_rate:g}, {second.leak_rate:g}), {first.spectral_radius:g}"]
        cells.append(f"{np.exp(np.mean([np.log(run.error) for run in runs])):.3g}")
        for rival in within:
            ratios = [run.error / getattr(run, rival) for run in runs]
            mean = float(np.exp(np.mean(np.log(ratios))))
            within[rival] += mean <= (1 if rival == "single" else LIMIT)
            cells.append(f"{_ratio(mean)} ({_ratio(min(ratios))} to {_ratio(max(ratios))})")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    counts = (
        f"At most {LIMIT} times the best of its own grid on {within['own_grid']} of {len(results)} problems, of the plain grid "
        f"on {within['plain_grid']}; better than the single network on {within['single']}."
    )
    return "\n".join([*lines, "", counts])


def _ratio(value: float) -> str:
    return f"{value:.2f}" if value >= 0.1 else f"{value:.1g}"


def main() -> None:
    """Print the table and write it to benchmarks/results/suggest.md."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    seeds = parser.parse_args().seeds
    console = Console()
    start = time.perf_counter()
    text = table(seeds, console)
    console.print(text, markup=False)
    last = FIRST_SEED + seeds - 1
    about = (
        f"`python benchmarks/suggest.py --seeds {seeds}`: seeds {FIRST_SEED} to {last} for series and weights, 2 x 50 units, "
        f"{PROTOCOL.train} training, {PROTOCOL.validation} validation and {PROTOCOL.test} test steps, "
        f"{time.perf_counter() - start:.0f} s. Ratios are geometric means over the seeds (least to largest in "
        "brackets); below 1 the suggestion is better."
    )
    Path(__file__).parent.joinpath("results", "suggest.md").write_text(f"# A suggested network\n\n{about}\n\n{text}\n")


if __name__ == "__main__":
    main()
