"""Readouts of classes that are trained by minibatches: the penalty chosen by the loss on rows held out, then all rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Array
from echoscale.readouts import calibration, logistic

if TYPE_CHECKING:
    from echoscale.engine.devices import DeviceLike


# "auto" for a trained readout, which folds would train many times over. Its epochs and its falling rate hold it back too.
TRAINED_RIDGE = 1e-5


class Trainer(NamedTuple):
    """How a readout is trained, but for its rows and its penalty: least sum of E + ridge/2 |W|^2 on standardised rows.

    Attributes
    ----------
    classes : int
        How many there are.
    loss : "softmax" or "sigmoid"
        Of the outputs.
    rate, epochs, minibatch, seed, dtype, device
        As in `logistic.fit`; a minibatch is all rows where there are fewer.
    """

    classes: int
    loss: str
    rate: float
    epochs: int
    minibatch: int
    seed: int
    dtype: str
    device: DeviceLike

    def train(self, rows: Array, labels: Array, penalty: float, validation: Array | None = None) -> logistic.Trained:
        """The readout of all rows but those held out."""
        count = len(rows) - (0 if validation is None else len(validation))
        return logistic.fit(
            rows,
            labels,
            self.classes,
            loss=self.loss,
            rate=self.rate,
            schedule="cosine",
            epochs=self.epochs,
            minibatch=min(self.minibatch, count),
            ridge=penalty / count,
            standardise=True,
            validation=validation,
            seed=self.seed,
            dtype=self.dtype,
            device=self.device,
        )

    def loss_on(self, rows: Array, labels: Array, penalty: float, held_out: Array) -> float:
        """The summed loss of rows that are held out."""
        return float(self.train(rows, labels, penalty, held_out).history.loss[-1]) * len(held_out)


def train(
    trainer: Trainer,
    rows: Array,
    labels: Array,
    held_out: Sequence[Array],
    chosen_from: npt.NDArray[np.float64] | None,
    *,
    inside: Array | None = None,
) -> tuple[logistic.Trained, float]:
    """The readout and its penalty."""
    best = TRAINED_RIDGE if chosen_from is None else float(chosen_from[0])
    if chosen_from is not None and len(chosen_from) > 1:
        some, known, groups = rows, labels, list(held_out)
        if inside is not None:
            some, known, groups = rows[inside], labels[inside], [np.searchsorted(inside, each) for each in held_out]
        if not groups or not all(0 < len(each) < len(some) for each in groups):
            raise ValueError(f"ridge holds {len(chosen_from)} penalties, but there is too little data to choose by: give one.")
        summed = [sum(trainer.loss_on(some, known, each, out) for out in groups) for each in chosen_from]
        best = float(chosen_from[int(np.argmin(summed))])
    return trainer.train(rows, labels, best), best


def steepness(trainer: Trainer, rows: Array, labels: Array, groups: Sequence[Array], penalty: float) -> float:
    """beta of `readouts.calibration`, from readouts that were trained without the rows they judge; 1 without folds."""
    if len(groups) < 2:
        return 1.0
    found = [trainer.train(rows, labels, penalty, each).readout.predict(rows[each]) for each in groups]
    right = np.concatenate([labels[each] for each in groups])
    return calibration.steepness(np.concatenate(found), right, trainer.loss)
