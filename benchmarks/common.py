"""The frame of all benchmarks: arguments, where numbers come from, raw data and the table made of them, jobs that resume.

A script has two functions and hands them to `main`:

    measure(options) -> raw    numbers, strings, lists and dictionaries; nothing rounded, nothing formatted
    table(raw) -> text         Markdown, from the raw data alone

`main` writes results/<name>.json (raw data and provenance) and results/<name>.md (the table): <name>-quick with --quick, for a
look and never for quoting, and <name>-partial where the raw data say that they are not "complete". A test makes every committed
table again from its raw data.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import json
import multiprocessing
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from echoscale._internal.files import write_atomically
from echoscale.engine.devices import cores
from echoscale.sweeps import Job, processes
from echoscale.sweeps.runner import outcomes

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
LIBRARIES = ("echoscale", "numpy", "scipy", "jax", "jaxlib")
QUICK = "Small sizes (`--quick`): for a look, not for quoting."

Raw = dict[str, Any]
Arrays = dict[str, npt.NDArray[np.float64]]


# ---------------------------------------------------------------------------------------------------- arguments and files


def main(
    name: str,
    about: str | None,
    measure: Callable[[argparse.Namespace], Raw],
    table: Callable[[Raw], str],
    *,
    arguments: Sequence[str] | None = None,
    libraries: Sequence[str] = (),
    extend: Callable[[argparse.ArgumentParser], None] | None = None,
) -> Raw:
    """Parse the arguments, measure, write raw data and table, print the table; the raw data.

    name       of the files
    about      the script's docstring
    arguments  in place of those of the command line
    libraries  whose versions count besides `LIBRARIES`
    extend     adds arguments of its own to the parser
    """
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, a few seconds: for a look")
    parser.add_argument("--output", type=Path, default=RESULTS, metavar="FOLDER", help="where the files go (default: results/)")
    parser.add_argument("--commit", help="where there is no git: the commit of the code that runs")
    parser.add_argument("--note", help="what else a reader must know: jobs that ran on another machine, say")
    if extend:
        extend(parser)
    options = parser.parse_args(arguments)
    began = time.perf_counter()
    source = provenance(name, sys.argv[1:] if arguments is None else arguments, libraries, options.commit)
    if options.note:
        source["note"] = options.note
    found = measure(options)
    source["seconds"] = round(time.perf_counter() - began, 1)
    raw = {"quick": options.quick, "provenance": source, **found}
    text = write(name, raw, table, options.output)
    print(text)
    return raw


def write(name: str, raw: Raw, table: Callable[[Raw], str], folder: Path = RESULTS) -> str:
    """Raw data and table, each there as a whole or not at all; the table."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{name}-quick" if raw["quick"] else name if raw.get("complete", True) else f"{name}-partial"
    content = encoded(raw)
    text = table(json.loads(content))  # from what the file gives back, as a reader would make it
    write_atomically(folder / f"{stem}.json", content.encode())
    write_atomically(folder / f"{stem}.md", text.encode())
    say(f"written: {folder / stem}.json and .md")
    return text


def encoded(raw: Raw) -> str:
    """JSON with one line for every innermost list or short entry: small, and readable in a diff."""
    return _lines(json.loads(json.dumps(raw, default=_plain)), "") + "\n"


def _lines(value: Any, indent: str) -> str:
    whole = json.dumps(value, ensure_ascii=False)
    if len(whole) <= 120 or not value or not isinstance(value, dict | list):
        return whole
    deeper = indent + " "
    if isinstance(value, dict):
        parts = [f"{deeper}{json.dumps(key, ensure_ascii=False)}: {_lines(each, deeper)}" for key, each in value.items()]
        return "{\n" + ",\n".join(parts) + f"\n{indent}}}"
    if any(isinstance(each, dict | list) for each in value):
        return "[\n" + ",\n".join(deeper + _lines(each, deeper) for each in value) + f"\n{indent}]"
    return whole


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{value!r} is no raw data: give numbers, strings, lists, dictionaries or arrays.")


