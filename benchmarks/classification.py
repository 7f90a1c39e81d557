"""Does `ESNClassifier()` hold on labelled sequences, with nothing set? Beside MiniRocket, 1-NN time warping and a ridge.

    python benchmarks/classification.py            needs `make out/sequence_sets.npz`; resumes from --folder
    python benchmarks/classification.py --quick    made sequences only, seconds

Twelve sets that come inside packages, with the packages' own split into training and test (digits: the first 1,000 train). The
defaults were set on `SET`, and on made sequences of many classes with few examples each. `JUDGED` was named before its first
run, with inputs that were only standardised: that run was far behind MiniRocket, since ACSF1 and PLAID have a few huge values.
Normal scores (`ranks`) were added for that, and judged on all sets: no set here is untouched.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import common
import numpy as np
import numpy.typing as npt
import sequence_sets
from sklearn.linear_model import RidgeClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import echoscale as es

Array = npt.NDArray[Any]

SET = ("ArrowHead", "BasicMotions", "ItalyPowerDemand", "OSULeaf", "PickupGestureWiimoteZ", sequence_sets.DIGITS)
JUDGED = ("ACSF1", "Covid3Month_disc", "GunPoint", "JapaneseVowels", "PLAID", "UnitTest")
MADE = "sines and triangles"
SEEDS = 5
SECONDS = 60.0
OURS, AUTO, STATISTICS = "ESNClassifier()", "es.auto", "ridge on statistics"
RIVALS = ("MiniRocket", "1-NN DTW")


class MadeSequences:
    """Noisy sines and triangles of unequal length."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.labels, self.truth = np.arange(20) % 2, np.arange(40) % 2
        self.train, self.test = ([self._one(kind, rng) for kind in each] for each in (self.labels, self.truth))

    def _one(self, kind: np.integer[Any], rng: np.random.Generator) -> Array:
        wave = np.sin(0.3 * np.arange(rng.integers(40, 60)) + rng.uniform(0, 6))
        shape = np.arcsin(wave) * 2 / np.pi if kind else wave
        return np.asarray((shape + 0.1 * rng.normal(size=len(wave)))[:, None])


def classifier(data: Any, seed: int, seconds: float) -> Array:
    """Probabilities of the test sequences."""
    return np.asarray(es.ESNClassifier(random_state=seed).fit(data.train, data.labels).predict_proba(data.test))


def auto(data: Any, seed: int, seconds: float) -> Array:
    model: Any = es.auto(data.train, data.labels, seconds=seconds, seed=seed, labels=True).model
    return np.asarray(model.predict_proba(data.test))


def statistics(data: Any, seed: int, seconds: float) -> Array:
    """Mean, spread, extremes, first and last value of inputs and changes; ridge by leaving one out. (No probabilities.)"""

    def rows(part: list[Array]) -> Array:
        both = [np.hstack([each, np.diff(each, axis=0, prepend=each[:1])]) for each in part]
        return np.array([np.concatenate([x.mean(0), x.std(0), x.min(0), x.max(0), x[0], x[-1]]) for x in both])

    model = make_pipeline(StandardScaler(), RidgeClassifierCV(np.logspace(-4, 4, 17)))
    guess = model.fit(rows(data.train), data.labels).predict(rows(data.test))
    return np.asarray(np.eye(int(data.labels.max()) + 1)[guess])


METHODS: dict[str, Callable[[Any, int, float], Array]] = {OURS: classifier, AUTO: auto, STATISTICS: statistics}


def calibration_error(p: Array, labels: Array, bins: int = 10) -> float:
    """Expected calibration error: sum over bins of (rows in it) / R |share of right labels - mean largest probability|.

    p (R, O) are probabilities, labels (R,) whole numbers from 0 to O - 1; bins of the largest probability have equal widths.
    """
    sure, hit = p.max(axis=1), p.argmax(axis=1) == labels
    place = np.minimum((sure * bins).astype(np.int64), bins - 1)
    apart = np.bincount(place, hit - sure, minlength=bins)
    return float(np.abs(apart).sum() / len(p))


def contest(name: str, method: str, seed: int, seconds: float) -> dict[str, Array]:
    """One method on one set, with one seed."""
    data = MadeSequences() if name == MADE else sequence_sets.sets()[name]
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        p = METHODS[method](data, seed, seconds)
    accuracy = float((p.argmax(axis=1) == data.truth).mean())
    found = {"accuracy": accuracy, "ece": calibration_error(p, data.truth), "seconds": time.perf_counter() - began}
    return {
        **{key: np.array([value]) for key, value in found.items()},
        "sure": p.max(axis=1),
        "right": (p.argmax(axis=1) == data.truth).astype(float),
    }


