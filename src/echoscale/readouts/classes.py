"""Readouts of classes, fitted to rows in memory by ridge regression or by minibatches, and their probabilities.

    z = W (f - mean) / spread + b,     p = softmax(beta z)

`fit_classes` trains `Softmax` or `Sigmoid`; held-out rows choose among several penalties. `fit_ridge` fits the ridge readout.
If there are more features than rows, the features are reduced first (`ridge.turned`), so that folds cost little.

Outputs of held-out rows set the steepness beta of the probabilities, so that the probabilities are calibrated:

    beta = argmin of - sum over rows of sum over classes of q log p

The row's own class has q = (R + 1) / (R + 2) for R rows, and the other classes share the rest (Platt 1999). Perfectly separated
rows therefore do not give probabilities of 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar

from echoscale._internal import checks
from echoscale._internal.types import Array, Floats, Indices
from echoscale.data.losses import probabilities
from echoscale.engine.devices import DeviceLike
from echoscale.readouts import fit, logistic, penalties
from echoscale.readouts.logistic import Trained, TrainingHistory
from echoscale.readouts.penalties import RidgeCurve
from echoscale.readouts.pooling import standardising
from echoscale.readouts.ridge import Readout, mean_squared_errors, threads_for, turned
from echoscale.readouts.splits import Splits
from echoscale.readouts.statistics import Statistics, of_rows

# The penalty of ridge="auto" for trained readouts, since folds would train many times. The number of epochs and the falling
# rate regularise too.
RIDGE = 1e-5
# Smallest relative penalty for leave-one-out: with a smaller one, the leverage of a row would be rounding.
LEAST_PENALTY = 1e-9
# Decimal logarithms of beta, in units of the outputs' standard deviation.
BOUNDS = (-4.0, 4.0)


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
        logistic.check_rate(self.rate)
        checks.integer(self.batch, "batch", minimum=1)
        checks.choice(self.calibrate, (True, False), "calibrate")


@dataclass(frozen=True)
class Softmax(Minibatches):
    """Readout of classes with minimal cross-entropy of softmax(z), z = W f + b, trained by minibatches.

    The features f are standardised. The loss is summed over the rows, with the ridge penalty of the classifier:

        sum of E + ridge/2 |W|^2,    E = - log softmax(z) of the class

    Parameters
    ----------
    epochs : int, default 30
        Number of passes over all rows.
    rate : float, default 0.001
        Initial learning rate of Adam, which falls to 0 along a cosine.
    batch : int, default 50
        Number of rows in a minibatch; all rows if there are fewer.
    calibrate : bool, default False
        Whether held-out rows set the steepness of the probabilities. The readout is then trained once more for every fold.

    Examples
    --------
    >>> import echoscale as es
    >>> es.ESNClassifier(readout=es.readouts.Softmax(epochs=10)).readout
    Softmax(epochs=10, rate=0.001, batch=50, calibrate=False)
    """

    loss: ClassVar[str] = "softmax"


@dataclass(frozen=True)
class Sigmoid(Minibatches):
    """Readout of classes with minimal cross-entropy of sigmoid(z), z = W f + b, for every class separately, trained by
    minibatches.

    The features f are standardised. The loss E is summed over classes and rows, with the ridge penalty of the classifier:

        sum of E + ridge/2 |W|^2,    E = - log p of the class - sum over the other classes of log(1 - p),    p = sigmoid(z)

    Parameters
    ----------
    epochs : int, default 30
        Number of passes over all rows.
    rate : float, default 0.001
        Initial learning rate of Adam, which falls to 0 along a cosine.
    batch : int, default 50
        Number of rows in a minibatch; all rows if there are fewer.
    calibrate : bool, default False
        Whether held-out rows set the steepness of the probabilities. The readout is then trained once more for every fold.

    Examples
    --------
    >>> import echoscale as es
    >>> es.ESNClassifier(readout=es.readouts.Sigmoid(rate=5e-3)).readout
    Sigmoid(epochs=30, rate=0.005, batch=50, calibrate=False)
    """

    loss: ClassVar[str] = "sigmoid"


class TrainedClasses(NamedTuple):
    """A readout of unscaled features, its penalty, its training history, and the steepness of its probabilities."""

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
    """The readout of all rows; `held_out` chooses among several penalties, and `judged` (or `held_out`) calibrates."""

    def train(some: Array, right: Indices, penalty: float, validation: Indices | None = None) -> Trained:
        count = len(some) - (0 if validation is None else len(validation))
        return logistic.fit(
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
    beta = 1.0
    if readout.calibrate:
        folds = groups if judged is None else judged.rows()
        if len(folds) > 1:
            outputs = [train(rows, labels, penalty, each).readout.predict(rows[each]) for each in folds]
            truth = np.concatenate([labels[each] for each in folds])
            beta = steepness(np.concatenate(outputs), truth, readout.loss)
    return TrainedClasses(found.readout._replace(ridge=np.asarray(penalty)), penalty, found.history, beta)


class RowReadout(NamedTuple):
    """A ridge readout with its leave-one-out errors.

    Attributes
    ----------
    readout : Readout
        Weights W (O, F) and intercept b, for unscaled features.
    ridge : float
        Penalty on the weights of standardised features.
    curve : RidgeCurve or None
        Error on held-out folds for every penalty; None if nothing was chosen.
    outputs : (R, O)
        Scores z of every row, from the readout of all other rows.
    error : float
        Mean squared error of `outputs`, in units of the variance of every class.
    """

    readout: Readout
    ridge: float
    curve: RidgeCurve | None
    outputs: Floats
    error: float


def fit_ridge(
    features: npt.NDArray[Any],
    codes: Floats,
    chosen_from: Floats | None,
    folds: int,
    *,
    standardise: bool = True,
) -> RowReadout:
    """The readout with the penalty that held-out rows choose."""
    scaling = standardising(features)
    if not standardise:
        scaling = scaling._replace(spread=np.ones_like(scaling.spread))
    work = turned(scaling.forward(features))
    several = chosen_from is None or len(chosen_from) > 1
    held_out = fit.splits_by_class(folds, codes.argmax(axis=1), several)
    groups = held_out.rows()
    parts = [of_rows(work.rows[rows], codes[rows]) for rows in groups]
    found = fit.fit_readout(parts, held_out.splits, chosen_from, lambda: (work.rows, codes, groups))
    readout = work.back(found.readout)
    coef = np.ascontiguousarray(readout.coef / scaling.spread)
    plain = Readout(coef, readout.intercept - coef @ scaling.mean, readout.ridge)
    outputs = left_out(work.rows, codes, found.ridge)
    variance = codes.var(axis=0)
    error = float(((outputs - codes) ** 2 / np.where(variance > 0, variance, 1.0)).mean())
    return RowReadout(plain, found.ridge, found.curve, outputs, error)


def least_error(features: npt.NDArray[Any], codes: Floats) -> float:
    """The smallest leave-one-out error over a path of penalties, from one decomposition, for comparisons.

    With X = U s V^T, 1 - h = 1 - sum over k of U_k^2 s_k^2 / (s_k^2 + ridge) - 1 / R. The last term belongs to the intercept.
    """
    x = standardising(features).forward(features)
    y = codes - codes.mean(axis=0)
    with threads_for(np.empty((0, min(x.shape)))):
        if len(x) <= x.shape[1]:
            squares, u = np.linalg.eigh(x @ x.T)
        else:
            squares, v = np.linalg.eigh(x.T @ x)
            u = x @ v / np.sqrt(np.maximum(squares, np.finfo(np.float64).tiny))
    squares = np.maximum(squares, 0)
    kept = squares > np.finfo(np.float64).eps * len(squares) * squares.max(initial=0.0)
    squares, u = squares[kept], u[:, kept]
    turned_codes, leverages = u.T @ y, u**2
    variance = codes.var(axis=0)
    least = np.inf
    for relative in penalties.RELATIVE[penalties.RELATIVE >= LEAST_PENALTY]:
        shrunk = squares / (squares + relative * squares.sum() / min(x.shape))
        apart = y - u @ (shrunk[:, None] * turned_codes)
        free = np.maximum(1 - leverages @ shrunk - 1 / len(x), np.finfo(np.float64).eps)
        error = float(((apart / free[:, None]) ** 2 / np.where(variance > 0, variance, 1.0)).mean())
        least = min(least, error)
    return least


def left_out(rows: Floats, codes: Floats, ridge: float) -> Floats:
    """Scores z of every row from the readout of all other rows, without solving for it: y - (y - z) / (1 - h).

    h is the leverage of a row, the diagonal of X (X^T X + ridge I)^-1 X^T, plus 1 / R for the intercept.
    """
    x, y = (each - each.mean(axis=0) for each in (rows, codes))
    gram = x.T @ x
    least = LEAST_PENALTY * max(float(np.trace(gram)), np.finfo(np.float64).tiny) / gram.shape[0]
    solved = np.linalg.solve(gram + max(ridge, least) * np.eye(len(gram)), x.T)
    leverage = np.einsum("rf,fr->r", x, solved) + 1 / len(x)
    return np.asarray(codes - (y - x @ (solved @ y)) / np.maximum(1 - leverage, np.finfo(np.float64).eps)[:, None])


def steepness(outputs: npt.ArrayLike, labels: npt.ArrayLike, loss: str = "softmax") -> float:
    """The steepness beta, from outputs of held-out rows."""
    z, right = np.asarray(outputs, np.float64), np.asarray(labels, np.int64)
    rows, classes = z.shape
    spread = float((z - z.mean(axis=1, keepdims=True)).std())
    if spread == 0:
        return 1.0
    wanted = np.full(z.shape, 1 / (rows + 2) / max(classes - 1, 1))
    wanted[np.arange(rows), right] = (rows + 1) / (rows + 2)

    def entropy(power: float) -> float:
        p = probabilities(loss, 10**power / spread * z)
        return float(-(wanted * np.log(np.maximum(p, np.finfo(np.float64).tiny))).sum())

    found: Any = minimize_scalar(entropy, bounds=BOUNDS, method="bounded", options={"xatol": 1e-6})
    return float(10**found.x / spread)


def steepness_of_steps(statistics: Statistics, readout: Readout, curve: RidgeCurve | None) -> float:
    """The steepness beta = 1 / v: if z is a one-hot code with normal errors of variance v, p = softmax(z / v)."""
    spread = np.diagonal(statistics.scatter)[statistics.features :] / statistics.count
    if curve is not None:
        variance = float((spread * curve.errors[curve.place] ** 2).mean())
    else:
        variance = float(mean_squared_errors(readout, statistics).mean())
    return 1 / max(variance, np.finfo(np.float64).eps)
