"""Runs of the network at many points of the search at once: statistics of states and targets, and of the tangents' projections.

Lanes are (point, series) pairs, point-major. They are cut into blocks that run on one thread each; nothing grows with the
length of the series, except for the validation rows that a loss asks to keep.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from echoscale.engine import feed, lanes, machine
from echoscale.esn import ESN
from echoscale.gradients.traces import reaches
from echoscale.hyper import Hyper
from echoscale.readouts.moments import HostMoments
from echoscale.readouts.ridge import Readout
from echoscale.readouts.statistics import Statistics, beside_states, gather, split_statistics
from echoscale.series import Series
from echoscale.tuning import tangents
from echoscale.tuning.space import Space
from echoscale.tuning.tangents import TangentCarry

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

BLOCK_LANES = 128
CHUNK_BYTES, LONGEST_CHUNK = 8 << 20, 512


class Tangents(NamedTuple):
    """At S points, for P learned numbers and O outputs, of columns (states, v_p, inputs if direct, targets).

    train, validation  statistics, (S, ...)
    cross              the sums c_p over training, (S, features, P, O); zero for inputs
    rows               the states and v_p of all validation steps, (S, rows, N + P O), if they were asked for
    """

    train: Statistics
    validation: Statistics
    cross: Floats
    rows: Floats | None


@dataclass(frozen=True, eq=False)
class Runs:
    """The data and what is fixed: edges[b] = (first training step, first validation step, end) of series b."""

    esn: ESN
    space: Space
    series: Series
    targets: Series
    edges: Sequence[Indices]
    penalty: float
    direct: bool = False

    @cached_property
    def outputs(self) -> int:
        """O."""
        return self.targets.features

    @cached_property
    def extra(self) -> list[Floats]:
        """What the statistics hold besides states, (T_b, E) of every series."""
        return beside_states(self.series, self.targets, self.direct)

    @cached_property
    def features(self) -> int:
        """What the readout sees: states, and inputs if direct."""
        return self.esn.units + (self.series.features if self.direct else 0)

    @cached_property
    def steps(self) -> int:
        """Of one network over all series."""
        return int(self.series.lengths.sum())

    def hyper(self, z: Floats) -> Hyper:
        """Every leaf with one value per point."""
        return self.space.hyper(self.esn.hyper, z).map(lambda leaf: np.broadcast_to(np.asarray(leaf, float), (len(z),)))

    def statistics(self, z: Floats) -> tuple[Statistics, Statistics]:
        """Of features and targets in training and in validation, at points z (S, P)."""
        (train, validation), _ = split_statistics(
            self.esn, self.series, self.targets, self.edges, direct=self.direct, hyper=self.hyper(z)
        )
        return train, validation

    def validation_outputs(self, z: Floats, readout: Readout) -> Floats:
        """Outputs of the readouts at all validation steps, (S, rows, O), series after series."""
        starts = np.concatenate([[0], np.cumsum([int(edges[2] - edges[1]) for edges in self.edges])])
        found = np.empty((len(z), int(starts[-1]), self.outputs))

        def consume(which: Indices, begin: int, states: Any) -> None:
            for place, (point, b) in enumerate(zip(*np.divmod(which, self.series.count), strict=True)):
                low, high = (int(np.clip(edge - begin, 0, len(states))) for edge in self.edges[b][1:])
                if low < high:
                    at = int(starts[b] + begin + low - self.edges[b][1])
                    kept = [np.asarray(states[low:high, place], np.float64)]
                    if self.direct:
                        kept.append(np.asarray(self.series.values[b][begin + low : begin + high], np.float64))
                    out = np.concatenate(kept, axis=1) @ readout.coef[point].T + readout.intercept[point]
                    found[point, at : at + high - low] = out

        self.esn.run_chunks(self.series, consume, hyper=self.hyper(z))
        return found

    def tangents(self, z: Floats, readout: Readout, keep_rows: bool = False) -> Tangents:
        """One more run, now that the readouts are known: how their outputs and their residuals move with the numbers."""
        esn, series, learned, dtype = self.esn, self.series, self.space.learned, np.dtype(self.esn.dtype)
        many, moved = len(z) * series.count, len(learned) * self.outputs
        parts = max(-(-many // BLOCK_LANES), min(machine.cores(), many // 8), 1)
        blocks = np.array_split(np.arange(many), parts)
        width, longest = lanes.lane_count(len(blocks[0])), int(series.lengths.max())
        steps = lanes.chunk_steps(longest, width * (esn.units + moved) * dtype.itemsize, CHUNK_BYTES, LONGEST_CHUNK)
        fixed, hyper, slices = esn.weights(width), self.hyper(z), esn.network.slices
        coefs = np.split(readout.coef, np.cumsum(esn.sizes), axis=2)[: len(esn.sizes) + self.direct]
        moments = [HostMoments(block, series.count, esn.units + moved, self.extra, self.edges) for block in blocks]
        cross = np.zeros((many, self.features, len(learned), self.outputs))
        kept: list[list[Floats]] = [[np.empty((0, esn.units + moved))] for _ in range(many)]

        @np.errstate(over="ignore", invalid="ignore")
        def run(place: int, stop: threading.Event) -> None:
            block = blocks[place]
            padded = np.pad(block, (0, width - len(block)), mode="edge")  # idle lanes repeat the last one
            point, which = np.divmod(padded, series.count)
            numbers = hyper.on(point, dtype)
            coef = tuple(jnp.asarray(part[point].transpose(2, 1, 0), dtype) for part in coefs)
            intercept = jnp.asarray(readout.intercept[point].T, dtype)

            def advance(carry: TangentCarry, begin: int) -> tuple[TangentCarry, jax.Array]:
                u, y = (feed.inputs(each, which, begin, steps, dtype) for each in (series, self.targets))
                counts = self._counts(which, begin, steps, dtype)
                made: tuple[TangentCarry, jax.Array] = tangents.scan(
                    fixed, numbers, coef, intercept, carry, u, y, counts, learned
                )
                return made

            def hand_on(begin: int, rows: jax.Array) -> None:
                states = np.asarray(rows)[:, : len(block)]
                moments[place].add(begin, states)
                for lane, b in enumerate(which[: len(block)] if keep_rows else ()):
                    low, high = np.clip(self.edges[b][1:] - begin, 0, len(states))
                    kept[block[lane]].append(np.array(states[low:high, lane]))

            start = tangents.start(fixed, learned, width, self.outputs)
            end = feed.over_chunks(advance, start, hand_on, longest, steps, stop)
            for p, (parameter, sums) in enumerate(zip(learned, end.cross, strict=True)):
                for k, each in zip(reaches(fixed, parameter), sums, strict=True):
                    cross[block[0] : block[-1] + 1, slices[k], p] = np.asarray(each)[..., : len(block)].transpose(2, 0, 1)

        feed.over_blocks(run, range(parts), min(machine.cores(), parts), dtype, esn.device)
        train, validation = (gather(moments, segment, len(z), self.features) for segment in range(2))
        by_lane = [np.concatenate(each) for each in kept]
        rows = [np.concatenate(by_lane[lane : lane + series.count]) for lane in range(0, many, series.count)]
        cross = cross.reshape(len(z), series.count, *cross.shape[1:]).sum(axis=1)
        return Tangents(train, validation, cross, np.stack(rows) if keep_rows else None)

    def _counts(self, which: Indices, begin: int, steps: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """(steps, lanes or 1): 1 where a step of these series is used for training."""
        ends = np.array([self.edges[b][:2] for b in (which[:1] if self.series.count == 1 else which)])
        at = begin + np.arange(steps)[:, None]
        return ((at >= ends[:, 0]) & (at < ends[:, 1])).astype(dtype)
