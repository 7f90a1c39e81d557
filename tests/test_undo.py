"""A call that fails leaves its object as it was: for every public method that changes one, wherever it fails.

Failures are put into the code itself: the n-th call of a function of echoscale within the method raises, for n all over it.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import echoscale as es
from echoscale.automatic.drive import Drive
from echoscale.automatic.lags import LinearMap
from echoscale.automatic.model import AutoModel, Group
from echoscale.esn import ESN
from echoscale.hyper import with_lanes
from echoscale.online import SequenceLearner
from echoscale.online.history import History
from echoscale.scaling import Scaling
from echoscale.undo import all_or_nothing

U, Y = es.tasks.narma(260, order=5, seed=1)
LABELS = np.where(Y[:, 0] > Y.mean(), "high", "low")
BATCH = np.random.default_rng(0).normal(size=(12, 20, 1))
CLASSES = np.arange(12) % 3


class Injected(Exception):
    """The failure that the tests put in."""


def content(value: object, depth: int = 0) -> object:
    """All that an object holds, as values that can be compared; a network by its description."""
    if isinstance(value, ESN) or depth > 9:
        return repr(value)
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        array = np.asarray(value)
        return (str(array.dtype), array.shape, array.tolist() if array.dtype == object else array.tobytes())
    if isinstance(value, np.random.Generator):
        return repr(value.bit_generator.state)
    if isinstance(value, History):  # rows after those in use are room for more
        return [value.window, value.used, *(content(rows[: value.used]) for rows in value[2:])]
    if isinstance(value, dict):
        return {str(name): content(each, depth + 1) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [content(each, depth + 1) for each in value]
    if hasattr(value, "__dict__") and not callable(value) and not isinstance(value, type):
        return {name: content(each, depth + 1) for name, each in vars(value).items()}
    return repr(value) if isinstance(value, int | float | str | bool | None) else id(value)


def failing_at(place: int, call: Callable[[], Any]) -> int:
    """Make the call, and raise at the place-th call of a function of echoscale; how many there were."""
    count = 0

    def watch(frame: Any, event: str, _: Any) -> None:
        nonlocal count
        own = "/echoscale/" in frame.f_code.co_filename and frame.f_code.co_name not in ("guarded", "_adds_up")
        if event == "call" and own:
            count += 1
            if count == place:
                sys.setprofile(None)
                raise Injected

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return count


def esn() -> ESN:
    return es.single(6).build(1, seed=0)


def regressor() -> Any:
    return es.ESNRegressor(units=6, washout=20, random_state=0).fit(U, Y)


def stream() -> Any:
    return es.ESNRegressor(units=6, washout=20, random_state=0).partial_fit(U[:130], Y[:130])


def classifier() -> Any:
    return es.ESNClassifier(units=6, washout=10, random_state=0).fit(U, LABELS)


def of_sequences() -> Any:
    return es.ESNClassifier(units=6, features="mean", random_state=0).partial_fit(BATCH, CLASSES)


def learner() -> Any:
    return es.OnlineLearner(esn(), washout=10, record=20).partial_fit(U[:100], Y[:100])


def sequence_learner() -> Any:
    return SequenceLearner(esn(), classes=3, every=5).partial_fit(BATCH, CLASSES)


def squares() -> Any:
    return es.RLS(1e-3).partial_fit(U[:50], Y[:50])


def expansion() -> Any:
    return es.DelayExpansion(delay=3, units=4, random_state=0).fit(U)


def transformer() -> Any:
    return es.ESNFeatures(units=6, random_state=0).fit(BATCH)


@cache
def written_forecaster(length: int) -> bytes:
    """Learned once; networks take part from 160 values on."""
    y = 3 + np.sin(np.pi * np.arange(length) / 6) + 0.1 * np.random.default_rng(0).normal(size=length)
    model = es.Forecaster(4, season=12, mode="closed loop", difference="none").fit(y)
    with tempfile.TemporaryDirectory() as folder:
        return es.save(model, Path(folder) / "forecaster.es").read_bytes()


def forecaster(length: int = 180) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "forecaster.es"
        path.write_bytes(written_forecaster(length))
        return es.load(path)


def automatic() -> Any:
    esn = es.single(6).build(1, seed=0)
    hyper = with_lanes(esn.hyper, {"leak_rate[0]": [0.2, 1.0]})
    coef = np.random.default_rng(0).normal(size=(2, 1, 6))
    linear = LinearMap((0, 1), np.ones((1, 2)), np.zeros(1))
    drive = Drive(np.array([True]), np.ones(1))
    return AutoModel(linear, (Group(esn, hyper, coef),), Scaling.of([U]), Scaling.of([Y]), None, True, drive, np.zeros(13))


# The object, and a call that changes it. Those of learners are as long as one of their buffers: what lies before it is kept.
CALLS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "regressor, fit": (regressor, lambda model: model.fit(np.hstack([U, U]), Y[:, 0])),
    "regressor, partial_fit": (stream, lambda model: model.partial_fit(U[130:], Y[130:])),
    "regressor, set_params": (regressor, lambda model: model.set_params(units=7, washout=3)),
    "classifier, fit": (classifier, lambda model: model.fit(BATCH, CLASSES)),
    "classifier, partial_fit": (classifier, lambda model: model.partial_fit(U, LABELS)),
    "sequences, partial_fit": (of_sequences, lambda model: model.partial_fit(BATCH, CLASSES)),
    "sequences, fit": (of_sequences, lambda model: model.fit(U, LABELS)),
    "learner, fit": (learner, lambda model: model.begin(3)),
    "learner, partial_fit": (learner, lambda model: model.partial_fit(U[100:110], Y[100:110])),
    "learner, freeze": (learner, lambda model: model.freeze("leak_rate")),
    "sequence learner, partial_fit": (sequence_learner, lambda model: model.partial_fit(BATCH, CLASSES)),
    "sequence learner, first": (
        lambda: SequenceLearner(esn(), classes=3, every=5),
        lambda model: model.partial_fit(BATCH, CLASSES),
    ),
    "sequence learner, reset_readout": (sequence_learner, lambda model: model.reset_readout()),
    "squares, partial_fit": (squares, lambda model: model.partial_fit(U[50:], Y[50:])),
    "expansion, fit": (expansion, lambda model: model.fit(np.hstack([U, U]))),
    "features, fit": (transformer, lambda model: model.fit(np.concatenate([BATCH, BATCH], axis=2))),
    "features, transform": (transformer, lambda model: model.transform(BATCH)),
    "forecaster, fit": (forecaster, lambda model: model.fit(Y[:40, 0])),
    "forecaster, update": (forecaster, lambda model: model.update([3.0, np.nan, 2.5])),
    "forecaster, predict": (lambda: forecaster(40), lambda model: model.predict(5)),
    "automatic, predict": (automatic, lambda model: model.predict(U, return_state=True)),
}
MOST = 20  # places of one method


# A failure in a generator that nobody asks any more is told, and no more than that.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", CALLS)
def test_a_failure_anywhere_leaves_the_object_as_it_was(name: str) -> None:
    make, call = CALLS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make()
        total = failing_at(0, lambda: call(make()))  # all is compiled and loaded after that
        total = failing_at(0, lambda: call(make())) - failing_at(0, make) if name != "learner, fit" else total
        before = content(vars(model))
        allowed = [before]
        if name == "learner, partial_fit":  # a buffer that was learned is kept, whatever happens after it
            allowed.append(content(vars(call(make()))))
        places = sorted({1, 2, 3, *np.linspace(1, max(total, 4), MOST).astype(int).tolist()})
        failed = 0
        for place in places:
            try:
                failing_at(place, partial(call, model))
            except Injected:
                failed += 1
                now = content(vars(model))
                assert now in allowed, f"failed at call {place} of {total}"
                if now == before:
                    continue
            model = make()
            allowed[0] = before = content(vars(model))
    assert failed >= min(3, total)


REFUSED: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "labels that come too short": (
        classifier,
        lambda model: model.set_params(washout=1000).fit(U, np.where(Y > 0.3, "c", "d")[:, 0]),
    ),
    "two inputs": (regressor, lambda model: model.fit(np.hstack([U, U])[:1], Y[:1])),
    "a gap": (regressor, lambda model: model.fit(np.where(np.arange(260)[:, None] == 7, np.nan, U), Y)),
    "sequences for a stream": (learner, lambda model: model.partial_fit(BATCH, np.zeros((12, 20)))),
    "a fit on nothing": (learner, lambda model: model.fit(U[:0], Y[:0])),
    "a fit with a wrong progress": (learner, lambda model: model.fit(U, Y, progress="yes")),
    "an unknown parameter": (regressor, lambda model: model.set_params(units=9, nonsense=1)),
    "labels beyond the classes": (sequence_learner, lambda model: model.partial_fit(BATCH, CLASSES + 1)),
    "sequences that give other features": (transformer, lambda model: model.transform(U)),
    "too few values": (forecaster, lambda model: model.fit(np.arange(5.0))),
    "another series": (forecaster, lambda model: model.update({"a": [1.0], "b": [2.0]})),
    "more steps than can be judged": (forecaster, lambda model: model.predict(100)),
    "features that are not those": (squares, lambda model: model.partial_fit(np.hstack([U, U]), Y)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_call_leaves_the_object_as_it_was(name: str) -> None:
    make, call = REFUSED[name]
    model = make()
    if name.startswith("labels that"):
        model.set_params(washout=1000)
    before = content(vars(model))
    with pytest.raises((ValueError, TypeError)):
        call(model)
    assert content(vars(model)) == before


def test_a_model_whose_fit_was_refused_predicts_as_before() -> None:
    model = classifier()
    before = model.predict(U)
    with pytest.raises(ValueError, match="washout"):
        model.set_params(washout=1000).fit(U, np.where(LABELS == "low", "c", "d"))
    np.testing.assert_array_equal(model.predict(U), before)
    assert set(model.classes_) == {"high", "low"}


def test_attributes_that_were_set_are_put_back_and_new_ones_taken_away() -> None:
    class Thing:
        def __init__(self) -> None:
            self.old = 1

        @all_or_nothing
        def change(self, fails: bool) -> str:
            """Say so."""
            self.old, self.new = 2, 3
            if fails:
                raise KeyboardInterrupt
            return "changed"

    thing = Thing()
    with pytest.raises(KeyboardInterrupt):
        thing.change(True)
    assert vars(thing) == {"old": 1}
    assert thing.change(fails=False) == "changed"
    assert vars(thing) == {"old": 2, "new": 3}
    assert thing.change.__doc__ == "Say so."
