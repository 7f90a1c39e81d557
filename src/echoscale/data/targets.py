"""The kind of targets: labels or numbers, per step or per sequence, and whether they are the future of an input.

Every function that takes `y` uses these rules:

    labels         text and truth values; whole numbers for whole sequences; whole numbers at every step if they have at most
                   10 different values, each more than once, in one column, and are not the future of an input
    numbers        all other targets; NaN is a step without a target
    future         y(t) = u(t + h), to rounding in float32
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from echoscale._internal.types import Array, Floats
from echoscale.data.series import Series, as_entries, check_labels

# Whole numbers with more different values are numbers, not labels, unless the user says otherwise.
MOST_CLASSES = 10
# Smaller differences are rounding: relative to the values, since float32 rounds to 6e-8, and to the standard deviation.
OF_SIZE, OF_SPREAD = 1e-7, 1e-6
# The reason that `why_not_next_input` gives if the data cannot decide.
NOT_SHOWN = "nothing that it was fitted to shows that y[t] is X[t + 1]."
# Number of places that are compared first, which excludes most leads without a look at all steps.
FIRST_LOOK = 20


class Labels(NamedTuple):
    """Labels of several series.

    Attributes
    ----------
    labels : list of (T_b,) or ()
        Label of every step, or of the whole sequence.
    classes : (C,)
        Class labels, sorted.
    per_sequence : bool
        Whether there is one label for each sequence.
    """

    labels: list[Array]
    classes: Array
    per_sequence: bool

    def codes(self) -> list[Floats]:
        """One-hot rows of every series, (T_b, C); one row for a whole sequence."""
        return [one_hot(np.atleast_1d(each), self.classes) for each in self.labels]


def entries_of(y: Any, series: Series) -> tuple[list[Array], bool]:
    """Targets of every series in the user's form, and whether there is one value for each sequence."""
    if y is None or np.isscalar(y):
        raise ValueError(f"y must hold one target or label per step, or one label per sequence, got {y!r}.")
    entries = [_without_objects(each) for each in as_entries(y, series)]
    return entries, series.kind != "one" and all(each.ndim == 0 for each in entries)


def are_labels(entries: Sequence[Array], per_sequence: bool, series: Series, labels: bool | None = None) -> bool:
    """Whether the targets are labels; `labels` is the choice of the user, or None."""
    if labels is not None and not isinstance(labels, bool):
        raise TypeError(f"labels must be True, False or None, got {labels!r}.")
    found = _look_like_labels(entries, per_sequence, series) if labels is None else labels
    if per_sequence and not found:
        raise ValueError(
            f"y holds one value for each of the {series.count} series. As labels of whole sequences they must be text or whole "
            "numbers (or pass labels=True); as numbers, give one for every step."
        )
    return found


