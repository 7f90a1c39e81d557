"""Networks on permuted images: snapshots of all of them at one set of leak rates, and readouts of few and of many snapshots.

    X = (x(M), x(2M), ..., x(T)),      p = sigmoid(W_out X),      label = argmax p        (paper, "Permuted Sequential MNIST")

The network runs once, with a snapshot after every M steps of the smallest M asked for; rarer snapshots are among these. The
last images of the training set are held out: they choose the best leak rates, the test set chooses nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from echoscale.engine.devices import device_of, on_cpu
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Hyper
from echoscale.readouts import features, logistic
from echoscale.sweeps.job import Check
from echoscale.tasks import Sequences, psdigits, psmnist

Floats = npt.NDArray[np.float64]

CLASSES = 10
LOADERS = {"mnist": psmnist, "digits": psdigits}
AT_ONCE = 2000  # images whose outputs are computed together


@dataclass(frozen=True, eq=False)
class Split:
    """Sequences to train, to choose and to test, side by side in one array (B, T, 1), and where each part begins and ends."""

    u: Any
    labels: npt.NDArray[np.int64]
    train: int
    validation: int

    @property
    def fitted(self) -> slice:
        """Those that the readout is trained with, and judged by on the way."""
        return slice(0, self.train + self.validation)

    @property
    def held_out(self) -> npt.NDArray[np.int64]:
        """Those that choose."""
        return np.arange(self.train, self.train + self.validation)

    @property
    def tested(self) -> slice:
        """Those that are reported."""
        return slice(self.train + self.validation, None)


@cache
def split(data: str, permutation: int | None, train: int, validation: int, test: int) -> Split:
    """The first `train` images, the last `validation` ones of the training set, and the first `test` ones of the test set."""
    learn, judge = (LOADERS[data](part, permutation) for part in ("train", "test"))
    for name, wanted, there in (("train + validation", train + validation, learn), ("test", test, judge)):
        if wanted > len(there.labels):
            raise ValueError(f"{name} asks for {wanted} images, {there.name} has {len(there.labels)}.")
    chosen = np.r_[:train, len(learn.labels) - validation : len(learn.labels)]
    u = np.concatenate([learn.u[chosen], judge.u[:test]])
    return Split(u, np.concatenate([learn.labels[chosen], judge.labels[:test]]), train, validation)


@lru_cache(maxsize=1)
def sent(data: Split) -> Any:
    """The sequences on the device, sent once for all networks."""
    return jax.device_put(data.u)


def example(data: str, permutation: int | None, labels: tuple[int, ...]) -> Sequences:
    """The first test image of each of these labels."""
    judge = LOADERS[data]("test", permutation)
    rows = [int(np.flatnonzero(judge.labels == label)[0]) for label in labels]
    return judge._replace(u=judge.u[rows], labels=judge.labels[rows])


def scored(
    esn: ESN,
    hyper: Hyper,
    data: Split,
    snapshots: tuple[int, ...],
    rates: tuple[float, ...],
    epochs: int,
    minibatch: int,
    check: Check,
) -> Floats:
    """Accuracies (snapshots, 2) on the held-out and on the test images, sigmoid readouts, Adam with a falling rate."""
    most = max(snapshots)
    every = data.u.shape[1] // most
    there = not on_cpu(device_of(esn.device))
    u = sent(data) if there else data.u
    found = features.compute(esn, u, every, hyper=hyper, on_device=there, progress=lambda *_: check()).array
    scores = []
    for count, rate in zip(snapshots, rates, strict=True):
        kept = found[:, most // count - 1 :: most // count]
        fit = logistic.fit(
            kept[data.fitted],
            data.labels[data.fitted],
            CLASSES,
            rate=rate,
            schedule="cosine",
            epochs=epochs,
            minibatch=minibatch,
            validation=data.held_out,
            progress=lambda *_: check(),
            seed=esn.seed,
            device=esn.device,
        )
        # The rate has fallen to 0: the last weights, not the best epoch's, so that nothing is chosen on the way.
        scores.append([fit.history.accuracy[-1], accuracy(fit.state.weights, kept[data.tested], data.labels[data.tested])])
    return np.array(scores)


def accuracy(weights: Any, kept: Any, labels: npt.NDArray[np.int64]) -> float:
    """The share of images (B, S, N) whose largest output is that of their label."""
    right = 0
    for begin in range(0, len(labels), AT_ONCE):
        rows = kept[begin : begin + AT_ONCE]
        flat = rows.reshape(len(rows), -1)
        outputs = jnp.matmul(jnp.asarray(flat), jnp.asarray(weights.coef).T, precision="highest") + weights.intercept
        right += int((np.asarray(outputs).argmax(axis=1) == labels[begin : begin + AT_ONCE]).sum())
    return right / len(labels)