def tuples(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings out of JSON, which knows lists only."""
    return {name: tuple(each) if isinstance(each, list) else each for name, each in settings.items()}


def say(text: str) -> None:
    """To standard error, so that standard output holds the table alone."""
    print(text, file=sys.stderr, flush=True)


# ------------------------------------------------------------------------------------------------------------- provenance


def provenance(name: str, words: Sequence[str], libraries: Sequence[str] = (), commit: str | None = None) -> Raw:
    """Command, commit (as told, or as git knows it), versions, machine and date; `main` adds the seconds."""
    return {
        "command": " ".join(["python", f"benchmarks/{name}.py", *_said(words)]),
        "commit": commit or _git("rev-parse", "HEAD") or "unknown",
        # What a run itself writes does not count as a change of the code.
        # Nor is there any where the commit is told: whoever tells it has it checked out.
        "changed": commit is None
        and bool(_git("status", "--porcelain", "--", "src", "benchmarks/*.py", "benchmarks/contenders")),
        "date": datetime.now(UTC).isoformat(timespec="minutes"),
        "machine": machine(),
        "versions": versions((*LIBRARIES, *libraries)),
    }


def _said(words: Sequence[str]) -> Iterator[str]:
    """The arguments without those that mean something on one machine only."""
    each = iter(words)
    for word in each:
        if word in ("--output", "--folder", "--commit", "--note"):
            next(each, None)
        else:
            yield word


def _git(*words: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(HERE.parent), *words], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def machine() -> Raw:
    """Processor, cores available to this process, memory, accelerator, system, Python, and the load at this moment."""
    import jax

    return {
        "cpu": _cpu_model(),
        "cores": cores(),
        "memory_gib": _memory_gib(),
        "device": jax.devices()[0].device_kind,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def _memory_gib() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (ValueError, OSError, AttributeError):
        return None


def versions(distributions: Sequence[str]) -> dict[str, str]:
    """Those of the distributions that are installed."""
    found = {}
    for name in dict.fromkeys(distributions):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def origin(raw: Raw) -> str:
    """One paragraph: how the numbers of a table were made."""
    source = raw["provenance"]
    commit = source["commit"] if source["commit"].startswith("unknown") else f"`{source['commit'][:12]}`"
    host = source["machine"]
    parts = [f"`{source['command']}`", f"commit {commit}{' with changes' if source['changed'] else ''}", source["date"]]
    parts.append(", ".join(_host(host)))
    parts.append(", ".join(f"{name} {number}" for name, number in source["versions"].items()))
    if source.get("note"):
        parts.append(source["note"])
    if source.get("seconds") is not None:
        parts.append(f"{source['seconds']:,.0f} s")
    text = "; ".join(part for part in parts if part) + "."
    return f"{text} {QUICK}" if raw["quick"] else text


def _host(host: Raw) -> list[str]:
    known = [host.get("cpu"), f"{host['cores']} cores" if host.get("cores") else None]
    known.append(f"{host['memory_gib']} GiB" if host.get("memory_gib") else None)
    known.append(host["device"] if host.get("device") not in (None, "cpu") else None)
    known.append(f"Python {host['python']}" if host.get("python") else None)
    known.append(f"load at the start {host['load']}" if host.get("load") is not None else None)
    return [each for each in known if each]


# ----------------------------------------------------------------------------------------------------------------- tables


def rows(head: Sequence[str], body: Sequence[Sequence[str]], *, left: int = 1) -> list[str]:
    """A table in Markdown; the first `left` columns are text, the others numbers."""
    dashes = ["---"] * left + ["---:"] * (len(head) - left)
    return [f"| {' | '.join(head)} |", f"|{'|'.join(dashes)}|", *(f"| {' | '.join(row)} |" for row in body)]


def mean_and_error(values: Sequence[float], digits: int = 3) -> str:
    """Mean ± standard error."""
    if not len(values):
        return "–"
    mean = f"{np.mean(values):.{digits}f}"
    return mean if len(values) < 2 else f"{mean} ± {np.std(values, ddof=1) / len(values) ** 0.5:.{digits}f}"


def ratio_with_interval(logs: npt.ArrayLike, digits: int = 3) -> str:
    """Geometric mean of ratios from their logarithms, one a problem, with a 95 % interval over problems."""
    values = np.asarray(logs, np.float64)
    low, mean, high = np.exp(values.mean() + interval_of(values) * np.array([-1, 0, 1]))
    if len(values) < 2:
        return f"{mean:.{digits}f}"
    return f"{mean:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def interval_of(values: npt.NDArray[np.float64]) -> float:
    """Half of the 95 % interval of a mean, by Student's distribution."""
    if len(values) < 2:
        return 0.0
    return float(stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5)


# ----------------------------------------------------------------------------------------------------------------- timing


def take_turns(jobs: Mapping[str, Callable[[], object]], rounds: int, warm: int = 1) -> dict[str, list[float]]:
    """Seconds of every job in every round after `warm` others. Jobs take turns, so that a noisy machine slows all alike."""
    found: dict[str, list[float]] = {name: [] for name in jobs}
    for turn in range(warm + rounds):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            if turn >= warm:
                found[name].append(time.perf_counter() - start)
    return found


def finished(value: Any) -> Any:
    """The value when it is there: JAX computes in the background."""
    import jax

    return jax.block_until_ready(value)  # type: ignore[no-untyped-call]


def best(job: Callable[[], object], rounds: int = 3) -> float:
    """Seconds of the fastest call, after one that compiles: what others do on the machine only ever adds."""
    return min(take_turns({"": job}, rounds)[""])


def median(values: Sequence[float]) -> float:
    """The middle one."""
    return float(statistics.median(values))


# ------------------------------------------------------------------------------------------------------------------- jobs


def pin_to_one_core() -> None:
    """In a process of its own: stay on one core, with all threads of JAX. Processes take the cores in turn."""
    identity = multiprocessing.current_process()._identity
    if identity and hasattr(os, "sched_setaffinity"):
        allowed = sorted(os.sched_getaffinity(0))
        if len(allowed) > 1:
            os.sched_setaffinity(0, {allowed[identity[0] % len(allowed)]})


def resumed(
    function: Callable[..., Arrays],
    jobs: Mapping[str, Mapping[str, Any]],
    folder: Path | None,
    count: int = 0,
    minutes: float = float("inf"),
) -> dict[str, dict[str, list[float]]]:
    """Results of `function(**arguments)` for every job, by name; finished jobs of the folder do not run again.

    function  of a script in this folder, from plain arguments to named arrays
    folder    of finished jobs; None: nothing is kept
    count     number of processes, each with one core; 0: one job after another in this process
    minutes   no job begins later than this; later jobs are missing from the result
    """
    # Not by its `__module__`: that of the script that runs is "__main__".
    where = f"{Path(function.__code__.co_filename).stem}:{function.__qualname__}"
    by_key = {(job := Job(where, dict(each))).key(): (name, job) for name, each in jobs.items()}
    results: dict[str, dict[str, list[float]]] = {}
    failed: list[str] = []
    until = time.monotonic() + 60 * minutes
    with processes(count) if count else contextlib.nullcontext() as executor:
        each_job = {key: job for key, (_, job) in by_key.items()}
        for key, outcome in outcomes(each_job, folder, executor, at_once=max(count, 1), until=until):
            name = by_key[key][0]
            if outcome.results is None:
                failed.append(f"{name}: {outcome.error}")
            else:
                results[name] = {each: np.ravel(values).tolist() for each, values in outcome.results.items()}
            if not outcome.kept:
                done = failed[-1] if outcome.results is None else f"{name}: {outcome.seconds:.1f} s"
                say(f"[{len(results)}/{len(jobs)}] {done}")
    if failed:
        raise SystemExit(f"{len(failed)} of {len(jobs)} jobs failed, the first: {failed[0]}. The others are kept in {folder}.")
    return {name: results[name] for name in jobs if name in results}
