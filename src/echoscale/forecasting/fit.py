"""Fit a forecasting model: candidates in the units of the data and in logarithms, their weights, and the intervals.

The weights follow from the errors at judged origins (`weights.by_horizon`), and so do the intervals (`intervals`).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from echoscale._internal.types import Floats, Indices
from echoscale.data import differencing
from echoscale.data.series import held
from echoscale.forecasting import intervals
from echoscale.forecasting.candidates import (
    LEAST_FOR_MORE,
    Candidate,
    best_lags,
    best_network,
    judged,
    least_error,
    naive_candidates,
    smoothing_candidates,
)
from echoscale.forecasting.data import Data
from echoscale.forecasting.model import Core, Part, Trend, View, shares_of
from echoscale.forecasting.problem import HorizonProblem, Line, Units, worth_a_logarithm
from echoscale.forecasting.readers import Reader
from echoscale.forecasting.smoothing import Smoothing
from echoscale.forecasting.weights import by_horizon, without_small
from echoscale.timescales.season import CYCLES, seasons

# Steps that are forecast unless the user says otherwise: these, or a season of at most the second number of steps.
DEFAULT_HORIZON, LONGEST_DEFAULT = 24, 60
# The values are this many times the longest horizon, at least: longer horizons leave too few forecasts to judge.
SHARE = 3
# Seasons are compared by forecasts of at most this share of the data: longer ones leave few rows.
COMPARED = 1 / 20
# A season this close to one of the calendar is that one: noise moves long seasons by a step or two.
NEAR = 0.05
AUTO = "auto"


@dataclass(frozen=True)
class Choices:
    """What the user left open, or chose.

    Attributes
    ----------
    season : tuple of int or "auto"
        Periods, the shortest first; none without a season.
    mode : "auto", "direct" or "closed loop"
        Which readers.
    difference : "auto" or one of `differencing.DIFFERENCES`
        What readers start from.
    log : bool or "auto"
        Whether logarithms are used.
    networks : bool
        Whether networks take part.
    seed : int
        Random seed.
    """

    season: tuple[int, ...] | str = AUTO
    mode: str = AUTO
    difference: str = AUTO
    log: bool | str = AUTO
    networks: bool = True
    seed: int = 0

    @property
    def only_readers(self) -> bool:
        """Whether the user asked for readers of one kind, so that smoothing is none of it."""
        return self.mode != AUTO or self.difference != AUTO


def longest_horizon(lengths: Sequence[int]) -> int:
    """The longest horizon with errors that can be judged."""
    return min(lengths) // SHARE


def default_horizon(lengths: Sequence[int], periods: Sequence[int]) -> int:
    """24 steps, or a season that is not much longer, if errors can be judged there."""
    season = max((m for m in periods if m <= LONGEST_DEFAULT), default=0)
    return min(max(DEFAULT_HORIZON, season), max(longest_horizon(lengths), 1))


def periods_of(data: Data, group: Sequence[int], horizon: int | None, choices: Choices) -> tuple[int, ...]:
    """The seasons of all series, the shortest first: as chosen, or what helps ridge on lags before the first cut."""
    values = [data.values[b] for b in group]
    shortest = min(map(len, values))
    if not isinstance(choices.season, str):
        for period in choices.season:
            if period * 2 + 2 > shortest:
                raise ValueError(
                    f"season={period} is too long for {shortest} values: two seasons and two values more are needed at least."
                )
        return choices.season
    calendar = data.clocks[group[0]].periods(shortest)
    near = {m: period for period in calendar for m in range(2, shortest) if abs(m / period - 1) < NEAR}
    seen = most_common([[near.get(m, m) for m in seasons(each)] for each in values])
    known = sorted(m for m in {*seen, *calendar} if CYCLES * m <= shortest)
    if set(known) <= set(seen[:1]):
        return tuple(known)
    lines = [_line(Units.of(each, log=False), data, b) for each, b in zip(values, group, strict=True)]
    ahead = max(min(horizon or DEFAULT_HORIZON, int(shortest * COMPARED)), 1)
    several = [(), *((m,) for m in known), *((a, b) for a, b in itertools.combinations(known, 2) if 2 * a <= b)]
    problems = {each: HorizonProblem(lines, each, ahead, compared=max(known)) for each in several}
    errors = {each: least_error(problem) for each, problem in problems.items()}
    best, shown, cuts = min(errors, key=lambda each: errors[each]), tuple(seen[:1]), problems[()].cuts
    # The relative standard error of an error from n rows.
    clearly = 1 + sum(end - cuts.skip for end in cuts.ends[:, 1].tolist()) ** -0.5
    return best if errors[best] * clearly < errors.get(shown, np.inf) else shown


def most_common(found: Sequence[list[int]]) -> list[int]:
    """The seasons that at least half of several series have, the most common first, then the strongest."""
    counts = Counter(itertools.chain.from_iterable(found)).most_common()
    return [period for period, count in counts if 2 * count >= len(found)]


def learn(data: Data, group: Sequence[int], horizon: int, periods: tuple[int, ...], choices: Choices) -> Core:
    """All that is known of some series, together."""
    values = [data.values[b] for b in group]
    logs = [False]
    if choices.log is True:
        logs = [True]
    elif choices.log == AUTO and all(worth_a_logarithm(each) for each in values):
        logs = [False, True]
    views: list[View] = []
    found: list[tuple[int, Candidate]] = []
    for log in logs:
        units = [Units.of(each, log) for each in values]
        lines = [_line(unit, data, b) for unit, b in zip(units, group, strict=True)]
        problem = HorizonProblem(lines, periods, horizon)
        candidates, lanes = _candidates(problem, choices, first=log == logs[0])
        found += [(len(views), each) for each in candidates]
        views.append(View(units, lines, lanes))
    scales = np.array([_scale(each) for each in values])
    floors = np.array([0.0 if np.nanmin(each) >= 0 else -np.inf for each in values])
    with np.errstate(over="ignore", invalid="ignore"):  # a logarithm may have run away
        forecasts = [[unit.back(each) for unit, each in zip(views[view].units, one.judged, strict=True)] for view, one in found]
    means = [[np.maximum(each, floor) for each, floor in zip(one, floors, strict=True)] for one in forecasts]
    truth = [_truth(y, problem.cuts.judged(b), horizon) for b, y in enumerate(values)]
    errors = [np.concatenate([(t - each) / scale for t, each, scale in zip(truth, one, scales, strict=True)]) for one in means]
    weights = without_small(by_horizon(errors, np.array([candidate.usable for _, candidate in found])))
    used = np.flatnonzero(weights.any(axis=1))
    shares = shares_of(len(views), [view for view, _ in found], weights)
    together = []
    for b, (t, scale) in enumerate(zip(truth, scales, strict=True)):
        total = np.sum([np.where(weights[k] > 0, weights[k] * means[k][b], 0.0) for k in used], axis=0)
        growth = np.prod([view.growth(b, total, share) for view, share in zip(views, shares, strict=True)], axis=0)
        together.append((t - total) / (scale * growth))
    table = intervals.quantiles(np.concatenate(together))
    parts = []
    for k in used:
        place, method = found[k][0], found[k][1].method
        parts.append(Part(weights[k], place, method.light() if isinstance(method, Reader) else method))
    for place, view in enumerate(views):
        if not any(part.view == place and isinstance(part.method, Trend) for part in parts):
            view.lanes = []
    sizes = [float(np.nanmean(np.abs(each))) if np.isfinite(each).any() else np.inf for each in errors]
    names = [("log, " if views[view].units[0].log else "") + candidate.name for view, candidate in found]
    report = sorted(zip(names, sizes, weights.mean(axis=1).tolist(), strict=True), key=lambda each: each[1])
    return Core(periods, horizon, views, parts, scales, table, floors, tuple(report), problem.cuts.ends)


def _line(units: Units, data: Data, b: int) -> Line:
    """Series b in some units, and its inputs."""
    return Line(held(units.forward(data.values[b])), ~np.isnan(data.values[b]), *data.inputs(b))


def _candidates(problem: HorizonProblem, choices: Choices, first: bool) -> tuple[list[Candidate], list[Smoothing]]:
    """Candidates in the first units, or those that differ in other units; and the lanes of smoothing."""
    differences = differencing.DIFFERENCES if choices.difference == AUTO else (choices.difference,)
    loops = {"auto": (False, True), "direct": (False,), "closed loop": (True,)}[choices.mode]
    driven = problem.lines[0].future.shape[1] + problem.lines[0].past.shape[1] > 0
    if choices.mode == AUTO and not driven and problem.before * len(problem.lines) < LEAST_FOR_MORE:
        loops = (True,)
    best = best_lags(problem, differences)
    readers = [each for name, option in best.items() for each in judged(problem, f"lags, {name}", option, loops)]
    if choices.networks and first and best:
        name, option = next(iter(best.items()))
        network = best_network(problem, option.recipe, choices.seed)
        if network is not None:
            readers += judged(problem, f"network, {name}", network, loops)
    if choices.only_readers and readers:
        return readers, []
    found, lanes = smoothing_candidates(problem)
    if first:
        found += naive_candidates(problem)
    return found + readers, lanes


def _truth(values: Floats, origins: Indices, horizon: int) -> Floats:
    """y(t+h) at the judged origins, (O, H); NaN in gaps and after the end."""
    padded = np.concatenate([values, np.full(horizon, np.nan)])
    return np.asarray(padded[origins[:, None] + np.arange(1, horizon + 1)])


def _scale(values: Floats) -> float:
    """The mean change from one value to the next; 1 for a series that never changes."""
    changes = np.abs(np.diff(values[~np.isnan(values)]))
    mean = float(changes.mean()) if len(changes) else 0.0
    return mean if mean > 0 else 1.0
