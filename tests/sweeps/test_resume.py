"""Sweeps that are killed, stopped, shared and resumed, with real processes: the same bits, and no finished job runs again."""

from __future__ import annotations

import importlib
import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import xarray

from echoscale.sweeps import SweepWarning, jobs

JOBS = 8
PATIENCE = 60.0  # seconds after which something hangs

# Job k is that of seed k. What a process should do besides comes from its environment, which is no part of a job's key.
MODULE = """
import os, pickle, signal, time
from pathlib import Path

import echoscale as es
from echoscale.sweeps import Protocol, Task


def slow(length, seed):
    with open(os.environ["LOG"], "a") as log:
        log.write(f"{seed} {os.getpid()}\\n")
    time.sleep(PATIENCE if str(seed) == os.environ.get("STUCK") else float(os.environ.get("NAP", 0)))
    if str(seed) == os.environ.get("BROKEN"):
        raise OSError(f"no data for seed {seed}")
    return es.tasks.narma(length, order=3, seed=seed)


def run(folder, seeds=range(JOBS)):
    network = es.hierarchical([8, 6], input_scaling=0.5)
    protocol = Protocol(washout=20, train=200, validation=80, test=80, ridge=(1e-5, 1e-2, 1.0))
    axes = {"leak_rate[0]": [0.2, 0.6, 1.0], "seed": seeds, "leak_rate[1]": [0.1, 0.5]}
    return es.sweep(network, Task("slow_series:slow"), axes, protocol=protocol, folder=folder)


def main(folder, gate, out):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored where tests run in the background
    Path(f"{gate}.{os.getpid()}").touch()
    while not Path(gate).exists():
        time.sleep(0.005)
    data = run(folder)
    Path(out).write_bytes(pickle.dumps(data))
"""


