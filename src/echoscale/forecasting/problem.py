"""What is to be learned: checked data in units of the model, the units, and what is known when.

`as_problem` checks the data of `es.auto` and returns a `Problem`: a target for every step or sequence. It says whether targets
are numbers or labels, and whether a target is the future of an input:

    ahead: y_o(t) = u_f(t + h)     then "no change" and "as one season ago" are answers too

A `HorizonProblem` of `Forecaster` asks for the next H values of some series. A `Line` is such a series in its units, with the
inputs that are known beside it:

    z = (g(y) - mean) / spread        y in units of the data, g the identity or the logarithm

`Range` and `drifting` find data that leave the range of the training data, or drift between two parts of time.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Flags, Floats
from echoscale.data.scaling import Scaling, scaling_of
from echoscale.data.series import Series, SeriesLike, as_series, as_targets, axes, held, washout_steps
from echoscale.data.several import refuse_joined
from echoscale.data.targets import Ahead, are_labels, entries_of, future_of, labels_of
from echoscale.forecasting import splits
from echoscale.forecasting.splits import OriginSplits
from echoscale.readouts.splits import Splits
from echoscale.timescales.season import season, trend

# Steps with a target, or values of a series, at least: fewer leave too few to fit and to judge.
LEAST_STEPS = 12

# Share of the variance of an input that a straight line explains, above which the input has a trend.
TREND = 0.6
# The logarithm is tried where the largest values are this many times the smallest: below that it is nearly a straight line.
LEAST_RATIO = 1.3
# The largest exponent: e^700 is still a finite number.
MOST = 700.0

# A small margin warns of stationary data, a large one is late. Set on drawn stationary series: normal, uniform, Student's t
# with 2 and 3 degrees of freedom, Cauchy, log-normal, AR(1). With 300 training steps that hold at least 30 correlation times,
# 100 new steps are reported in at most 3 of 100 cases.
MARGIN = 0.25
SHARE, FEW = 0.05, 3
# A mean moves if it moves by a standard deviation. Values are clipped to these quantiles of the first part, since the mean of a
# few far values is chance.
QUANTILES = (0.05, 0.95)


@dataclass(frozen=True, eq=False)
class Problem:
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

    @cached_property
    def trends(self) -> Flags:
        """Which inputs have a trend, in the longest series, (F,)."""
        longest = np.asarray(max(self.series.values, key=len))
        return np.array([len(longest) > 2 and trend(column) > TREND for column in longest.T], bool)

    @property
    def trends_ahead(self) -> Flags:
        """Which of them are to be predicted, (F,): they leave every range."""
        predicted = [each.column for each in self.ahead if each is not None]
        return np.asarray(self.trends & np.isin(np.arange(self.series.features), predicted))

    @property
    def range(self) -> Range:
        """The range of the inputs; endless for trends that are to be predicted."""
        known, endless = Range.of(list(self.series.values)), self.trends_ahead
        return Range(np.where(endless, -np.inf, known.low), np.where(endless, np.inf, known.high))

    def drift(self) -> tuple[Flags, Flags]:
        """Which inputs, and which targets, leave the range of the data before the first origin, or have another mean after it.

        Trends that are to be predicted are left out.
        """
        inputs, targets = np.zeros(self.series.features, bool), np.zeros(self.outputs, bool)
        if 2 * self.series.count >= len(self.splits.edges[0]):  # whole series are held out, in no order of time
            return inputs, targets
        cuts = [low for low, _ in self.splits.held_out(self.splits.splits[0])]

        def moved(series: Series) -> Flags:
            values = [np.asarray(each) for each in series.values]
            parts = [(each[self.washout : cut], each[cut:]) for each, cut in zip(values, cuts, strict=True)]
            return drifting([first for first, _ in parts], [then for _, then in parts])

        inputs = moved(self.series) & ~self.trends_ahead
        if self.classes is None:
            of_trends = np.array([each is not None and bool(self.trends_ahead[each.column]) for each in self.ahead])
            targets = moved(self.targets) & ~of_trends
        return inputs, targets

    @cached_property
    def splits(self) -> Splits:
        """Parts of time, and the splits that candidates are judged on."""
        return splits.of_steps(self.targets.known, self.washout, self.gap)

    @property
    def rows(self) -> int:
        """What can be learned from: steps after the washout that have a target, or sequences."""
        if self.per_sequence:
            return self.series.count
        return sum(int(each[self.washout :].sum()) for each in self.targets.known)


def as_problem(u: SeriesLike, y: SeriesLike | None, labels: bool | None, scale: str | None) -> Problem:
    """The checked problem."""
    series = as_series(u)
    if y is None:
        if series.lengths.min() < 2:
            raise ValueError("without y the next step of u is predicted: every series needs two steps at least.")
        y = [each[1:] for each in series.values]
        series = _like(series, [each[:-1] for each in series.values])
        y = y if series.kind != "one" else y[0]
    scaling = scaling_of(scale, series)
    raw, per_sequence = entries_of(y, series)
    labelled = are_labels(raw, per_sequence, series, labels)
    if not per_sequence:
        refuse_joined(u, raw[0] if labelled else None)
    if labelled:
        found = labels_of(raw, per_sequence, series, "Pass labels=False for numbers.")
        outputs = len(found.classes)
        targets, none = Series(found.codes(), "list", "y"), Scaling.none(outputs)
        nothing, names = (None,) * outputs, series.columns
        problem = Problem(
            scaling.apply(series), targets, scaling, none, nothing, found.classes, per_sequence, flat=True, columns=names
        )
        _check_rows(problem)
        return problem
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
    problem = Problem(scaling.apply(series), targets, scaling, own, ahead, None, False, flat, series.columns)
    _check_rows(problem)
    return problem


def _check_rows(problem: Problem) -> None:
    if not problem.per_sequence and problem.rows < LEAST_STEPS:
        raise ValueError(
            f"{problem.rows} steps with a target are too few to choose by, after the first {problem.washout}: give at least "
            f"{LEAST_STEPS}."
        )


@dataclass(frozen=True, eq=False)
class Line:
    """z(t), and inputs.

    Attributes
    ----------
    values : (T,)
        z; gaps hold the last value before them.
    known : (T,) of bool
        Where there is no gap: only those are targets.
    future : (T + more, K)
        Inputs that are known ahead; as long as is known.
    past : (T, Q)
        Inputs that are known up to now.
    first : int
        The time of the first value, by which phases of the season count.
    """

    values: Floats
    known: Flags
    future: Floats
    past: Floats
    first: int = 0

    def __len__(self) -> int:
        return len(self.values)

    def last(self, count: int) -> Line:
        """The last `count` steps."""
        return self.between(max(len(self) - count, 0), None)

    def between(self, low: int, high: int | None) -> Line:
        """Steps low to high, the end left out; None: all that is known."""
        some = slice(low, high)
        return replace(
            self,
            values=self.values[some],
            known=self.known[some],
            future=self.future[some],
            past=self.past[some],
            first=self.first + low,
        )

    def continued(self, values: Floats, future: Floats, past: Floats) -> Line:
        """With more values, in which gaps are NaN, and the inputs beside them."""
        return replace(
            self,
            values=np.concatenate([self.values, held(np.concatenate([self.values[-1:], values]))[1:]]),
            known=np.concatenate([self.known, ~np.isnan(values)]),
            future=np.concatenate([self.future[: len(self)], future]),
            past=np.concatenate([self.past, past]),
        )


class Units(NamedTuple):
    """The units of one series.

    Attributes
    ----------
    log : bool
        Whether g is the logarithm.
    mean, spread : float
        Mean and standard deviation of g(y) over the training data.
    """

    log: bool
    mean: float
    spread: float

    @classmethod
    def of(cls, values: Floats, log: bool) -> Units:
        """From training data; gaps (NaN) do not count, and what is constant has the spread 1."""
        known = values[~np.isnan(values)]
        known = np.log(known) if log else known
        mean, spread = float(known.mean()), float(known.std())
        return cls(log, mean, spread if spread > 1e-12 * np.abs(known).max() else 1.0)

    def forward(self, y: Floats) -> Floats:
        """z."""
        return np.asarray(((np.log(y) if self.log else y) - self.mean) / self.spread)

    def back(self, z: Floats) -> Floats:
        """y."""
        found = self.mean + self.spread * z
        return np.exp(np.minimum(found, MOST)) if self.log else np.asarray(found)


def worth_a_logarithm(values: Floats) -> bool:
    """Whether a series is positive and spans enough for a logarithm to matter."""
    known = values[~np.isnan(values)]
    if not (known > 0).all():
        return False
    low, high = np.quantile(known, [0.05, 0.95])
    return bool(high > LEAST_RATIO * low)


@dataclass(frozen=True, eq=False)
class HorizonProblem:
    """Some series that are learned together, and whose next H values are forecast from every origin.

    Attributes
    ----------
    lines : list of Line
        The series.
    periods : tuple of int
        m of every season.
    horizon : int
        H.
    compared : int
        The longest season where problems with different seasons are compared: then all have the same cuts and rows.
    """

    lines: list[Line]
    periods: tuple[int, ...]
    horizon: int
    compared: int = 0

    @cached_property
    def cuts(self) -> OriginSplits:
        """Parts of time, and the cuts that candidates are judged at."""
        period = self.compared or max(self.periods, default=0)
        return splits.of_origins([len(line) for line in self.lines], period, self.horizon, self.compared > 0)

    @property
    def before(self) -> int:
        """Steps before the first cut, in the series where it comes first."""
        return int(self.cuts.ends[:, 1].min())

    @property
    def some(self) -> list[int]:
        """The first horizon, one between, and the last: where penalties are chosen."""
        return sorted({1, -(-self.horizon // 3), self.horizon})


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


def drifting(before: Sequence[Floats], after: Sequence[Floats]) -> Flags:
    """Which columns leave the range of an earlier part, or have another mean, (F,)."""
    first, then = (np.concatenate([np.asarray(each) for each in part]) for part in (before, after))
    first, then = (rows[~np.isnan(rows).any(axis=1)] for rows in (first, then))
    if not len(first) or not len(then):
        return np.zeros(first.shape[1], bool)
    near = np.quantile(first, QUANTILES, axis=0)
    usual, later = np.clip(first, *near), np.clip(then, *near)
    moved = np.abs(later.mean(axis=0) - usual.mean(axis=0)) > usual.std(axis=0)
    return np.asarray(moved | (Range.of([first]).left_by([then]) > 0))


def called(names: Sequence[str], f: int) -> str:
    """Name of an input in messages."""
    return f"input {names[f]!r}" if names else f"input {f}"


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
        if len(known) > 1 and (known == known[0]).all():
            raise ValueError(f"output {o} of y is constant ({known[0]:g}): there is nothing to predict.")
