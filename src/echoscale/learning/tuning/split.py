"""What is tuned on: series and targets in units of the network, the folds that judge, and the test part that judges at the end.

    | washout | fold 1 | gap | fold 2 | ... | fold K | test |        fold k is predicted by a readout fitted to the others

With a share in place of a number of folds there is one tail that judges: | washout | training | validation | test |.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.types import Indices
from echoscale.data.scaling import Scaling, is_constant, scaling_of
from echoscale.data.series import (
    Series,
    SeriesLike,
    as_series,
    as_targets,
    check_longer_than,
    teacher_forced,
    washout_steps,
)
from echoscale.data.targets import entries_of, is_next_input, labels_of
from echoscale.readouts import splits
from echoscale.readouts.splits import Split, Splits

# Steps of a fold at least, all series together: fewer folds where the data are shorter.
FOLD_STEPS = 10


class TuningData(NamedTuple):
    """What is tuned on.

    series, targets  without the test part, in units of the network
    edges            of the segments of every series: segment s is steps edges[b][s] to edges[b][s + 1]
    folds            which of the segments train and are held out
    washout          steps at the start of every series that do not count; 0 where only last steps do
    classes          the labels in the order of columns
    scalings         of inputs and of targets, from what is tuned on
    whole            inputs and targets with the test part; whole_edges: the same edges, and the test as last segment
    tested           whether there is a test part
    all_data         folds over all data, which choose the last ridge penalty
    feeds_back       whether the network hears the targets of the step before
    """

    series: Series
    targets: Series
    edges: list[Indices]
    folds: tuple[Split, ...]
    washout: int
    classes: npt.NDArray[Any] | None
    per_sequence: bool
    scalings: tuple[Scaling, Scaling]
    whole: tuple[Series, Series]
    whole_edges: list[Indices]
    tested: bool
    all_data: Splits
    feeds_back: bool = False

    def heard(self, series: Series, targets: Series) -> Series:
        """What the network hears: inputs, and with output feedback the targets of the step before."""
        return teacher_forced(series, targets) if self.feeds_back else series

    @property
    def tail(self) -> bool:
        """Whether one tail judges, and no folds."""
        return len(self.folds) == 1

    @property
    def train_steps(self) -> npt.NDArray[np.float64]:
        """Rows that every fold's readout is fitted to, (K,)."""
        steps = known_steps(self.edges, self.targets)
        return np.array([steps[list(each.train)].sum() for each in self.folds], np.float64)

    @property
    def steps(self) -> float:
        """Rows that the learned ridge penalty belongs to: of all folds, or of the training part where a tail judges."""
        return float(
            self.train_steps[0]
            if self.tail
            else known_steps(self.edges, self.targets)[[s for each in self.folds for s in each.held_out]].sum()
        )

    @property
    def all_steps(self) -> float:
        """Rows of all data, the test part and what lies between folds too."""
        return float(known_steps(self.whole_edges, self.whole[1]).sum())


def known_steps(edges: Sequence[Indices], targets: Series) -> Indices:
    """The steps of every segment that have a target, all series together, (S,)."""
    before = [np.append(0, np.cumsum(each)) for each in targets.known]
    return np.asarray(np.sum([np.diff(each[cuts]) for each, cuts in zip(before, edges, strict=True)], axis=0))


def prepare(
    u: SeriesLike | Series,
    y: SeriesLike,
    loss: str,
    washout: int | None,
    validation: float | int,
    test: float = 0.0,
    scale: str | None = None,
    *,
    next_input: bool = False,
    feeds_back: bool = False,
) -> TuningData:
    """Checked data, split in time; with one label per sequence, by sequences.

    next_input  whether y is the next input, so that both have the units of the input
    feeds_back  whether the network hears the targets of the step before
    """
    series = as_series(u)
    washout = washout_steps(washout, int(series.lengths.min()))
    share = checks.number(test, "test")
    if not 0 <= share < 1:
        raise ValueError(f"test must be a share in [0, 1), got {share}; 0 keeps no test part.")
    judges = _judges(validation)
    if loss == "mse":
        targets, classes, per_sequence = as_targets(y, series, gaps=not feeds_back), None, False
    else:
        targets, classes, per_sequence = _one_hot(y, series)
    if per_sequence:
        edges, folds = _by_sequence(series, targets, judges, share)
        all_data = _by_sequence(series, targets, judges, 0.0)
        washout = 0
    else:
        check_longer_than(series, washout)
        edges, folds = _in_time(series, washout, judges, share)
        all_data = _in_time(series, washout, judges, 0.0)
    known = [int(each[-2]) for each in edges] if not per_sequence else [int(n) for n in series.lengths]
    tuned = [b for b, each in enumerate(edges) if not per_sequence or each[0] < each[-2]]
    part = tuple(_part(each, tuned, known) for each in (series, targets))
    scaling = scaling_of(scale, part[0])
    target_scaling = Scaling.none(targets.features)
    if loss == "mse":
        target_scaling = scaling if next_input else scaling_of(scale, part[1])
    if next_input:
        _check_next(series, targets)
    data = TuningData(
        scaling.apply(part[0]),
        target_scaling.apply(part[1]),
        [edges[b][:-1] for b in tuned],
        folds,
        washout,
        classes,
        per_sequence,
        (scaling, target_scaling),
        (scaling.apply(series), target_scaling.apply(targets)),
        edges,
        any(each[-2] < each[-1] for each in edges),
        Splits([each[:-1] for each in all_data.edges], all_data.splits),
        feeds_back,
    )
    if loss == "mse":
        _check_targets(data)
    return data


