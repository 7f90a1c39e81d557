"""From fitted models to a `Formula`; those without one are refused here."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.exceptions import NotFittedError

from echoscale._internal.types import Flags, Floats, Indices
from echoscale.engine.drawn import Matrices
from echoscale.engine.esn import ESN
from echoscale.estimators import NVAR, ESNClassifier, ESNRegressor, ESNStepClassifier
from echoscale.forecasting import AutoModel
from echoscale.readouts import Sigmoid
from echoscale.storage.export.formula import SIGMOID, SOFTMAX, Formula


def formula_of(model: object) -> Formula:
    """The step of a fitted model; raises where it has none that files can say."""
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
    pairs = columns.pairs(esn)
    factors = _factors(states, states[pairs], 1 + np.arange(direct * esn.columns))
    drive, keep, leak_rate, linear, blocks = _networks([(esn, esn.matrices())], memory, esn.columns)
    rest = model.rest_.astype(np.float64)
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
        start=rest if rest.any() else None,
    )
    if isinstance(model, ESNRegressor):
        return found
    return found._replace(
        coef=model.steepness_ * found.coef,
        intercept=model.steepness_ * found.intercept,
        meaning=SIGMOID if isinstance(model.readout, Sigmoid) else SOFTMAX,
        classes=tuple(str(each) for each in model.classes_),
    )


def _of_lags(model: NVAR) -> Formula:
    features = model.n_features_in_
    places = model._places(features)
    lag, feature = np.divmod(places - 1, features)
    drive, keep, leak_rate, linear, blocks = _networks([], model.washout_, features)
    return Formula(
        kind="NVAR",
        inputs=model.scaling_,
        fed_back=None,
        memory=model.washout_,
        drive=drive,
        keep=keep,
        leak_rate=leak_rate,
        linear=linear,
        blocks=blocks,
        factors=np.where(places == 0, 0, 1 + lag * model.stride * features + feature),
        coef=np.asarray(model.readout_.coef, np.float64),
        intercept=np.asarray(model.readout_.intercept, np.float64),
    )


def _of_members(model: AutoModel) -> Formula:
    """A linear map of lags, products of some, and readouts of all lanes of all networks."""
    if model.groups and model.drive.changes.any():
        raise ValueError(
            "the networks of this model hear the changes of inputs with a trend, and a file does not know the change at its "
            "first step: take the trend out of the inputs, or use es.save."
        )
    features, memory = model.n_features_in_, model.past
    members = [
        (group.esn, group.esn.matrices(group.hyper.lane(lane))) for group in model.groups for lane in range(len(group.coef))
    ]
    drive, keep, leak_rate, linear, blocks = _networks(members, memory, features)
    units = len(leak_rate)
    states = 1 + (memory + 1) * features + units + np.arange(units)

    def places(lags: Sequence[int]) -> Indices:
        """The entries of u(t - l) in `seen`, lag by lag."""
        return np.concatenate([1 + lag * features + np.arange(features) for lag in lags]).astype(np.int64)

    linear_map = model.linear
    windows = [places(each.lags) for each in linear_map.products]
    products = [np.stack([window[i] for i in np.triu_indices(len(window))], axis=1) for window in windows]
    coef = np.concatenate(
        [
            *(group.coef[lane] for group in model.groups for lane in range(len(group.coef))),
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
        drive=drive,
        keep=keep,
        leak_rate=leak_rate,
        linear=linear,
        blocks=blocks,
        factors=_factors(states, np.concatenate([np.zeros((0, 2), np.int64), *products]), places(linear_map.lags)),
        coef=coef * model.target_scaling.spread[:, None] if numbers else coef,
        intercept=model.target_scaling.back(linear_map.intercept) if numbers else linear_map.intercept,
        classes=() if model.classes_ is None else tuple(str(each) for each in model.classes_),
        start=model.rest,
        past_first=True,
    )


def _factors(states: Indices, products: Indices, inputs: Indices) -> Indices:
    """States, products of two, then inputs; where there are products, the others are times seen[0], which is 1."""
    if not len(products):
        return np.concatenate([states, inputs])[:, None]
    return np.concatenate([np.pad(states[:, None], ((0, 0), (0, 1))), products, np.pad(inputs[:, None], ((0, 0), (0, 1)))])


def _networks(
    members: Sequence[tuple[ESN, Matrices]], memory: int, columns: int
) -> tuple[Any, Any, Floats, Flags, tuple[slice, ...]]:
    """drive, keep, leak rates, which neurons are linear, and blocks of neurons that move at once, of networks side by side."""
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
        # With coupling_delay=0 a level hears the new states of those before it.
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
        nothing = scipy.sparse.csr_array((0, 1 + (memory + 1) * columns))
        return nothing, scipy.sparse.csr_array((0, 1)), np.zeros(0), np.zeros(0, np.bool_), ()
    inputs = np.pad(np.concatenate(heard), ((0, 0), (0, memory * columns)))
    sides = [scipy.sparse.csr_array(inputs), *(scipy.sparse.block_diag(each, format="csr") for each in (before, now))]
    drive = scipy.sparse.csr_array(scipy.sparse.hstack(sides, format="csr"))
    kept = scipy.sparse.csr_array(scipy.sparse.block_diag(keep, format="csr"))
    for each in (drive, kept):
        each.eliminate_zeros()
        each.sort_indices()
    leak_rate = np.concatenate([whole.leak_rate for _, whole in members])
    linear = [np.zeros(esn.units, np.bool_) if whole.linear is None else whole.linear for esn, whole in members]
    return drive, kept, leak_rate, np.concatenate(linear), tuple(blocks)
