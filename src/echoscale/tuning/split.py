"""What is tuned on: series, targets as numbers, and which steps train and which validate."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale import _checks
from echoscale.series import Series, SeriesLike, as_series, as_targets, axes, check_longer_than, washout_steps

Indices = npt.NDArray[np.int64]


class TuningData(NamedTuple):
    """What is tuned on.

    edges    (first training step, first validation step, end) of every series
    washout  steps at the start of every series that do not count; 0 where only last steps do
    classes  the labels in the order of columns
    """

    series: Series
    targets: Series
    edges: list[Indices]
    washout: int
    classes: npt.NDArray[Any] | None
    per_sequence: bool


def prepare(u: SeriesLike | Series, y: SeriesLike, loss: str, washout: int | None, validation: float) -> TuningData:
    """Checked data, split in time; with one label per sequence, by sequences."""
    series = as_series(u)
    washout = washout_steps(washout, int(series.lengths.min()))
    share = _checks.number(validation, "validation")
    if not 0 < share < 1:
        raise ValueError(f"validation must be a share in (0, 1), got {share}.")
    if loss == "mse":
        targets, classes, whole = as_targets(y, series), None, False
    else:
        targets, classes, whole = _one_hot(y, series)
    if whole:
        return TuningData(series, targets, _by_sequence(series, targets, share), 0, classes, True)
    check_longer_than(series, washout)
    cuts = [int(length) - max(round((int(length) - washout) * share), 1) for length in series.lengths]
    edges = [np.array([washout, cut, length]) for cut, length in zip(cuts, series.lengths, strict=True)]
    counted = sum(int(each[1] - each[0]) for each in edges)
    if counted < 2:
        raise ValueError(
            f"{counted} steps are left to train on after washout={washout} and validation={share}: give longer series."
        )
    if loss == "mse":
        held_out = np.concatenate([values[each[1] :] for values, each in zip(targets.values, edges, strict=True)])
        if (np.ptp(held_out, axis=0) == 0).any():
            raise ValueError("a target is constant on the validation part: errors cannot be normalised by its variance.")
    return TuningData(series, targets, edges, washout, classes, False)


def _one_hot(y: SeriesLike, series: Series) -> tuple[Series, npt.NDArray[Any], bool]:
    """Labels per step or per sequence as columns of 0 and 1."""
    if y is None or np.isscalar(y):
        raise ValueError(f"y must hold one label per step or per sequence, got {y!r}.")
    whole = series.kind != "one" and not (isinstance(y, list | tuple) and all(axes(each) for each in y)) and axes(y) == 1
    labels = [np.asarray(each) for each in ([y] if series.kind == "one" else y)]  # type: ignore[union-attr]
    if len(labels) != series.count:
        raise ValueError(f"y holds labels for {len(labels)} series, u {series.count} series.")
    flat = [np.ravel(each) if each.ndim < 2 or each.shape[-1] == 1 else each for each in labels]
    for b, each in enumerate(flat):
        expected = 1 if whole else int(series.lengths[b])
        if each.ndim > 1 or each.size != expected:
            raise ValueError(
                f"y[{b}] must be one label per step, ({expected},), got shape {labels[b].shape}; loss='cross_entropy' takes "
                "labels, not one-hot rows."
            )
    joined = np.concatenate(flat)
    if joined.dtype.kind == "f" and not (np.isfinite(joined) & (joined == np.round(joined))).all():
        raise ValueError("loss='cross_entropy' needs class labels, but y holds real numbers; use loss='mse' for them.")
    classes, codes = np.unique(joined, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y holds one class only, {classes[0]!r}: there is nothing to tell apart.")
    if len(classes) > max(joined.size // 2, 2):
        raise ValueError(f"y holds {len(classes)} different labels in {joined.size} places; are they numbers? Use loss='mse'.")
    rows = np.eye(len(classes))[codes]
    ends = np.cumsum([each.size for each in flat])[:-1]
    columns = np.split(rows, ends)
    if whole:  # the last step of a sequence is the only one that counts
        columns = [np.repeat(each, int(length), axis=0) for each, length in zip(columns, series.lengths, strict=True)]
    values: Any = np.stack(columns) if series.kind == "batch" else columns
    return as_series(values[0] if series.kind == "one" else values, name="y"), classes, whole


def _by_sequence(series: Series, targets: Series, share: float) -> list[Indices]:
    """A share of the sequences of each class validates, evenly spread."""
    label = np.array([int(np.argmax(each[-1])) for each in targets.values])
    edges: list[Indices] = [np.empty(0, np.int64)] * series.count
    for which in np.unique(label):
        for place, b in enumerate(np.flatnonzero(label == which)):
            end = int(series.lengths[b])
            # The sequences at which the running total place * share passes a whole number; a little is added for rounding.
            validates = math.floor((place + 1) * share + 1e-9) > math.floor(place * share + 1e-9)
            edges[b] = np.array([end - 1, end - 1 if validates else end, end])
    if not any(each[1] < each[2] for each in edges) or not any(each[0] < each[1] for each in edges):
        raise ValueError(f"{series.count} sequences are too few to train and validate on, with validation={share}.")
    return edges
