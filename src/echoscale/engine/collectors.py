"""Consumers that put the states of a run, handed on chunk by chunk, into arrays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from echoscale.engine.lanes import Indices
from echoscale.series import Series

if TYPE_CHECKING:
    from echoscale.engine.feed import Consumer

Array = npt.NDArray[Any]


def into_array(series: Series, shape: tuple[int, ...], units: int, dtype: str, every: int = 1) -> tuple[Array, Consumer]:
    """An array (*shape, T // every, N) for series of one length, and the consumer that fills it.

    Parameters
    ----------
    series : Series
        The inputs.
    shape : tuple of int
        The axes of lanes and series.
    units : int
        N.
    dtype : str
        Of the states.
    every : int
        Steps from one state that is handed on to the next.
    """
    states = np.empty((math.prod(shape), int(series.lengths[0]) // every, units), dtype)

    def collect(lanes: Indices, start: int, chunk: Any) -> None:
        states[lanes, start // every : start // every + len(chunk)] = np.asarray(chunk).swapaxes(0, 1)

    return states.reshape(*shape, *states.shape[1:]), collect


def into_list(series: Series, shape: tuple[int, ...], units: int, dtype: str) -> tuple[list[Array], Consumer]:
    """One array (*shape, T_b, N) for every series, and the consumer that fills them.

    Parameters
    ----------
    series : Series
        The inputs.
    shape : tuple of int
        The axis of lanes, or none.
    units : int
        N.
    dtype : str
        Of the states.
    """
    states = [np.empty((*shape, int(length), units), dtype) for length in series.lengths]

    def collect(lanes: Indices, start: int, chunk: Any) -> None:
        rows = np.asarray(chunk)
        for place, (hyper_lane, b) in enumerate(zip(*np.divmod(lanes, series.count), strict=True)):
            target = states[b][(hyper_lane,) if shape else ()][start : start + len(rows)]
            target[:] = rows[: len(target), place]

    return states, collect
