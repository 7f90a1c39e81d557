"""The attributes that a model file holds, class by class; a new class is declared here and listed in `MODELS`.

Names of sizes: F inputs, O outputs, C columns that a readout sees, S numbers of a state, T steps, B series, H horizons.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import numpy as np

from echoscale._internal import checks
from echoscale.data.clock import DATES, PERIODS, STEPS, Clock
from echoscale.data.differencing import DIFFERENCES
from echoscale.data.frames import ARRAY, COLUMNS, DICT, LEVELS, LIST, LONG, ONE, PANDAS, XARRAY, Form
from echoscale.data.normal_scores import ONLY, NormalScores, columns_heard
from echoscale.data.scaling import Scaling
from echoscale.engine.drawn import Drawn
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Hyper, checked, without_lanes
from echoscale.estimators import NVAR, ESNClassifier, ESNFeatures, ESNRegressor, ESNStepClassifier
from echoscale.estimators.features import pools_of
from echoscale.forecasting import AutoModel, Forecaster, SequenceModel, smoothing
from echoscale.forecasting.data import Data
from echoscale.forecasting.intervals import GRID
from echoscale.forecasting.lags import LinearMap, ProductMap, Recipe
from echoscale.forecasting.model import NAIVE_NAMES, Core, Group, Naive, Part, Trend, View
from echoscale.forecasting.networks import Drive, Net
from echoscale.forecasting.problem import Line, Range, Units
from echoscale.forecasting.readers import LEAST_ROWS, Reader
from echoscale.forecasting.sequences import SequenceMember
from echoscale.forecasting.smoothing import TRENDS
from echoscale.learning import OnlineLearner
from echoscale.learning.online.adam import Adam
from echoscale.learning.online.history import History
from echoscale.learning.online.reinitialise import ProtocolMemory, Reinitialise
from echoscale.network import Concentric, LogNormal, LogUniform, Network
from echoscale.network.matrix import Matrix, check_residual
from echoscale.readouts import Columns, Pools, Sigmoid, Softmax, pooling
from echoscale.readouts.logistic import TrainingHistory
from echoscale.readouts.penalties import RidgeCurve
from echoscale.readouts.ridge import Readout
from echoscale.readouts.rls import RLS, RLSState
from echoscale.readouts.statistics import Statistics
from echoscale.storage.codec import (
    COUNT,
    NUMBER,
    POSITIVE,
    SIZE,
    TEXT,
    TRUTH,
    Array,
    IfThere,
    Kind,
    Labels,
    Many,
    Maybe,
    OneOf,
    Plain,
    Record,
    Sparse,
    Value,
    one_of,
)
from echoscale.timescales.candidates import Candidates

SETTING = Value(Network, Matrix, Concentric, LogUniform, LogNormal, Columns, Pools, Sigmoid, Softmax)
# Names of the input columns, from data frames.
NAMES = Many(TEXT, size="F", or_none=True)


def _positive(size: str) -> Plain:
    """A whole number above 0 that is a size."""
    return Plain(partial(checks.integer, minimum=1), size)


def _each(names: Iterable[str], kind: Kind) -> dict[str, Any]:
    """Several attributes of one kind."""
    return dict.fromkeys(names, kind)


# --------------------------------------------------------------------------------------------------------------- networks


def _check_esn(esn: ESN) -> None:
    """Checks the shape of every matrix and the range of the hyper-parameters."""
    network, units = esn.network, [each.units for each in esn.network.reservoirs]
    squares = [(n, n) for n in units]
    shapes = {
        "recurrent": squares,
        "inputs": [(n, esn.n_inputs) for n in units],
        "biases": [(n,) for n in units],
        "couplings": [(units[each.target], units[each.source]) for each in network.couplings],
        "feedback": [(n, checks.integer(esn.n_outputs, "n_outputs", 1)) for n in units] if network.feeds_back else [],
        "leak_places": [(n,) for n in units] if network.spreads_leaks else [],
        "residuals": squares if network.turns else [],
    }
    for name, wanted in shapes.items():
        found = [each.shape for each in getattr(esn.drawn, name)]
        if found != wanted:
            raise ValueError(f"{name} must have shapes {wanted}, not {found}")
    if esn.n_outputs and not network.feeds_back:
        raise ValueError(f"a network without output feedback has no {esn.n_outputs} fed-back outputs")
    for each, n in zip(esn.drawn.residuals, units, strict=False):
        check_residual(each, n)
    _check_hyper(without_lanes(esn.hyper), Hyper.of(network))


def _check_hyper(hyper: Hyper, like: Hyper) -> None:
    """Checks the number of leaves and their range."""
    like.replace(**{name: leaves for name, leaves in checked(hyper, like)._asdict().items() if leaves})


def _portable(model: Any) -> Any:
    """A copy without device objects, which other machines do not have, and with the seed that a generator gave."""
    shown = copy(model)
    if not isinstance(getattr(model, "device", None), str):
        shown.device = None
    if hasattr(model, "esn_"):
        shown.random_state = model.esn_.seed
    return shown


HYPER = Record(Hyper, **_each(Hyper._fields, Many(Array("..."))))
DRAWN = Record(
    Drawn,
    **_each(("recurrent", "couplings", "residuals"), Many(Sparse())),
    **_each(("inputs", "feedback"), Many(Array("? ?"))),
    biases=Many(Array("?")),
    leak_places=Many(Array("?", least=0)),
)


def _network(inputs: str) -> Record:
    """A network with this number of inputs."""
    return Record(
        ESN,
        network=SETTING,
        n_inputs=_positive(inputs),
        n_outputs=COUNT,
        seed=COUNT,
        dtype=one_of("float32", "float64"),
        device=Maybe(TEXT),
        drawn=DRAWN,
        hyper=HYPER,
        finish=_check_esn,
        kept=_portable,
        left_out=("_stored", "_numbers"),
    )


NETWORK = _network("F")


# --------------------------------------------------------------------------------------------------------------- readouts


READOUT = Record(Readout, "coef O C, intercept O", ridge=Array(least=0))
CURVE = Record(RidgeCurve, "relative penalties", tie=SIZE, errors=Array("penalties", finite=False))
CANDIDATES = Record(
    Candidates,
    folds=POSITIVE,
    tie=SIZE,
    errors=Array("candidates", least=0),
    **_each(("slow", "fast", "input_scaling"), Array("candidates", finite=False)),
)
STATISTICS = Record(Statistics, features=_positive("C"), count=Array(least=0), mean=Array("C+O"), scatter=Array("C+O C+O"))
RLS_STATE = Record(RLSState, "mean C, target O, coef C O, inverse C C", weight=Array(least=0), turn=Array(kind="i", least=0))
LEAST_SQUARES = Record(RLS, ridge=NUMBER, forgetting=NUMBER, state=Maybe(RLS_STATE))


# ------------------------------------------------------------------------------------------------------------- estimators


def _scaling(size: str) -> Record:
    return Record(Scaling, f"mean {size}", spread=Array(size, above=0))


def _check_scores(scores: NormalScores) -> None:
    if not len(scores.values) or (np.diff(scores.values, axis=0) < 0).any():
        raise ValueError("the quantiles of normal scores must rise")


SCORES = Record(NormalScores, "values levels heard, scores levels heard", finish=_check_scores)
HEARD = OneOf({"Scaling": _scaling("heard"), "NormalScores": SCORES})


def _estimator(of: type, **more: Any) -> Record:
    """The parameters of an estimator, and its fitted attributes."""
    return Record(of, **_each(inspect.signature(of).parameters, SETTING), **more, kept=_portable)


FITTED: dict[str, Any] = {
    "n_features_in_": _positive("F"),
    "feature_names_in_": IfThere(Many(TEXT, partial(np.array, dtype=object), "F")),
    "washout_": COUNT,
    "readout_": READOUT,
    "ridge_": SIZE,
    "ridge_curve_": Maybe(CURVE),
}
OF_STEPS: dict[str, Any] = {
    **FITTED,
    "esn_": NETWORK,
    "candidates_": Maybe(CANDIDATES),
    "scaling_": _scaling("F"),
    "target_scaling_": _scaling("O"),
    "columns_": SETTING,
    "state_": Array("... S"),
    "rest_": Array("S"),
    "last_target_": Array("... O", finite=False),
    "steps_seen_": Array("?", kind="i", least=0),
    "statistics_": IfThere(STATISTICS),
    "fold_statistics_": IfThere(Many(STATISTICS, list)),
}


def _check_steps(model: Any) -> None:
    """Checks that the attributes of an estimator with an output at every step fit its network."""
    model._penalties()
    model.make_network()
    esn, coef, columns = model.esn_, model.readout_.coef, model.columns_
    if columns.inputs is None or coef.shape[1] != columns.width(esn):
        raise ValueError(f"the readout has {coef.shape[1]} columns for {esn.units} states and {columns!r}")
    size = esn.units + columns.past(esn) + esn.n_outputs
    if len(model.rest_) != size or esn.n_outputs not in (0, len(coef)):
        raise ValueError(f"a state has {len(model.rest_)} numbers, and its network and {esn.n_outputs} outputs need {size}")
    if len(model.steps_seen_) != (1 if model.state_.ndim == 1 else len(model.state_)):
        raise ValueError(f"there are {len(model.steps_seen_)} series, with states of shape {model.state_.shape}")


REGRESSOR = _estimator(ESNRegressor, **OF_STEPS, flat_targets_=TRUTH, no_forecast_=TEXT, finish=_check_steps)


def _check_pools(made: ESNFeatures, changes: bool | str, features: int, readout: Readout) -> None:
    """Checks that the network fits the inputs, and the pools fit the columns of the readout."""
    heard, units = columns_heard(features, changes), made.esn_.units
    if heard != made.esn_.n_inputs:
        raise ValueError(f"{features} inputs make {heard} columns, but the network has {made.esn_.n_inputs} inputs")
    checks.integer(made.washout, "washout")
    pools = pools_of(made.pools)
    places = pooling.columns(pools.names, units, pools.parts, pools.parts if pools.every is None else 0)
    columns, width = readout.coef.shape[1], max(each.stop for each in places.values())
    if columns < width or (pools.every is None and columns > width):
        raise ValueError(f"the readout has {columns} columns, pools give {width}")


def _finish_classifier(model: Any) -> None:
    model._penalties()
    model.make_network()
    made = model.transformer_
    made.esn_, made.scaling_, made.n_features_in_ = model.esn_, model.scaling_, model.n_features_in_
    _check_pools(made, pools_of(made.pools).with_changes, model.n_features_in_, model.readout_)


# A classifier shares the network and the scaling of its transformer; the names of its pools are not needed.
POOLS = ("columns_", "feature_scaling_")
TRANSFORMER = _estimator(ESNFeatures, left_out=("esn_", "scaling_", "n_features_in_", "feature_names_in_", *POOLS))
OF_CLASSES: dict[str, Any] = {
    "classes_": Labels("O"),
    "steepness_": SIZE,
    "history_": IfThere(Record(TrainingHistory, **_each(TrainingHistory._fields, Array("epochs", finite=False)))),
}
STEP_CLASSIFIER = _estimator(ESNStepClassifier, **OF_CLASSES, **OF_STEPS, finish=_check_steps)
CLASSIFIER = _estimator(
    ESNClassifier,
    **OF_CLASSES,
    **FITTED,
    esn_=_network("heard"),
    candidates_=Maybe(CANDIDATES),
    scaling_=HEARD,
    transformer_=TRANSFORMER,
    rows_=IfThere(Array("B C")),
    codes_=IfThere(Array("B O")),
    finish=_finish_classifier,
)


def _check_nvar(model: NVAR) -> None:
    model._check_parameters()
    span, features, columns = (model.lags - 1) * model.stride, model.n_features_in_, model.readout_.coef.shape[1]
    if model.washout_ != span or model.state_.shape[-1] != span * features:
        raise ValueError(f"a state of {model.state_.shape[-1]} numbers after a washout of {model.washout_}, for {span} steps")
    if columns != len(model._places(features)):
        raise ValueError(f"the readout has {columns} columns, not one for each of {len(model._places(features))} products")


LAGS = _estimator(
    NVAR,
    **FITTED,
    scaling_=_scaling("F"),
    target_scaling_=_scaling("O"),
    state_=Array("... S"),
    last_target_=Array("... O", finite=False),
    flat_targets_=TRUTH,
    no_forecast_=TEXT,
    finish=_check_nvar,
)


# --------------------------------------------------------------------------------------------------------------- es.auto


def _check_group(group: Group) -> None:
    _check_hyper(group.hyper, group.esn.hyper)
    lanes, width = group.hyper.lanes or 1, group.columns.width_of_states(group.esn)
    if (group.coef.shape[0], group.coef.shape[2]) != (lanes, width):
        raise ValueError(f"weights {group.coef.shape} for {lanes} lanes with {width} states and products")


def _check_auto(model: AutoModel) -> None:
    lags, features = model.linear.lags, model.n_features_in_
    if not lags or model.linear.coef.shape[1] != len(lags) * features:
        raise ValueError(f"{model.linear.coef.shape[1]} columns are not {len(lags)} lags of {features} inputs")
    for each in model.linear.products:
        size = len(each.lags) * features
        if not each.lags or not set(each.lags) <= set(lags) or each.coef.shape[1] != size * (size + 1) // 2:
            raise ValueError("products of lags that the model does not see")
    if model.state_.shape[-1] != model.state_size:
        raise ValueError(f"the state has {model.state_.shape[-1]} numbers, the networks and lags need {model.state_size}")


GROUP = Record(Group, "coef ? O ?", esn=NETWORK, hyper=HYPER, columns=Value(Columns), finish=_check_group)
LINEAR = Record(LinearMap, "coef O ?, intercept O", products=Many(Record(ProductMap, "coef O ?")))
AUTO = Record(
    AutoModel,
    "state_ ... ?",
    classes_=Maybe(Labels("O")),
    scaling=_scaling("F"),
    target_scaling=_scaling("O"),
    linear=LINEAR,
    groups=Many(GROUP),
    drive=Record(Drive, changes=Array("F", kind="b"), spread=Array("F", above=0)),
    feature_names_in_=NAMES,
    range_=Maybe(Record(Range, low=Array("F", finite=False), high=Array("F", finite=False))),
    finish=_check_auto,
)


def _check_sequences(model: SequenceModel) -> None:
    if not model.members and model.summary is None:
        raise ValueError("a model of labels without features")
    for member in model.members:
        _check_pools(member.transformer, member.changes, len(model.scaling.mean), member.readout)


FEATURES = _estimator(ESNFeatures, esn_=_network("heard"), scaling_=HEARD, n_features_in_=POSITIVE, left_out=POOLS)
MEMBER = Record(SequenceMember, transformer=FEATURES, readout=READOUT, changes=one_of(True, False, ONLY))
SEQUENCES = Record(
    SequenceModel,
    classes_=Labels("O"),
    members=Many(MEMBER),
    summary=Maybe(READOUT),
    scaling=_scaling("F"),
    steepness=SIZE,
    feature_names_in_=NAMES,
    finish=_check_sequences,
    left_out=("state_",),
)


# ------------------------------------------------------------------------------------------------------------- Forecaster


def _plain_labels(form: Form) -> Form:
    """Names and numbers stay unchanged, other labels become their text."""
    plain = [each.item() if isinstance(each, np.generic) else each for each in form.labels]
    return replace(form, labels=tuple(each if isinstance(each, str | int | float | None) else str(each) for each in plain))


CLOCK = Record(
    Clock,
    kind=one_of(STEPS, DATES, PERIODS),
    finish=lambda clock: clock.moved(1),
    kept=lambda clock: SimpleNamespace(**clock.kept()),
    left_out=("offset",),
)
FORM = Record(
    Form,
    shape=one_of(ONE, COLUMNS, DICT, LIST, LONG, LEVELS),
    library=one_of(ARRAY, PANDAS, XARRAY),
    names=Many(TEXT, size="series"),
    labels=Many(SETTING, size="series"),
    dims=Many(SETTING),
    kept=_plain_labels,
)
LINE = Record(Line, "values T, future ? ?, past T ?", known=Array("T", kind="b"))


def _above_zero(value: Any, name: str) -> float:
    if not checks.number(value, name) > 0:
        raise ValueError(f"{name} must be above 0, not {value}")
    return float(value)


UNITS = Record(Units, spread=Plain(_above_zero))
VIEW = Record(View, lines=Many(LINE, list, "B"), units=Many(UNITS, list, "B"), left_out=("lanes",))


def _check_net(net: Net) -> None:
    _check_hyper(net.hyper, net.esn.hyper)


NET = Record(Net, esn=NETWORK, hyper=HYPER, spread=Plain(_above_zero), finish=_check_net)
RECIPE = Record(Recipe, difference=one_of(*DIFFERENCES), periods=Many(POSITIVE))
READER = Record(
    Reader,
    recipe=RECIPE,
    net=Maybe(NET),
    relative=Array("fits", least=0),
    readout=Record(Readout, "coef fits 1 ?, intercept fits 1", ridge=Array("fits", least=0)),
    trails=Many(Array("1 ?"), list),
    kept=Reader.light,
    left_out=("settled", "recent", "blocks"),
)
NAIVE = Record(Naive, difference=one_of(*NAIVE_NAMES), period=Maybe(POSITIVE))
METHOD = OneOf({"Naive": NAIVE, "Trend": Record(Trend, name=one_of(*TRENDS), period=Maybe(POSITIVE)), "Reader": READER})
PART = Record(Part, "weights H", method=METHOD)


def _finish_core(core: Core) -> None:
    """Check that the parts fit each other, and compute the lanes of smoothing."""
    lengths = [[len(line) for line in view.lines] for view in core.views]
    if not lengths or any(each != lengths[0] for each in lengths):
        raise ValueError("all views must hold the same steps")
    if any(len(line.future) < len(line) for view in core.views for line in view.lines):
        raise ValueError("inputs that are known ahead are shorter than the series")
    edges = core.edges
    if edges.shape[1] < 2 or edges[:, 0].any() or (edges[:, -1] > lengths[0]).any() or (np.diff(edges) < 0).any():
        raise ValueError("edges must bound parts of time in the series")
    for part in core.parts:
        shortest = int(edges[:, -1].min())
        if not isinstance(part.method, Reader):
            continue
        if part.method.recipe.memory + LEAST_ROWS >= shortest:
            raise ValueError(f"{part.method.recipe.memory} lags cannot have been learned from {shortest} steps")
        if len(part.method.trails) != len(core.scales):
            raise ValueError(f"there are {len(part.method.trails)} last states for {len(core.scales)} series")
    if not all(len(each) == 3 and isinstance(each[0], str) for each in core.candidates):
        raise ValueError("candidates must have a name, an error and a weight")
    longest = max(core.periods, default=1)
    if longest > int(edges[:, -1].min()):
        raise ValueError(f"a season of {longest} steps cannot have been learned from fewer")
    for place, view in enumerate(core.views):
        for trend in [part.method for part in core.parts if part.view == place and isinstance(part.method, Trend)][:1]:
            if trend.period is not None and trend.period not in core.periods:
                raise ValueError(f"exponential smoothing has a season of {trend.period} steps, the fit has {core.periods}")
            view.lanes = [
                smoothing.after(line, trend.period, int(end)) for line, end in zip(view.lines, edges[:, -1], strict=True)
            ]


CORE = Record(
    Core,
    horizon=_positive("H"),
    periods=Many(POSITIVE),
    scales=Array("B", least=0),
    table=Array(f"{len(GRID)} H"),
    floors=Array("B", finite=False),
    edges=Array("B ?", kind="i", least=0),
    views=Many(VIEW, list),
    parts=Many(PART, list),
    candidates=SETTING,
    finish=_finish_core,
)


def _check_data(data: Data) -> None:
    wide = len(data.columns)
    if any(len(table) != len(values) for table, values in zip(data.tables, data.values, strict=True)):
        raise ValueError("X and y must hold the same steps")
    if not all(place < wide for place in data.past):
        raise ValueError(f"places {data.past} of {wide} columns")


DATA = Record(
    Data,
    form=FORM,
    clocks=Many(CLOCK, list, "series"),
    columns=Many(TEXT, size="K"),
    past=Many(COUNT),
    values=Many(Array("?", finite=False), list, "series"),
    tables=Many(Array("? K", finite=False), list, "series"),
    scaling=_scaling("K"),
    finish=_check_data,
)


def _finish_forecaster(model: Any) -> None:
    model._check_parameters()
    count, ahead, horizon = len(model._data.values), len(model._data.known_ahead), model.horizon_
    if sorted(b for group in model._groups for b in group) != list(range(count)) or len(model._cores) != len(model._groups):
        raise ValueError("groups must hold every series once, each with its own fit")
    for core, group in zip(model._cores, model._groups, strict=True):
        if len(core.scales) != len(group):
            raise ValueError("the fit belongs to other series")
        # A trial forecast: shapes that do not fit together show here, and not at a user's call.
        for each in core.forecast(horizon, [np.zeros((horizon, ahead))] * len(group)):
            if any(part.shape != (horizon,) or not np.isfinite(part).all() for part in each):
                raise ValueError("the fit does not forecast")


FORECASTER = _estimator(
    Forecaster,
    horizon_=_positive("H"),
    _data=DATA,
    _groups=Many(Many(COUNT, list), list),
    _cores=Many(CORE, list),
    finish=_finish_forecaster,
)


# ---------------------------------------------------------------------------------------------------------- OnlineLearner

ROWS = ("targets", "loss", "gradient", "value")
ADAM = OneOf({"Adam": Record(Adam, rate=Value(dict))})


class KeptStream(NamedTuple):
    """The attributes of a stream that change while learning: the leaves of its carry, and the current windows."""

    step: int
    carry: list[Any]
    history: History
    memory: ProtocolMemory
    frozen: Any


def _shown_learner(learner: OnlineLearner) -> Any:
    """The settings by the names of the constructor, and the stream."""
    settings, now, stream = learner.settings, learner.stream, None
    if now is not None:
        book = {name: getattr(now.history, name)[: now.history.used] for name in ROWS}
        stream = KeptStream(now.step, jax.tree.leaves(now.carry), now.history._replace(**book), now.memory, now.frozen)
    return SimpleNamespace(
        **vars(settings) | {"device": settings.device if isinstance(settings.device, str) else None},
        parameters=[str(each) for each in settings.learned],
        starts=settings.hyper,
        feature_names=learner.feature_names,
        sequences=learner.sequences,
        _esn=learner._esn,
        stream=stream,
    )


def _resume(learner: Any) -> None:
    """Restores the state of learning, which must fit a stream of this learner, array by array."""
    kept, settings, sequences = learner.stream, learner.settings, vars(learner).pop("sequences")
    if kept is None:
        return
    learner.stream = None
    fed = settings.outputs if settings.network.feeds_back else 0
    if (learner.esn.network, learner.esn.n_outputs, learner.esn.dtype) != (settings.network, fed, settings.dtype):
        raise ValueError("the built network is not the one that is described")
    if len(learner.feature_names) not in (0, learner.esn.columns):
        raise ValueError("the names of the inputs are not theirs")
    # Checked before memory is allocated: the states and weights of all of them are in the file.
    if max(sequences, settings.outputs) * learner.esn.units > sum(leaf.size for leaf in kept.carry):
        raise ValueError(f"the states of {sequences} sequences, or {settings.outputs} outputs, are not there")
    fresh = learner.begin(sequences, learner.esn.columns)
    leaves, structure = jax.tree.flatten(fresh.carry)
    for ours, theirs in [*zip(leaves, kept.carry, strict=True), (fresh.frozen, kept.frozen)]:
        if (ours.shape, ours.dtype) != (theirs.shape, theirs.dtype):
            raise ValueError(f"a stream holds {ours.dtype} {ours.shape}, not {theirs.dtype} {theirs.shape}")
    carry = jax.tree.unflatten(structure, kept.carry)
    learner.stream = fresh._replace(**kept._replace(carry=carry)._asdict())


HISTORY = Record(
    History,
    "value windows P starts",
    window=POSITIVE,
    used=Plain(checks.integer, "windows"),
    targets=Array("windows", least=0),
    loss=Array("windows starts", finite=False),
    gradient=Array("windows P starts", finite=False),
)
MEMORY = Record(
    ProtocolMemory,
    last=Array("P starts", finite=False),
    mark=Array("P starts", finite=False),
    resets=Array("starts", kind="i", least=0),
    converged=Array("starts", kind="b"),
)
STREAM = Record(
    KeptStream,
    carry=Many(Array(None, kind="fib"), list),
    history=HISTORY,
    memory=MEMORY,
    frozen=Array("P starts", kind="b"),
)
LEARNER = Record(
    OnlineLearner,
    device=Maybe(TEXT),
    parameters=Many(TEXT),
    readout=OneOf({**ADAM.records, "RLS": LEAST_SQUARES}),
    rates=ADAM,
    protocol=Maybe(Record(Reinitialise)),
    starts=HYPER,
    **_each(("network", "outputs", "loss", "trace", "constraint", "record", "washout", "average", "seed", "dtype"), SETTING),
    _esn=Maybe(NETWORK),
    sequences=Maybe(POSITIVE),
    stream=Maybe(STREAM),
    feature_names=Many(TEXT),
    finish=_resume,
    kept=_shown_learner,
    left_out=("settings",),
)

MODELS = (NETWORK, REGRESSOR, STEP_CLASSIFIER, CLASSIFIER, LAGS, LEARNER, LEAST_SQUARES, AUTO, SEQUENCES, FORECASTER)
