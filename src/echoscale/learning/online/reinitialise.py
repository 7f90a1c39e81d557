"""When the readout begins anew: a readout that has settled holds the learned hyper-parameters where they are.

The paper re-initialises W_out whenever the leak rates have settled, and stops when they no longer change from one time to the
next. `Reinitialise` does that for every start by itself, at fixed steps, so that a run can be repeated and resumed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.types import Floats


@dataclass(frozen=True)
class Reinitialise:
    """Reset W_out and its moments at every look; a start has converged where |theta - theta at its last reset| < tolerance.

    A converged start is frozen, and its readout learns on.

    Parameters
    ----------
    every : int or None
        Number of steps between resets; None: reset whenever the hyper-parameters have settled.
    window : int
        Settled: they moved less than `tolerance` over this many steps. Not used with `every`.
    tolerance : float
        Converged: they moved less than this since the last reset. 0 never converges.

    Examples
    --------
    >>> from echoscale.learning import Reinitialise
    >>> Reinitialise(every=1000).period, Reinitialise().period
    (1000, 50000)
    """

    every: int | None = None
    window: int = 50_000
    tolerance: float = 0.01

    def __post_init__(self) -> None:
        if self.every is not None:
            checks.integer(self.every, "every", minimum=1)
        checks.integer(self.window, "window", minimum=1)
        checks.non_negative(self.tolerance, "tolerance", "0 never converges.")

    @property
    def period(self) -> int:
        """Steps between two looks at the learned hyper-parameters."""
        return self.every or self.window


class ProtocolMemory(NamedTuple):
    """Values of every start at the last look and at the last reset (P, S), NaN before; resets (S,); converged (S,)."""

    last: Any
    mark: Any
    resets: Any
    converged: Any


def init(learned: int, starts: int) -> ProtocolMemory:
    """Nothing looked at yet."""
    return ProtocolMemory(
        np.full((learned, starts), np.nan),
        np.full((learned, starts), np.nan),
        np.zeros(starts, np.int64),
        np.zeros(starts, bool),
    )


def look(protocol: Reinitialise, memory: ProtocolMemory, values: Floats) -> tuple[ProtocolMemory, npt.NDArray[np.bool_]]:
    """After another period: what is remembered now, and which starts (S,) begin a new readout."""

    def near(before: Floats) -> npt.NDArray[np.bool_]:  # False before there was anything
        return np.asarray((np.abs(values - before) < protocol.tolerance).all(axis=0))

    due = np.ones(values.shape[1], bool) if protocol.every else near(memory.last)
    done = due & near(memory.mark)
    converged = memory.converged | done
    reset = due & ~converged
    mark = np.where(reset, values, memory.mark)
    return ProtocolMemory(values.copy(), mark, memory.resets + reset, converged), reset
