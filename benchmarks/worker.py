"""One contender on one row, in a process of its own: `python worker.py CONTENDER ROW [--quick]`.

It prepares the work, tries every candidate, keeps the fastest and then waits: each line `measure` on standard input makes
one measurement, so that the parent can take turns between contenders. Answers are lines of JSON on standard output;
whatever the libraries print goes to standard error.
"""

from __future__ import annotations

import gc
import importlib
import importlib.metadata
import json
import math
import os
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any, TextIO

import numpy as np
import rows
from contenders import Candidate, Contender, find_contender
from rows import Row

# Short calls are repeated within a measurement until they fill this many seconds.
MEASUREMENT_SECONDS = 0.2
MOST_CALLS = 50
# Largest difference from the reference at which the states count as the same (float32 keeps well below); the coefficients of
# a readout, relative to the largest of them.
TOLERANCE = 1e-3


def main(name: str, row_name: str, quick: bool) -> None:
    answers = _take_stdout()

    def say(event: str, **content: Any) -> None:
        print(json.dumps({"event": event, **content}), file=answers, flush=True)

    contender, row = find_contender(name), rows.find_row(row_name, quick)
    absent = [module for module in contender.requires if not _importable(module)]
    if absent:
        say("absent", reason=f"not installed ({', '.join(absent)})")
        return
    try:
        chosen, seconds = _prepare(contender, row, say)
        for line in sys.stdin:
            if line.strip() != "measure":
                break
            seconds = measure(chosen.call, seconds)
            say("measured", seconds=seconds / chosen.share)
    except KeyboardInterrupt:
        return
    except Exception as error:  # whatever a library raises becomes an entry of the table
        say("failed", reason=f"{type(error).__name__}: {error}".splitlines()[0][:200], traceback=traceback.format_exc())


def _take_stdout() -> TextIO:
    """Standard output for our answers alone; from here on prints of the libraries go to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


def _importable(module: str) -> bool:
    """Whether the module can be found; a package that lacks its own dependencies counts as not importable."""
    try:
        importlib.import_module(module)
    except ImportError:
        return False
    return True


def _prepare(contender: Contender, row: Row, say: Callable[..., None]) -> tuple[Candidate, float]:
    """Try every candidate, report, and return the fastest with the seconds of its warm call."""
    candidates = importlib.import_module(f"contenders.{contender.module}").prepare(row)
    trials = []
    for candidate in candidates:
        say("trying", candidate=candidate.name)
        trials.append(_try(candidate, row))
    right = [trial for trial in trials if trial["reason"] is None]
    if not right:
        raise RuntimeError("; ".join(trial["reason"] for trial in trials))
    best = min(right, key=lambda trial: trial["seconds"])
    chosen = candidates[trials.index(best)]
    say(
        "ready",
        candidate=chosen.name,
        dtype=chosen.dtype,
        share=chosen.share,
        coupling=chosen.coupling,
        first_call=best["first_call"],
        difference=best["difference"],
        readout_difference=best["readout_difference"],
        trials=trials,
        versions=versions(contender),
    )
    return chosen, best["seconds"] * chosen.share


def _try(candidate: Candidate, row: Row) -> dict[str, Any]:
    """First call (with compilation), warm calls, and the largest difference from the reference; times are for the row."""
    trial: dict[str, Any] = {"candidate": candidate.name, "dtype": candidate.dtype, "share": candidate.share}
    trial |= {"first_call": None, "seconds": None, "difference": None, "readout_difference": None, "reason": None}
    try:
        trial["first_call"] = _seconds(candidate.call)
        trial["seconds"] = measure(candidate.call, _seconds(candidate.call)) / candidate.share
        trial["difference"] = _difference(candidate, row)
        if not trial["difference"] <= TOLERANCE:
            trial["reason"] = f"states differ from the reference by {trial['difference']:.2g}"
        if candidate.readout is not None:
            trial["readout_difference"] = _readout_difference(candidate.readout(), row, candidate)
            if not trial["readout_difference"] <= TOLERANCE:
                trial["reason"] = f"coefficients differ from the reference by {trial['readout_difference']:.2g} of the largest"
    except Exception as error:
        trial["reason"] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        traceback.print_exc()
    return trial


def _difference(candidate: Candidate, row: Row) -> float:
    """The largest difference of the candidate's states from the reference."""
    states = np.asarray(candidate.probe(), dtype=np.float64)
    expected = rows.probe_states(row, candidate.block, candidate.coupling)
    if states.shape != expected.shape:
        raise ValueError(f"states have shape {states.shape}, expected {expected.shape}")
    return float(np.abs(states - expected).max())


def _readout_difference(coefficients: Any, row: Row, candidate: Candidate) -> float:
    """The largest difference of the candidate's coefficients from the reference, as a part of the largest of these."""
    block = rows.draw_weights(row).block() if candidate.block is None else candidate.block
    expected = rows.training_readout(row, block)
    if np.shape(coefficients) != expected.shape:
        raise ValueError(f"coefficients have shape {np.shape(coefficients)}, expected {expected.shape}")
    return float(np.abs(coefficients - expected).max() / np.abs(expected).max())


def measure(call: Callable[[], object], expected: float) -> float:
    """Seconds of one call: the mean of as many as fill a measurement."""
    count = max(1, min(MOST_CALLS, math.ceil(MEASUREMENT_SECONDS / max(expected, 1e-9))))
    gc.collect()
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def _seconds(call: Callable[[], object]) -> float:
    """Seconds of a single call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def versions(contender: Contender) -> dict[str, str]:
    """Version of every distribution that the contender names."""
    found = {}
    for name in contender.distributions:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = str(getattr(sys.modules.get(name), "__version__", "unknown"))
    return found


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], "--quick" in sys.argv[3:])
