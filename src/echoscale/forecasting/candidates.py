"""Candidates: models that are fitted at a split, with penalties that folds choose, and judged on the data after it.

In `es.auto`, a `Member` reads the states of one lane of a network or leaky integrals, with or without lags of the input beside
them, or lags alone. It is fitted to the target or to its change since now. Several good ones are averaged: their errors
differ, and the choice of one would overfit the folds.

In `Forecaster`, a `Candidate` is exponential smoothing, a naive forecast, or a reader of lags, alone or beside a network. Folds
of the time before the first cut choose its window of lags, its lane of a network and its penalties. At every cut its readouts
are fitted again, and the forecasts up to the next cut are judged. Nothing that is judged has been used for a choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from echoscale._internal.types import Floats, Indices
from echoscale.data import differencing
from echoscale.forecasting import smoothing
from echoscale.forecasting.lags import Lags, LinearMap, ProductMap, Recipe, constant, mean_of
from echoscale.forecasting.model import Method, Naive, Trend
from echoscale.forecasting.networks import Net, draw_network, states, units_for
from echoscale.forecasting.problem import HorizonProblem, Line, Problem
from echoscale.forecasting.readers import LEAST_ROWS, Option, Reader
from echoscale.forecasting.rows import Origins, Steps, statistics
from echoscale.forecasting.weights import ALIKE
from echoscale.readouts import penalties, splits
from echoscale.readouts.penalties import RELATIVE, UNCHOSEN, take_columns
from echoscale.readouts.splits import Split
from echoscale.readouts.statistics import Statistics

# Members in a mean, and a member's error over the best one's: worse ones would not help the mean.
MEMBERS = 8
ALLOWED = 1.15

# Windows of lags that `Forecaster` tries, and rows for every lag, at the first cut.
WINDOWS = (1, 2, 4, 8, 13, 21, 34, 49)
ROWS_PER_LAG = 5
LONGEST_SEASON_WINDOW = 49
# Networks need this number of steps before the first cut.
LEAST_FOR_NETWORKS = 80
STRUCTURES = ("hierarchical", "ring", "single")
LANES, FEW_LANES, MANY_STEPS = 6, 4, 3000
UNITS, STEPS_PER_UNIT = (20, 100), 5
# Lags beside a network, at most.
WINDOW_BESIDE = 13


# ---------------------------------------------------------------------------------------------------- a target every step


@dataclass(frozen=True, eq=False)
class Member:
    """A candidate that is fitted at one split.

    error    of the folds, in standard deviations of the target
    round    which network; lane: which hyper-parameters of it (-1: no drawn network)
    states   coef (O, columns of a network, or of leaky integrals with their products); None for lags alone
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


def integral_members(steps: Steps, split: Split, window: Lags) -> list[Member]:
    """Ridge on leaky integrals, with and without their products, and with and without a window of lags; the best first."""
    if not steps.integrals.several:
        return []
    whole = splits.training(steps.slow, split)
    pairs, path = _folds(splits.pairs(steps.slow, split.folds), whole)
    units, width = steps.integrals.esn.units, steps.integrals.width
    kinds = steps.targets_after(whole.features)
    found = []
    for chosen, size in product([(), window], sorted({units, width})):
        used = np.concatenate([np.arange(size), width + steps.columns(chosen)])
        best = penalties.choose_by_group(pairs, used, kinds, path)
        for kind, targets in enumerate(kinds):
            readout = penalties.fit_columns(whole, used, targets, float(best.relative[kind]))
            states = np.pad(readout.coef[:, :size], ((0, 0), (0, width - size)))
            linear = _beside_states(steps.problem, chosen, readout.coef[:, size:], readout.intercept, kind == 1)
            found.append(Member(float(best.error[kind]), -1, -1, states, linear, kind == 1))
    return sorted(found, key=lambda each: each.error)


