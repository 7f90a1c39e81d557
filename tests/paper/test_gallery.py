"""Making figures: data are computed once, reused where the settings agree, and the committed ones belong to this code."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from typer.testing import CliRunner

from echoscale.cli import app
from echoscale.experiments import job
from echoscale.paper import FIGURES, SCALES, make
from echoscale.paper import provenance as label

COMMITTED = Path(__file__).parents[2] / "docs" / "figures"


def module(number: int) -> Any:
    return importlib.import_module(f"echoscale.paper.{FIGURES[number]}")


@pytest.mark.parametrize("number", FIGURES)
def test_committed_data_were_made_with_the_settings_of_this_code(number: int) -> None:
    with xarray.open_dataset(COMMITTED / f"fig{number}-paper.nc", engine="scipy") as data:
        expected = label.description(number, "paper", module(number).SETTINGS["paper"])
        assert {name: data.attrs[name] for name in expected} == expected
        assert set(data.attrs) >= {"echoscale", "numpy", "scipy", "jax", "seconds"}
    assert (COMMITTED / f"fig{number}-paper.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert (COMMITTED / f"fig{number}-paper.nc").stat().st_size < 1_500_000


def test_every_figure_has_every_scale() -> None:
    for number in FIGURES:
        assert set(module(number).SETTINGS) == set(SCALES)


def test_an_earlier_run_is_reused_until_its_settings_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, int, str]] = []
    first = make(8, "smoke", tmp_path, progress=lambda *said: told.append(said))
    assert told[-1][:2] == (3, 3)
    assert not first.reused
    told.clear()
    second = make(8, "smoke", tmp_path, progress=lambda *said: told.append(said))
    assert second.reused
    assert not told
    xarray.testing.assert_allclose(second.data, first.data, rtol=0)
    assert not make(8, "smoke", tmp_path, fresh=True).reused
    monkeypatch.setattr(job, "NUMERICS", job.NUMERICS + 1)
    assert not make(8, "smoke", tmp_path).reused


def test_settings_and_seeds_are_in_the_file(tmp_path: Path) -> None:
    made = make(8, "smoke", tmp_path)
    with xarray.open_dataset(made.file, engine="scipy") as data:
        settings = json.loads(data.attrs["settings"])
        assert data.attrs["scale"] == "smoke"
        assert any("seed" in name for name in settings)
        assert all(np.isfinite(values).all() for values in data.data_vars.values() if values.dtype.kind == "f")


@pytest.mark.parametrize("content", [b"", b"not a data file", b"CDF\x01" + b"\xff" * 40])
def test_a_broken_file_is_computed_anew(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "fig2-smoke.nc").write_bytes(content)
    made = make(2, "smoke", tmp_path)
    assert not made.reused
    assert make(2, "smoke", tmp_path).reused


def test_a_failed_computation_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module(2), "draw", fails)
    with pytest.raises(KeyboardInterrupt):
        make(2, "smoke", tmp_path)
    assert {each.name for each in tmp_path.glob("fig*")} == {"fig2-smoke.nc"}, "what was computed is kept, no half a picture"


def test_the_command_line_makes_figures_and_names_what_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")
    result = CliRunner().invoke(app, ["figure", "2", "--scale", "smoke", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "fig2-smoke.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    again = CliRunner().invoke(app, ["figure", "2", "--scale", "smoke", "--out", str(tmp_path)])
    assert "earlier run" in again.output
    for arguments, message in [(["figure", "10"], "no figure 10"), (["figure", "1", "--scale", "huge"], "no scale 'huge'")]:
        refused = CliRunner().invoke(app, arguments)
        assert refused.exit_code == 2
        assert message in refused.output


@pytest.mark.parametrize(("number", "scale", "message"), [(10, "smoke", "figure must be one of"), (1, "huge", "scale must be")])
def test_bad_names_are_refused(number: int, scale: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        make(number, scale, tmp_path)


def test_a_variant_has_a_picture_of_its_own_from_the_same_data(tmp_path: Path) -> None:
    first = make(3, "smoke", tmp_path)
    other = make(3, "smoke", tmp_path, variant="lag 0, ridge free")
    assert other.reused
    assert other.file == first.file
    assert other.picture.name == "fig3-smoke-lag-0-ridge-free.png"
    assert other.picture.read_bytes() != first.picture.read_bytes()
    with pytest.raises(ValueError, match="variant of figure 3 must be one of"):
        make(3, "smoke", tmp_path, variant="lag 2")
    with pytest.raises(ValueError, match="figure 2 has no variants"):
        make(2, "smoke", tmp_path, variant="lag 2")
