"""Attack for as long as one wants: `make fuzz SECONDS=3600`.

Attacks run in processes of their own, so that one that ends its process is found too. What is found is kept in crashes/ as a
small file, and replayed by the tests; the counts go to results/attacks.json and .md.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from outcomes import BAD, GOOD, Attack, Found  # noqa: E402

PATIENCE = 400.0  # seconds for one attack, on a machine that others use too
LOADING = 8.0  # seconds before the first
# Each is made so often before any is made more often, where the time allows.
LEAST = {
    "model files, damaged": 12_000,
    "model files, crafted with a right checksum": 3_000,
    "files of es.auto, NVAR and forecasters, crafted": 3_000,
    "model files, other layouts with a right checksum": 3_000,
    "feature files, damaged": 4_000,
    "finished jobs, damaged": 12_000,
    "image files, damaged": 5_000,
    "writers, killed": 80,
    "features, computation killed": 22,
    "sweeps, killed or stopped": 22,
    "Dask clusters, parts killed": 5,
    "random networks against NumPy": 800,
    "networks of 1 to 16 units": 200,
    "random calls": 12_500,
    "streams cut, saved and loaded": 200,
    "command lines": 1_000,
    "broken tables": 1_000,
}
# Memory where there is some: thousands of small files need no disk.
SHELF = "/dev/shm" if Path("/dev/shm").is_dir() else None


def attacks() -> dict[str, Attack]:
    """All of them, by name."""
    import calls_attacked
    import files_attacked
    import kills_attacked

    return {**files_attacked.ATTACKS, **kills_attacked.ATTACKS, **calls_attacked.ATTACKS}


def kills() -> set[str]:
    """Those in which processes are killed."""
    import kills_attacked

    return set(kills_attacked.ATTACKS)


def attempt(name: str, seed: int, folder: Path) -> str:
    """One attack: what became of it; `Found` where it found something."""
    try:
        return attacks()[name](np.random.default_rng(seed), folder)
    except Found:
        raise
    except AssertionError as error:
        raise Found("silent", str(error)) from error


def worker(name: str, first: int, seconds: float, most: int) -> None:
    """In a process of its own: seeds from `first` on, a line before and a line after each."""
    with tempfile.TemporaryDirectory(dir=SHELF) as folder:
        seed, end = first, None
        while seed < first + most and (end is None or time.monotonic() < end):
            print(json.dumps({"begins": seed}), flush=True)
            try:
                said = {"seed": seed, "outcome": attempt(name, seed, Path(folder))}
            except Found as found:
                said = {"seed": seed, "outcome": found.kind, "what": found.what}
            except Exception as error:
                said = {"seed": seed, "outcome": "obscure", "what": f"{type(error).__name__}: {error}"}
            print(json.dumps(said), flush=True)
            end = end or time.monotonic() + seconds  # the first one compiles and loads
            seed += 1


def observed(name: str, first: int, seconds: float, most: int = 1 << 40) -> tuple[Counter[str], list[dict[str, object]], int]:
    """What a worker said: counts, what was found, and the next seed."""
    command = [sys.executable, str(HERE / "run.py"), "--worker", name, str(first), str(seconds), str(most)]
    counts: Counter[str] = Counter()
    found: list[dict[str, object]] = []
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + PATIENCE, check=False)
        lines, status = done.stdout.splitlines(), done.returncode
    except subprocess.TimeoutExpired as error:
        lines, status = (error.stdout or b"").decode(errors="replace").splitlines(), -1
    begun = first
    for line in lines:
        said = json.loads(line)
        begun = int(said.get("begins", begun))
        if "outcome" in said:
            counts[said["outcome"]] += 1
            if said["outcome"] in BAD:
                found.append({"attack": name, **said})
    if status != 0:
        counts["abort"] += 1
        found.append({"attack": name, "seed": begun, "outcome": "abort", "what": f"status {status}"})
    return counts, found, begun + 1


def kept(found: dict[str, object]) -> Path:
    """A small file that the tests replay."""
    slug = re.sub(r"[^a-z0-9]+", "-", str(found["attack"]).lower())
    path = HERE / "crashes" / f"{slug}-{found['seed']}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return path


def table(result: dict[str, object]) -> str:
    """The counts as Markdown."""
    columns = [*GOOD, *BAD]
    rows: dict[str, dict[str, int]] = result["attacks"]  # type: ignore[assignment]
    lines = [f"| attack | tried | {' | '.join(columns)} |", "|---" * (len(columns) + 2) + "|"]
    for name, counts in rows.items():
        numbers = " | ".join(f"{counts.get(each, 0):,}" for each in columns)
        lines.append(f"| {name} | {sum(counts.values()):,} | {numbers} |")
    return "\n".join(lines)


def commit() -> str:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=HERE, check=False)
    return done.stdout.strip() or "unknown"


def main() -> int:
    """The exit status: 1 where something was found."""
    parser = argparse.ArgumentParser(description="Attack echoscale.")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--only", help="part of an attack's name")
    parser.add_argument("--processes", type=int, default=1, help="attacks at once")
    parser.add_argument("--worker", nargs=4, metavar=("NAME", "FIRST", "SECONDS", "MOST"))
    given = parser.parse_args()
    if given.worker:
        worker(given.worker[0], int(given.worker[1]), float(given.worker[2]), int(given.worker[3]))
        return 0
    names = [name for name in attacks() if given.only is None or given.only in name]
    totals: dict[str, Counter[str]] = {name: Counter() for name in names}
    begin, everything = time.monotonic(), []
    seeds = dict.fromkeys(names, int(time.time()) % 1_000_000 * 1000)
    end = begin + given.seconds

    def turn(name: str, share: float) -> None:
        most = LEAST[name] - totals[name].total()
        counts, found, seeds[name] = observed(name, seeds[name], share, most if most > 0 else LEAST[name])
        totals[name] += counts
        for each in found:
            everything.append(each)
            print(f"FOUND {each} -> {kept(each)}", flush=True)
        print(f"{name}: {dict(totals[name])}", flush=True)
        written(totals, time.monotonic() - begin, again=given.only is not None)

    while time.monotonic() < end:
        few = [name for name in names if totals[name].total() < LEAST[name]] or names
        # Every attack has its turn in a short run too; loading and compiling come on top.
        share = max((end - time.monotonic()) * given.processes / len(few) - LOADING, 2.0)
        with ThreadPoolExecutor(given.processes) as pool:
            list(pool.map(turn, few, [share] * len(few)))
    return 1 if everything else 0


def written(totals: dict[str, Counter[str]], seconds: float, again: bool) -> None:
    """The counts so far, as the page shows them; attacks that are made again take the place of earlier ones."""
    if again:
        result = json.loads((HERE / "results" / "attacks.json").read_text(encoding="utf-8"))
        for name, counts in totals.items():
            if counts:
                result["attacks"][name] = dict(counts)
                result.setdefault("again", {})[name] = commit()
        return kept_counts(result)
    result = {
        "commit": commit(),
        "date": datetime.now(UTC).date().isoformat(),
        "seconds": round(seconds),
        "attacks": {name: dict(counts) for name, counts in totals.items() if counts},
    }
    return kept_counts(result)


def kept_counts(result: dict[str, object]) -> None:
    """As JSON, and as a table."""
    folder = HERE / "results"
    folder.mkdir(exist_ok=True)
    (folder / "attacks.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    (folder / "attacks.md").write_text(table(result) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
