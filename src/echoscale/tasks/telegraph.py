"""Noisy telegraph of a volatile environment: a two-state signal whose odds a second, slower signal swaps (paper, Fig. 4).

    regime r:  0 <-> 1 with probability p3 a step
    state s:   1 -> 0 with probability p1 in regime 0 and p2 in regime 1;   0 -> 1 the other way round
    input:     u_t = s_t + noise * N(0, 1)

The state moves by the odds of the regime at the same step. With the paper's numbers, the state is 1 two thirds of the time in
regime 0. `telegraph_filter` is the ceiling of the task: the best causal observer of state, regime and both. The four hidden
states are the classes, 2 regime + state, and `hmm.forward` is their exact filter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.types import Floats, Labels
from echoscale.data.series import as_series
from echoscale.tasks import hmm

CLASSES = ("regime 0, state 0", "regime 0, state 1", "regime 1, state 0", "regime 1, state 1")
MEANS = np.array([0.0, 1.0, 0.0, 1.0])  # mean input of each class


class Telegraph(NamedTuple):
    """One telegraph series, or B series with a leading axis.

    Attributes
    ----------
    u : (T, 1) array
        Noisy input.
    state : (T,) array
        Fast signal without noise, 0 or 1.
    regime : (T,) array
        Slow signal, 0 or 1.
    """

    u: Floats
    state: Labels
    regime: Labels

    @property
    def joint(self) -> Labels:
        """State and regime as one of four classes, 2 regime + state, (T,); `CLASSES` names them."""
        both: Labels = 2 * self.regime + self.state
        return both


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
        """Probability P(state = 1) after every step, (..., T)."""
        both: Floats = self.joint[..., 1] + self.joint[..., 3]
        return both

    @property
    def regime(self) -> Floats:
        """Probability P(regime = 1) after every step, (..., T)."""
        both: Floats = self.joint[..., 2] + self.joint[..., 3]
        return both

    @property
    def decisions(self) -> dict[str, Labels]:
        """Bayes decisions for "state", "regime" and "joint", each (..., T): the decisions with the fewest errors on average."""
        return {
            "state": (self.state > 0.5).astype(np.int8),
            "regime": (self.regime > 0.5).astype(np.int8),
            "joint": self.joint.argmax(axis=-1).astype(np.int8),
        }

    def accuracies(self, truth: Telegraph, washout: int = 0) -> dict[str, float]:
        """Share of correct decisions: no causal model is better on average.

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


def telegraph(
    length: int,
    seed: int = 0,
    *,
    sequences: int | None = None,
    noise: npt.ArrayLike = 0.5,
    p1: npt.ArrayLike = 0.05,
    p2: npt.ArrayLike = 0.1,
    p3: float = 0.0005,
) -> Telegraph:
    """Noisy telegraph: infer a two-state signal s, whose odds a second, slower signal r swaps (paper, Fig. 4).

        input:     u_t = s_t + noise N(0, 1)
        regime r:  0 <-> 1 with probability p3 per step
        state s:   1 -> 0 with probability p1 in regime 0 and p2 in regime 1;   0 -> 1 the other way round

    The series starts from the stationary process.

    Parameters
    ----------
    length : int
        Number of steps T.
    seed : int
        Random seed.
    sequences : int or None
        Number of series B; None: one series without a leading axis.
    noise : float or (T,)
        Standard deviation of the noise.
    p1, p2 : float or (T,)
        Probability per step that the state goes from 1 to 0 in regime 0 and in regime 1; from 0 to 1 the other way round.
    p3 : float
        Probability per step that the regime changes.

    Returns
    -------
    Telegraph
        Input, state and regime. Values that change in time come from `schedule`.

    Examples
    --------
    >>> import echoscale as es
    >>> found = es.tasks.telegraph(1000, seed=1, noise=es.tasks.schedule((500, 0.5), (500, 1.0)))
    >>> found.u.shape, found.state.shape
    ((1000, 1), (1000,))
    """
    length = checks.integer(length, "length", minimum=1)
    count = 1 if sequences is None else checks.integer(sequences, "sequences", minimum=1)
    rng = np.random.default_rng(checks.integer(seed, "seed"))
    odds = Odds.checked(p1, p2, p3, length)
    spread = in_time(noise, "noise", length, standard_deviation)
    regime = _regimes(rng, count, length, odds.p3)
    state = _states(rng, regime, odds)
    # In place: ten million steps are 80 MB an array.
    u = rng.standard_normal((count, length))
    u *= spread
    u += state
    found = Telegraph(u[..., None], state, regime)
    return found if sequences is not None else Telegraph(*(each[0] for each in found))


def schedule(*phases: tuple[int, float]) -> Floats:
    """Schedule of a parameter that changes in time: one value per step, from phases of constant value.

    Parameters
    ----------
    *phases : (steps, value)
        Length and value of each phase.

    Returns
    -------
    (T,) array
        One value for each of the T steps of all phases.

    Examples
    --------
    >>> import echoscale as es
    >>> es.tasks.schedule((2, 1.0), (3, 1.5))
    array([1. , 1. , 1.5, 1.5, 1.5])
    """
    if not phases:
        raise ValueError("a schedule needs at least one phase, (steps, value).")
    for phase in phases:
        if not isinstance(phase, tuple | list) or len(phase) != 2:
            raise TypeError(f"a phase of a schedule is (steps, value), got {phase!r}.")
    steps = [checks.integer(each, "the steps of a phase", minimum=1) for each, _ in phases]
    return np.repeat([checks.number(value, "the value of a phase") for _, value in phases], steps)


