"""`Softmax` and `Sigmoid`: readouts of classes with their options, fitted to rows; held-out rows choose the penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from echoscale._internal import checks
from echoscale._internal.types import Array, Floats, Indices
from echoscale.readouts import calibration
from echoscale.readouts.logistic import Trained, TrainingHistory, check_rate, fit
from echoscale.readouts.ridge import Readout
from echoscale.readouts.splits import Splits

if TYPE_CHECKING:
    from echoscale.engine.devices import DeviceLike

# The penalty of ridge="auto": folds would train many times. The number of epochs and the falling rate regularise too.
RIDGE = 1e-5


@dataclass(frozen=True)
class Minibatches:
    """z = W f + b, trained by minibatches with Adam on standardised features; see `Softmax` and `Sigmoid`."""

    epochs: int = 30
    rate: float = 1e-3
    batch: int = 50
    calibrate: bool = False

    loss: ClassVar[str]

    def __post_init__(self) -> None:
        checks.integer(self.epochs, "epochs", minimum=1)
        check_rate(self.rate)
        checks.integer(self.batch, "batch", minimum=1)
        checks.choice(self.calibrate, (True, False), "calibrate")


@dataclass(frozen=True)
class Softmax(Minibatches):
    """The readout z = W f + b with the least cross-entropy of softmax(z) and the class, trained by minibatches.

    Features are standardised. The penalty of the classifier stands beside the summed loss, sum of E + ridge/2 |W|^2.

    Parameters
    ----------
    epochs : int
        Number of passes over all rows.
    rate : float
        First step of Adam, which falls to 0 along a cosine.
    batch : int
        Rows of a step, or all rows where there are fewer.
    calibrate : bool
        Whether held-out rows set the steepness of probabilities. The readout is then trained once more for every fold.

    Examples
    --------
    >>> import echoscale as es
    >>> es.ESNClassifier(readout=es.readouts.Softmax(epochs=10)).readout
    Softmax(epochs=10, rate=0.001, batch=50, calibrate=False)
    """

    loss: ClassVar[str] = "softmax"


@dataclass(frozen=True)
class Sigmoid(Minibatches):
    """The readout z = W f + b with the least cross-entropy of sigmoid(z) of every class by itself, trained by minibatches.

    Features are standardised. The penalty of the classifier stands beside the summed loss, sum of E + ridge/2 |W|^2.

    Parameters
    ----------
    epochs : int
        Number of passes over all rows.
    rate : float
        First step of Adam, which falls to 0 along a cosine.
    batch : int
        Rows of a step, or all rows where there are fewer.
    calibrate : bool
        Whether held-out rows set the steepness of probabilities. The readout is then trained once more for every fold.

    Examples
    --------
    >>> import echoscale as es
    >>> es.ESNClassifier(readout=es.readouts.Sigmoid(rate=5e-3)).readout
    Sigmoid(epochs=30, rate=0.005, batch=50, calibrate=False)
    """

    loss: ClassVar[str] = "sigmoid"


class TrainedClasses(NamedTuple):
    """A readout of features as they are, its penalty, the history of its training, and the steepness of probabilities."""

    readout: Readout
    ridge: float
    history: TrainingHistory
    steepness: float


def fit_classes(
    readout: Minibatches,
    rows: Array,
    labels: Indices,
    classes: int,
    ridge: Floats | None,
    held_out: Splits,
    *,
    judged: Splits | None = None,
    seed: int,
    dtype: str,
    device: DeviceLike,
) -> TrainedClasses:
    """The readout of all rows; held_out chooses among several penalties, judged (or held_out) calibrates."""

    def train(some: Array, right: Indices, penalty: float, validation: Indices | None = None) -> Trained:
        count = len(some) - (0 if validation is None else len(validation))
        return fit(
            some,
            right,
            classes,
            loss=readout.loss,
            rate=readout.rate,
            schedule="cosine",
            epochs=readout.epochs,
            minibatch=min(readout.batch, count),
            ridge=penalty / count,
            standardise=True,
            validation=validation,
            seed=seed,
            dtype=dtype,
            device=device,
        )

    penalty = RIDGE if ridge is None else float(ridge[0])
    segments = held_out.rows()
    groups = [segments[s] for each in held_out.splits for s in each.held_out]
    if ridge is not None and len(ridge) > 1:
        used = [segments[s] for s in sorted({s for each in held_out.splits for s in each.train + each.held_out})]
        inside = np.sort(np.concatenate(used)) if used else np.arange(len(rows))
        places = [np.searchsorted(inside, each) for each in groups]
        if not places or not all(0 < len(each) < len(inside) for each in places):
            raise ValueError(f"ridge holds {len(ridge)} penalties, but there is too little data to choose by: give one.")
        some, right = rows[inside], labels[inside]
        losses = [
            sum(float(train(some, right, each, out).history.loss[-1]) * len(out) for out in places) for each in ridge.tolist()
        ]
        penalty = float(ridge[int(np.argmin(losses))])
    found = train(rows, labels, penalty)
    steepness = 1.0
    if readout.calibrate:
        folds = groups if judged is None else judged.rows()
        if len(folds) > 1:
            outputs = [train(rows, labels, penalty, each).readout.predict(rows[each]) for each in folds]
            truth = np.concatenate([labels[each] for each in folds])
            steepness = calibration.steepness(np.concatenate(outputs), truth, readout.loss)
    return TrainedClasses(found.readout._replace(ridge=np.asarray(penalty)), penalty, found.history, steepness)
