"""Readers: ridge readouts of lags, alone or beside a network, for every horizon or for one step that is fed back.

    z(t+h) = start(t, h) + w_h . f(t, h) + c_h
    w_h, c_h = argmin sum over t of (z(t+h) - start(t, h) - w . f(t, h) - c)^2 + r_h unit |w|^2

f(t, h) are the features of `lags`, and the states of a network. A direct reader has a readout for every horizon. In closed loop
there is one for a step; the forecast is taken for the truth, and so on:

    z(t+1) = start(t, 1) + w . f(t, 1) + c,   then the history ends at t + 1, and the network receives the change

Closed loops follow many origins at once. Inputs that are known only up to now stand still. Penalties are chosen at a few
horizons by an `Option`; between these they are interpolated.

A new value moves a reader on: the states by one step, the statistics by the rows that have this value as their target.
Statistics grow by blocks of time, and the last block is summed again at every update. They depend on the data and on the length
at fit, not on the sizes of the updates. A model therefore keeps no statistics, in memory or in a file, until it is updated: the
first update computes them from the data, to the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate

import numpy as np

from echoscale._internal.types import Floats, Indices
from echoscale.data import differencing
from echoscale.forecasting import lags, networks, rows
from echoscale.forecasting.lags import Recipe
from echoscale.forecasting.networks import Net, heard
from echoscale.forecasting.problem import HorizonProblem, Line
from echoscale.forecasting.rows import Origins
from echoscale.readouts import splits
from echoscale.readouts.penalties import RELATIVE, ROBUST, UNCHOSEN, choose_by_group, in_units
from echoscale.readouts.ridge import Readout, ridge
from echoscale.readouts.splits import Split
from echoscale.readouts.statistics import Statistics

# Relative penalties to choose from.
PATH = RELATIVE[RELATIVE >= ROBUST]
# Training rows of a fold, at least: fewer say nothing of penalties.
LEAST_ROWS = 8
# Mean square of a feature up to which it counts as constant: its variation is rounding.
STILL = 1e-20
# Forecasts stay within this many times the largest value of a history: a smaller bound would cut off real growth, a larger one
# lets closed loops run away.
FAR = 10.0
# Steps of a block. Fewer make an update faster, more make the first update after loading faster.
BLOCK = 64


@dataclass(eq=False)
class Reader:
    """z(t+h) = start(t, h) + w_h . f(t, h) + c_h for every horizon, or for one step that is fed back.

    Attributes
    ----------
    recipe : Recipe
        Which features.
    net : Net or None
        Whose states are features too.
    loop : bool
        Whether one step is fitted, and forecasts are fed back.
    relative : (H,) or (1,)
        Penalties, in units of the mean squared singular value.
    settled : Statistics or None
        Statistics of the data at fit and of the whole blocks since then, with a leading axis of horizons. None in a reader
        that was not updated yet: the first update computes them from the data.
    recent : Statistics or None
        Statistics of the rows after these blocks.
    trails : list of (K, N)
        States of the network at the last K steps of every series, the newest last: as many as the next update needs, or one
        before the first update.
    blocks : int
        Whole blocks since the fit that are settled.
    """

    recipe: Recipe
    net: Net | None
    loop: bool
    relative: Floats
    settled: Statistics | None = None
    recent: Statistics | None = None
    trails: list[Floats] = field(default_factory=list)
    blocks: int = 0

    @property
    def horizons(self) -> range:
        """Those that are fitted."""
        return range(1, len(self.relative) + 1)

    @property
    def statistics(self) -> Statistics:
        """Statistics of all rows."""
        assert self.settled is not None
        return self.settled if self.recent is None else self.settled + self.recent

    @property
    def usable(self) -> bool:
        """Whether there are rows enough for every readout."""
        return float(self.statistics.count.min()) >= 2

    @cached_property
    def readout(self) -> Readout:
        """Readout of every horizon that is fitted."""
        return solve(self.statistics, self.relative)

    def forecasts(self, origins: Origins, steps: int, which: Indices) -> Floats:
        """Forecasts from some origins, (R, steps)."""
        if self.loop:
            return closed_loop(origins, self.readout, steps, which, self.net)
        return direct(origins, self.readout, range(1, steps + 1), which)

    def forecast(self, line: Line, b: int, steps: int, future: Floats) -> Floats:
        """The forecast at the end of a line, the series b, with the known inputs of the coming steps."""
        line = replace(line, future=np.concatenate([line.future[: len(line)], future]))
        origins = self._origins(line, b, len(line) - self.recipe.memory)
        return np.asarray(self.forecasts(origins, steps, np.array([len(origins.at) - 1]))[0])

    def light(self) -> Reader:
        """The same without statistics and with the last states alone: the first update computes them from the data."""
        made = copy(self)
        made.__dict__["readout"] = self.readout
        made.settled = made.recent = None
        made.trails = [trail[-1:].copy() for trail in self.trails]
        return made

    def copied(self) -> Reader:
        """The same, with its own of all that an update changes in place."""
        made = copy(self)
        made.trails = list(self.trails)
        return made

    def update(self, lines: Sequence[Line], edges: Indices, fresh: Sequence[int]) -> None:
        """Take the last `fresh` steps of every line; `edges` are the ends of what was summed up at fit."""
        since = [len(line) - int(edge[-1]) for line, edge in zip(lines, edges, strict=True)]
        if self.settled is None:
            self._settle(lines, edges)
            fresh = since
        for b, count in enumerate(fresh):
            self._step(lines[b], b, count)
        whole, end = min(since) // BLOCK, -(-max(since) // BLOCK)
        assert self.settled is not None
        self.recent = None
        for k in range(self.blocks, end):
            block = self._block(lines, edges, k)
            if k < whole:
                self.settled = self.settled + block
            else:
                self.recent = block if self.recent is None else self.recent + block
        self.blocks = whole
        self.__dict__.pop("readout", None)
        for b, count in enumerate(since):
            self.trails[b] = self.trails[b][-(count - whole * BLOCK + len(self.relative) + 1) :]

    def _settle(self, lines: Sequence[Line], edges: Indices) -> None:
        """Statistics and states at the end of the fit, from the data."""
        origins = []
        for b, (line, edge) in enumerate(zip(lines, edges, strict=True)):
            fitted = line.between(0, int(edge[-1]))
            states = None if self.net is None else networks.states([self.net], self.recipe, fitted)[0]
            origins.append(Origins(self.recipe, fitted, states))
            self.trails[b] = np.empty((1, 0)) if states is None else states[-(len(self.relative) + 1) :]
        [*_, self.settled] = accumulate(rows.statistics(origins, edges, self.horizons))

    def _step(self, line: Line, b: int, count: int) -> None:
        """States of the last `count` steps of a line, after those that are known."""
        if self.net is None or not count:
            return
        state, found = self.trails[b][-1:], [self.trails[b]]
        for each in heard(self.recipe, line.last(count + self.recipe.memory), self.net.spread)[-count:]:
            state = self.net.step(state, each[None])
            found.append(state)
        self.trails[b] = np.concatenate(found)

    def _block(self, lines: Sequence[Line], fitted: Indices, k: int) -> Statistics:
        """Statistics of the rows whose targets lie in block k after the fit, all series together."""
        origins, edges = [], []
        for b, (line, edge) in enumerate(zip(lines, fitted, strict=True)):
            first = min(int(edge[-1]) + k * BLOCK, len(line))
            end = min(first + BLOCK, len(line))
            start = max(first - len(self.horizons) - self.recipe.memory + 1, 0)
            origins.append(self._origins(line, b, start, end))
            edges.append(np.array([first, end]) - start)
        [found] = rows.statistics(origins, edges, self.horizons)
        return found

    def _origins(self, line: Line, b: int, start: int, end: int | None = None) -> Origins:
        """The origins of a line between two places; states that are not in the trail are 0."""
        short = line.between(start, end)
        if self.net is None:
            return Origins(self.recipe, short)
        states = np.zeros((len(short), self.net.esn.units))
        before = len(line) - len(self.trails[b])  # steps without a state
        known = self.trails[b][max(start - before, 0) : max(start + len(short) - before, 0)]
        states[len(short) - len(known) :] = known
        return Origins(self.recipe, short, states)


class Option:
    """Features that a reader may have, and what the folds say of them.

    Parameters
    ----------
    problem : HorizonProblem
        The series, and the cuts that readers are judged at.
    recipe : Recipe
        Which lags.
    net : Net, optional
        Network of the states.
    states : list of (T, N), optional
        States of the network in every series.
    few : list of Statistics, optional
        Statistics of every fold and gap at some horizons, if they are known.
    """

    def __init__(
        self,
        problem: HorizonProblem,
        recipe: Recipe,
        net: Net | None = None,
        states: Sequence[Floats] | None = None,
        few: list[Statistics] | None = None,
    ) -> None:
        self.problem, self.cuts, self.horizon = problem, problem.cuts, problem.horizon
        self.recipe, self.net, self.states = recipe, net, states
        self.few = rows.statistics(self.origins, self.cuts.folds.edges, self.problem.some) if few is None else few

    @cached_property
    def origins(self) -> list[Origins]:
        """The rows of every series."""
        every = self.states if self.states is not None else [None] * len(self.problem.lines)
        return [Origins(self.recipe, line, each) for line, each in zip(self.problem.lines, every, strict=True)]

    @cached_property
    def before(self) -> list[Statistics]:
        """Statistics of all rows before every cut, and before the end, at all horizons."""
        return list(accumulate(rows.statistics(self.origins, self.cuts.ends, range(1, self.horizon + 1))))

    @cached_property
    def chosen(self) -> tuple[Floats, Floats]:
        """log10 of the relative penalty, and the root mean squared error of the folds, at some horizons."""
        return choose_penalties(self.few, self.cuts.folds.splits)

    @property
    def error(self) -> float:
        """Error of the folds, geometric mean over some horizons."""
        return float(np.exp(np.log(np.maximum(self.chosen[1], 1e-300)).mean()))

    def reader(self, loop: bool, cut: int) -> Reader:
        """Fitted to what lies before a cut; a penalty chosen for fewer rows is smaller for more rows."""
        known = self.before[cut]
        # On straight lines between logarithms.
        between = np.interp(np.log(np.arange(1, self.horizon + 1)), np.log(self.problem.some), self.chosen[0])
        relative = 10.0**between * (self.before[0].count / np.maximum(known.count, 1))
        if loop:  # the first horizon: one step
            known, relative = known.lane(slice(0, 1)), relative[:1]
        units = 0 if self.net is None else self.net.esn.units
        trails = [origins.shared[-(len(relative) + 1) :, :units].copy() for origins in self.origins]
        return Reader(self.recipe, self.net, loop, relative, known, trails=trails)

    def judged(self, reader: Reader, b: int, cut: int) -> Floats:
        """Forecasts of a reader at the origins of series b that are judged after a cut, (O, H)."""
        low, high = self.cuts.blocks[b][cut]
        found = np.full((high - low, self.horizon), np.nan)
        which = np.arange(low, high) - self.origins[b].at[0]
        good = np.flatnonzero(which >= 0)
        if len(good) and reader.usable:
            found[good] = reader.forecasts(self.origins[b], self.horizon, which[good])
        return found


def choose_penalties(parts: Sequence[Statistics], folds: Sequence[Split]) -> tuple[Floats, Floats]:
    """log10 of the relative penalty, and the root mean squared error of the folds, at every horizon."""
    width, horizons = parts[0].features, len(parts[0].count)
    pairs = [pair for pair in splits.pairs(parts, folds) if np.min(pair[0].count) >= LEAST_ROWS]
    if not pairs:
        return np.full(horizons, np.log10(UNCHOSEN)), np.full(horizons, np.inf)
    best = choose_by_group(pairs, np.arange(width), [np.array([width])], PATH)
    return np.log10(best.relative[..., 0]), best.error[..., 0]


def solve(whole: Statistics, relative: Floats) -> Readout:
    """w_h and c_h of every horizon: coef (H, 1, F), intercept (H, 1)."""
    f = whole.features
    squares = np.einsum("hff->h", whole.scatter[:, :f, :f])
    # Series are standardised: features that vary by rounding alone say nothing.
    still = squares <= STILL * np.maximum(whole.count, 1)
    scatter = np.where(still[:, None, None], 0.0, whole.scatter)
    return ridge(in_units(Statistics(whole.count, whole.mean, scatter, f)), relative)


def direct(origins: Origins, readout: Readout, steps: Sequence[int], which: Indices) -> Floats:
    """z(t+h) of some origins, (R, H); those whose known inputs are not there yet are NaN."""
    ahead, coef = np.asarray(steps)[:, None], readout.coef[: len(steps), 0]
    shared = origins.shared[which]
    found = origins.starts(ahead, which) + coef[:, : shared.shape[1]] @ shared.T + readout.intercept[: len(steps)]
    found = found + (origins.own(ahead, which) @ coef[:, shared.shape[1] :, None])[..., 0]
    bounds = _bounds(origins.history(which))
    known = origins.at[which] + ahead <= _last_known(origins.line)
    return np.asarray(np.where(known, np.clip(found, -bounds, bounds), np.nan).T)


def closed_loop(origins: Origins, readout: Readout, steps: int, which: Indices, net: Net | None = None) -> Floats:
    """z(t+1) .. z(t+steps) of some origins, (R, steps)."""
    recipe, line = origins.recipe, origins.line
    history, at = origins.history(which), origins.at[which]
    states = origins.shared[which][:, : net.esn.units] if net is not None else None
    bounds, memory = _bounds(history), recipe.memory
    values = np.concatenate([history.T, np.empty((steps, len(which)))])  # (memory + steps, R)
    for step in range(steps):
        now, last = at + step, memory - 1 + step
        features = [] if states is None else [states]
        features += [lags.common(recipe, values, last, line.first + now), lags.ahead(recipe, values, last, 1)]
        features.append(lags.inputs(recipe, line, now, 1, at))
        value = differencing.start(recipe.difference, recipe.period, values, last, 1)
        value = value + np.concatenate(features, axis=1) @ readout.coef[0, 0] + readout.intercept[0, 0]
        values[last + 1] = np.clip(value, -bounds, bounds)
        if net is not None and states is not None and step + 1 < steps:
            change = differencing.change(recipe.difference, recipe.period, values, last + 1) / net.spread
            past = line.past[at]
            known = line.future[np.minimum(now + 1, len(line.future) - 1)] if line.future.shape[1] else past[:, :0]
            states = net.step(states, np.concatenate([change[:, None], known, past], axis=1))
    there = at + np.arange(1, steps + 1)[:, None] <= _last_known(line)
    return np.asarray(np.where(there, values[memory:], np.nan).T)


def _last_known(line: Line) -> float:
    """The last step whose inputs are known: what lies beyond is not forecast."""
    return len(line.future) - 1 if line.future.shape[1] else np.inf


def _bounds(history: Floats) -> Floats:
    """Bound on the forecasts from every history, (R,): many times the largest value seen. Forecasts are held there."""
    return np.asarray(FAR * np.maximum(np.abs(history).max(axis=-1), 1.0))
