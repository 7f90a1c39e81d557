"""Sweeps from the command line, as a user calls it: what is printed, what is written, and the exit status."""

from __future__ import annotations

import importlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import xarray
from typer.testing import CliRunner, Result

import echoscale as es
from echoscale.app.cli import app, sweeps
from echoscale.sweeps import Protocol, Task, jobs

PATIENCE = 60.0  # seconds after which something hangs
SEEDS = 6

MODULE = """
import os, time

import echoscale as es


def noted(length, seed, order=3):
    with open(os.environ["LOG"], "a") as log:
        log.write(f"{seed} {os.getpid()}\\n")
    time.sleep(PATIENCE if str(seed) == os.environ.get("STUCK") else 0)
    return es.tasks.narma(length, order=order, seed=seed)


def moody(length, seed):
    if seed == 2:
        raise RuntimeError(f"no series today [for seed] {seed}")
    return noted(length, seed)
"""

SPEC = """
[network]
structure = "hierarchical"
units = [8, 6]
input_scaling = 0.5
[task]
function = "cli_series:noted"
[protocol]
washout = 20
train = 200
validation = 80
test = 80
ridge = [1e-5, 1e-2, 1.0]
[axes]
seed = { count = 6 }
"leak_rate[0]" = { from = 0.2, to = 1.0, count = 3 }
"leak_rate[1]" = [0.1, 0.5]
"""


class Desk(NamedTuple):
    """A folder with a file that describes a sweep, and the module of its task where all processes find it."""

    folder: Path

    @property
    def spec(self) -> Path:
        return self.folder / "grid.toml"

    @property
    def kept(self) -> Path:
        return self.folder / "kept"

    def write(self, old: str = "", new: str = "") -> None:
        assert old in SPEC
        self.spec.write_text(SPEC.replace(old, new))

    def call(self, *arguments: Any) -> Result:
        return CliRunner().invoke(app, [*map(str, arguments)])

    def sweep(self, *options: Any) -> Result:
        return self.call("sweep", self.spec, "--folder", self.kept, *options)

    def sweeps(self, command: str, *arguments: Any) -> Result:
        return self.call("sweeps", command, *arguments, "--folder", self.kept)

    def ran(self) -> list[tuple[int, int]]:
        """Seed and process of every job that was begun."""
        lines = [line.split() for line in (self.folder / "log").read_text().splitlines()]
        return [(int(seed), int(pid)) for seed, pid in lines]

    def name(self) -> str:
        [sweep] = jobs.sweeps(self.kept)
        return str(sweep["id"])


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    (tmp_path / "cli_series.py").write_text(f"PATIENCE = {PATIENCE}\n{MODULE}")
    (tmp_path / "log").touch()
    monkeypatch.setenv("COLUMNS", "2000")  # no line is broken in two
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]))
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("cli_series", None)
    importlib.import_module("cli_series")
    made = Desk(tmp_path)
    made.write()
    yield made
    sys.modules.pop("cli_series", None)


def in_python() -> xarray.Dataset:
    """The same sweep without the command line."""
    return es.sweep(
        es.hierarchical([8, 6], input_scaling=0.5),
        Task("cli_series:noted"),
        {"seed": range(SEEDS), "leak_rate[0]": np.linspace(0.2, 1.0, 3), "leak_rate[1]": [0.1, 0.5]},
        protocol=Protocol(washout=20, train=200, validation=80, test=80, ridge=(1e-5, 1e-2, 1.0)),
    )


