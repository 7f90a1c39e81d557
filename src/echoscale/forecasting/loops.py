"""Closed loop: forecast one step, take it for the truth, and go on.

    z(t+1) = start(t, 1) + w . f(t, 1) + c,   then the history ends at t + 1, and the network hears the change

Many origins are followed at once. Inputs that are known only up to now stand still.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from echoscale.forecasting import bases, lag_rows
from echoscale.forecasting.lag_rows import Rows
from echoscale.forecasting.reservoirs import Net
from echoscale.readouts.ridge import Readout

Floats = npt.NDArray[np.float64]


def closed_loop(rows: Rows, readout: Readout, steps: int, which: npt.NDArray[np.int64], net: Net | None = None) -> Floats:
    """z(t+1) .. z(t+steps) of some origins, (R, steps).

    Parameters
    ----------
    rows : Rows
        Of one series.
    readout : Readout
        One step ahead: coef (1, 1, F).
    steps : int
        How many.
    which : (R,)
        Rows.
    net : Net, optional
        Whose states are the first features.
    """
    recipe, line = rows.recipe, rows.line
    history, at = np.array(rows.history[which]), rows.at[which]
    states = rows.shared[which][:, : net.esn.units] if net is not None else None
    # Known inputs end somewhere: what lies beyond is not forecast.
    limit = len(line.future) - 1 if line.future.shape[1] else np.inf
    far = bases.far(history)
    found = np.full((len(which), steps), np.nan)
    for step in range(steps):
        now = at + step
        live = np.flatnonzero(now + 1 <= limit)
        if not len(live):
            break
        features = [lag_rows.common(recipe, history, line.first + now), lag_rows.ahead(recipe, history, 1)]
        if states is not None:
            features.insert(0, states)
        safe = now if limit == np.inf else np.minimum(now, int(limit) - 1)
        features.append(lag_rows.inputs(recipe, line, safe, 1, at))
        value = bases.start(recipe.base, recipe.period, history, 1)
        value = value + np.concatenate(features, axis=1) @ readout.coef[0, 0] + readout.intercept[0, 0]
        value = np.clip(value, -far, far)
        found[live, step] = value[live]
        history = np.concatenate([history[:, 1:], value[:, None]], axis=1)
        if net is not None and states is not None and step + 1 < steps:
            change = bases.change(recipe.base, recipe.period, history, 0) / net.spread
            past = line.past[at]
            known = line.future[np.minimum(now + 1, len(line.future) - 1)] if line.future.shape[1] else past[:, :0]
            states = net.step(states, np.concatenate([change[:, None], known, past], axis=1))
    return found
