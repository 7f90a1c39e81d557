"""Rows that are time steps: statistics of states, lags and targets for every part, and outputs at the rows that judge.

Nothing but the lags grows with the length of a series: states are summed up or read out chunk by chunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale.automatic import lags, smoothers
from echoscale.automatic.drive import Drive
from echoscale.automatic.lags import LinearMap
from echoscale.automatic.model import AutoModel, Group
from echoscale.automatic.origins import Judging, Origin
from echoscale.automatic.question import Question
from echoscale.automatic.ranges import Range, drifting
from echoscale.esn import ESN
from echoscale.hyper import Hyper
from echoscale.readouts.statistics import Statistics, of_rows, split_statistics
from echoscale.series import Series

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class TimeRows:
    """The rows of a question about steps, for all candidates.

    Columns of the statistics: states (N), lags (lag by lag), targets (O), targets less the present (O).
    """

    def __init__(self, question: Question) -> None:
        self.question = question
        self.judging = Judging.of(question.known, question.washout, question.gap)
        self.sets = lags.windows(question)
        self.lags = lags.every(self.sets)
        self.drive = Drive.of(question.series)
        self.heard = self.drive.over(question.series)

    @cached_property
    def beside(self) -> Series:
        """Lags, targets, and targets less the present."""
        return lags.beside(self.question, self.lags)

    @property
    def width(self) -> int:
        """Columns of all lags."""
        return len(self.lags) * self.question.series.features

    @property
    def features(self) -> int:
        """Columns of one lag."""
        return self.question.series.features

    def columns(self, chosen: tuple[int, ...]) -> Indices:
        """Which of the lag columns belong to a set of lags."""
        return lags.columns(chosen, self.lags, self.question.series.features)

    def targets_after(self, features: int) -> list[Indices]:
        """Columns of the targets, and of their changes, after so many columns of features."""
        outputs = self.question.outputs
        kinds = [features + np.arange(outputs)]
        if any(each is not None for each in self.question.ahead):
            kinds.append(features + outputs + np.arange(outputs))
        return kinds

    @cached_property
    def simple(self) -> list[Statistics]:
        """Of lags and targets alone, for every segment."""
        segments = [self._segment(segment) for segment in range(len(self.judging.edges[0]) - 1)]
        return [_of_rows(rows[:, : self.width], rows[:, self.width :]) for rows in segments]

    def _segment(self, segment: int) -> Floats:
        """Lags, targets and changes of the steps of a segment that have a target."""
        cut = zip(self.beside.values, self.judging.edges, strict=True)
        rows = np.concatenate([np.asarray(values[edges[segment] : edges[segment + 1]]) for values, edges in cut])
        return np.asarray(rows[~np.isnan(rows).any(axis=1)])

    @cached_property
    def product_sets(self) -> list[tuple[int, ...]]:
        """Windows whose products are tried; none where an input has a trend, which products would carry away."""
        return [] if self.drive.changes.any() else lags.product_windows(self.question)

    @cached_property
    def products(self) -> list[Statistics]:
        """Of the lags of the longest of these windows, their products, and targets, for every segment."""
        found, used = [], self.columns(self.product_sets[-1])
        for segment in range(len(self.judging.edges[0]) - 1):
            rows = self._segment(segment)
            z, targets = rows[:, used], rows[:, self.width :]
            found.append(_of_rows(np.concatenate([z, lags.products(z)], axis=1), targets))
        return found

    def statistics(self, esn: ESN, hyper: Hyper) -> list[Statistics]:
        """Of states, lags and targets, for every segment, with lanes."""
        found, _ = split_statistics(esn, self.heard, self.beside, self.judging.edges, hyper=hyper)
        return found

    def judged(self, origin: Origin) -> tuple[Floats, Floats]:
        """Lags (rows, lag columns) and targets (rows, O) of the rows that judge an origin, gaps included."""
        parts = [
            np.asarray(values[low:high])
            for values, (low, high) in zip(self.beside.values, self.judging.judged_rows(origin), strict=True)
        ]
        rows = np.concatenate(parts)
        return rows[:, : self.width], rows[:, self.width : self.width + self.question.outputs]

    def _range(self) -> Range:
        """The range of the inputs; endless for trends that are forecast, which leave every range."""
        known, trends = Range.of(list(self.question.series.values)), self._trends()
        return Range(np.where(trends, -np.inf, known.low), np.where(trends, np.inf, known.high))

    def _trends(self) -> Flags:
        """Which inputs have a trend and are forecast, (F,)."""
        forecast = [each.column for each in self.question.ahead if each is not None]
        return np.asarray(self.drive.changes & np.isin(np.arange(self.features), forecast))

    def drift(self) -> tuple[Flags, Flags]:
        """Which inputs, and which targets, leave the range of the data before the first origin, or have another mean after it.

        Trends that are forecast are left out: they leave every range.
        """
        question, trends = self.question, self._trends()
        inputs, targets = np.zeros(self.features, bool), np.zeros(question.outputs, bool)
        if question.series.count >= self.judging.parts:  # whole series are held out, in no order of time
            return inputs, targets
        cuts = [low for low, _ in self.judging.judged_rows(self.judging.origins[0])]

        def moved(series: Series) -> Flags:
            values = [np.asarray(each) for each in series.values]
            parts = [(each[question.washout : cut], each[cut:]) for each, cut in zip(values, cuts, strict=True)]
            return drifting([first for first, _ in parts], [then for _, then in parts])

        inputs = moved(question.series) & ~trends
        if question.classes is None:
            of_trends = np.array([each is not None and bool(trends[each.column]) for each in question.ahead])
            targets = moved(question.targets) & ~of_trends
        return inputs, targets

    def answered(self, linear: LinearMap, origin: Origin) -> Floats:
        """What a map of lags makes of the rows that judge an origin, (rows, O)."""
        cut = zip(self.question.series.values, self.judging.judged_rows(origin), strict=True)
        return np.concatenate([linear.along(np.asarray(values)[:high])[low:] for values, (low, high) in cut])

    def persistence(self) -> LinearMap | None:
        """Nothing changes."""
        return lags.persistence(self.question)

    def seasonal_naive(self) -> LinearMap | None:
        """As one season before."""
        return lags.seasonal_naive(self.question)

    def smoothing(self, origin: Origin) -> LinearMap | None:
        """Exponential smoothing, its factors chosen before an origin."""
        return smoothers.smoothing(self.question, self.judging, origin)

    def constant(self) -> LinearMap:
        """The mean of the targets."""
        return lags.constant(self.question)

    def model(self, linear: LinearMap, groups: Sequence[Group]) -> AutoModel:
        """The fitted model, its state at the end of the data."""
        question = self.question
        made = AutoModel(
            linear,
            tuple(groups),
            question.scaling,
            question.target_scaling,
            question.classes,
            question.flat,
            self.drive,
            np.empty(0),
            question.columns,
            self._range(),
        )
        made.state_ = made.after(question.series)
        return made

    def outputs(self, esn: ESN, hyper: Hyper, coefs: Sequence[Sequence[tuple[int, Floats]]]) -> list[Floats]:
        """Sums of state outputs at the rows that judge, (rows, O) for every origin: from pairs of a lane and its coef."""
        spans = [self.judging.judged_rows(origin) for origin in self.judging.origins[: len(coefs)]]
        begins = [np.concatenate([[0], np.cumsum([high - low for low, high in span])]) for span in spans]
        found = [np.zeros((int(each[-1]), self.question.outputs)) for each in begins]
        count = self.question.series.count
        # One sum for every lane, added up at the end in order: threads must not change the bits.
        by_lane: dict[tuple[int, int], Floats] = {}
        for o, pairs in enumerate(coefs):
            for place, _ in enumerate(pairs):
                by_lane[o, place] = np.zeros_like(found[o])

        def consume(which: Indices, start: int, states: Any) -> None:
            rows = np.asarray(states)
            for at, (lane, b) in enumerate(zip(*np.divmod(which, count), strict=True)):
                for o, pairs in enumerate(coefs):
                    low, high = (int(np.clip(edge - start, 0, len(rows))) for edge in spans[o][b])
                    if low >= high:
                        continue
                    first = int(begins[o][b]) + start + low - spans[o][b][0]
                    for place, (wanted, coef) in enumerate(pairs):
                        if wanted == lane:
                            out = rows[low:high, at].astype(np.float64) @ coef.T
                            by_lane[o, place][first : first + high - low] += out

        esn.run_chunks(self.heard, consume, hyper=hyper)
        for (o, _), part in by_lane.items():
            found[o] += part
        return found


def _of_rows(features: Floats, targets: Floats) -> Statistics:
    """The statistics of rows, of none too."""
    if len(features):
        return of_rows(features, targets)
    columns = features.shape[1] + targets.shape[1]
    return Statistics(np.zeros(()), np.zeros(columns), np.zeros((columns, columns)), features.shape[1])
