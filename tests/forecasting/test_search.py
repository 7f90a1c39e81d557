"""The search: its budget of time, by a clock that moves only in a round, and the outputs of what it found."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import echoscale as es
from echoscale.data.lags import lagged
from echoscale.forecasting import networks
from echoscale.forecasting.problem import as_problem
from echoscale.forecasting.rows import Steps
from echoscale.forecasting.search import BEST, FINISH, FINISH_SECONDS, ROUND, STEPS, Budget, Search


@dataclass
class Clocks:
    """Wall time, and the time of a processor that is shared with other programs."""

    share: float = 1.0
    now: float = 0.0

    def work(self, cpu: float) -> None:
        self.now += cpu / self.share

    def budget(self, seconds: float | None) -> Budget:
        return Budget(seconds, wall=lambda: self.now, cpu=lambda: self.now * self.share)


@dataclass
class Clocked:
    """Rounds that take time and do nothing; each brings a network into use."""

    clocks: Clocks
    first: float
    growth: float
    tuning: float = 0.0
    tried: list[int] = field(default_factory=list)
    members: list[list[Any]] = field(default_factory=lambda: [[]])
    steps: Any = field(default_factory=lambda: SimpleNamespace(problem=SimpleNamespace(rows=10_000)))

    def suggest(self) -> None:
        self.clocks.work(self.first)

    def next_tuned(self) -> int | None:
        return 0 if self.tuning > 0 and len(self.tried) % 2 else None

    @property
    def rounds(self) -> int:
        return len(self.tried)

    def run_round(self, most: int, late: Any) -> None:
        number = len(self.tried)
        if self.next_tuned() is not None:
            for _ in range(5):
                self.clocks.work(self.tuning / 5)
                if late():
                    break
        self.clocks.work(self.first * self.growth**number)
        self.tried.append(number)
        self.members[0].append(SimpleNamespace(round=number, error=1.0))


@pytest.mark.parametrize("share", [1.0, 0.25])
@pytest.mark.parametrize(("first", "growth"), [(0.5, 1.0), (3.0, 1.0), (0.5, 1.25), (1.0, 1.8), (2.0, 0.8)])
@pytest.mark.parametrize("seconds", [20.0, 60.0, 200.0])
@pytest.mark.parametrize("tuning", [0.0, 3.0])
def test_all_ends_within_the_budget(seconds: float, first: float, growth: float, share: float, tuning: float) -> None:
    clocks = Clocks(share)
    budget, search = clocks.budget(seconds), Clocked(clocks, first, growth, tuning)
    clocks.work(1.0)  # reading the data
    Search.run(search, budget, None, lambda done, total, note: None)  # type: ignore[arg-type]
    clocks.work(FINISH_SECONDS * len(search.tried))
    assert budget.spent <= 1.2 * seconds
    assert search.tried or seconds < 30, "four seconds of the processor, for a quarter of which others wait"
    if search.tried and 0.8 <= growth <= 1.0 and len(search.tried) < 40:
        assert budget.spent > 0.5 * seconds, "time is left that another round would have used"


def test_a_round_is_begun_if_it_and_the_end_fit() -> None:
    clocks = Clocks(share=0.5)
    budget = clocks.budget(100.0)
    assert not budget.ends_with([], 0)
    clocks.work(20.0)  # 40 seconds by the clock
    assert budget.ends_with([], 0), "the first round may take as long as all before it"
    assert not budget.ends_with([8.0], 0)
    for longest, end in ((8.0, 4 * FINISH * 8.0), (2.0, 4 * FINISH_SECONDS * 2)):
        left = 60 - ROUND * longest - end
        assert not budget.ends_with([1.0, longest, 1.0], 3)
        clocks.now += left + 0.001
        assert budget.ends_with([1.0, longest, 1.0], 3) or longest == 2.0  # the load has grown meanwhile
        clocks.now -= left + 0.001


def test_a_number_of_rounds_has_no_deadline() -> None:
    clocks = Clocks()
    search = Clocked(clocks, 100.0, 2.0)
    Search.run(search, clocks.budget(None), 5, lambda done, total, note: None)  # type: ignore[arg-type]
    assert search.tried == list(range(5))


def test_outputs_are_the_mean_of_the_members() -> None:
    """Two series and two outputs, with the states of `ESN.run`, member by member and split by split."""
    rng = np.random.default_rng(0)
    u = [rng.normal(size=(count, 1)) for count in (90, 70)]
    y = [np.concatenate([np.tanh(each), np.roll(each, 1) ** 2], axis=1) for each in u]
    problem = as_problem(u, y, None, "standard")
    search = Search(Steps(problem), 0)
    for _ in range(2):
        search.run_round()
    # Not the best members, but some of both rounds, and two of the same lane.
    first = search.members[0][0]
    other = replace(first, round=1, lane=2, states=2 * first.coef)
    search.members = [[*members[:2], other, replace(other, states=-first.coef)] for members in search.members]
    for members, split, found in zip(search.members, problem.splits.splits, search.outputs(), strict=False):
        wanted = []
        for values, (low, high) in zip(problem.series.values, problem.splits.held_out(split), strict=True):
            each = []
            for member in members:
                esn, hyper, *_ = search.tried[member.round]
                states = esn.run(np.asarray(values), hyper=hyper.lane(member.lane))
                each.append(lagged(np.asarray(values), member.beside.lags) @ member.beside.coef.T + states @ member.coef.T)
                each[-1] += member.beside.intercept
            wanted.append(np.mean(each, axis=0)[low:high])
        np.testing.assert_allclose(found, np.concatenate(wanted), rtol=1e-9, atol=1e-9)


@pytest.fixture
def shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer steps are tuned than usual, for speed."""
    monkeypatch.setattr("echoscale.forecasting.search.LEAST_ROWS", 300)