def until(condition: Callable[[], Any], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "this takes too long"
        assert process.poll() is None, "the process ended before its time"
        time.sleep(0.01)


# Runs


def test_a_sweep_from_a_file_and_again_from_its_folder(desk: Desk) -> None:
    out = desk.folder / "results.nc"
    result = desk.sweep("--out", out)
    assert result.exit_code == 0, result.output
    expected = in_python()
    with xarray.open_dataset(out, engine="scipy") as data:
        assert data.equals(expected)
        assert data.attrs["sweep"] == expected.attrs["sweep"]
    assert f"Results: {out}" in result.output
    assert f"Sweep {expected.attrs['sweep']} in {desk.kept}." in result.output
    assert "Failed" not in result.output

    before, table = len(desk.ran()), result.output[result.output.index("The best") : result.output.index("Results")]
    csv = desk.folder / "results.csv"
    again = desk.sweep("--out", csv)
    assert again.exit_code == 0
    assert len(desk.ran()) == before, "nothing ran again"
    assert table in again.output
    assert len(csv.read_text().splitlines()) == 1 + expected.test.size


def test_the_best_points_are_those_of_the_mean_over_seeds(desk: Desk) -> None:
    output = desk.sweep().output
    mean = in_python().mean("seed")
    points = [
        (float(mean.validation[i, j]), mean["leak_rate[0]"].values[i], mean["leak_rate[1]"].values[j], float(mean.test[i, j]))
        for i in range(3)
        for j in range(2)
    ]
    title, names, _, *rows = output[output.index("The best") :].splitlines()
    assert title == "The best 5 of 6 points by validation error, mean over seeds"
    assert names.split() == ["leak_rate[0]", "leak_rate[1]", "validation", "test"]
    for row, (validation, first, second, test) in zip(rows[:5], sorted(points), strict=False):
        assert [float(each) for each in row.split()] == pytest.approx([first, second, validation, test], rel=1e-3)


def test_without_an_option_jobs_are_kept_in_this_folder(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk.folder)
    desk.write("count = 6", "count = 1")
    assert desk.call("sweep", "grid.toml").exit_code == 0
    assert "1 sweep in sweeps" in desk.call("sweeps", "list").output


def test_a_sweep_over_seeds_alone(desk: Desk) -> None:
    """Its best point is the mean over its only axis."""
    desk.write('"leak_rate[0]" = { from = 0.2, to = 1.0, count = 3 }\n"leak_rate[1]" = [0.1, 0.5]\n', "")
    out = desk.folder / "results.csv"
    result = desk.sweep("--out", out)
    assert result.exit_code == 0, result.output
    rows = [[float(each) for each in line.split(",")] for line in out.read_text().splitlines()[1:]]
    assert [row[0] for row in rows] == list(range(SEEDS))
    shown = desk.sweeps("show", desk.name()).output
    for text in (result.output, shown):
        assert "The best 1 of 1 points by validation error, mean over seeds" in text
        assert re.search(rf"validation +test\n-+ +-+\n *{np.mean([row[2] for row in rows]):.4g} +", text), text


def test_a_task_that_fails(desk: Desk) -> None:
    desk.write("noted", "moody")
    out = desk.folder / "results.nc"
    result = desk.sweep("--out", out)
    assert result.exit_code == 1
    assert "Failed: RuntimeError: no series today [for seed] 2 (at seed = 2)" in result.output
    with xarray.open_dataset(out, engine="scipy") as data:
        assert data.attrs["failed_jobs"] == 1
        assert np.isnan(data.test).any(["leak_rate[0]", "leak_rate[1]"]).values.tolist() == [k == 2 for k in range(SEEDS)]
    row = desk.sweeps("list").output.splitlines()[-1].split()
    assert row[2:5] == ["6", "5", "1"]


def test_two_processes(desk: Desk) -> None:
    out = desk.folder / "results.nc"
    command = [sys.executable, "-m", "echoscale", "sweep", str(desk.spec), "--folder", str(desk.kept), "--out", str(out)]
    result = subprocess.run([*command, "--processes", "2"], capture_output=True, text=True, timeout=PATIENCE)
    assert result.returncode == 0, result.stdout + result.stderr
    ran = desk.ran()
    with xarray.open_dataset(out, engine="scipy") as data:
        assert data.equals(in_python())
    assert f"Results: {out}" in result.stdout
    assert sorted(seed for seed, _ in ran) == list(range(SEEDS))
    assert not [pid for _, pid in ran if Path(f"/proc/{pid}").exists()], "no process is left behind"


@pytest.mark.parametrize("options", [[], ["--processes", "1"]], ids=["alone", "with a process"])
def test_ctrl_c(desk: Desk, options: list[str]) -> None:
    # A shell that starts tests in the background has the signal ignored: set it as in a terminal.
    script = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "if __name__ == '__main__': from echoscale.app.cli import main; main()"
    )
    starter = desk.folder / "starter.py"
    starter.write_text(script)
    command = [sys.executable, str(starter), "sweep", str(desk.spec), "--folder", str(desk.kept), *options]
    process = subprocess.Popen(
        command, env={**os.environ, "STUCK": "3"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        until(lambda: 3 in {seed for seed, _ in desk.ran()}, process)
        until(lambda: len(list(desk.kept.glob("*.npz"))) == len(desk.ran()) - 1, process)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130, output + errors
    assert f"Stopped. Finished jobs are in {desk.kept}: the same command resumes." in errors
    assert "Traceback" not in output + errors

    before = desk.ran()
    result = desk.sweep()
    assert result.exit_code == 0
    missing = {*range(SEEDS)} - {seed for seed, _ in before} | {3}
    assert {seed for seed, _ in desk.ran()[len(before) :]} == missing, "only missing jobs ran"


# Bad input


def assert_refused(result: Result, *parts: str) -> None:
    """Status 2 and a message, no traceback, no work done."""
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert not [part for part in parts if part not in result.output], result.output


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"hierarchical"', '"tree"', "got 'tree'"),
        ("[axes]", "[axis]", "has no [axes]"),
        ("[network]", "[network", "is not TOML"),
        ("seed =", "sead =", "unknown axis 'sead'"),
        ("leak_rate[1]", "leak_rate[2]", "names number 2, but the network has 2 reservoirs"),
        ("[0.1, 0.5]", "[0.1, 1.5]", "1.5"),
        ("units = [8, 6]", "units = 8", "units must be a list"),
        ("cli_series:noted", "cli_series:nothing", "there is no function 'cli_series:nothing'"),
        ("train = 200", "train = -3", "-3"),
    ],
)
def test_mistakes_in_the_file(old: str, new: str, message: str, desk: Desk) -> None:
    desk.write(old, new)
    assert_refused(desk.sweep(), "Error: ", message)
    assert desk.ran() == []
    assert not desk.kept.exists()