def _beside_states(problem: Problem, chosen: Lags, coef: Floats, intercept: Floats, change: bool) -> LinearMap:
    """The map of lags beside states; without lags it holds the intercept alone, on the present step with coefficient 0."""
    linear = LinearMap(chosen, coef, intercept) if chosen else constant(problem, intercept)
    return _with_present(linear, problem, change)


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
    split: Split,
    beside: Sequence[Lags],
    number: int,
    bound: float,
    lanes: Indices,
    workers: int,
) -> tuple[list[Member], Indices, float]:
    """The best candidates of a round at a split, over sets of features and kinds of targets; and the lanes, best first."""
    if len(lanes) < len(statistics[0].mean):
        statistics = [each.lane(lanes) for each in statistics]
    whole = splits.training(statistics, split)
    pairs, path = _folds(splits.pairs(statistics, split.folds), whole)
    units = whole.features
    kinds = steps.targets_after(units + steps.width)
    entries = []
    for chosen in beside:
        used = np.concatenate([np.arange(units), units + steps.columns(chosen)])
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
        linear = _beside_states(steps.problem, chosen, readout.coef[:, units:], readout.intercept, kind == 1)
        found.append(Member(error, number, int(lanes[lane]), states, linear, kind == 1))
    return found, order, entries[0][0]


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


# -------------------------------------------------------------------------------------------------- forecasts of horizons


@dataclass(eq=False)
class Candidate:
    """A way to forecast, judged.

    Attributes
    ----------
    name : str
        In words.
    judged : list of (O, H)
        For every series: its forecasts at the origins that are judged.
    method : Naive, Trend or Reader
        The method, fitted to all data.
    """

    name: str
    judged: list[Floats]
    method: Method

    @property
    def usable(self) -> bool:
        """Whether it can forecast: a reader that was never fitted cannot."""
        return not isinstance(self.method, Reader) or self.method.usable


def smoothing_candidates(problem: HorizonProblem) -> tuple[list[Candidate], list[smoothing.Smoothing]]:
    """One candidate for every trend, with the best season at the first cut; and the lanes of every series after its end."""
    periods = problem.periods or (None,)
    tried = [
        [smoothed(line, m, problem.cuts.judged(b), problem.horizon) for b, line in enumerate(problem.lines)] for m in periods
    ]
    errors = [np.mean([_first_error(problem, b, made) for b, (_, made) in enumerate(each)]) for each in tried]
    best = int(np.argmin(errors))
    lanes, forecasts = zip(*tried[best], strict=True)
    candidates = [
        Candidate(name, [each[k] for each in forecasts], Trend(name, periods[best])) for k, name in enumerate(smoothing.TRENDS)
    ]
    return candidates, list(lanes)


def _first_error(problem: HorizonProblem, b: int, forecasts: Floats) -> float:
    """Mean absolute error of forecasts of series b, (trends, O, H), between the first cut and the second."""
    low, high = problem.cuts.blocks[b][0]
    targets = np.arange(low, high)[:, None] + np.arange(1, problem.horizon + 1)
    truth = problem.lines[b].values[np.minimum(targets, high)]
    return float(np.abs(forecasts[:, : high - low] - truth)[:, targets <= high].mean())


def naive_candidates(problem: HorizonProblem) -> list[Candidate]:
    """Persistence, and a seasonal naive for every season."""
    found = []
    for method in (Naive(differencing.LAST, None), *(Naive(differencing.SEASON, m) for m in problem.periods)):
        forecasts = []
        for b, line in enumerate(problem.lines):
            origins = problem.cuts.judged(b)
            out = np.full((len(origins), problem.horizon), np.nan)
            good = origins >= (method.period or 0)
            out[good] = method.forecasts(line.values, origins[good], problem.horizon)
            forecasts.append(out)
        name = f"{method.name} {method.period}" if method.period and len(problem.periods) > 1 else method.name
        found.append(Candidate(name, forecasts, method))
    return found


def best_lags(problem: HorizonProblem, differences: Sequence[str] = differencing.DIFFERENCES) -> dict[str, Option]:
    """Ridge on the best window of lags of every difference, by its name; the best difference first."""
    found = {}
    for difference in differences:
        seasonal = difference not in differencing.WITHOUT_SEASON
        for m in problem.periods if seasonal else problem.periods[:1] or (0,):
            periods = (m, *(each for each in problem.periods if each != m)) if m else ()
            options = _windows(problem, difference, periods)
            if options:
                name = f"{difference} {m}" if seasonal and len(periods) > 1 else difference
                found[name] = min(options, key=lambda option: option.error)
    return dict(sorted(found.items(), key=lambda each: each[1].error))


