"""Candidates of `Forecaster`, each judged at origins that took no part in fitting it: smoothing, naive ones, lags, networks.

What a candidate is made of (the windows of lags, the lanes of networks, the penalties) is chosen anew at every cut, by folds
of the time before it; the best few are averaged. So judged errors hold for the whole procedure. Penalties are chosen at a few
horizons; between these they are interpolated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from echoscale._internal.types import Floats, Indices
from echoscale.data import differencing
from echoscale.forecasting import smoothing
from echoscale.forecasting.lags import Recipe
from echoscale.forecasting.model import NAIVE_NAMES, Method, Naive, Trend
from echoscale.forecasting.networks import Net, draw_network, run_lanes
from echoscale.forecasting.problem import Line
from echoscale.forecasting.readers import Reader
from echoscale.forecasting.rows import Origins, statistics
from echoscale.forecasting.splits import OriginSplits
from echoscale.forecasting.weights import ALIKE
from echoscale.readouts import splits
from echoscale.readouts.penalties import UNCHOSEN, choose_by_group
from echoscale.readouts.splits import Split
from echoscale.readouts.statistics import Statistics

WINDOWS = (1, 2, 4, 8, 13, 21, 34, 49)
# Rows for every lag, at the first cut.
ROWS_PER_LAG = 5
LONGEST_SEASON_WINDOW = 49
# Options that the folds cannot tell from the best are averaged, at most this number.
MOST_ALIKE = 3
# Relative penalties to choose from: a finer path takes longer, and the errors of the folds hardly tell its penalties apart.
RELATIVE = 10.0 ** np.arange(-9, 3.1, 0.5)
# Training rows of a fold, at least: fewer say nothing of penalties.
LEAST_ROWS = 8
# Networks need this number of steps before the first cut.
LEAST_FOR_NETWORKS = 80
STRUCTURES = ("hierarchical", "ring", "single")
LANES, FEW_LANES, MANY_STEPS = 6, 4, 3000
UNITS, STEPS_PER_UNIT = (20, 100), 5
# Windows of lags beside a network; differences that networks try.
WINDOW_BESIDE, DIFFERENCES_OF_NETWORKS = 13, 2
# Windows and lanes that go on after the first cut.
WINDOWS_KEPT, LANES_KEPT = 5, 5


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


class Option:
    """Features that a reader may have, and what the folds say of them.

    Parameters
    ----------
    net : Net or None
        Network of the states.
    origins : list of Origins
        The rows of every series.
    cuts : OriginSplits
        Parts of time, cuts, judged origins.
    horizon : int
        H.
    """

    def __init__(self, net: Net | None, origins: list[Origins], cuts: OriginSplits, horizon: int) -> None:
        self.net, self.origins, self.cuts, self.horizon = net, origins, cuts, horizon
        self.recipe = origins[0].recipe
        # The first, one between, the last: where penalties are chosen.
        self.some = sorted({1, -(-horizon // 3), horizon})
        self._penalties: dict[int, tuple[Floats, Floats]] = {}

    @cached_property
    def few(self) -> list[Statistics]:
        """Statistics of every part of time at some horizons."""
        return statistics(self.origins, self.cuts.edges, self.some)

    @cached_property
    def parts(self) -> list[Statistics]:
        """Statistics of every part of time at all horizons."""
        return statistics(self.origins, self.cuts.edges, range(1, self.horizon + 1))

    def penalties(self, cut: int) -> tuple[Floats, Floats]:
        """log10 of the relative penalty, and the root mean squared error of the folds before a cut, at some horizons."""
        if cut not in self._penalties:
            self._penalties[cut] = penalties(self.few, self.cuts.splits[cut])
        return self._penalties[cut]

    def error(self, cut: int) -> float:
        """Error of the folds before a cut, geometric mean over some horizons."""
        _, errors = self.penalties(cut)
        return float(np.exp(np.log(np.maximum(errors, 1e-300)).mean()))

    def reader(self, loop: bool, cut: int) -> Reader:
        """Fitted to what lies before a cut."""
        chosen, _ = self.penalties(cut)
        if loop:
            parts, relative = [each.lane(slice(0, 1)) for each in self.few], 10.0 ** chosen[:1]  # the first horizon: one step
        else:
            # On straight lines between logarithms.
            between = np.interp(np.log(np.arange(1, self.horizon + 1)), np.log(self.some), chosen)
            parts, relative = self.parts, np.asarray(10.0**between)
        units = 0 if self.net is None else self.net.esn.units
        trails = [origins.shared[-(len(relative) + 1) :, :units].copy() for origins in self.origins]
        return Reader(self.recipe, self.net, loop, relative, splits.training(parts, self.cuts.splits[cut]), trails=trails)

    def judged(self, reader: Reader, b: int, cut: int) -> Floats:
        """Forecasts of a reader at the origins of series b that are judged after a cut, (O, H)."""
        low, high = self.cuts.blocks[b][cut]
        found = np.full((high - low, self.horizon), np.nan)
        which = np.arange(low, high) - self.origins[b].at[0]
        good = np.flatnonzero(which >= 0)
        if len(good) and reader.usable:
            found[good] = reader.forecasts(self.origins[b], self.horizon, which[good])
        return found


class Candidates:
    """All candidates of some series.

    Parameters
    ----------
    lines : sequence of Line
        The series, which are learned together.
    period : int or None
        m.
    horizon : int
        H.
    cuts : OriginSplits
        Parts of time, cuts, judged origins.
    used : sequence of str
        Which of `differencing.DIFFERENCES`.
    loops : sequence of bool
        Direct (False), closed loop (True), or both.
    """

    def __init__(
        self,
        lines: Sequence[Line],
        period: int | None,
        horizon: int,
        cuts: OriginSplits,
        used: Sequence[str] = differencing.DIFFERENCES,
        loops: Sequence[bool] = (False, True),
    ) -> None:
        self.lines, self.period, self.horizon, self.cuts, self.loops = list(lines), period, horizon, cuts, tuple(loops)
        self.used = [each for each in used if period is not None or each in differencing.WITHOUT_SEASON]
        self.cut = min(blocks[0][0] + 1 for blocks in cuts.blocks)

    # ---------------------------------------------------------------------------------------------------------- smoothing

    def smoothing(self) -> tuple[list[Candidate], list[smoothing.Smoothing]]:
        """One candidate for every kind of trend, and the lanes of every series after its end."""
        judged: list[list[list[Floats]]] = [[] for _ in smoothing.TRENDS]
        ends = []
        for b, line in enumerate(self.lines):
            lanes, found = smoothed(line, self.period, self.cuts.judged(b), self.horizon)
            ends.append(lanes)
            for each, one in zip(judged, found, strict=True):
                each.append([one[None]])
        return [Candidate(name, judged[k], [Trend(name)]) for k, name in enumerate(smoothing.TRENDS)], ends

    def naive(self) -> list[Candidate]:
        """Persistence, and the seasonal naive where there is a season."""
        found = []
        for difference in NAIVE_NAMES:
            if difference == differencing.SEASON and self.period is None:
                continue
            method = Naive(difference, self.period)
            judged = []
            for b, line in enumerate(self.lines):
                origins = self.cuts.judged(b)
                out = np.full((len(origins), self.horizon), np.nan)
                good = origins >= (self.period or 0)
                out[good] = method.forecasts(line.values, origins[good], self.horizon)
                judged.append([out[None]])
            found.append(Candidate(method.name, judged, [method]))
        return found

    # --------------------------------------------------------------------------------------------------------------- lags

    def lags(self) -> tuple[list[Candidate], dict[str, tuple[float, Recipe]]]:
        """Ridge on lags with every difference, and the error and recipe of its best window at the first cut."""
        found, best = [], {}
        for difference in self.used:
            recipes = self._recipes(difference)
            if not recipes:
                continue
            options = [self._option(None, [Origins(recipe, line) for line in self.lines]) for recipe in recipes]
            ranked = _ranked(options, 0)
            best[difference] = ranked[0].error(0), ranked[0].recipe
            found += self._candidates(f"lags, {difference}", ranked[:WINDOWS_KEPT])
        return found, best

    def _recipes(self, difference: str) -> list[Recipe]:
        windows = {*WINDOWS}
        if self.period is not None and self.period < LONGEST_SEASON_WINDOW:
            windows.add(self.period + 1)
        recipes = [Recipe(difference, window, self.period) for window in sorted(windows)]
        most = max(self.cut // ROWS_PER_LAG, 1)
        return [each for each in recipes if each.window <= most and each.memory + LEAST_ROWS < self.cut]

    # ----------------------------------------------------------------------------------------------------------- networks

    def networks(self, best: dict[str, tuple[float, Recipe]], seed: int) -> list[Candidate]:
        """Networks beside lags, with the differences that do best with lags alone."""
        if self.cut < LEAST_FOR_NETWORKS or not best:
            return []
        found = []
        units = int(np.clip(self.cut // STEPS_PER_UNIT, *UNITS)) // 2 * 2
        steps = sum(map(len, self.lines))
        lanes = LANES if steps < MANY_STEPS else FEW_LANES
        for place, difference in enumerate(sorted(best, key=lambda each: best[each][0])[:DIFFERENCES_OF_NETWORKS]):
            recipe = best[difference][1]._replace(window=min(best[difference][1].window, WINDOW_BESIDE))
            options = []
            for number, structure in enumerate(STRUCTURES):
                options += self._lanes(recipe, structure, units, lanes, seed, len(STRUCTURES) * place + number)
            found += self._candidates(f"network, {difference}", _ranked(options, 0)[:LANES_KEPT])
        return found

    def _lanes(self, recipe: Recipe, structure: str, units: int, lanes: int, seed: int, number: int) -> list[Option]:
        # From the time before the first cut: what is judged later must not be known.
        known = [line.values[: blocks[0][0] + 1] for line, blocks in zip(self.lines, self.cuts.blocks, strict=True)]
        changes = np.concatenate([differencing.changes(recipe.difference, recipe.period, each) for each in known])
        spread = float(changes.std()) or 1.0
        features = 1 + self.lines[0].future.shape[1] + self.lines[0].past.shape[1]
        esn, hyper = draw_network(structure, units, lanes, features, seed, number)
        states = [run_lanes(esn, hyper, spread, recipe, line) for line in self.lines]
        return [
            self._option(
                Net(esn, hyper, lane, spread),
                [Origins(recipe, line, each[lane]) for line, each in zip(self.lines, states, strict=True)],
            )
            for lane in range(lanes)
        ]

    # ------------------------------------------------------------------------------------------------------------ judging

    def _option(self, net: Net | None, origins: list[Origins]) -> Option:
        return Option(net, origins, self.cuts, self.horizon)

    def _candidates(self, name: str, options: Sequence[Option]) -> list[Candidate]:
        """Direct and in closed loop, from the best few options at every cut."""
        names = [f"{name}, {'closed loop' if loop else 'direct'}" for loop in self.loops]
        made = [Candidate(each, [[] for _ in self.lines], []) for each in names]
        for cut in range(len(self.cuts.splits)):
            ranked = _ranked(options, cut)
            best = ranked[0].error(cut)
            chosen = [each for each in ranked[:MOST_ALIKE] if each.error(cut) <= ALIKE * best]
            for candidate, loop in zip(made, self.loops, strict=True):
                readers = [option.reader(loop, cut) for option in chosen]
                candidate.methods = readers  # those of the last cut stay: they have seen all data
                if cut < len(self.cuts.splits) - 1:
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


def penalties(parts: Sequence[Statistics], split: Split) -> tuple[Floats, Floats]:
    """log10 of the relative penalty, and the root mean squared error of the folds of a split, at every horizon."""
    width, horizons = parts[0].features, len(parts[0].count)
    pairs = [pair for pair in splits.pairs(parts, split.folds) if np.min(pair[0].count) >= LEAST_ROWS]
    if not pairs:
        return np.full(horizons, np.log10(UNCHOSEN)), np.full(horizons, np.inf)
    best = choose_by_group(pairs, np.arange(width), [np.array([width])], RELATIVE)
    return np.log10(best.relative[..., 0]), best.error[..., 0]
