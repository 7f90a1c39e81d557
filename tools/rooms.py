"""The rooms of the library, from the bottom up, and the rooms that each of them imports. Tests and pages read this list."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "echoscale"

# A room may import the rooms above it in this list, never those below it.
ROOMS = {
    "_internal": "helpers that every room shares: argument checks, progress, tables, files, all-or-nothing calls",
    "network": "the description: reservoirs, couplings, topologies, leak-rate distributions, diagram",
    "data": "the user's data: series, scaling, metrics, losses, frames with dates, CSV, Parquet and NPZ files",
    "engine": "how a network runs: weights, hyper-parameters, the step, scan, lanes, devices, traces, `ESN`",
    "readouts": "how states are read out: statistics, splits, penalties, ridge, RLS, softmax, pooling, features",
    "timescales": "the timescales of a network, and those that a problem needs: theory, spectra, memory, `suggest`",
    "measures": "the abilities of a network: capacities, ranks, Lyapunov exponents, consistency",
    "tasks": "benchmark problems: NARMA, telegraph and its Bayes filter, MNIST, Lorenz and others",
    "learning": "how hyper-parameters are learned: tuning through ridge regression, online learning with exact traces",
    "estimators": "scikit-learn estimators: regressor, classifier, features, NVAR, closed loop",
    "forecasting": "from data to a model: `auto` and `Forecaster`",
    "sweeps": "grids of experiments: axes, protocol, scores, jobs that resume, executors",
    "storage": "save, load, and export to C and ONNX",
    "app": "programs: command line, live page, report pages",
}
# Conveniences that reach up from inside a function: a description builds and explains its network, a network its timescales
# and measures, a result of tuning makes the estimator that uses it.
LIFTS = {
    ("network", "engine"),
    ("network", "timescales"),
    ("engine", "timescales"),
    ("engine", "measures"),
    ("learning", "estimators"),
}


def room_of(module: str) -> str:
    """The room of a module such as "engine.scan"."""
    return module.split(".")[0]


def module_of(path: Path) -> str:
    """The dotted name of a file below the package: "engine.scan"."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


FILES = [path for path in sorted(PACKAGE.rglob("*.py")) if path.parent != PACKAGE]
MODULES = {module_of(path) for path in FILES}


def imported_rooms(path: Path) -> set[str]:
    """The rooms that a file imports, inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "echoscale":
            base = node.module.removeprefix("echoscale").removeprefix(".")
            found |= {room_of(base or alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {
                room_of(alias.name.removeprefix("echoscale.")) for alias in node.names if alias.name.startswith("echoscale.")
            }
    return found & set(ROOMS)
