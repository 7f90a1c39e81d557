"""The problem that `es.auto` solves: checked data in units of the network, their range and drift, and the budget of time.

`ask` checks the data and returns a `Question`. It says whether targets are numbers or labels, and whether a target is the
future of an input:

    ahead: y_o(t) = u_f(t + h)     then "no change" and "as one season ago" are answers too

`Range` and `drifting` find data that leave the range of the training data, or drift between two parts of time. `Budget` says
whether another round fits into the time that is left.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Floats
from echoscale.data.scaling import Scaling, scaling_of
from echoscale.data.series import Series, SeriesLike, as_series, as_targets, axes, washout_steps
from echoscale.data.targets import Ahead, are_labels, entries_of, future_of, labels_of
from echoscale.timescales.season import season

# Steps with a target, at least: fewer leave too few rows to fit and to judge.
LEAST_STEPS = 12

# A small margin warns of stationary data, a large one is late. Set on drawn stationary series: normal, uniform, Student's t
# with 2 and 3 degrees of freedom, Cauchy, log-normal, AR(1). With 300 training steps that hold at least 30 correlation times,
# 100 new steps are reported in at most 3 of 100 cases.
MARGIN = 0.25
SHARE, FEW = 0.05, 3
# Standard deviations of the first part, by which the mean of the second part moves. Values are clipped to these quantiles of
# the first part, since the mean of a few far values is chance.
DRIFT, QUANTILES = 1.0, (0.05, 0.95)

# A round may be longer than those before it; a round of tuning compiles gradients.
ROUND, GROWTH, TUNING = 1.3, 2.0, 2.0
# The end, for every network in use: a share of a round, but at least the seconds of a compilation on an idle machine.
FINISH, FINISH_SECONDS = 0.25, 0.6


@dataclass(frozen=True, eq=False)
class Question:
    """Checked data.

    series, targets      in units of the network; gaps in targets are NaN; labels are rows of 0 and 1
    ahead                of every output: which input it is the future of, or None
    classes              the labels in the order of the outputs, or None for numbers
    per_sequence         whether there is one label per sequence: targets then have one row a series
    flat                 whether y had no axis of outputs
    columns              names of the input columns, where the inputs came as data frames
    """

    series: Series
    targets: Series
    scaling: Scaling
    target_scaling: Scaling
    ahead: tuple[Ahead | None, ...]
    classes: npt.NDArray[Any] | None
    per_sequence: bool
    flat: bool
    columns: tuple[str, ...]

    @property
    def outputs(self) -> int:
        """O."""
        return self.targets.features

    @cached_property
    def washout(self) -> int:
        """Steps at the start of every series that do not count."""
        return 0 if self.per_sequence else washout_steps(None, int(self.series.lengths.min()))

    @cached_property
    def gap(self) -> int:
        """Steps that are left out between training and judging: as far as a target looks ahead."""
        return max([1, *(each.steps for each in self.ahead if each)])

    @cached_property
    def season(self) -> int | None:
        """The season of the first input whose future is an output, in its longest series."""
        first = next((each for each in self.ahead if each), None)
        if first is None:
            return None
        longest = max(self.series.values, key=len)
        return season(longest[:, first.column])

    @property
    def rows(self) -> int:
        """What can be learned from: steps after the washout that have a target, or sequences."""
        if self.per_sequence:
            return self.series.count
        return sum(int(each[self.washout :].sum()) for each in self.targets.known)


def ask(u: SeriesLike, y: SeriesLike | None, labels: bool | None, scale: str | None) -> Question:
    """The checked question."""
    series = as_series(u)
    if y is None:
        if series.lengths.min() < 2:
            raise ValueError("without y the next step of u is predicted: every series needs two steps at least.")
        y = [each[1:] for each in series.values]
        series = _like(series, [each[:-1] for each in series.values])
        y = y if series.kind != "one" else y[0]
    scaling = scaling_of(scale, series)
    raw, per_sequence = entries_of(y, series)
    if are_labels(raw, per_sequence, series, labels):
        found = labels_of(raw, per_sequence, series, "Pass labels=False for numbers.")
        outputs = len(found.classes)
        targets, none = Series(found.codes(), "list", "y"), Scaling.none(outputs)
        nothing, names = (None,) * outputs, series.columns
        return Question(
            scaling.apply(series), targets, scaling, none, nothing, found.classes, per_sequence, flat=True, columns=names
        )
    flat = _is_flat(y, series)
    values = list(as_targets(y, series, gaps=True).values)
    _check_targets(values)
    ahead = future_of(series, values)
    own_units = scaling_of(scale, Series(values, "list", "y"))
    # A target that is an input's future has that input's units: "no change" is then the same number.
    mean, spread = own_units.mean.copy(), own_units.spread.copy()
    for o, each in enumerate(ahead):
        if each is not None:
            mean[o], spread[o] = scaling.mean[each.column], scaling.spread[each.column]
    own = Scaling(mean, spread)
    targets = Series([own.forward(each) for each in values], "list", "y")
    question = Question(scaling.apply(series), targets, scaling, own, ahead, None, False, flat, series.columns)
    if question.rows < LEAST_STEPS:
        raise ValueError(
            f"{question.rows} steps with a target are too few to choose by, after the first {question.washout}: give at least "
            f"{LEAST_STEPS}."
        )
    return question


class RangeWarning(UserWarning):
    """Inputs leave the range of the training data: errors may be larger than expected."""


class Range(NamedTuple):
    """The lowest and the highest value of every column, (F,) each.

        outside(t) :  u(t) < low - MARGIN (high - low)   or   u(t) > high + MARGIN (high - low)

    A few steps beyond the lowest and the highest training value are normal. Errors are to be expected where many steps are
    outside.
    """

    low: Floats
    high: Floats

    @classmethod
    def of(cls, values: Sequence[Floats]) -> Range:
        """The range of several series."""
        rows = np.concatenate([np.asarray(each) for each in values])
        return cls(rows.min(axis=0), rows.max(axis=0))

    def left_by(self, values: Sequence[Floats]) -> Floats:
        """Share of the steps outside the extended range, (F,); 0 where these are few."""
        rows, margin = np.concatenate([np.asarray(each) for each in values]), MARGIN * (self.high - self.low)
        outside = ((rows < self.low - margin) | (rows > self.high + margin)).sum(axis=0)
        share = outside / max(len(rows), 1)
        return np.where((outside >= min(FEW, len(rows))) & (share > SHARE), share, 0.0)


def warn_of_range(known: Range, values: Sequence[Floats], names: Sequence[str]) -> None:
    """Warn where inputs leave the range of the training data."""
    share = known.left_by(values)
    left = [f"{called(names, f)} at {share[f]:.0%} of the steps" for f in np.flatnonzero(share).tolist()]
    if left:
        warnings.warn(
            f"X leaves the range of the training data: {', '.join(left)}. The error may be much larger than the expected one; "
            "fit again with data of this range.",
            RangeWarning,
            stacklevel=4,
        )


def drifting(before: Sequence[Floats], after: Sequence[Floats]) -> npt.NDArray[np.bool_]:
    """Which columns leave the range of an earlier part, or have another mean, (F,)."""
    first, then = (np.concatenate([np.asarray(each) for each in part]) for part in (before, after))
    first, then = (rows[~np.isnan(rows).any(axis=1)] for rows in (first, then))
    if not len(first) or not len(then):
        return np.zeros(first.shape[1], bool)
    near = np.quantile(first, QUANTILES, axis=0)
    usual, later = np.clip(first, *near), np.clip(then, *near)
    moved = np.abs(later.mean(axis=0) - usual.mean(axis=0)) > DRIFT * usual.std(axis=0)
    return np.asarray(moved | (Range.of([first]).left_by([then]) > 0))


def called(names: Sequence[str], f: int) -> str:
    """Name of an input in messages."""
    return f"input {names[f]!r}" if names else f"input {f}"


@dataclass(frozen=True)
class Budget:
    """A deadline, and the clocks that it is measured by.

        now + next round + end <= deadline
        next round = ROUND max(longest, last g),   g = last / the one before, between 1 and 2
        end = networks max(FINISH longest, FINISH_SECONDS load)

    All times are wall time. `end` is the work after the last round, for all networks in use: the next round may bring one more.
    A round of tuning takes TUNING times as long. `load` is wall time over processor time so far: it is above 1 where other
    programs use the processors.

    seconds   the budget, from now on; None: no deadline
    wall, cpu clocks
    """

    seconds: float | None
    wall: Callable[[], float] = time.perf_counter
    cpu: Callable[[], float] = time.process_time
    began: tuple[float, float] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "began", (self.wall(), self.cpu()))

    @property
    def spent(self) -> float:
        """Seconds of wall time so far."""
        return self.wall() - self.began[0]

    @property
    def load(self) -> float:
        """Wall time over processor time so far, at least 1."""
        used = self.cpu() - self.began[1]
        return max(self.spent / used, 1.0) if used > 0 else 1.0

    def ends_with(self, rounds: Sequence[float], networks: int, *, tuning: bool = False) -> bool:
        """Whether there is no time for another round and the end."""
        if self.seconds is None or not rounds:
            return False
        coming = next_round(rounds) * (TUNING if tuning else 1.0)
        # The next round may bring another network into use.
        end = (networks + 1) * max(FINISH * max(rounds), FINISH_SECONDS * self.load)
        return self.spent + coming + end > self.seconds


def next_round(rounds: Sequence[float]) -> float:
    """Seconds that the next round may take."""
    last = rounds[-1]
    growth = last / rounds[-2] if len(rounds) > 1 and rounds[-2] > 0 else 1.0
    return ROUND * max(*rounds, last * min(max(growth, 1.0), GROWTH), 0.0)


def _like(series: Series, values: list[npt.NDArray[Any]]) -> Series:
    return Series(values if series.kind == "list" else np.stack(values), series.kind, series.name, series.columns)


def _is_flat(y: Any, series: Series) -> bool:
    return axes(y) == 1 if series.kind == "one" else all(axes(each) == 1 for each in y)


def _check_targets(values: list[Floats]) -> None:
    rows = np.concatenate(values)
    for o in range(rows.shape[1]):
        known = rows[:, o][~np.isnan(rows[:, o])]
        if not len(known):
            raise ValueError(f"output {o} of y holds no number at all: leave it out.")
        if (known == known[0]).all():
            raise ValueError(f"output {o} of y is constant ({known[0]:g}): there is nothing to predict.")
