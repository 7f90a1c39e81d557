"""One step of a fitted model as a few arrays, from which every export is written.

    seen  = (1, z(t), z(t-1), ..., z(t-m), x(t-1), x(t))
    x(t)  = keep x(t-1) + a f(drive seen),      f = tanh, or the identity of linear neurons
    y(t)  = W_out (products of entries of seen) + b

z(t) is the scaled input and, with output feedback, the scaled output of the step before. Biases, input weights, recurrent
weights and couplings are all entries of `drive`: its columns are places in `seen`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from sklearn.exceptions import NotFittedError

from echoscale._internal.types import Flags, Floats, Indices
from echoscale.data.scaling import Scaling
from echoscale.engine.drawn import Matrices
from echoscale.engine.esn import ESN
from echoscale.estimators import NVAR, ESNClassifier, ESNRegressor, ESNStepClassifier
from echoscale.forecasting import AutoModel
from echoscale.readouts import Sigmoid

VALUES, SOFTMAX, SIGMOID = "values", "softmax", "sigmoid"


class Formula(NamedTuple):
    """A model in plain arrays. Its state (S,) is laid out as `state_` of the model.

    Attributes
    ----------
    kind : str
        The class of the model.
    inputs : Scaling
        Scaling of the F inputs.
    fed_back : Scaling or None
        Scaling of the O outputs that are fed back; None without output feedback.
    memory : int
        Number m of past inputs in the state.
    drive : (N, V) csr_array
        Weights on `seen`; a neuron may use the states x(t) of earlier blocks only.
    keep : (N, N) csr_array
        Weights (1 - a) O on x(t-1).
    leak_rate : (N,)
        Leak rates a.
    linear : (N,) bool
        Whether each neuron is linear.
    blocks : tuple of slice
        Blocks of neurons that move at once, in order; f is the same for all neurons of a block.
    factors : (P, D)
        Factors of every product: product p multiplies the entries factors[p] of `seen`; entry 0 is 1.
    coef : (O, P)
        Weights W_out.
    intercept : (O,)
        Intercept b.
    meaning : "values", "softmax" or "sigmoid"
        Meaning of the outputs: numbers, or scores of classes that become probabilities.
    classes : tuple of str
        Labels in the order of the outputs; empty for numbers.
    past_first : bool
        Whether past inputs come before x in the state, or after.
    start : (S,) or None
        State before the first step of a series; None: zeros.
    """

    kind: str
    inputs: Scaling
    fed_back: Scaling | None
    memory: int
    drive: scipy.sparse.csr_array
    keep: scipy.sparse.csr_array
    leak_rate: Floats
    linear: Flags
    blocks: tuple[slice, ...]
    factors: Indices
    coef: Floats
    intercept: Floats
    meaning: str = VALUES
    classes: tuple[str, ...] = ()
    past_first: bool = False
    start: Floats | None = None

    @property
    def units(self) -> int:
        """Number N of neurons."""
        return len(self.leak_rate)

    @property
    def n_inputs(self) -> int:
        """Number F of inputs."""
        return len(self.inputs.mean)

    @property
    def n_outputs(self) -> int:
        """Number O of outputs."""
        return len(self.intercept)

    @property
    def n_fed_back(self) -> int:
        """Number O of fed-back outputs; 0 without output feedback."""
        return 0 if self.fed_back is None else self.n_outputs

    @property
    def columns(self) -> int:
        """Number of values that the network receives at a step: inputs, then fed-back outputs."""
        return self.n_inputs + self.n_fed_back

    @property
    def past(self) -> int:
        """Number of past inputs in the state, over all columns."""
        return self.memory * self.columns

    @property
    def before(self) -> int:
        """Place of x(t-1) in `seen`."""
        return 1 + self.columns + self.past

    @property
    def seen(self) -> int:
        """Length V of `seen`."""
        return self.before + 2 * self.units

    @property
    def state(self) -> int:
        """Length S of the state: x and past inputs, newest first, then the last output in units of the network."""
        return self.units + self.past + self.n_fed_back

    @property
    def x_at(self) -> int:
        """Place of x in the state."""
        return self.past if self.past_first else 0

    @property
    def past_at(self) -> int:
        """Place of past inputs in the state."""
        return 0 if self.past_first else self.units


def formula_of(model: object) -> Formula:
    """The step of a fitted model; an error if the model has no step that a file can hold."""
    if isinstance(model, ESNClassifier):
        raise TypeError(
            "this ESNClassifier gives one label per sequence, from pools over all of its steps: export is for models with an "
            "output at every step. Fit an ESNStepClassifier with a label for every step, or use es.save."
        )
    if not isinstance(model, ESNRegressor | ESNStepClassifier | NVAR | AutoModel):
        raise TypeError(
            "export takes a fitted ESNRegressor, ESNStepClassifier, NVAR or AutoModel, got "
            f"{type(model).__name__}. es.save keeps every model."
        )
    if isinstance(model, AutoModel):
        return _of_members(model)
    if not hasattr(model, "readout_"):
        raise NotFittedError(f"this {type(model).__name__} is not fitted yet: call fit, then export it.")
    if isinstance(model, NVAR):
        return _of_lags(model)
    return _of_network(model)


def _of_network(model: ESNRegressor | ESNStepClassifier) -> Formula:
    esn, columns = model.esn_, model.columns_
    direct = int(columns.inputs or 0)
    memory, units = max(direct - 1, 0), esn.units
    states = 1 + (memory + 1) * esn.columns + units + np.arange(units)  # x(t)
    rest = model.rest_.astype(np.float64)
    coef, intercept = (np.asarray(each, np.float64) for each in (model.readout_.coef, model.readout_.intercept))
    meaning = VALUES
    if isinstance(model, ESNStepClassifier):
        coef, intercept = model.steepness_ * coef, model.steepness_ * intercept
        meaning = SIGMOID if isinstance(model.readout, Sigmoid) else SOFTMAX
    return Formula(
        kind=type(model).__name__,
        inputs=model.scaling_,
        fed_back=model.target_scaling_ if esn.n_outputs else None,
        memory=memory,
        factors=_factors(states, states[columns.pairs(esn)], 1 + np.arange(direct * esn.columns)),
        coef=coef,
        intercept=intercept,
        meaning=meaning,
        classes=tuple(map(str, getattr(model, "classes_", ()))),
        start=rest if rest.any() else None,
        **_networks([(esn, esn.matrices())], memory, esn.columns),
    )


def _of_lags(model: NVAR) -> Formula:
    features = model.n_features_in_
    places = model._places(features)
    lag, feature = np.divmod(places - 1, features)
    return Formula(
        kind="NVAR",
        inputs=model.scaling_,
        fed_back=None,
        memory=model.washout_,
        factors=np.where(places == 0, 0, 1 + lag * model.stride * features + feature),
        coef=np.asarray(model.readout_.coef, np.float64),
        intercept=np.asarray(model.readout_.intercept, np.float64),
        **_networks([], model.washout_, features),
    )


def _of_members(model: AutoModel) -> Formula:
    """Readouts of all lanes of all networks, of products of their states, and a linear map of lags and of products of some."""
    if model.groups and model.drive.changes.any():
        raise ValueError(
            "the networks of this model receive the changes of inputs with a trend, and a file does not know the change at its "
            "first step: take the trend out of the inputs, or use es.save."
        )
    features, memory = model.n_features_in_, model.past
    readers = [(group, lane) for group in model.groups for lane in range(len(group.coef))]
    networks = _networks([(each.esn, each.esn.matrices(each.hyper.lane(lane))) for each, lane in readers], memory, features)
    units = len(networks["leak_rate"])
    states = 1 + (memory + 1) * features + units + np.arange(units)
    ends = np.cumsum([0, *(group.esn.units for group, _ in readers)])
    pairs = [states[low + group.columns.pairs(group.esn)] for (group, _), low in zip(readers, ends, strict=False)]

    def places(lags: Sequence[int]) -> Indices:
        """The entries of u(t - l) in `seen`, lag by lag."""
        return np.concatenate([1 + lag * features + np.arange(features) for lag in lags]).astype(np.int64)

    linear_map = model.linear
    windows = [places(each.lags) for each in linear_map.products]
    products = [np.stack([window[i] for i in np.triu_indices(len(window))], axis=1) for window in windows]
    coef = np.concatenate(
        [
            *(group.coef[lane][:, : group.esn.units] for group, lane in readers),
            *(group.coef[lane][:, group.esn.units :] for group, lane in readers),
            *(each.coef for each in linear_map.products),
            linear_map.coef,
        ],
        axis=1,
    )
    numbers = model.classes_ is None
    return Formula(
        kind="AutoModel",
        inputs=model.scaling,
        fed_back=None,
        memory=memory,
        factors=_factors(states, np.concatenate([np.zeros((0, 2), np.int64), *pairs, *products]), places(linear_map.lags)),
        coef=coef * model.target_scaling.spread[:, None] if numbers else coef,
        intercept=model.target_scaling.back(linear_map.intercept) if numbers else linear_map.intercept,
        classes=() if model.classes_ is None else tuple(map(str, model.classes_)),
        start=model.rest,
        past_first=True,
        **networks,
    )


def _factors(states: Indices, products: Indices, inputs: Indices) -> Indices:
    """States, products of two, then inputs; where there are products, the others are times seen[0], which is 1."""
    if not len(products):
        return np.concatenate([states, inputs])[:, None]
    return np.concatenate([np.pad(states[:, None], ((0, 0), (0, 1))), products, np.pad(inputs[:, None], ((0, 0), (0, 1)))])


def _networks(members: Sequence[tuple[ESN, Matrices]], memory: int, columns: int) -> dict[str, Any]:
    """`drive`, `keep`, `leak_rate`, `linear` and `blocks` of a formula, of networks side by side."""
    blocks: list[slice] = []
    heard: list[Floats] = []
    before: list[Any] = []
    now: list[Any] = []
    keep: list[Any] = []
    place = 0
    for esn, whole in members:
        level = np.repeat(np.arange(len(esn.sizes)), esn.sizes)
        W = scipy.sparse.coo_array(whole.W)
        row, column = W.coords
        # With coupling_delay=0 a level receives the new states of earlier levels.
        fresh = (level[column] < level[row]) & (esn.network.coupling_delay == 0)
        for found, which in ((now, fresh), (before, ~fresh)):
            found.append(scipy.sparse.csr_array((W.data[which], (row[which], column[which])), shape=W.shape))
        heard.append(np.concatenate([whole.bias[:, None], whole.W_in], axis=1))
        turned = scipy.sparse.eye_array(esn.units, format="csr") if whole.residual is None else whole.residual
        keep.append(scipy.sparse.diags_array(1 - whole.leak_rate) @ turned)
        mixed = whole.linear is not None and len(set(whole.linear)) > 1
        edges = np.cumsum([place, *esn.sizes]) if mixed or fresh.any() else [place, place + esn.units]
        blocks += [slice(int(a), int(b)) for a, b in pairwise(edges)]
        place += esn.units
    if not members:
        nothing = scipy.sparse.csr_array((0, 1))
        return {"drive": nothing, "keep": nothing, "leak_rate": np.zeros(0), "linear": np.zeros(0, np.bool_), "blocks": ()}
    inputs = np.pad(np.concatenate(heard), ((0, 0), (0, memory * columns)))
    sides = [scipy.sparse.csr_array(inputs), *(scipy.sparse.block_diag(each, format="csr") for each in (before, now))]
    drive = scipy.sparse.csr_array(scipy.sparse.hstack(sides, format="csr"))
    kept = scipy.sparse.csr_array(scipy.sparse.block_diag(keep, format="csr"))
    for each in (drive, kept):
        each.eliminate_zeros()
        each.sort_indices()
    linear = [np.zeros(esn.units, np.bool_) if whole.linear is None else whole.linear for esn, whole in members]
    return {
        "drive": drive,
        "keep": kept,
        "leak_rate": np.concatenate([whole.leak_rate for _, whole in members]),
        "linear": np.concatenate(linear),
        "blocks": tuple(blocks),
    }
