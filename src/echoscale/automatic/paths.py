"""Ridge paths of many candidates at an origin: which penalty the folds choose, and the readout that goes with it.

A candidate is a set of features of one lane, and what it is fitted to: the target, or its change since now. Those of one lane
share the statistics; those of one set of features share the eigendecompositions.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale.engine.machine import in_threads
from echoscale.readouts.penalties import RELATIVE, in_units, path_squares
from echoscale.readouts.ridge import Readout, ridge
from echoscale.readouts.statistics import Statistics

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Pairs = Sequence[tuple[Statistics, Statistics]]


class Chosen(NamedTuple):
    """Root mean squared error of the held-out folds, and the relative penalty that has it: (..., kinds)."""

    error: Floats
    relative: Floats


def take(statistics: Statistics, features: Indices, targets: Indices) -> Statistics:
    """The statistics of some columns only, the last `targets` of which are targets."""
    used = np.concatenate([features, targets])
    return Statistics(statistics.count, statistics.mean[..., used], statistics.scatter[..., used[:, None], used], len(features))


def choose(pairs: Pairs, features: Indices, kinds: Sequence[Indices], relative: Floats = RELATIVE, workers: int = 1) -> Chosen:
    """The penalty with the least error over the folds, for every lane and every kind of target (columns of the outputs)."""
    targets = np.concatenate(kinds)
    each_of: list[Any] = [None] * len(pairs)

    def judge(k: int) -> None:
        train, held_out = (take(each, features, targets) for each in pairs[k])
        each_of[k] = path_squares(train, held_out, relative)

    in_threads(judge, range(len(pairs)), min(workers, len(pairs)), threading.Event())
    squares: Any = sum(each_of)
    count: Any = sum(held_out.count for _, held_out in pairs)
    mean = squares / count[..., None]
    each = np.stack([part.mean(axis=-1) for part in np.split(mean, len(kinds), axis=-1)], axis=-1)  # (R, ..., kinds)
    each = np.where(np.isfinite(each), each, np.inf)
    place = np.argmin(each, axis=0)
    return Chosen(np.sqrt(np.take_along_axis(each, place[None], axis=0)[0]), relative[place])


def fitted(whole: Statistics, features: Indices, targets: Indices, relative: float) -> Readout:
    """The readout of one lane on all that is known at an origin."""
    return ridge(in_units(take(whole, features, targets)), float(relative))
