"""Candidates, each judged at origins that took no part in fitting it: smoothing, lags, networks; direct and in closed loop.

What a candidate is made of (the windows of lags, the lanes of networks, the penalties) is chosen anew at every cut, by folds
of the time before it; the best few are averaged. So judged errors hold for the whole procedure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from echoscale._internal.types import Floats, Indices
from echoscale.data import differencing
from echoscale.forecasting import smoothing
from echoscale.forecasting.data import Line
from echoscale.forecasting.lags import LEAST_ROWS, Recipe, Rows, penalties, some_horizons, spread_out, statistics
from echoscale.forecasting.model import NAIVE, NAIVE_NAMES, Option, Reader
from echoscale.forecasting.networks import Net, draw_network, run_lanes
from echoscale.forecasting.splits import Timing
from echoscale.readouts import splits
from echoscale.readouts.statistics import Statistics

WINDOWS = (1, 2, 4, 8, 13, 21, 34, 49)
# Rows for every lag, at the first cut.
ROWS_PER_LAG = 5
LONGEST_SEASON_WINDOW = 49
# Options with fold errors this close to the best are averaged, at most this number.
ALIKE, MOST_ALIKE = 1.03, 3
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
    readers : list of Reader
        Fitted to all data; their mean is its forecast.
    options : list of Option
        Their features.
    trend : int
        Which of `smoothing.TRENDS` or of `NAIVE`; -1 for readers.
    """

    name: str
    judged: list[list[Floats]]
    readers: list[Reader] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)
    trend: int = -1