def least_error(problem: HorizonProblem) -> float:
    """Error of ridge on the best lags before the first cut."""
    return min((option.error for option in best_lags(problem).values()), default=np.inf)


def _windows(problem: HorizonProblem, difference: str, periods: tuple[int, ...]) -> list[Option]:
    """Windows that the steps before the first cut allow, judged on the rows of the longest: its statistics hold theirs."""
    windows = {*WINDOWS, *(m + 1 for m in periods if m < LONGEST_SEASON_WINDOW)}
    recipes = [Recipe(difference, window, periods) for window in sorted(windows)]
    most, longest = max(problem.before // ROWS_PER_LAG, 1), problem.before - LEAST_ROWS - 1
    if problem.compared:  # short windows tell seasons apart
        most, longest = min(most, WINDOW_BESIDE), problem.cuts.skip + 1
    recipes = [each for each in recipes if each.window <= most and each.memory <= longest]
    if not recipes:
        return []
    origins = [Origins(recipes[-1], line, first=problem.cuts.skip) for line in problem.lines]
    few = statistics(origins, problem.cuts.folds.edges, problem.some)
    found, features = [], few[0].features
    for recipe in recipes:
        used = np.append(np.arange(recipe.window), np.arange(recipes[-1].window, features))
        found.append(Option(problem, recipe, few=[take_columns(each, used, np.array([features])) for each in few]))
    return found


def best_network(problem: HorizonProblem, recipe: Recipe, seed: int) -> Option | None:
    """The best network beside lags; None where there are too few steps."""
    if problem.before < LEAST_FOR_NETWORKS:
        return None
    beside = recipe._replace(window=min(recipe.window, WINDOW_BESIDE))
    options = [each for k, structure in enumerate(STRUCTURES) for each in _lanes(problem, beside, structure, [seed, k])]
    return min(options, key=lambda option: option.error)


def _lanes(problem: HorizonProblem, recipe: Recipe, structure: str, seed: Sequence[int]) -> list[Option]:
    """A network with many hyper-parameters."""
    # From the time before the first cut: what is judged later must not be known.
    known = [line.values[:end] for line, end in zip(problem.lines, problem.cuts.ends[:, 1], strict=True)]
    changes = np.concatenate([differencing.changes(recipe.difference, recipe.period, each) for each in known])
    spread = float(changes.std()) or 1.0
    features = 1 + problem.lines[0].future.shape[1] + problem.lines[0].past.shape[1]
    lanes = LANES if sum(map(len, problem.lines)) < MANY_STEPS else FEW_LANES
    esn, hyper = draw_network(structure, units_for(problem.before, STEPS_PER_UNIT, UNITS), lanes, features, seed)
    nets = [Net(esn, hyper.lane(lane), spread) for lane in range(lanes)]
    found = [states(nets, recipe, line) for line in problem.lines]
    return [Option(problem, recipe, net, [each[lane] for each in found]) for lane, net in enumerate(nets)]


def judged(problem: HorizonProblem, name: str, option: Option, loops: Sequence[bool] = (False, True)) -> list[Candidate]:
    """A reader judged at every cut: direct (False), in closed loop (True), or both."""
    found, last = [], problem.cuts.ends.shape[1] - 2
    for loop in loops:
        readers = [option.reader(loop, cut) for cut in range(last + 1)]
        forecasts = [
            np.concatenate([option.judged(readers[cut], b, cut) for cut in range(last)]) for b in range(len(problem.lines))
        ]
        found.append(Candidate(f"{name}, {'closed loop' if loop else 'direct'}", forecasts, readers[-1]))
    return found


def smoothed(line: Line, period: int | None, origins: Indices, horizon: int) -> tuple[smoothing.Smoothing, Floats]:
    """The lanes after a line, and their forecasts at consecutive origins, (trends, O, H)."""
    lanes = smoothing.begin(line.values, period)
    found = np.empty((len(smoothing.TRENDS), len(origins), horizon))
    for t, value in enumerate(np.where(line.known, line.values, np.nan).tolist()):
        lanes.step(value)
        if origins[0] <= t <= origins[-1]:
            found[:, t - origins[0]] = lanes.forecasts(horizon)
    return lanes, found
