"""Rounds of networks, each a structure with hyper-parameters on lanes, until time is up; and what they come to.

A round: draw weights, run all lanes over the data once, judge every candidate by folds before the first origin and the best of
them at the later ones, keep the best.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from echoscale.automatic import design, pool
from echoscale.automatic.lags import LinearMap, mean_of
from echoscale.automatic.pool import Member
from echoscale.automatic.steps import TimeRows
from echoscale.automatic.tuned_lanes import LEAST_ROWS, tuned_lanes
from echoscale.engine import machine
from echoscale.esn import ESN
from echoscale.hyper import Hyper
from echoscale.timescales.suggest import Suggestion

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

# So many lanes of a round, the best before the first origin, are judged at the later ones.
LATER_LANES = 6
# Above that many steps float32 is twice as fast, and short data need the digits.
LONG = 20_000


@dataclass
class Rounds:
    """The networks tried so far, and the best candidates at every origin.

    rows       the data
    suggested  a hierarchical network of two levels, whose hyper-parameters are those of the first lane of the first round
    members    for every origin: the best candidates
    simple     for every origin: ridge on lags, the best first
    products   for every origin: ridge on products of lags, the best first
    tried      (network with weights, lanes, structure) of every round
    """

    rows: TimeRows
    seed: int
    suggested: Suggestion | None = None
    simple: list[list[Member]] = field(init=False)
    products: list[list[Member]] = field(init=False)
    members: list[list[Member]] = field(init=False)
    tried: list[tuple[ESN, Hyper, str]] = field(init=False)

    def __post_init__(self) -> None:
        origins = self.rows.judging.origins
        self.simple = [pool.simple_members(self.rows, origin) for origin in origins]
        self.products = [pool.product_members(self.rows, origin) for origin in origins]
        self.members = [[] for _ in origins]
        self.tried = []

    def play(self, late: Callable[[], bool] = lambda: False) -> None:
        """One more network, or, after all structures have had their turn, the best one with tuned hyper-parameters.

        Parameters
        ----------
        late : function
            Whether time is up; asked while hyper-parameters are tuned.
        """
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
        lanes, features = design.lanes_for(steps), question.series.features
        structure = self._structure(number)
        dtype = "float64" if steps <= LONG else "float32"
        described = design.network(structure, design.units_for(question.rows))
        esn = described.build(features, seed=int(rng.integers(2**31)), dtype=dtype)
        good = self._good(structure) if number >= len(design.STRUCTURES) else []
        hyper = design.near(good, lanes, rng) if good else design.draw(esn.hyper, structure, lanes, features, rng)
        if number == 0 and self.suggested is not None:
            hyper = design.with_first(hyper, Hyper.of(self.suggested))
        self._judge(esn, hyper, structure)

    def tunes_next(self) -> bool:
        """Whether the next round tunes hyper-parameters."""
        return len(self.tried) == len(design.STRUCTURES) and self._can_tune()

    def _judge(self, esn: ESN, hyper: Hyper, structure: str) -> None:
        """Run all lanes, and keep the best candidates of every origin."""
        number = len(self.tried)
        statistics = self.rows.statistics(esn, hyper)
        units = statistics[0].mean.shape[-1] - self.rows.simple[0].mean.shape[-1]
        origins = self.rows.judging.origins

        def judge(o: int, lanes: Indices, workers: int = 1) -> Indices:
            bound = pool.ALLOWED * min((each.error for each in self.members[o]), default=np.inf)
            beside = [(), self.simple[o][0].beside.lags]
            new, order = pool.network_members(self.rows, statistics, units, origins[o], beside, number, bound, lanes, workers)
            self.members[o] = pool.best_of([*self.members[o], *new])
            return order

        # What folds before the first origin say of the lanes is known at the later ones too.
        good = np.sort(judge(0, np.arange(len(statistics[0].mean)), machine.cores())[:LATER_LANES])
        later = range(1, len(origins))

        def judge_later(o: int) -> None:
            judge(o, good)

        machine.in_threads(judge_later, later, min(machine.cores(), len(later)), threading.Event())
        self.tried.append((esn, hyper, structure))

    def _can_tune(self) -> bool:
        """One series of numbers without gaps, long enough to learn from and short enough to be worth it."""
        question = self.rows.question
        known = all(each.all() for each in question.known)
        short = LEAST_ROWS <= question.rows <= LONG
        return question.classes is None and question.series.count == 1 and known and short and bool(self.members[0])

    def outputs(self) -> list[Floats]:
        """Mean of the members' outputs at the rows that judge, for every origin but the last: (rows, O)."""
        origins = self.rows.judging.origins[:-1]
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
        """All structures in turn, then those of the best candidates."""
        if number < len(design.STRUCTURES):
            return design.STRUCTURES[number]
        best = self.members[-1]
        return self.tried[best[(number - len(design.STRUCTURES)) % len(best)].round][2]

    def _good(self, structure: str) -> list[Hyper]:
        return [
            self.tried[each.round][1].lane(each.lane) for each in self.members[-1] if self.tried[each.round][2] == structure
        ]
