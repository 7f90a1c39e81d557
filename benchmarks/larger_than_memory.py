"""A Zarr store of 20 GB, fitted on a Dask cluster of two workers with 2 GiB each, one of which is killed in the middle.

    python benchmarks/larger_than_memory.py --folder /disk    20 GB of disk, minutes to an hour
    python benchmarks/larger_than_memory.py --quick           a small store, a minute

    store      inputs of random numbers, which no compression makes smaller, and a target that remembers them
    part       the first steps: one process with all numbers in memory, one that reads pieces, and the cluster
    whole      all steps on the cluster; when half of the pieces are done, a worker is killed (SIGKILL)

A lost worker should cost the pieces that it had, and no others. Dask counts how often a piece began. Memory is the largest
resident size of a process since its start, as Linux tells it.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import common
import numpy as np
from common import say

import echoscale as es
from echoscale.data.stored import PIECE_BYTES
from echoscale.readouts import Columns

GB, GIB = 1e9, 2**30
STEPS, INPUTS, CHUNK, PART = 5_000_000, 500, 8_000, 100_000
QUICK_STEPS, QUICK_PART = 80_000, 20_000
WORKERS, LIMIT = 2, "2GiB"
WASHOUT = 500
SETTINGS: dict[str, Any] = {"units": 20, "leak_rate": 0.3, "input_scaling": 0.05}


class Counted(Executor):
    """An executor that counts calls that ended, and calls `half_way` once when so many ended."""

    def __init__(self, inner: Executor, count: int, half_way: Callable[[], None]) -> None:
        self.inner, self.count, self.half_way, self.done = inner, count, half_way, 0
        self.lock = threading.Lock()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future = self.inner.submit(fn, *args, **kwargs)
        future.add_done_callback(self._ended)
        return future

    def _ended(self, _: Future[Any]) -> None:
        with self.lock:
            self.done += 1
            now = self.done == self.count
        if now:
            self.half_way()


def stored(folder: Path, steps: int) -> tuple[Any, Any]:
    """The store, written chunk by chunk; one that is complete is used again."""
    zarr = importlib.import_module("zarr")
    if (folder / "complete").exists():
        return zarr.open_array(folder / "u.zarr", mode="r"), zarr.open_array(folder / "y.zarr", mode="r")
    options: dict[str, Any] = {"dtype": "f8", "compressors": None, "overwrite": True}
    u = zarr.create_array(folder / "u.zarr", shape=(steps, INPUTS), chunks=(CHUNK, INPUTS), **options)
    y = zarr.create_array(folder / "y.zarr", shape=(steps, 1), chunks=(CHUNK, 1), **options)
    rng, before = np.random.default_rng(0), np.zeros((2, INPUTS))
    for begin in range(0, steps, CHUNK):
        values = rng.random((CHUNK, INPUTS)) - 0.5
        late = np.concatenate([before, values])
        u[begin : begin + CHUNK] = values
        y[begin : begin + CHUNK] = late[2:, :1] + 0.5 * late[1:-1, 1:2] + late[:-2, :1] * late[2:, 1:2]
        before = values[-2:]
    (folder / "complete").touch()
    return u, y


def model() -> es.ESNRegressor:
    return es.ESNRegressor(**SETTINGS, columns=Columns(0), scale=None, washout=WASHOUT, random_state=0)


def resident() -> float:
    """Largest resident size of this process, GiB; ru_maxrss would begin with that of the process that started it."""
    [line] = [each for each in Path("/proc/self/status").read_text().splitlines() if each.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024 / GIB


def begun(dask_scheduler: Any = None) -> tuple[int, int]:
    """Calls that a worker began, repetitions included, and different calls."""
    keys = [each[0] for each in dask_scheduler.transition_log if each[2] == "processing" and "_called" in str(each[0])]
    return len(keys), len(set(keys))


def apart(one: es.ESNRegressor, other: es.ESNRegressor) -> float:
    """Largest difference of the weights of two readouts, relative to the largest weight."""
    return float(abs(one.readout_.coef - other.readout_.coef).max() / abs(other.readout_.coef).max())


def run(folder: Path, steps: int, part: int) -> common.Raw:
    """All stages."""
    distributed, da = importlib.import_module("distributed"), importlib.import_module("dask.array")
    u, y = stored(folder, steps)
    say(f"store: {(u.nbytes + y.nbytes) / GB:.1f} GB")
    pieces = -(-u.nbytes // PIECE_BYTES)
    cluster = distributed.LocalCluster(
        n_workers=WORKERS, threads_per_worker=1, memory_limit=LIMIT, dashboard_address="127.0.0.1:0"
    )
    with cluster, distributed.Client(cluster, set_as_default=False) as client:
        inner = client.get_executor()
        first = (u[:part], y[:part])
        loaded = model().fit(*first)
        stream = model().fit(np_map(first[0], folder / "part.dat"), first[1])
        spread = model().fit(da.from_array(u, chunks=u.chunks)[:part], first[1], executor=inner)
        del first
        differences = {"in pieces": apart(stream, loaded), "on the cluster": apart(spread, loaded)}
        say(f"part: {differences}")
        before = client.run_on_scheduler(begun)
        killed: dict[str, float] = {}
        peaks: dict[str, float] = {}

        def kill() -> None:
            def act() -> None:
                pids = client.run(os.getpid)
                peaks.update({f"{pid}": peak for pid, peak in zip(pids.values(), client.run(resident).values(), strict=True)})
                os.kill(next(iter(pids.values())), signal.SIGKILL)
                killed["after_pieces"] = counted.done
                say(f"killed a worker after {counted.done} of about {pieces} pieces")

            threading.Thread(target=act, daemon=True).start()

        counted = Counted(inner, max(pieces // 2, 1), kill)
        start = time.perf_counter()
        whole = model().fit(u, y, executor=counted)
        seconds = time.perf_counter() - start
        after = client.run_on_scheduler(begun)
        peaks.update(zip(map(str, client.run(os.getpid).values()), client.run(resident).values(), strict=True))
    starts, different = after[0] - before[0], after[1] - before[1]
    say(f"whole: {seconds:.0f} s, {different} pieces, {starts} starts")
    return {
        "settings": {
            "steps": steps, "inputs": INPUTS, "chunk_steps": CHUNK, "part_steps": part, "workers": WORKERS, "limit": LIMIT,
            "washout": WASHOUT, "seed": 0, **SETTINGS,
        },
        "fit_seconds": seconds,
        "pieces": different,
        "starts": starts,
        "killed_after_pieces": killed.get("after_pieces"),
        "rows": float(whole.statistics_.count),
        "peak_gib": {"workers": list(peaks.values()), "this process": resident()},
        "difference_on_part": differences,
    }  # fmt: skip


def np_map(values: Any, path: Path) -> Any:
    """The same numbers in a memory map."""
    made = np.memmap(path, values.dtype, "w+", shape=values.shape)
    made[:] = values
    return made


def extend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--folder", type=Path, help="where the store goes; a complete one is used again. Default: a new folder")
    parser.add_argument("--keep", action="store_true", help="leave the store in the folder")


def measure(options: argparse.Namespace) -> common.Raw:
    with ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        steps, part = (QUICK_STEPS, QUICK_PART) if options.quick else (STEPS, PART)
        folder.mkdir(parents=True, exist_ok=True)
        found = run(folder, steps, part)
        if options.folder and not options.keep:
            shutil.rmtree(folder)
        return found


def size(raw: common.Raw) -> float:
    """Numbers of the store, GB."""
    return float(8 * raw["settings"]["steps"] * (raw["settings"]["inputs"] + 1) / GB)


def table(raw: common.Raw) -> str:
    """What the fit took, and how far readouts are apart."""
    s, peak = raw["settings"], raw["peak_gib"]
    body = [
        ("store", f"{size(raw):.1f} GB: {s['steps']:,} steps of {s['inputs']} inputs and a target in float64"),
        ("pieces", f"{raw['pieces']}"),
        ("worker killed after", f"{raw['killed_after_pieces']} pieces"),
        ("starts of pieces", f"{raw['starts']}: {raw['starts'] - raw['pieces']} began again"),
        ("rows of the readout", f"{raw['rows']:,.0f}"),
        ("time of the fit", f"{raw['fit_seconds']:.0f} s"),
        ("peak of a worker", f"{max(peak['workers']):.2f} GiB of {s['limit']}"),
        (
            "peak of the calling process",
            f"{peak['this process']:.2f} GiB, with the part of {s['part_steps']:,} steps in memory",
        ),
        *(
            (f"readout of the part {name}", f"{each:.1e} from that in memory")
            for name, each in raw["difference_on_part"].items()
        ),
    ]
    lines = [
        "# A store larger than the memory of its workers",
        "",
        common.origin(raw),
        "",
        f"{s['workers']} workers with {s['limit']} each; {s['units']} neurons; a worker is killed when half of the pieces are "
        "done. Differences are the largest of a weight, relative to the largest weight.",
        "",
        *common.rows(("what", "found"), body),
        "",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> common.Raw:
    libraries = ("zarr", "dask", "distributed")
    return common.main("larger_than_memory", __doc__, measure, table, arguments=arguments, extend=extend, libraries=libraries)


if __name__ == "__main__":
    main()
