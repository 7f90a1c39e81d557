"""A learner of sequences: the readout of snapshots and the numbers of the network together, minibatch by minibatch.

    coef  <- coef  - readout_rate   m / (sqrt(v) + epsilon)
    theta <- theta - parameter_rate m / (sqrt(v) + epsilon),  kept within its limits

m and v are Adam's averages of the gradients of `online.sequences` and of their squares, with other moments for the readout than
for the numbers (paper, table of parameters; its appendix exchanges beta and 1 - beta).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax

from echoscale import _checks
from echoscale.engine import machine
from echoscale.engine.dynamics import Array, Weights
from echoscale.engine.machine import device_of, precision_and_device
from echoscale.esn import ESN
from echoscale.gradients.snapshots import FORMS, LOSSES, SnapshotReadout, gradients
from echoscale.hyper import Hyper, Parameter, chosen, into_network, put
from echoscale.network import Network
from echoscale.online import constraints
from echoscale.series import as_series


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
    """All that changes: the readout, the learned numbers (P,) and Adam's averages for both."""

    readout: SnapshotReadout
    values: Array
    readout_averages: Any
    value_averages: Any


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


update = jax.jit(step, static_argnames="plan", donate_argnames="learning", compiler_options=machine.COMPILER_OPTIONS)


class SequenceHistory(NamedTuple):
    """One row per minibatch: E, the learned numbers after it (minibatches, P), and dE/dtheta (minibatches, P)."""

    loss: npt.NDArray[np.float64]
    parameters: npt.NDArray[np.float64]
    gradients: npt.NDArray[np.float64]


