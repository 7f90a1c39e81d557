"""The house itself: which room may look into which, what an import costs, and that documented examples run."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "echoscale"

# From the ground up: a room may import those before it, never those after it.
ROOMS = (
    "_checks",
    "blas",
    "files",
    "table",
    "eigen",
    "matrix",
    "network",
    "drawing",
    "hyper",
    "parameters",
    "weights",
    "series",
    "metrics",
    "linear",
    "timescales",
    "hmm",
    "tasks",
    "dynamics",
    "sharing",
    "lanes",
    "esn",
    "features",
    "moments",
    "shared_moments",
    "gram",
    "readout",
    "logistic",
    "forecast",
    "rls",
    "online",
    "bptt",
    "estimators",
    "tuning",
    "storage",
    "sweeps",
    "demo",
    "figures",
    "reproduce",
    "cli",
)
# Conveniences that reach up from inside a function: the description builds, draws and explains the network.
LIFTS = {("network", "esn"), ("network", "drawing"), ("network", "timescales")}


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "echoscale":
            parts = node.module.split(".")
            rooms |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            rooms |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("echoscale.")}
    return rooms


def test_every_room_is_in_the_plan() -> None:
    rooms = {room_of(path) for path in PACKAGE.rglob("*.py")} - {"__init__", "__main__"}
    assert rooms == set(ROOMS)


@pytest.mark.parametrize("path", [p for p in PACKAGE.rglob("*.py") if p.stem not in ("__init__", "__main__")], ids=str)
def test_imports_point_down(path: Path) -> None:
    room = room_of(path)
    allowed = {*ROOMS[: ROOMS.index(room) + 1], *(upper for lower, upper in LIFTS if lower == room)}
    assert imported_rooms(path) <= allowed


def test_importing_and_describing_touch_no_heavy_library() -> None:
    script = (
        "import sys, echoscale as es\n"
        "es.hierarchical([50, 50], leak_rate=[1.0, 0.2])\n"
        "assert not {'jax', 'sklearn', 'scipy', 'matplotlib'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_all_public_names_exist() -> None:
    script = "import echoscale as es\nfor name in es.__all__: getattr(es, name)"
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True)


def test_global_jax_settings_are_left_alone() -> None:
    script = (
        "import jax, numpy as np\nbefore = dict(jax.config.values)\n"
        "import echoscale as es\n"
        "es.ESNRegressor(20, dtype='float64').fit(np.random.rand(50, 1), np.random.rand(50))\n"
        "assert dict(jax.config.values) == before\nassert jax.numpy.ones(1).dtype == 'float32'"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_documented_examples_run(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All Python blocks of a page, one after another in one namespace; asserts in them hold."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", document.read_text(), flags=re.DOTALL | re.MULTILINE)
    namespace: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for block in blocks:
            exec(compile(block, str(document), "exec"), namespace)


def test_links_between_documents_lead_somewhere() -> None:
    for document in DOCUMENTS:
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"
