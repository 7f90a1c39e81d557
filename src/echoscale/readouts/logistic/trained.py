"""What a training leaves: the best weights, how it went, and all that is needed to go on with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Array, Floats
from echoscale.data.losses import probabilities
from echoscale.readouts.logistic.epochs import ReadoutWeights, Scale
from echoscale.readouts.ridge import Readout


class TrainingHistory(NamedTuple):
    """How a training went: one number per epoch, without the penalty.

    Attributes
    ----------
    train_loss : (epochs,)
        Mean loss over the training rows, each row's just before the step that it takes part in.
    loss : (epochs,)
        Mean loss over the validation rows after the epoch; NaN without validation rows.
    accuracy : (epochs,)
        The share of validation rows whose largest output belongs to their label; NaN without validation rows.
    """

    train_loss: Floats
    loss: Floats
    accuracy: Floats


class TrainedState(NamedTuple):
    """Where the training stands, in its own precision and of scaled features; not what is judged best.

    weights   after the last minibatch
    averages  Adam's: count, means of the slopes and of their squares
    recent    the means of the weights over each of the last epochs, where they are averaged
    """

    weights: ReadoutWeights
    averages: tuple[Array, ReadoutWeights, ReadoutWeights]
    scale: Scale | None
    recent: tuple[ReadoutWeights, ...]


@dataclass(frozen=True, eq=False)
class Trained:
    """z = coef x + intercept of features as they were given; the class is the largest z.

    Parameters
    ----------
    coef : (O, F)
        W after the best epoch; without validation rows, after the last.
    intercept : (O,)
        b, likewise.
    loss : "sigmoid" or "softmax"
        What was minimised.
    ridge : float
        The penalty on |W|^2 / 2, beside the mean loss.
    history : TrainingHistory
        Loss and accuracy of every epoch.
    best_epoch : int
        Counted from 0, as in the history.
    state : TrainedState
        What `fit(..., start=...)` resumes from.

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
        """How many were trained."""
        return len(self.history.train_loss)

    @property
    def readout(self) -> Readout:
        """The plain readout, without the history."""
        return Readout(self.coef, self.intercept, np.asarray(self.ridge))

    def predict(self, features: npt.ArrayLike) -> Floats:
        """z = coef x + intercept.

        Parameters
        ----------
        features : (rows, F)
            As they were given to `fit`.

        Returns
        -------
        (rows, O) array
            z.
        """
        return self.readout.predict(features)

    def probabilities(self, features: npt.ArrayLike) -> Floats:
        """Probabilities of the classes, which add up to 1; see `echoscale.data.losses.probabilities`.

        Parameters
        ----------
        features : (rows, F)
            As they were given to `fit`.

        Returns
        -------
        (rows, O) array
            Probabilities.
        """
        return probabilities(self.loss, self.predict(features))

    def arrays(self) -> dict[str, Array]:
        """All of it as named arrays, for np.savez or safetensors; `Trained.of` is the way back.

        Returns
        -------
        dict of arrays
            By name.
        """
        state, (count, slopes, squares) = self.state, self.state.averages
        named: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(self)[:4]}
        named |= {f"history.{name}": values for name, values in self.history._asdict().items()}
        named |= {"best_epoch": self.best_epoch, "adam.count": count}
        groups: dict[str, Any] = {"weights": state.weights, "adam.slopes": slopes, "adam.squares": squares}
        groups |= {f"recent.{k}": each for k, each in enumerate(state.recent)}
        groups |= {"scale": state.scale} if state.scale else {}
        named |= {f"{group}.{name}": value for group, leaf in groups.items() for name, value in leaf._asdict().items()}
        # A name is written as the bytes of its letters, since not every file format of arrays has text.
        return {key: np.asarray(list(value.encode()) if isinstance(value, str) else value) for key, value in named.items()}

    @classmethod
    def of(cls, arrays: Mapping[str, Array]) -> Trained:
        """From what `arrays` gave.

        Parameters
        ----------
        arrays : mapping of names to arrays
            As `arrays` named them.

        Returns
        -------
        Trained
            The same, to the bit.
        """

        def weights(group: str) -> ReadoutWeights:
            return ReadoutWeights(arrays[f"{group}.coef"], arrays[f"{group}.intercept"])

        recent = sum(key.startswith("recent.") and key.endswith(".coef") for key in arrays)
        state = TrainedState(
            weights("weights"),
            (arrays["adam.count"], weights("adam.slopes"), weights("adam.squares")),
            Scale(*(arrays[f"scale.{name}"] for name in Scale._fields)) if "scale.mean" in arrays else None,
            tuple(weights(f"recent.{k}") for k in range(recent)),
        )
        history = TrainingHistory(*(arrays[f"history.{name}"] for name in TrainingHistory._fields))
        name = bytes(arrays["loss"].astype(np.uint8)).decode()
        numbers = float(arrays["ridge"]), history, int(arrays["best_epoch"])
        return cls(arrays["coef"], arrays["intercept"], name, *numbers, state)
