"""Re-initialisation of the readout: once the readout has converged, it keeps the hyper-parameters near their current values.

The paper re-initialises W_out whenever the leak rates have settled, and stops when they no longer change from one reset to the
next. `Reinitialise` does this for every start independently, at fixed steps, so that runs can be repeated and resumed.
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
    """Protocol of an `OnlineLearner` that resets W_out until the hyper-parameters theta no longer change between resets.

        converged:   |theta - theta at the last reset| < tolerance

    In a converged start the hyper-parameters are frozen, and the readout continues to learn.

    Parameters
    ----------
    every : int or None
        Number of steps between resets; None: reset whenever theta has settled.
    window : int
        Number of steps over which theta must change by less than `tolerance` to count as settled. Not used with `every`.
    tolerance : float
        Largest change of theta that counts as none. With 0 no start converges.

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
        """Number of steps between two checks of the learned hyper-parameters."""
        return self.every or self.window


class ProtocolMemory(NamedTuple):
    """Values of every start at the last check and at the last reset (P, S), NaN before; resets (S,); converged (S,)."""

    last: Any
    mark: Any
    resets: Any
    converged: Any


def init(learned: int, starts: int) -> ProtocolMemory:
    """Memory before the first check."""
    return ProtocolMemory(
        np.full((learned, starts), np.nan),
        np.full((learned, starts), np.nan),
        np.zeros(starts, np.int64),
        np.zeros(starts, bool),
    )


def look(protocol: Reinitialise, memory: ProtocolMemory, values: Floats) -> tuple[ProtocolMemory, npt.NDArray[np.bool_]]:
    """After another period: the new memory, and whether each start (S,) resets its readout."""

    def near(before: Floats) -> npt.NDArray[np.bool_]:  # False before the first check
        return np.asarray((np.abs(values - before) < protocol.tolerance).all(axis=0))

    due = np.ones(values.shape[1], bool) if protocol.every else near(memory.last)
    done = due & near(memory.mark)
    converged = memory.converged | done
    reset = due & ~converged
    mark = np.where(reset, values, memory.mark)
    return ProtocolMemory(values.copy(), mark, memory.resets + reset, converged), reset
