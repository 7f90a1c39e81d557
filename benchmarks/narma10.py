"""NARMA10: single, unconnected and connected networks of 100 neurons, many seeds, judged on unseen data.

Every network is run once over one series; training, validation and test errors follow from the statistics of its three
segments. The penalty is chosen per network on the validation segment, the leak rates of the single and the unconnected network
by their mean validation error over the seeds; the errors shown are those of the test segment, which chose nothing. Variants:

    lag 1   predict y_n from the state that has seen s_n        lag 0   from the state before it (the paper's letter)
    ridge >= 1e-5   (where the paper's result appears)          ridge free   down to 1e-12

Run: python benchmarks/narma10.py [--seeds 20] [--grid 10]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import track

import echoscale as es
from echoscale.hyper import Hyper
from echoscale.readouts.ridge import mean_squared_errors, ridge_path
from echoscale.readouts.statistics import Statistics, split_statistics
from echoscale.series import as_series, as_targets

Floats = npt.NDArray[np.float64]

WASHOUT, TRAIN, VALIDATION, TEST = 200, 5000, 1500, 2500
PENALTIES = 10.0 ** np.arange(-12, 1.01, 0.5)
FLOORS = {"ridge >= 1e-5": 1e-5, "ridge free": 0.0}
LAGS = ("lag 1", "lag 0")


class Candidate(NamedTuple):
    """A structure and the grid of hyper-parameters that it may choose from; `leaks` labels the grid points."""

    name: str
    network: es.Network
    hyper: dict[str, Any]
    leaks: list[str]


def candidates(steps: int) -> list[Candidate]:
    """The single network may choose leak and radius, the unconnected one both leaks; the connected one is fixed at (1, 0.2)."""
    axis = np.linspace(1 / steps, 1, steps)
    leak, radius = (each.ravel() for each in np.meshgrid(axis, [0.95, 1.0], indexing="ij"))
    first, second = (each.ravel() for each in np.meshgrid(axis, axis, indexing="ij"))
    shared: dict[str, Any] = {"spectral_radius": 0.95, "input_scaling": 0.2}
    return [
        Candidate(
            "single, best",
            es.single(100, **shared),
            {"leak_rate": [leak], "spectral_radius": [radius]},
            [f"leak {a:g}, radius {r:g}" for a, r in zip(leak, radius, strict=True)],
        ),
        Candidate(
            "unconnected, best",
            es.parallel([50, 50], **shared),
            {"leak_rate": [first, second]},
            [f"leaks ({a:g}, {b:g})" for a, b in zip(first, second, strict=True)],
        ),
        Candidate(
            "connected (1, 0.2)",
            es.hierarchical([50, 50], coupling=1.0, **shared),
            {"leak_rate": [np.array([1.0]), np.array([0.2])]},
            ["leaks (1, 0.2)"],
        ),
        Candidate(
            "connected, best",
            es.hierarchical([50, 50], coupling=1.0, **shared),
            {"leak_rate": [first, second]},
            [f"leaks ({a:g}, {b:g})" for a, b in zip(first, second, strict=True)],
        ),
    ]


def errors(candidate: Candidate, seed: int) -> tuple[Floats, Floats]:
    """NRMSE on validation and test, (variants of the penalty, lags, grid points)."""
    length = TRAIN + VALIDATION + TEST
    u, y = es.tasks.narma(length + 1, order=10, seed=seed)
    # One run serves both lags: the state of row n has seen s_n; it predicts y_n (lag 1), and y_{n+1} without s_{n+1} (lag 0).
    series = as_series(u[:-1])
    targets = as_targets(np.concatenate([y[:-1], y[1:]], axis=1), series)
    esn = candidate.network.build(1, seed=seed)
    hyper: Hyper = esn.hyper.replace(**candidate.hyper)
    edges = [np.array([WASHOUT, TRAIN, TRAIN + VALIDATION, length])]
    (train, validation, test), _ = split_statistics(esn, series, targets, edges, hyper=hyper)
    path = ridge_path(train, PENALTIES)
    on_validation, on_test = (_normalised(path, part) for part in (validation, test))
    picked = []
    for floor in FLOORS.values():
        allowed = np.where((floor * 0.99 <= PENALTIES)[:, None, None], on_validation, np.inf)
        best = np.argmin(allowed, axis=0)[None]
        picked.append([np.take_along_axis(part, best, axis=0)[0].T for part in (on_validation, on_test)])
    validated, tested = zip(*picked, strict=True)
    return np.array(validated), np.array(tested)


def _normalised(readout: es.Readout, statistics: Statistics) -> Floats:
    """NRMSE per penalty, grid point and lag."""
    outputs = statistics.mean.shape[-1] - statistics.features
    variance = np.einsum("...oo->...o", statistics.scatter[..., -outputs:, -outputs:]) / statistics.count[..., None]
    return np.sqrt(mean_squared_errors(readout, statistics) / variance)


def table(seeds: int, steps: int, console: Console) -> str:
    """All variants as a Markdown table."""
    entrants = candidates(steps)
    results = {}
    for candidate in entrants:
        runs = [errors(candidate, seed) for seed in track(range(seeds), candidate.name, console=console)]
        results[candidate.name] = tuple(np.stack(part) for part in zip(*runs, strict=True))
    lines = [
        "| variant | network | chosen on validation | test NRMSE | connected (1, 0.2) against it | seeds won |",
        "|---|---|---|---|---|---|",
    ]
    for f, floor in enumerate(FLOORS):
        for k, lag in enumerate(LAGS):
            connected = results["connected (1, 0.2)"][1][:, f, k, 0]
            for candidate in entrants:
                validated, tested = results[candidate.name]
                point = int(validated[:, f, k].mean(axis=0).argmin())
                test = tested[:, f, k, point]
                mean, spread = test.mean(), test.std(ddof=1) / np.sqrt(seeds)
                gain, won = f"{100 * (connected.mean() / mean - 1):+.1f} %", f"{(connected < test).sum()} of {seeds}"
                if candidate.network == entrants[2].network and candidate.leaks[point] == entrants[2].leaks[0]:
                    gain = won = "the same"
                cells = [f"{lag}, {floor}", candidate.name, candidate.leaks[point], f"{mean:.3f} ± {spread:.3f}", gain, won]
                lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table and write it to benchmarks/results/narma10.md."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--grid", type=int, default=10, help="values of each leak rate")
    options = parser.parse_args()
    console = Console(stderr=True)
    start = time.perf_counter()
    rows = table(options.seeds, options.grid, console)
    text = (
        f"# NARMA10, {options.seeds} seeds\n\n"
        f"`python benchmarks/narma10.py --seeds {options.seeds} --grid {options.grid}`, echoscale {es.__version__}, float32 "
        f"states, {time.perf_counter() - start:.0f} s. N = 100, spectral radius 0.95 (single: 0.95 or 1), input scaling 0.2, "
        f"coupling 1, washout {WASHOUT}, {TRAIN} training, {VALIDATION} validation and {TEST} test steps; seed s draws weights "
        f"and series; ± is the standard error. Penalties 10^-12 to 10 in half decades.\n\n{rows}\n"
    )
    print(text)
    target = Path(__file__).parent / "results" / "narma10.md"
    target.parent.mkdir(exist_ok=True)
    target.write_text(text)


if __name__ == "__main__":
    main()
