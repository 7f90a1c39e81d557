"""The rule of sequence learning: one minibatch moves the readout of snapshots and the hyper-parameters together.

    coef  <- coef  - readout_rate   m / (sqrt(v) + epsilon)
    theta <- theta - parameter_rate m / (sqrt(v) + epsilon),  kept within its limits

m and v are Adam's averages of the gradients of `gradients.snapshots` and of their squares, with other moments for the readout
than for the hyper-parameters (paper, table of parameters; its appendix exchanges beta and 1 - beta). Pure functions, for one
learner (`sequence_learner`) and for many starts at once (`sequence_starts`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax

from echoscale.engine import machine
from echoscale.engine.dynamics import Array, Weights
from echoscale.esn import ESN
from echoscale.gradients.snapshots import SnapshotReadout, gradients
from echoscale.hyper import Hyper, Parameter, put
from echoscale.online import constraints
from echoscale.series import Numbers, SeriesLike, as_series, refuse_masked


class AdamMoments(NamedTuple):
    """Adam's beta1, beta2 and epsilon."""

    first: float
    second: float
    epsilon: float

    def adam(self) -> optax.GradientTransformation:
        """Adam without its rate: that may change from minibatch to minibatch and must not be compiled in."""
        return optax.scale_by_adam(self.first, self.second, self.epsilon)


class SequencePlan(NamedTuple):
    """All that is fixed while one learner learns; its parts are compiled in."""

    learned: tuple[Parameter, ...]
    every: int
    loss: str
    form: str
    readout: AdamMoments
    parameters: AdamMoments


class SequenceLearning(NamedTuple):
    """All that changes: the readout, the learned hyper-parameters (P,) and Adam's averages for both."""

    readout: SnapshotReadout
    values: Array
    readout_averages: Any
    value_averages: Any


def begin(plan: SequencePlan, readout: SnapshotReadout, values: Array) -> SequenceLearning:
    """Before the first minibatch: Adam remembers nothing."""
    return SequenceLearning(readout, values, plan.readout.adam().init(readout), plan.parameters.adam().init(values))


def fresh_readout(rng: np.random.Generator, classes: int, snapshots: int, esn: ESN) -> SnapshotReadout:
    """coef ~ N(0, 1) / sqrt(K N), (classes, K, N), and an intercept of 0."""
    coef = rng.normal(size=(classes, snapshots, esn.units)) / np.sqrt(snapshots * esn.units)
    return SnapshotReadout(machine.to_device(coef, esn.dtype), machine.to_device(np.zeros(classes), esn.dtype))


def step(
    weights: Weights,
    hyper: Hyper,
    learning: SequenceLearning,
    u: Array,
    labels: Array,
    rates: tuple[Array, Array],
    plan: SequencePlan,
) -> tuple[SequenceLearning, Array, Array]:
    """One minibatch, u (lanes, T, F): the new state of learning, E and dE/dtheta (P,) before the step. Pure."""
    numbers = put(hyper, plan.learned, [value.reshape(1) for value in learning.values])
    inputs = jnp.transpose(u, (1, 2, 0))
    error, found = gradients(
        weights, numbers, learning.readout, inputs, labels, plan.learned, every=plan.every, loss=plan.loss, form=plan.form
    )
    by_readout = SnapshotReadout(found.coef, found.intercept)
    steps, readout_averages = plan.readout.adam().update(by_readout, learning.readout_averages)
    readout = jax.tree.map(lambda now, step: now - rates[0] * step, learning.readout, steps)
    move, value_averages = plan.parameters.adam().update(found.parameters, learning.value_averages)
    limits = np.array([constraints.bounds(each, "clip") for each in plan.learned], learning.values.dtype)
    values = jnp.clip(learning.values - rates[1] * move, limits[:, 0], limits[:, 1])
    return SequenceLearning(readout, values, readout_averages, value_averages), error, found.parameters


# The old state of learning is not given away: a step that fails, or is interrupted, leaves it as it was.
update = jax.jit(step, static_argnames="plan", compiler_options=machine.COMPILER_OPTIONS)


def sequences_of(u: SeriesLike, esn: ESN) -> Numbers:
    """Sequences of one length, checked, (B, T, F)."""
    series = as_series(u, esn.columns, dtype=np.dtype(esn.dtype))
    if series.kind == "one":
        raise ValueError(f"u must be sequences (B, T, F), got shape {series.values[0].shape}; one sequence is u[None].")
    if len(set(series.lengths.tolist())) > 1:
        raise ValueError(f"snapshots need sequences of one length, got {series.lengths.min()} to {series.lengths.max()} steps.")
    return np.asarray(series.values)


def labels_of(labels: npt.ArrayLike, count: int, classes: int) -> npt.NDArray[np.int32]:
    """One label for every sequence, checked, (count,)."""
    refuse_masked(labels, "labels")
    wanted = np.asarray(labels)
    if wanted.shape != (count,):
        raise ValueError(f"labels must be ({count},), one for every sequence, got shape {wanted.shape}.")
    if wanted.dtype.kind not in "iu" or wanted.min() < 0 or wanted.max() >= classes:
        raise ValueError(f"labels must be whole numbers from 0 to {classes - 1}, got {np.unique(wanted).tolist()}.")
    return wanted.astype(np.int32)
