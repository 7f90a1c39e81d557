"""Permuted sequential MNIST from end to end on a CPU, through files: seconds and peak memory of every stage.

    python benchmarks/psmnist_memory.py                    all 60,000 + 10,000 images: 9.4 GB of disk, some minutes
    python benchmarks/psmnist_memory.py --quick            noise in place of images and a small network, seconds

    data       both sets of images in memory, as sequences of 784 steps
    features   28 snapshots of the network of `psmnist.py`, 2 x 600 units, of every image, to two files (`features.compute`)
    readout    sigmoids, 8 epochs of Adam, streamed from the file; the last sixth of the training images is held out
    test       the share of test images that are given their label, streamed from the other file

Two peaks are told after every stage. "resident" is what the system counts for the process, the largest since its start
(ru_maxrss): with pages of the mapped files, which it may drop at any time. "anonymous" is the memory that it cannot drop, the
largest within the stage (RssAnon, looked at 100 times a second). The system's own buffers of files that are written and read
are in neither. Linux alone tells all this.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import common
import numpy as np
import numpy.typing as npt
from common import say
from psmnist import EVERY, LEAK_RATES, UNITS, network

import echoscale as es
from echoscale.readouts import features, logistic

STATUS = Path("/proc/self/status")
GIB = 2**30

ALL, HELD_OUT = 60_000, 6  # training images, of which one in so many is held out; as many are tested
CLASSES, RATE, SCHEDULE, EPOCHS, MINIBATCH = 10, 5e-4, "cosine", 8, 50
AT_ONCE = 500  # test images whose outputs are computed together
PAUSE = 0.01  # seconds between two looks at the memory


class Watch:
    """Seconds and peaks of stages, one after another; a thread looks at the memory meanwhile."""

    def __init__(self) -> None:
        self.stages: dict[str, dict[str, float]] = {}
        self._peak, self._lock, self._end = 0, threading.Lock(), threading.Event()
        threading.Thread(target=self._look, daemon=True).start()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        with self._lock:
            self._peak = anonymous()
        start = time.perf_counter()
        yield
        seconds = time.perf_counter() - start
        resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        found = {"seconds": seconds, "anonymous_gib": max(self._peak, anonymous()) / GIB, "resident_gib": resident / GIB}
        self.stages[name] = {key: round(value, 3) for key, value in found.items()}
        say(f"{name}: {seconds:.1f} s, peak {found['anonymous_gib']:.2f} GiB anonymous, {resident / GIB:.2f} GiB resident")

    def close(self) -> None:
        self._end.set()

    def _look(self) -> None:
        while not self._end.wait(PAUSE):
            with self._lock:  # else the peak of a stage before might be put back
                self._peak = max(self._peak, anonymous())


def anonymous() -> int:
    """The bytes of this process that are backed by no file."""
    [line] = [line for line in STATUS.read_text().splitlines() if line.startswith("RssAnon:")]
    return int(line.split()[1]) * 1024


def computed(esn: es.ESN, u: npt.NDArray[np.float32], path: Path) -> tuple[features.Features, int]:
    """The features of all images in a file, and how many of them were there before."""
    start = time.perf_counter()
    told: list[int] = []  # first those that were there

    def progress(done: int, total: int, _: str) -> None:
        told.append(done)
        say(f"  {path.name}: {done:,} of {total:,} images, {time.perf_counter() - start:.1f} s")

    return features.compute(esn, u, EVERY, path=path, progress=progress), told[0]


def trained(snapshots: features.Features, labels: npt.NDArray[np.int64], epochs: int) -> logistic.Trained:
    """A readout of the features in a file, which are not read into memory as a whole."""
    start, count = time.perf_counter(), len(labels)

    def told(now: logistic.Trained) -> None:
        held_out = f"loss {now.history.loss[-1]:.4f}, accuracy {now.history.accuracy[-1]:.4f} held out"
        say(f"  epoch {now.epochs} of {epochs}: {held_out}, {time.perf_counter() - start:.1f} s")

    return logistic.fit(
        snapshots,  # and not its array, which would be taken as one block
        labels,
        CLASSES,
        loss="sigmoid",
        rate=RATE,
        schedule=SCHEDULE,
        epochs=epochs,
        minibatch=MINIBATCH,
        validation=np.arange(count - count // HELD_OUT, count),
        checkpoint=told,
    )


def accuracy(readout: logistic.Trained, snapshots: features.Features, labels: npt.NDArray[np.int64]) -> float:
    """The share of images whose largest output is that of their label."""
    right = 0
    for begin in range(0, len(labels), AT_ONCE):
        outputs = readout.predict(snapshots.block(begin, begin + AT_ONCE))
        right += int((outputs.argmax(axis=1) == labels[begin : begin + AT_ONCE]).sum())
    return right / len(labels)


def data(images: int, noise: bool) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Images (count, steps, 1) and labels, to train and to test: MNIST, or short noise with labels that mean nothing."""
    counts = images, images // HELD_OUT
    if noise:
        rng = np.random.default_rng(0)
        train, test = ((rng.random((n, 2 * EVERY, 1), dtype=np.float32), rng.integers(0, CLASSES, n)) for n in counts)
        return train, test
    splits = (es.tasks.psmnist(split) for split in ("train", "test"))
    train, test = ((each.u[:n], each.labels[:n]) for each, n in zip(splits, counts, strict=True))
    return train, test


