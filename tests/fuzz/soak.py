"""Hours of work in one process: streaming, saving, loading, killed writers, networks of ever new shapes; memory stays flat.

`make soak SECONDS=3600`. Every round does the same; the table shows the memory after some of them. It fails where the second
half of the rounds took more than `ALLOWED` beyond the first half.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import run  # noqa: E402

import echoscale as es  # noqa: E402
from echoscale.engine import devices  # noqa: E402

ALLOWED = 64.0  # MiB
WARM = 3  # rounds before the first that counts: they load and compile


def memory() -> float:
    """MiB that this process holds."""
    found = re.search(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


def one_round(k: int, learner: Any, folder: Path) -> Any:
    """A thousand steps, a file, a killed writer, and networks that were never met; returns the learner that goes on."""
    rng = np.random.default_rng(k)
    u = rng.normal(size=(1000, 1))
    learner.partial_fit(u, np.roll(u, 3, axis=0))
    loaded = es.load(es.save(learner, folder / "learner.es"))
    np.testing.assert_array_equal(loaded.readout.coef, learner.readout.coef)
    if k % 10 == 0:
        run.attempt("writers, killed", k, folder)
    for name in ("model files, damaged", "feature files, damaged", "finished jobs, damaged"):
        for seed in range(10 * k, 10 * k + 10):
            run.attempt(name, seed, folder)
    es.parallel([int(each) for each in rng.integers(2, 60, 2)], connections=2).build(1).run(u[: int(rng.integers(5, 60))])
    return loaded


def main() -> int:
    """The exit status: 1 where memory grew."""
    parser = argparse.ArgumentParser(description="Work for hours.")
    parser.add_argument("--seconds", type=float, default=600.0)
    seconds = parser.parse_args().seconds
    devices._programs.most = 60  # reached some times in a short run too
    learner: Any = es.OnlineLearner(es.single(20), washout=10, record=1000)
    rows: list[tuple[int, float, float]] = []
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        k = 0
        while time.monotonic() - begin < seconds or k < 2 * WARM + 4:
            learner = one_round(k, learner, Path(folder))
            rows.append((k, time.monotonic() - begin, memory()))
            if k % 20 == 0:
                print(f"round {k}: {rows[-1][1]:.0f} s, {rows[-1][2]:.0f} MiB", flush=True)
            k += 1
    counted = rows[WARM:]
    half = len(counted) // 2
    growth = max(each[2] for each in counted[half:]) - max(each[2] for each in counted[:half])
    shown = [rows[int(each)] for each in np.unique(np.linspace(0, len(rows) - 1, 9).astype(int))]
    result = {
        "commit": run.commit(),
        "date": datetime.now(UTC).date().isoformat(),
        "seconds": round(rows[-1][1]),
        "rounds": len(rows),
        "steps": learner.steps,
        "programs_forgotten": devices._programs.forgotten,
        "growth_mib": round(growth, 1),
        "memory_mib": [[place, round(at), round(held)] for place, at, held in shown],
    }
    lines = ["| round | after s | MiB |", "|---|---|---|", *(f"| {a} | {b:.0f} | {c:.0f} |" for a, b, c in shown)]
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results" / "soak.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    (HERE / "results" / "soak.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines), f"\ngrowth {growth:.1f} MiB", flush=True)
    return 1 if growth > ALLOWED else 0


if __name__ == "__main__":
    sys.exit(main())
