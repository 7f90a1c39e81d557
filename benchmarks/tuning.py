"""Ways to find the numbers of a network, compared by what they choose: its error on data that chose nothing.

    python benchmarks/tuning.py --jobs 16                    everything, then the report
    python benchmarks/tuning.py --quick                      small sizes, some minutes
    python benchmarks/tuning.py --methods tune grid --sets leaks --seeds 0 10
    python benchmarks/tuning.py --report                     table and figure of what is there
    python benchmarks/tuning.py --time --methods tune tpe --seeds 10     one job at a time, for the clock

NARMA10 and NARMA5; 200 steps of washout, 5000 of training, 1500 of validation and 2500 of test. The readout is fitted on the
training steps, a search sees the validation steps and nothing else, and the error shown is that of its choice on the test
steps. Random search and TPE get as many simulated steps as `es.tune` took for the same task, set and seed.

Every job (task, set, method, seed) leaves one file in `--folder`; those that are there are not done again. The report is
written to `benchmarks/results/tuning.md` and `.json` and to `docs/figures/tuning.png` (`tuning-quick`, `tuning-partial` in
`benchmarks/results` where not all is there). The `.json` holds all files: `--known FILE` fills a folder from it.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
import traceback
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from typing import Any

import tuning_plan as plan
from tuning_plan import FRESH, FULL, METHODS, QUICK, SEEN, SETS, TASKS, Job, Settings

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
ALONE = "alone"  # the folder of jobs that were timed

# Before any process imports NumPy or JAX. A GPU would not be compared with anything here.
os.environ.update({"JAX_PLATFORMS": "cpu", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})


def progress(text: str) -> None:
    """To standard error, so that standard output holds the table alone."""
    print(text, file=sys.stderr, flush=True)


def settle(places: Any) -> None:
    """A new process keeps to its own cores, the next of a queue; JAX and BLAS, imported later, see no others."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, places if isinstance(places, set) else places.get())


def work(job: Job, settings: Settings, budget: int | None, folder: Path) -> float:
    """Do one job in this process and write its file; how long it took."""
    import tuning_methods

    began = time.perf_counter()
    found = tuning_methods.run(job, settings, budget)
    plan.save(folder, f"{job}.json", found)
    return time.perf_counter() - began


def do(jobs: list[Job], settings: Settings, options: argparse.Namespace) -> bool:
    """All jobs that are not done yet, so many at a time; whether none failed."""
    folder = options.folder / ALONE if options.time else options.folder
    waiting = [job for job in jobs if plan.load(folder, job, settings) is None]
    progress(f"{len(jobs)} jobs, {len(jobs) - len(waiting)} of them done; files in {folder}")
    until = time.monotonic() + 60 * options.minutes
    running: dict[Future[float], Job] = {}
    fine, done = True, len(jobs) - len(waiting)
    with _pool(options) as pool:
        try:
            while running or (waiting and time.monotonic() < until):
                while len(running) < options.jobs and time.monotonic() < until:
                    job = next((job for job in waiting if _ready(job, folder, options, settings)), None)
                    if job is None:
                        break
                    waiting.remove(job)
                    budget = _budget(job, folder, options, settings)
                    running[pool.submit(work, job, settings, budget, folder)] = job
                if not running:  # what is left waits for jobs that failed or were not asked for
                    progress(f"{len(waiting)} jobs wait for {waiting[0].needs}: do that first.")
                    return False
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    job = running.pop(future)
                    done += 1
                    try:
                        progress(f"[{done}/{len(jobs)}] {job}: {future.result():.1f} s")
                    except BrokenProcessPool:
                        raise
                    except Exception:
                        fine = False
                        progress(f"[{done}/{len(jobs)}] {job} failed\n{traceback.format_exc()}")
        except KeyboardInterrupt:
            progress("interrupted: the jobs that run are lost, the others are kept")
            for process in multiprocessing.active_children():
                process.terminate()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    if waiting:
        progress(f"time is up: {len(waiting)} jobs are left for the next time")
    return fine


def _pool(options: argparse.Namespace) -> ProcessPoolExecutor:
    """Processes with cores of their own, `--threads` each; for timing, a fresh process for every job."""
    context = multiprocessing.get_context("spawn")
    every = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    if options.time:
        return ProcessPoolExecutor(1, context, settle, (set(every[: options.threads]),), max_tasks_per_child=1)
    places = context.Queue()
    for place in range(options.jobs):
        places.put({every[(place * options.threads + k) % len(every)] for k in range(options.threads)})
    return ProcessPoolExecutor(options.jobs, context, settle, (places,))


