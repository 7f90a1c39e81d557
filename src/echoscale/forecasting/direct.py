"""Direct forecasts: a ridge readout for every horizon, from statistics that add up over parts of time and over series.

    w_h, c_h = argmin sum over t of (z(t+h) - start(t, h) - w . f(t, h) - c)^2 + r_h unit |w|^2

The penalty is chosen by folds that are blocks of time, at a few horizons, and runs on straight lines between them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from echoscale.automatic import paths
from echoscale.automatic.origins import Judging, Origin
from echoscale.engine.machine import one_thread
from echoscale.forecasting import bases
from echoscale.forecasting.lag_rows import Rows
from echoscale.readouts.penalties import UNCHOSEN, in_units
from echoscale.readouts.ridge import Readout, ridge
from echoscale.readouts.statistics import Statistics

Floats = npt.NDArray[np.float64]

RELATIVE = 10.0 ** np.arange(-9, 3.1, 0.5)
LEAST_ROWS = 8
STILL = 1e-20


def some_horizons(horizon: int) -> list[int]:
    """The first, one between, the last: where penalties are chosen.

    Parameters
    ----------
    horizon : int
        H.
    """
    return sorted({1, -(-horizon // 3), horizon})


def statistics(rows: Sequence[Rows], edges: Sequence[npt.NDArray[np.int64]], steps: Sequence[int]) -> list[Statistics]:
    """Of every segment of time, all series together, with a leading axis of horizons.

    Parameters
    ----------
    rows : sequence of Rows
        Of every series.
    edges : sequence of (S + 1,)
        Segment s of series b holds its targets at steps edges[b][s] to edges[b][s + 1]; the first begins at 0.
    steps : sequence of int
        The horizons.
    """
    segments = len(edges[0]) - 1
    width = rows[0].features(1, slice(0, 0)).shape[1]
    count = np.zeros((segments, len(steps)))
    mean = np.zeros((segments, len(steps), width + 1))
    scatter = np.zeros((segments, len(steps), width + 1, width + 1))
    with one_thread():  # products of some hundred rows: waking other threads takes longer
        for k, each in enumerate(steps):
            found = [one.learned(each) for one in rows]
            for s in range(segments):
                parts = []
                for (features, targets, times), edge in zip(found, edges, strict=True):
                    low, high = np.searchsorted(times, edge[s : s + 2])
                    if low < high:
                        parts.append(np.concatenate([features[low:high], targets[low:high, None]], axis=1))
                if parts:
                    piece = np.concatenate(parts)
                    count[s, k], mean[s, k] = len(piece), piece.mean(axis=0)
                    apart = piece - mean[s, k]
                    scatter[s, k] = apart.T @ apart
    return [Statistics(count[s], mean[s], scatter[s], width) for s in range(segments)]


def penalties(parts: Sequence[Statistics], judging: Judging, origin: Origin, horizons: Sequence[int]) -> tuple[Floats, Floats]:
    """log10 of the relative penalty, and the root mean squared error of the folds, at every one of the horizons.

    Parameters
    ----------
    parts : sequence of Statistics
        Of the segments, with a leading axis of these horizons.
    judging : Judging
        The parts of time.
    origin : Origin
        What is known: the parts before it.
    horizons : sequence of int
        Which.
    """
    width = parts[0].features
    pairs = [pair for pair in judging.pairs(parts, origin) if np.min(pair[0].count) >= LEAST_ROWS]
    if not pairs:
        return np.full(len(horizons), np.log10(UNCHOSEN)), np.full(len(horizons), np.inf)
    best = paths.choose(pairs, np.arange(width), [np.array([width])], RELATIVE)
    return np.log10(best.relative[..., 0]), best.error[..., 0]


def spread_out(chosen: Floats, some: Sequence[int], horizon: int) -> Floats:
    """The relative penalty of every horizon 1 .. H, on straight lines between logarithms.

    Parameters
    ----------
    chosen : (n,)
        log10 of the penalties.
    some : sequence of n int
        At these horizons.
    horizon : int
        H.
    """
    return np.asarray(10.0 ** np.interp(np.log(np.arange(1, horizon + 1)), np.log(some), chosen))


def solve(whole: Statistics, relative: Floats) -> Readout:
    """w_h and c_h of every horizon: coef (H, 1, F), intercept (H, 1).

    Parameters
    ----------
    whole : Statistics
        With a leading axis of horizons.
    relative : (H,)
        Penalties in units of the mean squared singular value.
    """
    f = whole.features
    squares = np.einsum("hff->h", whole.scatter[:, :f, :f])
    # Series are standardised: features that vary by rounding alone say nothing.
    still = squares <= STILL * np.maximum(whole.count, 1)
    scatter = np.where(still[:, None, None], 0.0, whole.scatter)
    return ridge(in_units(Statistics(whole.count, whole.mean, scatter, f)), relative)


def forecasts(rows: Rows, readout: Readout, steps: Sequence[int], which: npt.NDArray[np.int64]) -> Floats:
    """z(t+h) of some origins, (R, H); those whose known inputs are not there yet are NaN.

    Parameters
    ----------
    rows : Rows
        Of one series.
    readout : Readout
        Of every horizon.
    steps : sequence of int
        The horizons.
    which : (R,)
        Rows.
    """
    found = np.full((len(which), len(steps)), np.nan)
    limit = len(rows.line.future) - 1 if rows.line.future.shape[1] else np.inf
    for k, each in enumerate(steps):
        use = np.flatnonzero(rows.at[which] + each <= limit)
        if len(use):
            some = which[use]
            value = rows.starts(each, some) + rows.features(each, some) @ readout.coef[k, 0] + readout.intercept[k, 0]
            limits = bases.far(rows.history[some])
            found[use, k] = np.clip(value, -limits, limits)
    return found
