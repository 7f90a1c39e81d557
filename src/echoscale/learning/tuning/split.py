"""The data of `tune`: scaled series and targets, the folds that judge the search, and the test part that judges the result.

    | washout | fold 1 | gap | fold 2 | ... | fold K | test |        fold k is predicted by a readout fitted to the others

With a share in place of a number of folds, one tail judges: | washout | training | validation | test |.
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

# Least number of steps of a fold, over all series: shorter data have fewer folds.
FOLD_STEPS = 10


@dataclass(frozen=True, eq=False)
class FoldedData:
    """Inputs and targets of a network, cut into segments that train or are held out.

    series   scaled inputs; with output feedback also the targets of the previous step
    targets  targets of every step; NaN if missing
    edges    edges of the segments of every series: segment s is steps edges[b][s] to edges[b][s + 1]
    folds    segments that train, and segments that are held out
    """

    series: Series
    targets: Series
    edges: list[Indices]
    folds: tuple[Split, ...]

    @property
    def steps(self) -> int:
        """Number of steps of one network over all series."""
        return int(self.series.lengths.sum())

    @cached_property
    def known(self) -> Indices:
        """Number of steps with a target in every segment, over all series."""
        before = [np.append(0, np.cumsum(each)) for each in self.targets.known]
        return np.asarray(np.sum([np.diff(each[cuts]) for each, cuts in zip(before, self.edges, strict=True)], axis=0))

    @cached_property
    def train_rows(self) -> Floats:
        """Number of training rows of every fold, (K,)."""
        return np.array([self.known[list(each.train)].sum() for each in self.folds], np.float64)

    @property
    def tail(self) -> bool:
        """Whether one tail judges instead of folds."""
        return len(self.folds) == 1

    @property
    def rows(self) -> float:
        """Number of rows of the learned ridge penalty: rows of all folds, or of the training part if a tail judges."""
        held_out = [s for each in self.folds for s in each.held_out]
        return float(self.train_rows[0] if self.tail else self.known[held_out].sum())

    @cached_property
    def spans(self) -> list[list[tuple[int, int]]]:
        """First step and end of the held-out part, for every fold and series."""
        return [Splits(self.edges).held_out(each) for each in self.folds]

    @cached_property
    def judged(self) -> list[list[tuple[int, int, int, int]]]:
        """(fold, first step, end, first held-out row) of every held-out part, in order of time, for every series."""
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
        """Statistics of training and of held-out data for every fold, from statistics of segments."""
        train = [each for each in splits.complements(parts, self.folds) if each is not None]
        return train, [splits.total([parts[s] for s in each.held_out]) for each in self.folds]

    def trains_at(self, which: Indices, begin: int, steps: int) -> Flags:
        """Whether a step of these series trains fold k, (steps, K, lanes); one lane if there is one series."""
        ends = np.array([self.edges[b] for b in (which[:1] if self.series.count == 1 else which)])
        at = begin + np.arange(steps)[:, None, None]
        inside = (at >= ends[:, :-1]) & (at < ends[:, 1:])  # (steps, lanes, segments)
        return np.stack([inside[..., list(each.train)].any(axis=-1) for each in self.folds], axis=1)


class TuningData(NamedTuple):
    """The data that are tuned on, and the test part.

    tuned        data without the test part
    test         data with the test part, the last segment and the only held-out one; empty without test data
    whole        inputs and targets of all data, scaled like `tuned`
    all_splits   folds over all data, which choose the final ridge penalty
    washout      number of steps at the start of every series that do not count; 0 if only last steps count
    classes      labels in the order of columns
    scalings     scalings of inputs and targets, from the data without the test part
    feeds_back   whether the network receives the targets of the previous step
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
        """Rows of the ridge penalty of the search, as a share of the rows of all data."""
        return 1.0 if self.tuned.tail else self.tuned.rows / float(self.test.known.sum())

    def over_all(self) -> FoldedData:
        """All data, test part included, scaled by their own means and deviations, with folds over all of them."""
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
    """Checked data, split in time, or by sequences if each has one label.

    free        whether free runs judge
    feeds_back  whether the network receives the targets of the previous step
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
    """Cut data into segments; with output feedback the targets of the previous step are inputs too."""
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
    """Refuse data for free runs: targets must be the next inputs; with output feedback, they must not be."""
    follows = all(is_next_input(*pair) for pair in zip(series.values, targets.values, strict=True))
    if follows and feeds_back:
        raise ValueError(
            "the targets are the next inputs, but free runs of a network with output feedback receive their inputs: they "
            "would receive the targets. Give inputs that are known ahead (a constant if there are none), or leave feedback out."
        )
    if not follows and not feeds_back:
        raise ValueError(
            "closed_loop needs targets that are the next input: with a series x of shape (T, F), u = x[:-1] and y = x[1:]. "
            "Or use a network with output feedback (feedback_scaling), which receives its outputs in addition to other inputs."
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
    """Whether a column is constant over the steps with a target, or has no target."""
    known = rows[~np.isnan(rows).any(axis=1)]
    return not len(known) or bool(is_constant(known).any())


def _one_hot(y: SeriesLike, series: Series) -> tuple[Series, npt.NDArray[Any], bool]:
    """Labels per step or per sequence as columns of 0 and 1, at every step."""
    entries, per_sequence = entries_of(y, series)
    found = labels_of(entries, per_sequence, series, "Use loss='mse' for numbers.")
    columns = found.codes()
    if per_sequence:  # only the last step of a sequence counts
        columns = [np.repeat(each, int(length), axis=0) for each, length in zip(columns, series.lengths, strict=True)]
    values = np.stack(columns) if isinstance(series.values, np.ndarray) else columns
    return Series(values, series.kind, "y"), found.classes, per_sequence


def _by_sequence(series: Series, targets: Series, judges: float | int, test: float) -> Splits:
    """Split by sequences: a share of each class is the test part; the others are held out in turn, or a share of them is.

    Only the last step of a sequence counts.
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
