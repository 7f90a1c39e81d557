"""The committed results that pages quote: data of the figures at paper scale, and raw data of the benchmarks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks" / "results"


@cache
def figure(number: int) -> xarray.Dataset:
    """The data of a figure at paper scale."""
    with xarray.open_dataset(ROOT / "docs" / "figures" / f"fig{number}-paper.nc", engine="scipy") as opened:
        return opened.load()


@cache
def benchmark(name: str) -> Any:
    """The raw data of a benchmark; None where it has not been run."""
    file = BENCHMARKS / f"{name}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None


class Spread(NamedTuple):
    """Mean and standard error of the mean; `3` or `4` as a format gives the digits: f"{spread:3}" is 0.295 ± 0.005."""

    mean: float
    error: float

    def __format__(self, digits: str) -> str:
        return f"{self.mean:.{digits or 3}f} ± {self.error:.{digits or 3}f}"


def spread(values: object) -> Spread:
    """Over seeds."""
    each = np.asarray(values, np.float64)
    return Spread(float(each.mean()), float(each.std(ddof=1) / each.size**0.5))


def signed(value: float, digits: int = 1) -> str:
    """With a true minus."""
    return f"{value:+.{digits}f}".replace("-", "−")


def row(cells: Sequence[object]) -> str:
    """A line of a table in Markdown."""
    return f"| {' | '.join(str(each) for each in cells)} |".replace("|  ", "| ")


def table(header: Sequence[object], rows: Sequence[Sequence[object]], numbers: bool = False) -> str:
    """A table in Markdown; `numbers`: all columns but the first stand to the right."""
    rule = ["---", *["---:" if numbers else "---"] * (len(header) - 1)]
    return "\n".join([row(header), f"|{'|'.join(rule)}|", *(row(each) for each in rows)])


# Fig. 3 -------------------------------------------------------------------------------------------------------------------


def narma_tests(variant: str, task: str, kind: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Test errors of all seeds at the best leak rates, of "single" networks too."""
    data = figure(3).sel(variant=variant)
    if kind == "single":
        data = data.sel(task=task)
        found = data["single_test"].sel(rho=data["single_best_rho"], alpha=data["single_best_alpha"], method="nearest")
    else:
        data = data.sel(surface=f"{task}, {kind}")
        found = data["test"].sel(alpha1=data["best_alpha1"], alpha2=data["best_alpha2"], method="nearest")
    return found.values.astype(np.float64)


def narma_gain(variant: str, task: str, rival: str) -> tuple[float, int, int]:
    """Of the strongly coupled hierarchy against a rival: change of the mean error in per cent, seeds it wins, seeds."""
    ours, theirs = narma_tests(variant, task, "strong"), narma_tests(variant, task, rival)
    return float(100 * (ours.mean() / theirs.mean() - 1)), int((ours < theirs).sum()), len(ours)


# Benchmarks ---------------------------------------------------------------------------------------------------------------


class Search(NamedTuple):
    """One way to set hyper-parameters, one seed: errors along the way, and what it chose at last.

    test, own_test  of the choice with a ridge readout, of an online readout itself; at increasing numbers of steps
    results         everything that the benchmark kept; `chosen` are the hyper-parameters
    """

    seed: int
    test: list[float]
    own_test: list[float]
    results: dict[str, Any]


# Forgetting and rate of recursive least squares were chosen on this seed, by its test error too: not counted.
CHOOSING_SEED = 0


def searches(task: str, names: str, method: str) -> list[Search]:
    """All seeds of a method ("tune", "tpe", ...) that learned `names` ("leaks", "all")."""
    found = []
    for job in benchmark("tuning")["jobs"].values():
        fair = method != "online-rls" or job["seed"] != CHOOSING_SEED
        if fair and (job["task"], job["names"], job["method"]) == (task, names, method):
            results = job["results"]
            found.append(Search(job["seed"], results["curve_test"], results.get("curve_own_test", []), results))
    return sorted(found, key=lambda each: each.seed)


def tuning(task: str, names: str, method: str, own: bool = False) -> dict[int, float]:
    """Test error by seed of what a method chose; `own`: of an online readout as it stands."""
    return {each.seed: (each.own_test if own else each.test)[-1] for each in searches(task, names, method)}


def better(task: str, names: str, rival: str) -> tuple[int, int]:
    """In how many seeds `tune` has a lower test error than a rival, and how many seeds there are."""
    ours, theirs = tuning(task, names, "tune"), tuning(task, names, rival)
    both = sorted(set(ours) & set(theirs))
    return sum(ours[seed] < theirs[seed] for seed in both), len(both)


def telegraph(noise: float, candidates: Sequence[str], readout: str, part: str = "joint") -> list[tuple[float, float]]:
    """(accuracy, ceiling) of every seed; of several candidates that with the least validation cross-entropy."""
    found = []
    for seed in (1, 2, 3):
        jobs = [benchmark("telegraph")["jobs"][f"{noise:g}; {seed}; {name}"] for name in candidates]
        if len(jobs) > 1:
            jobs.sort(key=lambda job: float(np.mean(job[f"validation; {readout}; entropy"])))
        ours, best = (float(np.mean(jobs[0][f"test; {name}; {part}"])) for name in (readout, "ceiling"))
        found.append((ours, best))
    return found


def telegraph_ratio(noise: float, candidates: Sequence[str], readout: str) -> list[float]:
    """Joint accuracy over that of the best possible observer, in per cent, by seed."""
    return [100 * ours / best for ours, best in telegraph(noise, candidates, readout)]


def psmnist(name: str, snapshots: int, part: str = "test") -> list[float]:
    """Accuracies of the three draws, such as of "linear; one ring, input scaling .3"."""
    jobs = benchmark("psmnist_accuracy")["jobs"]
    return [float(jobs[f"{name}; seed {seed}"][f"{snapshots}; {part}"][0]) for seed in (1, 2, 3)]


def problem_error(name: str, horizon: int, method: str) -> float:
    """Of a problem of `real_data.py`: the median over seeds."""
    start = f"{name}|{horizon}|{method}|"
    return float(np.median([each["error"] for key, each in benchmark("real_data")["results"].items() if key.startswith(start)]))
