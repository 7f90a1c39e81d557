"""Permuted sequential MNIST from end to end on a CPU, through files: seconds and peak memory of every stage.

    python benchmarks/psmnist_memory.py                    all 60,000 + 10,000 images: 9.4 GB of disk, some minutes
    python benchmarks/psmnist_memory.py --images 3000      a trial: 0.47 GB

    data       both sets of images in memory, as sequences of 784 steps
    features   28 snapshots of the network of `psmnist.py`, 2 x 600 units, of every image, to two files (`features.compute`)
    readout    sigmoids, 8 epochs of Adam, streamed from the file; the last sixth of the training images is held out
    test       the share of test images that are given their label, streamed from the other file

Two peaks are told after every stage. "resident" is what the system counts for the process, the largest since its start
(ru_maxrss): with pages of the mapped files, which it may drop at any time. "anonymous" is the memory that it cannot drop, the
largest within the stage (RssAnon, looked at 100 times a second). The system's own buffers of files that are written and read
are in neither. Linux alone tells all this.

Writes results/psmnist_memory.json, of a run with all images and no features from before.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import numpy as np
import numpy.typing as npt
import report
from psmnist import EVERY, LEAK_RATES, STEPS, UNITS, network

import echoscale as es
from echoscale import features
from echoscale.readouts import logistic

HERE = Path(__file__).resolve().parent
STATUS = Path("/proc/self/status")
GIB = 2**30

ALL, HELD_OUT = 60_000, 6  # training images, of which one in so many is held out; as many are tested
CLASSES, RATE, SCHEDULE, EPOCHS, MINIBATCH = 10, 5e-4, "cosine", 8, 50
AT_ONCE = 500  # test images whose outputs are computed together
BYTES = STEPS // EVERY * sum(UNITS) * 4  # of the features of an image
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
        tell(f"{name}: {seconds:.1f} s, peak {found['anonymous_gib']:.2f} GiB anonymous, {resident / GIB:.2f} GiB resident")

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


def tell(text: str) -> None:
    """To standard error, so that standard output holds the results alone."""
    print(text, file=sys.stderr, flush=True)


def computed(esn: es.ESN, u: npt.NDArray[np.float32], path: Path) -> tuple[features.Features, int]:
    """The features of all images in a file, and how many of them were there before."""
    start = time.perf_counter()
    told: list[int] = []  # first those that were there

    def progress(done: int, total: int, _: str) -> None:
        told.append(done)
        tell(f"  {path.name}: {done:,} of {total:,} images, {time.perf_counter() - start:.1f} s")

    return features.compute(esn, u, EVERY, path=path, progress=progress), told[0]


def trained(snapshots: features.Features, labels: npt.NDArray[np.int64]) -> logistic.Trained:
    """A readout of the features in a file, which are not read into memory as a whole."""
    start, count = time.perf_counter(), len(labels)

    def told(now: logistic.Trained) -> None:
        held_out = f"loss {now.history.loss[-1]:.4f}, accuracy {now.history.accuracy[-1]:.4f} held out"
        tell(f"  epoch {now.epochs} of {EPOCHS}: {held_out}, {time.perf_counter() - start:.1f} s")

    return logistic.fit(
        snapshots,  # and not its array, which would be taken as one block
        labels,
        CLASSES,
        loss="sigmoid",
        rate=RATE,
        schedule=SCHEDULE,
        epochs=EPOCHS,
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


def measure(folder: Path, images: int) -> dict[str, Any]:
    """All stages, with their seconds and peaks."""
    watch, start = Watch(), time.perf_counter()
    with watch.stage("data"):
        train, test = (es.tasks.psmnist(split) for split in ("train", "test"))
        train, test = (
            each._replace(u=each.u[:count], labels=each.labels[:count])
            for each, count in ((train, images), (test, images // HELD_OUT))
        )
    with watch.stage("features"):
        esn = network()
        of_train, train_before = computed(esn, train.u, folder / "train.features")
        of_test, test_before = computed(esn, test.u, folder / "test.features")
    with watch.stage("readout"):
        readout = trained(of_train, train.labels)
    with watch.stage("test"):
        right = accuracy(readout, of_test, test.labels)
    watch.close()
    history, best = readout.history, readout.best_epoch
    return {
        "images": {"train": images - images // HELD_OUT, "held_out": images // HELD_OUT, "test": len(test.labels)},
        "images_from_before": {"train": train_before, "test": test_before},
        "seconds": round(time.perf_counter() - start, 1),
        "stages": watch.stages,
        "best_epoch": best + 1,
        "validation_accuracy": history.accuracy[best],
        "test_accuracy": right,
        "history": {name: values.tolist() for name, values in history._asdict().items()},
    }


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument(
        "--images", type=int, default=ALL, metavar="N", help=f"training images, default {ALL:,}; N / 6 are tested"
    )
    parser.add_argument(
        "--folder",
        type=Path,
        help=f"where the features go, on a disk with {_room(ALL):.1f} GB free for all images (0.16 MB for each of N); they "
        "stay there, and a run that was killed goes on with them. Default: a new folder among the system's temporary ones "
        "(TMPDIR), removed at the end. One that lies in memory (tmpfs) spares none",
    )
    options = parser.parse_args(arguments)
    if not 100 <= options.images <= ALL:
        parser.error(f"--images must be 100 to {ALL}, got {options.images}.")
    if options.folder and not options.folder.is_dir():
        parser.error(f"--folder {options.folder} is not there. Make it first.")
    if not STATUS.exists() or "RssAnon:" not in STATUS.read_text():
        parser.error(f"anonymous memory is read from {STATUS}, which only Linux has.")
    return options


def _room(images: int) -> float:
    """GB of the features of so many training images and of those that are tested."""
    return (images + images // HELD_OUT) * BYTES / 1e9


def main() -> None:
    """Progress on standard error, results on standard output and in a file."""
    options = parse()
    jax.config.update("jax_platforms", "cpu")  # type: ignore[no-untyped-call]
    host = report.machine()
    with ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        tell(f"{_room(options.images):.2f} GB of features go to {folder}")
        found = measure(folder, options.images)
    whole = options.images == ALL
    results = {
        "command": "python benchmarks/psmnist_memory.py" + ("" if whole else f" --images {options.images}"),
        "machine": {**host, "load_after": round(os.getloadavg()[0], 2)},
        "versions": {each: version(each) for each in ("echoscale", "jax", "jaxlib", "numpy")},
        "settings": {
            "units": UNITS,
            "leak_rates": LEAK_RATES,
            "steps": STEPS,
            "snapshots": STEPS // EVERY,
            "loss": "sigmoid",
            "rate": RATE,
            "schedule": SCHEDULE,
            "epochs": EPOCHS,
            "minibatch": MINIBATCH,
            "seed": 0,
            "gigabytes": round(_room(options.images), 3),
        },
        **found,
    }
    text = json.dumps(results, indent=2)
    if whole and not any(found["images_from_before"].values()):
        (HERE / "results" / "psmnist_memory.json").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
