"""Readouts of classes that are trained by minibatches: the penalty chosen by the loss on rows held out, then all rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from echoscale.readouts import logistic

if TYPE_CHECKING:
    from echoscale.engine.machine import DeviceLike

Array = npt.NDArray[Any]

# "auto" for a trained readout, which folds would train many times over. Its epochs and its falling rate hold it back too.
TRAINED_RIDGE = 1e-5


def train(
    rows: Array,
    labels: Array,
    held_out: Sequence[Array],
    chosen_from: npt.NDArray[np.float64] | None,
    *,
    inside: Array | None,
    classes: int,
    loss: str,
    rate: float,
    epochs: int,
    minibatch: int,
    fit_intercept: bool,
    seed: int,
    dtype: str,
    device: DeviceLike,
) -> tuple[logistic.Trained, float]:
    """Least sum of E + ridge/2 |W|^2 on standardised rows, and the penalty.

    Parameters
    ----------
    rows : (R, F)
        Features.
    labels : (R,)
        Classes, as whole numbers.
    held_out : sequence of arrays
        The rows of every fold, or of the validation data, held out one after another where there are several penalties.
    chosen_from : (n,) or None
        The penalties; None ("auto"): 1e-5.
    inside : (r,) or None
        The rows that take part in the choice, sorted; None: all. (Those of gaps do not.)
    classes : int
        How many there are.
    loss, rate, epochs, minibatch, fit_intercept, seed, dtype, device
        As in `logistic.fit`; a minibatch is all rows where there are fewer.
    """

    def trained(rows: Array, labels: Array, penalty: float, validation: Array | None = None) -> logistic.Trained:
        count = len(rows) - (0 if validation is None else len(validation))
        return logistic.fit(
            rows,
            labels,
            classes,
            loss=loss,
            rate=rate,
            schedule="cosine",
            epochs=epochs,
            minibatch=min(minibatch, count),
            ridge=penalty / count,
            standardise=True,
            fit_intercept=fit_intercept,
            validation=validation,
            seed=seed,
            dtype=dtype,
            device=device,
        )

    best = TRAINED_RIDGE if chosen_from is None else float(chosen_from[0])
    if chosen_from is not None and len(chosen_from) > 1:
        some, known, groups = rows, labels, list(held_out)
        if inside is not None:
            some, known, groups = rows[inside], labels[inside], [np.searchsorted(inside, each) for each in held_out]
        if not all(0 < len(each) < len(some) for each in groups):
            raise ValueError(f"ridge holds {len(chosen_from)} penalties, but there is too little data to choose by: give one.")
        losses = [sum(trained(some, known, each, out).history.loss[-1] * len(out) for out in groups) for each in chosen_from]
        best = float(chosen_from[int(np.argmin(losses))])
    return trained(rows, labels, best), best
