"""The rounds of `es.auto`: networks with many hyper-parameters on lanes, tried until the time is up; the best are kept.

A round draws weights and runs all lanes over the data once. It judges every candidate by folds before the first origin, judges
the best of them at the later origins too, and keeps the best.

After all structures have been tried, one round tunes the hyper-parameters of the best lanes with `tune`, from the data before
the first origin alone (`tuned_lanes`). The tuned lanes compete like all others: at every origin folds decide, on data that the
tuning has not seen too.

`TimeRows` holds rows that are time steps: statistics of states, lags and targets for every part, and outputs at the rows that
judge. Only the lags grow with the length of a series: states are summed up or read out chunk by chunk.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from echoscale._internal.types import Flags, Floats, Indices
from echoscale.data.series import Series
from echoscale.engine import devices, feed
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Hyper, with_lanes
from echoscale.forecasting import networks
from echoscale.forecasting import smoothing as smoothers
from echoscale.forecasting.networks import Drive
from echoscale.forecasting.selection import candidates, lags
from echoscale.forecasting.selection.candidates import Member
from echoscale.forecasting.selection.lags import LinearMap, mean_of
from echoscale.forecasting.selection.model import AutoModel, Group
from echoscale.forecasting.selection.problem import Question, Range, drifting
from echoscale.forecasting.splits import origins
from echoscale.learning import tune
from echoscale.readouts.splits import Split
from echoscale.readouts.statistics import Statistics, of_rows, split_statistics
from echoscale.timescales.suggest import Suggested

# Lanes of a round, the best before the first origin, that are judged at the later origins too: more take longer.
LATER_LANES = 6
# Steps above which networks run in float32: it is twice as fast there, and short data need the digits.
LONG = 20_000
# Rows from which on hyper-parameters are tuned: fewer are too few to learn them from.
LEAST_ROWS = 300
# Lanes that are tuned, and steps downhill of each: more of them find better ones, and take longer.
STARTS, STEPS = 4, 10


@dataclass
class Rounds:
    """The networks tried so far, and the best candidates at every origin.

    rows       the data
    suggested  a hierarchical network of two levels, which has the first lane of the first round
    members    for every origin: the best candidates
    simple     for every origin: ridge on lags, the best first
    products   for every origin: ridge on products of lags, the best first
    tried      (network with weights, lanes, structure) of every round
    """

    rows: TimeRows
    seed: int
    suggested: Suggested | None = None
    simple: list[list[Member]] = field(init=False)
    products: list[list[Member]] = field(init=False)
    members: list[list[Member]] = field(init=False)
    tried: list[tuple[ESN, Hyper, str]] = field(init=False)

    def __post_init__(self) -> None:
        origins = self.rows.origins.splits
        self.simple = [candidates.simple_members(self.rows, origin) for origin in origins]
        self.products = [candidates.product_members(self.rows, origin) for origin in origins]
        self.members = [[] for _ in origins]
        self.tried = []

    def play(self, late: Callable[[], bool] = lambda: False) -> None:
        """One more network, or, after all structures have had their turn, the best one with tuned hyper-parameters."""
        number = len(self.tried)
        if self.tunes_next():
            number_of_best = self.members[0][0].round
            esn, hyper, structure = self.tried[number_of_best]
            mine = [each for each in self.members[0] if each.round == number_of_best]
            self._judge(esn, tuned_lanes(self.rows, esn, hyper, mine, late), structure)
            return
        question = self.rows.question
        rng = np.random.default_rng([self.seed, number])
        steps = int(question.series.lengths.sum())
        lanes, features = networks.lanes_for(steps), question.series.features
        structure = self._structure(number)
        dtype = "float64" if steps <= LONG else "float32"
        described = networks.network(structure, networks.units_for(question.rows))
        esn = described.build(features, seed=int(rng.integers(2**31)), dtype=dtype)
        good = self._good(structure) if number >= len(networks.STRUCTURES) else []
        hyper = networks.near(good, lanes, rng) if good else networks.draw_lanes(esn.hyper, structure, lanes, features, rng)
        if number == 0 and self.suggested is not None:
            hyper = networks.with_first(hyper, Hyper.of(self.suggested.network))
        self._judge(esn, hyper, structure)

    def tunes_next(self) -> bool:
        """Whether the next round tunes hyper-parameters."""
        return len(self.tried) == len(networks.STRUCTURES) and self._can_tune()

    def _judge(self, esn: ESN, hyper: Hyper, structure: str) -> None:
        """Run all lanes, and keep the best candidates of every origin."""
        number = len(self.tried)
        statistics = self.rows.statistics(esn, hyper)
        units = statistics[0].mean.shape[-1] - self.rows.simple[0].mean.shape[-1]
        origins = self.rows.origins.splits

        def judge(o: int, lanes: Indices, workers: int = 1) -> Indices:
            bound = candidates.ALLOWED * min((each.error for each in self.members[o]), default=np.inf)
            beside = [(), self.simple[o][0].beside.lags]
            new, order = candidates.network_members(
                self.rows, statistics, units, origins[o], beside, number, bound, lanes, workers
            )
            self.members[o] = candidates.best_of([*self.members[o], *new])
            return order

        # What folds before the first origin say of the lanes is known at the later ones too.
        good = np.sort(judge(0, np.arange(len(statistics[0].mean)), devices.cores())[:LATER_LANES])
        later = range(1, len(origins))

        def judge_later(o: int) -> None:
            judge(o, good)

        devices.in_threads(judge_later, later, min(devices.cores(), len(later)), threading.Event())
        self.tried.append((esn, hyper, structure))

    def _can_tune(self) -> bool:
        """One series of numbers without gaps, long enough to learn from and short enough to be worth it."""
        question = self.rows.question
        known = all(each.all() for each in question.targets.known)
        short = LEAST_ROWS <= question.rows <= LONG
        return question.classes is None and question.series.count == 1 and known and short and bool(self.members[0])

    def outputs(self) -> list[Floats]:
        """Mean of the members' outputs at the rows that judge, for every origin but the last: (rows, O)."""
        origins = self.rows.origins.splits[:-1]
        found = []
        for o, origin in enumerate(origins):
            beside, _ = self.rows.judged(origin)
            found.append(mean_of([each.beside for each in self.members[o]]).on(self.rows.lags).outputs(beside))
        for number, (esn, hyper, _) in enumerate(self.tried):
            mine = [[each for each in self.members[o] if each.round == number] for o in range(len(origins))]
            used = sorted({each.lane for members in mine for each in members})
            if not used:
                continue
            few = hyper.on(np.array(used), np.float64)
            coefs = [[(used.index(each.lane), each.coef) for each in members] for members in mine]
            for o, part in enumerate(self.rows.outputs(esn, few, coefs)):
                found[o] += part / len(self.members[o])
        return found

    def final(self) -> tuple[LinearMap, list[tuple[ESN, Hyper, Floats]]]:
        """The mean of the members of the last origin, which has seen all data: its map of lags, and networks with readouts."""
        members = self.members[-1]
        groups = []
        for number, (esn, hyper, _) in enumerate(self.tried):
            mine = [each for each in members if each.round == number]
            used = sorted({each.lane for each in mine})
            if used:
                coef = np.zeros((len(used), *mine[0].coef.shape))
                for each in mine:
                    coef[used.index(each.lane)] += each.coef / len(members)
                groups.append((esn, hyper.on(np.array(used), np.float64), coef))
        return mean_of([each.beside for each in members]), groups

    def _structure(self, number: int) -> str:
        """All structures in turn, then the structures of the best candidates."""
        if number < len(networks.STRUCTURES):
            return networks.STRUCTURES[number]
        best = self.members[-1]
        return self.tried[best[(number - len(networks.STRUCTURES)) % len(best)].round][2]

    def _good(self, structure: str) -> list[Hyper]:
        return [
            self.tried[each.round][1].lane(each.lane) for each in self.members[-1] if self.tried[each.round][2] == structure
        ]


