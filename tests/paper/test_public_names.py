"""paper/ is a user of the library: it imports and uses public names only."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
# The packages that a user may import from. What they offer is in their `__all__`.
PACKAGES = (
    "echoscale",
    *(f"echoscale.{name}" for name in ("network", "engine", "sweeps", "learning", "tasks", "timescales", "readouts")),
    "echoscale.network.diagram",
    "echoscale.app.report",
)


def public(module: ModuleType, name: str) -> bool:
    """Whether a module offers a name: in its `__all__` if there is one."""
    return name in module.__all__ if hasattr(module, "__all__") else hasattr(module, name) and not name.startswith("_")


def faults(source: str) -> list[str]:
    """The imports and attributes in the source that are not public."""
    return list(dict.fromkeys(_faults(ast.parse(source))))


def _faults(tree: ast.Module) -> Iterator[str]:
    modules: dict[str, ModuleType] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                if each.name == "echoscale":
                    modules[each.asname or each.name] = importlib.import_module("echoscale")
                elif each.name.split(".")[0] == "echoscale":
                    yield f"line {node.lineno}: import {each.name}"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "echoscale":
            package = str(node.module)
            for each in node.names:
                found = importlib.import_module(package) if package in PACKAGES else None
                if found is None or each.name == "*" or not public(found, each.name):
                    yield f"line {node.lineno}: from {package} import {each.name}"
                elif isinstance(value := getattr(found, each.name), ModuleType):
                    modules[each.asname or each.name] = value
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (trail := _trail(node)) and trail[0] in modules:
            yield from _private(modules[trail[0]], trail, node.lineno)


def _trail(node: ast.expr) -> list[str]:
    """["es", "tasks", "narma"] of es.tasks.narma; nothing of other expressions."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute) and (before := _trail(node.value)):
        return [*before, node.attr]
    return []


def _private(value: object, trail: list[str], line: int) -> Iterator[str]:
    """The first attribute of a module along the trail that is not public."""
    for place, name in enumerate(trail[1:], start=2):
        if not isinstance(value, ModuleType):
            return
        if name != "__version__" and not public(value, name):
            yield f"line {line}: {'.'.join(trail[:place])}"
            return
        value = getattr(value, name)


@pytest.mark.parametrize("path", sorted((ROOT / "paper").rglob("*.py")), ids=lambda path: path.name)
def test_the_paper_uses_public_names_only(path: Path) -> None:
    assert faults(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        "import echoscale as es\nes.tasks.narma(10), es.sweeps.Job, es.__version__",
        "from echoscale import ESN, timescales\ntimescales.peak(0.5, 0.9)",
        "from echoscale.tasks import mnist\nmnist.available()",
        "from echoscale.app.report import page",
        "from echoscale.engine import traces\ntraces.step",
        "from echoscales import anything\nimport numpy.linalg",
    ],
)
def test_public_names_pass(source: str) -> None:
    assert faults(source) == []


@pytest.mark.parametrize(
    "source",
    [
        "from echoscale._internal import checks",
        "from echoscale._internal.files import write_atomically",
        "from echoscale.engine.dynamics import step",
        "from echoscale.engine import dynamics",
        "from echoscale.sweeps import jobs",
        "from echoscale.sweeps import *",
        "from echoscale import no_such_name",
        "from echoscale.app.cli import app",
        "import echoscale.sweeps",
        "import echoscale.sweeps.jobs as jobs",
        "import echoscale as es\nes.sweeps.jobs.NUMERICS",
        "import echoscale as es\ndef f():\n    return es._internal",
        "from echoscale import timescales\ntimescales.linear_regime.LinearSystem",
        "def late():\n    from echoscale.engine import scan",
    ],
)
def test_the_check_finds_what_is_not_public(source: str) -> None:
    assert len(faults(source)) == 1
