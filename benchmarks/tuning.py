"""Which way to set the hyper-parameters of a network finds the least error on held-out test data?

    python benchmarks/tuning.py --processes 16    everything that is not finished yet
    python benchmarks/tuning.py --minutes 20      begin no job after so long; run it again to go on
    python benchmarks/tuning.py --tasks narma10 --sets all    a part, written to tuning-partial
    python benchmarks/tuning.py --quick           small sizes, seconds

NARMA10 and NARMA5; 200 steps of washout, 5000 of training, 1500 of validation and 2500 of test. The readout is fitted on the
training steps, a search sees the validation steps and nothing else, and the error shown is that of its choice on the test
steps. Random search and Optuna's TPE get all that `es.tune` has: its whole bounds, the best ridge of a path for every point
(which costs no simulation), and as many simulated steps as it took for the same task and seed.

Jobs (task, set, method, seed) are kept in `--folder`, and not done again. Besides table and raw data it draws
docs/figures/tuning.png when all jobs are there. Needs optuna; without it TPE is left out, which the table says.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import common
import tuning_report
from tuning_methods import TASKS, Settings, search

# Constants of the search in `echoscale.learning` were looked at on the first group; the second chose nothing.
SEEN, FRESH = tuple(range(5)), tuple(range(10, 15))
# What is tried on which set, and whether it gets the steps that `tune` took.
METHODS = {
    "all": ("tune", "tune-noise", "tune-single", "random", "tpe", "tpe-noise"),
    "leaks": ("tune", "grid", "online-rls", "online-adam"),
}
AFTER_TUNE = {"random": "tune", "tpe": "tune", "tpe-noise": "tune-noise"}  # and which of them
FULL = Settings()
QUICK = Settings(
    washout=50,
    train=300,
    validation=150,
    test=200,
    units=(10, 10),
    starts=2,
    rounds=2,
    grid=3,
    lanes=8,
    sequences=2,
    checkpoints=(200, 400),
)


def extend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--processes", type=int, default=1, help="jobs at a time, each on one core (default 1)")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS), help="default: all")
    parser.add_argument("--sets", nargs="+", choices=METHODS, default=list(METHODS), help="default: all")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no job after so long")
    parser.add_argument("--folder", type=Path, default=common.HERE.parent / "out" / "tuning", help="resumes from it")


def measure(options: argparse.Namespace) -> common.Raw:
    """First all that waits for nobody, then what is given the steps of `tune`."""
    quick = options.quick
    settings = json.loads(json.dumps(asdict(QUICK if quick else FULL)))
    seeds = (SEEN[0], FRESH[0]) if quick else (*SEEN, *FRESH)
    tasks = options.tasks[:1] if quick else options.tasks
    absent = [] if importlib.util.find_spec("optuna") else ["tpe", "tpe-noise"]
    wanted = {
        f"{task}, {names}, {method}, {seed}": {"task": task, "names": names, "method": method, "seed": seed, "budget": 0}
        for names in options.sets
        for method in METHODS[names]
        for task in tasks
        for seed in seeds
        if method not in absent
    }
    first = {name: {**each, "settings": settings} for name, each in wanted.items() if each["method"] not in AFTER_TUNE}
    second = {name: each for name, each in wanted.items() if each["method"] in AFTER_TUNE}
    folder, processes = (None, 0) if quick else (options.folder, options.processes)
    found = common.resumed(search, first, folder, processes, options.minutes)
    ready: dict[str, dict[str, Any]] = {}
    for name, each in second.items():
        before = found.get(f"{each['task']}, {each['names']}, {AFTER_TUNE[each['method']]}, {each['seed']}")
        if before:
            ready[name] = {**each, "budget": int(before["steps"][0]), "settings": settings}
    found |= common.resumed(search, ready, folder, processes, options.minutes)
    jobs = {name: {**wanted[name], "results": found[name]} for name in wanted if name in found}
    for name, each in ready.items():
        if name in jobs:
            jobs[name]["budget"] = each["budget"]
    return {
        "settings": settings,
        "seen": [seed for seed in SEEN if seed in seeds],
        "fresh": [seed for seed in FRESH if seed in seeds],
        "wanted": len(wanted),
        "complete": len(jobs) == len(wanted) and not absent and len(tasks) * len(options.sets) == len(TASKS) * len(METHODS),
        "absent": absent,
        "jobs": jobs,
    }


def table(raw: common.Raw) -> str:
    """See `tuning_report`."""
    return tuning_report.table(raw)


def main(arguments: Sequence[str] | None = None) -> common.Raw:
    raw = common.main("tuning", __doc__, measure, table, arguments=arguments, libraries=("optuna",), extend=extend)
    if not raw["quick"] and raw["complete"]:
        picture = common.HERE.parent / "docs" / "figures" / "tuning.png"
        tuning_report.figure(raw).savefig(picture, dpi=200)
        common.say(f"written: {picture}")
    return raw


if __name__ == "__main__":
    main()
