"""Which kinds of levels win on which task, with as many neurons and as many trials?

    python benchmarks/kinds.py --processes 2    ten minutes; resumes from --folder
    python benchmarks/kinds.py --quick          seconds

Every kind of network has 100 neurons and gets 200 random points, for every seed and task: leak rates log-uniform from 0.002
to 1 (of a spread, its fastest and its slowest), spectral radii, scalings of input and bias, and coupling from where `es.tune`
draws its starts. The ridge is the best of a path at every point. Validation steps choose the point, test steps report it.
Inputs are standardised.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from pathlib import Path

import common
import memory_maps
import numpy as np

import echoscale as es
from echoscale.learning.tuning.space import Space
from echoscale.sweeps import Protocol

SPREAD = es.LogUniform(0.2, 1.0)
# A linear level with a spectral radius above 1 would grow without bound.
STABLE = {"spectral_radius[0]": (0.01, 1.0)}
PLAIN = "two plain levels"


def network(kind: str, units: int) -> es.Network:
    """A network of this kind, with `units` neurons."""
    half = [units // 2, units - units // 2]
    return {
        "one plain level": lambda: es.single(units),
        PLAIN: lambda: es.hierarchical(half),
        "one level, leak rates spread": lambda: es.single(units, leak_rate=SPREAD),
        "two levels, leak rates spread": lambda: es.hierarchical(half, leak_rate=SPREAD),
        "residual shift, then plain": lambda: es.hierarchical(half, residual=["shift", "identity"]),
        "residual orthogonal, then plain": lambda: es.hierarchical(half, residual=["orthogonal", "identity"]),
        "linear, then plain": lambda: es.hierarchical(half, activation=["identity", "tanh"], spectral_radius=[0.9, 0.95]),
    }[kind]()


KINDS = (
    "one plain level",
    PLAIN,
    "one level, leak rates spread",
    "two levels, leak rates spread",
    "residual shift, then plain",
    "residual orthogonal, then plain",
    "linear, then plain",
)


def drawn(space: Space, count: int, rng: np.random.Generator) -> memory_maps.Floats:
    """Random points, (count, P), in logarithms. Leak rates are log-uniform: slow ones are tried as often as fast ones."""
    points = space.draw(count, rng)
    for place, name in enumerate(space.names):
        if name.startswith("leak_rate"):
            ends = rng.uniform(np.log(memory_maps.SLOWEST), 0, (count, 2))
            spread = name.replace("rate", "spread")
            if spread in space.names:
                points[:, place] = ends.max(axis=1)
                points[:, space.names.index(spread)] = np.log(np.ptp(ends, axis=1))
            else:
                points[:, place] = ends[:, 0]
    return points


def tried(kind: str, task: str, seed: int, settings: dict[str, int]) -> common.Arrays:
    """Test error of the point that the validation steps choose."""
    usual = Protocol(settings["washout"], settings["train"], settings["validation"], settings["test"])
    protocol = memory_maps.lengths(task, usual)
    data = memory_maps.TASKS[task](protocol.washout + protocol.train + protocol.validation + protocol.test, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # radii above 1 are to be tried
        esn = network(kind, settings["units"]).build(data[0].shape[1], seed=seed, dtype="float64")
    leaves = ("leak_rate", "leak_spread", "spectral_radius", "input_scaling", "bias_scaling", "coupling")
    names = [name for name in leaves if len(getattr(esn.hyper, name))]
    space = Space.of(names, esn.hyper, STABLE if kind.startswith("linear") else {})
    points = drawn(space, settings["points"], np.random.default_rng([seed, 5]))
    lanes = settings["lanes"]
    found = [
        memory_maps.errors(esn, space.hyper(esn.hyper, points[k : k + lanes]), data, protocol)
        for k in range(0, len(points), lanes)
    ]
    seen, test = (np.concatenate([each[part] for each in found]) for part in ("validation", "test"))
    best = int(np.argmin(np.where(np.isfinite(seen), seen, np.inf)))
    return {"test": test[best : best + 1], "validation": seen[best : best + 1], "chosen": np.exp(points[best])}


def extend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--processes", type=int, default=1, help="jobs at a time, each on one core (default 1)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no job after so long")
    parser.add_argument("--folder", type=Path, default=common.HERE.parent / "out" / "kinds", help="resumes from it")


def measure(options: argparse.Namespace) -> common.Raw:
    """Every kind, task and seed."""
    quick = options.quick
    settings = {"washout": 200, "train": 3000, "validation": 1000, "test": 2000, "units": 100, "points": 200, "lanes": 50}
    if quick:
        settings = {"washout": 50, "train": 200, "validation": 100, "test": 100, "units": 8, "points": 4, "lanes": 4}
    tasks, kinds, seeds = list(memory_maps.TASKS), list(KINDS), list(range(5))
    if quick:
        tasks, kinds, seeds = tasks[:1], [PLAIN, "linear, then plain"], [0]
    jobs = {
        f"{task}|{kind}|{seed}": {"kind": kind, "task": task, "seed": seed, "settings": settings}
        for seed in seeds
        for task in tasks
        for kind in kinds
    }
    folder, processes = (None, 0) if quick else (options.folder, options.processes)
    done = common.resumed(tried, jobs, folder, processes, options.minutes)
    errors: dict[str, dict[str, list[float]]] = {task: {kind: [] for kind in kinds} for task in tasks}
    for name, each in done.items():
        task, kind, _ = name.split("|")
        errors[task][kind].append(float(each["test"][0]))
    return {"settings": settings, "seeds": seeds, "kinds": kinds, "errors": errors, "complete": len(done) == len(jobs)}


def table(raw: common.Raw) -> str:
    """Means over the seeds, the least of each task in bold; then the mean of the logarithms of ratios to two plain levels."""
    kinds, errors, s = raw["kinds"], raw["errors"], raw["settings"]
    body = []
    for task, found in errors.items():
        means = {kind: float(np.mean(found[kind])) for kind in kinds}
        least = min(means, key=means.__getitem__)
        cells = [common.mean_and_error(found[kind], 3) for kind in kinds]
        body.append([task, *(f"**{cell}**" if kind == least else cell for kind, cell in zip(kinds, cells, strict=True))])
    ratios = [
        float(np.exp(np.mean([np.mean(np.log(found[kind])) - np.mean(np.log(found[PLAIN])) for found in errors.values()])))
        for kind in kinds
    ]
    body.append(["geometric mean of the ratio to two plain levels", *(f"{each:.2f}" for each in ratios)])
    return "\n".join(
        [
            "# Kinds of levels on nine tasks",
            "",
            common.origin(raw),
            "",
            f"NRMSE on held-out test data, mean ± standard error over {len(raw['seeds'])} seeds for weights, series and "
            f"trials; {s['units']} neurons and {s['points']} random points for every kind; washout {s['washout']}, training "
            f"{s['train']}, validation {s['validation']}, test {s['test']} steps, ten times as many for the "
            "telegraph; float64. Bold: the least mean.",
            "",
            *common.rows(("task", *kinds), body, left=1),
            "",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> common.Raw:
    return common.main("kinds", __doc__, measure, table, arguments=arguments, extend=extend)


if __name__ == "__main__":
    main()
