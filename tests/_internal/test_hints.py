"""Errors for names that do not exist: each names the option, class or call that does the job."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from sklearn.base import clone

import echoscale as es
from echoscale._internal import hints

NETWORK = es.hierarchical([5, 4], leak_rate=[0.9, 0.3])


@pytest.mark.parametrize(
    ("called", "given", "unknown", "meant"),
    [
        (es.single, (20,), "lr", "leak_rate"),
        (es.single, (20,), "leakrate", "leak_rate"),
        (es.parallel, ([20, 20],), "sr", "spectral_radius"),
        (es.Reservoir, (20,), "rc_connectivity", "connections"),
        (es.ESNRegressor, (), "warmup", "washout"),
        (es.ESNClassifier, (), "seed", "random_state"),
        (es.ESNFeatures, (), "n_reservoir", "units"),
        (es.Forecaster, (), "seasonality", "season"),
        (es.OnlineLearner, (NETWORK,), "random_state", "seed"),
        (es.tasks.mackey_glass, (100,), "tau", "delay"),
    ],
)
def test_an_unknown_option_names_the_nearest_one(
    called: Callable[..., object], given: tuple[object, ...], unknown: str, meant: str
) -> None:
    with pytest.raises(TypeError, match=rf"has no option '{unknown}'\. Did you mean {meant}\?"):
        called(*given, **{unknown: 1})


def test_an_option_without_a_likeness_lists_all() -> None:
    unknown: dict[str, Any] = {"qqq": 1}
    with pytest.raises(TypeError, match=r"has no option 'qqq'\. It has units, leak_rate"):
        es.Reservoir(3, **unknown)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("ESNregressor", r"Did you mean ESNRegressor\?"),
        ("Ridge", r"Use es\.ESNRegressor"),
        ("narma", r"Use es\.tasks\.narma"),
        ("RLS", r"Use es\.learning\.RLS"),
        ("ridge", r"Use es\.readouts\.ridge"),
    ],
)
def test_a_name_that_es_does_not_have(name: str, meant: str) -> None:
    with pytest.raises(AttributeError, match=meant):
        getattr(es, name)


@pytest.mark.parametrize(("name", "meant"), [("run", r"\.build\("), ("fit", "ESNRegressor"), ("timescale", "timescales")])
def test_what_a_description_cannot_do(name: str, meant: str) -> None:
    with pytest.raises(AttributeError, match=meant):
        getattr(NETWORK, name)
    assert not hasattr(NETWORK, "__array__")


def test_nothing_else_changes() -> None:
    model = es.ESNRegressor(units=7, random_state=3)
    assert clone(model).get_params() == model.get_params()
    assert next(iter(inspect.signature(es.ESNRegressor).parameters)) == "units"
    assert copy.deepcopy(NETWORK) == pickle.loads(pickle.dumps(NETWORK)) == eval(repr(NETWORK), vars(es)) == NETWORK


def test_every_foreign_name_stands_for_a_known_one() -> None:
    called = (es.Reservoir, es.ESNRegressor, es.Forecaster, es.OnlineLearner, es.tasks.mackey_glass, es.tasks.averages, es.NVAR)
    known = {name for each in called for name in inspect.signature(each).parameters}
    assert {name for names in hints.ELSEWHERE.values() for name in names} <= known
