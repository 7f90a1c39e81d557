"""The ceiling of the telegraph task: the best causal observer of state, regime and both, on the same series.

The four hidden states are the classes of `telegraph`, 2 regime + state; `hmm.forward` is their exact filter.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale import _checks
from echoscale.series import as_series
from echoscale.tasks import hmm
from echoscale.tasks.telegraph import Odds, Telegraph, in_time, standard_deviation

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int8]

MEANS = np.array([0.0, 1.0, 0.0, 1.0])


class Posterior(NamedTuple):
    """Probabilities (..., T, 4) of the four classes after every step, given the inputs up to and with it."""

    joint: Floats

    @property
    def state(self) -> Floats:
        """P(state = 1), (..., T)."""
        both: Floats = self.joint[..., 1] + self.joint[..., 3]
        return both

    @property
    def regime(self) -> Floats:
        """P(regime = 1), (..., T)."""
        both: Floats = self.joint[..., 2] + self.joint[..., 3]
        return both

    @property
    def decisions(self) -> dict[str, Labels]:
        """The Bayes decisions for "state", "regime" and "joint", each (..., T): right more often than any others can be."""
        return {
            "state": (self.state > 0.5).astype(np.int8),
            "regime": (self.regime > 0.5).astype(np.int8),
            "joint": self.joint.argmax(axis=-1).astype(np.int8),
        }

    def accuracies(self, truth: Telegraph, washout: int = 0) -> dict[str, float]:
        """How often the decisions are right after the washout: the ceiling of every model on this very series."""
        if truth.joint.shape != self.joint.shape[:-1]:
            raise ValueError(f"the posterior is that of {self.joint.shape[:-1]} steps, the truth has {truth.joint.shape}.")
        if _checks.integer(washout, "washout") >= self.joint.shape[-2]:
            raise ValueError(f"washout={washout} leaves none of the {self.joint.shape[-2]} steps.")
        return {name: float((found == getattr(truth, name))[..., washout:].mean()) for name, found in self.decisions.items()}


def telegraph_filter(
    u: Any, *, noise: Any = 0.5, p1: Any = 0.05, p2: Any = 0.1, p3: float = 0.0005, start: Any = None
) -> Posterior:
    """What is known of the four classes after every step of u, (T, 1), (T,) or (B, T, 1); noise and odds as in `telegraph`.

    start  (4,) or (B, 4): what was known one step before u begins, to carry on a stream (`posterior.joint[..., -1, :]`); the
           stationary process unless given
    """
    series = as_series(u, 1, dtype=np.float64)
    if series.kind == "list":
        raise ValueError("series that are filtered together have one length: give u as (B, T, 1), not as a list.")
    values = np.asarray(series.values)[..., 0]
    length = values.shape[1]
    odds = Odds.checked(p1, p2, p3, length)
    pairs = np.stack(np.broadcast_arrays(np.broadcast_to(odds.p1, length), odds.p2), axis=1)
    distinct, which = np.unique(pairs, axis=0, return_inverse=True)
    table = np.stack([transitions(down, up, odds.p3) for down, up in distinct])
    first = _start(start, len(values)) @ table[which.flat[0]] if start is not None else _stationary(odds)
    spread = in_time(noise, "noise", length, standard_deviation)
    found = hmm.forward(values, MEANS, spread, table, first, which.ravel())
    return Posterior(found if series.kind == "batch" else found[0])


def transitions(p1: float, p2: float, p3: float) -> Floats:
    """P(class j | class i), (4, 4): the regime moves, then the state by the odds of the new regime."""
    regime = np.array([[1 - p3, p3], [p3, 1 - p3]])
    state = np.array([[[1 - p2, p2], [p1, 1 - p1]], [[1 - p1, p1], [p2, 1 - p2]]])  # (new regime, from, to)
    return np.asarray(np.einsum("rq,qst->rsqt", regime, state)).reshape(4, 4)


def _stationary(odds: Odds) -> Floats:
    q = odds.up_at_first()
    return np.array([1 - q, q, q, 1 - q]) / 2


def _start(start: Any, series: int) -> Floats:
    given = np.asarray(start, np.float64)
    if given.shape not in ((4,), (series, 4)) or not (given >= 0).all() or (np.abs(given.sum(axis=-1) - 1) > 1e-6).any():
        raise ValueError(f"start must hold the probabilities of the four classes, (4,) or ({series}, 4), got {start!r}.")
    return given
