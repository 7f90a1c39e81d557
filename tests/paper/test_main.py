"""The command line `python -m paper`: what it makes, what it refuses, and how it stops."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import xarray

from paper import __main__ as command
from paper import gallery
from paper.gallery import Result

ROOT = Path(__file__).parents[2]


def smoke(folder: Path, *arguments: str) -> int:
    return command.main([*arguments, "--scale", "smoke", "--out", str(folder), "--quiet"])


def test_it_makes_figures_and_report_and_uses_them_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / ("runs[test] " + "x" * 90)  # a long name, no markup
    assert smoke(folder, "2", "8", "2") == 0
    said = capsys.readouterr()
    assert said.err == ""
    first, second, last = said.out.splitlines()
    assert first.startswith("Figure 2 (smoke, computed in ")
    assert first.endswith(f"{folder / 'fig2-smoke.png'} (1 of 2)")
    assert second.endswith(f"{folder / 'fig8-smoke.png'} (2 of 2)")
    assert last == f"Report: {folder / 'index.html'}"
    assert {each.name for each in folder.iterdir()} == {
        *(f"fig{number}-smoke.{kind}" for number in (2, 8) for kind in ("nc", "png")),
        *("headline-smoke.md", "index.html", "jobs"),
    }
    assert smoke(folder, "2") == 0
    assert "Figure 2 (smoke, data of an earlier run): " in capsys.readouterr().out


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What `make` would be asked for; it makes nothing."""
    found: list[Any] = []

    def make(number: int, scale: str, folder: Path, **options: Any) -> Result:
        found.append((number, scale, options))
        return Result(folder / "x.png", folder / "x.nc", xarray.Dataset(attrs={"seconds": 1.0}), False)

    monkeypatch.setattr(command, "make", make)
    monkeypatch.setattr("paper.reproduce.write_table", lambda data, scale, folder: ([], folder))
    monkeypatch.setattr("paper.report.write", lambda folder, scale: folder)
    return found


def test_arguments_reach_the_figures(asked: list[Any]) -> None:
    assert command.main(["--scale", "paper", "--seeds", "3, 5,8-10", "--fresh", "--quiet"]) == 0
    assert [(number, scale) for number, scale, _ in asked] == [(number, "paper") for number in gallery.FIGURES]
    assert asked[0][2] == {"seeds": (3, 5, 8, 9, 10), "variant": None, "fresh": True, "processes": 1, "progress": False}
    asked.clear()
    assert command.main(["hierarchy", "--processes", "16"]) == 0
    assert [(asked[0][0], asked[0][2]["processes"])] == [("hierarchy", 16)]
    asked.clear()
    assert command.main(["4", "--variant", "ridge, rho 0.1"]) == 0
    assert asked == [
        (4, "quick", {"seeds": None, "variant": "ridge, rho 0.1", "fresh": False, "processes": 1, "progress": True})
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["10"], "no figure '10': give numbers from 1 to 9"),
        (["3,4"], "no figure '3,4'"),
        (["hierarchies"], "no figure 'hierarchies': give numbers from 1 to 9, such as 3 4, or a study: hierarchy, timescales"),
        (["--processes", "0"], "--processes '0' is no number of processes: give a whole number from 1"),
        (["--scale", "huge"], "no scale 'huge': choose smoke, quick or paper"),
        (["--seeds", ""], "--seeds '': '' is no seed; give whole numbers from 0 to 9999"),
        (["--seeds", "3,x"], "'x' is no seed; give"),
        (["--seeds", "-3"], "'-3' is no seed; give"),
        (["--seeds", "1.5"], "'1.5' is no seed; give"),
        (["--seeds", "5-2"], "'5-2' holds no seeds; give"),
        (["--seeds", "0-10000"], "'0-10000' holds no seeds; give whole numbers from 0 to 9999"),
        (["--seeds", "0-4,2"], "2 is there twice; give"),
        (["--variant", "lag 2"], "--variant 'lag 2' needs one figure"),
        (["3", "--variant", "lag 2"], "no variant of figure 3 'lag 2': choose lag 1, ridge >= 1e-5, "),
        (["2", "--variant", "lag 2"], "no variant of figure 2, got 'lag 2'"),
        (["--sclae", "smoke"], "unrecognized arguments: --sclae: see python -m paper --help"),
        (["--out", __file__], f"--out {__file__} is not a folder but a file"),
        (["--out", f"{__file__}/out"], "give the name of a folder"),
    ],
)
def test_wrong_arguments_are_named_in_one_line(
    arguments: list[str], says: str, asked: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(arguments) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert said.err.startswith("Error: ")
    assert says in said.err
    assert not asked


def test_ctrl_c_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def stopped(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "make", stopped)
    assert smoke(tmp_path, "2") == 130
    assert capsys.readouterr().err == "Stopped. Finished work is kept: the same command continues from there.\n"


def test_ctrl_c_while_modules_load_counts_after_that(monkeypatch: pytest.MonkeyPatch) -> None:
    import signal

    loaded: list[int] = []

    def interrupted(number: int) -> None:
        signal.raise_signal(signal.SIGINT)
        loaded.append(number)

    monkeypatch.setattr(command, "module_of", interrupted)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        command.load([2, 8])
    assert loaded == [2, 8]
    assert signal.getsignal(signal.SIGINT) is before


def test_python_runs_the_package_and_help_is_cheap() -> None:
    script = "import sys, paper.__main__\nassert not {'jax', 'numpy', 'echoscale'} & set(sys.modules), sorted(sys.modules)"
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)
    ran = subprocess.run([sys.executable, "-m", "paper", "--help"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "python -m paper 3 --seeds" in ran.stdout
    refused = subprocess.run([sys.executable, "-m", "paper", "0"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stdout) == (2, "")
