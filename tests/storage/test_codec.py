"""Every class that can be saved: all its attributes are declared, and a loaded model goes on as the saved one does."""

from __future__ import annotations

import json
from collections import ChainMap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import echoscale as es
from echoscale.data.scaling import Scaling
from echoscale.engine.hyper import with_lanes
from echoscale.forecasting import AutoModel, SequenceModel
from echoscale.forecasting.lags import LinearMap, ProductMap
from echoscale.forecasting.model import Group
from echoscale.forecasting.networks import Drive
from echoscale.forecasting.problem import Range
from echoscale.forecasting.sequences import SequenceMember
from echoscale.learning import Adam, Reinitialise
from echoscale.learning.online.settings import LearnerSettings
from echoscale.learning.online.stream import Stream
from echoscale.readouts.ridge import Readout
from echoscale.storage.codec import Array, Kind, Many, Maybe, OneOf, Record
from echoscale.storage.declared import LEARNER, MODELS, STREAM

RNG = np.random.default_rng(0)
U, Y = es.tasks.narma(240, order=5, seed=3)
TABLE = pd.DataFrame({"a": U[:, 0], "b": np.roll(U[:, 0], 3)})
GAPS = np.where(np.arange(len(Y))[:, None] % 17 == 0, np.nan, Y)
BATCH = RNG.normal(size=(12, 20, 2))
NAMES = np.array(["low", "high"])[(Y[:, 0] > Y.mean()).astype(int)]
LEVELS = es.Network(
    [es.Reservoir(4, leak_rate=es.LogUniform(0.1, 1.0), residual="orthogonal"), es.Reservoir(3, residual="shift")],
    [es.Coupling(0, 1, 0.7)],
    coupling_delay=0,
)


def esn(**settings: Any) -> es.ESN:
    return es.hierarchical([4, 3], connections=2, **settings).build(1, seed=0)


def learner(**settings: Any) -> es.OnlineLearner:
    return es.OnlineLearner(esn(leak_rate=0.5).network, washout=5, record=20, **settings)


def lanes() -> Any:
    return esn(leak_rate=0.5).hyper.replace(leak_rate=[np.array([0.2, 0.9]), np.array([0.5, 0.4])])


def auto(classes: Any = None, **more: Any) -> AutoModel:
    net = es.single(4, leak_rate=0.5).build(2, seed=0)
    group = Group(net, with_lanes(net.hyper, {"leak_rate[0]": [0.2, 1.0]}), RNG.normal(size=(2, 3, 4)))
    linear = LinearMap((0, 2), RNG.normal(size=(3, 4)), np.ones(3), (ProductMap((0,), RNG.normal(size=(3, 3))),))
    drive = Drive(np.array([True, False]), np.ones(2))
    return AutoModel(linear, (group,), Scaling.of([BATCH[0]]), Scaling.none(3), classes, False, drive, np.zeros(12), **more)


def of_sequences(**pooling: Any) -> SequenceModel:
    changed = np.concatenate([BATCH, np.diff(BATCH, axis=1, prepend=BATCH[:, :1])], axis=2)
    pools = es.ESNFeatures(units=3, pools=es.readouts.Pools(changes=False, **pooling), random_state=0).fit(changed)
    columns = pools.transform(changed).shape[1]
    member = SequenceMember(pools, Readout(RNG.normal(size=(2, columns)), np.zeros(2), np.array(1e-3)), True, True)
    return SequenceModel((member,), None, Scaling.none(2), np.array(["a", "b"]), 2.0)


WAVE = 3 + np.sin(np.pi * np.arange(180) / 6) + 0.1 * RNG.normal(size=180)
MONTHS = pd.Series(WAVE[:60], pd.date_range("2020-01-01", periods=60, freq="MS", tz="Europe/Berlin"), name="sales")

