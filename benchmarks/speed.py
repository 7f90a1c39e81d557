"""How long the same work takes in echoscale, in other reservoir libraries and in a plain NumPy loop.

    python benchmarks/speed.py                               everything, about a quarter of an hour on two cores
    python benchmarks/speed.py --quick                       small sizes, about four minutes
    python benchmarks/speed.py --rows single-100 sweep       some rows
    python benchmarks/speed.py --only echoscale reservoirpy  some contenders

One run makes one table. It is printed and written to `benchmarks/results/speed.md` and `.json`, or to `speed-quick` and
`speed-partial` where not all was measured. Libraries that are not installed are marked so and left out. Interrupt it
with Ctrl-C at any time: what is there is reported.

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
from datetime import datetime
from pathlib import Path
from typing import Any

import report
from contenders import CONTENDERS, OURS, find_contender
from rows import ROWS, find_row

HERE = Path(__file__).resolve().parent


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
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
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
        return json.loads(line)

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


def progress(text: str) -> None:
    """Progress goes to standard error, so that standard output holds the table alone."""
    print(text, file=sys.stderr, flush=True)


def prepare(worker: Worker, label: str) -> dict[str, Any]:
    """Wait until the worker is ready; the entry of the table so far."""
    while True:
        answer = worker.answer()
        event = answer.pop("event")
        if event == "trying":
            progress(f"{label}: trying {answer['candidate']}")
        elif event == "ready":
            progress(f"{label}: ready, {answer['candidate']}")
            return {"status": "ready", "measurements": [], "seconds": None, **answer}
        else:
            status = "not installed" if event == "absent" else "failed"
            progress(f"{label}: {answer['reason']}")
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
                    progress(f"[{row['name']}] {name}: {answer['reason']}")
                    continue
                record(entries[name], answer["seconds"])
                shown = report.duration(answer["seconds"])
                progress(f"[{row['name']}] {name}: measurement {repeat + 1} of {options.repeats}, {shown}")
    finally:
        for worker in workers.values():
            worker.stop()


def record(entry: dict[str, Any], seconds: float) -> None:
    """One more measurement: `seconds` is the smallest, the median is kept beside it."""
    entry["status"] = "measured"
    entry["measurements"].append(seconds)
    entry["seconds"] = min(entry["measurements"])
    entry["median"] = statistics.median(entry["measurements"])


def write(results: dict[str, Any], folder: Path) -> str:
    """Write both files and return the Markdown."""
    stem = "speed-quick" if results["quick"] else "speed" if results["complete"] else "speed-partial"
    text = report.markdown(results)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{stem}.md").write_text(text, encoding="utf-8")
    (folder / f"{stem}.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    progress(f"written: {folder / stem}.md and .json")
    return text


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    every_row, everybody = [row.name for row in ROWS], [contender.name for contender in CONTENDERS]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--rows", nargs="+", choices=every_row, default=every_row, metavar="ROW", help=", ".join(every_row))
    parser.add_argument("--only", nargs="+", choices=everybody, default=everybody, metavar="WHO", help=", ".join(everybody))
    parser.add_argument("--repeats", type=int, default=3, help="measurements of each cell (default 3)")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--timeout", type=float, default=900, help="seconds to wait for any one answer (default 900)")
    parser.add_argument("--output", type=Path, default=HERE / "results", help="folder for the files")
    parser.add_argument("--verbose", action="store_true", help="show what the libraries print")
    options = parser.parse_args(arguments)
    if options.repeats < 1:
        parser.error("--repeats must be 1 or more")
    return options


def main() -> None:
    options = parse()
    names = [contender.name for contender in CONTENDERS if contender.name in options.only]
    results: dict[str, Any] = {
        "date": datetime.now().astimezone().isoformat(timespec="minutes"),
        "machine": report.machine(),
        "quick": options.quick,
        "repeats": options.repeats,
        "ours": OURS,
        "contenders": names,
        "complete": False,
        "rows": [],
    }
    wanted = [row.name for row in ROWS if row.name in options.rows]
    try:
        for row_name in wanted:
            row: dict[str, Any] = {"name": row_name, "title": find_row(row_name, options.quick).title, "entries": {}}
            results["rows"].append(row)
            kind = find_row(row_name).kind
            measure_row(row, [name for name in names if kind in find_contender(name).kinds], options)
        results["complete"] = len(wanted) == len(ROWS) and len(names) == len(CONTENDERS)
    except KeyboardInterrupt:
        progress("interrupted: this is what was measured so far")
    print(write(results, options.output))


if __name__ == "__main__":
    main()
