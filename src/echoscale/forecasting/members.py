"""Candidates of `es.auto` at one split: ridge on lags, on their products, and on the states of a network.

A candidate reads the states of one lane, with or without lags of the input beside them, or lags alone. It is fitted to the
target or to its change since now, with a penalty that folds choose. Several good ones are averaged: their errors differ, and
the choice of one would overfit the folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from echoscale._internal.types import Floats, Indices
from echoscale.forecasting.lags import Lags, LinearMap, ProductMap, mean_of
from echoscale.forecasting.problem import Problem
from echoscale.forecasting.rows import Steps
from echoscale.forecasting.weights import ALIKE
from echoscale.readouts import penalties, splits
from echoscale.readouts.penalties import RELATIVE, UNCHOSEN
from echoscale.readouts.splits import Split
from echoscale.readouts.statistics import Statistics

MEMBERS = 8
# A member's error over the best one's: worse ones would not help the mean.
ALLOWED = 1.15


@dataclass(frozen=True, eq=False)
class Member:
    """A candidate that is fitted at one split.

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


def lag_members(steps: Steps, split: Split) -> list[Member]:
    """Ridge on every set of lags; the best first."""
    return _without_states(steps, steps.simple, split, [(chosen, steps.columns(chosen)) for chosen in steps.sets])


def product_members(steps: Steps, split: Split) -> list[Member]:
    """Ridge on the lags of every window and all products of two of them; the best first."""
    if not steps.product_sets:
        return []
    widest = len(steps.product_sets[-1]) * steps.features
    _, later = np.triu_indices(widest)
    sets = []
    for chosen in steps.product_sets:
        size = len(chosen) * steps.features  # the nearest lags are the first columns
        sets.append((chosen, np.concatenate([np.arange(size), widest + np.flatnonzero(later < size)])))
    return _without_states(steps, steps.products, split, sets)


def _without_states(
    steps: Steps, parts: Sequence[Statistics], split: Split, sets: Sequence[tuple[Lags, Indices]]
) -> list[Member]:
    """Ridge on sets of lags with their columns, for the target and for its change; columns behind the lags are products."""
    whole = splits.training(parts, split)
    pairs, path = _folds(splits.pairs(parts, split.folds), whole)
    kinds = steps.targets_after(whole.features)
    found = []
    for chosen, used in sets:
        size = len(chosen) * steps.features
        best = penalties.choose_by_group(pairs, used, kinds, path)
        for kind, targets in enumerate(kinds):
            readout = penalties.fit_columns(whole, used, targets, float(best.relative[kind]))
            products = (ProductMap(chosen, readout.coef[:, size:]),) if len(used) > size else ()
            linear = LinearMap(chosen, readout.coef[:, :size], readout.intercept, products)
            linear = _with_present(linear, steps.problem, kind == 1)
            found.append(Member(float(best.error[kind]), -1, -1, None, linear, kind == 1))
    return sorted(found, key=lambda each: each.error)


def network_members(
    steps: Steps,
    statistics: Sequence[Statistics],
    units: int,
    split: Split,
    beside: Sequence[Lags],
    number: int,
    bound: float,
    lanes: Indices,
    workers: int,
) -> tuple[list[Member], Indices]:
    """The best candidates of a round at a split, over sets of features and kinds of targets; and the lanes, best first."""
    if len(lanes) < len(statistics[0].mean):
        statistics = [each.lane(lanes) for each in statistics]
    whole = splits.training(statistics, split)
    pairs, path = _folds(splits.pairs(statistics, split.folds), whole)
    kinds = steps.targets_after(units + steps.width)
    entries = []
    for chosen in beside:
        extra = units + steps.columns(chosen) if chosen else np.empty(0, np.int64)
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
        coef = readout.coef[:, units:] if chosen else np.zeros((steps.problem.outputs, steps.features))
        linear = _with_present(LinearMap(chosen or (0,), coef, readout.intercept), steps.problem, kind == 1)
        found.append(Member(error, number, int(lanes[lane]), states, linear, kind == 1))
    return found, order


def best_of(members: Sequence[Member]) -> list[Member]:
    """The best few, none of them much worse than the best."""
    ordered = sorted(members, key=lambda each: (each.error, each.round, each.lane))[:MEMBERS]
    return [each for each in ordered if each.error <= ALLOWED * ordered[0].error]


def on_lags(members: Sequence[Member], change: bool) -> LinearMap:
    """Ridge on lags: the mean over the windows that the folds cannot tell from the best one."""
    kind = [each for each in members if each.change == change]
    return mean_of([each.beside for each in kind if each.error <= ALIKE * kind[0].error])


def _folds(pairs: penalties.Pairs, whole: Statistics) -> tuple[penalties.Pairs, Floats]:
    """The folds and the path of penalties; of one part alone nothing can be held out, and the penalty is fixed."""
    return (pairs, RELATIVE) if pairs else ([(whole, whole)], np.array([UNCHOSEN]))


def _with_present(linear: LinearMap, problem: Problem, change: bool) -> LinearMap:
    """The map of the target itself, where it was fitted to the change since now."""
    if not change:
        return linear
    lags = linear.lags if 0 in linear.lags else (0, *linear.lags)
    wide = linear.on(lags)
    features = problem.series.features
    coef = wide.coef.copy()
    for o, each in enumerate(problem.ahead):
        if each is not None:
            coef[o, lags.index(0) * features + each.column] += 1
    return replace(wide, coef=coef)
