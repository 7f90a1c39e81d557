"""The fitted forecasting model: the forecasters in use, their weights, and their states at the end of the series.

    forecast = sum over parts of weight * part,   interval = forecast + scale * g * quantile of the judged errors
    g from the scatter of the parts about the forecast, see `intervals`

A part is exponential smoothing, a naive forecast or a `Reader`: a ridge readout of lags, alone or beside a network. A reader
forecasts every horizon directly, or works in closed loop. In closed loop it forecasts one step, takes the forecast for the
truth, and continues:

    z(t+1) = start(t, 1) + w . f(t, 1) + c,   then the history ends at t + 1, and the network receives the change

Closed loops follow many origins at once. Inputs that are known only up to now stand still.

A new value moves everything on: states and smoothing by one step, statistics by the rows that have this value as their target.
Statistics grow by blocks of time, and the last block is summed again at every update. They depend on the data and on the length
at fit, not on the sizes of the updates. A file therefore does not hold statistics: the first update after loading computes the
same bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Floats, Indices
from echoscale.data import differencing
from echoscale.forecasting import intervals, lags, smoothing
from echoscale.forecasting.data import Line, Units
from echoscale.forecasting.lags import Recipe, Rows
from echoscale.forecasting.networks import Net, heard
from echoscale.forecasting.smoothing import Smoothing
from echoscale.readouts import splits
from echoscale.readouts.ridge import Readout
from echoscale.readouts.statistics import Statistics

# Steps of a block. Fewer make an update faster, more make the first update after loading faster.
BLOCK = 64
# Forecasts that need no fit; their numbers follow the numbers of `smoothing.TRENDS`.
NAIVE = {len(smoothing.TRENDS): differencing.LAST, len(smoothing.TRENDS) + 1: differencing.SEASON}
NAIVE_NAMES = {differencing.LAST: "persistence", differencing.SEASON: "seasonal naive"}


@dataclass(eq=False)
class Part:
    """A forecaster in use.

    Attributes
    ----------
    weights : (H,)
        Of its forecasts, in units of the data, by horizon.
    view : int
        Which units it works in, a place in `Core.views`.
    trend : int
        Which of `smoothing.TRENDS`, or of `NAIVE`; -1 for a reader.
    reader : Reader or None
        None for smoothing.
    trails : list of (K, N)
        States of its network at the last K steps of every series, the newest last: as many as its next update needs, or one
        after loading.
    """

    weights: Floats
    view: int
    trend: int
    reader: Reader | None
    trails: list[Floats]


@dataclass(eq=False)
class View:
    """The series in some units.

    Attributes
    ----------
    units : list of Units
        Units of every series.
    lines : list of Line
        The series in these units.
    lanes : list of Smoothing
        After the end of every series; none where smoothing is not in use.
    """

    units: list[Units]
    lines: list[Line]
    lanes: list[Smoothing]


@dataclass(eq=False)
class Core:
    """What was learned.

    Attributes
    ----------
    period : int or None
        m.
    horizon : int
        H.
    views : list of View
        The series as they are, and their logarithms where they are used.
    parts : list of Part
        The forecasters in use.
    scales : (B,)
        Of the errors of every series.
    table : (probabilities, H)
        Quantiles of errors in these scales, over g.
    usual : (H,)
        The mean scatter of the parts at judged origins, squared, in these scales.
    share : float
        What the scatter counts in g^2.
    floors : (B,)
        0 for series that were never negative, else minus infinity: no forecast lies below.
    candidates : tuple of (name, error, weight)
        All that were judged, the best first; errors in `scales`, mean over horizons.
    edges : list of (S + 1,)
        Edges of the parts of time at fit, of every series; the last is its length.
    blocks : int
        Whole blocks since the fit that are settled.
    """

    period: int | None
    horizon: int
    views: list[View]
    parts: list[Part]
    scales: Floats
    table: Floats
    usual: Floats
    share: float
    floors: Floats
    candidates: tuple[tuple[str, float, float], ...]
    edges: list[Indices]
    blocks: int = 0

    def forecast(self, steps: int, future: Sequence[Floats]) -> list[tuple[Floats, Floats]]:
        """Forecasts of every series, (steps,), in units of the data; and the factors on the quantiles of errors."""
        found = []
        for b in range(len(self.scales)):
            each, weights = [], []
            for part in self.parts:
                view = self.views[part.view]
                if part.trend in NAIVE:
                    difference, z = NAIVE[part.trend], view.lines[b].values
                    ahead = np.array([differencing.start(difference, self.period, z, -1, h) for h in range(1, steps + 1)])
                elif part.reader is None:
                    ahead = view.lanes[b].forecasts(steps)[part.trend]
                else:
                    line = view.lines[b]
                    line = replace(line, future=np.concatenate([line.future[: len(line)], future[b]]))
                    rows = _rows(part, line, b, len(line) - part.reader.recipe.memory)
                    ahead = part.reader.forecasts(rows, steps, np.array([len(rows.at) - 1]))[0]
                each.append(view.units[b].back(ahead))
                weights.append(part.weights[:steps])
            total = np.sum([w * one for w, one in zip(weights, each, strict=True)], axis=0)
            with np.errstate(over="ignore"):  # of a logarithm that ran away
                apart = [((one - total) / self.scales[b]) ** 2 for one in each]
                scatter = np.sum([np.where(w > 0, w * one, 0.0) for w, one in zip(weights, apart, strict=True)], axis=0)
            wider = intervals.wider(scatter, self.usual[:steps], self.share)
            found.append((np.maximum(total, self.floors[b]), self.scales[b] * wider))
        return found

    def updated(self, values: Sequence[Floats], future: Sequence[Floats], past: Sequence[Floats]) -> Core:
        """With more values of every series."""
        core = self._copied()
        core._update(values, future, past)
        return core

    def _copied(self) -> Core:
        """The same, with its own of all that an update changes in place."""
        views = [
            View(each.units, list(each.lines), [replace(lanes, seasons=lanes.seasons.copy()) for lanes in each.lanes])
            for each in self.views
        ]
        parts = [
            replace(each, reader=None if each.reader is None else replace(each.reader), trails=list(each.trails))
            for each in self.parts
        ]
        return replace(self, views=views, parts=parts)

    def _update(self, values: Sequence[Floats], future: Sequence[Floats], past: Sequence[Floats]) -> None:
        fresh = [len(more) for more in values]
        if any(part.reader is not None and part.reader.settled is None for part in self.parts):
            self._settle()
            fresh = [n + len(line) - edge[-1] for n, line, edge in zip(fresh, self.views[0].lines, self.edges, strict=True)]
        for view in self.views:
            for b, more in enumerate(values):
                line = view.lines[b]
                z = view.units[b].forward(more)
                known = ~np.isnan(z)
                # A gap holds the last value.
                filled = np.concatenate([line.values[-1:], z])
                place = np.maximum.accumulate(np.where(np.isnan(filled), 0, np.arange(len(filled))))
                view.lines[b] = replace(
                    line,
                    values=np.concatenate([line.values, filled[place][1:]]),
                    known=np.concatenate([line.known, known]),
                    future=np.concatenate([line.future[: len(line)], future[b]]),
                    past=np.concatenate([line.past, past[b]]),
                )
                if view.lanes:
                    for each in z.tolist():
                        view.lanes[b].step(each)
        since = [len(line) - edge[-1] for line, edge in zip(self.views[0].lines, self.edges, strict=True)]
        whole, end = min(since) // BLOCK, -(-max(since) // BLOCK)
        for part in self.parts:
            if part.reader is None:
                continue
            for b, count in enumerate(fresh):
                self._step(part, self.views[part.view].lines[b], b, count)
            part.reader.learn((self._block(part, k) for k in range(self.blocks, end)), whole - self.blocks)
            for b, count in enumerate(since):
                part.trails[b] = part.trails[b][-(count - whole * BLOCK + len(part.reader.relative) + 1) :]
        self.blocks = whole

    def _settle(self) -> None:
        """Statistics and states at the end of the fit, from the data."""
        self.blocks = 0
        for part in self.parts:
            if part.reader is None:
                continue
            net, recipe = part.reader.net, part.reader.recipe
            rows = []
            for b, (line, edge) in enumerate(zip(self.views[part.view].lines, self.edges, strict=True)):
                fitted = line.between(0, int(edge[-1]))
                states = None if net is None else net.states(recipe, fitted)
                rows.append(Rows(recipe, fitted, states))
                part.trails[b] = np.empty((1, 0)) if states is None else states[-(len(part.reader.relative) + 1) :]
            part.reader.settled = splits.total(lags.statistics(rows, self.edges, part.reader.horizons))

    def _block(self, part: Part, k: int) -> Statistics:
        """Statistics of the rows whose targets lie in block k after the fit, all series together."""
        assert part.reader is not None
        recipe, horizons = part.reader.recipe, part.reader.horizons
        rows, edges = [], []
        for b, (line, edge) in enumerate(zip(self.views[part.view].lines, self.edges, strict=True)):
            first = min(int(edge[-1]) + k * BLOCK, len(line))
            end = min(first + BLOCK, len(line))
            start = max(first - len(horizons) - recipe.memory + 1, 0)
            rows.append(_rows(part, line, b, start, end))
            edges.append(np.array([first, end]) - start)
        [found] = lags.statistics(rows, edges, horizons)
        return found

    def _step(self, part: Part, line: Line, b: int, count: int) -> None:
        """States of the last `count` steps of a line, after those that are known."""
        assert part.reader is not None
        net, recipe = part.reader.net, part.reader.recipe
        if net is None or not count:
            return
        state, found = part.trails[b][-1:], [part.trails[b]]
        for each in heard(recipe, line.last(count + recipe.memory), net.spread)[-count:]:
            state = net.step(state, each[None])
            found.append(state)
        part.trails[b] = np.concatenate(found)


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
        from a file: the first update computes them from the data.
    recent : Statistics or None
        Statistics of the rows after these blocks.
    """

    recipe: Recipe
    net: Net | None
    loop: bool
    relative: Floats
    settled: Statistics | None = None
    recent: Statistics | None = None

    @property
    def horizons(self) -> range:
        """Those that are fitted."""
        return range(1, len(self.relative) + 1)

    @property
    def statistics(self) -> Statistics:
        """Statistics of all rows."""
        assert self.settled is not None
        return self.settled if self.recent is None else self.settled + self.recent

    @cached_property
    def readout(self) -> Readout:
        """Readout of every horizon that is fitted."""
        return lags.solve(self.statistics, self.relative)

    def forecasts(self, rows: Rows, steps: int, which: Indices) -> Floats:
        """Forecasts from some origins, (R, steps)."""
        if self.loop:
            return closed_loop(rows, self.readout, steps, which, self.net)
        return lags.forecasts(rows, self.readout, range(1, steps + 1), which)

    def learn(self, blocks: Iterable[Statistics], whole: int) -> None:
        """Add the rows of some blocks, in place of the recent ones."""
        assert self.settled is not None
        self.recent = None
        for place, each in enumerate(blocks):
            if place < whole:
                self.settled = self.settled + each
            else:
                self.recent = each if self.recent is None else self.recent + each
        self.__dict__.pop("readout", None)


