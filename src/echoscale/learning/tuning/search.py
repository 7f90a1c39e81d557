"""The search of `tune`: many starts descend together, one step per round, and restart near the best if they are stuck.

In a round, every live start has a quadratic model of the error. The step is the minimum of the model in a box:

    minimise  g . s + s . H s / 2   with  low <= z + s <= high  and  |s_i| <= radius

This step, a shorter and a longer one are tried in one run, and the best is taken. If the error is rough, points scattered over
the box are tried as well. A start rests when it improves no more. A start that rests far above the best start, or stays far
above it for many rounds, is moved: it continues from the best of some points that mix the numbers of the good starts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.optimize import lsq_linear

from echoscale._internal.types import Floats
from echoscale.learning.tuning.losses import Loss, Value
from echoscale.readouts.penalties import least
from echoscale.readouts.ridge import Readout

LENGTHS = np.array([0.3, 1.0, 3.0])  # lengths of the steps tried, in units of the step of the model
FIRST_BOX, LARGEST_BOX, SMALLEST_BOX = 1.0, 4.0, 1e-3  # half sides, in logarithms: 1 is a factor of e
REFUSED, REFUSED_ROUGH = 0.1, 0.5  # factor by which a box shrinks if none of its steps helps
SCATTERED = 5  # points tried beside the steps where the error is rough; half a box is their standard deviation
GAIN = 3e-3  # relative gain in error: less in two consecutive rounds is no progress
PERFECT = 1e-14  # an error that needs no further search
SCREENED = 8  # points of which the best becomes a start
PATIENCE = 8  # rounds before a start that still gains may be moved
FAR = 1.21  # times the least error: 10 % for a root of squares
JITTER = 0.3  # spread of points that mix good starts
# Damping: directions that hardly change the error must not make the steps long.
DAMPING = 1e-6


@dataclass
class Search:
    """The state of all S starts.

    z        points, (S, P); value: errors and readouts at these points
    box      half side of every trust region, (S,)
    idle     rounds without gain, (S,); age: rounds since every start was placed or moved, (S,)
    steps    number of simulated steps so far, of networks and tangents together
    """

    loss: Loss
    rng: np.random.Generator
    z: Floats
    value: Value
    steps: int
    box: Floats = field(init=False)
    idle: npt.NDArray[np.int64] = field(init=False)
    age: npt.NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.box = np.full(len(self.z), FIRST_BOX)
        self.idle, self.age = np.zeros(len(self.z), np.int64), np.zeros(len(self.z), np.int64)

    @classmethod
    def begin(cls, loss: Loss, z: Floats, rng: np.random.Generator) -> Search:
        """Begin from candidates (S, C, P): the best of every C is a start."""
        starts, candidates, _ = z.shape
        points = z.reshape(-1, z.shape[-1])
        value = loss.value(points)
        best = least(value.error.reshape(starts, candidates).T).place + np.arange(starts) * candidates
        # Copies: the starts change in place.
        kept = Value(value.error[best].copy(), Readout(*(np.array(each[best]) for each in value.readout)))
        return cls(loss, rng, points[best].copy(), kept, loss.data.steps * len(points))

    @property
    def live(self) -> npt.NDArray[np.int64]:
        """The starts that still gain; none if one is perfect."""
        return np.flatnonzero((self.idle < 2) & (self.value.error[self.best] > PERFECT))

    @property
    def best(self) -> int:
        """The start with the least error."""
        return int(least(self.value.error).place)

    def round(self) -> None:
        """One step of every live start."""
        live, space = self.live, self.loss.space
        self.age += 1
        model = self.loss.model(self.z[live], self.value.readout.at(live))
        points = []
        for place, start in enumerate(live):
            slope, bend = model.gradient[place], model.curvature[place]
            if np.isfinite(slope).all() and np.isfinite(bend).all():
                points.append(trials(self.z[start], slope, bend, space.low, space.high, self.box[start], LENGTHS))
            else:  # chaos: the tangents have grown without bounds and are useless
                points.append(np.repeat(self.z[start][None], len(LENGTHS), axis=0))
            if self.loss.rough:
                apart = self.box[start] / 2 * self.rng.standard_normal((SCATTERED, len(slope)))
                points.append(np.clip(self.z[start] + apart, space.low, space.high))
        tried = np.concatenate(points)
        value = self.loss.value(tried)
        self.steps += self.loss.data.steps * (len(tried) + len(live) * self.loss.model_runs)
        errors = value.error.reshape(len(live), -1)
        for place, (start, best) in enumerate(zip(live, least(errors.T).place, strict=True)):
            longer = np.clip(LENGTHS[best], 0.5, 2.0) if best < len(LENGTHS) else 1.0
            self._move(start, errors[place, best], self.box[start] * longer, tried, value, place * errors.shape[1] + best)

    def relocate(self) -> None:
        """Move starts that are far above the best, and rest or have run out of patience, between the good ones."""
        errors = np.where(np.isfinite(self.value.error), self.value.error, np.inf)
        far = errors > FAR * errors.min()
        stuck = np.flatnonzero(far & ((self.idle >= 2) | (self.age >= PATIENCE)))
        if not len(stuck) or len(self.z) < 2:
            return
        good = self.z[np.argsort(errors)[: max(int((~far).sum()), 2)]]
        shape = len(stuck), SCREENED, self.z.shape[1]
        one, other = (good[self.rng.integers(len(good), size=shape[:2])] for _ in range(2))
        mixed = np.where(self.rng.random(shape) < 0.5, one, other) + JITTER * self.rng.standard_normal(shape)
        space = self.loss.space
        fresh = Search.begin(self.loss, np.clip(mixed, space.low, space.high), self.rng)
        self.steps += fresh.steps
        for place, start in enumerate(stuck.tolist()):
            self._put(start, fresh.z[place], fresh.value, place)
            self.box[start], self.idle[start], self.age[start] = FIRST_BOX, 0, 0

    def _move(self, start: int, error: float, box: float, tried: Floats, value: Value, place: int) -> None:
        now = np.nan_to_num(self.value.error[start], nan=np.inf)
        if error < now:
            slow = now - error < GAIN * now
            self._put(start, tried[place], value, place)
            self.box[start] = np.clip(box, SMALLEST_BOX, LARGEST_BOX)
            self.idle[start] = self.idle[start] + 1 if slow else 0
            return
        self.box[start] *= REFUSED_ROUGH if self.loss.rough else REFUSED
        if self.box[start] < SMALLEST_BOX:
            self.idle[start] = 2

    def _put(self, start: int, z: Floats, value: Value, place: int) -> None:
        self.z[start], self.value.error[start] = z, value.error[place]
        for ours, theirs in zip(self.value.readout, value.readout, strict=True):
            ours[start] = theirs[place]


def step(gradient: Floats, curvature: Floats, low: Floats, high: Floats) -> Floats:
    """The minimiser s (P,) in the box low <= s <= high (which holds 0) of a convex model."""
    free = high > low
    found = np.clip(np.zeros_like(gradient), low, high)
    if not free.any():
        return found
    values, vectors = np.linalg.eigh(curvature[np.ix_(free, free)])
    damped = np.maximum(values, 0) + DAMPING * max(values[-1], np.finfo(float).tiny)
    root = np.sqrt(damped)
    target = -(vectors.T @ gradient[free]) / root
    found[free] = lsq_linear(root[:, None] * vectors.T, target, (low[free], high[free]), method="bvls").x
    return np.clip(found, low, high)


def trials(z: Floats, gradient: Floats, curvature: Floats, low: Floats, high: Floats, radius: float, lengths: Floats) -> Floats:
    """Points to try from z (P,), (K, P): the step within the radius, scaled by the K factors `lengths`."""
    whole = step(gradient, curvature, np.maximum(low - z, -radius), np.minimum(high - z, radius))
    return np.clip(z + lengths[:, None] * whole, low, high)