def extend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--folder", type=Path, default=common.HERE.parent / "out" / "classification", help="resumes from it")
    parser.add_argument("--processes", type=int, default=0, help="jobs at a time, each on one core (0: one after another)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="no job begins later than that")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--methods", nargs="*", default=list(METHODS))


def measure(options: argparse.Namespace) -> common.Raw:
    quick = options.quick
    groups = {"set": [MADE], "judged": []} if quick else {"set": list(SET), "judged": list(JUDGED)}
    seeds, seconds = (1, 2.0) if quick else (options.seeds, SECONDS)
    methods = [each for each in METHODS if each in options.methods]
    jobs = {
        f"{name}|{method}|{seed}": {"name": name, "method": method, "seed": seed, "seconds": seconds}
        for method in methods
        for names in groups.values()
        for name in names
        for seed in range(1 if method == STATISTICS else seeds)
    }
    found = common.resumed(contest, jobs, None if quick else options.folder, options.processes, options.minutes)
    others = json.loads(sequence_sets.RIVALS.read_text()) if not quick else {}
    results = {key: {name: float(each[name][0]) for name in ("accuracy", "ece", "seconds")} for key, each in found.items()}
    pooled = {}
    for method in methods:
        mine = [each for key, each in found.items() if key.split("|")[1] == method]
        if mine and method != STATISTICS:
            sure, right = (np.concatenate([each[name] for each in mine]) for name in ("sure", "right"))
            apart = np.bincount(np.minimum((10 * sure).astype(int), 9), right - sure, minlength=10)
            pooled[method] = float(np.abs(apart).sum() / len(sure))
    return {
        "groups": groups,
        "methods": methods,
        "seconds": seconds,
        "results": results,
        "rivals": others,
        "pooled_ece": pooled,
        "complete": len(found) == len(jobs) and set(methods) == set(METHODS),
    }


def accuracies(raw: common.Raw, name: str, method: str) -> list[float]:
    """Of all seeds."""
    if method in RIVALS:
        return list(raw["rivals"].get(name, {}).get(method, []))
    return [each["accuracy"] for key, each in raw["results"].items() if key.startswith(f"{name}|{method}|")]


def table(raw: common.Raw) -> str:
    methods = [*raw["methods"], *(RIVALS if raw["rivals"] else ())]
    lines = ["# Labelled sequences: the share of right labels on test data", ""]
    body = []
    names = [name for group in raw["groups"].values() for name in group]
    for name in names:
        cells = [accuracies(raw, name, method) for method in methods]
        body.append([name, *(f"{np.mean(each):.3f}" if each else "-" for each in cells)])
    for title, group in (("mean, sets that set defaults", "set"), ("mean, the other sets", "judged"), ("mean of all", None)):
        chosen = names if group is None else raw["groups"][group]
        if not chosen:
            continue
        means = [[float(np.mean(accuracies(raw, name, method) or [np.nan])) for name in chosen] for method in methods]
        body.append([f"**{title}**", *(f"**{np.mean(each):.3f}**" if np.isfinite(each).all() else "-" for each in means)])
    lines += common.rows(["set", *methods], body)
    counts = {method: max(len(accuracies(raw, name, method)) for name in names) for method in methods}
    drawn = ", ".join(f"{count} of {method}" for method, count in counts.items() if count > 1 or method == AUTO)
    lines += ["", f"Means over seeds: {drawn or 1}. {AUTO} has {raw['seconds']:g} seconds for every set."]
    for method, error in raw["pooled_ece"].items():
        each = [result["ece"] for key, result in raw["results"].items() if key.split("|")[1] == method]
        spent = [result["seconds"] for key, result in raw["results"].items() if key.split("|")[1] == method]
        lines += [
            f"Expected calibration error of {method}, ten bins: {error:.3f} over all test sequences together, "
            f"{np.mean(each):.3f} as a mean of sets (small test sets have a large one by chance). Seconds for fit and test, "
            f"mean: {np.mean(spent):.1f}."
        ]
    if raw["rivals"]:
        lines += ["MiniRocket sees shorter sequences padded with zeros; dynamic time warping has a window of 0.1."]
    return "\n".join([*lines, "", common.origin(raw), ""])


def main(arguments: list[str] | None = None) -> common.Raw:
    return common.main("classification", __doc__, measure, table, arguments=arguments, extend=extend)


if __name__ == "__main__":
    main()
