"""The command line, as a user calls it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import echoscale
from echoscale.cli import app


def test_version_names_the_version() -> None:
    result = CliRunner().invoke(app, ["version"])
    assert result.exit_code == 0
    assert f"echoscale {echoscale.__version__}" in result.output


def test_help_imports_nothing_heavy() -> None:
    script = "import sys\nfrom echoscale.cli import app\nassert not {'jax', 'numpy', 'sklearn', 'scipy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_figures_are_made_and_compiled_programs_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    command = [sys.executable, "-m", "echoscale", "figure", "8", "--scale", "smoke", "--out", str(tmp_path / "out")]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Figure 8" in result.stdout
    assert (tmp_path / "out" / "fig8-smoke.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    compiled = list((tmp_path / "cache" / "echoscale" / "jax").iterdir())
    assert any("scan" in each.name for each in compiled), "compiled programs are kept for the next run"


def test_bad_options_are_named() -> None:
    result = CliRunner().invoke(app, ["figure", "99"])
    assert result.exit_code == 2
    assert "no figure 99" in result.output
