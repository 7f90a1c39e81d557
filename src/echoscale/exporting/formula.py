"""One step of a fitted model as a few arrays: what every file that is exported says.

    seen  = (1, z(t), z(t-1), ..., z(t-m), x(t-1), x(t))
    x(t)  = keep x(t-1) + a f(drive seen),      f = tanh, or the identity of linear neurons
    y(t)  = W_out (products of entries of seen) + b

z(t) is the scaled input and, with output feedback, the scaled output of the step before. Biases, input weights, recurrent
weights and couplings are all rows of `drive`: its columns are places in `seen`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.exceptions import NotFittedError

from echoscale.esn import ESN
from echoscale.estimators import NVAR, ESNClassifier, ESNRegressor
from echoscale.scaling import Scaling

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

VALUES, SOFTMAX, SIGMOID = "values", "softmax", "sigmoid"


class Formula(NamedTuple):
    """A model in plain arrays. Its state (S,) is laid out as `state_` of the model.

    Attributes
    ----------
    kind : str
        The class of the model.
    inputs : Scaling
        Units of the F inputs.
    fed_back : Scaling or None
        Units of the O outputs, where they are fed back.
    memory : int
        m, the past inputs that the state holds.
    drive : (N, V) csr_array
        Weights on `seen`; those on x(t) stand left of a neuron's own level.
    keep : (N, N) csr_array
        (1 - a) O, on x(t-1).
    leak_rate : (N,)
        a.
    linear : (N,) bool
        Which neurons have no tanh.
    blocks : tuple of slice
        Neurons that move at once, in order; f is the same for all of a block.
    factors : (P, D)
        The product p is that of the entries factors[p] of `seen`; entry 0 is 1.
    coef : (O, P)
        W_out.
    intercept : (O,)
        b.
    meaning : "values", "softmax" or "sigmoid"
        What outputs are: numbers, or probabilities of classes from these scores.
    classes : tuple of str
        The labels in the order of the outputs; empty for numbers.
    """

    kind: str
    inputs: Scaling
    fed_back: Scaling | None
    memory: int
    drive: scipy.sparse.csr_array
    keep: scipy.sparse.csr_array
    leak_rate: Floats
    linear: npt.NDArray[np.bool_]
    blocks: tuple[slice, ...]
    factors: Indices
    coef: Floats
    intercept: Floats
    meaning: str = VALUES
    classes: tuple[str, ...] = ()

    @property
    def units(self) -> int:
        """N."""
        return len(self.leak_rate)

    @property
    def n_inputs(self) -> int:
        """F."""
        return len(self.inputs.mean)

    @property
    def n_outputs(self) -> int:
        """O."""
        return len(self.intercept)

    @property
    def n_fed_back(self) -> int:
        """O with output feedback, else 0."""
        return 0 if self.fed_back is None else self.n_outputs

    @property
    def columns(self) -> int:
        """What the network hears at a step: inputs, then outputs that are fed back."""
        return self.n_inputs + self.n_fed_back

    @property
    def past(self) -> int:
        """Numbers of past inputs in the state."""
        return self.memory * self.columns

    @property
    def before(self) -> int:
        """Where x(t-1) begins in `seen`."""
        return 1 + self.columns + self.past

    @property
    def seen(self) -> int:
        """V."""
        return self.before + 2 * self.units

    @property
    def state(self) -> int:
        """S: x, then past inputs, newest first, then the last output in units of the network."""
        return self.units + self.past + self.n_fed_back


def formula(model: object) -> Formula:
    """The step of a fitted model; raises where it has none that files can say.

    Parameters
    ----------
    model : ESNRegressor, ESNClassifier with one label per step, or NVAR
        Fitted.
    """
    if not isinstance(model, ESNRegressor | ESNClassifier | NVAR):
        raise TypeError(
            "export takes a fitted ESNRegressor, ESNClassifier (one label per step) or NVAR, got "
            f"{type(model).__name__}. es.save keeps every model."
        )
    if not hasattr(model, "readout_"):
        raise NotFittedError(f"this {type(model).__name__} is not fitted yet: call fit, then export it.")
    if isinstance(model, NVAR):
        return _of_lags(model)
    if isinstance(model, ESNClassifier) and model.per_sequence_:
        raise ValueError(
            "this ESNClassifier gives one label per sequence, from pools over all of its steps: export is for models with an "
            "output at every step. Fit it with a label for every step, or use es.save."
        )
    return _of_network(model)


def _of_network(model: ESNRegressor | ESNClassifier) -> Formula:
    esn, direct = model.esn_, model.direct_
    memory, units = max(direct - 1, 0), esn.units
    before = 1 + (memory + 1) * esn.columns
    states = before + units + np.arange(units)  # x(t)
    alone = np.concatenate([states, 1 + np.arange(direct * esn.columns)])[:, None]
    pairs = model._pairs(esn)
    factors = alone
    if pairs is not None:
        single = np.pad(alone, ((0, 0), (0, 1)))  # times seen[0], which is 1
        factors = np.concatenate([single[:units], states[pairs], single[units:]])
    drive, keep, leak_rate, linear = _network(esn, memory)
    sizes = np.cumsum([0, *esn.sizes])
    apart = esn.network.coupling_delay == 0 and bool(esn.network.couplings)
    split = apart or linear.any() != linear.all()
    blocks = tuple(slice(a, b) for a, b in pairwise(sizes)) if split else (slice(0, units),)
    found = Formula(
        kind=type(model).__name__,
        inputs=model.scaling_,
        fed_back=model.target_scaling_ if esn.n_outputs else None,
        memory=memory,
        drive=drive,
        keep=keep,
        leak_rate=leak_rate,
        linear=linear,
        blocks=blocks,
        factors=factors,
        coef=np.asarray(model.readout_.coef, np.float64),
        intercept=np.asarray(model.readout_.intercept, np.float64),
    )
    if isinstance(model, ESNRegressor):
        return found
    return found._replace(
        coef=model.steepness_ * found.coef,
        intercept=model.steepness_ * found.intercept,
        meaning=SIGMOID if model.readout == "sigmoid" else SOFTMAX,
        classes=tuple(str(each) for each in model.classes_),
    )


def _network(esn: ESN, memory: int) -> tuple[Any, Any, Floats, npt.NDArray[np.bool_]]:
    """drive, keep, leak rates, and which neurons are linear."""
    whole = esn.matrices()
    units, columns = esn.units, esn.columns
    level = np.repeat(np.arange(len(esn.sizes)), esn.sizes)
    W = scipy.sparse.coo_array(whole.W)
    row, column = W.coords
    # With coupling_delay=0 a level hears the new states of those before it.
    fresh = (level[column] < level[row]) & (esn.network.coupling_delay == 0)
    now, last = (
        scipy.sparse.csr_array((W.data[which], (row[which], column[which])), shape=W.shape) for which in (fresh, ~fresh)
    )
    inputs = np.concatenate([whole.bias[:, None], whole.W_in, np.zeros((units, memory * columns))], axis=1)
    drive = scipy.sparse.csr_array(scipy.sparse.hstack([scipy.sparse.csr_array(inputs), last, now], format="csr"))
    turned = scipy.sparse.eye_array(units, format="csr") if whole.residual is None else whole.residual
    keep = scipy.sparse.csr_array(scipy.sparse.diags_array(1 - whole.leak_rate) @ turned)
    for each in (drive, keep):
        each.eliminate_zeros()
        each.sort_indices()
    linear = np.zeros(units, np.bool_) if whole.linear is None else whole.linear
    return drive, keep, whole.leak_rate, linear


def _of_lags(model: NVAR) -> Formula:
    features = model.n_features_in_
    places = model._places(features)
    lag, feature = np.divmod(places - 1, features)
    nothing = scipy.sparse.csr_array((0, 1 + (model.washout_ + 1) * features))
    return Formula(
        kind="NVAR",
        inputs=model.scaling_,
        fed_back=None,
        memory=model.washout_,
        drive=nothing,
        keep=scipy.sparse.csr_array((0, 1)),
        leak_rate=np.zeros(0),
        linear=np.zeros(0, np.bool_),
        blocks=(),
        factors=np.where(places == 0, 0, 1 + lag * model.stride * features + feature),
        coef=np.asarray(model.readout_.coef, np.float64),
        intercept=np.asarray(model.readout_.intercept, np.float64),
    )
