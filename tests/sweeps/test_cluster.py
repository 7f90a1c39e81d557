"""Jobs on a Dask cluster, with real processes: the same Dataset as in this process, whatever happens to the workers."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import pickle
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import xarray

import echoscale as es
from echoscale.sweeps import Cluster, Ledger, Protocol, SweepWarning, Task
from echoscale.sweeps.executors import Outcome
from echoscale.sweeps.job import Job

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

SHORT = Protocol(washout=20, train=200, validation=80, test=80, ridge=(1e-5, 1e-2, 1.0))
SEEDS = 10
PATIENCE = 60.0  # seconds after which something hangs

# What a process should do besides comes from its environment, which is no part of a job's key.
MODULE = """
import os, signal, time

import echoscale as es


def noted(length, seed):
    with open(os.environ["LOG"], "a") as log:
        log.write(f"{seed} {os.getpid()}\\n")
    time.sleep(float(os.environ.get("NAP", 0)))
    return es.tasks.narma(length, order=3, seed=seed)


def stuck_once(length, seed):
    mark = os.environ.get("MARK")
    if mark and seed == 4:
        try:
            with open(mark, "x") as file:
                file.write(f"{os.getpid()}\\n")
        except FileExistsError:
            pass
        else:
            time.sleep(PATIENCE)
    return noted(length, seed)


def moody(length, seed):
    if seed == 2:
        raise RuntimeError(f"no series today for seed {seed}")
    return noted(length, seed)


def deadly(length, seed):
    os.kill(os.getpid(), signal.SIGKILL)
