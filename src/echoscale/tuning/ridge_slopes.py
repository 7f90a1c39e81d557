"""How the ridge solution of many points moves with the learned numbers.

W      = (S_xx + ridge I)^-1 S_xy                        S: centred sums over training (`readout.ridge`)
dW_p   = (S_xx + ridge I)^-1 (dX_p^T R - X^T dX_p W)     R = Y - X W, both with their means taken off
dW/d log ridge = -ridge (S_xx + ridge I)^-1 W
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from echoscale.engine.machine import one_thread
from echoscale.readouts.ridge import Readout
from echoscale.tuning.runs import Runs, Tangents

Floats = npt.NDArray[np.float64]


def columns(runs: Runs, total: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Which columns of the statistics in `Tangents` are features, v_p (P O of them, parameter-major) and targets."""
    place = np.arange(total)
    units, moved = runs.esn.units, len(runs.space.learned) * runs.outputs
    states, slopes, rest = place[:units], place[units : units + moved], place[units + moved :]
    return np.concatenate([states, rest[: -runs.outputs]]), slopes, rest[-runs.outputs :]


def slopes(runs: Runs, found: Tangents, readout: Readout, theta: Floats) -> Floats:
    """dW by the logarithm of every learned number, (S, P, O, features), P with the ridge if that is learned."""
    scatter = found.train.scatter
    features, moved, _ = columns(runs, scatter.shape[-1])
    shape = len(scatter), len(features), len(runs.space.learned), runs.outputs
    changes = found.cross - scatter[:, features[:, None], moved].reshape(shape)
    changes *= theta[:, None, : shape[2], None]
    if runs.space.ridge:
        shrinking = -readout.ridge[:, None, None, None] * readout.coef.transpose(0, 2, 1)[:, :, None]
        changes = np.concatenate([changes, shrinking], axis=2)
    flat = changes.reshape(*shape[:2], -1)
    with one_thread():
        penalised = scatter[:, features[:, None], features] + readout.ridge[:, None, None] * np.eye(len(features))
        moves = np.linalg.solve(penalised, flat)
    return np.asarray(moves.reshape(changes.shape).transpose(0, 2, 3, 1))
