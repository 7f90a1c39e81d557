"""Every public function that takes data refuses the same data: masked, complex, without labels, with other rows or columns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

import echoscale as es
from echoscale.engine import bptt
from echoscale.readouts.ridge import Readout
from echoscale.timescales.coding import asked

Array = npt.NDArray[Any]
STEPS = 60
rng = np.random.default_rng(0)
U = rng.normal(size=(STEPS, 2))
Y = np.tanh(U[:, 0]) + 0.5 * np.roll(U[:, 1], 1)
DAYS = pd.date_range("2024-01-01", periods=STEPS)
NAMED = pd.DataFrame(U, columns=["a", "b"], index=DAYS)
SEQUENCES = rng.normal(size=(8, 20, 2))
NETWORK = es.single(4)
ESN = NETWORK.build(2)


def like(u: Any) -> Any:
    return NAMED if isinstance(u, pd.DataFrame) else U


def learner() -> es.OnlineLearner:
    return es.OnlineLearner(NETWORK, outputs=1)


# Inputs and targets of every step.
PAIRS: dict[str, Callable[[Any, Any], Any]] = {
    "auto": lambda u, y: es.auto(u, y, rounds=1),
    "tune": lambda u, y: es.tune(NETWORK, u, y, rounds=1, starts=1),
    "suggest": lambda u, y: es.timescales.suggest(u, y, trials=False),
    "memory": lambda u, y: es.timescales.memory(u, y),
    "of_signal": lambda u, y: es.timescales.of_signal(u, y),
    "ESNRegressor": lambda u, y: es.ESNRegressor(4).fit(u, y),
    "ESNRegressor.partial_fit": lambda u, y: es.ESNRegressor(4, ridge=1e-3).partial_fit(u, y),
    "ESNRegressor.score": lambda u, y: es.ESNRegressor(4).fit(like(u), Y).score(u, y),
    "NVAR": lambda u, y: es.NVAR().fit(u, y),
    "OnlineLearner": lambda u, y: learner().fit(u, y),
    "Forecaster": lambda u, y: es.Forecaster(2, networks=False).fit(y, u),
    "Data": lambda u, y: es.sweeps.Data(u, y),
    "statistics": lambda u, y: es.readouts.statistics(ESN, u, y),
    "teacher_forced": lambda u, y: es.engine.teacher_forced(u, y),
    "bptt": lambda u, y: bptt.gradient(ESN, u, y, Readout(np.zeros((1, 4)), np.zeros(1), np.zeros(()))),
}
# Inputs alone.
INPUTS: dict[str, Callable[[Any], Any]] = {
    **{name: lambda u, call=call: call(u, Y) for name, call in PAIRS.items()},  # type: ignore[misc]
    "auto of itself": lambda u: es.auto(u, rounds=1),
    "auto.predict": lambda u: model_of(U, Y).predict(u),
    "suggest of itself": lambda u: es.timescales.suggest(u, trials=False),
    "season": lambda u: es.timescales.season(u[:, 0]),
    "trend": lambda u: es.timescales.trend(u[:, 0]),
    "ESNFeatures": lambda u: es.ESNFeatures(4).fit_transform(u),
    "ESN.run": lambda u: ESN.run(u),
    "features.compute": lambda u: es.readouts.features.compute(ESN, u[None], 5),
    "memory_capacity": lambda u: es.measures.memory_capacity(ESN, u),
    "intrinsic_plasticity": lambda u: es.learning.intrinsic_plasticity(ESN, u),
    "nrmse": lambda u: es.nrmse(u, U),
    "valid_time": lambda u: es.valid_time(U, u),
}
# One label for every step, and one for every sequence.
LABELS: dict[str, Callable[[Any, Any], Any]] = {
    "auto": lambda u, y: es.auto(u, y, rounds=1),
    "auto, labels=True": lambda u, y: es.auto(u, y, rounds=1, labels=True),
    "ESNStepClassifier": lambda u, y: es.ESNStepClassifier(4).fit(u, y),
    "ESNStepClassifier.score": lambda u, y: es.ESNStepClassifier(4).fit(u, ["a", "b"] * (STEPS // 2)).score(u, y),
    "tune": lambda u, y: es.tune(NETWORK, u, y, loss="cross_entropy", rounds=1, starts=1),
    "suggest": lambda u, y: es.timescales.suggest(u, y, trials=False),
}
SEQUENCE_LABELS: dict[str, Callable[[Any], Any]] = {
    "auto": lambda y: es.auto(SEQUENCES, y, rounds=1),
    "ESNClassifier": lambda y: es.ESNClassifier(4).fit(SEQUENCES, y),
    "tune": lambda y: es.tune(NETWORK, SEQUENCES, y, loss="cross_entropy", rounds=1, starts=1),
    "suggest": lambda y: es.timescales.suggest(SEQUENCES, y, trials=False),
}
# A fitted model as a function of inputs.
MODELS: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "auto": lambda u: model_of(u, Y).predict,
    "ESNRegressor": lambda u: es.ESNRegressor(4).fit(u, Y).predict,
    "ESNStepClassifier": lambda u: es.ESNStepClassifier(4).fit(u, Y > 0).predict,
    "NVAR": lambda u: es.NVAR().fit(u, Y).predict,
    "ESNFeatures": lambda u: es.ESNFeatures(4).fit(u).transform,
    "Forecaster": lambda u: lambda X: forecaster(u).predict(2, X[-2:].shift(2, "D")),
    "OnlineLearner": lambda u: learner().fit(u, Y).predict,
    "ESNRegressor, list": lambda u: lambda X: es.ESNRegressor(4).fit([u, u], [Y, Y]).predict([X]),
    "ESNRegressor.partial_fit": lambda u: lambda X: es.ESNRegressor(4, ridge=1e-3).partial_fit(u, Y).partial_fit(X, Y),
    "auto, sequences": lambda u: lambda X: es.auto([u] * 4 + [-u] * 4, list("aaaabbbb"), rounds=1).model.predict([X]),
}


def model_of(u: Any, y: Any) -> es.forecasting.AutoModel:
    model: es.forecasting.AutoModel = es.auto(u, y, rounds=1).model
    return model


def forecaster(u: pd.DataFrame) -> es.Forecaster:
    return es.Forecaster(2, networks=False).fit(pd.Series(Y, u.index), u)


def masked(values: Array) -> Any:
    hidden = np.zeros(values.shape, bool)
    hidden[5] = True
    return np.ma.masked_array(values, hidden)


@pytest.mark.parametrize("call", PAIRS.values(), ids=PAIRS)
def test_masked_targets_are_refused(call: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(ValueError, match=r"^y is a masked array with 1 masked values"):
        call(U, masked(Y))


@pytest.mark.parametrize("call", INPUTS.values(), ids=INPUTS)
def test_masked_inputs_are_refused(call: Callable[[Any], Any]) -> None:
    with pytest.raises(ValueError, match=r"is a masked array with [12] masked values"):
        call(masked(U))


@pytest.mark.parametrize("call", PAIRS.values(), ids=PAIRS)
@pytest.mark.parametrize("form", [np.asarray, pd.Series], ids=["array", "pandas"])
def test_complex_targets_are_refused(call: Callable[[Any, Any], Any], form: Callable[[Any], Any]) -> None:
    with pytest.raises((TypeError, ValueError), match=r"(?i)complex"):
        call(U, form(Y + 1j))


@pytest.mark.parametrize("call", INPUTS.values(), ids=INPUTS)
def test_complex_inputs_are_refused(call: Callable[[Any], Any]) -> None:
    with pytest.raises((TypeError, ValueError), match=r"(?i)complex"):
        call(U + 1j)


MISSING = [None, np.nan, pd.NA, pd.NaT]


@pytest.mark.parametrize("missing", MISSING, ids=repr)
@pytest.mark.parametrize("form", [np.asarray, list, pd.Series], ids=["array", "list", "pandas"])
@pytest.mark.parametrize("call", LABELS.values(), ids=LABELS)
def test_missing_labels_of_steps_are_refused(call: Callable[[Any, Any], Any], form: Callable[[Any], Any], missing: Any) -> None:
    labels = np.array(["a", "b"] * (STEPS // 2), dtype=object)
    labels[5] = missing
    with pytest.raises(ValueError, match=r"^y lacks 1 of 60 labels .* the first at place 5"):
        call(U, form(labels))


@pytest.mark.parametrize("missing", MISSING, ids=repr)
@pytest.mark.parametrize("form", [np.asarray, list], ids=["array", "list"])
@pytest.mark.parametrize("call", SEQUENCE_LABELS.values(), ids=SEQUENCE_LABELS)
def test_missing_labels_of_sequences_are_refused(call: Callable[[Any], Any], form: Callable[[Any], Any], missing: Any) -> None:
    labels = np.array(list("aaaabbbb"), dtype=object)
    labels[5] = missing
    with pytest.raises(ValueError, match=r"^y lacks 1 of 8 labels .* the first at place 5"):
        call(form(labels))


@pytest.mark.parametrize("call", LABELS.values(), ids=LABELS)
def test_masked_labels_of_steps_are_refused(call: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(ValueError, match=r"^y is a masked array with 1 masked values"):
        call(U, masked(np.array(["a", "b"] * (STEPS // 2))))


@pytest.mark.parametrize("call", SEQUENCE_LABELS.values(), ids=SEQUENCE_LABELS)
def test_masked_labels_of_sequences_are_refused(call: Callable[[Any], Any]) -> None:
    with pytest.raises(ValueError, match=r"^y is a masked array with 1 masked values"):
        call(masked(np.array(list("aaaabbbb"))))


@pytest.mark.parametrize("fit", MODELS.values(), ids=MODELS)
def test_columns_in_another_order_are_refused(fit: Callable[[Any], Callable[[Any], Any]]) -> None:
    predict = fit(NAMED)
    predict(NAMED)
    with pytest.raises(ValueError, match=r"(feature names|columns|\['b', 'a'\])"):
        predict(NAMED[["b", "a"]])


@pytest.mark.parametrize("rows", [DAYS.shift(30), DAYS[::-1]], ids=["later", "backwards"])
@pytest.mark.parametrize("call", PAIRS.values(), ids=PAIRS)
def test_targets_of_other_rows_are_refused(call: Callable[[Any, Any], Any], rows: Any) -> None:
    with pytest.raises(ValueError, match=r"row labels|not aligned|not sorted"):
        call(NAMED, pd.Series(Y, rows))


@pytest.mark.parametrize("call", LABELS.values(), ids=LABELS)
def test_labels_of_other_rows_are_refused(call: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(ValueError, match=r"different row labels: row 0"):
        call(NAMED, pd.Series(["a", "b"] * (STEPS // 2), NAMED.index[::-1]))


@pytest.mark.parametrize("call", PAIRS.values(), ids=PAIRS)
@pytest.mark.parametrize("y", [pd.Series(Y, NAMED.index), Y], ids=["the same rows", "no rows"])
def test_targets_of_the_same_rows_are_taken(call: Callable[[Any, Any], Any], y: Any) -> None:
    call(NAMED, y)


def test_saved_models_remember_the_columns(tmp_path: Path) -> None:
    sequences = es.auto([NAMED] * 4 + [-NAMED] * 4, list("aaaabbbb"), rounds=1).model
    for model, X in ((model_of(NAMED, Y), NAMED), (learner().fit(NAMED, Y), NAMED), (sequences, [NAMED])):
        again = es.load(es.save(model, tmp_path / "model.safetensors"))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        turned = X[["b", "a"]] if isinstance(X, pd.DataFrame) else [X[0][["b", "a"]]]
        with pytest.raises(ValueError, match=r"has the columns \['b', 'a'\]"):
            again.predict(turned)


@pytest.mark.parametrize("call", PAIRS.values(), ids=PAIRS)
def test_infinite_targets_are_refused(call: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(ValueError, match=r"y must be finite"):
        call(U, np.where(np.arange(STEPS) == 5, np.inf, Y))


@pytest.mark.parametrize("name", sorted(INPUTS.keys() - {"valid_time"}))  # an infinite forecast is not valid
def test_infinite_inputs_are_refused(name: str) -> None:
    u = U.copy()
    u[5, 0] = -np.inf
    with pytest.raises(ValueError, match=r"finite|infinit"):
        INPUTS[name](u)


@pytest.mark.parametrize("call", LABELS.values(), ids=LABELS)
def test_labels_of_several_kinds_are_refused(call: Callable[[Any, Any], Any]) -> None:
    with pytest.raises((TypeError, ValueError), match=r"several kinds|mix of|not supported between"):
        call(U, np.array(["a", 1] * (STEPS // 2), dtype=object))


# What functions that decide by themselves take targets for.
TAKEN_FOR_LABELS: dict[str, Callable[[Any, Any], bool]] = {
    "auto": lambda u, y: model_of(u, y).classes_ is not None,
    "suggest": lambda u, y: any(each.startswith("Labels:") for each in es.timescales.suggest(u, y, trials=False).reasons),
}
FIVE = rng.permutation(np.arange(STEPS) % 5)
TARGETS: dict[str, tuple[Any, Any, bool]] = {
    "text": (U, np.array(list("abcde"))[FIVE], True),
    "text as objects": (U, np.array(list("abcde"), object)[FIVE], True),
    "categories": (NAMED, pd.Series(np.array(list("abcde"))[FIVE], DAYS, dtype="category"), True),
    "truth values": (U, FIVE > 2, True),
    "whole numbers 0 to 4": (U, FIVE, True),
    "whole numbers of pandas": (NAMED, pd.Series(FIVE, DAYS, dtype="Int64"), True),
    "one column of whole numbers": (U, FIVE[:, None], True),
    "two columns of whole numbers": (U, np.stack([FIVE, FIVE[::-1]], axis=1), False),
    "whole numbers 0 to 11": (U, rng.permutation(np.arange(STEPS) % 12), False),
    "floats 0 to 4": (U, FIVE.astype(float), False),
    "whole numbers, the next input": (FIVE[:-1], FIVE[1:], False),
    "real numbers": (U, Y, False),
}


@pytest.mark.parametrize(("u", "y", "expected"), TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("taken", TAKEN_FOR_LABELS.values(), ids=TAKEN_FOR_LABELS)
def test_all_take_the_same_targets_for_labels(taken: Callable[[Any, Any], bool], u: Any, y: Any, expected: bool) -> None:
    assert taken(u, y) == expected


# Whether a function has seen that the targets are the next inputs.
SEES_NEXT_INPUT: dict[str, Callable[[Any, Any], bool]] = {
    "auto": lambda u, y: any("persistence" in row for row in es.auto(u, y, rounds=1).table.rows),
    "suggest": lambda u, y: asked(u, y, None).of_itself,
    "tune": lambda u, y: runs_free(lambda: es.tune(es.single(8), u, y, closed_loop=2, rounds=1, starts=1)),
    "ESNRegressor": lambda u, y: runs_free(lambda: es.ESNRegressor(8).fit(u, y).forecast(2)),
    "NVAR": lambda u, y: runs_free(lambda: es.NVAR().fit(u, y).forecast(2)),
}


def runs_free(call: Callable[[], Any]) -> bool:
    try:
        call()
    except ValueError as error:
        if "next input" in str(error):
            return False
        raise
    return True


WALK = 5 + np.cumsum(rng.normal(size=(STEPS + 1, 1)), axis=0)


@pytest.mark.parametrize(
    ("u", "y", "expected"),
    [
        (WALK[:-1], WALK[1:], True),
        (WALK[:-1], WALK[1:].astype(np.float32), True),
        (WALK[:-1].astype(np.float32), WALK[1:], True),
        (WALK[:-1], WALK[1:] + 0.01, False),
    ],
    ids=["equal", "targets in float32", "inputs in float32", "others"],
)
@pytest.mark.parametrize("sees", SEES_NEXT_INPUT.values(), ids=SEES_NEXT_INPUT)
def test_all_see_the_next_input_alike(sees: Callable[[Any, Any], bool], u: Any, y: Any, expected: bool) -> None:
    assert sees(u, y) == expected
