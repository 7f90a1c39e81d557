"""How the ridge solutions of many points, one for each fold, move with the learned numbers.

W      = (S_xx + ridge I)^-1 S_xy                        S: centred sums over training (`readout.ridge`)
dW_p   = (S_xx + ridge I)^-1 (dX_p^T R - X^T dX_p W)     R = Y - X W, both with their means taken off
dW/d log ridge = -ridge (S_xx + ridge I)^-1 W

At its floor the penalty is floor * trace(S_xx) / features: it no longer follows the learned one, but grows with the states.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from echoscale.engine.machine import one_thread
from echoscale.readouts.ridge import Readout
from echoscale.tuning.runs import Runs, Tangents

Floats = npt.NDArray[np.float64]


def columns(runs: Runs, fold: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Which columns of the statistics in `Tangents` are features, v_p of this fold (P O, parameter-major), and targets."""
    units, learned, folds, outputs = runs.esn.units, len(runs.space.learned), len(runs.folds), runs.outputs
    moved = units + np.arange(learned * folds * outputs).reshape(learned, folds, outputs)
    rest = units + moved.size + np.arange(runs.features - units + outputs)
    return np.concatenate([np.arange(units), rest[:-outputs]]), moved[:, fold].ravel(), rest[-outputs:]


def slopes(runs: Runs, found: Tangents, readout: Readout, z: Floats, fold: int) -> Floats:
    """dW of one fold by the logarithm of every learned number, (S, P, O, features), P with the ridge if that is learned."""
    scatter, theta = found.train[fold].scatter, runs.space.values(z)
    coef, penalty = readout.coef[:, fold], readout.ridge[:, fold]
    features, moved, _ = columns(runs, fold)
    shape = len(scatter), len(features), len(runs.space.learned), runs.outputs
    of_fold = slice(fold * runs.outputs, (fold + 1) * runs.outputs)
    changes = found.cross[..., of_fold] - scatter[:, features[:, None], moved].reshape(shape)
    changes *= theta[:, None, : shape[2], None]
    at_floor = penalty > runs.penalties(z)[:, fold] * (1 + 1e-9)
    shrinking = coef.transpose(0, 2, 1)[:, :, None]  # (S, features, 1, O)
    growth = np.where(at_floor[:, None], 2 * runs.floor / len(features) * found.growth[..., fold] * theta[:, : shape[2]], 0.0)
    changes -= growth[:, None, :, None] * shrinking
    if runs.space.ridge:
        learned = np.where(at_floor, 0.0, runs.learned_penalties(z)[:, fold])
        changes = np.concatenate([changes, -learned[:, None, None, None] * shrinking], axis=2)
    flat = changes.reshape(*shape[:2], -1)
    with one_thread():
        penalised = scatter[:, features[:, None], features] + penalty[:, None, None] * np.eye(len(features))
        moves = np.linalg.solve(penalised, flat)
    return np.asarray(moves.reshape(changes.shape).transpose(0, 2, 3, 1))
