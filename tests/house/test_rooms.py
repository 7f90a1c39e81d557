"""The house itself: which room may look into which, and what an import costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "echoscale"

# From the ground up: a room may import those before it, never those after it. docs/architecture.md shows this list.
# The machine (devices, cores, precision) stands apart from its engine, since eigenvalues need it too.
ROOMS = {
    "_checks": "single values, checked",
    "undo": "a call that fails leaves its object as it was",
    "files": "whole files or none, and where caches lie",
    "data_files": "CSV, Parquet and NPZ files as tables with times",
    "engine.machine": "devices, cores, threads, precision, compiler options",
    "progress": "how long work tells how far it is",
    "table": "small tables that print",
    "network": "what the user writes: reservoirs, couplings, topologies, and the diagram",
    "fingerprint": "equal values, equal text: what names a result",
    "hyper": "the hyper-parameters of a network, and which of them are learned",
    "tensors": "arrays out of files, each of the kind, shape and range that it must have",
    "weights": "from a seed to matrices; eigenvalues",
    "series": "data in any form, checked once and brought into one",
    "scaling": "units of the data, units of the network",
    "metrics": "errors",
    "losses": "what outputs mean, and how far they are from targets",
    "engine": "the step, the scan, lanes, and series fed chunk by chunk over the cores",
    "esn": "a built network: run, step, snapshots",
    "gradients": "exact traces forwards, back-propagation as the reference",
    "readouts": "sufficient statistics, ridge and its path, recursive least squares, classes by minibatches",
    "timescales": "closed forms, spectra, the linear regime, what data need, suggestions",
    "measures": "what a network remembers, computes and forgets, for whole grids",
    "tasks": "benchmark series and data sets, and the exact filter of one of them",
    "online": "learners that follow a stream",
    "tuning": "the gradient of the validation error through the ridge solution, and the search that uses it",
    "features": "snapshots of many sequences, in memory, in a file that resumes, or on a device",
    "estimators": "scikit-learn estimators, closed-loop forecasts",
    "automatic": "from data to a fitted model beside the simple methods that it must beat",
    "forecasting": "series into their future: candidates, weights, intervals, backtests",
    "adapters": "the same models behind the interfaces of other libraries",
    "storage": "save and load",
    "exporting": "fitted models as C files and ONNX graphs",
    "experiments": "one experiment: its protocol, its scores, its job, and the ledger that keeps it",
    "sweeps": "grids of experiments",
    "paper": "the figures of the paper, and all of them as the main job",
    "report": "results as a page that opens anywhere",
    "lab": "the live page: sliders, and at once what they do",
    "cli": "the command line",
}
# Conveniences that reach up from inside a function: a description builds and explains its network, a network its timescales
# and measures, a result of tuning makes the estimator that uses it.
LIFTS = {("network", "esn"), ("network", "timescales"), ("esn", "timescales"), ("esn", "measures"), ("tuning", "estimators")}


def room_of(module: str) -> str:
    """The room of a module "engine.machine" or "engine.scan": its own entry, or that of its first part."""
    parts = module.split(".")
    return next(room for k in range(len(parts), 0, -1) if (room := ".".join(parts[:k])) in ROOMS)


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


def imported_rooms(path: Path) -> set[str]:
    """The rooms of all that a file imports, inside functions too; of `from a import b`, b counts where it is a module."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "echoscale":
            base = node.module.removeprefix("echoscale").removeprefix(".")
            for alias in node.names:
                whole = f"{base}.{alias.name}".removeprefix(".")
                found.add(whole if whole in MODULES else base)
        elif isinstance(node, ast.Import):
            found |= {alias.name.removeprefix("echoscale.") for alias in node.names if alias.name.startswith("echoscale.")}
    return {room_of(each) for each in found if each}


FILES = [path for path in PACKAGE.rglob("*.py") if path.name != "__main__.py" and path != PACKAGE / "__init__.py"]
MODULES = {module_of(path) for path in FILES}


def test_every_room_is_in_the_plan() -> None:
    tops = {each.split(".")[0] for each in MODULES}
    assert tops == {each.split(".")[0] for each in ROOMS}


@pytest.mark.parametrize("path", FILES, ids=lambda path: module_of(path))
def test_imports_point_down(path: Path) -> None:
    room, order = room_of(module_of(path)), list(ROOMS)
    allowed = {*order[: order.index(room) + 1], *(upper for lower, upper in LIFTS if lower == room)}
    assert imported_rooms(path) <= allowed


def test_no_two_classes_share_a_name() -> None:
    """But for `Settings`, of which every figure has its own."""
    found = [node.name for path in FILES for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)]
    twice = {name for name in found if found.count(name) > 1}
    assert twice <= {"Settings"}


def test_importing_and_describing_touch_no_heavy_library() -> None:
    script = (
        "import sys, echoscale as es\n"
        "es.hierarchical([50, 50], leak_rate=[1.0, 0.2])\n"
        "assert not {'jax', 'sklearn', 'scipy', 'matplotlib'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_global_jax_settings_are_left_alone() -> None:
    script = (
        "import jax, numpy as np\nbefore = dict(jax.config.values)\n"
        "import echoscale as es\n"
        "es.ESNRegressor(20, dtype='float64').fit(np.random.rand(50, 1), np.random.rand(50))\n"
        "assert dict(jax.config.values) == before\nassert jax.numpy.ones(1).dtype == 'float32'"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