def _ready(job: Job, folder: Path, options: argparse.Namespace, settings: Settings) -> bool:
    return job.needs is None or _budget(job, folder, options, settings) is not None


def _budget(job: Job, folder: Path, options: argparse.Namespace, settings: Settings) -> int | None:
    """The steps that the job before it took, timed or not."""
    if job.needs is None:
        return None
    for place in (folder, options.folder):
        if found := plan.load(place, job.needs, settings):
            return int(found["steps"])
    return None


def write(settings: Settings, options: argparse.Namespace) -> str:
    """Gather all files, and write table, data and figure."""
    import tuning_report

    every = list(plan.jobs(TASKS, SETS, METHODS, (*SEEN, *FRESH)))
    found = {str(job): result for job in every if (result := plan.load(options.folder, job, settings))}
    alone = {str(job): result for job in every if (result := plan.load(options.folder / ALONE, job, settings))}
    if not found:
        progress(f"there is nothing in {options.folder} to report.")
        return ""
    stem = "tuning-quick" if options.quick else "tuning" if len(found) == len(every) else "tuning-partial"
    text = tuning_report.markdown(found, alone, settings, options.quick, len(every))
    plan.save(options.output, f"{stem}.json", {"jobs": found, ALONE: alone})
    plan.save(options.output, f"{stem}.md", text)
    picture = (ROOT / "docs" / "figures" if stem == "tuning" else options.output) / f"{stem}.png"
    if any(result["set"] in ("leaks", "all") for result in found.values()):  # what the figure shows
        tuning_report.figure(found, settings).savefig(picture, dpi=200)
    progress(f"written: {options.output / stem}.md and .json, {picture}")
    return text


def unpack(file: Path, folder: Path) -> None:
    """The files of a report's `.json`, where they are not there yet."""
    content = json.loads(file.read_text(encoding="utf-8"))
    for place, results in ((folder, content["jobs"]), (folder / ALONE, content[ALONE])):
        for name, result in results.items():
            if not (place / f"{name}.json").exists():
                plan.save(place, f"{name}.json", result)


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    for name, known in (("tasks", TASKS), ("sets", SETS), ("methods", METHODS)):
        parser.add_argument(f"--{name}", nargs="+", choices=known, default=list(known), metavar="NAME", help=", ".join(known))
    parser.add_argument("--seeds", nargs="+", type=int, help=f"default: {SEEN} and {FRESH}; with --quick two of each")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time (default 1)")
    parser.add_argument("--threads", type=int, help="cores of one process (default 1; with --time all)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no job after so long")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--ridge", type=float, help=f"where it is not searched for (default {FULL.ridge:g})")
    parser.add_argument("--time", action="store_true", help="one job at a time, each in a fresh process")
    parser.add_argument("--report", action="store_true", help="only gather what is there")
    parser.add_argument("--known", nargs="+", type=Path, default=[], metavar="FILE", help="take over jobs from reports")
    parser.add_argument("--folder", type=Path, help="of the jobs' files (default out/tuning, or out/tuning-quick)")
    parser.add_argument("--output", type=Path, default=HERE / "results", help="folder of the report")
    options = parser.parse_args(arguments)
    if options.time and options.jobs != 1:
        parser.error("--time runs one job at a time: leave out --jobs.")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    options.threads = options.threads or (cores if options.time else 1)
    options.seeds = options.seeds or ([*SEEN[:2], *FRESH[:2]] if options.quick else [*SEEN, *FRESH])
    options.folder = options.folder or ROOT / "out" / ("tuning-quick" if options.quick else "tuning")
    if options.jobs < 1 or options.threads < 1:
        parser.error("--jobs and --threads must be 1 or more.")
    return options


def main() -> None:
    options = parse()
    settings = QUICK if options.quick else FULL
    if options.ridge is not None:
        settings = replace(settings, ridge=options.ridge)
    for file in options.known:
        unpack(file, options.folder)
    fine = True
    try:
        if not options.report:
            wanted = list(plan.jobs(options.tasks, options.sets, options.methods, options.seeds))
            needed = [job.needs for job in wanted if job.needs and plan.load(options.folder, job.needs, settings) is None]
            fine = do(list(dict.fromkeys([*(job for job in needed if job not in wanted), *wanted])), settings, options)
    finally:
        print(write(settings, options))
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