@dataclass(frozen=True, eq=False)
class Option:
    """Features that a reader may have.

    Attributes
    ----------
    recipe : Recipe
        Recipe of the lags.
    net : Net or None
        Network of the states.
    rows : list of Rows
        Data of every series.
    """

    recipe: Recipe
    net: Net | None
    rows: list[Rows]


def closed_loop(rows: Rows, readout: Readout, steps: int, which: npt.NDArray[np.int64], net: Net | None = None) -> Floats:
    """z(t+1) .. z(t+steps) of some origins, (R, steps)."""
    recipe, line = rows.recipe, rows.line
    history, at = rows.history(which), rows.at[which]
    states = rows.shared[which][:, : net.esn.units] if net is not None else None
    # Known inputs end somewhere: what lies beyond is not forecast.
    limit = len(line.future) - 1 if line.future.shape[1] else np.inf
    far = lags.far(history)
    found = np.full((len(which), steps), np.nan)
    for step in range(steps):
        now = at + step
        live = np.flatnonzero(now + 1 <= limit)
        if not len(live):
            break
        features = [lags.common(recipe, history.T, -1, line.first + now), lags.ahead(recipe, history.T, -1, 1)]
        if states is not None:
            features.insert(0, states)
        safe = now if limit == np.inf else np.minimum(now, int(limit) - 1)
        features.append(lags.inputs(recipe, line, safe, 1, at))
        value = differencing.start(recipe.difference, recipe.period, history.T, -1, 1)
        value = value + np.concatenate(features, axis=1) @ readout.coef[0, 0] + readout.intercept[0, 0]
        value = np.clip(value, -far, far)
        found[live, step] = value[live]
        history = np.concatenate([history[:, 1:], value[:, None]], axis=1)
        if net is not None and states is not None and step + 1 < steps:
            change = differencing.change(recipe.difference, recipe.period, history.T, -1) / net.spread
            past = line.past[at]
            known = line.future[np.minimum(now + 1, len(line.future) - 1)] if line.future.shape[1] else past[:, :0]
            states = net.step(states, np.concatenate([change[:, None], known, past], axis=1))
    return found


def _rows(part: Part, line: Line, b: int, start: int, end: int | None = None) -> Rows:
    """The origins of a line between two places; states that are not in the trail are 0."""
    assert part.reader is not None
    short = line.between(start, end)
    if part.reader.net is None:
        return Rows(part.reader.recipe, short)
    states = np.zeros((len(short), part.reader.net.esn.units))
    before = len(line) - len(part.trails[b])  # steps without a state
    known = part.trails[b][max(start - before, 0) : max(start + len(short) - before, 0)]
    states[len(short) - len(known) :] = known
    return Rows(part.reader.recipe, short, states)
