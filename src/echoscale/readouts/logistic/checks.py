"""What a training is given: labels, rows to hold out, a rate; each as it should be, or an error that says what is wrong."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from echoscale import _checks
from echoscale.series import refuse_masked

Rows = npt.NDArray[np.int64]


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


def check_validation(validation: float | npt.ArrayLike | None, count: int, seed: int) -> Rows:
    """The rows that are held out."""
    if validation is None:
        return np.zeros(0, np.int64)
    if np.ndim(validation) == 0:
        share = _checks.number(validation, "validation")
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
    value = _checks.number(rate, "rate")
    if not value > 0:
        raise ValueError(f"rate must be above 0, got {value}: it is the step of Adam.")
    return value
