"""Jobs on a Dask cluster through its executor, with real processes: the same Dataset, whatever happens to the workers."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import xarray

import echoscale as es
from echoscale.sweeps import Protocol, SweepWarning, Task, jobs

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
    if seed == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return noted(length, seed)
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
    place = tmp_path_factory.mktemp("bench")
    (place / "cluster_series.py").write_text(f"PATIENCE = {PATIENCE}\n{MODULE}")
    (place / "log").touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(place), *filter(None, [os.environ.get("PYTHONPATH")])]))
        patch.setenv("LOG", str(place / "log"))
        patch.setenv("MARK", str(place / "mark"))
        patch.syspath_prepend(place)
        importlib.import_module("cluster_series")
        yield Bench(place)
    sys.modules.pop("cluster_series", None)


@pytest.fixture(scope="module")
def expected(bench: Bench) -> xarray.Dataset:
    """What this process computes."""
    return bench.sweep()


@pytest.fixture(scope="module")
def client(bench: Bench) -> Iterator[Any]:
    """A local cluster with two worker processes."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),  # the default, 3, takes longer to the same end
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        distributed.Client(cluster, set_as_default=False) as made,
    ):
        yield made


def until(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "this takes too long"
        time.sleep(0.005)


def test_a_worker_killed_in_mid_job_changes_nothing(
    bench: Bench, expected: xarray.Dataset, client: Any, tmp_path: Path
) -> None:
    mark = bench.folder / "mark"
    victims: list[int] = []

    def kill() -> None:
        until(lambda: mark.exists() and mark.read_text().endswith("\n"))
        victims.append(int(mark.read_text()))
        os.kill(victims[0], signal.SIGKILL)

    before = len(bench.ran())
    workers = set(client.run(os.getpid).values())
    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    data = bench.sweep("stuck_once", executor=client.get_executor(), folder=tmp_path)
    killer.join()
    assert data.equals(expected)
    assert data.attrs["failed_jobs"] == 0
    assert len(workers) == 2
    assert set(victims) < workers
    assert os.getpid() not in workers
    ran = bench.ran()[before:]
    assert {seed for seed, _ in ran} == set(range(SEEDS))
    assert (4, victims[0]) not in ran, "it died before it came to an end"

    again = bench.sweep("stuck_once", executor=client.get_executor(), folder=tmp_path)
    here = bench.sweep("stuck_once", folder=tmp_path)
    assert again.equals(expected)
    assert here.equals(expected)
    assert len(bench.ran()) == before + len(ran), "nothing ran again"


def test_a_job_that_raises_is_recorded_and_the_others_are_intact(
    bench: Bench, expected: xarray.Dataset, client: Any, tmp_path: Path
) -> None:
    with pytest.warns(SweepWarning, match="1 of 10 jobs failed.*RuntimeError: no series today for seed 2"):
        data = bench.sweep("moody", executor=client.get_executor(), folder=tmp_path)
    assert data.attrs["failed_jobs"] == 1
    assert np.isnan(data.sel(seed=2).to_dataarray()).all()
    others = [seed for seed in range(SEEDS) if seed != 2]
    assert data.sel(seed=others).equals(expected.sel(seed=others))
    [sweep] = jobs.sweeps(tmp_path)
    assert (sweep["jobs"], sweep["done"], sweep["failed"]) == (SEEDS, SEEDS - 1, 1)


def test_a_job_that_kills_its_workers_is_given_up(bench: Bench, expected: xarray.Dataset, client: Any) -> None:
    with pytest.warns(SweepWarning, match="1 of 3 jobs failed.*KilledWorker"):
        data = bench.sweep("deadly", seeds=[1, 2, 3], executor=client.get_executor())
    assert np.isnan(data.sel(seed=2).to_dataarray()).all()
    assert data.sel(seed=[1, 3]).equals(expected.sel(seed=[1, 3]))


def test_a_sweep_that_is_stopped_goes_on(bench: Bench, expected: xarray.Dataset, client: Any, tmp_path: Path) -> None:
    def stop(done: int, total: int, note: str) -> None:
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bench.sweep(executor=client.get_executor(), folder=tmp_path, progress=stop)
    assert len(list(tmp_path.glob("*.npz"))) == 4
    data = bench.sweep(executor=client.get_executor(), folder=tmp_path)
    assert data.equals(expected)


def test_a_cluster_that_goes_away_is_a_lost_connection(bench: Bench, tmp_path: Path) -> None:
    with (
        distributed.LocalCluster(n_workers=1, processes=False, dashboard_address="127.0.0.1:0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):

        def end(done: int, total: int, note: str) -> None:
            if done == 3:
                client.close()

        with pytest.raises(ConnectionError, match=r"are gone.*Finished jobs are kept: run again"):
            bench.sweep(executor=client.get_executor(), folder=tmp_path, progress=end)
    assert len(list(tmp_path.glob("*.npz"))) >= 3
