"""How learned hyper-parameters follow an environment that changes: how far each moves in every phase, and how soon.

    way(t) = (v(t) - begins) / (settles - begins),      arrived: way(t) >= share

A learned number fluctuates, so that it crosses any line many times and no single crossing means much. It has arrived "for
good" at the step that parts the records of a phase best: before it they should lie below the share, from it on above, and it
is put where the fewest records are on the wrong side (the earliest such step). A path that only rises has none there, and
the step is its crossing; short returns are outvoted, long ones are not; an overshoot is no return.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from echoscale import _checks

if TYPE_CHECKING:
    import xarray as xr

Floats = npt.NDArray[np.float64]

FEWEST = 10  # records of a phase: its last fifth then holds two, the least that have a fluctuation
# A number moved if it ends this many standard deviations of its own fluctuation from where it began. One that only fluctuates,
# each record by itself and normally distributed, is taken for moved in about 3 of 1000 phases.
SIGMAS = 3.0


def responses(history: xr.Dataset, changes: Sequence[int], share: float = 0.9, last: float = 0.2) -> xr.Dataset:
    """moved = settles - begins of every hyper-parameter and phase, and how many steps it took.

    A hyper-parameter that still drifts when the phase ends has not settled. Then `moved` is what it had time for, and `steps`
    is close to the length of the phase: 0.81 of it for a straight line.

    Parameters
    ----------
    history : xarray.Dataset
        Of a learner, or several joined along a new dim: `value` (..., step).
    changes : list of int
        Steps after which the environment was another, increasing; K of them make K + 1 phases.
    share : float
        Of the way that a hyper-parameter must have gone to have arrived.
    last : float
        The part of a phase in which it counts as settled.

    Returns
    -------
    xarray.Dataset
        With dims (..., phase):
        begins, the value at the last record up to the change (in the first phase, at the first record);
        settles, the mean over the last part of the phase;
        moved, settles - begins;
        fluctuation, the standard deviation in the last part;
        steps, from the change until it has arrived for good, to the next record (NaN where it did not move).

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> from echoscale.online import responses
    >>> path = np.concatenate([np.full(20, 0.2), np.full(20, 0.6)])  # jumps after step 2000
    >>> history = xr.Dataset({"value": (("parameter", "step"), path[None])}, {"step": 100 * np.arange(1, 41)})
    >>> found = responses(history, changes=[2000])
    >>> found["moved"].values.round(3), found["steps"].values
    (array([[0. , 0.4]]), array([[ nan, 100.]]))
    """
    import xarray as xr

    for part, name in ((share, "share"), (last, "last")):
        if not 0 < _checks.number(part, name) < 1:
            raise ValueError(f"{name} must lie in (0, 1), got {part}: it is a part of the whole.")
    value = history["value"].transpose(..., "step")
    step = np.asarray(value["step"].values, np.int64)
    edges = _edges(step, changes)
    paths = np.asarray(value.values, np.float64)
    found = [_response(paths, step, begin, end, float(share), float(last)) for begin, end in pairwise(edges)]
    dims = (*value.dims[:-1], "phase")
    names = {
        "begins": "value when the phase begins",
        "settles": "mean value in the last part of the phase",
        "moved": "how far it moved",
        "fluctuation": "standard deviation in the last part of the phase",
        "steps": f"steps until {share:g} of the way was gone for good",
    }
    arrays = {
        name: (dims, np.stack([each[k] for each in found], -1), {"long_name": says})
        for k, (name, says) in enumerate(names.items())
    }
    others = {name: each for name, each in value.coords.items() if "step" not in each.dims}
    return xr.Dataset(arrays, {**others, "begin": ("phase", edges[:-1]), "end": ("phase", edges[1:])})


def running_mean(history: xr.Dataset, windows: int, of: str = "gradient") -> xr.DataArray:
    """The mean of the last `windows` windows at each of them, every step with a target alike.

    Parameters
    ----------
    history : xarray.Dataset
        Of a learner.
    windows : int
        How many; fewer at the start of the stream.
    of : "gradient", "loss" or "value"
        Of what.

    Returns
    -------
    xarray.DataArray
        As `history[of]`; NaN where none of the windows had a target.

    Examples
    --------
    >>> import numpy as np, echoscale as es
    >>> esn = es.single(5).build(n_inputs=1)
    >>> u, y = es.tasks.narma(400, order=5, seed=0)
    >>> learner = es.OnlineLearner(esn, record=100, washout=100).fit(u, y)
    >>> es.online.running_mean(learner.history, 2, of="loss").sizes["step"]
    4
    """
    windows = _checks.integer(windows, "windows", minimum=1)
    values = history[of].transpose(..., "step")
    targets = history["targets"].transpose(..., "step")
    weight = np.asarray(targets.values, np.float64)
    # Windows without a target have no mean, and count for nothing.
    total = _last_sums(np.where(weight > 0, np.nan_to_num(np.asarray(values.values, np.float64)) * weight, 0), windows)
    count = _last_sums(weight, windows)
    mean = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return values.copy(data=mean).rename(f"running mean of {of}")


def _last_sums(values: Floats, windows: int) -> Floats:
    """Sums of the last `windows` along the last axis, of fewer at its beginning."""
    padded = np.pad(values, [*[(0, 0)] * (values.ndim - 1), (windows - 1, 0)])
    # Not differences of running sums: these lose the digits of small gradients behind large ones.
    return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, windows, axis=-1).sum(axis=-1))


def _edges(step: npt.NDArray[np.int64], changes: Sequence[int]) -> list[int]:
    """0, the changes and the last step; every phase between them with records enough."""
    edges = [0, *(_checks.integer(each, "a change", minimum=1) for each in changes), int(step[-1]) if step.size else 0]
    if edges != sorted(set(edges)):
        raise ValueError(
            f"changes must increase and lie inside the history, which ends at step {edges[-1]}; got {list(map(int, changes))}."
        )
    for begin, end in pairwise(edges):
        records = int(((step > begin) & (step <= end)).sum())
        if records < FEWEST:
            raise ValueError(
                f"the phase from step {begin} to {end} has {records} records, at least {FEWEST} are needed to tell a move from "
                "a fluctuation: use a shorter window (record=...) or longer phases."
            )
    return edges


def _response(paths: Floats, step: npt.NDArray[np.int64], begin: int, end: int, share: float, last: float) -> tuple[Any, ...]:
    """begins, settles, moved, fluctuation and steps of paths (..., T) in one phase, (...) each."""
    inside = (step > begin) & (step <= end)
    first = paths[..., max(int((step <= begin).sum()) - 1, 0)]
    path, after = paths[..., inside], step[inside] - begin
    tail = path[..., -max(int(np.ceil(last * len(after))), 2) :]
    settled, noise = tail.mean(axis=-1), tail.std(axis=-1, ddof=1)
    moved = settled - first
    # Without a division: a way of 0 has no share.
    there = (path - first[..., None]) * np.sign(moved)[..., None] >= share * np.abs(moved)[..., None]
    steps = np.where(np.abs(moved) > SIGMAS * noise, after[_parting(there)], np.nan)
    return first, settled, moved, noise, steps


def _parting(there: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """The first record (...) of `there` (..., n) from which on to call it True with the fewest mistakes."""
    # Mistakes of parting before record k: those True among the first k, and those False from k on. k = 0..n - 1: where a
    # number moved, its settled mean lies beyond the share, so that at least one record does.
    early: npt.NDArray[np.int64] = np.cumsum(there, axis=-1) - there
    late = np.cumsum(~there[..., ::-1], axis=-1)[..., ::-1]
    return np.asarray((early + late).argmin(axis=-1))
