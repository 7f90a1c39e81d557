"""The search of `es.auto`: rounds of networks with many hyper-parameters on lanes, until the time is up; the best are kept.

A round draws weights and runs all lanes over the data once. It judges every candidate by folds before the first split, judges
the best of them at the later splits too, and keeps the best.

Leak rates are drawn down to the slowest of the candidates from which the estimators choose (`timescales.candidates`). After
three structures a round tunes the hyper-parameters of the best lanes with `tune`, from the data before the first split alone
(`tuned_lanes`). The tuned lanes compete like all others: at every split folds decide, on data that the tuning has not seen too.
`Budget` says whether another round fits into the time that is left.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from echoscale._internal.progress import Progress
from echoscale._internal.types import Floats, Indices
from echoscale.engine import devices
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Hyper, with_lanes
from echoscale.forecasting import networks
from echoscale.forecasting.candidates import (
    ALLOWED,
    Member,
    best_of,
    integral_members,
    lag_members,
    network_members,
    product_members,
)
from echoscale.forecasting.lags import LinearMap, mean_of
from echoscale.forecasting.model import Group, add_outputs
from echoscale.forecasting.rows import Steps
from echoscale.learning import tune
from echoscale.timescales.candidates import candidates
from echoscale.timescales.suggest import Suggested

# Limits on the number of rounds: with few rows, the best of many networks is chance.
ROUNDS, ROWS_PER_ROUND = (5, 40), 25
# Lanes of a round, the best before the first split, that are judged at the later splits too: more take longer.
LATER_LANES = 6
# Steps above which networks run in float32: it is twice as fast there, and short data need the digits.
LONG = 20_000
# Rows from which on hyper-parameters are tuned: fewer are too few to learn them from.
LEAST_ROWS = 300
# Lanes that are tuned, and steps downhill of each: more of them find better ones, and take longer.
STARTS, STEPS = 4, 10

# A round may be longer than those before it; tuned lanes are fewer than the lanes of a round, and sooner judged.
ROUND, GROWTH, JUDGED = 1.3, 2.0, 0.5
# The end, for every network in use: a share of a round, but at least the seconds of a compilation on an idle machine.
FINISH, FINISH_SECONDS = 0.25, 0.6


class Round(NamedTuple):
    """A network with weights, the hyper-parameters of its lanes, and its structure."""

    esn: ESN
    hyper: Hyper
    structure: str


@dataclass
class Search:
    """The networks tried so far, and the best candidates at every split.

    steps      the data
    suggested  a hierarchical network of two levels, which has the first lane of the first round
    lags       for every split: ridge on lags, the best first
    products   for every split: ridge on products of lags, the best first
    integrals  for every split: ridge on leaky integrals, the best first
    members    for every split: the best candidates with networks
    tried      the networks of every round
    """

    steps: Steps
    seed: int
    suggested: Suggested | None = None
    lags: list[list[Member]] = field(init=False)
    products: list[list[Member]] = field(init=False)
    integrals: list[list[Member]] = field(init=False)
    members: list[list[Member]] = field(init=False)
    tried: list[Round] = field(init=False)

    def __post_init__(self) -> None:
        splits = self.steps.problem.splits.splits
        self.lags = [lag_members(self.steps, split) for split in splits]
        self.products = [product_members(self.steps, split) for split in splits]
        windows = [members[0].beside.lags for members in self.lags]
        self.integrals = [integral_members(self.steps, *each) for each in zip(splits, windows, strict=True)]
        self.members = [[] for _ in splits]
        self.tried = []

    def run(self, budget: Budget, rounds: int | None, tell: Progress) -> None:
        """Rounds, as many as are asked for or fit into the budget."""
        total = rounds or int(np.clip(self.steps.problem.rows // ROWS_PER_ROUND, *ROUNDS))
        lasted: list[float] = []

        def late(share: float = 1.0) -> bool:
            used = {member.round for members in self.members for member in members}
            return budget.ends_with(lasted, len(used), share)

        while len(self.tried) < total:
            before, tuning = budget.spent, self.tunes_next()
            try:
                self.run_round(lambda: late(JUDGED))
            except OutOfTimeError:
                return
            if not tuning:  # which takes its own time
                lasted.append(budget.spent - before)
            best = min((each.error for each in self.members[-1]), default=np.inf)
            tell(len(self.tried), total, f"error of folds {best:.4g}")
            if late():
                return

    def run_round(self, late: Callable[[], bool] = lambda: False) -> None:
        """One more network, or the best one with tuned hyper-parameters."""
        number = len(self.tried)
        if self.tunes_next():
            best = self.members[0][0].round
            esn, hyper, structure = self.tried[best]
            mine = [each for each in self.members[0] if each.round == best]
            self._judge(esn, tuned_lanes(self.steps, esn, hyper, mine, late), structure)
            return
        problem = self.steps.problem
        steps, structure, first = int(problem.series.lengths.sum()), self._structure(number), number < len(self.plan)
        esn, hyper = networks.draw_network(
            structure,
            networks.units_for(problem.rows),
            networks.lanes_for(steps),
            problem.series.features,
            [self.seed, number],
            () if first else self._good(structure),
            "float64" if steps <= LONG else "float32",
            min(each.slow for each in candidates(int(problem.series.lengths.max()))),
        )
        if first and structure == "hierarchical" and self.suggested is not None:
            hyper = networks.with_first(hyper, Hyper.of(self.suggested.network))
        self._judge(esn, hyper, structure)

    @cached_property
    def plan(self) -> list[str]:
        """The first rounds. Hyper-parameters are tuned for one series of numbers without gaps, long enough to learn from."""
        problem = self.steps.problem
        one = problem.classes is None and problem.series.count == 1 and all(each.all() for each in problem.targets.known)
        tuned = one and LEAST_ROWS <= problem.rows <= LONG
        return [each for each in networks.ROUNDS if tuned or each != networks.TUNING]

    def tunes_next(self) -> bool:
        """Whether the next round tunes hyper-parameters."""
        return self.plan[len(self.tried) :][:1] == [networks.TUNING]

    def _judge(self, esn: ESN, hyper: Hyper, structure: str) -> None:
        """Run all lanes, and keep the best candidates of every split."""
        number, splits = len(self.tried), self.steps.problem.splits.splits
        statistics = self.steps.statistics(esn, hyper)

        def judge(k: int, lanes: Indices, workers: int = 1) -> Indices:
            bound = ALLOWED * min((each.error for each in self.members[k]), default=np.inf)
            beside = [(), self.lags[k][0].beside.lags]
            new, order = network_members(self.steps, statistics, splits[k], beside, number, bound, lanes, workers)
            self.members[k] = best_of([*self.members[k], *new])
            return order

        # What folds before the first split say of the lanes is known at the later ones too.
        good = np.sort(judge(0, np.arange(len(statistics[0].mean)), devices.cores())[:LATER_LANES])
        later = range(1, len(splits))

        def judge_later(k: int) -> None:
            judge(k, good)

        devices.in_threads(judge_later, later, min(devices.cores(), len(later)), threading.Event())
        self.tried.append(Round(esn, hyper, structure))

    def outputs(self) -> list[Floats]:
        """Mean of the members' outputs at the steps that judge, for every split but the last: (rows, O)."""
        problem, splits = self.steps.problem, self.steps.problem.splits.splits[:-1]
        sums = [np.zeros((int(length), len(splits) * problem.outputs)) for length in problem.series.lengths]
        for group in self._groups(range(len(splits))):
            add_outputs(group, self.steps.heard, None, sums)
        found = []
        for k, split in enumerate(splits):
            mine = slice(k * problem.outputs, (k + 1) * problem.outputs)
            beside = self.steps.answered(mean_of([each.beside for each in self.members[k]]), split=split)
            found.append(beside + self.steps.held_out([each[:, mine] for each in sums], split))
        return found

    def final(self) -> tuple[LinearMap, list[Group]]:
        """The mean of the members of the last split, which has seen all data: its map of lags, and networks with readouts."""
        return mean_of([each.beside for each in self.members[-1]]), self._groups([-1])

    def _groups(self, splits: Sequence[int]) -> list[Group]:
        """Networks of the members at some splits, with what they add to the mean at each: outputs split after split."""
        found = []
        for number, (esn, hyper, _) in enumerate(self.tried):
            mine = [(place, each) for place, k in enumerate(splits) for each in self.members[k] if each.round == number]
            if not mine:
                continue
            used = sorted({each.lane for _, each in mine})
            outputs, units = mine[0][1].coef.shape
            coef = np.zeros((len(used), len(splits), outputs, units))
            for place, each in mine:
                coef[used.index(each.lane), place] += each.coef / len(self.members[splits[place]])
            found.append(Group(esn, hyper.on(np.array(used), np.float64), coef.reshape(len(used), -1, units)))
        return found

    def _structure(self, number: int) -> str:
        """All structures in turn, then the structures of the best candidates."""
        if number < len(self.plan):
            return self.plan[number]
        best = self.members[-1]
        return self.tried[best[(number - len(self.plan)) % len(best)].round].structure

    def _good(self, structure: str) -> list[Hyper]:
        """Hyper-parameters of the best lanes of a structure."""
        tried = [(self.tried[each.round], each.lane) for each in self.members[-1]]
        return [each.hyper.lane(lane) for each, lane in tried if each.structure == structure]


