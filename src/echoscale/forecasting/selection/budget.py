"""Whether another round fits into the time that is left: wall time of the next round, and of the end that follows it.

    now + next round + end <= deadline,   next round = ROUND max(longest, last g),   g = last / the one before, between 1 and 2
    end = networks max(FINISH longest, FINISH_SECONDS load)

load is wall time over processor time so far. It is above 1 where other programs use the processors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

# A round may be longer than those before it; a round of tuning compiles gradients.
ROUND, GROWTH, TUNING = 1.3, 2.0, 2.0
# The end, for every network in use: a share of a round, but at least the seconds of a compilation on an idle machine.
FINISH, FINISH_SECONDS = 0.25, 0.6


@dataclass(frozen=True)
class Budget:
    """A deadline, and the clocks that it is measured by.

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

    def ends_with(self, rounds: Sequence[float], networks: int, *, tuning: bool = False) -> bool:
        """Whether there is no time for another round and the end."""
        if self.seconds is None or not rounds:
            return False
        coming = next_round(rounds) * (TUNING if tuning else 1.0)
        # The next round may bring another network into use.
        end = (networks + 1) * max(FINISH * max(rounds), FINISH_SECONDS * self.load)
        return self.spent + coming + end > self.seconds


def next_round(rounds: Sequence[float]) -> float:
    """Seconds that the next round may take."""
    last = rounds[-1]
    growth = last / rounds[-2] if len(rounds) > 1 and rounds[-2] > 0 else 1.0
    return ROUND * max(*rounds, last * min(max(growth, 1.0), GROWTH), 0.0)
