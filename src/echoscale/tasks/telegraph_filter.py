"""The ceiling of the telegraph task: the best causal observer of state, regime and both, on the same series.

The four hidden states are the classes of `telegraph`, 2 regime + state; `hmm.forward` is their exact filter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.types import Floats, Labels
from echoscale.data.series import as_series
from echoscale.tasks import hmm
from echoscale.tasks.telegraph import Odds, Telegraph, in_time, standard_deviation

MEANS = np.array([0.0, 1.0, 0.0, 1.0])


class Posterior(NamedTuple):
    """Probabilities of the four classes, 2 regime + state, after every step: P(class | u_1..u_t).

    Attributes
    ----------
    joint : (..., T, 4) array
        Probabilities of the classes after every step, given all inputs up to this step.
    """

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
        """The Bayes decisions for "state", "regime" and "joint", each (..., T): on average right most often."""
        return {
            "state": (self.state > 0.5).astype(np.int8),
            "regime": (self.regime > 0.5).astype(np.int8),
            "joint": self.joint.argmax(axis=-1).astype(np.int8),
        }

    def accuracies(self, truth: Telegraph, washout: int = 0) -> dict[str, float]:
        """Share of right decisions: no causal model does better on average.

        Parameters
        ----------
        truth : Telegraph
            The series with its labels.
        washout : int
            Number of steps at the start that are left out.
        """
        if truth.joint.shape != self.joint.shape[:-1]:
            raise ValueError(f"the posterior has the shape {self.joint.shape[:-1]}, the truth {truth.joint.shape}.")
        if checks.integer(washout, "washout") >= self.joint.shape[-2]:
            raise ValueError(f"washout={washout} leaves none of the {self.joint.shape[-2]} steps.")
        return {name: float((found == getattr(truth, name))[..., washout:].mean()) for name, found in self.decisions.items()}


def telegraph_filter(
    u: npt.ArrayLike,
    *,
    noise: npt.ArrayLike = 0.5,
    p1: npt.ArrayLike = 0.05,
    p2: npt.ArrayLike = 0.1,
    p3: float = 0.0005,
    start: npt.ArrayLike | None = None,
) -> Posterior:
    """The best causal observer of state and regime: the exact P(class_t | u_1..u_t) after every step.

    Parameters
    ----------
    u : (T, 1), (T,) or (B, T, 1)
        Inputs, as `telegraph` makes them.
    noise : float or (T,)
        Standard deviation of the noise.
    p1, p2 : float or (T,)
        Probability per step that the state goes from 1 to 0 in regime 0 and in regime 1; from 0 to 1 the other way round.
    p3 : float
        Probability per step that the regime changes.
    start : (4,), (B, 4) or None
        Probabilities one step before u begins, to continue a stream (`posterior.joint[..., -1, :]`); None: the stationary
        process.

    Returns
    -------
    Posterior

    Examples
    --------
    >>> import echoscale as es
    >>> found = es.tasks.telegraph(1000, noise=0.0)
    >>> es.tasks.telegraph_filter(found.u, noise=0.0).accuracies(found)["state"]
    1.0
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
    """Transition probabilities P(class j | class i) of the telegraph: first the regime moves, then the state by its new odds.

    Parameters
    ----------
    p1, p2 : float
        Probability per step that the state goes from 1 to 0 in regime 0 and in regime 1; from 0 to 1 the other way round.
    p3 : float
        Probability per step that the regime changes.

    Returns
    -------
    (4, 4) array
        Row i, column j: the probability of class j one step after class i, with class = 2 regime + state.

    Examples
    --------
    >>> import echoscale as es
    >>> es.tasks.transitions(p1=0.1, p2=0.3, p3=0.0).round(2)
    array([[0.7, 0.3, 0. , 0. ],
           [0.1, 0.9, 0. , 0. ],
           [0. , 0. , 0.9, 0.1],
           [0. , 0. , 0.3, 0.7]])
    """
    regime = np.array([[1 - p3, p3], [p3, 1 - p3]])
    state = np.array([[[1 - p2, p2], [p1, 1 - p1]], [[1 - p1, p1], [p2, 1 - p2]]])  # (new regime, from, to)
    return np.asarray(np.einsum("rq,qst->rsqt", regime, state)).reshape(4, 4)


def _stationary(odds: Odds) -> Floats:
    q = odds.up_at_first()
    return np.array([1 - q, q, q, 1 - q]) / 2


def _start(start: npt.ArrayLike, series: int) -> Floats:
    given = np.asarray(start, np.float64)
    if given.shape not in ((4,), (series, 4)) or not (given >= 0).all() or (np.abs(given.sum(axis=-1) - 1) > 1e-6).any():
        raise ValueError(f"start must hold the probabilities of the four classes, (4,) or ({series}, 4), got {start!r}.")
    return given
