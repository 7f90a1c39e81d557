"""Pages of a sweep and of es.auto: what they say is what the result holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray
from html_page import Parsed

import echoscale as es

SHORT = es.sweeps.Protocol(washout=20, train=100, validation=50, test=50)


@pytest.fixture(scope="module")
def swept() -> xarray.Dataset:
    axes = {"leak_rate": [0.2, 0.5, 1.0], "input_scaling": [0.1, 0.3], "seed": [0, 1]}
    return es.sweep(es.single(6), "narma", axes, protocol=SHORT)


def test_a_sweep_ends_in_a_page(swept: xarray.Dataset, tmp_path: Path) -> None:
    parsed = Parsed(es.write_report(swept, tmp_path / "sweep.html").read_text(encoding="utf-8"))
    mean = swept["validation"].mean("seed")
    best = mean.where(mean == mean.min(), drop=True)
    at = ", ".join(f"{name} {best[name].item():g}" for name in mean.dims)
    test = float(swept["test"].mean("seed").sel({name: best[name] for name in mean.dims}).item())
    assert f"Least validation error {float(mean.min()):.4g} at {at}; test error there {test:.4g}." in parsed.words
    assert "0.2, 0.5, 1" in parsed.words
    assert [attrs["alt"] for tag, attrs in parsed.tags if tag == "img" and attrs.get("src")] == [
        "Validation error over leak_rate and input_scaling, mean over seeds."
    ]
    line = Parsed(es.write_report(swept.isel(input_scaling=[0]), tmp_path / "line.html").read_text(encoding="utf-8"))
    assert "Validation error over leak_rate, minimum over input_scaling, mean over seeds." in line.words


def test_a_sweep_without_results_says_so(swept: xarray.Dataset, tmp_path: Path) -> None:
    empty = swept.where(swept["test"] < 0)
    assert "No point is finished yet." in es.write_report(empty, tmp_path / "empty.html").read_text(encoding="utf-8")


def test_what_auto_found_ends_in_a_page(tmp_path: Path) -> None:
    rows = (("networks <b>", 0.25, "taken"), ("ridge on lags", 0.5, ""), ("persistence", None, ""))
    table = es.Table(("method", "NRMSE", "choice"), rows, "Errors", ("A note.",))
    network = es.hierarchical([8, 6], leak_rate=[1.0, 0.2])
    found = es.forecasting.Found(None, "networks <b>", 0.25, table, ("One & two.",), (network,), 16, 3.0)
    parsed = Parsed(es.write_report(found, tmp_path / "auto.html").read_text(encoding="utf-8"))
    assert "Selected: networks <b>. NRMSE 0.25 on held-out data." in parsed.words
    assert "One & two." in parsed.words
    assert "b" not in {tag for tag, _ in parsed.tags}
    pictures = [attrs["alt"] for tag, attrs in parsed.tags if tag == "img" and attrs.get("src")]
    assert pictures == ["Errors of all methods.", "Diagram of a network of 2 reservoirs with 14 neurons."]


def test_anything_else_is_refused(tmp_path: Path) -> None:
    for each in (xarray.Dataset({"test": ("x", np.ones(2))}), 3.0):
        with pytest.raises(TypeError, match=r"es.auto or es.sweep"):
            es.write_report(each, tmp_path / "no.html")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
