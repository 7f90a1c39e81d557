"""Columns of a readout beside the states: products of states, and the last inputs.

    x(t), x_i(t) x_j(t) of some pairs (i, j), u(t), u(t-1), ..., u(t - inputs + 1)

A linear readout of x = tanh(...) has few even terms of the inputs; products of two states supply them. Inputs before the start
of a series are 0 in units of the network. A readout of several inputs needs the last inputs to continue a stream, so they are
part of the state.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import isqrt
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.types import Array, Indices
from echoscale.data.lags import lagged, latest
from echoscale.data.series import Series
from echoscale.engine.esn import ESN

Pairs = npt.NDArray[np.int32]

STREAM = 8  # spawn key of the pairs under the seed; the keys before it draw weights
# With inputs=None: the largest number of inputs, and the smallest number of steps for each column of inputs.
RECENT, STEPS_PER_INPUT = 13, 5


@dataclass(frozen=True)
class Columns:
    """Columns that a readout sees beside the states x(t): recent inputs, squares and products of states.

        x(t),  x_i(t)^2,  x_i(t) x_j(t),  u(t), u(t-1), ...

    Parameters
    ----------
    inputs : int or None
        Number of recent inputs u(t), u(t-1), ..., newest first. Inputs before the start of a series are 0, in units of the
        network. None: at most 13, and few enough that there are five steps after the washout for each column of inputs, but at
        least 1. A stream of `partial_fit`, whose length is not known, has 13.
    squares : bool, default False
        Whether the squares of all states are columns.
    products : int, default 0
        Number of products of two different states. The seed of the network draws the pairs.

    Examples
    --------
    >>> import echoscale as es
    >>> es.readouts.Columns(inputs=2, squares=True)
    Columns(inputs=2, squares=True, products=0)
    """

    inputs: int | None = None
    squares: bool = False
    products: int = 0

    def __post_init__(self) -> None:
        if self.inputs is not None:
            checks.integer(self.inputs, "inputs, the number of inputs that a readout sees,")
        if not isinstance(self.squares, bool | np.bool_):
            raise TypeError(f"squares must be True or False, got {self.squares!r}.")
        checks.integer(self.products, "products")

    def settled(self, lengths: Indices, features: int, washout: int | None) -> Columns:
        """Returns the same columns, with the number of inputs set if it was left open.

        Parameters
        ----------
        lengths : (B,)
            Number of steps of every series.
        features : int
            Number of inputs of the network.
        washout : int or None
            Number of steps that are not counted. None: a stream, whose length is not known.
        """
        if self.inputs is not None:
            return self
        if washout is None:
            return replace(self, inputs=RECENT)
        return replace(self, inputs=max(min(RECENT, int((lengths - washout).sum()) // (STEPS_PER_INPUT * features)), 1))

    def pairs(self, esn: ESN) -> Pairs:
        """Returns the neurons (i, j) of all products, (P, 2), with the squares first.

        Parameters
        ----------
        esn : ESN
            Network.
        """
        return _pairs(esn.units, bool(self.squares), self.products, esn.seed)

    def width(self, esn: ESN) -> int:
        """Returns the number of all columns, states included.

        Parameters
        ----------
        esn : ESN
            Network.
        """
        return self.width_of_states(esn) + self._inputs * esn.columns

    def width_of_states(self, esn: ESN) -> int:
        """Returns the number of states and products.

        Parameters
        ----------
        esn : ESN
            Network.
        """
        return esn.units + len(self.pairs(esn))

    def past(self, esn: ESN) -> int:
        """Returns the number of past inputs that are part of the state, beside the states of the network.

        Parameters
        ----------
        esn : ESN
            Network.
        """
        return max(self._inputs - 1, 0) * esn.columns

    def of_states(self, states: Any, esn: ESN) -> Any:
        """Returns states and their products, (..., N + P), in float64, where the product of two float32 numbers is exact.

        Parameters
        ----------
        states : (..., N)
            States of the network.
        esn : ESN
            Network.
        """
        pairs = self.pairs(esn)
        if not len(pairs):
            return states
        arrays: Any = np if isinstance(states, np.ndarray) else jnp
        with jax.enable_x64(True):
            wide = arrays.asarray(states, np.float64)
            return arrays.concatenate([wide, wide[..., pairs[:, 0]] * wide[..., pairs[:, 1]]], axis=-1)

    def of_inputs(self, series: Series, before: Array | None = None, targets: Series | None = None) -> list[Array]:
        """Returns the columns of inputs and targets, (T_b, inputs C + O) for every series.

        Row t holds u(t), u(t-1), ..., u(t - inputs + 1), then the targets.

        Parameters
        ----------
        series : Series
            Inputs, in units of the network.
        before : (B, past), optional
            Inputs before the first step, newest first; 0 by default.
        targets : Series, optional
            Columns beside the inputs.
        """
        past = [None] * series.count if before is None else list(before)
        ends = [None] * series.count if targets is None else list(targets.values)
        return [lagged(u, range(self._inputs), *other) for u, *other in zip(series.values, past, ends, strict=True)]

    def split(self, state: npt.ArrayLike | None, series: Series, esn: ESN) -> tuple[Any, Array | None]:
        """Splits a state into the states of the network and the recent inputs (B, `past`), if there are any.

        Parameters
        ----------
        state : (N + past,) or (B, N + past), or None
            State at the start of a series.
        series : Series
            Series that starts there.
        esn : ESN
            Network.
        """
        extra = self.past(esn)
        if state is None or not extra:
            return state, None
        given = np.asarray(state)
        wanted = (esn.units + extra,) if series.kind == "one" else (series.count, esn.units + extra)
        if given.shape not in (wanted, wanted[-1:]):
            raise ValueError(
                f"state must have shape {wanted}, got {given.shape}: {esn.units} states, then {self._inputs - 1} recent "
                f"inputs, since the readout sees {self.inputs} inputs."
            )
        if not np.isfinite(given).all():
            raise ValueError("state must be finite: give one that fit or predict made.")
        return given[..., : esn.units], np.broadcast_to(given[..., esn.units :], (series.count, extra))

    def joined(self, last: Array, series: Series, before: Array | None) -> Array:
        """Joins the last states and the recent inputs after a series, newest first; the inverse of `split`.

        Parameters
        ----------
        last : (N,), (B, N) or (H, B, N)
            States after the last step.
        series : Series
            Series that ended there.
        before : (B, past) or None
            Inputs before the first step of the series.
        """
        if self._inputs <= 1:
            return last
        past = [None] * series.count if before is None else list(before)
        inputs = [latest(u, self._inputs - 1, first).ravel() for u, first in zip(series.values, past, strict=True)]
        recent = inputs[0] if series.kind == "one" else np.stack(inputs)
        return np.concatenate([last, np.broadcast_to(recent, (*last.shape[:-1], recent.shape[-1]))], axis=-1)

    @property
    def _inputs(self) -> int:
        if self.inputs is None:
            raise ValueError("inputs=None is for estimators, which set the number of inputs by the length of the data.")
        return int(self.inputs)


# The states alone.
STATES = Columns(0)


@lru_cache(maxsize=16)
def _pairs(units: int, squares: bool, products: int, seed: int) -> Pairs:
    """(P, 2): first all squares, then drawn pairs i < j, none of them twice."""
    there = units * (units - 1) // 2
    if products > there:
        raise ValueError(f"products={products} is above the {there} pairs that {units} neurons have.")
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(STREAM,)))
    drawn: dict[int, None] = {}
    while len(drawn) < products:
        drawn |= dict.fromkeys(rng.integers(there, size=max(2 * products, 64)).tolist())
    # Pair number k in the order (0, 1), (0, 2), (1, 2), (0, 3), ...: j (j - 1) / 2 pairs come before those of j.
    second = [(isqrt(8 * k + 1) + 1) // 2 for k in list(drawn)[:products]]
    first = [k - j * (j - 1) // 2 for k, j in zip(drawn, second, strict=False)]
    own = np.arange(units if squares else 0)
    found = np.concatenate([np.stack([own, own], axis=1), np.array([first, second], np.int64).T.reshape(-1, 2)]).astype(
        np.int32
    )
    found.setflags(write=False)
    return found
