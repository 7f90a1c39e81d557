"""A learner of sequences: the readout of snapshots and the hyper-parameters together, minibatch by minibatch.

The rule of sequence learning: one minibatch moves the readout of snapshots and the hyper-parameters together.

    coef  <- coef  - readout_rate   m / (sqrt(v) + epsilon)
    theta <- theta - parameter_rate m / (sqrt(v) + epsilon),  kept within its limits

m and v are Adam's averages of the gradients of `gradients.snapshots` and of their squares, with other moments for the readout
than for the hyper-parameters (paper, table of parameters; its appendix exchanges beta and 1 - beta). Pure functions, for one
learner (`sequence_learner`) and for many starts at once (`sequence_starts`).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax

from echoscale._internal import checks
from echoscale._internal.progress import Progress, shown
from echoscale.data.series import Numbers, SeriesLike, as_series, refuse_masked
from echoscale.engine import devices
from echoscale.engine.devices import device_of, precision_and_device
from echoscale.engine.dynamics import Array, Weights
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Hyper, Parameter, chosen, into_network, put
from echoscale.learning.online import constraints, history
from echoscale.network import Network
from paper.snapshots import FORMS, LOSSES, SnapshotReadout, gradients

if TYPE_CHECKING:
    import xarray as xr


class SequenceLearner:
    """z = b + sum over k = 1..K of coef_k x(k M); Adam on the mean cross-entropy of z and the label.

    Readout (coef, b) and hyper-parameters of the network learn together, minibatch by minibatch, with one Adam for each. The
    gradient of the hyper-parameters comes from traces that travel with the states: memory holds the K snapshots of one
    minibatch, however long the sequences are. Compiled once for every size of a minibatch.

    Parameters
    ----------
    esn : ESN
        The network; it stays as it is.
    classes : int
        Labels are 0 .. classes - 1.
    every : int
        M: a snapshot after every M steps. Steps after the last one are ignored.
    parameters : str, or list of them
        Which hyper-parameters are learned: "leak_rate" (of all reservoirs), "leak_rate[0]", "coupling", ...
    readout_rate : float
        Step of the readout; the paper has 5e-2 for 4 snapshots, 5e-3 for 28. May be set anew at any time.
    parameter_rate : float
        Step of the hyper-parameters; likewise.
    readout_moments : (float, float)
        Adam's beta1 and beta2 for the readout.
    parameter_moments : (float, float)
        Adam's beta1 and beta2 for the hyper-parameters.
    epsilon : float
        Adam's, of both.
    trace : "exact", "truncated" or "bptt"
        The form of the gradient: the full trace, that of the paper's main text, or back-propagation as the reference.
    loss : "sigmoid" or "softmax"
        Every class by itself, or one of several; see `echoscale.data.losses`.
    seed : int
        Of the first readout, N(0, 1) / sqrt(K N), and of the order in `fit`.

    Attributes
    ----------
    learned : tuple of Parameter
        The P learned hyper-parameters.
    values : (1, P) array
        Their values as they stand; one row, as of an `OnlineLearner` with one start.
    hyper : Hyper
        All hyper-parameters of the network, the learned ones among them.
    network : Network
        The description with the learned hyper-parameters in it.
    readout : SnapshotReadout
        coef (classes, K, N) and intercept (classes,).
    history : xarray.Dataset
        loss, gradient, value and targets with dims start (1), parameter and step, one step per minibatch, as that of an
        `OnlineLearner`.
    rng : numpy.random.Generator
        Draws readouts and orders.

    Examples
    --------
    >>> import numpy as np
    >>> import echoscale as es
    >>> u = np.random.default_rng(0).normal(size=(40, 12, 1))
    >>> labels = (u.mean(axis=(1, 2)) > 0).astype(int)
    >>> esn = es.single(10, leak_rate=0.5).build(n_inputs=1, seed=0)
    >>> learner = es.learning.SequenceLearner(esn, classes=2, every=4, readout_rate=0.05).fit(u, labels, minibatch=10)
    >>> learner.values.shape, learner.readout.coef.shape, learner.history.sizes["step"]
    ((1, 1), (2, 3, 10), 4)
    >>> learner.predict(u).shape
    (40,)
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
        self.classes = checks.integer(classes, "classes", minimum=2)
        self.plan = SequencePlan(
            chosen(parameters, esn.hyper),
            checks.integer(every, "every", minimum=1),
            checks.choice(loss, LOSSES, "loss"),
            checks.choice(trace, FORMS, "trace"),
            AdamMoments(*readout_moments, epsilon),
            AdamMoments(*parameter_moments, epsilon),
        )
        self.readout_rate = readout_rate
        self.parameter_rate = parameter_rate
        self.seed = checks.integer(seed, "seed")
        self.rng = np.random.default_rng(self.seed)
        self._learning: SequenceLearning | None = None
        self._book = history.init(1, len(self.plan.learned), 1)

    def start(self, steps: int) -> SequenceLearner:
        """Draw the first readout, unless there is one: `partial_fit` does it by itself.

        Parameters
        ----------
        steps : int
            T, the length of the sequences.

        Returns
        -------
        SequenceLearner
            Itself.
        """
        with self._precision():
            self._learning, self.rng = self._started(checks.integer(steps, "steps", minimum=1))
        return self

    def partial_fit(self, u: SeriesLike, labels: npt.ArrayLike) -> SequenceLearner:
        """One step on one minibatch.

        Parameters
        ----------
        u : (B, T, F)
            Sequences.
        labels : (B,)
            Whole numbers from 0 to classes - 1.

        Returns
        -------
        SequenceLearner
            Itself.
        """
        sequences = sequences_of(u, self.esn)
        wanted = labels_of(labels, len(sequences), self.classes)
        with self._precision():
            now, drawn = self._started(sequences.shape[1])
            hyper = self.esn.hyper.map(lambda leaf: np.asarray([leaf], self.esn.dtype))
            rates = np.asarray(self.readout_rate, self.esn.dtype), np.asarray(self.parameter_rate, self.esn.dtype)
            weights = self.esn.weights(len(sequences))
            learning, error, slopes = update(weights, hyper, now, sequences, wanted, rates, self.plan)
            means = np.array([float(error), *np.asarray(slopes)], np.float64)
            book = history.add(self._book, 1.0, means[:, None], np.array(learning.values, np.float64)[:, None])
        self._learning, self._book, self.rng = learning, book, drawn
        return self

    def fit(
        self,
        u: SeriesLike,
        labels: npt.ArrayLike,
        *,
        epochs: int = 1,
        minibatch: int = 50,
        progress: bool | Progress = False,
    ) -> SequenceLearner:
        """Epochs of shuffled minibatches, going on from where learning stands.

        Parameters
        ----------
        u : (B, T, F)
            Sequences.
        labels : (B,)
            Whole numbers from 0 to classes - 1.
        epochs : int
            How often every sequence is seen.
        minibatch : int
            Sequences of a step; what does not fill the last one of an epoch is left out.
        progress : bool or function
            True shows a bar; a function is called as progress(minibatches done, minibatches, note).

        Returns
        -------
        SequenceLearner
            Itself.
        """
        sequences = sequences_of(u, self.esn)
        count = len(sequences)
        size = checks.integer(minibatch, "minibatch", minimum=1)
        if size > count:
            raise ValueError(f"minibatch={size} is more than the {count} sequences there are: choose a smaller one.")
        wanted = labels_of(labels, count, self.classes)
        total, done = checks.integer(epochs, "epochs", minimum=1) * (count // size), 0
        with shown(progress, "learning") as tell:
            while done < total:
                order = self.rng.permutation(count)
                for first in range(0, count - size + 1, size):
                    which = order[first : first + size]
                    self.partial_fit(sequences[which], wanted[which])
                    done += 1
                    tell(done, total, f"loss {self._book.loss[self._book.used - 1, 0]:.4g}")
        return self

    def decision_function(self, u: SeriesLike) -> Numbers:
        """z of every class, with the network and the readout as learned so far.

        Parameters
        ----------
        u : (B, T, F)
            Sequences.

        Returns
        -------
        (B, classes) array
            z.
        """
        readout = self.readout
        snapshots = self.esn.snapshots(sequences_of(u, self.esn), self.plan.every, hyper=self.hyper)
        self._check_length(snapshots.shape[1])
        return np.asarray(np.einsum("ckn,bkn->bc", readout.coef, snapshots, optimize=True) + readout.intercept)

    def predict(self, u: SeriesLike) -> npt.NDArray[np.int64]:
        """The class with the largest z.

        Parameters
        ----------
        u : (B, T, F)
            Sequences.

        Returns
        -------
        (B,) array
            Labels.
        """
        return np.asarray(self.decision_function(u).argmax(axis=1))

    @property
    def learned(self) -> tuple[Parameter, ...]:
        """Which hyper-parameters are learned."""
        return self.plan.learned

    @property
    def readout(self) -> SnapshotReadout:
        """The readout as NumPy arrays: coef (classes, K, N), intercept (classes,)."""
        now = self._learned().readout
        # Copies: the arrays themselves are used up by the next step.
        return SnapshotReadout(np.array(now.coef), np.array(now.intercept))

    @property
    def values(self) -> npt.NDArray[np.float64]:
        """The learned hyper-parameters as they stand, (1, P), in the order of `learned`."""
        if self._learning is None:
            return np.array([[float(each.of(self.esn.hyper)) for each in self.learned]])
        return np.array(self._learning.values, np.float64)[None]

    @property
    def hyper(self) -> Hyper:
        """All hyper-parameters of the network, the learned ones among them."""
        return put(self.esn.hyper, self.learned, [np.asarray(value) for value in self.values[0]])

    @property
    def network(self) -> Network:
        """The description with the learned hyper-parameters in it."""
        return into_network(self.esn.network, self.learned, self.values[0].tolist())

    @property
    def history(self) -> xr.Dataset:
        """loss, gradient, value and targets of every minibatch: dims start, parameter, step."""
        return history.dataset(self._book, [str(each) for each in self.learned])

    def _precision(self) -> AbstractContextManager[None]:
        return precision_and_device(self.esn.dtype, device_of(self.esn.device))

    def _learned(self) -> SequenceLearning:
        if self._learning is None:
            raise ValueError("nothing has been learned yet: call start, partial_fit or fit first.")
        return self._learning

    def _started(self, steps: int) -> tuple[SequenceLearning, np.random.Generator]:
        """Where learning stands, drawn if it has not begun, and the generator after that. Nothing is set."""
        every = self.plan.every
        if steps < every:
            raise ValueError(f"every={every} is longer than the sequences of {steps} steps: there would be no snapshot.")
        if self._learning is None:
            rng = copy.deepcopy(self.rng)
            readout = fresh_readout(rng, self.classes, steps // every, self.esn)
            return begin(self.plan, readout, jnp.asarray(self.values[0], self.esn.dtype)), rng
        self._check_length(steps // every)
        return self._learning, self.rng

    def _check_length(self, snapshots: int) -> None:
        known = self._learned().readout.coef.shape[1]
        if snapshots != known:
            raise ValueError(
                f"these sequences give {snapshots} snapshots, the first ones gave {known}: with every={self.plan.every}, all "
                f"must have {known * self.plan.every} to {(known + 1) * self.plan.every - 1} steps."
            )

    def __repr__(self) -> str:
        learned = ", ".join(map(str, self.learned))
        return f"SequenceLearner({self.esn.network!r}, learns {learned}, classes={self.classes}, every={self.plan.every})"


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
    return SnapshotReadout(devices.to_device(coef, esn.dtype), devices.to_device(np.zeros(classes), esn.dtype))


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
update = jax.jit(step, static_argnames="plan", compiler_options=devices.COMPILER_OPTIONS)


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