class OutOfTimeError(Exception):
    """The clock stopped the tuning: a result at this point would depend on the machine."""


def tuned_lanes(rows: TimeRows, esn: ESN, hyper: Hyper, members: list[Member], late: Callable[[], bool]) -> Hyper:
    """The hyper-parameters after some steps downhill, one lane for every start."""
    origin = rows.origins.splits[0]
    [edges] = rows.origins.edges
    end = int(edges[origin.train[-1] + 1])
    u = np.asarray(rows.heard.values[0])[:end]
    width, outputs = rows.width, rows.question.outputs
    first = width + (outputs if members[0].change else 0)
    y = np.asarray(rows.beside.values[0])[:end, first : first + outputs]
    lanes = list(dict.fromkeys(each.lane for each in members))[:STARTS]
    starts = hyper.on(np.array(lanes), np.float64)

    def tell(done: int, total: int, note: str) -> None:
        if late():
            raise OutOfTimeError

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = tune(
            esn.network,
            u,
            y,
            starts=starts,
            seed=esn.seed,
            washout=rows.question.washout,
            test=0.0,
            scale=None,
            rounds=STEPS,
            relocate=False,
            dtype=esn.dtype,
            progress=tell,
        )
    last = found.history["value"].isel(round=-1)
    learned = {str(name): last.sel(parameter=name).values.tolist() for name in last["parameter"].values if "[" in str(name)}
    return with_lanes(starts, learned) if learned else starts