# What is saved, by name; made when it is needed.
TRIED: dict[str, Callable[[], Any]] = {
    "network": esn,
    "network, levels": lambda: LEVELS.build(2, seed=1, dtype="float64"),
    "network, feedback": lambda: es.single(5, feedback_scaling=0.3).build(1, seed=2, n_outputs=2),
    "regressor": lambda: es.ESNRegressor(units=5, random_state=0).fit(U, Y),
    "regressor, gaps and names": lambda: es.ESNRegressor(units=5, random_state=np.random.RandomState(3)).fit(TABLE, GAPS),
    "regressor, stream": lambda: es.ESNRegressor(units=5, washout=20, random_state=0).partial_fit(U[:200], Y[:200, 0]),
    "regressor, several": lambda: es.ESNRegressor(units=5, random_state=0, ridge=[1e-3, 1e-1]).fit(
        [U[:90], U[90:]], [Y[:90], Y[90:]]
    ),
    "regressor, network": lambda: es.ESNRegressor(network=LEVELS, ridge=0.1, random_state=0, dtype="float64").fit(U, Y),
    "classifier, stream": lambda: es.ESNStepClassifier(units=5, washout=20, random_state=0).partial_fit(U, NAMES),
    "classifier, names": lambda: es.ESNClassifier(units=4, random_state=0).fit(
        BATCH, np.array(["b", "a"], object)[np.arange(12) % 2]
    ),
    "classifier, dates": lambda: es.ESNClassifier(units=4, random_state=0, pools=es.readouts.Pools(ranks=True)).fit(
        BATCH, np.array(["2020-01-01", "2021-06-01"], "M8[D]")[np.arange(12) % 2]
    ),
    "classifier, numbers": lambda: es.ESNClassifier(units=4, random_state=0).partial_fit(BATCH, np.arange(12) % 3),
    "classifier, trained": lambda: es.ESNClassifier(units=4, random_state=0, readout=es.readouts.Softmax(epochs=2)).fit(
        BATCH, np.arange(12) % 3
    ),
    "classifier, steps trained": lambda: es.ESNStepClassifier(
        units=4, columns=es.readouts.Columns(2, products=3), random_state=0, readout=es.readouts.Sigmoid(epochs=2)
    ).fit(U, NAMES),
    "lags": lambda: es.NVAR().fit(WAVE[:-1, None], WAVE[1:, None]),
    "lags, gaps and names": lambda: es.NVAR(3, 2, 1, ridge=(0.1, 1.0), scale=None).fit(TABLE, GAPS[:, 0]),
    "learner, fresh": lambda: learner(parameters=("leak_rate", "coupling"), rates=Adam({"leak_rate": 1e-3, "coupling": 1e-4})),
    "learner": lambda: learner().partial_fit(U, Y),
    "learner, least squares": lambda: learner(readout=es.learning.RLS(1e-2, 0.99), starts=lanes(), seed=3).partial_fit(U, Y),
    "learner, protocol": lambda: learner(protocol=Reinitialise(every=50, tolerance=0.0), average=0.9).partial_fit(U, Y),
    "learner, labels": lambda: learner(outputs=2, loss="softmax", average=30, constraint="logistic").partial_fit(
        U, U[:, 0] > 0.2
    ),
    "least squares, fresh": lambda: es.learning.RLS(0.5, 0.9),
    "least squares": lambda: es.learning.RLS(1e-3).partial_fit(RNG.normal(size=(20, 3)), RNG.normal(size=(20, 2))),
    "automatic": auto,
    "automatic, labels": lambda: auto(
        np.array([3, 5, 7]), feature_names_in_=("a", "b"), range_=Range(np.full(2, -9.0), np.full(2, np.inf))
    ),
    "automatic, sequences": of_sequences,
    "automatic, ranks": lambda: of_sequences(ranks=True, features=("mean", "last")),
    "automatic, summary": lambda: SequenceModel(
        (), Readout(RNG.normal(size=(2, 8)), np.zeros(2), np.array(1.0)), Scaling.none(2), np.array(["a", "b"]), 2.0
    ),
    "forecaster": lambda: es.Forecaster(4, season=12, mode="closed loop", difference="none", log=False).fit(WAVE),
    "forecaster, panel": lambda: es.Forecaster(3, season=None, past=[1], panel="all", networks=False).fit(
        {"a": WAVE[:60], 7: np.where(np.arange(70) == 9, np.nan, WAVE[60:130])},
        {"a": RNG.normal(size=(60, 2)), 7: RNG.normal(size=(70, 2))},
    ),
    "forecaster, dates": lambda: es.Forecaster(2, networks=False).fit(MONTHS),
    "forecaster, columns": lambda: es.Forecaster(3, networks=False).fit(pd.DataFrame({"a": WAVE[:40], "b": WAVE[40:80]})),
}


@cache
def model(name: str) -> Any:
    return TRIED[name]()


