"""Making figures: data are computed once, reused where the settings agree, and go on where a run was killed."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from html_page import Parsed
from matplotlib.figure import Figure

import echoscale as es
from echoscale import sweeps
from paper import FIGURES, SCALES, gallery, learned_paths, make, report, reproduce
from paper import fig3_narma as fig3
from paper import provenance as label

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "docs" / "figures"


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


def seeds_in(settings: Any) -> set[Any]:
    """All seeds in settings and in settings inside them."""
    found: set[Any] = set()
    for name, value in settings.items():
        if isinstance(value, dict):
            found |= seeds_in(value)
        elif "seed" in name:
            found |= set(value) if isinstance(value, list | tuple) else {value}
    return found


@pytest.mark.parametrize("number", FIGURES)
def test_every_figure_takes_other_seeds(number: int, tmp_path: Path) -> None:
    """Even a single one: it is computed, drawn and reported, without a warning (warnings are errors here)."""
    made = make(number, "smoke", tmp_path, seeds=(7,))
    settings = json.loads(made.data.attrs["settings"])
    assert seeds_in(settings) == (set() if number == 2 else {7})
    if number != 2:
        assert made.data["seed"].values.tolist() == [7]
    words = Parsed(report.write(tmp_path, "smoke").read_text(encoding="utf-8")).words
    assert ("--seeds 7" in words) == (number != 2)
    assert "nan" not in words.lower().split()
    rows, _ = reproduce.write_table({number: made.data}, "smoke", tmp_path)
    assert not any("nan" in cell or "±" in cell for row in rows for cell in row)


def test_seeds_are_replaced_in_settings_inside_settings() -> None:
    settings = fig3.SETTINGS["paper"]
    other = label.with_seeds(settings, (5, 3))
    assert (other.seeds, other.paths.seeds) == ((5, 3), (5, 3))
    assert replace(other, seeds=settings.seeds, paths=settings.paths) == settings
    assert replace(other.paths, seeds=settings.paths.seeds) == settings.paths
    assert label.with_seeds(module(8).SETTINGS["smoke"], (4, 2)).shown_seed == 4


def test_data_of_other_seeds_are_not_reused(tmp_path: Path) -> None:
    first = make(8, "smoke", tmp_path)
    other = make(8, "smoke", tmp_path, seeds=(7, 9))
    assert not other.reused
    assert make(8, "smoke", tmp_path, seeds=(7, 9)).reused
    again = make(8, "smoke", tmp_path)
    assert not again.reused
    xarray.testing.assert_equal(again.data, first.data)


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
    monkeypatch.setattr(sweeps, "NUMERICS", sweeps.NUMERICS + 1)
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
    with pytest.raises(ValueError, match="the attribute figure is missing"):
        gallery.read(file)


def test_a_failed_computation_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module(2), "draw", fails)
    with pytest.raises(KeyboardInterrupt):
        make(2, "smoke", tmp_path)
    assert {each.name for each in tmp_path.glob("fig*")} == {"fig2-smoke.nc"}, "what was computed is kept, no half a picture"


@pytest.mark.parametrize(
    ("number", "scale", "message"), [(99, "smoke", "no figure 99: choose 1, 2"), (1, "huge", "no scale 'huge'")]
)
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
    assert first.supplement == first.picture.with_name("fig3-smoke-supplement.png")
    assert other.supplement == first.picture.with_name("fig3-smoke-lag-0-ridge-free-supplement.png")
    assert other.supplement.read_bytes() != first.supplement.read_bytes()
    page = Parsed(report.write(tmp_path, "smoke").read_text(encoding="utf-8"))
    assert sum(tag == "img" and bool(attrs.get("src")) for tag, attrs in page.tags) == 2, "the report shows both"
    with pytest.raises(ValueError, match="no variant of figure 3 'lag 2': choose lag 1, ridge"):
        make(3, "smoke", tmp_path, variant="lag 2")
    with pytest.raises(ValueError, match="no variant of figure 2, got 'lag 2'"):
        make(2, "smoke", tmp_path, variant="lag 2")


# Going on


KILLED_AT = 5
JOBS = 2 * 7 + 4  # two seeds of seven networks, and four paths


class Numbers:
    """In place of the long work of Fig. 3: the errors are its own, the paths are drawn at random, alike for a seed."""

    def __init__(self, dies: int | None = None) -> None:
        self.log: list[tuple[Any, ...]] = []
        self.errors, self.dies = fig3._errors, dies

    def begin(self, *job: Any) -> None:
        """Jobs come in a random order: any of them may be the one that dies."""
        if len(self.log) == self.dies:
            os.kill(os.getpid(), signal.SIGKILL)
        self.log.append(job)

    def __call__(self, settings: Any, network: es.Network, order: int, seed: int, **leaves: Any) -> Any:
        self.begin(network, order, seed)
        return self.errors(settings, network, order, seed, **leaves)

    def online(self, paths: Any, network: es.Network, order: int, seed: int, check: Any) -> Any:
        self.begin("path", network, order, seed)
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
    for name in ("draw", "draw_supplement"):
        patch.setattr(fig3, name, lambda *_: Figure())


def killed(folder: str) -> None:
    """In a process of its own: Fig. 3, which dies in the middle of a job (`kill -9`: nothing is tidied up)."""
    Numbers(KILLED_AT).stand_in(pytest.MonkeyPatch())
    undrawn(pytest.MonkeyPatch())
    make(3, "smoke", Path(folder))


def bits(data: xarray.Dataset) -> dict[str, bytes]:
    return {str(name): values.values.tobytes() for name, values in data.variables.items() if values.dtype != object}


def test_ctrl_c_while_tuning_ends_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """`tune` returns the rounds so far with a warning: these are no result of a job."""

    def stopped(*_: Any, **__: Any) -> None:
        warnings.warn("interrupted: this is the result of the rounds so far.", UserWarning, stacklevel=1)

    monkeypatch.setattr(learned_paths, "tune", stopped)
    settings = fig3.SETTINGS["smoke"]
    with pytest.raises(KeyboardInterrupt):
        learned_paths.tuned(settings.paths, fig3.pair(settings, "weak"), 10, 0, settings.protocol)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill -9 here")
def test_a_killed_figure_goes_on_to_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = f"import test_gallery; test_gallery.killed({str(tmp_path / 'killed')!r}); print('lived on')"
    places = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "tests", ROOT / "tests" / "paper")))}
    # No look at the exit status: it is lost when another thread of this process has collected it.
    ended = subprocess.run([sys.executable, "-c", code], env=places, timeout=600, check=False, capture_output=True, text=True)
    assert (ended.stdout, ended.stderr) == ("", "")
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
    assert not log, "the folder has it all"
    make(3, "smoke", tmp_path / "whole", fresh=True)
    assert len(log) == JOBS, "fresh is fresh"
