"""How far a call walks through the code: calls, distinct functions, files, and switches from file to file.

    python benchmarks/walks.py                     the table of this tree, about a minute
    python benchmarks/walks.py --before OLD.json   beside the counts of another tree
    python benchmarks/walks.py --output NEW.json   keep the counts, with commit and versions

A call is counted when it enters a function of echoscale, a switch when that function is in another file than the one entered
before it in the same thread. Generators and comprehensions belong to the function that holds them. Every walk is taken on
small data after one that warmed up (imports, compilation), on one processor, so that threads do not shuffle the counts.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import threading
from collections.abc import Callable
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import numpy as np

import echoscale as es

PACKAGE = str(Path(es.__file__).parent) + os.sep
UNITS, STEPS, WASHOUT, LANES, ROUNDS = 20, 400, 50, 4, 2

Counts = dict[str, int]


def walk(run: Callable[[], object]) -> Counts:
    """What `run` calls inside the package."""
    run()
    entered: dict[int, list[tuple[str, str]]] = {}

    def note(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        held = code.co_name.startswith("<") and code.co_name != "<lambda>"
        if event == "call" and code.co_filename.startswith(PACKAGE) and not held:
            entered.setdefault(threading.get_ident(), []).append((code.co_filename, code.co_qualname))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    calls = [call for path in entered.values() for call in path]
    switches = sum(one[0] != other[0] for path in entered.values() for one, other in pairwise(path))
    return {
        "calls": len(calls),
        "functions": len(set(calls)),
        "files": len({file for file, _ in calls}),
        "switches": switches,
    }


def walks() -> dict[str, Callable[[], object]]:
    """The walks that are taken, by name."""
    u, y = es.tasks.narma(length=STEPS, seed=0)
    network = es.hierarchical([UNITS, UNITS], leak_rate=[0.9, 0.3])
    esn = network.build(1, seed=0)
    batch = np.random.default_rng(0).random((8, 24, 1))
    cut = es.sweeps.Protocol(washout=WASHOUT, train=200, validation=60, test=60)
    return {
        "ESNRegressor.fit": lambda: es.ESNRegressor(network=network, washout=WASHOUT, random_state=0).fit(u, y),
        "OnlineLearner.fit": lambda: es.OnlineLearner(esn, washout=WASHOUT).fit(u, y),
        "features.compute": lambda: es.features.compute(esn, batch, 4),
        "sweep, 4 lanes": lambda: es.sweep(network, "narma", {"leak_rate": np.linspace(0.2, 0.8, LANES)}, protocol=cut),
        "tune, 2 rounds": lambda: es.tune(network, u, y, starts=2, rounds=ROUNDS, washout=WASHOUT),
    }


def commit() -> str:
    """Of the tree that is measured, with a + where it has changes; empty outside of a repository."""
    here = ["git", "-C", PACKAGE]
    found = subprocess.run([*here, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    changed = subprocess.run([*here, "status", "--porcelain", "-uno"], capture_output=True, text=True).stdout.strip()
    return found + "+" * bool(changed)


def table(now: dict[str, Counts], before: dict[str, Counts] | None) -> str:
    """Markdown; with `before`, every cell holds both."""
    rows = ["| | calls | functions | files | switches |", "|---|---:|---:|---:|---:|"]
    for name, counts in now.items():
        old = (before or {}).get(name, {})
        cells = [f"{old[key]} → {value}" if key in old else str(value) for key, value in counts.items()]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="counts of another tree, made with --output")
    parser.add_argument("--output", type=Path, help="where to keep the counts")
    options = parser.parse_args()
    counts = {name: walk(run) for name, run in walks().items()}
    result = {
        "commit": commit(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("numpy", "jax", "scikit-learn")},
        "walks": counts,
    }
    if options.output:
        options.output.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    before = json.loads(options.before.read_text(encoding="utf-8"))["walks"] if options.before else None
    print(table(counts, before))


if __name__ == "__main__":
    main()
