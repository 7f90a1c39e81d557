"""Learn leak rates and a readout of snapshots together, minibatch by minibatch.

    coef  <- coef  - readout_rate   m / (sqrt(v) + epsilon)
    alpha <- alpha - parameter_rate m / (sqrt(v) + epsilon),  clipped to [0.001, 1]

m and v are Adam's averages of the gradients (`snapshots.gradients`) and of their squares. The readout and the leak rates have
different moments (the paper's table of parameters; its appendix swaps beta and 1 - beta).

`SequenceLearner` is one learner. `walk` follows its rule from many starts at once: mapped over the starts, and a stretch of
minibatches is one compiled scan, so the sequences stay on the device and small kernels serve all starts together.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax
from jax import Array

from echoscale import ESN, Hyper
from echoscale.engine import COMPILER_OPTIONS, Parameter, Weights, device_of, precision_and_device, put, to_device
from paper.snapshots import SnapshotReadout, gradients
from paper.types import Floats

# Adam without its rate: a rate may change and must not be compiled in.
READOUT_ADAM, LEAK_ADAM = optax.scale_by_adam(0.9, 0.999, 1e-8), optax.scale_by_adam(0.999, 0.999, 1e-8)
LEAST_LEAK, MOST_LEAK = 0.001, 1.0


class Plan(NamedTuple):
    """The learned leak rates, and the steps between two snapshots: both are compiled in."""

    learned: tuple[Parameter, ...]
    every: int


class Learning(NamedTuple):
    """Everything that changes: the readout, the leak rates (P,), and Adam's averages for both."""

    readout: SnapshotReadout
    values: Array
    readout_averages: Any
    value_averages: Any


