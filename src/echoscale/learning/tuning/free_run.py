"""The error of free-running forecasts: from many origins, the readout's output becomes the next input for a number of steps.

    y(t) = W_k^T x(t) + b_k,   u(t+1) = y(t); or, with output feedback, u(t+1) = (s(t+1), y(t)) with known inputs s
    d(t)^2 = mean over outputs of (y(t) - truth)^2 / Var,   E = mean d^2 / (1 + d^2)

Origins are spread over the held-out folds, and the forecasts of fold k use the readout that was fitted to the other folds. In
chaos, late errors are as large as the attractor for every network: each counts for at most 1, so that E is about the share of
the forecast that is lost. Residuals of all forecasts give the curvature (Gauss-Newton). Their slopes are difference quotients
between neighbouring points, which run on the lanes of one scan.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from echoscale._internal.types import Floats, Indices
from echoscale.engine import devices, lanes
from echoscale.engine.hyper import Hyper
from echoscale.learning.tuning.losses import Loss, Model, Networks, Value, unit_per_step
from echoscale.readouts import closed_loop
from echoscale.readouts.columns import Columns
from echoscale.readouts.moments import DeviceMoments, HostMoments, Moments
from echoscale.readouts.penalties import least
from echoscale.readouts.ridge import Readout
from echoscale.readouts.statistics import gather

# Least and largest number of forecasts over all folds: one per two horizons of data in between. Few forecasts miss that some
# of them run away.
LEAST_ORIGINS, MOST_ORIGINS = 20, 100
STEP = 1e-3  # distance of neighbouring points, in logarithms


class Origins(NamedTuple):
    """The series and the last known step of every forecast of every fold, (K, R) each."""

    series: Indices
    step: Indices


@dataclass(frozen=True, eq=False)
class FreeRun(Loss):
    """The saturated squared error of forecasts of `horizon` steps; its root is shown: 0 is perfect, 1 fails at once."""

    horizon: int = 1
    name = "closed-loop error"
    rough = True  # chaos

    @cached_property
    def origins(self) -> Origins:
        """Origins spread evenly over the steps of every fold, each with room for a whole forecast."""
        held_out = self.data.spans
        steps = sum(end - begin for spans in held_out for begin, end in spans)
        each = -(-min(max(steps // (2 * self.horizon), LEAST_ORIGINS), MOST_ORIGINS) // len(held_out))
        series, step = [], []
        for spans in held_out:
            # y(t) is the first forecast value: the last known input is u(t).
            places = [(b, t) for b, (begin, end) in enumerate(spans) for t in range(begin, end - self.horizon + 1)]
            if not places:
                longest = max(end - begin for begin, end in spans)
                raise ValueError(
                    f"closed_loop={self.horizon} steps do not fit into a fold of {longest} steps: give fewer steps, fewer "
                    "folds, or longer series."
                )
            chosen = np.linspace(0, len(places) - 1, each).round().astype(int)
            series.append([places[place][0] for place in chosen])
            step.append([places[place][1] for place in chosen])
        return Origins(np.array(series), np.array(step))

    @cached_property
    def truth(self) -> Floats:
        """Targets of all forecasts, (K, R, steps, O)."""
        values = self.data.targets.values
        rows = [
            [values[b][t : t + self.horizon] for b, t in zip(*pair, strict=True)] for pair in zip(*self.origins, strict=True)
        ]
        return np.array(rows)

    @property
    def steps(self) -> int:
        """Total number of steps of all forecasts."""
        return self.origins.step.size * self.horizon

    @cached_property
    def spread(self) -> Floats:
        """Standard deviations of the targets, (O,)."""
        return np.asarray(np.concatenate(list(self.data.targets.values)).std(axis=0))

    def value_of_batch(self, at: Networks) -> Value:
        """See `losses.Loss`."""
        residuals, readout = self.residuals(at)
        return Value((residuals**2).sum(axis=(1, 2, 3, 4)) / self.steps, readout)

    @property
    def model_numbers(self) -> int:
        """See `losses.Loss`: statistics of a point and its neighbours."""
        return (self.features + self.outputs) ** 2 * (1 + len(self.space.names))

    def model_of_batch(self, z: Floats, readout: Readout) -> Model:
        """See `losses.Loss`."""
        count, many = z.shape
        near = np.concatenate([z[:, None], z[:, None] + STEP * np.eye(many)], axis=1)  # (S, 1 + P, P)
        inside = near <= self.space.high + 1e-12
        near = np.where(inside, near, 2 * z[:, None] - near)  # a step back at an upper bound
        residuals = self.residuals(self.networks(near.reshape(-1, many)))[0].reshape(count, 1 + many, -1)
        forward = np.where(np.einsum("spp->sp", inside[:, 1:]), STEP, -STEP)
        jacobian = (residuals[:, 1:] - residuals[:, :1]) / forward[..., None]
        error = (residuals[:, 0] ** 2).sum(axis=-1) / self.steps
        gradient = 2 * np.einsum("spr,sr->sp", jacobian, residuals[:, 0]) / self.steps
        curvature = 2 * np.einsum("spr,sqr->spq", jacobian, jacobian) / self.steps
        return Model(error, gradient, curvature)

    def best_penalty(self, hyper: Hyper) -> float:
        """See `losses.Loss`: the penalty with the best free runs."""
        per_step = self.path * unit_per_step(self.statistics(hyper)[0])
        several = hyper.map(lambda leaf: np.repeat(leaf, len(per_step)))
        penalties = (per_step + self.noise**2)[:, None] * self.data.train_rows
        errors = self.value_at(Networks(several, penalties, np.ones(len(per_step)))).error
        return float(per_step[least(errors).place])

    def residuals(self, at: Networks) -> tuple[Floats, Readout]:
        """Saturated residuals, (S, K, R, steps, O): the mean of their squares over all origins and steps is the error."""
        readout, states = self._fitted(at)
        outputs = self._forecasts(at.hyper, readout, states)
        apart = (outputs - self.truth) / (self.spread * np.sqrt(self.outputs))
        # A forecast that ran away to infinity has the largest error.
        apart = np.clip(np.nan_to_num(apart, nan=1e6, posinf=1e6, neginf=-1e6), -1e6, 1e6)
        return apart / np.sqrt(1 + (apart**2).sum(axis=-1, keepdims=True)), readout

    def _fitted(self, at: Networks) -> tuple[Readout, Floats]:
        """The readouts of all folds, (S, K, ...), and the states at the origins, (S, K, R, N), from one run."""
        data, (series, step) = self.data, self.origins
        blocks: dict[int, Moments] = {}
        kept = np.empty((len(at.penalties), *series.shape, self.esn.units))

        def consume(which: Indices, begin: int, states: Any) -> None:
            key = int(which[0])
            if key not in blocks:
                kind = HostMoments if isinstance(states, np.ndarray) else DeviceMoments
                blocks[key] = kind(which, data.series.count, self.esn.units, self.extra, data.edges)
            blocks[key].add(begin, states)
            here = (step >= begin) & (step < begin + len(states))
            for place, (point, b) in enumerate(zip(*np.divmod(which, data.series.count), strict=True)):
                for k, r in np.argwhere(here & (series == b)):
                    kept[point, k, r] = states[step[k, r] - begin, place]

        self.esn.run_chunks(data.series, consume, hyper=at.hyper)
        ordered = [blocks[key] for key in sorted(blocks)]
        train, _ = data.folded(gather(ordered, len(at.penalties), self.features))
        return self.fitted(train, at.penalties), kept

    def _forecasts(self, hyper: Hyper, readout: Readout, states: Floats) -> Floats:
        """Forecasts (S, K, R, steps, O) from states (S, K, R, N)."""
        esn, dtype = self.esn, np.dtype(self.esn.dtype)
        points, folds, each, units = states.shape
        padded = np.pad(np.arange(points), (0, lanes.lane_count(points) - points), mode="edge")
        which = np.repeat(padded, folds * each)
        windows = Columns(max(self.columns.inputs or 0, 1)).of_inputs(self.data.series)
        seen = np.array([windows[b][t] for b, t in zip(*map(np.ravel, self.origins), strict=True)])
        ahead = self._known_inputs()
        with devices.precision_and_device(esn.dtype, esn.device):
            first = np.ascontiguousarray(states[padded].reshape(-1, units).T, dtype)
            coef = np.asarray(readout.coef[padded].reshape(-1, *readout.coef.shape[2:]), dtype)
            intercept = np.asarray(readout.intercept[padded].reshape(-1, self.outputs), dtype)
            outputs = closed_loop.network_from_now(
                closed_loop.Net(esn.weights(len(which)), hyper.on(which, dtype), coef, intercept),
                tuple(np.split(first, np.cumsum(esn.sizes)[:-1])),
                np.asarray(np.tile(seen.T, len(padded)), dtype),
                self.horizon,
                known=None if ahead is None else np.asarray(np.tile(ahead, len(padded)), dtype),
            )
        rows = np.asarray(outputs, np.float64).reshape(self.horizon, self.outputs, len(padded), folds, each)
        return rows.transpose(2, 3, 4, 0, 1)[:points]

    def _known_inputs(self) -> Floats | None:
        """s(t+1), ... after every origin, (steps - 1, F, K R), 0 past the end; None if all inputs are outputs."""
        features = self.esn.n_inputs
        if not self.esn.n_outputs:
            return None
        found = np.zeros((self.origins.step.size, self.horizon - 1, features))
        for rows, b, t in zip(found, self.origins.series.ravel().tolist(), self.origins.step.ravel().tolist(), strict=True):
            inputs = self.data.series.values[b][t + 1 : t + self.horizon, :features]
            rows[: len(inputs)] = inputs
        return found.transpose(1, 2, 0)
