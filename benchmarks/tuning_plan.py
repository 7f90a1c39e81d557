"""What `tuning.py` compares: settings, methods, sets of learned numbers, and the jobs that they make. Imports nothing heavy."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

TASKS = {"narma10": 10, "narma5": 5}
# Constants of the search in `echoscale.tuning` were looked at on the first group; the second chose nothing.
SEEN, FRESH = tuple(range(5)), tuple(range(10, 15))

SETS = {
    "leaks": ("leak_rate",),
    "six": ("leak_rate", "spectral_radius", "input_scaling[0]", "coupling"),
    "all": ("leak_rate", "spectral_radius", "input_scaling", "bias_scaling", "coupling", "ridge"),
}


class Method(NamedTuple):
    """A way to find the numbers, and the sets it is tried on.

    after  whose simulated steps it is given
    long   the sets for which it goes on when they are used up
    """

    text: str
    sets: tuple[str, ...]
    after: str | None = None
    long: tuple[str, ...] = ()


EVERY = tuple(SETS)
# The order is that of the work: what others wait for first, then what takes longest.
METHODS = {
    "tune": Method("`es.tune`", EVERY),
    "online-rls": Method("online, RLS readout", ("leaks",)),
    "online-adam": Method("online, the paper's rule", ("leaks",)),
    "tune-single": Method("`es.tune` on a single network", EVERY),
    "tune-independent": Method("`es.tune(relocate=False)`", EVERY),
    "tune-few": Method("`es.tune(starts=2)`", EVERY),
    "grid": Method("grid", ("leaks",)),
    "random": Method("random search", EVERY, "tune", long=("leaks", "six")),
    "random-bounds": Method("random search, whole bounds", ("six", "all"), "tune"),
    "random-path-bounds": Method("random search, both", ("all",), "tune"),
    "tpe": Method("Optuna TPE", EVERY, "tune"),
    "tpe-path": Method("Optuna TPE, ridge by its path", ("all",), "tune"),
    "tpe-bounds": Method("Optuna TPE, whole bounds", ("six", "all"), "tune"),
}


@dataclass(frozen=True)
class Settings:
    """All that determines the numbers, but for the seed."""

    washout: int = 200
    train: int = 5000
    validation: int = 1500
    test: int = 2500
    units: tuple[int, ...] = (50, 50)
    spectral_radius: float = 0.95
    input_scaling: float = 0.2
    ridge: float = 1e-5
    starts: int = 8
    few: int = 2  # starts of `tune-few`
    rounds: int = 60
    grid: int = 20
    longer: int = 10  # how many times the steps of `tune` a long random search gets
    lanes: int = 64  # random points that run together
    batch: int = 8  # trials that TPE suggests together
    start_leak: float = 0.5  # of both levels, online
    sequences: int = 10
    checkpoints: tuple[int, ...] = (10_000, 30_000, 100_000, 300_000, 1_000_000)
    rls_forgetting: float = 0.999  # this and the next were chosen on NARMA10, seed 0, from a handful
    rls_rate: float = 1e-3
    first_stream_seed: int = 10_000

    @property
    def known(self) -> int:
        """Steps that a search may see: one evaluation of a point simulates so many."""
        return self.washout + self.train + self.validation

    @property
    def length(self) -> int:
        """Of the whole series."""
        return self.known + self.test


FULL = Settings()
QUICK = Settings(
    train=800,
    validation=400,
    test=800,
    units=(20, 20),
    starts=4,
    rounds=10,
    grid=8,
    checkpoints=(1_000, 3_000, 10_000),
)


class Job(NamedTuple):
    """One search: it runs by itself and leaves one file."""

    task: str
    set: str
    method: str
    seed: int

    def __str__(self) -> str:
        return f"{self.task}-{self.set}-{self.method}-{self.seed}"

    @property
    def long(self) -> bool:
        """Whether it goes on when the steps that it was given are used up, so that one sees how far it would come."""
        return self.set in METHODS[self.method].long

    @property
    def family(self) -> str:
        """The method without its variants."""
        return self.method.partition("-")[0]

    @property
    def variants(self) -> tuple[str, ...]:
        """Of random search and TPE: "path", the best penalty of a path for every point; "bounds", wider ranges."""
        return tuple(self.method.split("-")[1:])

    @property
    def needs(self) -> Job | None:
        """The job whose simulated steps this one is given."""
        after = METHODS[self.method].after
        return None if after is None else self._replace(method=after)


def jobs(tasks: Iterable[str], sets: Iterable[str], methods: Iterable[str], seeds: Iterable[int]) -> Iterator[Job]:
    """All of them, in the order of the work; the larger sets take longer and come first."""
    wanted, tasks, seeds = set(sets), list(tasks), list(seeds)
    chosen = set(methods)
    for method in METHODS:
        for name in reversed(METHODS[method].sets):
            if method in chosen and name in wanted:
                for seed in seeds:
                    yield from (Job(task, name, method, seed) for task in tasks)


def load(folder: Path, job: Job, settings: Settings) -> dict[str, Any] | None:
    """What a job found, if it was done with these settings."""
    path = folder / f"{job}.json"
    if not path.exists():
        return None
    found = json.loads(path.read_text(encoding="utf-8"))
    return found if found["settings"] == plain(settings) else None


def save(folder: Path, name: str, content: Any, indent: int | None = None) -> Path:
    """Write a file that is there as a whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".part", delete=False, encoding="utf-8") as file:
        file.write(content if isinstance(content, str) else json.dumps(content, indent=indent) + "\n")
    os.chmod(file.name, 0o644)
    os.replace(file.name, folder / name)
    return folder / name


def plain(settings: Settings) -> dict[str, Any]:
    """As JSON gives it back."""
    return json.loads(json.dumps(asdict(settings)))
