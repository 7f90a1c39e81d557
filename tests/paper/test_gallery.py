"""Making figures: data are computed once, reused where the settings agree, and go on where a run was killed."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from matplotlib.figure import Figure
from typer.testing import CliRunner

import echoscale as es
from echoscale.app.cli import app
from echoscale.sweeps import job
from paper import FIGURES, SCALES, gallery, learned_paths, make
from paper import fig3_narma as fig3
from paper import provenance as label

COMMITTED = Path(__file__).parents[2] / "docs" / "figures"


def module(number: int) -> Any:
    return importlib.import_module(f"paper.{FIGURES[number]}")


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


def test_a_file_that_is_cut_short_or_describes_no_figure_is_computed_anew(tmp_path: Path) -> None:
    file = make(8, "smoke", tmp_path).file
    content, described = file.read_bytes(), label.description(8, "smoke", module(8).SETTINGS["smoke"])
    assert gallery._load(file, described) is not None
    for left in (len(content) - 8, len(content) // 2, 200, 3):
        file.write_bytes(content[:left])
        assert gallery._load(file, described) is None, left
        with pytest.raises(ValueError, match=r"fig8-smoke\.nc cannot be read"):
            gallery.read(file)
    file.write_bytes(bytes(xarray.Dataset({"x": 1.0}).to_netcdf(engine="scipy")))
    assert gallery._load(file, described) is None
    with pytest.raises(ValueError, match="does not say its figure"):
        gallery.read(file)


def test_a_failed_computation_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module(2), "draw", fails)
    with pytest.raises(KeyboardInterrupt):
        make(2, "smoke", tmp_path)
    assert {each.name for each in tmp_path.glob("fig*")} == {"fig2-smoke.nc"}, "what was computed is kept, no half a picture"


def test_the_command_line_makes_figures_and_names_what_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = CliRunner().invoke(app, ["figure", "2", "--scale", "smoke", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "fig2-smoke.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    again = CliRunner().invoke(app, ["figure", "2", "--scale", "smoke", "--out", str(tmp_path)])
    assert "earlier run" in again.output
    odd = tmp_path / ("runs[test] " + "x" * 90)
    assert str(odd / "fig2-smoke.png") in CliRunner().invoke(app, ["figure", "2", "--scale", "smoke", "--out", str(odd)]).output
    for arguments, message in [(["figure", "99"], "no figure 99"), (["figure", "1", "--scale", "huge"], "no scale 'huge'")]:
        refused = CliRunner().invoke(app, arguments)
        assert refused.exit_code == 2
        assert message in refused.output


@pytest.mark.parametrize(("number", "scale", "message"), [(99, "smoke", "figure must be one of"), (1, "huge", "scale must be")])
def test_bad_names_are_refused(number: int, scale: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        make(number, scale, tmp_path)


def test_a_variant_has_a_picture_of_its_own_from_the_same_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Numbers().stand_in(monkeypatch)
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


# Going on


KILLED_AT = 5
JOBS = 2 * 7 + 4  # two seeds of seven networks, and four paths


class Numbers:
    """In place of the long work of Fig. 3: the errors are its own, the paths are drawn at random, alike for a seed."""

    def __init__(self, dies: int | None = None) -> None:
        self.log: list[tuple[Any, ...]] = []
        self.errors, self.dies = fig3._errors, dies

    def __call__(self, settings: Any, network: es.Network, order: int, seed: int, **leaves: Any) -> Any:
        if len(self.log) == self.dies:
            os.kill(os.getpid(), signal.SIGKILL)
        self.log.append((network, order, seed))
        return self.errors(settings, network, order, seed, **leaves)

    def online(self, paths: Any, network: es.Network, order: int, seed: int, check: Any) -> Any:
        self.log.append(("path", network, order, seed))
        rng = np.random.default_rng([order, seed])
        return rng.random((4, paths.records + 1, 2)), rng.random((4, paths.records))

    def tuned(self, paths: Any, network: es.Network, order: int, seed: int, protocol: Any) -> Any:
        return np.random.default_rng([seed, order]).random((4, 3 + order, 2))

    def stand_in(self, patch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
        patch.setattr(fig3, "_errors", self)
        patch.setattr(learned_paths, "online", self.online)
        patch.setattr(learned_paths, "tuned", self.tuned)
        return self.log


def undrawn(patch: pytest.MonkeyPatch) -> None:
    """Drawing takes as long as all the rest."""
    patch.setattr(fig3, "draw", lambda *_: Figure())


def killed(folder: str) -> None:
    """In a process of its own: Fig. 3, which dies in the middle of a job (`kill -9`: nothing is tidied up)."""
    Numbers(KILLED_AT).stand_in(pytest.MonkeyPatch())
    undrawn(pytest.MonkeyPatch())
    make(3, "smoke", Path(folder))


def bits(data: xarray.Dataset) -> dict[str, bytes]:
    return {str(name): values.values.tobytes() for name, values in data.variables.items() if values.dtype != object}


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill -9 here")
def test_a_killed_figure_goes_on_to_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = f"import test_gallery; test_gallery.killed({str(tmp_path / 'killed')!r})"
    ended = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent, timeout=600, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert not list((tmp_path / "killed").glob("fig3*"))
    log = Numbers().stand_in(monkeypatch)
    undrawn(monkeypatch)
    made = make(3, "smoke", tmp_path / "killed")
    assert not made.reused
    assert len(log) == JOBS - KILLED_AT, "what was done is not done again"
    log.clear()
    whole = make(3, "smoke", tmp_path / "whole")
    assert len(log) == JOBS
    assert bits(made.data) == bits(whole.data)
    assert made.data.attrs["job_seconds"] > 0
    log.clear()
    (tmp_path / "whole" / "fig3-smoke.nc").unlink()
    assert bits(make(3, "smoke", tmp_path / "whole").data) == bits(whole.data)
    assert not log, "the ledger has it all"
    make(3, "smoke", tmp_path / "whole", fresh=True)
    assert len(log) == JOBS, "fresh is fresh"
