"""Rows that whole sequences are judged by, one of each network on lanes: pooled states, standardised, and their statistics.

f = (pool(x(1), ..., x(T)) - mean) / spread        mean and spread of every column, over the sequences that train
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from echoscale.esn import ESN
from echoscale.hyper import Hyper
from echoscale.readouts.few_rows import turned
from echoscale.readouts.pooling import pooled
from echoscale.readouts.statistics import Statistics
from echoscale.scaling import Scaling
from echoscale.series import Series

Floats = npt.NDArray[np.float64]

# Of the largest spread of all features: what varies by less is rounding of the states.
LEAST_SPREAD = 1e-5


def standardising(features: npt.NDArray[Any]) -> Scaling:
    """Means and spreads of features over the rows.

    Parameters
    ----------
    features : (R, F)
        Rows.
    """
    found = Scaling.of(np.asarray(features)[None])
    constant = np.asarray(features).min(axis=0) == np.asarray(features).max(axis=0)
    moving = found.spread[~constant]
    least = LEAST_SPREAD * float(moving.max(initial=0.0))
    spread = np.where(constant, 1.0, np.maximum(found.spread, least))
    return Scaling(found.mean, spread)


def standard_rows(esn: ESN, series: Series, pools: Sequence[str], hyper: Hyper, trains: npt.NDArray[np.bool_]) -> Floats:
    """One row for every sequence and network, (H, B, min(B, columns)), turned where there are more columns than sequences.

    Parameters
    ----------
    esn : ESN
        The network.
    series : Series
        B sequences.
    pools : sequence of str
        Out of `pooling.POOLS`.
    hyper : Hyper
        Hyper-parameters with H lanes.
    trains : (B,) of bool
        The sequences that means and spreads are taken of.
    """
    rows = pooled(esn, series, pools, hyper=hyper)
    return np.stack([turned(standardising(each[trains]).forward(each)).rows for each in rows])


def statistics_of(rows: Floats, codes: Floats, which: npt.NDArray[np.bool_]) -> Statistics:
    """The statistics of some sequences, of every network.

    Parameters
    ----------
    rows : (H, B, F)
        From `standard_rows`.
    codes : (B, O)
        Targets.
    which : (B,) of bool
        The sequences that count.
    """
    count = int(which.sum())
    both = np.concatenate([rows[:, which], np.broadcast_to(codes[which], (len(rows), count, codes.shape[1]))], axis=2)
    mean = both.sum(axis=1) / max(count, 1)
    centred = both - mean[:, None]
    return Statistics(np.full(len(rows), float(count)), mean, centred.swapaxes(1, 2) @ centred, rows.shape[2])