def labels_of(entries: Sequence[Array], per_sequence: bool, series: Series, numbers: str) -> Labels:
    """Checked labels; `numbers` is the advice in the error if the targets are numbers."""
    check_labels(entries)
    rows = [each if per_sequence else _one_column(each) for each in entries]
    for b, (each, length) in enumerate(zip(rows, series.lengths.tolist(), strict=True)):
        if each.shape != (() if per_sequence else (length,)):
            which = "y" if series.kind == "one" else f"y[{b}]"
            raise ValueError(
                f"{which} must be one label per step, ({length},), got shape {entries[b].shape}; give labels, not one-hot rows."
            )
    joined = np.concatenate([each.ravel() for each in rows])
    if joined.dtype.kind == "f" and not (joined == np.round(joined)).all():
        raise ValueError(f"y holds real numbers, but labels are text, truth values or whole numbers. {numbers}")
    try:
        classes = np.unique(joined)
    except TypeError as error:
        raise TypeError(f"the labels in y cannot be sorted, they are of several kinds: {error}.") from error
    if len(classes) < 2:
        raise ValueError(f"y holds one class only, {classes.tolist()[0]!r}: there is nothing to tell apart.")
    if len(classes) > max(len(joined) // 2, 2):
        raise ValueError(f"y holds {len(classes)} different labels in {len(joined)} places: are they numbers? {numbers}")
    return Labels(rows, classes, per_sequence)


class Ahead(NamedTuple):
    """An output that is the future of an input: y(t) = u_column(t + steps)."""

    column: int
    steps: int


def future_of(series: Series, targets: Sequence[Floats]) -> tuple[Ahead | None, ...]:
    """For every output, the input whose future it is, where both are known; None for other outputs."""
    pairs = list(zip(series.values, targets, strict=True))

    def match(o: int) -> Ahead | None:
        for f in range(series.features):
            steps = lead(pairs[0][0][:, f], pairs[0][1][:, o])
            if steps is not None and all(leads(u[:, f], y[:, o], steps) for u, y in pairs):
                return Ahead(f, steps)
        return None

    return tuple(match(o) for o in range(targets[0].shape[1]))


def one_hot(labels: Array, classes: Array) -> Floats:
    """One-hot rows, (..., C): 1 in the column of the label."""
    return np.asarray(labels[..., None] == classes, np.float64)


def is_next_input(u: Array, y: Array) -> bool:
    """Whether y(t) = u(t + 1) in every column of one series."""
    return u.shape == y.shape and all(leads(u[:, f], y[:, f], 1) for f in range(u.shape[1]))


def why_not_next_input(series: Series, targets: Series, ends: Array | None = None) -> str:
    """The reason why targets are not the next inputs, in words; empty if y(t) = u(t + 1), as far as the data show."""
    if series.features != targets.features:
        return f"this one has {targets.features} outputs and {series.features} inputs."
    pairs = [*zip(series.values, targets.values, strict=True)]
    if ends is not None:
        first = np.reshape(ends, (series.count, -1))[:, None]
        pairs = [(np.concatenate([one, u]), np.concatenate([one, y])) for (u, y), one in zip(pairs, first, strict=True)]
    if all(np.isnan(y[:-1]).any(axis=1).all() for _, y in pairs):
        return NOT_SHOWN
    if all(is_next_input(u, y) for u, y in pairs):
        return ""
    known = [~np.isnan(y[:-1]).any(axis=1) for _, y in pairs]
    u = np.concatenate([each[1:][k] for (each, _), k in zip(pairs, known, strict=True)])
    y = np.concatenate([each[:-1][k] for (_, each), k in zip(pairs, known, strict=True)])
    with np.errstate(invalid="ignore", divide="ignore"):
        alike = [abs(np.corrcoef(u[:, k], y[:, k])[0, 1]) > 1 - 1e-6 for k in range(u.shape[1])] if len(u) > 2 else [False]
    if all(alike):
        return (
            "its targets are the next inputs in other units: a scaler comes before the model. Leave the scaler out; "
            'scale="standard" does the same inside.'
        )
    return "y[t] is not X[t + 1] in the data of the fit (a model for more than one step ahead, or for another quantity)."


def leads(x: Array, y: Array, steps: int) -> bool:
    """Whether y(t) = x(t + steps), (T,) each, to rounding; steps without a target (NaN) do not count, and no counted step means
    no.
    """
    return _apart(x, y, steps) < np.inf


def lead(x: Array, y: Array) -> int | None:
    """The h with y(t) = x(t + h) over at least half of the series, with the smallest rounding; None if there is none."""
    known, half = np.flatnonzero(~np.isnan(y)), len(x) // 2
    near = np.ones(half + 1, bool)
    for t in known[known + half < len(x)][:FIRST_LOOK]:
        later = x[t : t + half + 1]
        near &= np.abs(later - y[t]) <= OF_SIZE * np.abs(later) + OF_SPREAD * _spread(x)
    found = [(_apart(x, y, int(h)), int(h)) for h in np.flatnonzero(near)]
    least = min(found, default=(np.inf, 0))
    return least[1] if least[0] < np.inf else None


def _apart(x: Array, y: Array, steps: int) -> float:
    """The largest difference of y(t) and x(t + steps); infinite if it is more than rounding, or if nothing is known."""
    later, now = x[steps:], y[: len(x) - steps]
    known = ~np.isnan(now)
    later, now = later[known], now[known]
    apart = np.abs(later - now)
    same = len(later) > 0 and bool((apart <= OF_SIZE * np.abs(later) + OF_SPREAD * _spread(later)).all())
    return float(apart.max()) if same else np.inf


def _spread(x: Array) -> float:
    """The standard deviation, also of numbers whose squares are out of range."""
    largest = float(np.abs(x).max(initial=0.0))
    return largest * float((x / largest).std()) if largest > 0 else 0.0


def _look_like_labels(entries: Sequence[Array], per_sequence: bool, series: Series) -> bool:
    kinds = {each.dtype.kind for each in entries}
    if kinds & set("USb"):
        return True
    if "O" in kinds:
        return any(isinstance(each, str | bool) for one in entries for each in one.ravel().tolist())
    if not kinds <= set("iu"):
        return False
    if per_sequence:
        return True
    columns = [_one_column(each) for each in entries]
    if any(each.ndim != 1 for each in columns):
        return False
    values, counts = np.unique(np.concatenate(columns), return_counts=True)
    if len(values) > MOST_CLASSES or int(counts.min()) < 2:
        return False
    if any(len(each) != length for each, length in zip(columns, series.lengths, strict=True)):
        return True  # `labels_of` raises the error
    # The future of a number is a number.
    return future_of(series, [np.asarray(each, np.float64)[:, None] for each in columns])[0] is None


def _one_column(values: Array) -> Array:
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def _without_objects(values: Array) -> Array:
    """Objects of one plain kind (all text, all truth values, all whole numbers) as an array of that kind."""
    if values.dtype.kind != "O":
        return values
    objects = values.ravel().tolist()
    kinds: list[tuple[Any, type]] = [(str, str), (bool | np.bool_, bool), (int | np.integer, int)]
    return next((np.asarray(values, to) for kind, to in kinds if objects and all(isinstance(v, kind) for v in objects)), values)