def test_files_that_cannot_be(desk: Desk) -> None:
    assert_refused(desk.call("sweep", desk.folder / "none.toml"), "Error: there is no file", "none.toml")
    assert_refused(desk.call("sweep", desk.folder, "--folder", desk.kept), "Error: ", str(desk.folder))
    assert_refused(desk.call("sweep", desk.spec, "--folder", desk.spec), "cannot be a folder: there is a file of that name")
    assert desk.ran() == []


@pytest.mark.parametrize("name", ["results.xlsx", "missing/results.nc"])
def test_results_that_cannot_be_written_are_refused_before_the_work(name: str, desk: Desk) -> None:
    assert_refused(desk.sweep("--out", desk.folder / name), name)
    assert desk.ran() == []


def test_processes_and_schedulers_that_cannot_be(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_refused(desk.sweep("--processes", "0"), "--processes")
    assert_refused(desk.sweep("--processes", "1", "--scheduler", "tcp://127.0.0.1:9"), "give either --scheduler or --processes")
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert_refused(desk.sweep("--scheduler", "tcp://127.0.0.1:9"), "pip install 'echoscale[distributed]'")
    assert desk.ran() == []


def test_nobody_at_the_address_of_the_scheduler(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(sweeps, "PATIENCE", 0.5)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
    start = time.monotonic()
    assert_refused(
        desk.sweep("--scheduler", address), f"Error: {address} did not answer within 0.5 s", "is the scheduler running"
    )
    assert time.monotonic() - start < 10.0
    assert desk.ran() == []


def test_a_scheduler_by_its_address(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(sweeps, "PATIENCE", 0.5)
    out = desk.folder / "results.nc"
    with distributed.LocalCluster(n_workers=0, processes=False, dashboard_address="127.0.0.1:0") as cluster:
        assert_refused(desk.sweep("--scheduler", cluster.scheduler_address), "has no workers after 0.5 s")
        cluster.scale(1)
        cluster.wait_for_workers(1)
        assert desk.sweep("--scheduler", cluster.scheduler_address, "--out", out).exit_code == 0
        assert len(cluster.scheduler_info["workers"]) == 1, "the cluster of others goes on"
    with xarray.open_dataset(out, engine="scipy") as data:
        assert data.equals(in_python())
    with pytest.raises(ValueError, match="No global client found"):
        distributed.get_client()


def test_a_scheduler_that_is_no_address(desk: Desk) -> None:
    pytest.importorskip("distributed")
    assert_refused(desk.sweep("--scheduler", "nonsense://here"), "Error: ", "nonsense")


# What a folder holds


@pytest.fixture
def kept(desk: Desk) -> Desk:
    assert desk.sweep().exit_code == 0
    return desk


def test_list(kept: Desk) -> None:
    kept.write("count = 6", "count = 2")
    assert kept.sweep().exit_code == 0
    title, names, _, first, second = kept.sweeps("list").output.splitlines()
    assert title == f"2 sweeps in {kept.kept}"
    assert names.split() == ["id", "created", "jobs", "done", "failed"]
    known = jobs.sweeps(kept.kept)
    for line, each in zip((first, second), known, strict=True):
        assert line.split() == [str(value) for value in each.values()]
    assert sorted(each["jobs"] for each in known) == [2, 6]


def test_list_of_nothing(desk: Desk) -> None:
    desk.kept.mkdir()
    result = desk.sweeps("list")
    assert result.exit_code == 0
    assert "0 sweeps" in result.output


def test_show(kept: Desk) -> None:
    output = kept.sweeps("show", kept.name()[:5]).output
    lines = dict(line.split(": ", 1) for line in output[: output.index("The best")].splitlines())
    assert es.Network.from_dict(json.loads(lines["network"])) == es.hierarchical([8, 6], input_scaling=0.5)
    assert json.loads(lines["problem"]) == {"function": "cli_series:noted", "parameters": {}}
    assert json.loads(lines["protocol"])["train"] == 200
    assert lines["seed"] == "0, 1, 2, 3, 4, 5"
    assert lines["leak_rate[1]"] == "0.1, 0.5"
    ran = kept.sweep().output
    assert output[output.index("The best") :] in ran


def test_show_half_a_sweep(kept: Desk) -> None:
    for each in kept.kept.glob("*.npz"):
        each.unlink()
    result = kept.sweeps("show", kept.name())
    assert result.exit_code == 0
    assert "The best" in result.output


def test_show_names_errors(desk: Desk) -> None:
    desk.write("noted", "moody")
    assert desk.sweep().exit_code == 1
    assert "no series today [for seed] 2" in desk.sweeps("show", desk.name()).output


def test_export(kept: Desk) -> None:
    target = kept.folder / "again.nc"
    result = kept.sweeps("export", kept.name()[:6], target)
    assert result.exit_code == 0
    assert result.output.strip() == str(target)
    with xarray.open_dataset(target, engine="scipy") as data:
        assert data.equals(in_python())
    assert kept.sweeps("export", kept.name(), kept.folder / "page.html").exit_code == 0
    assert "Best points" in (kept.folder / "page.html").read_text()
    assert_refused(kept.sweeps("export", kept.name(), kept.folder / "again.xlsx"), "must end in one of .nc, .csv, .parquet")
    assert_refused(kept.sweeps("export", "nothing", target), "the sweep 'nothing' is not in ", kept.name())
    assert_refused(kept.sweeps("export", kept.name(), kept.folder / "missing" / "again.nc"), "missing")


def test_show_of_what_is_not_there(kept: Desk) -> None:
    assert_refused(kept.sweeps("show", "nothing"), "the sweep 'nothing' is not in ", kept.name())


@pytest.mark.parametrize("command", [["list"], ["show", "x"], ["export", "x", "x.nc"]], ids=lambda each: each[0])
def test_a_folder_that_is_not_there(command: list[str], desk: Desk) -> None:
    result = desk.sweeps(*command)
    assert_refused(result, "--folder", "does not exist")
    assert not desk.kept.exists()


def test_a_file_that_is_no_folder(desk: Desk) -> None:
    desk.kept.write_text("leak_rate,error\n")
    for command in (["export", "x", "x.nc"], ["list"], ["show", "x"]):
        assert_refused(desk.sweeps(*command), "--folder", "is a file")


def test_help_names_the_commands() -> None:
    output = CliRunner().invoke(app, ["sweeps", "--help"]).output
    assert all(re.search(rf"\b{name}\b", output) for name in ("list", "show", "export"))
