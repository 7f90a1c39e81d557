"""Many starts of a sequence learner at once: what leak rates and other numbers do, minibatch by minibatch, from each of them.

    (readout_s, theta_s)  <-  update(readout_s, theta_s, minibatch)      for every start s

It is the rule of `sequence_learner`, mapped over the starts, and a stretch of minibatches is one compiled scan: sequences stay
on the device, and small kernels serve all starts together. All starts see the same minibatches and begin with the same readout.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from echoscale import _checks
from echoscale.engine import machine
from echoscale.engine.dynamics import Array, Weights
from echoscale.hyper import Hyper
from echoscale.online.sequence_learner import SequenceLearner, SequenceLearning, SequencePlan, step

Floats = npt.NDArray[np.float64]


class Walk(NamedTuple):
    """Learned numbers (S, minibatches + 1, P), the first row those of the start, and the loss of every minibatch, (S, ...)."""

    values: Floats
    loss: Floats


@partial(jax.jit, static_argnames="plan", donate_argnames="learning", compiler_options=machine.COMPILER_OPTIONS)
def _stretch(
    weights: Weights,
    hyper: Hyper,
    learning: SequenceLearning,
    u: Array,
    labels: Array,
    order: Array,
    rates: Any,
    plan: SequencePlan,
) -> tuple[SequenceLearning, tuple[Array, Array]]:
    """Minibatches order (n, B) one after another: the new state of all starts, E (n, S) and the numbers (n, S, P)."""
    every = jax.vmap(partial(step, plan=plan), in_axes=(None, 0, 0, None, None, None))

    def body(now: SequenceLearning, which: Array) -> tuple[SequenceLearning, tuple[Array, Array]]:
        new, error, _ = every(weights, hyper, now, u[which], labels[which], rates)
        return new, (error, new.values)

    return jax.lax.scan(body, learning, order)


def walk(
    learner: SequenceLearner,
    starts: Hyper,
    u: Any,
    labels: Any,
    *,
    minibatches: int,
    minibatch: int = 50,
    reset: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    stretch: int = 50,
) -> Walk:
    """Follow the rule of a learner, which itself learns nothing, from every lane of `starts`.

    reset    a new readout after so many minibatches (the paper's way out of local minima); never unless given
    stretch  minibatches of one compiled call, between which progress(done, total) is told
    """
    size = _checks.integer(minibatch, "minibatch", minimum=1)
    total = _checks.integer(minibatches, "minibatches", minimum=1)
    every = total if reset is None else _checks.integer(reset, "reset", minimum=1)
    sequences, wanted = learner._sequences(u), learner._labels(labels, len(u))
    if size > len(sequences):
        raise ValueError(f"minibatch={size} is more than the {len(sequences)} sequences there are: choose a smaller one.")
    esn, rng = learner.esn, learner._rng
    lanes = esn._check_hyper(starts).lanes or 1
    with learner._precision():
        numbers = Hyper(*(tuple(_column(leaf, lanes, esn.dtype) for leaf in leaves) for leaves in starts))
        values = jnp.concatenate([each.of(numbers) for each in learner.plan.learned], axis=1)
        first = np.array(values)  # a copy: the loop uses the other up
        shown = jax.device_put((jnp.asarray(sequences), jnp.asarray(wanted)))
        rates = jnp.asarray(learner.readout_rate, esn.dtype), jnp.asarray(learner.parameter_rate, esn.dtype)
        weights = esn.weights(size)
        now = _begin(learner, values, sequences.shape[1])
        found: list[tuple[Any, Any]] = []
        order = np.empty(0, np.int64)
        done = 0
        while done < total:
            count = min(stretch, every - done % every, total - done)
            while len(order) < count * size:  # epoch after epoch
                order = np.concatenate([order, rng.permutation(len(sequences))])
            rows, order = order[: count * size].reshape(count, size), order[count * size :]
            now, (loss, path) = _stretch(weights, numbers, now, *shown, jnp.asarray(rows), rates, learner.plan)
            found.append((np.asarray(loss), np.asarray(path)))
            done += count
            if done % every == 0 and done < total:
                now = _begin(learner, now.values, sequences.shape[1])._replace(value_averages=now.value_averages)
            if progress is not None:
                progress(done, total)
    path = np.concatenate([first[None], *(each[1] for each in found)]).astype(np.float64)
    return Walk(path.transpose(1, 0, 2), np.concatenate([each[0] for each in found]).T.astype(np.float64))


def _begin(learner: SequenceLearner, values: Array, steps: int) -> SequenceLearning:
    """A new readout, the same for all starts, and Adam without memory."""
    readout = learner._new_readout(steps // learner.plan.every)
    one = SequenceLearning(
        readout, values[0], learner.plan.readout.adam().init(readout), learner.plan.parameters.adam().init(values[0])
    )
    many: SequenceLearning = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (len(values), *jnp.shape(leaf))).copy(), one)
    return many._replace(values=values)


def _column(leaf: Any, lanes: int, dtype: Any) -> Array:
    return jnp.broadcast_to(jnp.asarray(leaf, dtype).reshape(-1, 1), (lanes, 1))
