"""What is tuned on: series and targets in units of the network, the folds that judge, and the test part that judges at the end.

    | washout | fold 1 | gap | fold 2 | ... | fold K | test |        fold k is predicted by a readout fitted to the others

With a share in place of a number of folds there is one tail that judges: | washout | training | validation | test |.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.types import Flags, Floats, Indices
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
from echoscale.readouts.statistics import Statistics

# Steps of a fold at least, all series together: fewer folds where the data are shorter.
FOLD_STEPS = 10


@dataclass(frozen=True, eq=False)
class FoldedData:
    """What a network receives and its targets, cut into segments that train or are held out.

    series   inputs in units of the network; with output feedback the targets of the step before stand beside them
    targets  of every step; NaN where there is none
    edges    of the segments of every series: segment s is steps edges[b][s] to edges[b][s + 1]
    folds    which of the segments train and are held out
    """

    series: Series
    targets: Series
    edges: list[Indices]
    folds: tuple[Split, ...]

    @property
    def steps(self) -> int:
        """Steps of one network over all series."""
        return int(self.series.lengths.sum())

    @cached_property
    def known(self) -> Indices:
        """The steps of every segment that have a target, all series together."""
        before = [np.append(0, np.cumsum(each)) for each in self.targets.known]
        return np.asarray(np.sum([np.diff(each[cuts]) for each, cuts in zip(before, self.edges, strict=True)], axis=0))

    @cached_property
    def train_rows(self) -> Floats:
        """Rows that the readout of every fold is fitted to, (K,)."""
        return np.array([self.known[list(each.train)].sum() for each in self.folds], np.float64)

    @property
    def tail(self) -> bool:
        """Whether one tail judges, and no folds."""
        return len(self.folds) == 1

    @property
    def rows(self) -> float:
        """Rows that the learned ridge penalty belongs to: of all folds, or of the training part where a tail judges."""
        held_out = [s for each in self.folds for s in each.held_out]
        return float(self.train_rows[0] if self.tail else self.known[held_out].sum())

    @cached_property
    def spans(self) -> list[list[tuple[int, int]]]:
        """First step and end of the held-out part of every fold and series."""
        return [Splits(self.edges).held_out(each) for each in self.folds]

    @cached_property
    def judged(self) -> list[list[tuple[int, int, int, int]]]:
        """(fold, first step, end, first of the held-out rows) of what is held out, in order of time, of every series."""
        order = sorted(range(len(self.folds)), key=lambda k: self.folds[k].held_out)
        row, found = 0, []
        for b in range(len(self.edges)):
            pieces = []
            for k in order:
                begin, end = self.spans[k][b]
                pieces.append((k, begin, end, row))
                row += end - begin
            found.append(pieces)
        return found

    @cached_property
    def fold_of_rows(self) -> Indices:
        """The fold of every held-out row, series after series, (rows,)."""
        return np.concatenate([np.full(end - begin, k) for each in self.judged for k, begin, end, _ in each])

    def held_out(self, values: Sequence[Floats] | Floats) -> Floats:
        """The held-out rows of (T_b, C), series after series."""
        return np.concatenate([values[b][begin:end] for b, each in enumerate(self.judged) for _, begin, end, _ in each])

    def folded(self, parts: Sequence[Statistics]) -> tuple[list[Statistics], list[Statistics]]:
        """The statistics of what trains and of what is held out for every fold, from statistics of segments."""
        train = [each for each in splits.complements(parts, self.folds) if each is not None]
        return train, [splits.total([parts[s] for s in each.held_out]) for each in self.folds]

    def trains_at(self, which: Indices, begin: int, steps: int) -> Flags:
        """Whether a step of these series trains fold k, (steps, K, lanes); one lane where there is one series."""
        ends = np.array([self.edges[b] for b in (which[:1] if self.series.count == 1 else which)])
        at = begin + np.arange(steps)[:, None, None]
        inside = (at >= ends[:, :-1]) & (at < ends[:, 1:])  # (steps, lanes, segments)
        return np.stack([inside[..., list(each.train)].any(axis=-1) for each in self.folds], axis=1)


class TuningData(NamedTuple):
    """What is tuned on, and the test part.

    tuned        without the test part
    test         with the test part, which is the last segment and the only one that is held out; empty if there is none
    whole        inputs and targets of all data, in units of what is tuned on
    all_splits   folds over all data, which choose the last ridge penalty
    washout      steps at the start of every series that do not count; 0 where only last steps do
    classes      the labels in the order of columns
    scalings     of inputs and of targets, from what is tuned on
    feeds_back   whether the network hears the targets of the step before
    """

    tuned: FoldedData
    test: FoldedData
    whole: tuple[Series, Series]
    all_splits: Splits
    washout: int
    classes: npt.NDArray[Any] | None
    per_sequence: bool
    scalings: tuple[Scaling, Scaling]
    feeds_back: bool

    @property
    def tested(self) -> bool:
        """Whether there is a test part."""
        return any(each[-2] < each[-1] for each in self.test.edges)

    @property
    def share(self) -> float:
        """The rows that a ridge penalty of the search belongs to, as a share of the rows of all data."""
        return 1.0 if self.tuned.tail else self.tuned.rows / float(self.test.known.sum())

    def over_all(self) -> FoldedData:
        """All data, the test part too, in units of their own, with folds over all of them."""
        series, targets = (
            each if scaling.is_none else Scaling.of(each.values).apply(each)
            for each, scaling in zip(self.whole, self.scalings, strict=True)
        )
        return _folded(series, targets, self.all_splits, self.feeds_back)


def prepare(
    u: SeriesLike | Series,
    y: SeriesLike,
    loss: str,
    washout: int | None,
    folds: float | int,
    test: float = 0.0,
    scale: str | None = None,
    *,
    free: bool = False,
    feeds_back: bool = False,
) -> TuningData:
    """Checked data, split in time; with one label per sequence, by sequences.

    free        whether free runs judge
    feeds_back  whether the network hears the targets of the step before
    """
    series = as_series(u)
    washout = washout_steps(washout, int(series.lengths.min()))
    share = checks.number(test, "test")
    if not 0 <= share < 1:
        raise ValueError(f"test must be a share in [0, 1), got {share}; 0 keeps no test part.")
    judges = _judges(folds)
    if loss == "mse":
        targets, classes, per_sequence = as_targets(y, series, gaps=not feeds_back), None, False
    else:
        targets, classes, per_sequence = _one_hot(y, series)
    if free:
        _check_free(series, targets, feeds_back)
    if per_sequence:
        washout, divided = 0, partial(_by_sequence, series, targets, judges)
    else:
        check_longer_than(series, washout)
        divided = partial(_in_time, series, washout, judges)
    (edges, found), all_splits = divided(share), divided(0.0)
    tuned = [b for b, each in enumerate(edges) if not per_sequence or each[0] < each[-2]]
    ends = [int(each[-2]) for each in edges]
    inputs, outputs = (_part(each, tuned, ends) for each in (series, targets))
    scaling = scaling_of(scale, inputs)
    target_scaling = Scaling.none(targets.features)
    if loss == "mse":
        target_scaling = scaling if free and not feeds_back else scaling_of(scale, outputs)
    parts = scaling.apply(inputs), target_scaling.apply(outputs)
    whole = scaling.apply(series), target_scaling.apply(targets)
    last = len(edges[0]) - 2
    data = TuningData(
        tuned=_folded(*parts, Splits([edges[b][:-1] for b in tuned], found), feeds_back),
        test=_folded(*whole, Splits(edges, (Split(tuple(range(last)), (last,)),)), feeds_back),
        whole=whole,
        all_splits=Splits([each[:-1] for each in all_splits.edges], all_splits.splits),
        washout=washout,
        classes=classes,
        per_sequence=per_sequence,
        scalings=(scaling, target_scaling),
        feeds_back=feeds_back,
    )
    if loss == "mse":
        _check_targets(data)
    return data


def _folded(series: Series, targets: Series, cut: Splits, feeds_back: bool) -> FoldedData:
    """The network receives the inputs, and with output feedback the targets of the step before."""
    return FoldedData(teacher_forced(series, targets) if feeds_back else series, targets, *cut)


def _judges(folds: object) -> float | int:
    """A number of folds, or a share."""
    if isinstance(folds, int | np.integer) and not isinstance(folds, bool):
        return checks.integer(folds, "folds", minimum=2)
    share = checks.number(folds, "folds")
    if not 0 < share < 1:
        raise ValueError(f"folds must be a number of folds, at least 2, or a share in (0, 1), got {share}.")
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
                f"{counted} steps are left to train on after washout={washout} and folds={judges}: give longer series."
            )
    return Splits([np.append(each, length) for each, length in zip(found.edges, series.lengths, strict=True)], found.splits)


def _part(series: Series, which: list[int], ends: list[int]) -> Series:
    """These series, up to these steps."""
    if len(which) == series.count and all(end == length for end, length in zip(ends, series.lengths, strict=True)):
        return series
    values = [series.values[b][: ends[b]] for b in which]
    return Series(np.stack(values) if isinstance(series.values, np.ndarray) else values, series.kind, series.name)


def _check_free(series: Series, targets: Series, feeds_back: bool) -> None:
    """Free runs forecast the next input; with output feedback they know their inputs, which must not be the targets."""
    follows = all(is_next_input(*pair) for pair in zip(series.values, targets.values, strict=True))
    if follows and feeds_back:
        raise ValueError(
            "the targets are the next inputs, and free runs of a network with output feedback are given their inputs: they "
            "would hear the truth. Give inputs that are known ahead (a constant, if there are none), or leave feedback out."
        )
    if not follows and not feeds_back:
        raise ValueError(
            "closed_loop needs targets that are the next input: with a series x of shape (T, F), u = x[:-1] and y = x[1:]. "
            "Or a network with output feedback (feedback_scaling), which hears its outputs beside other inputs."
        )


def _check_targets(data: TuningData) -> None:
    folds, test = data.tuned, data.test
    if _constant(folds.held_out(folds.targets.values)):
        raise ValueError("a target is constant on the validation part: errors cannot be normalised by its variance.")
    if data.tested and _constant(test.held_out(test.targets.values)):
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
    values = np.stack(columns) if isinstance(series.values, np.ndarray) else columns
    return Series(values, series.kind, "y"), found.classes, per_sequence


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
        raise ValueError(f"{series.count} sequences are too few to train and validate on, with folds={judges}.")
    segment = np.full(series.count, segments)
    segment[~tests] = [int(np.flatnonzero(np.diff(each))[0]) for each in found.edges]
    return Splits(splits.in_one_segment(segment, series.lengths - 1, series.lengths, segments + 1), found.splits)