def run(folder: Path, images: int, quick: bool) -> common.Raw:
    """All stages, with their seconds and peaks."""
    watch, units, epochs = Watch(), (20, 20) if quick else UNITS, 1 if quick else EPOCHS
    with watch.stage("data"):
        (u, labels), (test_u, test_labels) = data(images, quick)
    with watch.stage("features"):
        esn = network(units)
        of_train, train_before = computed(esn, u, folder / "train.npy")
        of_test, test_before = computed(esn, test_u, folder / "test.npy")
    with watch.stage(f"readout, {epochs} epochs"):
        readout = trained(of_train, labels, epochs)
    with watch.stage("test"):
        right = accuracy(readout, of_test, test_labels)
    watch.close()
    history, best = readout.history, readout.best_epoch
    return {
        "settings": {
            "units": units,
            "leak_rates": LEAK_RATES,
            "steps": u.shape[1],
            "snapshots": u.shape[1] // EVERY,
            "loss": "sigmoid",
            "rate": RATE,
            "schedule": SCHEDULE,
            "epochs": epochs,
            "minibatch": MINIBATCH,
            "seed": 0,
            "gigabytes": round((len(u) + len(test_u)) * (u.shape[1] // EVERY) * sum(units) * 4 / 1e9, 3),
        },
        "images": {"train": images - images // HELD_OUT, "held_out": images // HELD_OUT, "test": len(test_labels)},
        "images_from_before": {"train": train_before, "test": test_before},
        "complete": not (train_before or test_before),
        "stages": watch.stages,
        "best_epoch": best + 1,
        "validation_accuracy": history.accuracy[best],
        "test_accuracy": right,
        "history": {name: values.tolist() for name, values in history._asdict().items()},
    }


def extend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--folder",
        type=Path,
        help="where the features go, on a disk with 9.4 GB free; they stay there, and a run that was killed goes on with them. "
        "Default: a new folder among the system's temporary ones (TMPDIR), removed at the end. One that lies in memory (tmpfs) "
        "spares none",
    )


def measure(options: argparse.Namespace) -> common.Raw:
    if options.folder and not options.folder.is_dir():
        raise SystemExit(f"--folder {options.folder} is not there. Make it first.")
    if not STATUS.exists() or "RssAnon:" not in STATUS.read_text():
        raise SystemExit(f"anonymous memory is read from {STATUS}, which only Linux has.")
    with ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        return run(folder, 120 if options.quick else ALL, options.quick)


def table(raw: common.Raw) -> str:
    """Seconds and peaks of every stage."""
    s, count = raw["settings"], raw["images"]
    body = [
        (name, f"{each['seconds']:.1f}", f"{each['anonymous_gib']:.2f} GiB", f"{each['resident_gib']:.2f} GiB")
        for name, each in raw["stages"].items()
    ]
    lines = [
        "# Permuted sequential MNIST on a CPU: memory of a whole run",
        "",
        common.origin(raw),
        "",
        f"All {sum(count.values()):,} images through files ({s['gigabytes']:.1f} GB of features), "
        f"{' + '.join(map(str, s['units']))} "
        f"units, {s['snapshots']} snapshots, sigmoids trained by streaming. Anonymous memory is what the system cannot drop; "
        "resident counts mapped pages of the files too.",
        "",
        *common.rows(("stage", "seconds", "peak, anonymous, of the stage", "peak, resident, so far"), body),
        "",
        f"{sum(each['seconds'] for each in raw['stages'].values()):.0f} s in all; accuracy "
        f"{raw['validation_accuracy']:.4f} on the "
        f"{count['held_out']:,} held-out images, {raw['test_accuracy']:.4f} on the {count['test']:,} test images.",
        "",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> common.Raw:
    return common.main("psmnist_memory", __doc__, measure, table, arguments=arguments, extend=extend)


if __name__ == "__main__":
    main()
