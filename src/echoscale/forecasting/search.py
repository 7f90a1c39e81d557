"""The search of `es.auto`: rounds of networks, until the time is up; the best candidates of every split are kept.

A first round draws weights of one structure and many hyper-parameters, runs all lanes over the data once, and judges every lane
by folds before the first split, and the best lanes at the later splits too. The next round takes the best lanes so far and
follows the gradient of their error with `tune`, on data before the first split alone. Draws and tuning take turns: a draw
brings the next structure, and tuning goes on with the network that has the least error of all that still gain. Tuned lanes
compete like all others: at every later split folds decide on data that the tuning has not used.

`Budget` says whether another round fits into the time that is left.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
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
from echoscale.forecasting.problem import LEAST_STEPS
from echoscale.forecasting.rows import Steps
from echoscale.learning import tune
from echoscale.timescales.candidates import candidates
from echoscale.timescales.suggest import Suggested, suggest

# With few rows, the best of many networks is chance: one round more for this many rows.
ROWS_PER_ROUND = 25
# The best lanes of a round before the first split: they are judged at the later splits too, and tuned. More take longer.
BEST = 8
# Steps of a tuning, which may go on in a later round: more find better networks, fewer leave time for other structures.
STEPS = 5
# Steps above which networks run in float32, twice as fast, and are not tuned. Short data need the digits.
LONG = 20_000
# Structure of the suggested network.
SUGGESTED = "hierarchical"
# Rows from which on hyper-parameters are tuned: with fewer, more draws are better. On noisy made systems of 450 steps tuning
# made errors larger on two of four and changed nothing on the others; with 3,000 steps it made them smaller.
LEAST_ROWS = 1000

# A round may be this much longer than those before it.
ROUND = 1.3
# The end, for every network in use: a share of a round, but at least this number of seconds of the processor, to compile.
FINISH, FINISH_SECONDS = 0.25, 0.6
# Seconds of the processor of the suggestion and the first round, at least.
FIRST = 4.0


class Round(NamedTuple):
    """A network that was tried.

    Attributes
    ----------
    esn : ESN
        The network with its weights.
    hyper : Hyper
        Hyper-parameters of its lanes.
    structure : str
        One of `networks.ROUNDS`.
    order : (lanes,)
        The lanes, the least error of the folds before the first split first.
    error : float
        This least error.
    steps : int
        Steps of the tuning that led to the lanes; 0 if they were drawn.
    rests : bool
        Whether tuning has nothing to gain, or has gone on elsewhere.
    """

    esn: ESN
    hyper: Hyper
    structure: str
    order: Indices
    error: float
    steps: int = 0
    rests: bool = False


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
    suggested: Suggested | None = field(init=False, default=None)
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

    @property
    def rounds(self) -> int:
        """Rounds so far: networks drawn, and steps of tuning."""
        return sum(max(each.steps, 1) for each in self.tried)

    def run(self, budget: Budget, rounds: int | None, tell: Progress) -> None:
        """Rounds, as many as are asked for or fit into the budget, which may be none."""
        total = rounds or 1 + self.steps.problem.rows // ROWS_PER_ROUND
        lasted: list[float] = []

        def late() -> bool:
            return budget.ends_with(lasted, len({member.round for members in self.members for member in members}))

        if late():
            return
        self.suggest()
        while self.rounds < total:
            before, drawing = budget.spent, self.next_tuned() is None
            # Tuning stops when there is just time for a round like those that draw: its lanes are still to be judged.
            self.run_round(total - self.rounds, late)
            if drawing:
                lasted.append(budget.spent - before)
            best = min((each.error for each in self.members[-1]), default=np.inf)
            tell(self.rounds, total, f"error of folds {best:.4g}")
            if late():
                return

    def suggest(self) -> None:
        """Suggest a network by the data before the first split; none for labels, gaps, trends and short data."""
        problem = self.steps.problem
        if problem.classes is not None or problem.series.count > 1 or problem.trends.any():
            return
        end = int(problem.splits.edges[0][problem.splits.splits[0].train[-1] + 1])
        u, y = (np.asarray(each.values[0])[:end] for each in (self.steps.heard, problem.targets))
        still = any((np.ptp(each, axis=0) == 0).any() for each in (u, y))
        if end >= LEAST_STEPS and not np.isnan(y).any() and not still:
            self.suggested = suggest(u, y, units=networks.units_for(problem.rows), seed=self.seed, scale=None)

    def run_round(self, most: int = STEPS, late: Callable[[], bool] = lambda: False) -> None:
        """One more network with random hyper-parameters, or the best one so far after some steps of tuning."""
        best = self.next_tuned()
        if best is None:
            self._judge(*self._drawn())
            return
        before = self.tried[best]
        hyper, steps, rests = tuned_lanes(self.steps, before, self.members[0][0].change, min(most, STEPS), late)
        self._judge(before.esn, hyper, before.structure)
        self.tried[best] = before._replace(rests=True)
        self.tried[-1] = self.tried[-1]._replace(steps=steps, rests=rests)

    def next_tuned(self) -> int | None:
        """The network that the next round tunes, the best of those that still gain; None: the next round draws one."""
        if not self.tried or self.tried[-1].steps or not LEAST_ROWS <= self.steps.problem.rows <= LONG:
            return None
        waiting = [number for number, each in enumerate(self.tried) if not each.rests]
        return min(waiting, key=lambda number: self.tried[number].error)

    def _drawn(self) -> tuple[ESN, Hyper, str]:
        """A network of the next structure with random hyper-parameters; the first lane of all has the suggested ones."""
        problem, number = self.steps.problem, sum(not each.steps for each in self.tried)
        steps, structure = int(problem.series.lengths.sum()), networks.ROUNDS[number % len(networks.ROUNDS)]
        esn, hyper = networks.draw_network(
            structure,
            networks.units_for(problem.rows),
            networks.lanes_for(steps),
            problem.series.features,
            [self.seed, number],
            "float64" if steps <= LONG else "float32",
            min(each.slow for each in candidates(int(problem.series.lengths.max()))),
        )
        if self.suggested is not None and not number and structure == SUGGESTED:
            hyper = networks.with_first(hyper, Hyper.of(self.suggested.network))
        return esn, hyper, structure

    def _judge(self, esn: ESN, hyper: Hyper, structure: str) -> None:
        """Run all lanes, and keep the best candidates of every split."""
        number, splits = len(self.tried), self.steps.problem.splits.splits
        statistics = self.steps.statistics(esn, hyper)

        def judge(k: int, lanes: Indices, workers: int = 1) -> tuple[Indices, float]:
            bound = ALLOWED * min((each.error for each in self.members[k]), default=np.inf)
            beside = [(), self.lags[k][0].beside.lags]
            new, order, error = network_members(self.steps, statistics, splits[k], beside, number, bound, lanes, workers)
            self.members[k] = best_of([*self.members[k], *new])
            return order, error

        # What folds before the first split say of the lanes is known at the later ones too.
        order, error = judge(0, np.arange(len(statistics[0].mean)), devices.cores())
        good, later = np.sort(order[:BEST]), range(1, len(splits))

        def judge_later(k: int) -> None:
            judge(k, good)

        devices.in_threads(judge_later, later, min(devices.cores(), len(later)), threading.Event())
        self.tried.append(Round(esn, hyper, structure, order, error))

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
        for number, (esn, hyper, *_) in enumerate(self.tried):
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


def tuned_lanes(steps: Steps, tried: Round, change: bool, most: int, late: Callable[[], bool]) -> tuple[Hyper, int, bool]:
    """The best lanes after some steps downhill, the number of steps, and whether no lane gains any more."""
    problem = steps.problem
    last = problem.splits.splits[0].train[-1] + 1
    first = steps.width + (problem.outputs if change else 0)
    u, y = [], []
    for heard, beside, edges in zip(steps.heard.values, steps.beside.values, problem.splits.edges, strict=True):
        if (end := int(edges[last])) > problem.washout:
            u.append(np.asarray(heard)[:end])
            y.append(np.asarray(beside)[:end, first : first + problem.outputs])
    starts = tried.hyper.on(tried.order[:BEST], np.float64)

    stopped = False

    def tell(done: int, total: int, note: str) -> None:
        nonlocal stopped
        stopped = late()
        if stopped:
            raise KeyboardInterrupt  # `tune` then returns the best point so far

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = tune(
            tried.esn.network,
            u,
            y,
            starts=starts,
            seed=tried.esn.seed,
            washout=problem.washout,
            test=0.0,
            scale=None,
            rounds=most,
            dtype=tried.esn.dtype,
            progress=tell,
        )
    if not stopped and any(str(each.message).startswith("interrupted") for each in said):
        raise KeyboardInterrupt
    values = found.history["value"].isel(round=-1)
    learned = {str(name): values.sel(parameter=name).values.tolist() for name in values["parameter"].values if "[" in str(name)}
    made = max(found.history.sizes["round"] - 1, 1)  # the first entry is that of the starts
    return with_lanes(starts, learned) if learned else starts, made, made < most and not stopped


@dataclass(frozen=True)
class Budget:
    """A deadline, and the clocks that it is measured by.

        now + next round + end <= deadline
        next round = ROUND longest,   end = (networks + 1) max(FINISH longest, FINISH_SECONDS load)

    All times are wall time. `longest` is the longest round that drew a network; tuning stops in time. The first round may
    take as long as all work before it, but at least FIRST load. `end` is the work after the last round, for all networks in
    use: the next round may bring one more. `load` is wall time over processor time so far: it is above 1 where other programs
    use the processors.

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

    def ends_with(self, rounds: Sequence[float], networks: int) -> bool:
        """Whether there is no time for another round like these, or for the first one, and the end."""
        if self.seconds is None:
            return False
        longest = max(rounds) if rounds else max(self.spent, FIRST * self.load)
        end = (networks + 1) * max(FINISH * longest, FINISH_SECONDS * self.load)
        return self.spent + ROUND * longest + end > self.seconds