class SequenceLearner:
    """z = b + sum over k = 1..K of coef_k x(k M), learned with the cross-entropy of z and the label.

    every  M, the number of steps between two snapshots
    loss, gradients  E and dE/dalpha (P,) of every minibatch, before its step
    """

    def __init__(
        self, esn: ESN, classes: int, every: int, *, readout_rate: float, parameter_rate: float, seed: int = 0
    ) -> None:
        self.esn, self.classes, self.seed = esn, classes, seed
        self.plan = Plan(tuple(Parameter("leak_rate", k) for k in range(len(esn.sizes))), every)
        self.readout_rate, self.parameter_rate = readout_rate, parameter_rate
        self.rng = np.random.default_rng(seed)
        self.loss: list[float] = []
        self.gradients: list[Floats] = []
        self._learning: Learning | None = None

    def start(self, steps: int) -> SequenceLearner:
        """Draw the first readout for sequences of this length, unless there is one."""
        if self._learning is None:
            with self.precision():
                readout = fresh_readout(self.rng, self.classes, steps // self.plan.every, self.esn)
                self._learning = begin(readout, jnp.asarray(self.values, self.esn.dtype))
        return self

    def partial_fit(self, u: npt.ArrayLike, labels: npt.ArrayLike) -> SequenceLearner:
        """Take one step on a minibatch, u (B, T, F) and labels (B,)."""
        sequences, wanted = np.asarray(u, self.esn.dtype), np.asarray(labels, np.int32)
        self.start(sequences.shape[1])
        with self.precision():
            hyper = self.esn.hyper.map(lambda leaf: np.asarray([leaf], self.esn.dtype))
            weights = self.esn.weights(len(sequences))
            self._learning, error, slopes = update(weights, hyper, self._learning, sequences, wanted, self.rates(), self.plan)
        self.loss.append(float(error))
        self.gradients.append(np.array(slopes, np.float64))
        return self

    @property
    def readout(self) -> SnapshotReadout:
        """The readout as NumPy arrays; `start` draws the first one."""
        assert self._learning is not None
        return SnapshotReadout(*(np.array(each) for each in self._learning.readout))

    @property
    def values(self) -> Floats:
        """The leak rates, (P,)."""
        if self._learning is None:
            return np.array([float(each.of(self.esn.hyper)) for each in self.plan.learned])
        return np.array(self._learning.values, np.float64)

    @property
    def hyper(self) -> Hyper:
        """All hyper-parameters of the network, with the learned leak rates."""
        return put(self.esn.hyper, self.plan.learned, [np.asarray(value) for value in self.values])

    def precision(self) -> AbstractContextManager[None]:
        """The precision and the device of the network."""
        return precision_and_device(self.esn.dtype, device_of(self.esn.device))

    def rates(self) -> tuple[Any, Any]:
        """The rates of readout and leak rates in the precision of the network."""
        return np.asarray(self.readout_rate, self.esn.dtype), np.asarray(self.parameter_rate, self.esn.dtype)


def begin(readout: SnapshotReadout, values: Array) -> Learning:
    """The state before the first minibatch, with empty averages."""
    return Learning(readout, values, READOUT_ADAM.init(readout), LEAK_ADAM.init(values))


def fresh_readout(rng: np.random.Generator, classes: int, snapshots: int, esn: ESN) -> SnapshotReadout:
    """coef ~ N(0, 1) / sqrt(K N), (classes, K, N), and an intercept of 0."""
    coef = rng.normal(size=(classes, snapshots, esn.units)) / np.sqrt(snapshots * esn.units)
    return SnapshotReadout(to_device(coef, esn.dtype), to_device(np.zeros(classes), esn.dtype))


def step(
    weights: Weights, hyper: Hyper, learning: Learning, u: Array, labels: Array, rates: tuple[Array, Array], plan: Plan
) -> tuple[Learning, Array, Array]:
    """One minibatch, u (lanes, T, F): the new state of learning, and E and dE/dalpha (P,) before the step."""
    numbers = put(hyper, plan.learned, [value.reshape(1) for value in learning.values])
    inputs = jnp.transpose(u, (1, 2, 0))
    error, found = gradients(weights, numbers, learning.readout, inputs, labels, plan.learned, every=plan.every)
    by_readout = SnapshotReadout(found.coef, found.intercept)
    steps, readout_averages = READOUT_ADAM.update(by_readout, learning.readout_averages)
    readout = jax.tree.map(lambda now, step: now - rates[0] * step, learning.readout, steps)
    move, value_averages = LEAK_ADAM.update(found.parameters, learning.value_averages)
    values = jnp.clip(learning.values - rates[1] * move, LEAST_LEAK, MOST_LEAK)
    return Learning(readout, values, readout_averages, value_averages), error, found.parameters


update = jax.jit(step, static_argnames="plan", compiler_options=COMPILER_OPTIONS)


class Walk(NamedTuple):
    """values (S, minibatches + 1, P): the leak rates, the starts first; loss (S, minibatches): E before every step."""

    values: Floats
    loss: Floats


@partial(jax.jit, static_argnames="plan", donate_argnames="learning", compiler_options=COMPILER_OPTIONS)
def _stretch(
    weights: Weights,
    hyper: Hyper,
    learning: Learning,
    u: Array,
    labels: Array,
    order: Array,
    rates: tuple[Array, Array],
    plan: Plan,
) -> tuple[Learning, tuple[Array, Array]]:
    """Minibatches order (n, B) one after another: the new state of all starts, E (n, S) and the leak rates (n, S, P)."""
    every = jax.vmap(partial(step, plan=plan), in_axes=(None, 0, 0, None, None, None))

    def body(now: Learning, which: Array) -> tuple[Learning, tuple[Array, Array]]:
        new, error, _ = every(weights, hyper, now, u[which], labels[which], rates)
        return new, (error, new.values)

    return jax.lax.scan(body, learning, order)


def walk(
    learner: SequenceLearner,
    starts: Hyper,
    u: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    minibatches: int,
    minibatch: int,
    reset: int | None = None,
    check: Callable[[], None] = lambda: None,
    stretch: int = 50,
) -> Walk:
    """Follow the rule of a learner from the starts, the S lanes of a Hyper. The learner itself does not change.

    All starts begin with the same readout and see the same minibatches, epoch after epoch.

    minibatches, minibatch  number of steps, and sequences in each
    reset                   minibatches between two draws of the readout (the paper's way out of local minima)
    check                   called after every `stretch` minibatches, which are one compiled call
    """
    esn, plan = learner.esn, learner.plan
    every = reset or minibatches
    sequences, wanted = np.asarray(u, esn.dtype), np.asarray(labels, np.int32)
    rng = np.random.default_rng(learner.seed)
    lanes = starts.lanes or 1

    def fresh(values: Array) -> Learning:
        """A new readout, the same for all starts, and Adam with empty averages."""
        one = begin(fresh_readout(rng, learner.classes, sequences.shape[1] // plan.every, esn), values[0])
        many: Learning = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (lanes, *jnp.shape(leaf))).copy(), one)
        return many._replace(values=values)

    with learner.precision():
        numbers = starts.map(lambda leaf: jnp.broadcast_to(jnp.asarray(leaf, esn.dtype).reshape(-1, 1), (lanes, 1)))
        values = jnp.concatenate([each.of(numbers) for each in plan.learned], axis=1)
        first = np.array(values)  # a copy: the compiled call uses the array up
        data = jax.device_put((sequences, wanted))
        weights = esn.weights(minibatch)
        now = fresh(values)
        found: list[tuple[Any, Any]] = []
        order = np.empty(0, np.int64)
        done = 0
        while done < minibatches:
            count = min(stretch, every - done % every, minibatches - done)
            while len(order) < count * minibatch:
                order = np.concatenate([order, rng.permutation(len(sequences))])
            rows, order = order[: count * minibatch].reshape(count, minibatch), order[count * minibatch :]
            now, (loss, path) = _stretch(weights, numbers, now, *data, rows, learner.rates(), plan)
            found.append((np.asarray(loss), np.asarray(path)))
            done += count
            if done % every == 0 and done < minibatches:
                now = fresh(now.values)._replace(value_averages=now.value_averages)
            check()
    path = np.concatenate([first[None], *(each[1] for each in found)]).astype(np.float64)
    return Walk(path.transpose(1, 0, 2), np.concatenate([each[0] for each in found]).T.astype(np.float64))
