"""The command line, as a user calls it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import echoscale
from echoscale import demo
from echoscale.cli import app


def test_version_names_the_version() -> None:
    result = CliRunner().invoke(app, ["version"])
    assert result.exit_code == 0
    assert f"echoscale {echoscale.__version__}" in result.output


def test_help_imports_nothing_heavy() -> None:
    script = "import sys\nfrom echoscale.cli import app\nassert not {'jax', 'numpy', 'sklearn', 'scipy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_run_writes_the_plot_and_prints_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    result = subprocess.run(
        [sys.executable, "-m", "echoscale", "run", "--seeds", "1", "--out", str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=True,
    )
    for name in ("single", "parallel", "hierarchical", "NRMSE", "timescales"):
        assert name in result.stdout
    assert (tmp_path / "out" / "narma10.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    compiled = list((tmp_path / "cache" / "echoscale" / "jax").iterdir())
    assert any("scan" in each.name for each in compiled), "compiled programs are kept for the next run"


def test_the_demonstration_shows_the_hierarchy_ahead() -> None:
    results = {each.contender.name: each.errors.mean() for each in demo.compute(seeds=3)}
    assert results["hierarchical"] < results["parallel"] < 0.5
    assert results["hierarchical"] < results["single"] < 0.5


def test_bad_options_are_named() -> None:
    result = CliRunner().invoke(app, ["run", "--seeds", "0"])
    assert result.exit_code == 2
    assert "--seeds" in result.output