class Shop:
    """A folder with the module, a folder of finished jobs, a log of what was run, and the processes at work on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kept, self.log, self.gate = folder / "kept", folder / "log", folder / "gate"
        self.started: list[subprocess.Popen[bytes]] = []
        self.log.touch()
        self.gate.touch()

    def start(self, **environment: Any) -> subprocess.Popen[bytes]:
        out = self.folder / f"out{len(self.started)}"
        script = f"import slow_series; slow_series.main({str(self.kept)!r}, {str(self.gate)!r}, {str(out)!r})"
        path = os.pathsep.join([str(self.folder), *filter(None, [os.environ.get("PYTHONPATH")])])
        given = {"LOG": self.log, "PYTHONPATH": path, "NAP": 0.15, **environment}
        with (self.folder / f"err{len(self.started)}").open("wb") as errors:
            made = subprocess.Popen(
                [sys.executable, "-c", script],
                env={**os.environ, **{name: str(value) for name, value in given.items()}},
                stderr=errors,
            )
        self.started.append(made)
        return made

    def result(self, process: subprocess.Popen[bytes]) -> xarray.Dataset:
        place = self.started.index(process)
        process.wait(PATIENCE)
        assert process.returncode == 0, (self.folder / f"err{place}").read_text()
        found: xarray.Dataset = pickle.loads((self.folder / f"out{place}").read_bytes())
        return found

    def ran(self) -> list[tuple[int, int]]:
        """Seed and process of every job that was begun."""
        lines = [line.split() for line in self.log.read_text().splitlines()]
        return [(int(seed), int(pid)) for seed, pid in lines]

    def jobs(self) -> list[Path]:
        """The files of the jobs of the sweep with all seeds, in their order."""
        for each in self.kept.glob("*.json"):
            keys = json.loads(each.read_text())["jobs"]
            if len(keys) == JOBS:
                return [self.kept / f"{key}.npz" for key in keys]
        return []

    def finished(self) -> set[int]:
        """The seeds whose jobs are done, as any other program would see them."""
        return {seed for seed, file in enumerate(self.jobs()) if file.exists()}

    def end(self) -> None:
        for process in self.started:
            process.kill()
            process.wait()


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    (tmp_path / "slow_series.py").write_text(f"JOBS, PATIENCE = {JOBS}, {PATIENCE}\n{MODULE}")
    made = Shop(tmp_path)
    yield made
    made.end()


class Here(NamedTuple):
    """The same module in this process, with a folder and a log of its own unless told otherwise."""

    module: Any
    patch: pytest.MonkeyPatch
    folder: Path

    def run(self, kept: Path | None = None, log: Path | None = None, **given: Any) -> xarray.Dataset:
        self.patch.setenv("LOG", str(log or self.folder / "own_log"))
        data: xarray.Dataset = self.module.run(kept or self.folder / "own", **given)
        return data


@pytest.fixture
def here(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Iterator[Here]:
    monkeypatch.syspath_prepend(shop.folder)
    sys.modules.pop("slow_series", None)
    yield Here(importlib.import_module("slow_series"), monkeypatch, shop.folder)
    sys.modules.pop("slow_series", None)


def until(condition: Callable[[], Any], *processes: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "this takes too long"
        assert all(each.poll() is None for each in processes), "a process ended before its time"
        time.sleep(0.005)


def assert_same_bits(found: xarray.Dataset, expected: xarray.Dataset) -> None:
    assert set(found.variables) == set(expected.variables)
    for name in expected.variables:
        assert found[name].dims == expected[name].dims
        assert found[name].dtype == expected[name].dtype
        assert found[name].values.tobytes() == expected[name].values.tobytes(), name
    assert found.attrs["settings"] == expected.attrs["settings"]
    assert found.attrs["sweep"] == expected.attrs["sweep"]


def test_a_killed_sweep_goes_on_where_it_was(shop: Shop, here: Here) -> None:
    """Killed after 2 jobs and once in the middle of one; each process finds what those before it have done."""
    process = shop.start()
    until(lambda: len(shop.finished()) >= 2, process)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    done = shop.finished()
    assert len(done) < JOBS, "killed too late to show anything"

    before, stuck = len(shop.ran()), max(set(range(JOBS)) - done)
    process = shop.start(STUCK=stuck)
    until(lambda: (stuck, process.pid) in shop.ran(), process)
    process.kill()
    process.wait()
    assert not done & {seed for seed, _ in shop.ran()[before:]}, "a finished job ran again"
    assert done <= shop.finished(), "finished jobs stay"
    assert stuck not in shop.finished()
    left = set(range(JOBS)) - shop.finished()

    before = len(shop.ran())
    last = shop.start()
    resumed = shop.result(last)
    assert sorted(shop.ran()[before:]) == [(seed, last.pid) for seed in sorted(left)]
    # At most the job under way was lost each time.
    assert JOBS <= len(shop.ran()) <= JOBS + 2

    uninterrupted = here.run()
    assert_same_bits(resumed, uninterrupted)
    assert np.isfinite(uninterrupted.test).all()
    again = here.run(shop.kept)
    assert_same_bits(again, uninterrupted)


def test_processes_that_start_at_once_share_the_work(shop: Shop, here: Here) -> None:
    shop.gate.unlink()
    both = [shop.start(), shop.start()]
    until(lambda: all(Path(f"{shop.gate}.{each.pid}").exists() for each in both), *both)
    shop.gate.touch()
    first, second = (shop.result(each) for each in both)
    ran = shop.ran()
    assert {seed for seed, _ in ran} == set(range(JOBS))
    assert len(set(ran)) == len(ran), "no process runs a job twice"
    assert len(ran) < 2 * JOBS, "nor do both run all of them"
    assert {pid for _, pid in ran} == {each.pid for each in both}
    assert_same_bits(first, second)
    assert_same_bits(first, here.run())


def test_a_stopped_process_holds_nobody_up(shop: Shop, here: Here) -> None:
    """Nobody waits for a job that another process has begun."""
    stuck = shop.start(STUCK=0)
    until(lambda: 0 in {seed for seed, _ in shop.ran()}, stuck)
    data = shop.result(shop.start(NAP=0))
    assert stuck.poll() is None
    assert shop.finished() == set(range(JOBS))
    assert_same_bits(data, here.run())


def test_ctrl_c_stops_a_sweep_in_good_order(shop: Shop, here: Here) -> None:
    process = shop.start(STUCK=2, NAP=0)
    until(lambda: (2, process.pid) in shop.ran(), process)
    before = {seed for seed, _ in shop.ran()} - {2}
    process.send_signal(signal.SIGINT)
    process.wait(PATIENCE)
    assert process.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in (shop.folder / "err0").read_text()
    assert shop.finished() == before

    done = len(shop.ran())
    resumed = here.run(shop.kept, shop.log)
    assert {seed for seed, _ in shop.ran()[done:]} == set(range(JOBS)) - before
    assert_same_bits(resumed, here.run())


def test_a_failed_job_is_tried_again(shop: Shop, here: Here) -> None:
    uninterrupted = here.run()
    for attempts in (1, 2):
        here.patch.setenv("BROKEN", "3")
        with pytest.warns(SweepWarning, match=r"1 of 8 jobs failed.*OSError: no data for seed 3 \(at seed = 3\)"):
            data = here.run(shop.kept, shop.log)
        assert np.isnan(data.sel(seed=3).to_dataarray()).all()
        others = [seed for seed in range(JOBS) if seed != 3]
        assert_same_bits(data.sel(seed=others), uninterrupted.sel(seed=others))
        assert shop.finished() == set(others)
        assert [seed for seed, _ in shop.ran()].count(3) == attempts
        assert shop.jobs()[3].with_suffix(".failed").read_text() == "OSError: no data for seed 3"

    here.patch.delenv("BROKEN")
    assert_same_bits(here.run(shop.kept, shop.log), uninterrupted)
    assert len(shop.ran()) == JOBS + 2, "nothing but the failed job ran again"
    assert not list(shop.kept.glob("*.failed"))


def test_a_damaged_file_is_computed_again(shop: Shop, here: Here) -> None:
    uninterrupted = here.run(shop.kept, shop.log)
    victims = shop.jobs()[2], shop.jobs()[5]
    content = bytearray(victims[0].read_bytes())
    content[content.index(b"NUMPY") + 130] ^= 4  # in the numbers, which begin after 128 bytes
    victims[0].write_bytes(content)
    victims[1].write_bytes(victims[1].read_bytes()[:-40])
    before = len(shop.ran())
    with pytest.warns(UserWarning, match="is damaged") as told:
        assert_same_bits(here.run(shop.kept, shop.log), uninterrupted)
    assert {str(file) for file in victims} == {str(each.message).split(" is damaged")[0] for each in told}
    assert sorted(seed for seed, _ in shop.ran()[before:]) == [2, 5]
    assert_same_bits(here.run(shop.kept, shop.log), uninterrupted)
    assert len(shop.ran()) == before + 2


def test_another_sweep_takes_what_it_shares_from_the_folder(shop: Shop, here: Here) -> None:
    here.run(shop.kept, shop.log, seeds=[1, 5])
    whole = here.run(shop.kept, shop.log)
    ran = [seed for seed, _ in shop.ran()]
    assert sorted(ran[:2]) == [1, 5]
    assert sorted(ran[2:]) == [0, 2, 3, 4, 6, 7]
    assert_same_bits(whole, here.run())
    assert sorted((each["jobs"], each["done"]) for each in jobs.sweeps(shop.kept)) == [(2, 2), (JOBS, JOBS)]
