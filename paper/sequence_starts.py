"""Many starts of a sequence learner at once: the paths of their hyper-parameters, minibatch by minibatch.

    (readout_s, theta_s)  <-  update(readout_s, theta_s, minibatch)      for every start s

It is the rule of `sequence_rule`, mapped over the starts, and a stretch of minibatches is one compiled scan: sequences stay
on the device, and small kernels serve all starts together. All starts see the same minibatches and begin with the same readout.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.progress import Progress, shown
from echoscale.data.series import SeriesLike
from echoscale.engine import devices
from echoscale.engine.devices import device_of, precision_and_device
from echoscale.engine.dynamics import Array, Weights
from echoscale.engine.hyper import Hyper, checked
from paper.sequence_learner import (
    SequenceLearner,
    SequenceLearning,
    SequencePlan,
    begin,
    fresh_readout,
    labels_of,
    sequences_of,
    step,
)

Floats = npt.NDArray[np.float64]


class Walk(NamedTuple):
    """Where every start went.

    Attributes
    ----------
    values : (S, minibatches + 1, P)
        The learned hyper-parameters after every minibatch; the first row is the start.
    loss : (S, minibatches)
        E of every minibatch, before its step.
    """

    values: Floats
    loss: Floats


@partial(jax.jit, static_argnames="plan", donate_argnames="learning", compiler_options=devices.COMPILER_OPTIONS)
def _stretch(
    weights: Weights,
    hyper: Hyper,
    learning: SequenceLearning,
    u: Array,
    labels: Array,
    order: Array,
    rates: tuple[Array, Array],
    plan: SequencePlan,
) -> tuple[SequenceLearning, tuple[Array, Array]]:
    """Minibatches order (n, B) one after another: the new state of all starts, E (n, S) and the hyper-parameters (n, S, P)."""
    every = jax.vmap(partial(step, plan=plan), in_axes=(None, 0, 0, None, None, None))

    def body(now: SequenceLearning, which: Array) -> tuple[SequenceLearning, tuple[Array, Array]]:
        new, error, _ = every(weights, hyper, now, u[which], labels[which], rates)
        return new, (error, new.values)

    return jax.lax.scan(body, learning, order)


def walk(
    learner: SequenceLearner,
    starts: Hyper,
    u: SeriesLike,
    labels: npt.ArrayLike,
    *,
    minibatches: int,
    minibatch: int = 50,
    reset: int | None = None,
    progress: bool | Progress = False,
    stretch: int = 50,
) -> Walk:
    """(readout_s, theta_s) <- update(readout_s, theta_s, minibatch) for every start s: follow a learner's rule from each.

    The learner itself learns nothing; its seed draws the readouts and the order of the sequences.

    Parameters
    ----------
    learner : SequenceLearner
        Its network, learned hyper-parameters, rates and seed.
    starts : Hyper
        With S lanes, one for each start: `esn.hyper.replace(leak_rate=[...])`.
    u : (B, T, F)
        Sequences.
    labels : (B,)
        Whole numbers from 0 to classes - 1.
    minibatches : int
        How many steps to take, epoch after epoch.
    minibatch : int
        Sequences of a step.
    reset : int or None
        Draw a new readout after so many minibatches (the paper's way out of local minima); None: never.
    progress : bool or function
        True shows a bar; a function is called as progress(minibatches done, minibatches, note) after every stretch.
    stretch : int
        Minibatches of one compiled call.

    Returns
    -------
    Walk
        Paths (S, minibatches + 1, P) and losses (S, minibatches).

    Examples
    --------
    >>> import numpy as np
    >>> import echoscale as es
    >>> u = np.random.default_rng(0).normal(size=(20, 8, 1))
    >>> labels = np.arange(20) % 2
    >>> esn = es.single(5).build(n_inputs=1, seed=0)
    >>> learner = es.learning.SequenceLearner(esn, classes=2, every=4)
    >>> starts = esn.hyper.replace(leak_rate=[np.array([0.2, 0.5, 0.8])])
    >>> es.learning.walk(learner, starts, u, labels, minibatches=4, minibatch=10).values.shape
    (3, 5, 1)
    """
    size = checks.integer(minibatch, "minibatch", minimum=1)
    total = checks.integer(minibatches, "minibatches", minimum=1)
    every = total if reset is None else checks.integer(reset, "reset", minimum=1)
    esn, plan = learner.esn, learner.plan
    sequences = sequences_of(u, esn)
    wanted = labels_of(labels, len(sequences), learner.classes)
    if size > len(sequences):
        raise ValueError(f"minibatch={size} is more than the {len(sequences)} sequences there are: choose a smaller one.")
    rng = np.random.default_rng(learner.seed)
    lanes = checked(starts, esn.hyper).lanes or 1

    def fresh(values: Array) -> SequenceLearning:
        """A new readout, the same for all starts, and Adam without memory."""
        one = begin(plan, fresh_readout(rng, learner.classes, sequences.shape[1] // plan.every, esn), values[0])
        many: SequenceLearning = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (lanes, *jnp.shape(leaf))).copy(), one)
        return many._replace(values=values)

    with precision_and_device(esn.dtype, device_of(esn.device)), shown(progress, "walking") as tell:
        numbers = starts.map(lambda leaf: jnp.broadcast_to(jnp.asarray(leaf, esn.dtype).reshape(-1, 1), (lanes, 1)))
        values = jnp.concatenate([each.of(numbers) for each in plan.learned], axis=1)
        first = np.array(values)  # a copy: the loop uses the other up
        data = jax.device_put((sequences, wanted))
        rates = np.asarray(learner.readout_rate, esn.dtype), np.asarray(learner.parameter_rate, esn.dtype)
        weights = esn.weights(size)
        now = fresh(values)
        found: list[tuple[Any, Any]] = []
        order = np.empty(0, np.int64)
        done = 0
        while done < total:
            count = min(stretch, every - done % every, total - done)
            while len(order) < count * size:  # epoch after epoch
                order = np.concatenate([order, rng.permutation(len(sequences))])
            rows, order = order[: count * size].reshape(count, size), order[count * size :]
            now, (loss, path) = _stretch(weights, numbers, now, *data, rows, rates, plan)
            found.append((np.asarray(loss), np.asarray(path)))
            done += count
            if done % every == 0 and done < total:
                now = fresh(now.values)._replace(value_averages=now.value_averages)
            tell(done, total, f"loss {found[-1][0][-1].min():.4g}")
    path = np.concatenate([first[None], *(each[1] for each in found)]).astype(np.float64)
    return Walk(path.transpose(1, 0, 2), np.concatenate([each[0] for each in found]).T.astype(np.float64))