def telegraph_filter(
    u: npt.ArrayLike,
    *,
    noise: npt.ArrayLike = 0.5,
    p1: npt.ArrayLike = 0.05,
    p2: npt.ArrayLike = 0.1,
    p3: float = 0.0005,
    start: npt.ArrayLike | None = None,
) -> Posterior:
    """Best causal observer of the telegraph's state and regime: the exact P(class_t | u_1..u_t) after every step.

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
        raise ValueError("series that are filtered together must have one length: give u as (B, T, 1), not as a list.")
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


class Odds(NamedTuple):
    """p1 and p2, a number or one per step (T,), and p3; checked."""

    p1: Floats
    p2: Floats
    p3: float

    @classmethod
    def checked(cls, p1: npt.ArrayLike, p2: npt.ArrayLike, p3: float, length: int) -> Odds:
        """Checked odds: each in [0, 1], and values that change in time cover the series."""
        return cls(
            in_time(p1, "p1", length, probability),
            in_time(p2, "p2", length, probability),
            probability(p3, "p3"),
        )

    def up_at_first(self) -> float:
        """P(state = 1 | regime = 0) at the first step, from the stationary process of its odds.

        q = m (1 - p1) + (1 - m) p2  with  m = (1 - p3) q + p3 (1 - q); in regime 1 it is 1 - q.
        """
        p1, p2 = (float(each.flat[0]) for each in (self.p1, self.p2))
        hold = 1 - p1 - p2
        below = 1 - (1 - 2 * self.p3) * hold
        # If nothing changes, or everything at every step: 1/2. Rounding must not give more than 1.
        return min((p2 + self.p3 * hold) / below, 1.0) if below > 0 else 0.5


def probability(value: object, name: str) -> float:
    """A number in [0, 1]."""
    result = checks.number(value, name)
    if not 0 <= result <= 1:
        raise ValueError(f"{name} must lie in [0, 1], got {result}: it is a probability per step.")
    return result


def standard_deviation(value: object, name: str) -> float:
    """A number >= 0."""
    return checks.non_negative(value, name, "It is a standard deviation.")


def in_time(values: npt.ArrayLike, name: str, length: int, check: Callable[[object, str], float]) -> Floats:
    """One value () or one for every step (length,), each checked."""
    given = np.asarray(values)
    if given.ndim == 0:
        return np.asarray(check(values if np.isscalar(values) else given.item(), name))
    if given.dtype.kind not in "iuf" or given.shape != (length,):
        raise ValueError(
            f"{name} must be a number or one for every step, ({length},); got shape {given.shape} of {given.dtype}. "
            "A schedule must have the length of the series."
        )
    for value in (given.min(), given.max(), *given[~np.isfinite(given)][:1]):
        check(value.item(), name)
    return given.astype(np.float64)


def _regimes(rng: np.random.Generator, count: int, length: int, p3: float) -> Labels:
    """(B, T): 0 or 1 at first, then the parity of the changes."""
    changes = rng.random((count, length)) < p3
    changes[:, 0] = rng.random(count) < 0.5
    return (np.cumsum(changes, axis=1, dtype=np.int32) & 1).astype(np.int8)


def _states(rng: np.random.Generator, regime: Labels, odds: Odds) -> Labels:
    """(B, T), without a loop over the steps.

    With one uniform number x a step, the next state is 1 if x < P(0 -> 1) from state 0, and if x < 1 - P(1 -> 0) from state 1.
    Below both bounds the state is set to 1, above both to 0. Between them it stays, or changes if the bounds are crossed. So a
    state is the value at the last step that set it, plus the parity of the changes since.
    """
    down, up = odds.p1, odds.p2
    rises = np.where(regime, down, up)  # P(0 -> 1) is p2 in regime 0 and p1 in regime 1
    keeps = 1 - np.where(regime, up, down)
    x = rng.random(regime.shape)
    at_first = odds.up_at_first()
    rises[:, 0] = keeps[:, 0] = np.where(regime[:, 0], 1 - at_first, at_first)  # sets the first state
    from_down, from_up = x < rises, x < keeps
    steps = np.arange(regime.shape[1], dtype=np.int32)
    last_set = np.maximum.accumulate(np.where(from_down == from_up, steps, 0), axis=1)
    flips = np.cumsum(from_down & ~from_up, axis=1, dtype=np.int32)
    set_to = np.take_along_axis(from_down, last_set, axis=1)
    since = flips - np.take_along_axis(flips, last_set, axis=1)
    states: Labels = (set_to ^ (since & 1).astype(bool)).astype(np.int8)
    return states


def _stationary(odds: Odds) -> Floats:
    q = odds.up_at_first()
    return np.array([1 - q, q, q, 1 - q]) / 2


def _start(start: npt.ArrayLike, series: int) -> Floats:
    given = np.asarray(start, np.float64)
    if given.shape not in ((4,), (series, 4)) or not (given >= 0).all() or (np.abs(given.sum(axis=-1) - 1) > 1e-6).any():
        raise ValueError(f"start must hold the probabilities of the four classes, (4,) or ({series}, 4), got {start!r}.")
    return given
