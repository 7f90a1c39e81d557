"""Digests of code: what a function does changes its digest and the keys of its jobs; how it is written does not."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import echoscale as es
from echoscale.sweeps import Protocol, Task
from echoscale.sweeps.functions import code_of, is_own
from echoscale.sweeps.job import Job

SOURCE = '''
import numpy as np
import functools

FACTOR = 0.5
CACHE = {}
calls = 0

def helper(x):
    """Says something."""
    return FACTOR * x  # a half

class Wave:
    size = 2
    def at(self, x):
        return np.sin(self.size * x)

def task(length, seed, wave=None):
    global calls
    calls += 1
    CACHE[seed] = length
    rng = np.random.default_rng(seed)
    u = rng.random((length, 1))
    return u, helper(u) + (0 if wave is None else Wave().at(u)) + 1e-3
'''


def module(source: str, folder: Path) -> ModuleType:
    """The source as a module that can be imported, in place of the one before."""
    path = folder / "own_tasks.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("own_tasks", path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules["own_tasks"] = made
    exec(compile(source, str(path), "exec"), made.__dict__)  # never a compiled file of the version before
    return made


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    yield
    sys.modules.pop("own_tasks", None)


CHANGES = {
    "its own code": ("+ 1e-3", "+ 2e-3"),
    "a default": ("wave=None", "wave=0"),
    "a function that it calls": ("FACTOR * x ", "FACTOR + x "),
    "a constant that this one uses": ("FACTOR = 0.5", "FACTOR = 0.25"),
    "a method of a class": ("np.sin", "np.cos"),
    "a field of a class": ("size = 2", "size = 3"),
}
SAME = {
    "a comment": ("# a half", "# one of two"),
    "a docstring": ("Says something", "Says something else"),
    "blank lines": ("CACHE = {}", "CACHE = {}\n\n\n"),
    "what it does not use": ("import functools", "import functools\nother = 5"),
}


@pytest.mark.parametrize("name", [*CHANGES, *SAME])
def test_what_a_task_does_is_in_its_keys(name: str, tmp_path: Path) -> None:
    """And in a ledger: a changed task is run, not looked up."""
    old, new = {**CHANGES, **SAME}[name]
    assert old in SOURCE
    found: list[Any] = []
    for source in (SOURCE, SOURCE.replace(old, new)):
        task = module(source, tmp_path).task
        before = code_of(task)
        task(length=10, seed=0)
        code_of.cache_clear()
        assert code_of(task) == before, "what a run leaves in the module is no code"
        found.append((before, Job.of(task, length=5, seed=0).key()))
    assert (found[0] == found[1]) == (name in SAME)


def test_a_changed_task_is_not_taken_for_a_finished_job(tmp_path: Path) -> None:
    short = Protocol(washout=10, train=60, validation=20, test=20)
    runs = []
    for source in (SOURCE, SOURCE, SOURCE.replace("FACTOR * x ", "FACTOR + x**2 ")):
        own = module(source, tmp_path)
        data = es.sweep(es.single(5), Task(own.task), {"seed": [0]}, protocol=short, ledger=tmp_path / "ledger.sqlite")
        runs.append((own.calls, float(data["test"][0])))
    assert [calls for calls, _ in runs] == [1, 0, 1]
    assert runs[0][1] == runs[1][1] != runs[2][1]


def test_the_version_is_in_the_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job.of(np.linspace, start=0.0, stop=1.0, num=3)
    before = job.key()
    monkeypatch.setattr(es, "__version__", "99.0")
    assert job.key() != before


def test_own_code_is_told_by_the_version() -> None:
    assert is_own(es.tasks.narma)
    assert is_own(dict)
    assert not is_own(module)


def test_names_of_numpy_and_of_python_do_not_mix(tmp_path: Path) -> None:
    """`np.str` does not exist, and asking for it warns."""
    made = module("import numpy as np\ndef task(length, seed):\n    return np.zeros(length), str(seed)\n", tmp_path)
    assert code_of(made.task)
