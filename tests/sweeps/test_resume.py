"""Sweeps that are killed, stopped, shared and resumed, with real processes: the same bits, and no finished job runs twice."""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import xarray

from echoscale.sweeps import Ledger, SweepWarning

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


def run(ledger, seeds=range(JOBS)):
    network = es.hierarchical([8, 6], input_scaling=0.5)
    protocol = Protocol(washout=20, train=200, validation=80, test=80, ridge=(1e-5, 1e-2, 1.0))
    axes = {"leak_rate[0]": [0.2, 0.6, 1.0], "seed": seeds, "leak_rate[1]": [0.1, 0.5]}
    return es.sweep(network, Task("slow_series:slow"), axes, protocol=protocol, ledger=ledger)


def main(ledger, gate, out):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored where tests run in the background
    Path(f"{gate}.{os.getpid()}").touch()
    while not Path(gate).exists():
        time.sleep(0.005)
    data = run(ledger)
    Path(out).write_bytes(pickle.dumps(data))
"""


class Shop:
    """A folder with the module, a ledger, a log of what was run, and the processes at work on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ledger, self.log, self.gate = folder / "sweep.db", folder / "log", folder / "gate"
        self.started: list[subprocess.Popen[bytes]] = []
        self.log.touch()
        self.gate.touch()

    def start(self, **environment: Any) -> subprocess.Popen[bytes]:
        out = self.folder / f"out{len(self.started)}"
        script = f"import slow_series; slow_series.main({str(self.ledger)!r}, {str(self.gate)!r}, {str(out)!r})"
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

    def finished(self) -> set[int]:
        """The seeds whose jobs are done, as any other program would read them."""
        query = "SELECT position FROM links JOIN jobs USING (key) WHERE error IS NULL"
        return {position for (position,) in self._ask(query)}

    def claims(self) -> list[tuple[int, int]]:
        """Seed and process of every claim."""
        return self._ask("SELECT DISTINCT position, pid FROM links JOIN claims USING (key)")

    def _ask(self, query: str) -> list[Any]:
        if not self.ledger.exists():
            return []
        with closing(sqlite3.connect(self.ledger, timeout=PATIENCE)) as connection:
            try:
                return connection.execute(query).fetchall()
            except sqlite3.OperationalError as error:
                if "no such table" not in str(error):  # the process has just made the file
                    raise
                return []

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
    """The same module in this process, with a ledger and a log of its own unless told otherwise."""

    module: Any
    patch: pytest.MonkeyPatch
    folder: Path

    def run(self, ledger: Path | None = None, log: Path | None = None, **given: Any) -> xarray.Dataset:
        self.patch.setenv("LOG", str(log or self.folder / "own_log"))
        data: xarray.Dataset = self.module.run(ledger or self.folder / "own.db", **given)
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
    assert done < shop.finished(), "finished jobs stay, new ones come"
    done = shop.finished()
    assert done == set(range(JOBS)) - {stuck}
    assert shop.claims() == [(stuck, process.pid)], "a dead process cannot give back what it held"

    before = len(shop.ran())
    last = shop.start()
    resumed = shop.result(last)
    assert shop.ran()[before:] == [(stuck, last.pid)]
    assert not shop.claims()
    # At most the job under way was lost each time.
    assert JOBS <= len(shop.ran()) <= JOBS + 2

    uninterrupted = here.run()
    assert_same_bits(resumed, uninterrupted)
    assert np.isfinite(uninterrupted.test).all()
    again = here.run(shop.ledger)
    assert_same_bits(again, uninterrupted)


def test_processes_that_start_at_once_share_the_work(shop: Shop, here: Here) -> None:
    shop.gate.unlink()
    both = [shop.start(), shop.start()]
    until(lambda: all(Path(f"{shop.gate}.{each.pid}").exists() for each in both), *both)
    shop.gate.touch()
    first, second = (shop.result(each) for each in both)
    assert sorted(seed for seed, _ in shop.ran()) == list(range(JOBS)), "every job ran exactly once"
    assert {pid for _, pid in shop.ran()} == {each.pid for each in both}
    assert not shop.claims()
    assert_same_bits(first, second)
    assert_same_bits(first, here.run())


def test_a_job_whose_process_dies_is_taken_over_by_one_that_waits_for_it(shop: Shop, here: Here) -> None:
    stuck = shop.start(STUCK=0)
    until(lambda: shop.ran(), stuck)
    waits = shop.start(NAP=0)
    until(lambda: shop.finished() == set(range(1, JOBS)), stuck, waits)
    assert shop.claims() == [(0, stuck.pid)], "it belongs to a process that is alive"
    stuck.kill()
    stuck.wait()
    data = shop.result(waits)
    assert [pid for seed, pid in shop.ran() if seed == 0] == [stuck.pid, waits.pid]
    assert len(shop.ran()) == JOBS + 1
    assert_same_bits(data, here.run())


def test_ctrl_c_stops_a_sweep_in_good_order(shop: Shop, here: Here) -> None:
    process = shop.start(STUCK=2, NAP=0)
    until(lambda: (2, process.pid) in shop.ran(), process)
    assert shop.claims() == [(2, process.pid)]
    process.send_signal(signal.SIGINT)
    process.wait(PATIENCE)
    assert process.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in (shop.folder / "err0").read_text()
    assert shop.finished() == {0, 1}
    assert not shop.claims()
    with Ledger(shop.ledger) as ledger:
        [sweep] = ledger.sweeps()
    assert (sweep["jobs"], sweep["done"], sweep["failed"]) == (JOBS, 2, 0)

    before = len(shop.ran())
    resumed = here.run(shop.ledger, shop.log)
    assert [seed for seed, _ in shop.ran()[before:]] == list(range(2, JOBS))
    assert_same_bits(resumed, here.run())


def test_a_failed_job_is_tried_again(shop: Shop, here: Here) -> None:
    uninterrupted = here.run()
    for attempts in (1, 2):
        here.patch.setenv("BROKEN", "3")
        with pytest.warns(SweepWarning, match="1 of 8 jobs failed.*OSError: no data for seed 3"):
            data = here.run(shop.ledger, shop.log)
        assert np.isnan(data.sel(seed=3).to_dataarray()).all()
        others = [seed for seed in range(JOBS) if seed != 3]
        assert_same_bits(data.sel(seed=others), uninterrupted.sel(seed=others))
        assert shop.finished() == set(others)
        assert not shop.claims()
        assert [seed for seed, _ in shop.ran()].count(3) == attempts
        with Ledger(shop.ledger) as ledger:
            [failure] = ledger.failures([key for (key,) in shop._ask("SELECT key FROM links")]).values()
        assert failure.error == "OSError: no data for seed 3"

    here.patch.delenv("BROKEN")
    assert_same_bits(here.run(shop.ledger, shop.log), uninterrupted)
    assert len(shop.ran()) == JOBS + 2, "nothing but the failed job ran again"


def test_another_sweep_takes_what_it_shares_from_the_ledger(shop: Shop, here: Here) -> None:
    here.run(shop.ledger, shop.log, seeds=[1, 5])
    whole = here.run(shop.ledger, shop.log)
    assert [seed for seed, _ in shop.ran()] == [1, 5, 0, 2, 3, 4, 6, 7]
    assert_same_bits(whole, here.run())
    with Ledger(shop.ledger) as ledger:
        assert [(each["jobs"], each["done"]) for each in ledger.sweeps()] == [(2, 2), (JOBS, JOBS)]
