"""History of learning, window by window: mean loss, mean gradients and learned hyper-parameters, in bounded memory.

A window is `window` steps. When there are `MOST` windows (an even number), neighbours are merged and windows become twice as
long, so a stream of any length fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from echoscale._internal.types import Floats

if TYPE_CHECKING:
    import xarray as xr

MOST = 10_000
FIRST_ROOM = 16


class History(NamedTuple):
    """Rows of finished windows; rows from `used` on are free.

    targets   (W,)       number of steps with a target
    loss      (W, S)     mean loss over these steps; NaN without targets
    gradient  (W, P, S)  mean gradient of the learned hyper-parameters over these steps
    value     (W, P, S)  learned hyper-parameters at the end of the window
    """

    window: int
    used: int
    targets: Floats
    loss: Floats
    gradient: Floats
    value: Floats


def init(window: int, learned: int, starts: int) -> History:
    """A history without windows."""
    shapes = ((), (starts,), (learned, starts), (learned, starts))
    return History(window, 0, *(np.zeros((0, *shape)) for shape in shapes))


def add(history: History, targets: float, sums: Floats, value: Floats) -> History:
    """A history with one more window, from sums (1 + P, S) of loss and gradients. The given history does not change."""
    if history.used == len(history.targets):
        room = max(history.used, FIRST_ROOM)
        rows = (np.concatenate([each, np.zeros((room, *each.shape[1:]))]) for each in history[2:])
        history = History(history.window, history.used, *rows)
    means = np.divide(sums, targets, out=np.full(sums.shape, np.nan), where=targets > 0)
    history.targets[history.used] = targets
    history.loss[history.used], history.gradient[history.used] = means[0], means[1:]
    history.value[history.used] = value
    more = history._replace(used=history.used + 1)
    return merged(more) if more.used == MOST else more


def merged(history: History) -> History:
    """Neighbouring windows merged in pairs."""
    pairs = history.used // 2
    weight = history.targets[: 2 * pairs].reshape(pairs, 2)

    def mean(rows: Floats) -> Floats:
        both = rows[: 2 * pairs].reshape(pairs, 2, *rows.shape[1:])
        share = weight.reshape(pairs, 2, *[1] * (rows.ndim - 1))
        total = np.where(share > 0, both * share, 0).sum(axis=1)
        count = share.sum(axis=1)
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)

    values = history.value[1 : 2 * pairs : 2]
    rows = (weight.sum(axis=1), mean(history.loss), mean(history.gradient), values.copy())
    return History(2 * history.window, pairs, *rows)


def recent_loss(history: History, windows: int = 10) -> Floats:
    """The mean loss of the last windows with targets, (S,); NaN if there is none."""
    filled = np.flatnonzero(history.targets[: history.used] > 0)[-windows:]
    starts = history.loss.shape[1]
    return np.average(history.loss[filled], axis=0, weights=history.targets[filled]) if filled.size else np.full(starts, np.nan)


def dataset(history: History, names: Sequence[str]) -> xr.Dataset:
    """The windows as a Dataset; `step` is the number of steps at the end of each window."""
    import xarray as xr

    used = slice(0, history.used)
    axes: Any = ("start", "parameter", "step")
    return xr.Dataset(
        {
            "loss": (("start", "step"), history.loss[used].T),
            "gradient": (axes, history.gradient[used].transpose(2, 1, 0)),
            "value": (axes, history.value[used].transpose(2, 1, 0)),
            "targets": (("step",), history.targets[used]),
        },
        coords={
            "start": np.arange(history.loss.shape[1]),
            "parameter": np.array(list(names), dtype=str),
            "step": history.window * np.arange(1, history.used + 1),
        },
        attrs={"window": history.window},
    )