class SequenceLearner:
    """Learns a readout of snapshots and numbers of the network together, minibatch by minibatch, with Adam for each.

    classes         labels are 0 .. classes - 1
    every           M: a snapshot after every M steps
    parameters      which numbers are learned: "leak_rate" (all of them), "leak_rate[0]", "coupling", ...
    readout_rate    step of the readout; the paper has 5e-2 for 4 snapshots, 5e-3 for 28. May be set anew at any time
    parameter_rate  step of the learned numbers; likewise
    *_moments       Adam's (beta1, beta2); epsilon is that of both
    trace           "exact", "truncated", or "bptt" for the reference
    seed            of the readout's first weights, N(0, 1) / sqrt(K N), and of the order in `fit`

    Compiled once for every size of a minibatch. Memory: K snapshots of the states of one minibatch.
    """

    def __init__(
        self,
        esn: ESN,
        classes: int,
        every: int,
        *,
        parameters: str | Sequence[str | Parameter] = "leak_rate",
        readout_rate: float = 5e-3,
        parameter_rate: float = 1e-4,
        readout_moments: tuple[float, float] = (0.9, 0.999),
        parameter_moments: tuple[float, float] = (0.999, 0.999),
        epsilon: float = 1e-8,
        trace: str = "exact",
        loss: str = "sigmoid",
        seed: int = 0,
    ) -> None:
        self.esn = esn
        self.classes = _checks.integer(classes, "classes", minimum=2)
        self.plan = SequencePlan(
            chosen(parameters, esn.hyper),
            _checks.integer(every, "every", minimum=1),
            _checks.choice(loss, LOSSES, "loss"),
            _checks.choice(trace, FORMS, "trace"),
            AdamMoments(*readout_moments, epsilon),
            AdamMoments(*parameter_moments, epsilon),
        )
        self.readout_rate = readout_rate
        self.parameter_rate = parameter_rate
        self._rng = np.random.default_rng(_checks.integer(seed, "seed"))
        self._learning: SequenceLearning | None = None
        self._rows: list[tuple[float, Any, Any]] = []

    def start(self, steps: int) -> SequenceLearner:
        """Draw the first readout for sequences of so many steps, unless there is one: `partial_fit` does it by itself."""
        with self._precision():
            self._started(_checks.integer(steps, "steps", minimum=1))
        return self

    def partial_fit(self, u: Any, labels: Any) -> SequenceLearner:
        """One step on a minibatch: u (B, T, F), labels (B,)."""
        series, wanted = self._sequences(u), self._labels(labels, len(u))
        with self._precision():
            now = self._started(series.shape[1])
            hyper = jax.tree.map(lambda leaf: jnp.reshape(jnp.asarray(leaf, self.esn.dtype), (1,)), self.esn.hyper)
            rates = jnp.asarray(self.readout_rate, self.esn.dtype), jnp.asarray(self.parameter_rate, self.esn.dtype)
            weights = self.esn.weights(len(series))
            self._learning, error, slopes = update(weights, hyper, now, series, wanted, rates, self.plan)
            self._rows.append((float(error), np.array(self._learning.values, np.float64), np.array(slopes, np.float64)))
        return self

    def fit(self, u: Any, labels: Any, *, epochs: int = 1, minibatch: int = 50) -> SequenceLearner:
        """Epochs of shuffled minibatches, going on from where learning stands; what does not fill the last one is left out."""
        count = len(u)
        size = _checks.integer(minibatch, "minibatch", minimum=1)
        if size > count:
            raise ValueError(f"minibatch={size} is more than the {count} sequences there are: choose a smaller one.")
        sequences, wanted = self._sequences(u), self._labels(labels, count)
        for _ in range(_checks.integer(epochs, "epochs", minimum=1)):
            order = self._rng.permutation(count)
            for begin in range(0, count - size + 1, size):
                which = order[begin : begin + size]
                self.partial_fit(sequences[which], wanted[which])
        return self

    def decision_function(self, u: Any) -> npt.NDArray[Any]:
        """z of every class, (B, classes), with the network and the readout as learned so far."""
        readout = self.readout
        snapshots = self.esn.snapshots(self._sequences(u), self.plan.every, hyper=self.hyper)
        self._check_length(snapshots.shape[1])
        return np.asarray(np.einsum("ckn,bkn->bc", readout.coef, snapshots, optimize=True) + readout.intercept)

    def predict(self, u: Any) -> npt.NDArray[np.int64]:
        """The label of every sequence, (B,)."""
        return np.asarray(self.decision_function(u).argmax(axis=1))

    def reset_readout(self) -> None:
        """New random weights and new averages of Adam for the readout; what was learned of the network stays.

        The paper does so whenever the leaks have settled: a readout that has converged holds them where they are.
        """
        now = self._learned()
        with self._precision():
            readout = self._new_readout(now.readout.coef.shape[1])
            self._learning = now._replace(readout=readout, readout_averages=self.plan.readout.adam().init(readout))

    @property
    def readout(self) -> SnapshotReadout:
        """The readout as NumPy arrays."""
        now = self._learned().readout
        return SnapshotReadout(
            np.array(now.coef), np.array(now.intercept)
        )  # copies: the arrays themselves are used up by the next step

    @property
    def values(self) -> dict[str, float]:
        """The learned numbers by name."""
        given = [float(each.of(self.esn.hyper)) for each in self.plan.learned]
        now = given if self._learning is None else np.asarray(self._learning.values, np.float64).tolist()
        return {str(parameter): float(value) for parameter, value in zip(self.plan.learned, now, strict=True)}

    @property
    def hyper(self) -> Hyper:
        """All numbers of the network, the learned ones among them."""
        return put(self.esn.hyper, self.plan.learned, [np.asarray(value) for value in self.values.values()])

    @property
    def network(self) -> Network:
        """The description with the learned numbers in it."""
        return into_network(self.esn.network, self.plan.learned, list(self.values.values()))

    @property
    def history(self) -> SequenceHistory:
        """What happened so far, one row per minibatch."""
        count = len(self.plan.learned)
        loss, values, slopes = zip(*self._rows, strict=True) if self._rows else ((), (), ())
        return SequenceHistory(np.array(loss, np.float64), np.reshape(values, (-1, count)), np.reshape(slopes, (-1, count)))

    def _precision(self) -> Any:
        return precision_and_device(self.esn.dtype, device_of(self.esn.device))

    def _learned(self) -> SequenceLearning:
        if self._learning is None:
            raise ValueError("nothing has been learned yet: call start, partial_fit or fit first.")
        return self._learning

    def _started(self, steps: int) -> SequenceLearning:
        every = self.plan.every
        if steps < every:
            raise ValueError(f"every={every} is longer than the sequences of {steps} steps: there would be no snapshot.")
        if self._learning is None:
            readout = self._new_readout(steps // every)
            values = jnp.asarray([float(each.of(self.esn.hyper)) for each in self.plan.learned], self.esn.dtype)
            averages = self.plan.readout.adam().init(readout), self.plan.parameters.adam().init(values)
            self._learning = SequenceLearning(readout, values, *averages)
        self._check_length(steps // every)
        return self._learning

    def _check_length(self, snapshots: int) -> None:
        known = self._learned().readout.coef.shape[1]
        if snapshots != known:
            raise ValueError(
                f"these sequences give {snapshots} snapshots, the first ones gave {known}: with every={self.plan.every}, all "
                f"must have {known * self.plan.every} to {(known + 1) * self.plan.every - 1} steps."
            )

    def _new_readout(self, snapshots: int) -> SnapshotReadout:
        shape = (self.classes, snapshots, self.esn.units)
        coef = self._rng.normal(size=shape) / np.sqrt(snapshots * self.esn.units)
        return SnapshotReadout(jnp.asarray(coef, self.esn.dtype), jnp.zeros(self.classes, self.esn.dtype))

    def _sequences(self, u: Any) -> npt.NDArray[Any]:
        series = as_series(u, self.esn.n_inputs, dtype=np.dtype(self.esn.dtype))
        if series.kind == "one":
            raise ValueError(f"u must be sequences (B, T, F), got shape {np.shape(u)}; one sequence is u[None].")
        if len(set(series.lengths.tolist())) > 1:
            raise ValueError(
                f"snapshots need sequences of one length, got {series.lengths.min()} to {series.lengths.max()} steps."
            )
        return np.asarray(series.values)

    def _labels(self, labels: Any, count: int) -> npt.NDArray[np.int32]:
        wanted = np.asarray(labels)
        if wanted.shape != (count,):
            raise ValueError(f"labels must be ({count},), one for every sequence, got shape {wanted.shape}.")
        if wanted.dtype.kind not in "iu" or wanted.min() < 0 or wanted.max() >= self.classes:
            raise ValueError(f"labels must be whole numbers from 0 to {self.classes - 1}, got {np.unique(wanted).tolist()}.")
        return wanted.astype(np.int32)