@pytest.mark.usefixtures("shorter")
def test_tuning_finds_less_error_goes_on_and_knows_nothing_of_what_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks, "ROUNDS", ("spread",))
    u, y = es.tasks.narma(700, order=5, seed=0)
    found = []
    for more in (0.0, 1.0):
        problem = as_problem(u, y, None, None)
        first = int(problem.splits.held_out(problem.splits.splits[0])[0][0])
        later = np.arange(len(u)) >= first
        search = Search(Steps(as_problem(u, y + more * later[:, None] * y[::-1], None, None)), 0)
        turns = []
        for _ in range(4):
            turns.append(search.next_tuned())
            search.run_round()
        assert turns[:3] == [None, 0, None]
        assert turns[3] == min((1, 2), key=lambda number: search.tried[number].error)
        found.append(search)
    one, other = found
    assert [each.steps for each in one.tried] == [0, STEPS, 0, STEPS]
    assert one.rounds == 2 + 2 * STEPS
    assert one.tried[1].esn is one.tried[0].esn
    assert one.tried[1].error < 0.9 * one.tried[0].error
    for round_ in (1, 3):
        for leaves, same in zip(one.tried[round_].hyper, other.tried[round_].hyper, strict=True):
            for leaf, equal in zip(leaves, same, strict=True):
                np.testing.assert_allclose(leaf, equal, rtol=1e-6)


@pytest.mark.usefixtures("shorter")
def test_a_tuning_that_the_clock_stops_is_repeated_by_its_number_of_rounds() -> None:
    u, y = es.tasks.narma(400, order=5, seed=0)
    looks = iter([False, True])
    stopped, again = (Search(Steps(as_problem(u, y, None, None)), 0) for _ in range(2))
    stopped.suggest()
    stopped.run_round()
    stopped.run_round(late=lambda: next(looks))
    assert stopped.rounds == 3
    assert not stopped.tried[1].rests
    again.run(Budget(None), 3, lambda done, total, note: None)
    assert again.rounds == 3
    for one, other in zip(leaves_of(stopped, 1), leaves_of(again, 1), strict=True):
        np.testing.assert_array_equal(one, other)


def leaves_of(search: Search, number: int) -> list[np.ndarray]:
    return [leaf for leaves in search.tried[number].hyper for leaf in leaves]


@pytest.mark.usefixtures("shorter")
def test_labels_gaps_and_several_series_are_tuned_until_an_interruption_and_short_data_are_not() -> None:
    u, y = (np.ravel(each) for each in es.tasks.narma(600, order=5, seed=0))
    gap = np.where(np.arange(600) == 200, np.nan, y)
    cases: list[tuple[Any, Any]] = [
        (u, gap),
        (u, np.where(y > np.median(y), "high", "low")),
        ([u[:300, None], u[300:, None]], [y[:300], y[300:]]),
        (np.split(u[:, None], 20), np.split(y, 20)),  # whole series are held out
    ]
    for one, other in cases:
        search = Search(Steps(as_problem(one, other, None, None)), 0)
        search.run_round()
        search.run_round()
        assert search.tried[1].steps
        assert search.tried[1].hyper.lanes == BEST
        assert any(
            not np.isin(tuned, drawn).any() for tuned, drawn in zip(leaves_of(search, 1), leaves_of(search, 0), strict=True)
        )

    def interrupted() -> bool:
        raise KeyboardInterrupt

    again = Search(Steps(as_problem(u, gap, None, None)), 0)
    again.run_round()
    with pytest.raises(KeyboardInterrupt):
        again.run_round(late=interrupted)
    assert len(again.tried) == 1
    short = Search(Steps(as_problem(u[:300], y[:300], None, None)), 0)
    short.run_round()
    assert short.next_tuned() is None
