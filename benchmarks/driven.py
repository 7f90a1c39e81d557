"""Inputs to an output over time: `es.auto` beside what people use, on measured and made systems that chose nothing.

    python benchmarks/driven.py            needs lightgbm, reservoirpy and `make out/more_series.npz`; resumes from --folder
    python benchmarks/driven.py --quick    one made system, seconds

Methods get inputs and outputs of a first part, and the inputs of the rest. The error is the root mean squared error on the rest
over its standard deviation. `es.auto` has 30 seconds, and so have the rivals that search (LightGBM, reservoirpy with random
search, a GRU): of processor time, on one core. The others take what they need. Made systems are drawn again for every seed.
Measured ones are not, and methods without chance run once there. With `--methods es.auto --keep`, the other methods keep the
results of the last run.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import common
import numpy as np
import numpy.typing as npt
from driven_problems import MADE, REAL
from driven_rivals import BY_CHANCE, NEEDS, RIVALS
from threadpoolctl import threadpool_limits

import echoscale as es

Floats = npt.NDArray[np.float64]

SEEDS, SECONDS = 3, 30.0
AUTO = importlib.import_module("echoscale.forecasting.auto")  # the name of the function hides the module
OURS, NETWORK, TUNED = "es.auto", "ESNRegressor()", "es.tune of suggest"


def continued(model: Any, v: Floats) -> Floats:
    """Predictions that carry on from the end of the training data."""
    return np.asarray(model.predict(v, state=model.state_))


def auto(u: Floats, y: Floats, v: Floats, seed: int, seconds: float) -> Floats:
    # Its budget is wall time; on a machine with other programs that would be less than the rivals have.
    with mock.patch.object(AUTO, "Budget", partial(AUTO.Budget, wall=time.process_time)):
        return continued(es.auto(u, y, seconds=seconds, seed=seed).model, v)


def regressor(u: Floats, y: Floats, v: Floats, seed: int, seconds: float) -> Floats:
    return continued(es.ESNRegressor(random_state=seed).fit(u, y), v)


def tuned(u: Floats, y: Floats, v: Floats, seed: int, seconds: float) -> Floats:
    few: dict[str, Any] = {} if seconds >= SECONDS else {"starts": 1, "rounds": 2}  # a look alone
    found = es.tune(es.timescales.suggest(u, y, seed=seed).network, u, y, seed=seed, **few)
    return continued(found.estimator().fit(u, y), v)


METHODS: dict[str, Callable[[Floats, Floats, Floats, int, float], Floats]] = {
    OURS: auto,
    NETWORK: regressor,
    TUNED: tuned,
    **RIVALS,
}
CHANCE = (OURS, NETWORK, TUNED, *BY_CHANCE)


def contest(name: str, method: str, seed: int, seconds: float) -> dict[str, Floats]:
    """One method on one problem: its error, and the seconds of the processor and of the clock."""
    common.pin_to_one_core()
    u, y, first = (MADE | REAL)[name](seed)
    began, used = time.perf_counter(), time.process_time()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        found = METHODS[method](u[:first], y[:first], u[first:], seed, seconds)
    error = math.sqrt(float(np.mean((np.ravel(found) - y[first:, 0]) ** 2))) / float(y[first:].std())
    each = {"error": error, "processor": time.process_time() - used, "seconds": time.perf_counter() - began}
    return {label: np.array([value]) for label, value in each.items()}


# ---------------------------------------------------------------------------------------------------------------- running


def extend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--folder", type=Path, default=common.HERE.parent / "out" / "driven", help="resumes from it")
    parser.add_argument("--processes", type=int, default=0, help="jobs at a time, each on one core (0: one after another)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="no job begins later than that")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--rival-seeds", type=int, default=SEEDS, help="of rivals that depend on chance or on made systems")
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--keep", action="store_true", help="take the other methods from the last results")


def measure(options: argparse.Namespace) -> common.Raw:
    groups: dict[str, Sequence[str]] = {"measured": tuple(REAL), "made": tuple(MADE)}
    seeds, seconds = options.seeds, SECONDS
    if options.quick:
        groups, seeds, seconds = {"made": ("backlash",)}, 1, 0.5
    absent = [each for each in options.methods if each in NEEDS and importlib.util.find_spec(NEEDS[each]) is None]
    methods = [each for each in options.methods if each not in absent]
    jobs = {}
    for seed in range(seeds):  # the first seed of all first, so that an interrupted run is a smaller one
        for method in methods:
            for group, names in groups.items():
                if (seed and group == "measured" and method not in CHANCE) or (
                    method in RIVALS and seed >= options.rival_seeds
                ):
                    continue
                for name in names:
                    jobs[f"{name}|{method}|{seed}"] = {"name": name, "method": method, "seed": seed, "seconds": seconds}
    found = common.resumed(contest, jobs, None if options.quick else options.folder, options.processes, options.minutes)
    results = {key: {name: value[0] for name, value in each.items()} for key, each in found.items()}
    if options.keep:
        last = json.loads((common.RESULTS / "driven.json").read_text(encoding="utf-8"))["results"]
        results = {key: each for key, each in last.items() if key.split("|")[1] not in methods} | results
    return {
        "problems": {group: list(names) for group, names in groups.items()},
        "seeds": seeds,
        "rival_seeds": min(seeds, options.rival_seeds),
        "seconds": seconds,
        "absent": absent,
        "results": results,
        "complete": len(found) == len(jobs) and {key.split("|")[1] for key in results} == set(METHODS),
    }


# ----------------------------------------------------------------------------------------------------------------- report


def values_of(raw: common.Raw, name: str, method: str, what: str) -> list[float]:
    """By seed; a method without chance has the same value for every seed of measured data."""
    found = [raw["results"].get(f"{name}|{method}|{seed}", {}).get(what) for seed in range(raw["seeds"])]
    if found[0] is not None and method not in CHANCE and name in raw["problems"].get("measured", []):
        found = found[:1] * len(found)
    return [each for each in found if each is not None]


def log_ratios(raw: common.Raw, names: Sequence[str], rivals: Sequence[str]) -> list[float]:
    """Mean logarithm of the error of `es.auto` over the smallest of some rivals, for every problem."""
    logs = []
    for name in names:
        each = [values_of(raw, name, method, "error") for method in (OURS, *rivals)]
        if all(each):
            logs.append(float(np.mean([math.log(ours / min(others)) for ours, *others in zip(*each, strict=False)])))
    return logs


def table(raw: common.Raw) -> str:
    methods = [each for each in METHODS if any(f"|{each}|" in key for key in raw["results"])]
    everything = [name for names in raw["problems"].values() for name in names]
    groups = {**raw["problems"], "all": everything} if len(raw["problems"]) > 1 else raw["problems"]
    lines = ["# Driven problems", "", common.origin(raw), ""]
    if raw["absent"]:
        lines += [f"Not installed and left out: {', '.join(raw['absent'])}.", ""]
    lines += [
        f"Error of `{OURS}` over the error of other methods: geometric mean over problems with a 95 % interval, and median. "
        f"Below 1: `{OURS}` is better. `{OURS}` and rivals that search have {raw['seconds']:g} seconds on one core. Seeds: "
        f"{raw['seeds']}, of rivals {raw['rival_seeds']}; ratios compare the same seeds.",
        "",
    ]
    rivals = {each: [each] for each in methods if each != OURS}
    pairs: list[str] = [each for each in ("ridge on lags", "LightGBM on lags") if each in methods]
    if len(pairs) == 2:
        rivals["the better of ridge on lags and LightGBM"] = pairs
    body = []
    for rival, of in rivals.items():
        cells = [rival]
        for names in groups.values():
            logs = log_ratios(raw, names, of)
            cells += [common.ratio_with_interval(logs), f"{math.exp(np.median(logs)):.3f}"] if logs else ["–", "–"]
        body.append(cells)
    heads = [head for group, names in groups.items() for head in (f"{group} ({len(names)})", "median")]
    lines += [*common.rows(("rival", *heads), body), ""]
    for group, names in raw["problems"].items():
        body = []
        for name in names:
            errors = [values_of(raw, name, method, "error") for method in methods]
            medians = [common.median(each) if each else math.inf for each in errors]
            least = min(medians)
            body.append([name, *("–" if m == math.inf else f"**{m:.3f}**" if m == least else f"{m:.3f}" for m in medians)])
        lines += [f"## Errors, {group}: median of seeds", "", *common.rows(("problem", *methods), body), ""]
    body = []
    for method in methods:
        each = [
            [value for name in everything for value in values_of(raw, name, method, what)] for what in ("processor", "seconds")
        ]
        body.append([method, *(f"{common.median(values):.1f}" for values in each)])
    lines += ["## Seconds, medians", "", *common.rows(("method", "processor", "clock"), body), ""]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> common.Raw:
    return common.main(
        "driven",
        __doc__,
        measure,
        table,
        arguments=arguments,
        libraries=("scikit-learn", "reservoirpy", "lightgbm", "optax"),
        extend=extend,
    )


if __name__ == "__main__":
    main()
