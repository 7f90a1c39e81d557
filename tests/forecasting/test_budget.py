"""The budget of time, by a clock that moves only when a round is played."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from echoscale.forecasting.search import FINISH_SECONDS, Budget, Search, next_round


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
class Played:
    """Rounds that take time and do nothing; each brings a network into use."""

    clocks: Clocks
    first: float
    growth: float
    tuning: float = 0.0
    tried: list[int] = field(default_factory=list)
    members: list[list[Any]] = field(default_factory=lambda: [[]])
    steps: Any = field(default_factory=lambda: SimpleNamespace(problem=SimpleNamespace(rows=10_000)))

    def tunes_next(self) -> bool:
        return self.tuning > 0 and len(self.tried) == 6

    def run_round(self, late: Any) -> None:
        number = len(self.tried)
        self.clocks.work(self.tuning if self.tunes_next() else self.first * self.growth**number)
        self.tried.append(number)
        self.members[0].append(SimpleNamespace(round=number, error=1.0))


@pytest.mark.parametrize("share", [1.0, 0.25])
@pytest.mark.parametrize(("first", "growth"), [(0.5, 1.0), (3.0, 1.0), (0.5, 1.25), (1.0, 1.8), (2.0, 0.8)])
@pytest.mark.parametrize("seconds", [20.0, 60.0, 200.0])
@pytest.mark.parametrize("tuning", [0.0, 3.0])
def test_all_ends_within_the_budget(seconds: float, first: float, growth: float, share: float, tuning: float) -> None:
    clocks = Clocks(share)
    budget, played = clocks.budget(seconds), Played(clocks, first, growth, tuning)
    clocks.work(1.0)  # reading the data
    Search.run(played, budget, None, lambda done, total, note: None)  # type: ignore[arg-type]
    clocks.work(FINISH_SECONDS * len(played.tried))
    assert budget.spent <= max(1.2 * seconds, (1.0 + first + FINISH_SECONDS) / share), "one round is played in any case"
    if 0.8 <= growth <= 1.0 and len(played.tried) < 40:
        assert budget.spent > 0.5 * seconds, "time is left that another round would have used"


def test_rounds_that_get_longer_are_foreseen() -> None:
    assert next_round([2.0]) == pytest.approx(1.3 * 2)
    assert next_round([4.0, 1.0, 1.0]) == pytest.approx(1.3 * 4)
    assert next_round([1.0, 1.5]) == pytest.approx(1.3 * 1.5**2)
    assert next_round([1.0, 9.0]) == pytest.approx(1.3 * 2 * 9), "one slow round is no trend"


def test_a_number_of_rounds_has_no_deadline() -> None:
    clocks = Clocks()
    played = Played(clocks, 100.0, 2.0)
    Search.run(played, clocks.budget(None), 5, lambda done, total, note: None)  # type: ignore[arg-type]
    assert played.tried == list(range(5))