"""


class Bench(NamedTuple):
    """The module above where this process and its children find it, and a log of what they run."""

    folder: Path

    def sweep(self, function: str = "noted", seeds: Iterable[int] = range(SEEDS), **given: Any) -> xarray.Dataset:
        axes = {"leak_rate[0]": [0.2, 0.6, 1.0], "seed": seeds, "leak_rate[1]": [0.1, 0.5]}
        network = es.hierarchical([8, 6], input_scaling=0.5)
        return es.sweep(network, Task(f"cluster_series:{function}"), axes, protocol=SHORT, **given)

    def ran(self) -> list[tuple[int, int]]:
        """Seed and process of every job that was begun."""
        lines = [line.split() for line in (self.folder / "log").read_text().splitlines()]
        return [(int(seed), int(pid)) for seed, pid in lines]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder = tmp_path_factory.mktemp("bench")
    (folder / "cluster_series.py").write_text(f"PATIENCE = {PATIENCE}\n{MODULE}")
    (folder / "log").touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]))
        patch.setenv("LOG", str(folder / "log"))
        patch.setenv("NAP", "0.05")
        patch.syspath_prepend(folder)
        importlib.import_module("cluster_series")
        yield Bench(folder)
    sys.modules.pop("cluster_series", None)


@pytest.fixture(scope="module")
def expected(bench: Bench) -> xarray.Dataset:
    """What this process computes."""
    return bench.sweep()


class Remote:
    """A scheduler and workers as processes of their own, which know nothing of this one but the module."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "scheduler.json"
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, workers: int) -> None:
        # Any free port for its pages too: the usual one may be taken.
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0")
        self.workers = [self._start("worker", "--nthreads", "1", "--no-nanny") for _ in range(workers)]
        until(self._is_written, *self.processes)
        self.address: str = json.loads(self.file.read_text())["address"]

    def _is_written(self) -> bool:
        try:
            return bool(json.loads(self.file.read_text()))
        except (FileNotFoundError, json.JSONDecodeError):
            return False

    def _start(self, what: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", what, "--scheduler-file", str(self.file), "--no-dashboard", *options]
        with (self.folder / "errors").open("ab") as errors:
            made = subprocess.Popen(command, cwd=self.folder, stdout=errors, stderr=errors)
        self.processes.append(made)
        return made

    def end(self) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def remote(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Remote]:
    yield from running(tmp_path_factory.mktemp("remote"), 2)


@pytest.fixture
def doomed(bench: Bench, tmp_path: Path) -> Iterator[Remote]:
    """One to be destroyed."""
    yield from running(tmp_path, 1)


def running(folder: Path, workers: int) -> Iterator[Remote]:
    made = Remote(folder)
    try:
        made.start(workers)
        yield made
    finally:
        made.end()


def until(condition: Callable[[], Any], *processes: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "this takes too long"
        assert all(each.poll() is None for each in processes), "a process ended before its time"
        time.sleep(0.005)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def free_address() -> str:
    """Where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{taken.getsockname()[1]}"


# The same results


@pytest.fixture
def taken() -> Iterator[None]:
    """The port where Dask likes to show its pages: a local cluster needs no certain one."""
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):  # then somebody else has it: all the better
            other.bind(("127.0.0.1", 8787))
            other.listen()
        yield


@pytest.mark.usefixtures("taken")
def test_a_worker_killed_in_mid_job_changes_nothing(
    bench: Bench, expected: xarray.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "mark"
    alone = bench.sweep("stuck_once")
    assert alone.equals(expected)
    before = len(bench.ran())
    monkeypatch.setenv("MARK", str(mark))
    victims: list[int] = []

    def kill() -> None:
        until(lambda: mark.exists() and mark.read_text().endswith("\n"))
        victims.append(int(mark.read_text()))
        os.kill(victims[0], signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    with Cluster(workers=2) as cluster:
        workers = set(cluster._client.run(os.getpid).values())
        killer.start()
        data = bench.sweep("stuck_once", executor=cluster)
        replaced = set(cluster._client.run(os.getpid).values())
    killer.join()
    assert data.equals(alone)
    assert data.attrs["failed_jobs"] == 0
    [victim] = victims
    assert victim in workers
    assert os.getpid() not in workers
    ran = bench.ran()[before:]
    assert {seed for seed, _ in ran} == set(range(SEEDS))
    assert (4, victim) not in ran, "it died before it came to an end"
    assert not [pid for pid in workers | replaced if is_alive(pid)], "no process is left behind"


def test_a_scheduler_elsewhere_by_its_address(bench: Bench, expected: xarray.Dataset, remote: Remote) -> None:
    before = len(bench.ran())
    with Cluster(remote.address) as cluster:
        data = bench.sweep(executor=cluster)
    assert data.equals(expected)
    assert data.attrs["settings"] == expected.attrs["settings"]
    assert data.attrs["sweep"] == expected.attrs["sweep"]
    ran = bench.ran()[before:]
    assert sorted(seed for seed, _ in ran) == list(range(SEEDS)), "every job ran exactly once"
    assert {pid for _, pid in ran} <= {each.pid for each in remote.workers}
    assert all(each.poll() is None for each in remote.processes), "a cluster of others goes on when its user leaves"


def test_more_jobs_than_are_under_way_at_once(bench: Bench, remote: Remote) -> None:
    """The source is asked for jobs only as there is room: two for each worker."""
    asked: list[int] = []
    told: list[int] = []

    class Watched:
        def run(self, jobs: Iterable[tuple[str, Job]]) -> Iterator[tuple[str, Outcome]]:
            def counted() -> Iterator[tuple[str, Job]]:
                for k, each in enumerate(jobs):
                    asked.append(k - len(told))
                    yield each

            for each in cluster.run(counted()):
                told.append(1)
                yield each

    with Cluster(remote.address) as cluster:
        until(lambda: len(cluster._client.scheduler_info()["workers"]) == 2)
        data = bench.sweep(seeds=range(20), executor=Watched())
    assert np.isfinite(data.test).all()
    assert len(told) == 20
    assert max(asked) <= 4


# Failures


def test_a_job_that_raises_is_recorded_and_the_others_are_intact(
    bench: Bench, expected: xarray.Dataset, remote: Remote, tmp_path: Path
) -> None:
    path = tmp_path / "sweep.db"
    with (
        Cluster(remote.address) as cluster,
        pytest.warns(SweepWarning, match="1 of 10 jobs failed.*RuntimeError: no series today for seed 2"),
    ):
        data = bench.sweep("moody", executor=cluster, ledger=path)
    assert json.loads(data.attrs["errors"]) == ["RuntimeError: no series today for seed 2"]
    assert data.attrs["failed_jobs"] == 1
    assert np.isnan(data.sel(seed=2).to_dataarray()).all()
    others = [seed for seed in range(SEEDS) if seed != 2]
    assert data.sel(seed=others).equals(expected.sel(seed=others))
    with Ledger(path) as ledger:
        [sweep] = ledger.sweeps()
    assert (sweep["jobs"], sweep["done"], sweep["failed"]) == (SEEDS, SEEDS - 1, 1)


def test_a_job_that_kills_its_workers_is_given_up(bench: Bench) -> None:
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),  # the default, 3, takes longer to the same end
        Cluster(workers=1) as cluster,
        pytest.warns(SweepWarning, match="1 of 1 jobs failed.*KilledWorker"),
    ):
        data = bench.sweep("deadly", seeds=[0], executor=cluster)
    assert np.isnan(data.to_dataarray()).all()


def test_a_scheduler_that_dies_on_the_way_is_a_lost_connection(bench: Bench, doomed: Remote, tmp_path: Path) -> None:
    path = tmp_path / "sweep.db"

    def end(done: int, total: int, points: int) -> None:
        if done == 3:
            doomed.scheduler.kill()

    with Cluster(doomed.address) as cluster, pytest.raises(ConnectionError, match=doomed.address):
        bench.sweep(executor=cluster, ledger=path, progress=end)
    with Ledger(path) as ledger:
        assert ledger.sweeps()[0]["done"] >= 3
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT * FROM claims").fetchall() == []


# The ledger


def test_only_the_driver_writes_and_a_resumed_sweep_runs_nothing_again(
    bench: Bench, expected: xarray.Dataset, remote: Remote, tmp_path: Path
) -> None:
    path = tmp_path / "kept-by-the-driver.db"
    before = len(bench.ran())
    sent: list[bytes] = []
    claimants: set[int] = set()
    opened: set[str] = set()

    class Overheard:
        def run(self, jobs: Iterable[tuple[str, Job]]) -> Iterator[tuple[str, Outcome]]:
            def copied() -> Iterator[tuple[str, Job]]:
                for key, job in jobs:
                    sent.append(pickle.dumps(job))
                    yield key, job

            return cluster.run(copied())

    def look(done: int, total: int, note: str) -> None:
        if not done:
            return  # the file is not there yet
        with closing(sqlite3.connect(path, timeout=PATIENCE)) as connection:
            claimants.update(pid for (pid,) in connection.execute("SELECT pid FROM claims"))
        for worker in remote.workers:
            files = Path(f"/proc/{worker.pid}/fd")
            opened.update(os.path.realpath(each) for each in (files.iterdir() if files.exists() else ()))

    with Cluster(remote.address) as cluster:
        data = bench.sweep(executor=Overheard(), ledger=path, progress=look)
        assert data.equals(expected)
        assert len(bench.ran()) - before == SEEDS
        assert claimants == {os.getpid()}
        assert not [each for each in sent if path.name.encode() in each], "a job knows nothing of the ledger"
        assert not [each for each in opened if path.name in each]

        again = bench.sweep(executor=cluster, ledger=path)
    here = bench.sweep(ledger=path)
    assert again.equals(expected)
    assert here.equals(expected)
    assert len(bench.ran()) - before == SEEDS, "nothing ran again"


def test_a_sweep_that_is_stopped_leaves_no_claim_and_goes_on(
    bench: Bench, expected: xarray.Dataset, remote: Remote, tmp_path: Path
) -> None:
    path = tmp_path / "sweep.db"

    def stop(done: int, total: int, points: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    with Cluster(remote.address) as cluster:
        with pytest.raises(KeyboardInterrupt):
            bench.sweep(executor=cluster, ledger=path, progress=stop)
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("SELECT count(*) FROM jobs").fetchone() == (4,)
            assert connection.execute("SELECT * FROM claims").fetchall() == []
        data = bench.sweep(executor=cluster, ledger=path)
    assert data.equals(expected)


# No cluster


def test_nobody_at_the_address() -> None:
    address = free_address()
    start = time.monotonic()
    with (
        pytest.raises(ConnectionError, match=rf"{address} did not answer within 0\.5 s.* is the scheduler running"),
        Cluster(address, timeout=0.5),
    ):
        pass
    assert time.monotonic() - start < 5.0


def test_a_mistyped_address_is_named_and_leaves_nothing_behind() -> None:
    """No client that is the default of the process, which Dask would send everything to from then on."""
    with pytest.raises(ValueError, match=r"'nonsense' is no address of a scheduler.*'tcp://host:8786'"), Cluster("nonsense"):
        pass
    with pytest.raises(ValueError, match="No global client found"):
        distributed.get_client()


def test_a_scheduler_without_workers() -> None:
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as empty,
        pytest.raises(ConnectionError, match=rf"{empty.scheduler_address} .*has no workers"),
        Cluster(empty.scheduler_address, timeout=0.5),
    ):
        pass


@pytest.mark.parametrize("given", [{}, {"scheduler": "tcp://127.0.0.1:8786", "workers": 2}], ids=["neither", "both"])
def test_either_an_address_or_a_number(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="give either the address of a scheduler or a number of local workers"):
        Cluster(**given)


@pytest.mark.parametrize(("workers", "kind"), [(0, ValueError), (-1, ValueError), (1.5, TypeError), ("2", TypeError)])
def test_numbers_of_workers_that_make_no_sense(workers: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="workers must be"):
        Cluster(workers=workers)


def test_outside_of_a_with_statement(bench: Bench) -> None:
    with pytest.raises(RuntimeError, match="not connected: use the cluster in a `with` statement"):
        bench.sweep(executor=Cluster(free_address()))


def test_after_the_with_statement(bench: Bench, remote: Remote) -> None:
    with Cluster(remote.address) as cluster:
        pass
    cluster.close()  # again: nothing happens
    with pytest.raises(RuntimeError, match="not connected"):
        bench.sweep(executor=cluster)


def test_without_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    cluster = Cluster(workers=1)
    with pytest.raises(ImportError, match=r"a cluster needs Dask: pip install 'echoscale\[distributed\]'"), cluster:
        pass
