"""Attacks by kill -9: writers of files, computations of features, sweeps that keep their jobs, workers of a cluster."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from outcomes import Attack, Found, seed_of

import echoscale as es
from echoscale._internal.files import write_atomically
from echoscale.sweeps import Protocol, Task, jobs

ROOT = Path(__file__).resolve().parents[2]

WRITER = """
import sys
from pathlib import Path
from echoscale._internal.files import write_atomically
content = [bytes([k]) * 3_000_000 for k in (65, 66)]
print("ready", flush=True)
while True:
    for each in content:
        write_atomically(Path(sys.argv[1]), each)
"""
COMPUTER = """
import sys
sys.path.insert(0, sys.argv[2])
import kills_attacked
kills_attacked.features_to(None)
print("ready", flush=True)
while True:
    kills_attacked.features_to(sys.argv[1])
"""
DRIVER = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, sys.argv[2])
import kills_attacked
kills_attacked.swept(None, 2)
print("ready", flush=True)
kills_attacked.swept(sys.argv[1])
"""


def ended(script: str, path: Path, wait: float, sign: int = signal.SIGKILL) -> None:
    """Run a script that says when it is ready, and end it so many seconds later."""
    command = [sys.executable, "-W", "ignore", "-c", script, str(path), str(Path(__file__).parent)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert child.stdout is not None
    try:
        if child.stdout.readline() != b"ready\n":
            raise Found("abort", f"a process ended before its time: {child.wait()}")
        time.sleep(wait)
    finally:
        child.send_signal(sign)
        child.wait()
        child.stdout.close()


def killed_writer(rng: np.random.Generator, folder: Path) -> str:
    """The file is whole, and the next writer replaces it."""
    path = folder / f"killed {rng.integers(1 << 30)}.bin"
    ended(WRITER, path, float(rng.uniform(0.005, 0.08)))
    if path.exists() and (len(content := path.read_bytes()) != 3_000_000 or len(set(content)) != 1):
        raise Found("lost", "half a file")
    write_atomically(path, b"next")
    if path.read_bytes() != b"next":
        raise Found("lost", "a write after a kill")
    path.unlink()
    return "right"


def features_to(path: str | Path | None, overwrite: bool = True) -> Any:
    """Features of small networks, in many blocks; in memory where there is no path."""
    es.readouts.features.block_size = lambda *_: 3
    u = np.random.default_rng(0).normal(size=(90, 12, 1))
    return es.readouts.features.compute(
        es.single(6).build(1, seed=0), u, 3, path=path, overwrite=overwrite and path is not None
    )


@cache
def features() -> Any:
    """All of them, without a file."""
    return np.array(features_to(None).array)


def killed_features(rng: np.random.Generator, folder: Path) -> str:
    """Computed on from what the file holds: the same bits."""
    path = folder / "features.npy"
    for old in folder.glob("features.npy*"):
        old.unlink()
    ended(COMPUTER, path, float(rng.uniform(0, 0.2)))
    if not np.array_equal(features_to(path, overwrite=False).array, features()):
        raise Found("silent", "features of a killed computation were used")
    return "right"


def swept(kept: str | Path | None, seeds: int = 12) -> Any:
    """A sweep of small networks."""
    protocol = Protocol(washout=10, train=80, validation=30, test=30, ridge=(1e-5, 1e-2))
    return es.sweep(es.single(5), "narma", {"leak_rate": [0.3, 1.0], "seed": range(seeds)}, protocol=protocol, folder=kept)


@cache
def scores() -> Any:
    """Without a folder."""
    return swept(None)


def contents(kept: Path) -> dict[str, str]:
    """The results of all finished jobs."""
    return {each.name: repr(jobs.read(each)) for each in kept.glob("*.npz")}


def killed_sweep(rng: np.random.Generator, folder: Path) -> str:
    """Killed or stopped, and run on: the same bits, and finished jobs stay as they are."""
    path = folder / "sweep"
    shutil.rmtree(path, ignore_errors=True)
    ended(DRIVER, path, float(rng.uniform(0, 0.4)), signal.SIGKILL if rng.random() < 0.7 else signal.SIGINT)
    before = contents(path)
    if not swept(path).equals(scores()):
        raise Found("silent", "a sweep that was killed gives other scores")
    if not before.items() <= contents(path).items():
        raise Found("lost", "results that were finished have changed")
    return "right"


CHAIN = """
import os, signal, sys
sys.path.insert(0, sys.argv[2])
import kills_attacked
kills_attacked.swept(None, 1)
kills_attacked.SAYS_READY.append(True)
kills_attacked.noted(sys.argv[1])
"""
CHAIN_JOBS = 1_000
SAYS_READY: list[bool] = []


def logged(length: int, seed: int) -> Any:
    """A task that notes when a job begins; 20 ms for each, so that kills fall into jobs and between them."""
    if SAYS_READY:
        print("ready", flush=True)
        SAYS_READY.clear()
    with open(os.environ["KILLS_LOG"], "a") as log:
        log.write(f"{seed}\n")
    time.sleep(0.02)
    return es.tasks.narma(length, order=3, seed=seed)


def noted(kept: str | Path) -> Any:
    """A sweep of many small jobs that note when they begin."""
    protocol = Protocol(washout=10, train=80, validation=30, test=30, ridge=(1e-5, 1e-2))
    task = Task("kills_attacked:logged")
    return es.sweep(es.single(5), task, {"leak_rate": [0.3, 1.0], "seed": range(CHAIN_JOBS)}, protocol=protocol, folder=kept)


def chain(folder: Path, kills: int, seed: int = 0) -> dict[str, int]:
    """One sweep killed again and again until it is done: finished jobs lost, and jobs that began more than once.

    A job may begin once more for every kill, where it was the one under way.
    """
    rng, kept, log = np.random.default_rng(seed), folder / "chain", folder / "log"
    log.touch()
    os.environ["KILLS_LOG"] = str(log)
    before: dict[str, str] = {}
    lost = unequal = done = repeated = most = 0
    for _ in range(kills):
        begun = log.read_text().count("\n")
        ended(CHAIN, kept, float(rng.uniform(0, 0.5)))
        after = contents(kept) if kept.exists() else {}
        lost += len(before.keys() - after.keys())
        unequal += sum(after[name] != before[name] for name in before.keys() & after.keys())
        # Begun in this run and not finished in it: under way when the kill came.
        wasted = log.read_text().count("\n") - begun - (len(after) - len(before))
        repeated, most = repeated + wasted, max(most, wasted)
        before, done = after, len(after)
    found = noted(kept)
    begun = log.read_text().count("\n")
    whole = noted(folder / "whole")
    return {
        "kills": kills,
        "finished at the last kill": done,
        "finished jobs lost": lost,
        "finished jobs that changed": unequal,
        "jobs": CHAIN_JOBS,
        "begun": begun,
        "begun again because of kills": repeated,
        "most for one kill": most,
        "scores equal to those of an uninterrupted sweep": int(found.equals(whole)),
    }


CLUSTER = (
    "test_a_worker_killed_in_mid_job_changes_nothing",
    "test_a_job_that_kills_its_workers_is_given_up",
    "test_a_cluster_that_goes_away_is_a_lost_connection",
    "test_a_sweep_that_is_stopped_goes_on",
)


def killed_cluster(rng: np.random.Generator, folder: Path) -> str:
    """One of the tests in which workers, jobs, schedulers or drivers of a Dask cluster end."""
    test = f"tests/sweeps/test_cluster.py::{CLUSTER[seed_of(rng) % len(CLUSTER)]}"
    command = [sys.executable, "-m", "pytest", test, "-q", "-p", "no:cacheprovider", f"--basetemp={folder / 'dask'}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    shutil.rmtree(folder / "dask", ignore_errors=True)
    if done.returncode:
        raise Found("lost", done.stdout[-500:])
    return "right"


ATTACKS: dict[str, Attack] = {
    "writers, killed": killed_writer,
    "features, computation killed": killed_features,
    "sweeps, killed or stopped": killed_sweep,
    "Dask clusters, parts killed": killed_cluster,
}
