"""The best candidates so far, at every origin: what folds say of them, and their readouts.

A candidate reads the states of one lane, with or without lags of the input beside them, and is fitted to the target or to its
change since now. Several good ones are averaged: their errors differ, and the choice of one would overfit the folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from echoscale._internal.types import Floats, Indices
from echoscale.forecasting.selection.lags import LinearMap, ProductMap, mean_of
from echoscale.forecasting.selection.problem import Question
from echoscale.readouts import penalties, splits
from echoscale.readouts.penalties import RELATIVE, UNCHOSEN
from echoscale.readouts.splits import Split
from echoscale.readouts.statistics import Statistics

if TYPE_CHECKING:
    from echoscale.forecasting.selection.search import TimeRows


MEMBERS = 8
# A member's error over the best one's: worse ones would not help the mean.
ALLOWED = 1.15
# The same for windows of lags and for smoothers, whose errors are more alike.
ALIKE = 1.03


@dataclass(frozen=True, eq=False)
class Member:
    """A candidate that is fitted at one origin.

    error    of the folds, in standard deviations of the target
    round    which network; lane: which hyper-parameters of it (-1: lags alone)
    states   coef (O, columns of a network); None for lags alone
    beside   what it makes of the lags, with the intercept
    change   whether it was fitted to the change since now
    """

    error: float
    round: int
    lane: int
    states: Floats | None
    beside: LinearMap
    change: bool

    @property
    def coef(self) -> Floats:
        """The weights of the states."""
        assert self.states is not None
        return self.states


def simple_members(rows: TimeRows, origin: Split) -> list[Member]:
    """Ridge on every set of lags, fitted to the target and to its change, by folds; the best first."""
    whole = splits.training(rows.simple, origin)
    pairs, relative = _folds(splits.pairs(rows.simple, origin.folds), whole)
    kinds = rows.targets_after(rows.width)
    found = []
    for chosen in rows.sets:
        used = rows.columns(chosen)
        best = penalties.choose_by_group(pairs, used, kinds, relative)
        for kind, targets in enumerate(kinds):
            penalty = float(best.relative[kind])
            readout = penalties.fit_columns(whole, used, targets, penalty)
            beside = _with_present(LinearMap(chosen, readout.coef, readout.intercept), rows.question, kind == 1)
            found.append(Member(float(best.error[kind]), -1, -1, None, beside, kind == 1))
    return sorted(found, key=lambda each: each.error)


def product_members(rows: TimeRows, origin: Split) -> list[Member]:
    """Ridge on lags and all products of two of them, for every window, by folds; the best first."""
    if not rows.product_sets:
        return []
    whole = splits.training(rows.products, origin)
    pairs, relative = _folds(splits.pairs(rows.products, origin.folds), whole)
    kinds, widest = rows.targets_after(whole.features), len(rows.product_sets[-1]) * rows.features
    _, later = np.triu_indices(widest)
    found = []
    for chosen in rows.product_sets:
        size = len(chosen) * rows.features  # the nearest lags are the first columns
        used = np.concatenate([np.arange(size), widest + np.flatnonzero(later < size)])
        best = penalties.choose_by_group(pairs, used, kinds, relative)
        for kind, targets in enumerate(kinds):
            readout = penalties.fit_columns(whole, used, targets, float(best.relative[kind]))
            made = ProductMap(chosen, readout.coef[:, size:])
            beside = LinearMap(chosen, readout.coef[:, :size], readout.intercept, (made,))
            found.append(
                Member(float(best.error[kind]), -1, -1, None, _with_present(beside, rows.question, kind == 1), kind == 1)
            )
    return sorted(found, key=lambda each: each.error)


def network_members(
    rows: TimeRows,
    statistics: Sequence[Statistics],
    units: int,
    origin: Split,
    beside: Sequence[tuple[int, ...]],
    number: int,
    bound: float,
    lanes: Indices,
    workers: int,
) -> tuple[list[Member], Indices]:
    """The best candidates of a round at an origin, over sets of features and kinds of targets; and the lanes, best first."""
    if len(lanes) < len(statistics[0].mean):
        statistics = [each.lane(lanes) for each in statistics]
    whole = splits.training(statistics, origin)
    pairs, path = _folds(splits.pairs(statistics, origin.folds), whole)
    kinds = rows.targets_after(units + rows.width)
    entries = []
    for chosen in beside:
        extra = units + rows.columns(chosen) if chosen else np.empty(0, np.int64)
        used = np.concatenate([np.arange(units), extra])
        best = penalties.choose_by_group(pairs, used, kinds, path, workers)
        for kind in range(len(kinds)):
            for lane in range(best.error.shape[0]):
                error, relative = float(best.error[lane, kind]), float(best.relative[lane, kind])
                entries.append((error, lane, kind, relative, chosen, used))
    entries.sort(key=lambda each: each[:3])
    order = lanes[list(dict.fromkeys(each[1] for each in entries))]
    limit = min(bound, ALLOWED * entries[0][0]) if entries else bound
    found = []
    for error, lane, kind, relative, chosen, used in entries[:MEMBERS]:
        if not error <= limit:
            break
        readout = penalties.fit_columns(whole.lane(lane), used, kinds[kind], relative)
        states = np.ascontiguousarray(readout.coef[:, :units])
        # Without lags the map holds the intercept alone, on the present step with coefficient 0.
        coef = readout.coef[:, units:] if chosen else np.zeros((rows.question.outputs, rows.features))
        linear = LinearMap(chosen or (0,), coef, readout.intercept)
        linear = _with_present(linear, rows.question, kind == 1)
        found.append(Member(error, number, int(lanes[lane]), states, linear, kind == 1))
    return found, order


def best_of(members: Sequence[Member]) -> list[Member]:
    """The best few, none of them much worse than the best."""
    ordered = sorted(members, key=lambda each: (each.error, each.round, each.lane))[:MEMBERS]
    return [each for each in ordered if each.error <= ALLOWED * ordered[0].error]


def _folds(pairs: penalties.Pairs, whole: Statistics) -> tuple[penalties.Pairs, Floats]:
    """The folds and the path of penalties; of one part alone nothing can be held out, and the penalty is fixed."""
    return (pairs, RELATIVE) if pairs else ([(whole, whole)], np.array([UNCHOSEN]))


def on_lags(members: Sequence[Member], change: bool) -> LinearMap:
    """Ridge on lags: the mean over the windows that the folds cannot tell from the best one."""
    kind = [each for each in members if each.change == change]
    return mean_of([each.beside for each in kind if each.error <= ALIKE * kind[0].error])


def _with_present(linear: LinearMap, question: Question, change: bool) -> LinearMap:
    """The map of the target itself, where it was fitted to the change since now."""
    if not change:
        return linear
    lags = linear.lags if 0 in linear.lags else (0, *linear.lags)
    wide = linear.on(lags)
    features = question.series.features
    coef = wide.coef.copy()
    for o, each in enumerate(question.ahead):
        if each is not None:
            coef[o, lags.index(0) * features + each.column] += 1
    return replace(wide, coef=coef)
