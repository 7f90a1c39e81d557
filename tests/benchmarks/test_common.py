"""The frame of the benchmarks: provenance, files, jobs that resume."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
SQUARES = """
from pathlib import Path
import numpy as np

def square(number, folder):
    if number < 0:
        raise ValueError("below 0")
    with (Path(folder) / "calls").open("a") as file:
        file.write(f"{number} ")
    return {"square": np.array([number**2, 0.1])}
"""


@pytest.fixture
def common(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("common")


@pytest.fixture
def square(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A function in a module of its own, as those of the scripts are."""
    (tmp_path / "squares.py").write_text(SQUARES)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("squares").square
    del sys.modules["squares"]


def jobs(numbers: list[int], folder: Path) -> dict[str, dict[str, Any]]:
    return {f"job {number}": {"number": number, "folder": str(folder)} for number in numbers}


def calls(folder: Path) -> list[int]:
    return sorted(map(int, (folder / "calls").read_text().split()))


@pytest.mark.parametrize("processes", [0, 2])
def test_jobs_are_done_once(common: Any, square: Any, tmp_path: Path, processes: int) -> None:
    folder = tmp_path / "out" / "jobs"
    first = common.resumed(square, jobs([3, 4], tmp_path), folder, processes)
    assert first == {"job 3": {"square": [9, 0.1]}, "job 4": {"square": [16, 0.1]}}
    again = common.resumed(square, jobs([4, 5, 3], tmp_path), folder, processes)
    assert list(again) == ["job 4", "job 5", "job 3"]
    assert again["job 5"]["square"] == [25, 0.1]
    assert calls(tmp_path) == [3, 4, 5]


def test_failure_keeps_the_others(common: Any, square: Any, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"1 of 2 jobs failed, the first: job -1: ValueError: below 0\. The others are kept"):
        common.resumed(square, jobs([-1, 6], tmp_path), tmp_path / "jobs")
    assert common.resumed(square, jobs([6], tmp_path), tmp_path / "jobs") == {"job 6": {"square": [36, 0.1]}}
    assert calls(tmp_path) == [6]


def test_no_job_begins_when_time_is_up(common: Any, square: Any, tmp_path: Path) -> None:
    assert common.resumed(square, jobs([1], tmp_path), None, minutes=-1) == {}


def test_raw_data_come_back_as_they_were(common: Any) -> None:
    raw = {"numbers": np.array([0.1, 1 / 3]), "text": "µ", "deep": {"rows": [{"a": [1] * 90, "b": None}, {"c": np.float64(2)}]}}
    expected = {"numbers": [0.1, 1 / 3], "text": "µ", "deep": {"rows": [{"a": [1] * 90, "b": None}, {"c": 2.0}]}}
    assert json.loads(common.encoded(raw)) == expected


@pytest.mark.parametrize(("extra", "stem"), [({}, "x"), ({"complete": False}, "x-partial"), ({"quick": True}, "x-quick")])
def test_names_of_files(common: Any, tmp_path: Path, extra: dict[str, Any], stem: str) -> None:
    common.write("x", {"quick": False, **extra}, lambda raw: f"{raw['quick']}\n", tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {f"{stem}.json", f"{stem}.md"}


def test_mean_and_error(common: Any) -> None:
    """Of 1, 2, 3, 4: the standard deviation is sqrt(5 / 3), the error of the mean half of it."""
    assert common.mean_and_error([1, 2, 3, 4]) == "2.500 ± 0.645"
    assert common.mean_and_error([2.0], 1) == "2.0"


def test_paths_of_this_machine_are_not_told(common: Any) -> None:
    words = ["--quick", "--output", "/somewhere", "--folder", "/there", "--processes", "2"]
    assert list(common._said(words)) == ["--quick", "--processes", "2"]


def test_note_is_kept_beside_the_numbers(common: Any, tmp_path: Path) -> None:
    raw = common.main(
        "x", "", lambda _: {"a": 1}, common.origin, arguments=["--note", "jobs of two machines", "--output", str(tmp_path)]
    )
    assert raw["provenance"]["note"] == "jobs of two machines"
    assert "jobs of two machines" in (tmp_path / "x.md").read_text()
    assert "--note" not in raw["provenance"]["command"]