def _judges(validation: object) -> float | int:
    """A number of folds, or a share."""
    if isinstance(validation, int | np.integer) and not isinstance(validation, bool):
        return checks.integer(validation, "validation, as a number of folds,", minimum=2)
    share = checks.number(validation, "validation")
    if not 0 < share < 1:
        raise ValueError(f"validation must be a number of folds, at least 2, or a share in (0, 1), got {share}.")
    return share


def _in_time(series: Series, washout: int, judges: float | int, test: float) -> Splits:
    """The splits of the segments before the test part, which is the last segment."""
    ends = [int(length) - round((int(length) - washout) * test) for length in series.lengths]
    if isinstance(judges, int):
        rows = sum(ends) - washout * len(ends)
        count = splits.possible(ends, washout, judges, FOLD_STEPS)
        if not count:
            raise ValueError(
                f"{rows} steps are left to tune on after washout={washout} and test={test}: two folds need "
                f"{2 * FOLD_STEPS}. Give longer series."
            )
        found = splits.folds(ends, washout, count)
    else:
        found = splits.tail(ends, washout, judges, gap=0)
        counted = sum(int(each[1] - each[0]) for each in found.edges)
        if counted < 2:
            raise ValueError(
                f"{counted} steps are left to train on after washout={washout} and validation={judges}: give longer series."
            )
    return Splits([np.append(each, length) for each, length in zip(found.edges, series.lengths, strict=True)], found.splits)


def _part(series: Series, which: list[int], ends: list[int]) -> Series:
    """These series, up to these steps."""
    if len(which) == series.count and all(end == length for end, length in zip(ends, series.lengths, strict=True)):
        return series
    values = [series.values[b][: ends[b]] for b in which]
    if isinstance(series.values, np.ndarray):
        return Series(np.stack(values), series.kind, series.name)
    return Series(values, series.kind, series.name)


def _check_next(series: Series, targets: Series) -> None:
    """For free runs: y(t) = u(t + 1)."""
    for b in range(series.count):
        u, y = series.values[b], targets.values[b]
        if not is_next_input(u, y):
            raise ValueError(
                "closed_loop needs targets that are the next input: with a series x of shape (T, F), u = x[:-1] and y = x[1:]. "
                "Or a network with output feedback (feedback_scaling), which hears its outputs beside other inputs."
            )


def _check_targets(data: TuningData) -> None:
    held = [s for each in data.folds for s in each.held_out]
    rows = [
        values[edges[s] : edges[s + 1]] for values, edges in zip(data.targets.values, data.edges, strict=True) for s in held
    ]
    if _constant(np.concatenate(rows)):
        raise ValueError("a target is constant on the validation part: errors cannot be normalised by its variance.")
    if data.tested:
        test = [v[e[-2] : e[-1]] for v, e in zip(data.whole[1].values, data.whole_edges, strict=True)]
        if _constant(np.concatenate(test)):
            raise ValueError(
                "a target is constant on the test part, the last share of the data: errors cannot be normalised by its "
                "variance. Give more data, or another share as test=; 0 keeps none."
            )


def _constant(rows: npt.NDArray[Any]) -> bool:
    """Whether a column is constant over the steps that have a target, or there is none."""
    known = rows[~np.isnan(rows).any(axis=1)]
    return not len(known) or bool(is_constant(known).any())


def _one_hot(y: SeriesLike, series: Series) -> tuple[Series, npt.NDArray[Any], bool]:
    """Labels per step or per sequence as columns of 0 and 1, at every step."""
    entries, per_sequence = entries_of(y, series)
    found = labels_of(entries, per_sequence, series, "Use loss='mse' for numbers.")
    columns = found.codes()
    if per_sequence:  # the last step of a sequence is the only one that counts
        columns = [np.repeat(each, int(length), axis=0) for each, length in zip(columns, series.lengths, strict=True)]
    values: Any = np.stack(columns) if series.kind == "batch" else columns
    return as_series(values[0] if series.kind == "one" else values, name="y"), found.classes, per_sequence


def _by_sequence(series: Series, targets: Series, judges: float | int, test: float) -> Splits:
    """A share of the sequences of each class is the test part; the others are held out in turn, or a share of them is.

    The last step of a sequence is the one that counts.
    """
    label = np.array([int(np.argmax(each[-1])) for each in targets.values])
    tests = splits.share_by_class(label, test)
    known = label[~tests]
    found = splits.by_class(known, judges) if isinstance(judges, int) else splits.tail_by_class(known, judges)
    segments = len(found.edges[0]) - 1 if len(known) else 0
    steps = [len(each) for each in found.rows()] if len(known) > 1 else [0]
    if not all(steps):
        raise ValueError(f"{series.count} sequences are too few to train and validate on, with validation={judges}.")
    segment = np.full(series.count, segments)
    segment[~tests] = [int(np.flatnonzero(np.diff(each))[0]) for each in found.edges]
    return Splits(splits.in_one_segment(segment, series.lengths - 1, series.lengths, segments + 1), found.splits)