class OutOfTimeError(Exception):
    """The clock stopped the tuning: a result at this point would depend on the machine."""


def tuned_lanes(steps: Steps, esn: ESN, hyper: Hyper, members: list[Member], late: Callable[[], bool]) -> Hyper:
    """The hyper-parameters after some steps downhill, one lane for every start."""
    problem = steps.problem
    split = problem.splits.splits[0]
    [edges] = problem.splits.edges
    end = int(edges[split.train[-1] + 1])
    u = np.asarray(steps.heard.values[0])[:end]
    width, outputs = steps.width, problem.outputs
    first = width + (outputs if members[0].change else 0)
    y = np.asarray(steps.beside.values[0])[:end, first : first + outputs]
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
            washout=problem.washout,
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


@dataclass(frozen=True)
class Budget:
    """A deadline, and the clocks that it is measured by.

        now + next round + end <= deadline
        next round = ROUND max(longest, last g),   g = last / the one before, between 1 and 2
        end = networks max(FINISH longest, FINISH_SECONDS load)

    All times are wall time. `end` is the work after the last round, for all networks in use: the next round may bring one more.
    A round of tuning stops by itself when its time is up. `load` is wall time over processor time so far: it is above 1 where
    other programs use the processors.

    seconds   the budget, from now on; None: no deadline
    wall, cpu clocks
    """

    seconds: float | None
    wall: Callable[[], float] = time.perf_counter
    cpu: Callable[[], float] = time.process_time
    began: tuple[float, float] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "began", (self.wall(), self.cpu()))

    @property
    def spent(self) -> float:
        """Seconds of wall time so far."""
        return self.wall() - self.began[0]

    @property
    def load(self) -> float:
        """Wall time over processor time so far, at least 1."""
        used = self.cpu() - self.began[1]
        return max(self.spent / used, 1.0) if used > 0 else 1.0

    def ends_with(self, rounds: Sequence[float], networks: int, share: float = 1.0) -> bool:
        """Whether there is no time for another round, or a share of it, and the end."""
        if self.seconds is None or not rounds:
            return False
        # The next round may bring another network into use.
        end = (networks + 1) * max(FINISH * max(rounds), FINISH_SECONDS * self.load)
        return self.spent + share * next_round(rounds) + end > self.seconds


def next_round(rounds: Sequence[float]) -> float:
    """Seconds that the next round may take."""
    last = rounds[-1]
    growth = last / rounds[-2] if len(rounds) > 1 and rounds[-2] > 0 else 1.0
    return ROUND * max(*rounds, last * min(max(growth, 1.0), GROWTH), 0.0)
