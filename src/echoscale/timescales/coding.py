"""Targets of a problem as numbers at every step: the next inputs, numbers, or classes as columns of 0 and 1."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from echoscale.data.series import Series, SeriesLike, as_series, as_targets
from echoscale.data.targets import are_labels, entries_of, is_next_input, labels_of


class Asked(NamedTuple):
    """Inputs, and targets at every step.

    Attributes
    ----------
    inputs : Series
        (T_b, F) each; without the last step if the target is the next input.
    targets : Series
        (T_b, O) each; a column of 0 and 1 for every class, one column for two classes.
    classes : tuple
        Sorted labels; empty if the targets are numbers.
    per_sequence : bool
        Whether a label belongs to a whole sequence; every step then has this label.
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
    entries, per_sequence = entries_of(y, series)
    if not are_labels(entries, per_sequence, series, labels):
        targets = as_targets(y, series)
        of_itself = all(is_next_input(*pair) for pair in zip(series.values, targets.values, strict=True))
        return Asked(series, targets, of_itself=of_itself)
    found = labels_of(entries, per_sequence, series, "Pass labels=False for numbers.")
    codes = [each[:, 1:] if len(found.classes) == 2 else each for each in found.codes()]  # one column suffices for two classes
    if per_sequence:
        codes = [np.repeat(each, length, axis=0) for each, length in zip(codes, series.lengths.tolist(), strict=True)]
    return Asked(series, Series(codes, "list", "y"), tuple(found.classes.tolist()), per_sequence)
