"""`echoscale timescales` of data and of models."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import echoscale as es
from echoscale.app.cli import app


def test_data_have_the_timescales_that_they_were_made_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A first-order filter with a pole p decays below 1/e after -1 / log p steps; a week has a season of 7."""
    monkeypatch.chdir(tmp_path)
    rng, slow = np.random.default_rng(0), [0.0]
    for noise in rng.standard_normal(4000):
        slow.append(0.9 * slow[-1] + noise)
    week = np.arange(4001) % 7 + 0.1 * rng.standard_normal(4001)
    lines = [f"{a},{b},1\n" for a, b in zip(slow, week, strict=True)]
    lines[5] = ",3,1\n"
    Path("x.csv").write_text("slow,week,flat\n" + "".join(lines))
    result = CliRunner().invoke(app, ["timescales", "x.csv", "--json"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    rows = {row["column"]: row for row in told["table"]}
    assert rows["slow"]["below_1/e"] == pytest.approx(-1 / np.log(0.9), abs=2)
    assert (rows["slow"]["season"], rows["week"]["season"]) == (None, 7)
    assert set(rows) == {"slow", "week"}
    assert "'flat' is constant" in result.stderr
    assert "1 gap: bridged" in result.stderr
    assert Path(told["picture"]).read_bytes()[:4] == b"\x89PNG"
    refused = CliRunner().invoke(app, ["timescales", "x.csv", "-c", "flat"])
    assert (refused.exit_code, refused.stdout) == (2, "")


def test_models_have_those_of_their_networks(tmp_path: Path) -> None:
    """A ring with leak rate a and radius r: the slowest mode is 1 / (a (1 - r))."""
    path = es.save(es.single(20, leak_rate=0.5, spectral_radius=0.9, topology="ring").build(1), tmp_path / "ring.safetensors")
    result = CliRunner().invoke(app, ["timescales", str(path), "--json", "-q"])
    [row] = json.loads(result.stdout)["table"]
    assert row["tau_max"] == pytest.approx(20)
    assert (tmp_path / "timescales.png").exists()
    nothing = es.save(es.NVAR().fit(np.random.default_rng(0).normal(size=50), np.arange(50.0)), tmp_path / "nvar.safetensors")
    result = CliRunner().invoke(app, ["timescales", str(nothing)])
    assert result.exit_code == 2
    assert "without a network" in result.stderr