def outputs(made: Any) -> list[Any]:
    """What a model says to fixed inputs, after whatever it has learned."""
    if isinstance(made, es.ESN):
        return [made.run(np.ones((9, made.columns)) * 0.3)]
    if isinstance(made, es.learning.RLS):
        return [made.predict(np.ones((2, len(made.state.mean))))] if made.state is not None else []
    if isinstance(made, es.OnlineLearner):
        return (
            [made.predict(U[:20]), made.values, made.state, made.history.to_array().values] if made.stream is not None else []
        )
    if isinstance(made, es.Forecaster):
        known = len(made.future_inputs_)
        X: Any = np.ones((3, known)) if known else None
        if made._data.form.shape == "dict" and known:
            X = dict.fromkeys(made._data.form.labels, X)
        return [made.predict(2 if X is None else 3, X).frame().to_numpy()]
    if isinstance(made, AutoModel):
        return [made.predict(BATCH[0] / 9, state=made.state_), made.predict(BATCH / 9)]
    if isinstance(made, SequenceModel):
        return [made.predict(BATCH), made.predict_proba(BATCH)]
    X = TABLE if hasattr(made, "feature_names_in_") else U[:60] if made.n_features_in_ == 1 else BATCH
    said = [made.predict(X)]
    for name in ("predict_proba", "decision_function"):
        if hasattr(made, name):
            said.append(getattr(made, name)(X))
    if hasattr(made, "forecast") and not getattr(made, "no_forecast_", "no") and not np.isnan(made.last_target_).any():
        said.append(made.forecast(5))
    if getattr(made, "state_", None) is not None and made.state_.ndim == 1:
        said.append(made.predict(X, state=made.state_))
    return said


def go_on(made: Any) -> Any:
    """Learn from more data, where the class can."""
    if isinstance(made, es.learning.RLS):
        made.partial_fit(np.random.default_rng(1).normal(size=(9, 3)), np.random.default_rng(2).normal(size=(9, 2)))
    elif isinstance(made, es.OnlineLearner):
        labels = made.settings.loss == "softmax"
        made.partial_fit(U[:40], U[:40, 0] > 0.2 if labels else Y[:40])
    elif isinstance(made, es.Forecaster) and made._data.form.library == "array" and made._data.form.shape == "one":
        made.update(WAVE[:5])
    elif isinstance(made, es.ESNRegressor) and made.n_features_in_ == 1 and made.state_.ndim == 1:
        made.set_params(ridge="auto").partial_fit(U[:40], Y[:40, 0] if made.flat_targets_ else Y[:40])
    return made


def assert_alike(one: Any, other: Any) -> None:
    ours, theirs = outputs(one), outputs(other)
    assert len(ours) == len(theirs)
    for left, right in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("name", TRIED)
def test_a_loaded_model_says_the_same_bits_and_learns_on(name: str, tmp_path: Path) -> None:
    saved = model(name)
    loaded = es.load(es.save(saved, tmp_path / "model.es"))
    assert type(loaded) is type(saved)
    assert_alike(loaded, saved)
    again = es.load(es.save(loaded, tmp_path / "again.es"))
    assert_alike(again, saved)
    assert_alike(go_on(loaded), go_on(es.load(tmp_path / "model.es")))
    assert_alike(loaded, go_on(saved))
    later = es.load(es.save(saved, tmp_path / "later.es"))
    assert_alike(later, saved)
    assert_alike(go_on(later), go_on(saved))


# ------------------------------------------------------------------------------------------------- nothing is forgotten


def forgotten(kind: Kind, value: Any, name: str) -> list[str]:
    """Attributes that an object has and its declaration does not know, and those of its parts."""
    if value is None:
        return []
    if isinstance(kind, Maybe):
        return forgotten(kind.kind, value, name)
    if isinstance(kind, Many):
        return [found for k, each in enumerate(value) for found in forgotten(kind.kind, each, f"{name}[{k}]")]
    if isinstance(kind, OneOf):
        return forgotten(kind.records[type(value).__name__], value, name)
    if not isinstance(kind, Record):
        return []
    held = set(getattr(value, "_fields", None) or vars(value))
    made_anew = {each for each in held if isinstance(getattr(type(value), each, None), cached_property)}
    found = [f"{name}.{each}" for each in sorted(held - made_anew - set(kind.kinds) - set(kind.left_out))]
    shown = value if kind.kept is None else kind.kept(value)
    for field, each in kind.kinds.items():
        found += forgotten(each, getattr(shown, field, None), f"{name}.{field}")
    return found


