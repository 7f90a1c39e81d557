"""Keys of jobs: the source of a user's function changes them, and so does the version of the library."""

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
from echoscale.sweeps.jobs import Job, _is_own, _source_of

SOURCE = '''
import numpy as np
import dataclasses
import functools

FACTOR = 0.5
CACHE = {}
calls = 0

def helper(x):
    """Says something."""
    return FACTOR * x  # a half

@dataclasses.dataclass(frozen=True)
class Wave:
    size: int = 2
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
}
SAME = {
    "a function that it calls": ("FACTOR * x ", "FACTOR + x "),
    "blank lines": ("CACHE = {}", "CACHE = {}\n\n\n"),
    "what it does not use": ("import functools", "import functools\nother = 5"),
}


@pytest.mark.parametrize("name", [*CHANGES, *SAME])
def test_the_source_of_a_task_is_in_its_keys(name: str, tmp_path: Path) -> None:
    """Its own source, not the source of its helpers: the folder is deleted when these change."""
    old, new = {**CHANGES, **SAME}[name]
    assert old in SOURCE
    keys = []
    for source in (SOURCE, SOURCE.replace(old, new)):
        keys.append(Job.of(module(source, tmp_path).task, length=5, seed=0).key())
    assert (keys[0] == keys[1]) == (name in SAME)


def test_a_class_of_an_argument_counts_by_its_source(tmp_path: Path) -> None:
    keys = []
    for source in (SOURCE, SOURCE.replace("size: int = 2", "size: int = 3")):
        made = module(source, tmp_path)
        keys.append(Job.of(np.linspace, wave=made.Wave(2)).key())
    assert keys[0] != keys[1]


def test_a_file_that_is_edited_later_is_not_the_code_that_runs(tmp_path: Path) -> None:
    task = module(SOURCE, tmp_path).task
    before = Job.of(task, length=5, seed=0).key()
    (tmp_path / "own_tasks.py").write_text(SOURCE.replace("+ 1e-3", "+ 2e-3"), encoding="utf-8")
    assert Job.of(task, length=5, seed=0).key() == before


def test_a_changed_task_is_not_taken_for_a_finished_job(tmp_path: Path) -> None:
    short = Protocol(washout=10, train=60, validation=20, test=20)
    runs = []
    for source in (SOURCE, SOURCE, SOURCE.replace("+ 1e-3", "+ u**2")):
        own = module(source, tmp_path)
        data = es.sweep(es.single(5), Task(own.task), {"seed": [0]}, protocol=short, folder=tmp_path / "kept")
        runs.append((own.calls, float(data["test"][0])))
    assert [calls for calls, _ in runs] == [1, 0, 1]
    assert runs[0][1] == runs[1][1] != runs[2][1]


def test_functions_without_source_count_by_their_name() -> None:
    """Such as compiled ones of other packages."""
    from jaxlib import _jax

    compiled = next(each for each in vars(_jax).values() if type(each).__name__ == "nb_func")
    assert _source_of(compiled) == ""
    assert _source_of(module) != ""


def test_results_must_be_numbers() -> None:
    with pytest.raises(TypeError, match=r"results\['text'\] must hold numbers or truth values, got array\('a'"):
        Job.of(worded).run()


def worded() -> dict[str, Any]:
    return {"text": "a"}


def test_the_version_is_in_the_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job.of(np.linspace, start=0.0, stop=1.0, num=3)
    before = job.key()
    monkeypatch.setattr(es, "__version__", "99.0")
    assert job.key() != before


def test_own_code_is_told_by_the_version() -> None:
    assert _is_own(es.tasks.narma)
    assert _is_own(dict)
    assert not _is_own(module)
