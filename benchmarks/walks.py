"""How far does a call walk through the code? Calls, distinct functions, files, and switches from file to file.

    python benchmarks/walks.py            about a minute
    python benchmarks/walks.py --quick    one walk, seconds

A call is counted when it enters a function of echoscale, a switch when that function is in another file than the one entered
before it in the same thread. Generators and comprehensions belong to the function that holds them. Every walk is taken on
small data after one that warmed up (imports, compilation), on one processor, so that threads do not shuffle the counts.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import common
import numpy as np
from typer.testing import CliRunner

import echoscale as es
from echoscale.app.cli import app

PACKAGE = str(Path(es.__file__).parent) + os.sep
UNITS, STEPS, WASHOUT, LANES, ROUNDS = 20, 400, 50, 4, 2

Counts = dict[str, int]
KINDS = ("calls", "functions", "files", "switches")
# The same counts before the library was divided into rooms; the network of `OnlineLearner.fit` was built in the walk.
BEFORE_COMMIT = "42c89cf"
BEFORE = {
    "ESNRegressor.fit": (310, 161, 33, 149),
    "ESNRegressor.predict": (103, 72, 16, 49),
    "OnlineLearner.fit": (276, 120, 27, 161),
    "features.compute": (96, 65, 14, 47),
    "sweep, 4 lanes": (949, 203, 39, 243),
    "tune, 2 rounds": (3114, 269, 41, 1419),
    "auto, 1 round": (10006, 367, 53, 4262),
    "Forecaster.fit": (26378, 254, 52, 9427),
    "Forecaster.predict": (2626, 34, 13, 915),
    "echoscale fit": (240755, 397, 78, 86905),
}


def walk(run: Callable[[], object]) -> Counts:
    """What `run` calls inside the package."""
    run()
    entered: dict[int, list[tuple[str, str]]] = {}

    def note(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        held = code.co_name.startswith("<") and code.co_name != "<lambda>"
        if event == "call" and code.co_filename.startswith(PACKAGE) and not held:
            entered.setdefault(threading.get_ident(), []).append((code.co_filename, code.co_qualname))

    before = sys.getprofile()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
    calls = [call for path in entered.values() for call in path]
    switches = sum(one[0] != other[0] for path in entered.values() for one, other in pairwise(path))
    return dict(zip(KINDS, (len(calls), len(set(calls)), len({file for file, _ in calls}), switches), strict=True))


def walks() -> dict[str, Callable[[], object]]:
    """The walks that are taken, by name."""
    u, y = es.tasks.narma(length=STEPS, seed=0)
    network = es.hierarchical([UNITS, UNITS], leak_rate=[0.9, 0.3])
    esn = network.build(1, seed=0)
    batch = np.random.default_rng(0).random((8, 24, 1))
    cut = es.sweeps.Protocol(washout=WASHOUT, train=200, validation=60, test=60, scale=None)
    columns = es.readouts.Columns(0)
    model = es.ESNRegressor(network=network, columns=columns, washout=WASHOUT, scale=None, ridge=1e-5, random_state=0)
    fitted = es.Forecaster(6).fit(y[:, 0])
    return {
        "ESNRegressor.fit": lambda: model.fit(u, y),
        "ESNRegressor.predict": lambda: model.predict(u),
        "OnlineLearner.fit": lambda: es.OnlineLearner(network, washout=WASHOUT).fit(u, y),
        "features.compute": lambda: es.readouts.features.compute(esn, batch, 4),
        "sweep, 4 lanes": lambda: es.sweep(network, "narma", {"leak_rate": np.linspace(0.2, 0.8, LANES)}, protocol=cut),
        "tune, 2 rounds": lambda: es.tune(network, u, y, starts=2, rounds=ROUNDS, washout=WASHOUT),
        "auto, 1 round": lambda: es.auto(u, y, rounds=1),
        "Forecaster.fit": lambda: es.Forecaster(6).fit(y[:, 0]),
        "Forecaster.predict": lambda: fitted.predict(6),
        "echoscale fit": lambda: fit_by_command(y),
    }


def fit_by_command(y: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> None:
    """`echoscale fit` of a CSV file, in this process."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "series.csv"
        np.savetxt(file, y, header="y", comments="")
        words = ["fit", str(file), "--target", "y", "--horizon", "6", "--seconds", "60", "--quiet", "--out", folder]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output


@contextmanager
def one_processor() -> Iterator[None]:
    """This thread, and those that it starts meanwhile, stay on one processor, where the system can do that."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def measure(options: argparse.Namespace) -> common.Raw:
    with one_processor():
        found = {name: walk(run) for name, run in walks().items() if not options.quick or name == "ESNRegressor.fit"}
    return {"before_commit": BEFORE_COMMIT, "before": {name: BEFORE[name] for name in found}, "walks": found}


def table(raw: common.Raw) -> str:
    """Before → now."""
    body = [
        (name, *(f"{old:,} → {counts[kind]:,}" for kind, old in zip(KINDS, raw["before"][name], strict=True)))
        for name, counts in raw["walks"].items()
    ]
    lines = [
        "# Walks through the code",
        "",
        common.origin(raw),
        "",
        f"What one call on small data enters inside the package, once all is warm: at commit {raw['before_commit']} → now. A "
        "switch is a call into another file than the one entered before it in the same thread.",
        "",
        *common.rows(("", *KINDS), body),
        "",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> common.Raw:
    return common.main("walks", __doc__, measure, table, arguments=arguments, libraries=("scikit-learn",))


if __name__ == "__main__":
    main()