@pytest.mark.parametrize("name", TRIED)
def test_every_attribute_is_declared(name: str) -> None:
    """A new attribute that is neither declared nor left out by name would be lost in a file."""
    saved = model(name)
    [kind] = [each for each in MODELS if each.of is type(saved)]
    assert forgotten(kind, saved, type(saved).__name__) == []


def test_the_settings_and_the_stream_of_a_learner_are_declared() -> None:
    """Both are taken apart before they are written."""
    fields = set(LearnerSettings.__dataclass_fields__)
    own = {"_esn", "parameters", "starts", "stream", "sequences", "feature_names"}
    assert fields - {"learned", "hyper"} == set(LEARNER.kinds) - own
    assert set(Stream._fields) - {"plan", "fixed", "groups"} == set(STREAM.kinds)  # these are made again


def test_every_class_is_tried() -> None:
    assert {type(model(name)) for name in TRIED} == {each.of for each in MODELS}


# --------------------------------------------------------------------------------------------------------- the codec alone


@dataclass
class Table:
    """`rows` (R, C) and their sums, beside settings whose annotations say what they are."""

    rows: Any
    sums: Any
    count: int
    names: tuple[str, ...] = ()


TABLES = Record(Table, "rows R C, sums R")


class InMemory(NamedTuple):
    """What the codec asks of an array in a file."""

    dtype: Any
    shape: tuple[int, ...]
    read: Callable[[], Any]


def read(about: Any, arrays: dict[str, Any], kind: Kind = TABLES) -> Any:
    """What is read from JSON, and from arrays that must not be touched before their shape is known to be right."""
    stored: Any = {name: InMemory(each.dtype, each.shape, partial(np.copy, each)) for name, each in arrays.items()}
    return kind.read(about, stored, "", ChainMap())


def test_a_data_class_is_what_its_annotations_say() -> None:
    arrays: dict[str, Any] = {}
    about = TABLES.write(Table(np.ones((3, 2)), np.ones(3), 7, ("a", "b")), arrays, "")
    assert about == {"rows": "array", "sums": "array", "count": 7, "names": ["a", "b"]}
    made = read(json.loads(json.dumps(about)), arrays)
    assert (made.count, made.names, made.rows.shape, made.sums.shape) == (7, ("a", "b"), (3, 2), (3,))
    with pytest.raises(KeyError, match="Any"):  # at import: a field that is no plain value needs a declaration
        Record(Table)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"count": True}, "count must be a whole number"),
        ({"count": 1.0}, "count must be a whole number"),
        ({"count": -1}, "count must be at least 0, got -1"),
        ({"names": "ab"}, "names must be a list"),
        ({"names": [1]}, r"names\.0 must be text, not 1"),
        ({"sums": None}, "there is no array sums"),
        ({"more": 1}, "a Table has no more"),
        ([], r"\[\] is no Table"),
    ],
)
def test_what_is_wrong_is_said(change: Any, words: str) -> None:
    about = {"rows": "array", "sums": "array", "count": 7, "names": []}
    with pytest.raises((ValueError, TypeError), match=words):
        read(about | change if change else change, {"rows": np.ones((3, 2)), "sums": np.ones(3)})


def test_sizes_agree_within_an_object_and_not_between_entries_of_a_list() -> None:
    about = {"rows": "array", "sums": "array", "count": 7, "names": []}
    with pytest.raises(ValueError, match=r"sums must have shape \(3\), not \(4,\)"):
        read(about, {"rows": np.ones((3, 2)), "sums": np.ones(4)})
    two = {f"{k}.{name}": each for k in (0, 1) for name, each in (("rows", np.ones((k + 2, 5))), ("sums", np.ones(k + 2)))}
    listed = read([about, about], {f".{name}": each for name, each in two.items()}, Many(TABLES))
    assert [each.rows.shape for each in listed] == [(2, 5), (3, 5)]
    sums = Record(Table, "rows R C", sums=Array("R+C+1"))
    assert read(about, {"rows": np.ones((3, 2)), "sums": np.ones(6)}, sums).sums.shape == (6,)


def test_arrays_of_a_wrong_shape_are_not_read() -> None:
    def never() -> Any:
        raise AssertionError("read")

    about = {"rows": "array", "sums": "array", "count": 7, "names": []}
    stored: Any = {name: InMemory(np.dtype(float), (1 << 40,), never) for name in ("rows", "sums")}
    with pytest.raises(ValueError, match=r"rows must have shape \(any, any\), not \(1099511627776,\)"):
        TABLES.read(about, stored, "", ChainMap())
