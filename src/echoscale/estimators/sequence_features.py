"""What a whole sequence is judged by: its last state, the mean of its states, or snapshots side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale.esn import ESN
from echoscale.series import Series, check_longer_than

Array = npt.NDArray[Any]

FEATURES = ("last", "mean", "snapshots")


def sequence_features(
    esn: ESN, series: Series, features: str, every: int | None, washout: int, state: npt.ArrayLike | None = None
) -> Array:
    """One row for every sequence: (B, N), or (B, snapshots N).

    Parameters
    ----------
    esn : ESN
        The network.
    series : Series
        The sequences.
    features : "last", "mean" or "snapshots"
        What they are judged by.
    every : int or None
        Steps between two snapshots.
    washout : int
        Steps at the start of every sequence that do not count in the mean.
    state : (N,) or (B, N), optional
        Where to start; zero unless given.
    """
    if features == "last":
        return esn.run_chunks(series, state=state)
    if features == "snapshots":
        if every is None:
            raise ValueError("features='snapshots' needs every=M, the steps between two snapshots.")
        return esn.snapshots(series, every, state=state).reshape(series.count, -1)
    check_longer_than(series, washout, "X")
    sums = np.zeros((series.count, esn.units))

    def add(lanes: Any, start: int, states: Any) -> None:
        rows = np.asarray(states)
        times = start + np.arange(len(rows))[:, None]
        live = (times >= washout) & (times < series.lengths[lanes])
        sums[lanes] += np.einsum("tbn,tb->bn", rows, live, dtype=np.float64)

    esn.run_chunks(series, add, state=state)
    return sums / (series.lengths - washout)[:, None]
