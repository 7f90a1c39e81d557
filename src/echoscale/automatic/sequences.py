"""Rows that are whole sequences: means and last values of states, beside a summary of the inputs.

x_b = (mean over t of x(t), x(T_b))       of every network
z_b = (mean, standard deviation, first and last value of every input)       what a simple method sees
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale.automatic.drive import Drive
from echoscale.automatic.lags import LinearMap
from echoscale.automatic.model import Group
from echoscale.automatic.origins import Judging, Origin
from echoscale.automatic.question import Question
from echoscale.esn import ESN
from echoscale.hyper import Hyper
from echoscale.readouts.statistics import Statistics
from echoscale.scaling import Scaling
from echoscale.series import Series, SeriesLike, as_series

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

LEAST_SEQUENCES = 4


class SequenceRows:
    """The rows of a question about whole sequences; the interface of `TimeRows`, with the summary in place of lags."""

    def __init__(self, question: Question) -> None:
        if question.series.count < LEAST_SEQUENCES:
            raise ValueError(f"{question.series.count} sequences are too few to choose by: give at least {LEAST_SEQUENCES}.")
        self.question = question
        self.targets = np.concatenate(list(question.targets.values))
        self.judging = Judging.of_groups(self.targets.argmax(axis=1))
        self.part = np.array([int(np.argmax(np.diff(each))) for each in self.judging.edges])
        self.sets = [(0,)]
        self.lags = (0,)
        self.drive = Drive(np.zeros(question.series.features, bool), np.ones(question.series.features))

    @cached_property
    def summary(self) -> Floats:
        """z_b, (B, 4 F)."""
        return summary_of(self.question.series)

    @property
    def width(self) -> int:
        """Columns of the summary."""
        return int(self.summary.shape[1])

    @property
    def features(self) -> int:
        """Columns of the summary."""
        return self.width

    def columns(self, chosen: tuple[int, ...]) -> Indices:
        """All of the summary."""
        return np.arange(self.width)

    def targets_after(self, features: int) -> list[Indices]:
        """Columns of the classes, after so many columns of features."""
        return [features + np.arange(self.question.outputs)]

    def state_sets(self, esn: ESN) -> list[Indices]:
        """Mean, last, or both."""
        return [np.arange(esn.units), esn.units + np.arange(esn.units), np.arange(2 * esn.units)]

    @cached_property
    def simple(self) -> list[Statistics]:
        """Of summary and classes, for every segment."""
        found = self._statistics(np.concatenate([self.summary, self.targets], axis=1)[None])
        return [each.lane(0) for each in found]

    def statistics(self, esn: ESN, hyper: Hyper) -> list[Statistics]:
        """Of states, summary and classes, for every segment, with lanes."""
        states = states_of(esn, hyper, self.question.series)
        fixed = np.concatenate([self.summary, self.targets], axis=1)
        return self._statistics(np.concatenate([states, np.broadcast_to(fixed, (len(states), *fixed.shape))], axis=2))

    def _statistics(self, rows: Floats) -> list[Statistics]:
        """Of rows (lanes, B, P), part by part; the gaps between parts are empty."""
        found = []
        columns = rows.shape[2]
        features = columns - self.question.outputs
        for segment in range(2 * self.judging.parts - 1):
            mine = rows[:, self.part == segment]
            count = np.full(len(rows), float(mine.shape[1]))
            mean = mine.mean(axis=1) if mine.shape[1] else np.zeros((len(rows), columns))
            apart = mine - mean[:, None]
            found.append(Statistics(count, mean, np.swapaxes(apart, 1, 2) @ apart, features))
        return found

    def _judged(self, origin: Origin) -> npt.NDArray[np.bool_]:
        return np.asarray((self.part >= 2 * origin.trained) & (self.part < 2 * origin.judged))

    def judged(self, origin: Origin) -> tuple[Floats, Floats]:
        """Summary and classes of the sequences that judge an origin."""
        rows = self._judged(origin)
        return self.summary[rows], self.targets[rows]

    def lag_matrix(self, chosen: tuple[int, ...], origin: Origin) -> Floats:
        """The summary of the sequences that judge an origin."""
        return self.judged(origin)[0]

    def persistence(self) -> LinearMap | None:
        """Labels have no present."""
        return None

    def seasonal_naive(self) -> LinearMap | None:
        """Nor a season."""
        return None

    def constant(self) -> LinearMap:
        """The shares of the classes."""
        return LinearMap((0,), np.zeros((self.question.outputs, self.width)), self.targets.mean(axis=0))

    def outputs(self, esn: ESN, hyper: Hyper, coefs: Sequence[Sequence[tuple[int, Floats]]]) -> list[Floats]:
        """Sums of state outputs of the sequences that judge, for every origin, from pairs of a lane and its coef (O, 2 N)."""
        states = states_of(esn, hyper, self.question.series)
        found = []
        for origin, pairs in zip(self.judging.origins[: len(coefs)], coefs, strict=True):
            rows = self._judged(origin)
            total = np.zeros((int(rows.sum()), self.question.outputs))
            for lane, coef in pairs:
                total += states[lane][rows] @ coef.T
            found.append(total)
        return found

    def model(self, linear: LinearMap, groups: Sequence[Group]) -> SequenceModel:
        """The fitted model."""
        assert self.question.classes is not None
        return SequenceModel(linear, tuple(groups), self.question.scaling, self.question.classes)


@dataclass(eq=False)
class SequenceModel:
    """class of sequence b = argmax of A z_b + b + sum_m W_m x_m,b; made by `es.auto` for one label per sequence.

    Attributes
    ----------
    linear : LinearMap
        A and b, on the summary of the inputs.
    groups : tuple of Group
        The networks; none where a simple method won.
    scaling : Scaling
        Units of the inputs.
    classes_ : array
        The labels in the order of the outputs.
    state_ : None
        Every sequence begins anew.
    """

    linear: LinearMap
    groups: tuple[Group, ...]
    scaling: Scaling
    classes_: npt.NDArray[Any]
    state_: None = None

    def predict(self, X: SeriesLike, *, state: None = None) -> npt.NDArray[Any]:
        """The label of every sequence.

        Parameters
        ----------
        X : (B, T, F) or list of (T_b, F)
            Sequences, in units of the data.
        state : None
            Every sequence begins anew.

        Returns
        -------
        (B,)
            Labels.
        """
        return np.asarray(self.classes_[np.argmax(self.predict_scores(X, state=state), axis=1)])

    def predict_scores(self, X: SeriesLike, *, state: None = None) -> Floats:
        """The outputs before the largest is taken, (B, classes): near 1 for the right class, near 0 for the others.

        Parameters
        ----------
        X : (B, T, F) or list of (T_b, F)
            Sequences.
        state : None
            Every sequence begins anew.
        """
        if state is not None:
            raise ValueError("state must be None: every sequence begins anew.")
        series = self.scaling.apply(as_series(X, len(self.scaling.mean), name="X"))
        if series.kind == "one":
            raise ValueError("this model labels whole sequences: pass (B, T, F) or a list of (T, F), for one sequence X[None].")
        found = self.linear.outputs(summary_of(series))
        for group in self.groups:
            states = states_of(group.esn, group.hyper, series)
            found = found + np.einsum("mbf,mof->bo", states, group.coef)
        return np.asarray(found)


def summary_of(series: Series) -> Floats:
    """z_b of every sequence, (B, 4 F)."""
    rows = [np.asarray(each) for each in series.values]
    return np.stack([np.concatenate([each.mean(axis=0), each.std(axis=0), each[0], each[-1]]) for each in rows])


def states_of(esn: ESN, hyper: Hyper, series: Series) -> Floats:
    """Mean and last states of every sequence, (lanes, B, 2 N)."""
    lanes, count, units = hyper.lanes or 1, series.count, esn.units
    sums = np.zeros((lanes * count, units))

    def add(which: Indices, start: int, states: Any) -> None:
        rows = np.asarray(states)
        live = start + np.arange(len(rows))[:, None] < series.lengths[which % count]
        sums[which] += np.einsum("tbn,tb->bn", rows, live, dtype=np.float64)

    last = esn.run_chunks(series, add, hyper=hyper)
    means = sums.reshape(lanes, count, units) / series.lengths[:, None]
    return np.concatenate([means, np.asarray(last, np.float64).reshape(lanes, count, units)], axis=2)