class Contest:
    """All candidates of some series.

    Parameters
    ----------
    lines : sequence of Line
        The series, which are learned together.
    period : int or None
        m.
    horizon : int
        H.
    timing : Timing
        Parts, cuts, origins.
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
        timing: Timing,
        used: Sequence[str] = differencing.DIFFERENCES,
        loops: Sequence[bool] = (False, True),
    ) -> None:
        self.lines, self.period, self.horizon, self.timing, self.loops = list(lines), period, horizon, timing, tuple(loops)
        self.used = [each for each in used if period is not None or each in differencing.WITHOUT_SEASON]
        self.cut = min(blocks[0][0] + 1 for blocks in timing.blocks)
        self.some = some_horizons(horizon)
        self._parts: dict[int, list[Statistics]] = {}
        self._few: dict[int, list[Statistics]] = {}
        self._penalties: dict[tuple[int, int], tuple[Floats, Floats]] = {}

    # ---------------------------------------------------------------------------------------------------------- smoothing

    def smoothing(self) -> tuple[list[Candidate], list[smoothing.Smoothing]]:
        """One candidate for every kind of trend, and the lanes of every series after its end."""
        judged: list[list[list[Floats]]] = [[] for _ in smoothing.TRENDS]
        ends = []
        for b, line in enumerate(self.lines):
            lanes, found = smoothed(line, self.period, self.timing.judged(b), self.horizon)
            ends.append(lanes)
            for each, one in zip(judged, found, strict=True):
                each.append([one[None]])
        return [Candidate(name, judged[k], trend=k) for k, name in enumerate(smoothing.TRENDS)], ends

    def naive(self) -> list[Candidate]:
        """Persistence, and the seasonal naive where there is a season."""
        found = []
        for number, difference in NAIVE.items():
            if difference == differencing.SEASON and self.period is None:
                continue
            judged = []
            for b, line in enumerate(self.lines):
                origins = self.timing.judged(b)
                out = np.full((len(origins), self.horizon), np.nan)
                good = np.flatnonzero(origins >= (self.period or 0))
                for h in range(1, self.horizon + 1):
                    out[good, h - 1] = differencing.start(difference, self.period, line.values, origins[good], h)
                judged.append([out[None]])
            found.append(Candidate(NAIVE_NAMES[difference], judged, trend=number))
        return found

    # --------------------------------------------------------------------------------------------------------------- lags

    def lags(self) -> tuple[list[Candidate], dict[str, tuple[float, Recipe]]]:
        """Ridge on lags with every difference, and the error and recipe of its best window at the first cut."""
        found, best = [], {}
        for difference in self.used:
            options = [
                Option(recipe, None, [Rows(recipe, line) for line in self.lines]) for recipe in self._recipes(difference)
            ]
            if not options:
                continue
            ranked = self._ranked(options, 0)
            best[difference] = ranked[0][0], options[ranked[0][1]].recipe
            found += self._candidates(f"lags, {difference}", [options[k] for _, k in ranked[:WINDOWS_KEPT]])
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
            ranked = self._ranked(options, 0)
            found += self._candidates(f"network, {difference}", [options[k] for _, k in ranked[:LANES_KEPT]])
        return found

    def _lanes(self, recipe: Recipe, structure: str, units: int, lanes: int, seed: int, number: int) -> list[Option]:
        # From the time before the first cut: what is judged later must not be known.
        known = [line.values[: blocks[0][0] + 1] for line, blocks in zip(self.lines, self.timing.blocks, strict=True)]
        changes = np.concatenate([differencing.changes(recipe.difference, recipe.period, each) for each in known])
        spread = float(changes.std()) or 1.0
        features = 1 + self.lines[0].future.shape[1] + self.lines[0].past.shape[1]
        esn, hyper = draw_network(structure, units, lanes, features, seed, number)
        states = [run_lanes(esn, hyper, spread, recipe, line) for line in self.lines]
        return [
            Option(
                recipe,
                Net(esn, hyper, lane, spread),
                [Rows(recipe, line, each[lane]) for line, each in zip(self.lines, states, strict=True)],
            )
            for lane in range(lanes)
        ]

    # ------------------------------------------------------------------------------------------------------------ judging

    def _ranked(self, options: Sequence[Option], cut: int) -> list[tuple[float, int]]:
        """Error of the folds before a cut, geometric mean over some horizons, and place; the best first."""
        found = []
        for place, option in enumerate(options):
            _, errors = self._penalties_of(option, cut)
            found.append((float(np.exp(np.log(np.maximum(errors, 1e-300)).mean())), place))
        return sorted(found)

    def _penalties_of(self, option: Option, cut: int) -> tuple[Floats, Floats]:
        key = id(option), cut
        if key not in self._penalties:
            few = self._statistics_of(option, few=True)
            self._penalties[key] = penalties(few, self.timing.origins.splits[cut], self.some)
        return self._penalties[key]

    def _statistics_of(self, option: Option, few: bool) -> list[Statistics]:
        kept = self._few if few else self._parts
        if id(option) not in kept:
            steps = self.some if few else range(1, self.horizon + 1)
            kept[id(option)] = statistics(option.rows, self.timing.origins.edges, steps)
        return kept[id(option)]

    def _candidates(self, name: str, options: Sequence[Option]) -> list[Candidate]:
        """Direct and in closed loop, from the best few options at every cut."""
        cuts = len(self.timing.origins.splits)
        made = [Candidate(f"{name}, {'closed loop' if loop else 'direct'}", [[] for _ in self.lines]) for loop in self.loops]
        for cut in range(cuts):
            ranked = self._ranked(options, cut)
            chosen = [options[k] for error, k in ranked[:MOST_ALIKE] if error <= ALIKE * ranked[0][0] or k == ranked[0][1]]
            for candidate, loop in zip(made, self.loops, strict=True):
                readers = [self._reader(option, loop, cut) for option in chosen]
                if cut == cuts - 1:
                    candidate.readers, candidate.options = readers, chosen
                    continue
                for b in range(len(self.lines)):
                    candidate.judged[b].append(self._judged(readers, chosen, b, cut))
        self._few.clear()
        self._parts.clear()
        self._penalties.clear()
        return made

    def _reader(self, option: Option, loop: bool, cut: int) -> Reader:
        chosen, _ = self._penalties_of(option, cut)
        if loop:
            parts = [
                each.lane(slice(0, 1)) for each in self._statistics_of(option, few=True)
            ]  # the first of some horizons is one step
            relative = 10.0 ** chosen[:1]
        else:
            parts = self._statistics_of(option, few=False)
            relative = spread_out(chosen, self.some, self.horizon)
        return Reader(option.recipe, option.net, loop, relative, splits.training(parts, self.timing.origins.splits[cut]))

    def _judged(self, readers: Sequence[Reader], options: Sequence[Option], b: int, cut: int) -> Floats:
        low, high = self.timing.blocks[b][cut]
        found = np.full((len(readers), high - low, self.horizon), np.nan)
        for out, reader, option in zip(found, readers, options, strict=True):
            which = np.arange(low, high) - option.rows[b].at[0]
            good = np.flatnonzero(which >= 0)
            if len(good) and float(reader.statistics.count.min()) >= 2:
                out[good] = reader.forecasts(option.rows[b], self.horizon, which[good])
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
