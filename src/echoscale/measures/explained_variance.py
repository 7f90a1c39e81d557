"""Share of the variance of targets that a linear readout of the states explains, for a whole grid, without storing states.

    C_k = 1 - min_w mean (z_k - w x - b)^2 / var z_k = S_kx S_xx^-1 S_xk / S_kk

Targets are functions of the inputs. They are made chunk by chunk, so there may be thousands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Floats
from echoscale.data.series import Series
from echoscale.engine.devices import one_thread
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Hyper
from echoscale.measures.results import slabs

# (begin, end) -> the targets of these steps, (end - begin, K).
Targets = Callable[[int, int], Floats]

ROWS = 1024


class Explained(NamedTuple):
    """Explained shares of the variance of the data; on average they are too large by rank / rows.

    shares  (H, K)
    rank    (H,): number of directions in which the states move
    rows    number of steps that counted
    """

    shares: Floats
    rank: npt.NDArray[np.int64]
    rows: int

    def unbiased(self) -> Floats:
        """1 - (1 - C) (n - 1) / (n - r - 1), (H, K): 0 on average for a target that is independent of the states."""
        rank = self.rank[:, None]
        return np.asarray(1 - (1 - self.shares) * (self.rows - 1) / (self.rows - rank - 1))


def explained(esn: ESN, series: Series, targets: Targets, count: int, first: int, hyper: Hyper) -> Explained:
    """C_k for every lane and target."""
    length, units, lanes = int(series.lengths[0]), esn.units, hyper.lanes or 1
    sums, squares = np.zeros(count), np.zeros(count)
    for begin in range(first, length, ROWS):
        z = targets(begin, min(begin + ROWS, length))
        sums += z.sum(axis=0)
        squares += (z**2).sum(axis=0)
    rows = length - first
    spread = squares - sums**2 / rows
    shares, rank = np.empty((lanes, count)), np.empty(lanes, np.int64)
    for which, part in slabs(hyper, 8 * units * (units + 2 * count)):
        moments = _Moments(part.lanes or 1, units, count, targets, first, length)
        esn.run_chunks(series, moments.add, hyper=part)
        shares[which], rank[which] = moments.solve(sums, spread, rows)
    return Explained(shares, rank, rows)


class _Moments:
    """Sums over time of x, x x^T and x z^T, lane by lane; subtracting the first state avoids a loss of digits."""

    def __init__(self, lanes: int, units: int, count: int, targets: Targets, first: int, length: int) -> None:
        self.targets, self.first, self.length = targets, first, length
        self.shift = np.full((lanes, units), np.nan)
        self.sums = np.zeros((lanes, units))
        self.gram = np.zeros((lanes, units, units))
        self.cross = np.zeros((lanes, units, count))

    def add(self, lanes: npt.NDArray[np.int64], start: int, states: Any) -> None:
        """Add a chunk of states (rows, l, N) that begins at step `start`."""
        begin, end = max(start, self.first), min(start + len(states), self.length)
        for low in range(begin, end, ROWS):
            high = min(low + ROWS, end)
            x = np.array(states[low - start : high - start], np.float64)
            if np.isnan(self.shift[lanes[0], 0]):
                self.shift[lanes] = x[0]
            x -= self.shift[lanes]
            self.sums[lanes] += x.sum(axis=0)
            self.gram[lanes] += np.matmul(x.transpose(1, 2, 0), x.transpose(1, 0, 2))
            # One product for all lanes of the chunk.
            made = x.reshape(len(x), -1).T @ self.targets(low, high)
            self.cross[lanes] += made.reshape(len(lanes), x.shape[2], -1)

    def solve(self, sums: Floats, spread: Floats, rows: int) -> tuple[Floats, npt.NDArray[np.int64]]:
        """Shares (lanes, K) and ranks (lanes,) from the sums and the spread of the targets."""
        scatter = self.gram - self.sums[:, :, None] * self.sums[:, None, :] / rows
        cross = self.cross - self.sums[:, :, None] * sums / rows
        with one_thread():
            white, rank = whitening(scatter)
            turned = white @ cross
        return np.asarray((turned**2).sum(axis=1) / np.where(spread > 0, spread, 1.0)), rank


def whitening(scatter: Floats) -> tuple[Floats, npt.NDArray[np.int64]]:
    """L with L S L^T = 1 on all directions above rounding, (..., N, N), zero elsewhere; and the number of these directions.

    Every neuron is first scaled to variance 1: neurons that move little count as much as the others.
    """
    size = np.sqrt(np.maximum(np.einsum("...nn->...n", scatter), 0))
    unit = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
    values, vectors = np.linalg.eigh(scatter * unit[..., :, None] * unit[..., None, :])
    least = np.finfo(np.float64).eps * values.shape[-1] * np.maximum(values[..., -1:], np.finfo(np.float64).tiny)
    used = values > least
    scale = np.where(used, 1 / np.sqrt(np.where(used, values, 1.0)), 0.0)
    return scale[..., :, None] * np.swapaxes(vectors, -1, -2) * unit[..., None, :], used.sum(axis=-1)
