"""What a problem asks for, as numbers at every step: the next inputs, targets as they are, or classes as columns of 0 and 1."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from echoscale._internal.types import Array
from echoscale.data.series import Series, SeriesLike, as_entries, as_series, as_targets, check_labels


class Asked(NamedTuple):
    """Inputs, and what is asked for at every step.

    Attributes
    ----------
    inputs : Series
        (T_b, F) each; without their last step where the next input is asked for.
    targets : Series
        (T_b, O) each; a column of 0 and 1 for every class, one column for two classes.
    classes : tuple
        The labels, sorted; empty where the targets are numbers.
    per_sequence : bool
        Whether a label holds for a whole sequence; it is then asked for at every step of it.
    of_itself : bool
        Whether the targets are the next inputs.
    """

    inputs: Series
    targets: Series
    classes: tuple[object, ...] = ()
    per_sequence: bool = False
    of_itself: bool = False


def asked(u: SeriesLike, y: SeriesLike | None, labels: bool | None) -> Asked:
    """Checked inputs and targets of a problem."""
    series = as_series(u)
    if y is None:
        if series.lengths.min() < 2:
            raise ValueError("without y the task is to predict the next input: u needs at least two steps.")
        targets = Series([each[1:] for each in series.values], "list", "u")
        return Asked(Series([each[:-1] for each in series.values], "list", "u"), targets, of_itself=True)
    entries = as_entries(y, series)
    per_sequence = series.kind != "one" and all(each.ndim == 0 for each in entries)
    kinds = {each.dtype.kind for each in entries}
    if per_sequence and labels is not True and not (kinds & set("OSUb") or kinds <= set("iu")):
        raise ValueError(
            f"y holds one number for each of {len(entries)} sequences, and those are no labels: give a target for every step, "
            "or labels=True if they are classes."
        )
    if labels is False or not (labels or per_sequence or kinds & set("OSUb")):
        targets = as_targets(y, series)
        return Asked(series, targets, of_itself=_is_next(series, targets))
    return _of_labels(series, entries, per_sequence)


def _of_labels(series: Series, entries: list[Array], per_sequence: bool) -> Asked:
    check_labels(entries)
    if per_sequence:
        rows = [np.full(length, each) for length, each in zip(series.lengths, entries, strict=True)]
    else:
        rows = [each.reshape(len(each)) if each.size == len(each) else each for each in entries]
    for b, (length, each) in enumerate(zip(series.lengths, rows, strict=True)):
        if each.shape != (length,):
            which = "y" if series.kind == "one" else f"y[{b}]"
            raise ValueError(f"{which} must hold one label for each of {length} steps, got shape {each.shape}.")
    everything = np.concatenate(rows)
    try:
        classes = np.unique(everything)
    except TypeError as error:
        raise TypeError(f"the labels in y cannot be sorted, they are of several kinds: {error}.") from error
    if len(classes) < 2:
        raise ValueError(f"there is one class only, {classes.tolist()}: at least two are needed.")
    told = classes[1:] if len(classes) == 2 else classes  # of two columns one is the other turned over
    codes = [(each[:, None] == told).astype(np.float64) for each in rows]
    return Asked(series, Series(codes, "list", "y"), tuple(classes.tolist()), per_sequence)


def _is_next(series: Series, targets: Series) -> bool:
    """Whether every target is the input of the step after."""
    if series.features != targets.features or series.lengths.min() < 2:
        return False
    return all(np.array_equal(y[:-1], u[1:]) for u, y in zip(series.values, targets.values, strict=True))
