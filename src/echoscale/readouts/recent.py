"""The last inputs beside the states: u(t), u(t-1), ..., u(t - direct + 1), newest first; 0 before the start.

A readout that sees `direct` of them needs the last direct - 1 to carry on a stream: they are part of its state.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def windows(inputs: Array, direct: int, before: Array | None = None) -> Array:
    """(T, direct F): row t holds u(t), u(t-1), ..., u(t - direct + 1).

    Parameters
    ----------
    inputs : (T, F)
        u.
    direct : int
        How many.
    before : ((direct - 1) F,), optional
        The inputs before the first, newest first; 0 unless given.
    """
    if direct <= 1:
        return inputs[:, : direct * inputs.shape[1]]
    view = np.lib.stride_tricks.sliding_window_view(
        _padded(inputs, direct, before), direct, axis=0
    )  # (T, F, direct), oldest first
    return view[..., ::-1].transpose(0, 2, 1).reshape(len(inputs), -1)


def carried(inputs: Array, direct: int, before: Array | None = None) -> Array:
    """((direct - 1) F,): what the step after the last of `inputs` needs, newest first.

    Parameters
    ----------
    inputs : (T, F)
        u.
    direct : int
        How many inputs the readout sees.
    before : ((direct - 1) F,), optional
        The inputs before the first, newest first; 0 unless given.
    """
    if direct <= 1:
        return np.zeros(0)
    return np.asarray(_padded(inputs, direct, before)[:-direct:-1].ravel())


def _padded(inputs: Array, direct: int, before: Array | None) -> Array:
    """(direct - 1 + T, F), oldest first."""
    past = (
        np.zeros((direct - 1, inputs.shape[1])) if before is None else np.reshape(before, (direct - 1, inputs.shape[1]))[::-1]
    )
    return np.concatenate([past, inputs])
