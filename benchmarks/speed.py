"""How long the same work takes in echoscale, in other reservoir libraries and in a plain NumPy loop.

    python benchmarks/speed.py                               everything, about a quarter of an hour on two cores
    python benchmarks/speed.py --quick                       one small row, three contenders: seconds
    python benchmarks/speed.py --rows single-100 sweep       some rows
    python benchmarks/speed.py --only echoscale reservoirpy  some contenders

One run makes one table. It is written to `benchmarks/results/speed.md` and `.json`, or to `speed-quick` and `speed-partial`
where not all was measured. Libraries that are not installed are marked so and left out. Interrupt it with Ctrl-C at any time:
what is there is reported.

Every contender has a process of its own for each row, which is prepared and warmed up and then waits; the measurements
go round the contenders, so that a slow spell of the machine hits all of them.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import queue
import statistics
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

import common
import speed_table
from common import HERE, say
from contenders import CONTENDERS, OURS, find_contender
from rows import ROWS, find_row

QUICK_ROWS, QUICK_CONTENDERS = ("sweep",), (OURS, "NumPy loop", "reservoirpy")


class Worker:
    """A contender's process for one row."""

    def __init__(self, name: str, row_name: str, quick: bool, timeout: float, verbose: bool) -> None:
        self.timeout = timeout
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "worker.py"), name, row_name, *(["--quick"] if quick else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if verbose else subprocess.DEVNULL,
            text=True,
            # The CPU for everybody; JAX would take a GPU where there is one.
            env={**os.environ, "JAX_PLATFORMS": "cpu"},
        )
        self.answers: queue.Queue[str | None] = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self.answers.put(line)
        self.answers.put(None)

    def answer(self) -> dict[str, Any]:
        """The next answer; a process that died or took too long has failed."""
        try:
            line = self.answers.get(timeout=self.timeout)
        except queue.Empty:
            self.stop()
            return {"event": "failed", "reason": f"no answer within {self.timeout:g} s"}
        if line is None:
            return {"event": "failed", "reason": f"process ended with code {self.process.wait()}"}
        return dict(json.loads(line))

    def measure(self) -> dict[str, Any]:
        """One measurement."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write("measure\n")
            self.process.stdin.flush()
        except OSError:
            return {"event": "failed", "reason": "process ended early"}
        return self.answer()

    def stop(self) -> None:
        """End the process: it leaves by itself when its input ends, unless it is in the middle of something."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.reader.join()


def prepare(worker: Worker, label: str) -> dict[str, Any]:
    """Wait until the worker is ready; the entry of the table so far."""
    while True:
        answer = worker.answer()
        event = answer.pop("event")
        if event == "trying":
            say(f"{label}: trying {answer['candidate']}")
        elif event == "ready":
            say(f"{label}: ready, {answer['candidate']}")
            return {"status": "ready", "measurements": [], "seconds": None, **answer}
        else:
            status = "not installed" if event == "absent" else "failed"
            say(f"{label}: {answer['reason']}")
            return {"status": status, **answer}


def measure_row(row: dict[str, Any], names: list[str], options: argparse.Namespace) -> None:
    """Fill the row's entries, one contender after another to get ready and in turns to be measured."""
    entries = row["entries"]
    workers: dict[str, Worker] = {}
    try:
        for name in names:
            worker = workers[name] = Worker(name, row["name"], options.quick, options.timeout, options.verbose)
            entries[name] = prepare(worker, f"[{row['name']}] {name}")
            if entries[name]["status"] != "ready":
                workers.pop(name).stop()
        for repeat in range(options.repeats):
            for name, worker in list(workers.items()):
                answer = worker.measure()
                if answer["event"] != "measured":
                    entries[name] |= {"status": "failed", "seconds": None, "reason": answer["reason"]}
                    workers.pop(name).stop()
                    say(f"[{row['name']}] {name}: {answer['reason']}")
                    continue
                record(entries[name], answer["seconds"])
                shown = speed_table.duration(answer["seconds"])
                say(f"[{row['name']}] {name}: measurement {repeat + 1} of {options.repeats}, {shown}")
    finally:
        for worker in workers.values():
            worker.stop()


def record(entry: dict[str, Any], seconds: float) -> None:
    """One more measurement: `seconds` is the smallest, the median is kept beside it."""
    entry["status"] = "measured"
    entry["measurements"].append(seconds)
    entry["seconds"] = min(entry["measurements"])
    entry["median"] = statistics.median(entry["measurements"])


def extend(parser: argparse.ArgumentParser) -> None:
    every_row, everybody = [row.name for row in ROWS], [contender.name for contender in CONTENDERS]
    parser.add_argument("--rows", nargs="+", choices=every_row, metavar="ROW", help=", ".join(every_row))
    parser.add_argument("--only", nargs="+", choices=everybody, metavar="WHO", help=", ".join(everybody))
    parser.add_argument("--repeats", type=int, default=3, help="measurements of each cell (default 3)")
    parser.add_argument("--timeout", type=float, default=900, help="seconds to wait for any one answer (default 900)")
    parser.add_argument("--verbose", action="store_true", help="show what the libraries print")


def measure(options: argparse.Namespace) -> common.Raw:
    """Row after row."""
    if options.repeats < 1:
        raise SystemExit(f"--repeats must be 1 or more, got {options.repeats}.")
    only = options.only or (QUICK_CONTENDERS if options.quick else [contender.name for contender in CONTENDERS])
    names = [contender.name for contender in CONTENDERS if contender.name in only]
    some = options.rows or (QUICK_ROWS if options.quick else [row.name for row in ROWS])
    wanted = [row.name for row in ROWS if row.name in some]
    results: dict[str, Any] = {"repeats": options.repeats, "ours": OURS, "contenders": names, "complete": False, "rows": []}
    try:
        for row_name in wanted:
            row: dict[str, Any] = {"name": row_name, "title": find_row(row_name, options.quick).title, "entries": {}}
            results["rows"].append(row)
            kind = find_row(row_name).kind
            measure_row(row, [name for name in names if kind in find_contender(name).kinds], options)
        results["complete"] = len(wanted) == len(ROWS) and len(names) == len(CONTENDERS)
    except KeyboardInterrupt:
        say("interrupted: this is what was measured so far")
    return results


def table(raw: common.Raw) -> str:
    """See `speed_table`."""
    return speed_table.table(raw)


def main(arguments: Sequence[str] | None = None) -> common.Raw:
    return common.main("speed", __doc__, measure, table, arguments=arguments, extend=extend)


if __name__ == "__main__":
    main()
