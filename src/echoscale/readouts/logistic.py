"""A readout of classes, trained by shuffled minibatches with Adam, on features in memory or streamed from a file.

    E = mean over rows of loss(W x + b, label) + ridge/2 |W|^2

In every epoch, blocks come in random order, and rows in random order within a block, cut into minibatches. The order follows
from the seed and the number of the epoch alone, so an interrupted training resumes as if it had not been interrupted.

A schedule sets the rate of every minibatch k = 0 .. K-1 of a training:

    "constant"  rate
    "cosine"    rate (1 + cos(pi k / K)) / 2: from the rate down towards 0, which reduces the noise of small minibatches
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax

from echoscale._internal import checks
from echoscale._internal.progress import Progress, shown
from echoscale._internal.types import Array, Floats, Indices
from echoscale.data.losses import OF_CLASSES, constant, probabilities
from echoscale.data.series import refuse_masked
from echoscale.engine.devices import DeviceLike, device_of, precision_and_device
from echoscale.readouts import minibatches as loops
from echoscale.readouts.minibatches import EpochState, FeatureRows, ReadoutWeights, Scale, Streamed, Table
from echoscale.readouts.ridge import Readout

__all__ = ["OF_CLASSES", "SCHEDULES", "Trained", "TrainingHistory", "fit", "probabilities"]

SCHEDULES = ("constant", "cosine")
CRITERIA = ("loss", "accuracy")
JUDGED_AT_ONCE = 256  # rows: a larger number takes fewer calls and more memory
# Features that vary by less than this share of the most variable one are not scaled up: their variation is rounding.
LEAST_SPREAD = 1e-4


def fit(
    features: npt.ArrayLike | Streamed,
    labels: npt.ArrayLike,
    classes: int,
    *,
    loss: str = "sigmoid",
    rate: float = 1e-3,
    schedule: str = "constant",
    epochs: int = 10,
    minibatch: int = 50,
    ridge: float = 0.0,
    standardise: bool = False,
    validation: float | npt.ArrayLike | None = None,
    patience: int | None = None,
    criterion: str = "loss",
    average: int = 0,
    seed: int = 0,
    start: Trained | None = None,
    checkpoint: Callable[[Trained], None] | None = None,
    progress: bool | Progress = False,
    block: int | None = None,
    dtype: str = "float32",
    device: DeviceLike = None,
) -> Trained:
    """Trains a readout of classes by Adam on shuffled minibatches.

        E = mean over rows of loss(W x + b, label) + ridge/2 |W|^2

    W starts at 0, and b at the best constant.

    Parameters
    ----------
    features : (B, F) or (B, S, N) array, or an object to be streamed
        Features x of every row, in NumPy or JAX. A mapped file (np.memmap), or an object with this `shape` and a method
        `block(begin, end)` -> (rows, F), is streamed block by block; blocks and the rows of each block come in random order.
    labels : (B,)
        Class of every row: whole numbers from 0 to classes - 1.
    classes : int
        Number O of classes, at least 2.
    loss : "sigmoid" or "softmax", default "sigmoid"
        Loss function. "sigmoid": every class separately (the paper); "softmax": one class of several. See
        `echoscale.data.losses`.
    rate : float, default 0.001
        Learning rate of Adam. The paper uses 5e-4 for 28 snapshots and 5e-3 for 4.
    schedule : "constant" or "cosine", default "constant"
        Schedule of the learning rate. "cosine" lowers it to 0 over all minibatches of all epochs.
    epochs : int, default 10
        Number of passes over all rows, including the passes of `start`.
    minibatch : int, default 50
        Largest number of rows in a minibatch. If the rows (of a block) do not divide evenly, all minibatches are a little
        smaller.
    ridge : float, default 0.0
        Penalty on |W|^2 / 2, added to the mean loss; 0 is no penalty.
    standardise : bool, default False
        Whether to train on (x - mean) / spread over the training rows. The returned readout is for unscaled features; the
        penalty acts on the weights of standardised features.
    validation : None, share or rows
        Held-out rows: none, a share drawn at random, or their numbers. A stream is read once more for them; consecutive numbers
        avoid most of that.
    patience : int or None
        Number of epochs without improvement on the held-out rows after which the training stops. The best weights are kept in
        any case. Not useful with a cosine schedule, which is best at the end.
    criterion : "loss" or "accuracy", default "loss"
        Measure of improvement: a lower loss, or a higher accuracy (then a lower loss).
    average : int, default 0
        Number of last epochs over which the weights are averaged, minibatch by minibatch; 0: the last weights.
    seed : int, default 0
        Random seed of the order of rows and of the held-out rows: the same seed gives the same bits.
    start : Trained or None
        Earlier training to resume, which ended early or was interrupted.
    checkpoint : function or None
        Function that is called with the `Trained` so far after every epoch. Pass this object as `start=` to resume.
    progress : bool or function, default False
        Whether to show a bar, or a function that is called as progress(epochs done, epochs, note) after every epoch.
    block : int or None
        Number of rows in a block; arrays too are then sent to the device block by block. None: the whole array, or 256 MB of a
        stream.
    dtype : "float32" or "float64", default "float32"
        Precision of the training.
    device : None, "cpu", "gpu" or a jax.Device
        Device of the training. None: JAX's choice.

    Returns
    -------
    Trained
        The best weights (the last without held-out rows), the history, and the state for `start=`.

    Examples
    --------
    >>> import numpy as np
    >>> from echoscale.readouts import logistic
    >>> x = np.random.default_rng(0).normal(size=(90, 2))
    >>> labels = (x[:, 0] > 0).astype(int)
    >>> trained = logistic.fit(x, labels, classes=2, rate=0.1, epochs=5, validation=0.2)
    >>> trained.coef.shape, trained.history.loss.shape
    ((2, 2), (5,))
    >>> print((trained.predict(x).argmax(axis=1) == labels).mean().round(1))
    1.0
    """
    plan = TrainingPlan(
        loss=checks.choice(loss, OF_CLASSES, "loss"),
        rate=check_rate(rate),
        schedule=checks.choice(schedule, SCHEDULES, "schedule"),
        epochs=checks.integer(epochs, "epochs", minimum=1),
        minibatch=checks.integer(minibatch, "minibatch", minimum=1),
        ridge=checks.non_negative(ridge, "ridge", "0 is none."),
        standardise=bool(standardise),
        patience=None if patience is None else checks.integer(patience, "patience", minimum=1),
        criterion=checks.choice(criterion, CRITERIA, "criterion"),
        average=checks.integer(average, "average"),
        seed=checks.integer(seed, "seed"),
        dtype=checks.choice(dtype, ("float32", "float64"), "dtype"),
    )
    with precision_and_device(plan.dtype, device_of(device)):
        source = FeatureRows(features, plan.dtype, block, plan.minibatch)
        right = check_labels(labels, source.count, checks.integer(classes, "classes", minimum=2))
        held_out = check_validation(validation, source.count, plan.seed)
        if plan.patience is not None and not held_out.size:
            raise ValueError(f"patience={patience} needs validation rows to judge by: give validation, e.g. 0.1.")
        training = _Training(plan, source, right, held_out, classes)
        with shown(progress, "training") as tell:
            return training.run(start, checkpoint, tell)


class TrainingHistory(NamedTuple):
    """Loss and accuracy of every epoch of a training, without the penalty.

    Attributes
    ----------
    train_loss : (epochs,)
        Mean loss over the training rows, measured for each row just before its step.
    loss : (epochs,)
        Mean loss over the held-out rows after the epoch; NaN without held-out rows.
    accuracy : (epochs,)
        Share of held-out rows with the right label; NaN without held-out rows.
    """

    train_loss: Floats
    loss: Floats
    accuracy: Floats


class TrainedState(NamedTuple):
    """The current state of a training, in its own precision and for scaled features; not the best weights.

    weights   weights after the last minibatch
    averages  averages of Adam: count, means of the slopes and of their squares
    recent    mean weights of each of the last epochs, if weights are averaged
    """

    weights: ReadoutWeights
    averages: optax.ScaleByAdamState
    scale: Scale | None
    recent: tuple[ReadoutWeights, ...]


@dataclass(frozen=True, eq=False)
class Trained:
    """Trained readout z = coef x + intercept of unscaled features; the class has the largest z.

    Parameters
    ----------
    coef : (O, F)
        Weights W after the best epoch; after the last one without held-out rows.
    intercept : (O,)
        Intercept b after the same epoch.
    loss : "sigmoid" or "softmax"
        Loss function that was minimised.
    ridge : float
        Penalty on |W|^2 / 2, added to the mean loss.
    history : TrainingHistory
        Loss and accuracy of every epoch.
    best_epoch : int
        Number of the best epoch, from 0 as in the history.
    state : TrainedState
        State from which `fit(..., start=...)` resumes.

    Examples
    --------
    >>> import numpy as np
    >>> from echoscale.readouts import logistic
    >>> x = np.random.default_rng(0).normal(size=(60, 2))
    >>> trained = logistic.fit(x, (x[:, 0] > 0).astype(int), classes=2, rate=0.1, epochs=3)
    >>> int(trained.probabilities([[3.0, 0.0]]).argmax())
    1
    >>> same = logistic.Trained.of(trained.arrays())  # through np.savez or safetensors
    >>> np.array_equal(same.coef, trained.coef)
    True
    """

    coef: Floats
    intercept: Floats
    loss: str
    ridge: float
    history: TrainingHistory
    best_epoch: int
    state: TrainedState

    @property
    def epochs(self) -> int:
        """Number of epochs so far."""
        return len(self.history.train_loss)

    @property
    def readout(self) -> Readout:
        """The plain readout, without the history."""
        return Readout(self.coef, self.intercept, np.asarray(self.ridge))

    def predict(self, features: npt.ArrayLike) -> Floats:
        """Returns the scores z = coef x + intercept.

        Parameters
        ----------
        features : (rows, F)
            Unscaled features, as in `fit`.

        Returns
        -------
        (rows, O) array
            Scores.
        """
        return self.readout.predict(features)

    def probabilities(self, features: npt.ArrayLike) -> Floats:
        """Returns the probabilities of the classes, which add up to 1; see `echoscale.data.losses.probabilities`.

        Parameters
        ----------
        features : (rows, F)
            Unscaled features, as in `fit`.

        Returns
        -------
        (rows, O) array
            Probabilities.
        """
        return probabilities(self.loss, self.predict(features))

    def arrays(self) -> dict[str, Array]:
        """Returns the training as named arrays, for np.savez or safetensors; `Trained.of` is the inverse.

        Returns
        -------
        dict of arrays
            Arrays by name.
        """
        state, (count, slopes, squares) = self.state, self.state.averages
        named: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(self)[:4]}
        named |= {f"history.{name}": values for name, values in self.history._asdict().items()}
        named |= {"best_epoch": self.best_epoch, "adam.count": count}
        groups: dict[str, Any] = {"weights": state.weights, "adam.slopes": slopes, "adam.squares": squares}
        groups |= {f"recent.{k}": each for k, each in enumerate(state.recent)}
        groups |= {"scale": state.scale} if state.scale else {}
        named |= {f"{group}.{name}": value for group, leaf in groups.items() for name, value in leaf._asdict().items()}
        # A name is stored as bytes, since not every file format of arrays has text.
        return {key: np.asarray(list(value.encode()) if isinstance(value, str) else value) for key, value in named.items()}

    @classmethod
    def of(cls, arrays: Mapping[str, Array]) -> Trained:
        """Returns the training from the arrays that `arrays` made.

        Parameters
        ----------
        arrays : mapping of names to arrays
            Arrays with the names that `arrays` gave.

        Returns
        -------
        Trained
            The same training, to the bit.
        """

        def group(kind: Any, name: str) -> Any:
            return kind(*(arrays[f"{name}.{field}"] for field in kind._fields))

        recent = sum(key.startswith("recent.") and key.endswith(".coef") for key in arrays)
        state = TrainedState(
            group(ReadoutWeights, "weights"),
            optax.ScaleByAdamState(
                arrays["adam.count"], group(ReadoutWeights, "adam.slopes"), group(ReadoutWeights, "adam.squares")
            ),
            group(Scale, "scale") if "scale.mean" in arrays else None,
            tuple(group(ReadoutWeights, f"recent.{k}") for k in range(recent)),
        )
        loss = bytes(arrays["loss"].astype(np.uint8)).decode()
        numbers = float(arrays["ridge"]), group(TrainingHistory, "history"), int(arrays["best_epoch"])
        return cls(arrays["coef"], arrays["intercept"], loss, *numbers, state)


class TrainingPlan(NamedTuple):
    """The settings of one training, checked."""

    loss: str
    rate: float
    schedule: str
    epochs: int
    minibatch: int
    ridge: float
    standardise: bool
    patience: int | None
    criterion: str
    average: int
    seed: int
    dtype: str


class _Training:
    """One training: the data, and the loop over epochs."""

    def __init__(
        self, plan: TrainingPlan, source: FeatureRows, labels: npt.NDArray[np.int32], held_out: Indices, classes: int
    ) -> None:
        self.plan, self.source, self.labels, self.classes = plan, source, labels, classes
        rows = np.setdiff1d(np.arange(source.count), held_out, assume_unique=True)
        if len(rows) < plan.minibatch:
            raise ValueError(
                f"minibatch={plan.minibatch} is more than the {len(rows)} rows there are to train on: choose a smaller one."
            )
        self.rows, self.held_out = rows, len(held_out)
        self.parts = source.split(rows)
        self.steps = sum(loops.steps(len(part), plan.minibatch) for part in self.parts)
        self.judged = loops.tables(source.split(held_out), JUDGED_AT_ONCE)

    def run(self, start: Trained | None, checkpoint: Callable[[Trained], None] | None, tell: Progress) -> Trained:
        """Trains from the beginning, or resumes a training, up to the last epoch."""
        plan = self.plan
        now = self._begun() if start is None else self._checked(start)
        while now.epochs < plan.epochs and (plan.patience is None or now.epochs - 1 - now.best_epoch < plan.patience):
            now = self._epoch(now)
            if checkpoint is not None:
                checkpoint(now)
            tell(now.epochs, plan.epochs, f"loss {now.history.train_loss[-1]:.4g}")
        return now

    def _begun(self) -> Trained:
        dtype, shape = self.plan.dtype, (self.classes, self.source.width)
        zero = ReadoutWeights(np.zeros(shape, dtype), np.zeros(shape[0], dtype))
        counts = np.bincount(self.labels[self.rows], minlength=self.classes)
        scale = self._scale() if self.plan.standardise else None
        first = constant(self.plan.loss, counts) / (scale.gain if scale else 1.0)
        averages = optax.ScaleByAdamState(np.zeros((), np.int32), zero, zero)
        state = TrainedState(zero._replace(intercept=first.astype(dtype)), averages, scale, ())
        nothing = TrainingHistory(*(np.zeros(0) for _ in TrainingHistory._fields))
        return Trained(np.zeros(shape), np.zeros(shape[0]), self.plan.loss, self.plan.ridge, nothing, -1, state)

    def _checked(self, start: Trained) -> Trained:
        if start.coef.shape != (self.classes, self.source.width):
            raise ValueError(
                f"start has {start.coef.shape[0]} classes and {start.coef.shape[1]} features, the data {self.classes} and "
                f"{self.source.width}."
            )
        if start.loss != self.plan.loss:
            raise ValueError(f"start was trained with loss={start.loss!r}, not {self.plan.loss!r}.")
        if (start.state.scale is not None) != self.plan.standardise:
            raise ValueError(f"start was trained with standardise={start.state.scale is not None}: go on with the same.")
        if self.held_out and start.epochs and np.isnan(start.history.loss[start.best_epoch]):
            raise ValueError("start was trained without validation rows, so there is no best epoch to compare with.")
        return start

    def _epoch(self, before: Trained) -> Trained:
        """One more epoch, with its loss on the held-out rows."""
        plan, epoch, scale = self.plan, before.epochs, before.state.scale
        learned, train_loss = self._train(before)
        if not np.isfinite(train_loss):
            raise ValueError(
                f"training went astray in epoch {epoch}: the loss is {train_loss}. A smaller rate than {plan.rate} may help."
            )
        weights, averages = jax.tree.map(np.array, (learned.weights, learned.averages))
        recent: tuple[ReadoutWeights, ...] = ()
        kept = weights
        if learned.total is not None:
            mean = jax.tree.map(lambda total: np.asarray(total) / np.asarray(self.steps, plan.dtype), learned.total)
            recent = (*before.state.recent, mean)[-plan.average :]
            kept = ReadoutWeights(*(sum(parts) / np.asarray(len(recent), plan.dtype) for parts in zip(*recent, strict=True)))
        state = TrainedState(weights, averages, scale, recent)
        numbers = train_loss, *self._judge(kept, scale)
        history = TrainingHistory(*(np.append(past, number) for past, number in zip(before.history, numbers, strict=True)))
        if self.held_out and epoch and not self._better(history, epoch, before.best_epoch):
            return replace(before, history=history, state=state)
        exact = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), (kept, scale))
        coef, intercept = loops.on_features(*exact)
        return Trained(coef, intercept, plan.loss, plan.ridge, history, epoch, state)

    def _train(self, before: Trained) -> tuple[EpochState, float]:
        """The minibatches of one epoch, block by block."""
        plan, scale = self.plan, before.state.scale
        # Fresh copies on the device, since the compiled loop overwrites them.
        weights, averages = jax.tree.map(jnp.array, (before.state.weights, before.state.averages))
        learning = EpochState(weights, averages, jax.tree.map(jnp.zeros_like, weights) if plan.average else None)
        ridge, first, total_loss = np.asarray(plan.ridge, plan.dtype), before.epochs * self.steps, 0.0
        rng = np.random.default_rng([plan.seed, before.epochs])
        for rows, labels, table in self._load(loops.tables(self.parts, plan.minibatch, rng)):
            steps = int((table[:, 0] >= 0).sum())
            rate = np.zeros(len(table), plan.dtype)
            rate[:steps] = rates(plan.schedule, plan.rate, first, steps, plan.epochs * self.steps)
            learning, summed = loops.train(learning, rows, labels, table, rate, ridge, scale, plan.loss)
            first, total_loss = first + steps, total_loss + float(summed)  # which waits for the block to be done with
        return learning, total_loss / len(self.rows)

    def _judge(self, weights: ReadoutWeights, scale: Scale | None) -> tuple[float, float]:
        """Loss and accuracy on the validation rows."""
        if not self.held_out:
            return np.nan, np.nan
        losses, correct = 0.0, 0
        for rows, labels, table in self._load(self.judged):
            lost, right = loops.judge(weights, rows, labels, table, scale, self.plan.loss)
            losses, correct = losses + float(lost), correct + int(right)
        return losses / self.held_out, correct / self.held_out

    def _better(self, history: TrainingHistory, epoch: int, best: int) -> bool:
        def rank(k: int) -> tuple[float, ...]:
            by_loss = (float(history.loss[k]),)
            return (-float(history.accuracy[k]), *by_loss) if self.plan.criterion == "accuracy" else by_loss

        return rank(epoch) < rank(best)

    def _scale(self) -> Scale:
        """Mean and spread of every feature over the training rows, in one pass."""
        sums = np.zeros((2, self.source.width))
        shift: Any = None
        for rows, _, table in self._load(loops.tables(self.parts, JUDGED_AT_ONCE)):
            if shift is None:  # near the mean, so that squares lose no digits
                shift = loops.middle(rows, table[0])
            sums += np.stack([np.asarray(each, np.float64) for each in loops.moments(rows, table, shift)])
        if not np.isfinite(sums).all():
            raise ValueError(f"the squares of the features leave the range of {self.plan.dtype}: scale the features down.")
        first, second = sums / len(self.rows)
        spread = np.sqrt(np.maximum(second - first**2, 0))
        spread = np.maximum(spread, LEAST_SPREAD * spread.max()) if spread.max() else np.ones_like(spread)
        mean = np.asarray(shift, np.float64) + first
        numbers = mean, 1 / spread, np.sqrt(self.source.width)
        return Scale(*(np.asarray(each, self.plan.dtype) for each in numbers))

    def _load(self, tables: Sequence[tuple[int, Table]]) -> Iterator[tuple[jax.Array, npt.NDArray[np.int32], Table]]:
        """Rows, labels and minibatches, block by block."""
        for (place, table), rows in zip(tables, self.source.load([place for place, _ in tables]), strict=True):
            begin = self.source.begins[place]
            yield rows, self.labels[begin : begin + self.source.size], table


def check_labels(labels: npt.ArrayLike, count: int, classes: int) -> npt.NDArray[np.int32]:
    """(count,) whole numbers from 0 to classes - 1."""
    refuse_masked(labels, "labels")
    right = np.asarray(labels)
    if right.shape != (count,):
        raise ValueError(f"labels must be ({count},), one for every row of the features, got shape {right.shape}.")
    if right.dtype.kind not in "iu":
        raise TypeError(f"labels must be whole numbers from 0 to {classes - 1}, got {right.dtype}.")
    if right.min() < 0 or right.max() >= classes:
        wrong = right[(right < 0) | (right >= classes)][0]
        raise ValueError(f"labels must be whole numbers from 0 to {classes - 1} for classes={classes}, got {wrong}.")
    return right.astype(np.int32)


def check_validation(validation: float | npt.ArrayLike | None, count: int, seed: int) -> Indices:
    """The rows that are held out."""
    if validation is None:
        return np.zeros(0, np.int64)
    if np.ndim(validation) == 0:
        share = checks.number(validation, "validation")
        size = round(share * count)
        if not 0 < share < 1 or not 0 < size < count:
            raise ValueError(
                f"validation={validation} of {count} rows leaves none to {'train on' if size else 'judge by'}: "
                "give a share between 0 and 1, or the numbers of rows."
            )
        # Three words: the order of epoch e is drawn from (seed, e).
        return np.sort(np.random.default_rng([seed, 0, 1]).permutation(count)[:size])
    rows = np.asarray(validation)
    if rows.ndim != 1 or not rows.size or rows.dtype.kind not in "iu":
        raise ValueError(
            f"validation must be None, a share or a list of numbers of rows, got {rows.dtype} of shape {rows.shape}."
        )
    if rows.min() < 0 or rows.max() >= count:
        raise ValueError(
            f"validation holds row {rows.max() if rows.max() >= count else rows.min()}, but rows are 0 to {count - 1}."
        )
    unique = np.unique(rows.astype(np.int64))
    if len(unique) < len(rows):
        raise ValueError(f"validation names {len(rows) - len(unique)} rows more than once.")
    if len(unique) == count:
        raise ValueError(f"validation names all {count} rows: none is left to train on.")
    return unique


def check_rate(rate: object) -> float:
    """A number above 0."""
    value = checks.number(rate, "rate")
    if not value > 0:
        raise ValueError(f"rate must be above 0, got {value}: it is the step of Adam.")
    return value


def rates(schedule: str, rate: float, first: int, count: int, total: int) -> npt.NDArray[np.float64]:
    """rate_k of the minibatches k = first .. first + count - 1 of a training with `total` of them."""
    if schedule == "constant":
        return np.full(count, rate)
    return np.asarray(rate * (1 + np.cos(np.pi * np.arange(first, first + count) / total)) / 2)