class TimeRows:
    """The rows of a question about steps, for all candidates.

    Columns of the statistics: states (N), lags (lag by lag), targets (O), targets less the present (O).
    """

    def __init__(self, question: Question) -> None:
        self.question = question
        self.origins = origins(question.targets.known, question.washout, question.gap)
        self.sets = lags.windows(question)
        self.lags = lags.every(self.sets)
        self.drive = Drive.of(question.series)
        self.heard = self.drive.over(question.series)

    @cached_property
    def beside(self) -> Series:
        """Lags, targets, and targets less the present."""
        return lags.beside(self.question, self.lags)

    @property
    def width(self) -> int:
        """Columns of all lags."""
        return len(self.lags) * self.question.series.features

    @property
    def features(self) -> int:
        """Columns of one lag."""
        return self.question.series.features

    def columns(self, chosen: tuple[int, ...]) -> Indices:
        """Which of the lag columns belong to a set of lags."""
        return lags.columns(chosen, self.lags, self.question.series.features)

    def targets_after(self, features: int) -> list[Indices]:
        """Columns of the targets, and of their changes, after this number of columns of features."""
        outputs = self.question.outputs
        kinds = [features + np.arange(outputs)]
        if any(each is not None for each in self.question.ahead):
            kinds.append(features + outputs + np.arange(outputs))
        return kinds

    @cached_property
    def simple(self) -> list[Statistics]:
        """Statistics of lags and targets alone, for every segment."""
        segments = [self._segment(segment) for segment in range(len(self.origins.edges[0]) - 1)]
        return [_of_rows(rows[:, : self.width], rows[:, self.width :]) for rows in segments]

    def _segment(self, segment: int) -> Floats:
        """Lags, targets and changes of the steps of a segment that have a target."""
        cut = zip(self.beside.values, self.origins.edges, strict=True)
        rows = np.concatenate([np.asarray(values[edges[segment] : edges[segment + 1]]) for values, edges in cut])
        return np.asarray(rows[~np.isnan(rows).any(axis=1)])

    @cached_property
    def product_sets(self) -> list[tuple[int, ...]]:
        """Windows whose products are tried; none where an input has a trend, which products would carry away."""
        return [] if self.drive.changes.any() else lags.product_windows(self.question)

    @cached_property
    def products(self) -> list[Statistics]:
        """Statistics of the lags of the longest of these windows, their products, and targets, for every segment."""
        found, used = [], self.columns(self.product_sets[-1])
        for segment in range(len(self.origins.edges[0]) - 1):
            rows = self._segment(segment)
            z, targets = rows[:, used], rows[:, self.width :]
            found.append(_of_rows(np.concatenate([z, lags.products(z)], axis=1), targets))
        return found

    def statistics(self, esn: ESN, hyper: Hyper) -> list[Statistics]:
        """Statistics of states, lags and targets, for every segment, with lanes."""
        found, _ = split_statistics(esn, self.heard, self.beside, self.origins.edges, hyper=hyper)
        return found

    def judged(self, origin: Split) -> tuple[Floats, Floats]:
        """Lags (rows, lag columns) and targets (rows, O) of the rows that judge an origin, gaps included."""
        parts = [
            np.asarray(values[low:high])
            for values, (low, high) in zip(self.beside.values, self.origins.held_out(origin), strict=True)
        ]
        rows = np.concatenate(parts)
        return rows[:, : self.width], rows[:, self.width : self.width + self.question.outputs]

    def _range(self) -> Range:
        """The range of the inputs; endless for trends that are forecast, which leave every range."""
        known, trends = Range.of(list(self.question.series.values)), self._trends()
        return Range(np.where(trends, -np.inf, known.low), np.where(trends, np.inf, known.high))

    def _trends(self) -> Flags:
        """Which inputs have a trend and are forecast, (F,)."""
        forecast = [each.column for each in self.question.ahead if each is not None]
        return np.asarray(self.drive.changes & np.isin(np.arange(self.features), forecast))

    def drift(self) -> tuple[Flags, Flags]:
        """Which inputs, and which targets, leave the range of the data before the first origin, or have another mean after it.

        Trends that are forecast are left out: they leave every range.
        """
        question, trends = self.question, self._trends()
        inputs, targets = np.zeros(self.features, bool), np.zeros(question.outputs, bool)
        if 2 * question.series.count >= len(self.origins.edges[0]):  # whole series are held out, in no order of time
            return inputs, targets
        cuts = [low for low, _ in self.origins.held_out(self.origins.splits[0])]

        def moved(series: Series) -> Flags:
            values = [np.asarray(each) for each in series.values]
            parts = [(each[question.washout : cut], each[cut:]) for each, cut in zip(values, cuts, strict=True)]
            return drifting([first for first, _ in parts], [then for _, then in parts])

        inputs = moved(question.series) & ~trends
        if question.classes is None:
            of_trends = np.array([each is not None and bool(trends[each.column]) for each in question.ahead])
            targets = moved(question.targets) & ~of_trends
        return inputs, targets

    def answered(self, linear: LinearMap, origin: Split) -> Floats:
        """What a map of lags makes of the rows that judge an origin, (rows, O)."""
        cut = zip(self.question.series.values, self.origins.held_out(origin), strict=True)
        return np.concatenate([linear.along(np.asarray(values)[:high])[low:] for values, (low, high) in cut])

    def persistence(self) -> LinearMap | None:
        """Nothing changes."""
        return lags.persistence(self.question)

    def seasonal_naive(self) -> LinearMap | None:
        """As one season before."""
        return lags.seasonal_naive(self.question)

    def smoothing(self, origin: Split) -> LinearMap | None:
        """Exponential smoothing, its factors chosen before an origin."""
        return smoothers.smoothing(self.question, self.origins, origin)

    def constant(self) -> LinearMap:
        """The mean of the targets."""
        return lags.constant(self.question)

    def model(self, linear: LinearMap, groups: Sequence[Group]) -> AutoModel:
        """The fitted model, its state at the end of the data."""
        question = self.question
        made = AutoModel(
            linear,
            tuple(groups),
            question.scaling,
            question.target_scaling,
            question.classes,
            question.flat,
            self.drive,
            np.empty(0),
            question.columns,
            self._range(),
        )
        made.state_ = made.after(question.series)
        return made

    def outputs(self, esn: ESN, hyper: Hyper, coefs: Sequence[Sequence[tuple[int, Floats]]]) -> list[Floats]:
        """Sums of state outputs at the rows that judge, (rows, O) for every origin: from pairs of a lane and its coef."""
        spans = [self.origins.held_out(origin) for origin in self.origins.splits[: len(coefs)]]
        begins = [np.concatenate([[0], np.cumsum([high - low for low, high in span])]) for span in spans]
        found = [np.zeros((int(each[-1]), self.question.outputs)) for each in begins]
        # One sum for every lane, added up at the end in order: threads must not change the bits.
        by_lane: dict[tuple[int, int], Floats] = {}
        for o, pairs in enumerate(coefs):
            for place, _ in enumerate(pairs):
                by_lane[o, place] = np.zeros_like(found[o])

        def collect(lane: int, b: int, steps: slice, states: Floats) -> None:
            for o, pairs in enumerate(coefs):
                first, end = spans[o][b]
                low, high = max(first, steps.start), min(end, steps.stop)
                for place, (wanted, coef) in enumerate(pairs):
                    if wanted == lane and low < high:
                        row, rows = int(begins[o][b]) + low - first, states[low - steps.start : high - steps.start]
                        by_lane[o, place][row : row + high - low] = rows.astype(np.float64) @ coef.T

        esn.run_chunks(self.heard, feed.one_by_one(self.heard, collect), hyper=hyper)
        for (o, _), part in by_lane.items():
            found[o] += part
        return found


def _of_rows(features: Floats, targets: Floats) -> Statistics:
    """The statistics of rows, of none too."""
    if len(features):
        return of_rows(features, targets)
    columns = features.shape[1] + targets.shape[1]
    return Statistics(np.zeros(()), np.zeros(columns), np.zeros((columns, columns)), features.shape[1])
