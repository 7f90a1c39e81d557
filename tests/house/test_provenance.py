"""Every figure's data and every result file say which code made them, when, and with which settings."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import xarray

ROOT = Path(__file__).parents[2]
FIGURES = sorted((ROOT / "docs" / "figures").glob("*.nc"))
RESULTS = sorted((ROOT / "benchmarks" / "results").glob("*.json"))
COMMIT = re.compile(r"[0-9a-f]{7,40}\b")


@pytest.mark.parametrize("file", FIGURES, ids=lambda file: file.stem)
def test_the_data_of_a_figure_name_their_origin(file: Path) -> None:
    with xarray.open_dataset(file, engine="scipy") as data:
        known = dict(data.attrs)
    assert COMMIT.match(known["commit"])
    assert re.match(r"20\d\d-\d\d-\d\dT", known["date"])
    assert known["machine"]
    assert json.loads(known["settings"])


@pytest.mark.parametrize("file", RESULTS, ids=lambda file: file.stem)
def test_a_result_file_names_its_origin(file: Path) -> None:
    source = json.loads(file.read_text(encoding="utf-8"))["provenance"]
    assert source["command"].startswith("python benchmarks/")
    assert COMMIT.match(source["commit"])
    assert re.match(r"20\d\d-\d\d-\d\dT", source["date"])
