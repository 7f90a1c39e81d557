"""Candidates: what is fitted at a split, with penalties that folds choose, and judged on what comes after it.

Of `es.auto`, a `Member` reads the states of one lane of a network or leaky integrals, with or without lags of the input beside
them, or lags alone. It is fitted to the target or to its change since now. Several good ones are averaged: their errors
differ, and the choice of one would overfit the folds.

Of `Forecaster`, a `Candidate` is exponential smoothing, a naive forecast, or readers of lags, alone or beside networks. What it
is made of (the windows of lags, the lanes of networks, the penalties) is chosen anew at every cut, by folds of the time before
it; the best few are averaged. So judged errors hold for the whole procedure.
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
from echoscale.forecasting.model import NAIVE_NAMES, Method, Naive, Trend
from echoscale.forecasting.networks import Net, draw_network, run_lanes, units_for
from echoscale.forecasting.problem import HorizonProblem, Line, Problem
from echoscale.forecasting.readers import LEAST_ROWS, Option, Reader
from echoscale.forecasting.rows import Origins, Steps
from echoscale.forecasting.weights import ALIKE
from echoscale.readouts import penalties, splits
from echoscale.readouts.penalties import RELATIVE, UNCHOSEN
from echoscale.readouts.splits import Split
from echoscale.readouts.statistics import Statistics

# Members in a mean, and a member's error over the best one's: worse ones would not help the mean.
MEMBERS = 8
ALLOWED = 1.15

# Windows of lags that `Forecaster` tries, and rows for every lag, at the first cut.
WINDOWS = (1, 2, 4, 8, 13, 21, 34, 49)
ROWS_PER_LAG = 5
LONGEST_SEASON_WINDOW = 49
# Options that the folds cannot tell from the best are averaged, at most this number.
MOST_ALIKE = 3
# Networks need this number of steps before the first cut.
LEAST_FOR_NETWORKS = 80
STRUCTURES = ("hierarchical", "ring", "single")
LANES, FEW_LANES, MANY_STEPS = 6, 4, 3000
UNITS, STEPS_PER_UNIT = (20, 100), 5
# Windows of lags beside a network; differences that networks try.
WINDOW_BESIDE, DIFFERENCES_OF_NETWORKS = 13, 2
# Windows and lanes that go on after the first cut.
WINDOWS_KEPT, LANES_KEPT = 5, 5


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
) -> tuple[list[Member], Indices]:
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


# -------------------------------------------------------------------------------------------------- forecasts of horizons


@dataclass(eq=False)
class Candidate:
    """A way to forecast, judged.

    Attributes
    ----------
    name : str
        In words.
    judged : list of list of (M, O, H)
        For every series and cut: the forecasts of its M members at the origins that are judged.
    methods : list of Naive, Trend or Reader
        Its members, fitted to all data; their mean is its forecast.
    """

    name: str
    judged: list[list[Floats]]
    methods: Sequence[Method]

    @property
    def usable(self) -> bool:
        """Whether it can forecast: a reader that was never fitted cannot."""
        return all(each.usable for each in self.methods if isinstance(each, Reader))


def smoothing_candidates(problem: HorizonProblem) -> tuple[list[Candidate], list[smoothing.Smoothing]]:
    """One candidate for every kind of trend, and the lanes of every series after its end."""
    judged: list[list[list[Floats]]] = [[] for _ in smoothing.TRENDS]
    ends = []
    for b, line in enumerate(problem.lines):
        lanes, found = smoothed(line, problem.period, problem.cuts.judged(b), problem.horizon)
        ends.append(lanes)
        for each, one in zip(judged, found, strict=True):
            each.append([one[None]])
    return [Candidate(name, judged[k], [Trend(name)]) for k, name in enumerate(smoothing.TRENDS)], ends


def naive_candidates(problem: HorizonProblem) -> list[Candidate]:
    """Persistence, and the seasonal naive where there is a season."""
    found = []
    for difference in NAIVE_NAMES:
        if difference == differencing.SEASON and problem.period is None:
            continue
        method = Naive(difference, problem.period)
        judged = []
        for b, line in enumerate(problem.lines):
            origins = problem.cuts.judged(b)
            out = np.full((len(origins), problem.horizon), np.nan)
            good = origins >= (problem.period or 0)
            out[good] = method.forecasts(line.values, origins[good], problem.horizon)
            judged.append([out[None]])
        found.append(Candidate(method.name, judged, [method]))
    return found


def lag_candidates(
    problem: HorizonProblem, differences: Sequence[str] = differencing.DIFFERENCES, loops: Sequence[bool] = (False, True)
) -> tuple[list[Candidate], dict[str, tuple[float, Recipe]]]:
    """Ridge on lags with every difference, and the error and recipe of its best window at the first cut.

    loops  direct (False), in closed loop (True), or both
    """
    found, best = [], {}
    for difference in differences:
        recipes = _recipes(problem, difference)
        if not recipes:
            continue
        options = [Option(problem, None, [Origins(recipe, line) for line in problem.lines]) for recipe in recipes]
        ranked = _ranked(options, 0)
        best[difference] = ranked[0].error(0), ranked[0].recipe
        found += _of_options(problem, f"lags, {difference}", ranked[:WINDOWS_KEPT], loops)
    return found, best


def _recipes(problem: HorizonProblem, difference: str) -> list[Recipe]:
    """All windows that the steps before the first cut allow; none where there is no season to take differences of."""
    period, windows = problem.period, {*WINDOWS}
    if period is None and difference not in differencing.WITHOUT_SEASON:
        return []
    if period is not None and period < LONGEST_SEASON_WINDOW:
        windows.add(period + 1)
    recipes = [Recipe(difference, window, period) for window in sorted(windows)]
    most = max(problem.before // ROWS_PER_LAG, 1)
    return [each for each in recipes if each.window <= most and each.memory + LEAST_ROWS < problem.before]


def network_candidates(
    problem: HorizonProblem, best: dict[str, tuple[float, Recipe]], seed: int, loops: Sequence[bool] = (False, True)
) -> list[Candidate]:
    """Networks beside lags, with the differences that do best with lags alone."""
    if problem.before < LEAST_FOR_NETWORKS or not best:
        return []
    found = []
    for place, difference in enumerate(sorted(best, key=lambda each: best[each][0])[:DIFFERENCES_OF_NETWORKS]):
        recipe = best[difference][1]._replace(window=min(best[difference][1].window, WINDOW_BESIDE))
        options = []
        for number, structure in enumerate(STRUCTURES):
            options += _lanes(problem, recipe, structure, [seed, len(STRUCTURES) * place + number])
        found += _of_options(problem, f"network, {difference}", _ranked(options, 0)[:LANES_KEPT], loops)
    return found


def _lanes(problem: HorizonProblem, recipe: Recipe, structure: str, seed: Sequence[int]) -> list[Option]:
    """A network with many hyper-parameters."""
    # From the time before the first cut: what is judged later must not be known.
    known = [line.values[: blocks[0][0] + 1] for line, blocks in zip(problem.lines, problem.cuts.blocks, strict=True)]
    changes = np.concatenate([differencing.changes(recipe.difference, recipe.period, each) for each in known])
    spread = float(changes.std()) or 1.0
    features = 1 + problem.lines[0].future.shape[1] + problem.lines[0].past.shape[1]
    lanes = LANES if sum(map(len, problem.lines)) < MANY_STEPS else FEW_LANES
    esn, hyper = draw_network(structure, units_for(problem.before, STEPS_PER_UNIT, UNITS), lanes, features, seed)
    states = [run_lanes(esn, hyper, spread, recipe, line) for line in problem.lines]
    return [
        Option(
            problem,
            Net(esn, hyper, lane, spread),
            [Origins(recipe, line, each[lane]) for line, each in zip(problem.lines, states, strict=True)],
        )
        for lane in range(lanes)
    ]


def _of_options(problem: HorizonProblem, name: str, options: Sequence[Option], loops: Sequence[bool]) -> list[Candidate]:
    """Direct and in closed loop, from the best few options at every cut."""
    names = [f"{name}, {'closed loop' if loop else 'direct'}" for loop in loops]
    made = [Candidate(each, [[] for _ in problem.lines], []) for each in names]
    last = len(problem.cuts.splits) - 1
    for cut in range(last + 1):
        ranked = _ranked(options, cut)
        best = ranked[0].error(cut)
        chosen = [each for each in ranked[:MOST_ALIKE] if each.error(cut) <= ALIKE * best]
        for candidate, loop in zip(made, loops, strict=True):
            readers = [option.reader(loop, cut) for option in chosen]
            if cut == last:
                candidate.methods = readers
                continue
            for b, judged in enumerate(candidate.judged):
                judged.append(np.stack([one.judged(each, b, cut) for one, each in zip(chosen, readers, strict=True)]))
    return made


def _ranked(options: Sequence[Option], cut: int) -> list[Option]:
    """By the errors of the folds before a cut, the best first."""
    return sorted(options, key=lambda option: option.error(cut))


def smoothed(line: Line, period: int | None, origins: Indices, horizon: int) -> tuple[smoothing.Smoothing, Floats]:
    """The lanes after a line, and their forecasts at consecutive origins, (trends, O, H)."""
    lanes = smoothing.begin(line.values, period)
    found = np.empty((len(smoothing.TRENDS), len(origins), horizon))
    for t, value in enumerate(np.where(line.known, line.values, np.nan).tolist()):
        lanes.step(value)
        if origins[0] <= t <= origins[-1]:
            found[:, t - origins[0]] = lanes.forecasts(horizon)
    return lanes, found
