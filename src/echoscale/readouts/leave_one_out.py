"""A ridge readout of classes from rows that are all there: standardised features, the penalty and the pools chosen by folds.

    z = W (f - mean) / spread + b

Where there are more features than rows, the rows are turned first (`ridge.turned`), so that folds cost little.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Floats
from echoscale.readouts import fit, penalties
from echoscale.readouts.penalties import RidgeCurve
from echoscale.readouts.pooling import standardising
from echoscale.readouts.ridge import Readout, threads_for, turned
from echoscale.readouts.statistics import of_rows

LEAST_PENALTY = 1e-9


class RowReadout(NamedTuple):
    """What was solved.

    Attributes
    ----------
    readout : Readout
        W (O, F) and b, for features as they are.
    ridge : float
        The penalty on the weights of standardised features.
    curve : RidgeCurve or None
        The error of held-out folds against the penalty; None where nothing was chosen.
    outputs : (R, O)
        z of every row from the readout of all others.
    error : float
        Mean squared error of these, in units of the variance of every class.
    """

    readout: Readout
    ridge: float
    curve: RidgeCurve | None
    outputs: Floats
    error: float


def solve(
    features: npt.NDArray[Any],
    codes: Floats,
    chosen_from: Floats | None,
    folds: int,
    *,
    standardise: bool = True,
) -> RowReadout:
    """The readout with the penalty that held-out rows choose."""
    scaling = standardising(features)
    if not standardise:
        scaling = scaling._replace(spread=np.ones_like(scaling.spread))
    work = turned(scaling.forward(features))
    several = chosen_from is None or len(chosen_from) > 1
    held_out = fit.splits_by_class(folds, codes.argmax(axis=1), several)
    groups = held_out.rows()
    parts = [of_rows(work.rows[rows], codes[rows]) for rows in groups]
    found = fit.fit_readout(parts, held_out.splits, chosen_from, lambda: (work.rows, codes, groups))
    readout = work.back(found.readout)
    coef = np.ascontiguousarray(readout.coef / scaling.spread)
    plain = Readout(coef, readout.intercept - coef @ scaling.mean, readout.ridge)
    outputs = left_out(work.rows, codes, found.ridge)
    variance = codes.var(axis=0)
    error = float(((outputs - codes) ** 2 / np.where(variance > 0, variance, 1.0)).mean())
    return RowReadout(plain, found.ridge, found.curve, outputs, error)


def least_error(features: npt.NDArray[Any], codes: Floats) -> float:
    """The least error of rows left out one by one, over a path of penalties: from one decomposition, for comparisons.

    With X = U s V^T, 1 - h = 1 - sum over k of U_k^2 s_k^2 / (s_k^2 + ridge) - 1 / R, the last for the intercept.
    """
    x = standardising(features).forward(features)
    y = codes - codes.mean(axis=0)
    with threads_for(np.empty((0, min(x.shape)))):
        if len(x) <= x.shape[1]:
            squares, u = np.linalg.eigh(x @ x.T)
        else:
            squares, v = np.linalg.eigh(x.T @ x)
            u = x @ v / np.sqrt(np.maximum(squares, np.finfo(np.float64).tiny))
    squares = np.maximum(squares, 0)
    kept = squares > np.finfo(np.float64).eps * len(squares) * squares.max(initial=0.0)
    squares, u = squares[kept], u[:, kept]
    turned_codes, leverages = u.T @ y, u**2
    variance = codes.var(axis=0)
    least = np.inf
    for relative in penalties.RELATIVE[penalties.RELATIVE >= LEAST_PENALTY]:
        shrunk = squares / (squares + relative * squares.sum() / min(x.shape))
        apart = y - u @ (shrunk[:, None] * turned_codes)
        free = np.maximum(1 - leverages @ shrunk - 1 / len(x), np.finfo(np.float64).eps)
        error = float(((apart / free[:, None]) ** 2 / np.where(variance > 0, variance, 1.0)).mean())
        least = min(least, error)
    return least


def left_out(rows: Floats, codes: Floats, ridge: float) -> Floats:
    """z of every row from the readout of all others, without solving for it: y - (y - z) / (1 - h).

    h is the leverage of a row, the diagonal of X (X^T X + ridge I)^-1 X^T, plus 1 / R for the intercept.
    """
    x, y = (each - each.mean(axis=0) for each in (rows, codes))
    gram = x.T @ x
    least = LEAST_PENALTY * max(float(np.trace(gram)), np.finfo(np.float64).tiny) / gram.shape[0]
    solved = np.linalg.solve(gram + max(ridge, least) * np.eye(len(gram)), x.T)
    leverage = np.einsum("rf,fr->r", x, solved) + 1 / len(x)
    return np.asarray(codes - (y - x @ (solved @ y)) / np.maximum(1 - leverage, np.finfo(np.float64).eps)[:, None])
