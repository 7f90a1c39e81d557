"""Runs of the network at many points of the search at once: statistics of states and targets, and of the tangents' projections.

Lanes are (point, series) pairs, point-major. They are cut into blocks that run on one thread each; nothing grows with the
length of the series, except for the validation rows that a loss asks to keep.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from echoscale.engine import feed, lanes, machine
from echoscale.engine.machine import device_of
from echoscale.esn import ESN
from echoscale.gradients.traces import reaches
from echoscale.hyper import Hyper
from echoscale.readouts.moments import HostMoments
from echoscale.readouts.ridge import Readout
from echoscale.readouts.statistics import Statistics, gather, split_statistics
from echoscale.series import Series
from echoscale.tuning import tangents
from echoscale.tuning.space import Space

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

    @property
    def outputs(self) -> int:
        """O."""
        return self.targets.features

    @property
    def features(self) -> int:
        """What the readout sees: states, and inputs if direct."""
        return self.esn.units + (self.series.features if self.direct else 0)

    @property
    def steps(self) -> int:
        """Of one network over all series."""
        return int(self.series.lengths.sum())

    def hyper(self, z: Floats) -> Hyper:
        """Every leaf with one value per point."""
        hyper = self.space.hyper(self.esn.hyper, z)
        return Hyper(*(tuple(np.broadcast_to(np.asarray(leaf, float), (len(z),)) for leaf in leaves) for leaves in hyper))

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
            for lane, rows in zip(which, np.asarray(states, np.float64), strict=True):
                point, b = divmod(int(lane), self.series.count)
                low, high = (int(np.clip(edge - begin, 0, len(rows))) for edge in self.edges[b][1:])
                if low < high:
                    at = int(starts[b] + begin + low - self.edges[b][1])
                    kept = [rows[low:high]]
                    if self.direct:
                        kept.append(np.asarray(self.series.values[b][begin + low : begin + high], np.float64))
                    out = np.concatenate(kept, axis=1) @ readout.coef[point].T + readout.intercept[point]
                    found[point, at : at + high - low] = out

        self.esn.run_chunks(self.series, consume, hyper=self.hyper(z))
        return found

    def tangents(self, z: Floats, readout: Readout, keep_rows: bool = False) -> Tangents:
        """One more run, now that the readouts are known: how their outputs and their residuals move with the numbers."""
        many, count = len(z) * self.series.count, self.series.count
        parts = max(-(-many // BLOCK_LANES), min(machine.cores(), many // 8), 1)
        blocks = np.array_split(np.arange(many), parts)
        width = lanes.lane_count(len(blocks[0]))
        hyper = self.hyper(z)
        done: dict[int, _Block] = {}
        stop = threading.Event()

        def run(place: int) -> None:
            block = _Block(self, blocks[place], width, hyper, readout, keep_rows)
            if not stop.is_set():
                block.run(stop)
            done[place] = block

        machine.in_threads(run, range(parts), min(machine.cores(), parts), stop)
        ordered = [done[place] for place in range(parts)]
        moments = [block.moments for block in ordered]
        train, validation = (gather(moments, segment, len(z), self.features) for segment in range(2))
        cross = np.zeros((many, self.features, len(self.space.learned), self.outputs))
        for block in ordered:
            cross[block.lanes] = block.cross()
        rows = None
        if keep_rows:
            by_lane = [each for block in ordered for each in block.kept()]
            rows = np.stack([np.concatenate(by_lane[p * count : (p + 1) * count]) for p in range(len(z))])
        return Tangents(train, validation, cross.reshape(len(z), count, *cross.shape[1:]).sum(axis=1), rows)


class _Block:
    """Some lanes on one thread."""

    def __init__(self, runs: Runs, block: Indices, width: int, hyper: Hyper, readout: Readout, keep_rows: bool) -> None:
        self.runs, self.lanes, self.width, self.keep_rows = runs, block, width, keep_rows
        padded = np.pad(block, (0, width - len(block)), mode="edge")  # idle lanes repeat the last one
        self.point, self.which = np.divmod(padded, runs.series.count)
        self.hyper, self.readout = hyper, readout
        self.moved = len(runs.space.learned) * runs.outputs
        extra = [
            np.concatenate([runs.series.values[b], values] if runs.direct else [values], axis=1)
            for b, values in enumerate(runs.targets.values)
        ]
        self.moments = HostMoments(block, runs.series.count, runs.esn.units + self.moved, extra, list(runs.edges))
        self.validation: list[list[Floats]] = [[] for _ in block]

    @np.errstate(over="ignore", invalid="ignore")
    def run(self, stop: threading.Event) -> None:
        """The whole series, chunk by chunk."""
        runs, esn, learned = self.runs, self.runs.esn, self.runs.space.learned
        dtype = np.dtype(esn.dtype)
        longest = int(runs.series.lengths.max())
        fits = CHUNK_BYTES // (self.width * (esn.units + self.moved) * dtype.itemsize)
        steps = min(max(1 << max(fits.bit_length() - 1, 0), 16), LONGEST_CHUNK)
        with machine.precision_and_device(dtype, device_of(esn.device)):
            weights = esn.weights(self.width)
            numbers = Hyper(*(tuple(np.asarray(leaf, dtype)[self.point] for leaf in leaves) for leaves in self.hyper))
            parts = np.split(self.readout.coef, np.cumsum(esn.sizes), axis=2)
            coef = tuple(jnp.asarray(part[self.point].transpose(2, 1, 0), dtype) for part in parts if part.shape[2])
            intercept = jnp.asarray(self.readout.intercept[self.point].T, dtype)
            carry = tangents.start(weights, learned, esn.sizes, self.width, runs.outputs, dtype)
            pending: tuple[int, Any] | None = None
            for begin in range(0, longest, steps):
                if stop.is_set():
                    return
                u, y = (feed.inputs(each, self.which, begin, steps, dtype) for each in (runs.series, runs.targets))
                counts = self._counts(begin, steps, dtype)
                carry, rows = tangents.scan(weights, numbers, coef, intercept, carry, u, y, counts, learned)
                if pending:  # JAX computes this chunk in the background while the last one is summed
                    self._add(*pending)
                pending = (begin, rows)
            if pending:
                self._add(*pending)
            self.sums = [[np.asarray(block) for block in blocks] for blocks in carry.cross]

    def cross(self) -> Floats:
        """(lanes, features, P, O)."""
        runs, slices = self.runs, self.runs.esn.network.slices
        weights = runs.esn.weights(self.width)
        cross = np.zeros((len(self.lanes), runs.features, len(runs.space.learned), runs.outputs))
        for p, (parameter, blocks) in enumerate(zip(runs.space.learned, self.sums, strict=True)):
            for k, block in zip(reaches(weights, parameter), blocks, strict=True):
                cross[:, slices[k], p] = block[..., : len(self.lanes)].transpose(2, 0, 1)
        return cross

    def kept(self) -> list[Floats]:
        """The validation rows of every lane, (rows, N + P O)."""
        width = self.runs.esn.units + self.moved
        return [np.concatenate(each) if each else np.empty((0, width)) for each in self.validation]

    def _add(self, begin: int, rows: Any) -> None:
        states = np.asarray(rows)[:, : len(self.lanes)].transpose(1, 0, 2)
        self.moments.add(begin, states)
        if self.keep_rows:
            for lane, (b, each) in enumerate(zip(self.which, states, strict=False)):
                low, high = (int(np.clip(edge - begin, 0, len(each))) for edge in self.runs.edges[b][1:])
                if low < high:
                    self.validation[lane].append(np.array(each[low:high]))

    def _counts(self, begin: int, steps: int, dtype: Any) -> Floats:
        """(steps, lanes or 1): 1 where a step of these series is used for training."""
        which = self.which[:1] if self.runs.series.count == 1 else self.which
        ends = np.array([self.runs.edges[b][:2] for b in which])
        at = begin + np.arange(steps)[:, None]
        counts: Floats = ((at >= ends[:, 0]) & (at < ends[:, 1])).astype(dtype)
        return counts
