"""Shared by both classifiers: labels and one-hot codes, scores and probabilities, the options of the readout.

Data whose axes look swapped raise a warning.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets

from echoscale._internal.types import Array
from echoscale.data.losses import probabilities
from echoscale.data.series import Series, SeriesLike, check_labels
from echoscale.data.targets import entries_of, one_hot
from echoscale.estimators._validation import map_given
from echoscale.readouts.classes import Minibatches

# If the roughness along the last axis is below this share of the roughness along time, the last axis is probably time.
MUCH_SMOOTHER = 0.5


def classes_of(labels: Array | Sequence[Array]) -> Array:
    """The labels, sorted; a single class raises an error."""
    classes = np.unique(labels if isinstance(labels, np.ndarray) else np.concatenate(labels))
    if len(classes) < 2:
        raise ValueError(f"there is one class only, {classes.tolist()}: a classifier needs at least two.")
    return classes


def readout_of(readout: object) -> Minibatches | None:
    """The readout that a user gave; None is ridge regression."""
    if readout is not None and not isinstance(readout, Minibatches):
        raise TypeError(
            "readout must be None for ridge regression, echoscale.readouts.Softmax(...) or echoscale.readouts.Sigmoid(...), "
            f"got {readout!r}."
        )
    return readout


def adds_up(model: Any) -> bool:
    """Whether the readout has `partial_fit`: ridge regression is solved from sums, a trained readout is not."""
    if isinstance(model.readout, Minibatches):
        raise AttributeError(
            f"partial_fit needs a ridge readout; readout={model.readout!r} is trained on all data at once: use fit. "
            "For streams, see echoscale.OnlineLearner."
        )
    return True


def decided(scores: Any, classes: Array) -> Any:
    """The scores z of all classes; for two classes their difference."""
    return scores if len(classes) > 2 else map_given(lambda each: each[..., 1] - each[..., 0], scores)


def probable(scores: Any, steepness: float, readout: Minibatches | None) -> Any:
    """Probabilities from z and their steepness."""
    loss = "softmax" if readout is None else readout.loss
    return map_given(lambda each: probabilities(loss, steepness * each), scores)


def largest(scores: Any, classes: Array) -> Any:
    """The class with the largest z."""
    return map_given(lambda each: classes[np.argmax(each, axis=-1)], scores)


def labels_of(y: Any, series: Series) -> tuple[Any, bool]:
    """Labels of several series, and whether there is one per series: (B,), or (T_b,) for every series."""
    labels, per_sequence = entries_of(y, series)
    check_labels(labels)
    check_classification_targets(np.asarray(labels) if per_sequence else np.concatenate(labels))
    return np.asarray(labels) if per_sequence else labels, per_sequence


def codes_of(labels: Array, classes: Array) -> npt.NDArray[np.float64]:
    """One-hot rows, (rows, classes)."""
    unknown = np.setdiff1d(labels, classes)
    if len(unknown):
        raise ValueError(f"y holds {unknown.tolist()}, which are not among the classes {classes.tolist()}.")
    return one_hot(labels, classes)


def in_columns(X: SeriesLike) -> SeriesLike:
    """Turns a list of arrays with one axis into a list of sequences with one input."""
    if isinstance(X, list | tuple) and len(X) and all(getattr(each, "ndim", 0) == 1 for each in X):
        return [np.asarray(each)[:, None] for each in X]
    return X


def refuse_single_sequences(codes: Array, classes: Array) -> None:
    """Raises an error if every class has a single sequence, so that none can be held out."""
    if (codes.sum(axis=0) <= 1).all():
        raise ValueError(
            f"y holds one sequence of each class, {classes.tolist()[:10]}: a classifier needs several examples of a class. "
            "Give at least two sequences of a class."
        )


def warn_of_axes(series: Series) -> None:
    """Warns if (B, T, F) looks like (B, channels, time): F > T, and neighbours along the last axis are far more alike."""
    values = series.values
    if not isinstance(values, np.ndarray) or series.kind != "batch" or values.shape[2] <= values.shape[1]:
        return
    along_last = _roughness(values, 2)
    along_time = _roughness(values, 1) if values.shape[1] > 1 else np.inf
    if values.shape[2] >= 8 and along_last < MUCH_SMOOTHER * along_time:
        count, steps, features = values.shape
        warnings.warn(
            f"X has shape {values.shape}, which is taken for {count} sequences of {steps} steps with {features} inputs each. "
            f"It looks like {steps} channels of {features} steps: then pass X.transpose(0, 2, 1).",
            UserWarning,
            stacklevel=4,
        )


def _roughness(values: Array, axis: int) -> float:
    """Mean squared difference of neighbours, over the variance along this axis."""
    spread = float(values.var(axis=axis).mean())
    return float((np.diff(values, axis=axis) ** 2).mean()) / spread if spread > 0 else np.inf
