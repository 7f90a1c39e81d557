"""The cross-entropy of labels of whole sequences, which are judged by pooled states: means, spreads, extremes.

    z_b = W^T f_b + b,   f_b standardised pools of sequence b (`readouts.pooling`),   dz/dz_p ~ (z(+h) - z(-h)) / (step taken)

There are as many rows as sequences, so that outputs are differenced instead of carrying tangents through every pool: two runs
for every learned number, all on lanes of one run, with the ridge solution of every fold made anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Floats
from echoscale.engine.hyper import Hyper
from echoscale.learning.tuning.losses import Entropy, Model, Networks
from echoscale.learning.tuning.runs import STATISTICS_BYTES, Runs
from echoscale.readouts.pooling import WHOLE, columns, standard_rows, statistics_of
from echoscale.readouts.ridge import Readout, ridge
from echoscale.readouts.statistics import Statistics

PARTS = 4  # of segments and snapshots, as the estimators have it


@dataclass(frozen=True, eq=False)
class PooledRuns(Runs):
    """The data and what is fixed; a sequence is a row.

    pools  out of `readouts.pooling.POOLS`
    """

    pools: tuple[str, ...] = WHOLE

    @cached_property
    def features(self) -> int:
        """Columns of a row, or as many as there are sequences where that is less."""
        wide = columns(self.pools, self.esn.units, PARTS, PARTS)
        return min(max(int(each.stop) for each in wide.values()), self.series.count)

    @cached_property
    def segment(self) -> npt.NDArray[np.int64]:
        """The segment that every sequence lies in, (B,): the one that its last step counts for."""
        return np.array([int(np.flatnonzero(np.diff(each))[0]) for each in self.edges])

    @cached_property
    def codes(self) -> Floats:
        """One-hot labels, (B, O)."""
        return np.stack([np.asarray(each[-1], np.float64) for each in self.targets.values])

    def sequences(self, hyper: Hyper) -> Floats:
        """Features of all sequences, (S, B, features), standardised over the sequences that train."""
        train = sorted({s for each in self.folds for s in each.train})
        return standard_rows(self.esn, self.series, self.pools, hyper, np.isin(self.segment, train))

    def parts_of(self, rows: Floats) -> list[Statistics]:
        """The statistics of every segment."""
        return [statistics_of(rows, self.codes, np.flatnonzero(self.segment == s)) for s in range(len(self.edges[0]) - 1)]

    def parts(self, hyper: Hyper) -> list[Statistics]:
        """See `Runs`."""
        if hyper.lanes is None:
            alone = self.parts_of(self.sequences(hyper.map(lambda leaf: np.full(1, float(leaf)))))
            return [each.lane(0) for each in alone]
        return self.parts_of(self.sequences(hyper))

    def outputs_of(self, rows: Floats, readout: Readout) -> Floats:
        """Outputs of every fold's readout for the sequences that it has not seen, (S, rows, O), in their order."""
        held = np.isin(self.segment, [s for each in self.folds for s in each.held_out])
        found = np.empty((len(rows), len(self.segment), self.outputs))
        for k, each in enumerate(self.folds):
            here = np.isin(self.segment, each.held_out)
            found[:, here] = rows[:, here] @ readout.coef[:, k].swapaxes(1, 2) + readout.intercept[:, None, k]
        return found[:, held]

    def batches(self, count: int, tangents: int = 0) -> list[slice]:
        """See `Runs`; with tangents, every point stands for as many as its differences need."""
        columns_of_rows = self.features + self.outputs
        each = (len(self.edges[0]) + 2 * len(self.folds)) * columns_of_rows**2 * 8 * (1 + 2 * tangents)
        size = max(STATISTICS_BYTES // each, 1)
        return [slice(begin, begin + size) for begin in range(0, count, size)]


@dataclass(frozen=True, eq=False)
class PooledEntropy(Entropy):
    """The mean negative logarithm of the probability that the right class of a sequence was given, in nats."""

    runs: PooledRuns

    def held_out_outputs(self, at: Networks) -> tuple[Floats, Readout]:
        """See `Entropy`."""
        rows = self.runs.sequences(at.hyper)
        train, _ = self.runs.folded(self.runs.parts_of(rows))
        readout = ridge(train, self.runs.above_floor(train, at.penalties))
        return self.runs.outputs_of(rows, readout), readout

    @property
    def model_runs(self) -> int:
        """Two for every coordinate but the sharpness, and the point itself."""
        return 1 + 2 * (len(self.runs.space.names) - 1)

    def model_of_batch(self, z: Floats, readout: Readout) -> Model:
        """See `losses.Loss`. One step to each side, or to one side alone at a bound."""
        runs, space = self.runs, self.runs.space
        moved = len(space.names) - 1
        apart = float(np.finfo(self.runs.esn.dtype).eps) ** 0.25
        around = np.repeat(z[:, None, None], moved, axis=1).repeat(2, axis=2)  # (S, P - 1, 2, P)
        place = np.arange(moved)
        around[:, place, 0, place] = np.minimum(z[:, :-1] + apart, space.high[:-1])
        around[:, place, 1, place] = np.maximum(z[:, :-1] - apart, space.low[:-1])
        taken = around[:, place, 0, place] - around[:, place, 1, place]  # (S, P - 1)
        points = np.concatenate([z[:, None], around.reshape(len(z), -1, z.shape[1])], axis=1).reshape(-1, z.shape[1])
        found, _ = self.held_out_outputs(Networks(runs.hyper(points), runs.penalties(points), space.sharpnesses(points)))
        found = found.reshape(len(z), 1 + 2 * moved, *found.shape[1:])
        sides = found[:, 1:].reshape(len(z), moved, 2, *found.shape[2:])
        moves = (sides[:, :, 0] - sides[:, :, 1]) / taken[..., None, None]
        return self.model_from(found[:, 0], moves, space.sharpnesses(z))
