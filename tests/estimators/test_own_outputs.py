"""Models with output feedback: taught with the targets, run with their own outputs; against loops over the equation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import naive
import numpy as np
import numpy.typing as npt
import pytest
from flat import flat
from sklearn.base import clone

import echoscale as es
from echoscale import ESNRegressor
from echoscale.readouts.statistics import of_rows

Array = npt.NDArray[Any]

T = np.arange(700)
INPUT = np.stack([np.sin(0.07 * T), np.cos(0.11 * T)], axis=1)
TARGET = np.stack([np.sin(0.2 * T) + np.sin(0.311 * T), 3 + np.cos(0.2 * T) * INPUT[:, 0]], axis=1)
KNOWN = slice(0, 500)
AFTER = slice(500, 700)


def model(**changed: Any) -> ESNRegressor:
    settings = {"units": 30, "feedback_scaling": 0.3, "random_state": 0, "dtype": "float64", "washout": 50, "ridge": 1e-6}
    return flat(ESNRegressor, **{**settings, **changed})


def test_fit_hears_the_targets() -> None:
    """The readout is the ridge solution on the states of the written-out equation, in units of the network."""
    fitted = model(inputs=0).fit(INPUT[KNOWN], TARGET[KNOWN])
    u, y = fitted.scaling_.forward(INPUT[KNOWN]), fitted.target_scaling_.forward(TARGET[KNOWN])
    states = naive.states_of(fitted.esn_, u, y=y)
    expected = es.readouts.ridge(of_rows(states[50:], y[50:]), 1e-6)
    np.testing.assert_allclose(fitted.readout_.coef, expected.coef * fitted.target_scaling_.spread[:, None], rtol=1e-6)
    np.testing.assert_allclose(fitted.state_, [*states[-1], *y[-1]], atol=1e-12)


def test_predict_hears_its_own_outputs() -> None:
    fitted = model(inputs=0).fit(INPUT[KNOWN], TARGET[KNOWN])
    units = fitted.target_scaling_
    coef, intercept = fitted.readout_.coef / units.spread[:, None], units.forward(fitted.readout_.intercept)
    expected, states = naive.own_outputs_of(fitted.esn_, coef, intercept, fitted.scaling_.forward(INPUT[:80]))
    found, last = fitted.predict(INPUT[:80], return_state=True)
    np.testing.assert_allclose(found, units.back(expected), atol=1e-9)
    np.testing.assert_allclose(last, [*states[-1], *expected[-1]], atol=1e-9)


@pytest.mark.parametrize(
    "changed",
    [{}, {"inputs": 0}, {"inputs": 3}, {"difference": "last"}, {"squares": True}],
    ids=str,
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_pieces_files_and_known_outputs(changed: dict[str, Any], dtype: str, tmp_path: Path) -> None:
    fitted = model(dtype=dtype, **changed).fit(INPUT[KNOWN], TARGET[KNOWN])
    whole, end = fitted.predict(INPUT[AFTER], state=fitted.state_, return_state=True)
    first, state = fitted.predict(INPUT[500:531], state=fitted.state_, return_state=True)
    second, last = fitted.predict(INPUT[531:], state=state, return_state=True)
    np.testing.assert_array_equal(np.concatenate([first, second]), whole)
    np.testing.assert_array_equal(last, end)
    loaded = es.load(es.save(fitted, tmp_path / "model"))
    np.testing.assert_array_equal(loaded.predict(INPUT[AFTER], state=loaded.state_), whole)
    # Outputs that are known are heard; from where they are not, the model's own.
    known = np.where(T[:, None] < 500, TARGET, np.nan)
    rounding = 1e-3 if dtype == "float32" else 1e-7
    np.testing.assert_allclose(fitted.predict(INPUT, y=known)[500:510], whole[:10], atol=rounding)
    taught = fitted.predict(INPUT[AFTER], y=TARGET[AFTER], state=fitted.state_)
    np.testing.assert_array_equal(taught[0], whole[0])
    assert es.nrmse(TARGET[AFTER], taught) < es.nrmse(TARGET[AFTER], whole)


def test_a_sum_of_sines_goes_on_by_itself() -> None:
    """Without any input: a constant is none."""
    y = TARGET[:, 0]
    fitted = flat(ESNRegressor, feedback_scaling=0.3, random_state=0).fit(np.ones(500), y[KNOWN])
    assert es.nrmse(y[AFTER], fitted.predict(np.ones(200), state=fitted.state_)) < 0.01


def test_batches_and_lists_are_their_series() -> None:
    pieces = [slice(0, 300), slice(100, 400), slice(300, 600)]
    batch = np.stack([INPUT[each] for each in pieces]), np.stack([TARGET[each] for each in pieces])
    fitted = model().fit(*batch)
    together, states = fitted.predict(batch[0], state=fitted.state_, return_state=True)
    for b in range(3):
        alone, state = fitted.predict(batch[0][b], state=fitted.state_[b], return_state=True)
        np.testing.assert_allclose(together[b], alone, atol=1e-8)
        np.testing.assert_allclose(states[b], state, atol=1e-8)
    uneven = [INPUT[:40], INPUT[:9], INPUT[:25]]
    found, states = fitted.predict(uneven, return_state=True)
    for one, u, state in zip(found, uneven, states, strict=True):
        alone, last = fitted.predict(u, return_state=True)
        np.testing.assert_allclose(one, alone, atol=1e-10)
        np.testing.assert_allclose(state, last, atol=1e-10)


@pytest.mark.parametrize("changed", [{}, {"difference": "last", "inputs": 2}, {"squares": True}], ids=str)
def test_a_stream_is_one_fit(changed: dict[str, Any]) -> None:
    settings = {"scale": None, "inputs": 2, "input_scaling": 0.05, **changed}
    whole = model(**settings).fit(INPUT[KNOWN], TARGET[KNOWN])
    stream = model(**settings)
    for begin, end in ((0, 120), (120, 121), (121, 500)):
        stream.partial_fit(INPUT[begin:end], TARGET[begin:end])
    np.testing.assert_allclose(stream.state_, whole.state_, atol=1e-12)
    np.testing.assert_allclose(stream.statistics_.scatter, whole.statistics_.scatter, rtol=1e-9, atol=1e-9)
    found = [each.predict(INPUT[500:520], state=each.state_) for each in (stream, whole)]
    np.testing.assert_allclose(found[0], found[1], atol=1e-5)


def test_a_hierarchy_hears_it_where_it_is_told() -> None:
    both = {"units": (10, 8), "structure": "hierarchical"}
    assert [each.feedback_scaling for each in model(**both).make_network().reservoirs] == [0.3, 0.0]
    assert [each.feedback_scaling for each in model(**both, feedback_scaling=(0.1, 0.2)).make_network().reservoirs] == [
        0.1,
        0.2,
    ]
    network = es.parallel([10, 8], feedback_scaling=[0.0, 0.5])
    assert ESNRegressor(network=network).fit(INPUT[KNOWN], TARGET[KNOWN]).esn_.n_outputs == 2
    with pytest.raises(ValueError, match="network= is given, so input_scaling would be ignored"):
        ESNRegressor(network=network, input_scaling=0.2).fit(INPUT[KNOWN], TARGET[KNOWN])


def test_one_output_may_be_flat_and_clones_keep_all() -> None:
    fitted = model(difference="last", squares=True).fit(INPUT[KNOWN, 0], TARGET[KNOWN, 0])
    assert fitted.predict(INPUT[AFTER, 0], state=fitted.state_).shape == (200,)
    assert fitted.predict(INPUT[AFTER, 0], y=TARGET[AFTER, 0]).shape == (200,)
    again = clone(fitted).fit(INPUT[KNOWN, 0], TARGET[KNOWN, 0])
    np.testing.assert_array_equal(again.readout_.coef, fitted.readout_.coef)
    assert fitted.score(INPUT[:, 0], TARGET[:, 0]) <= 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: model().fit(INPUT, np.where(T[:, None] == 7, np.nan, TARGET)), "y must be finite, found NaN at step 7"),
        (lambda: model(difference="change").fit(INPUT, TARGET), "difference must be one of 'none', 'last'"),
        (lambda: model(difference="last", inputs=0).fit(INPUT, TARGET), "columns must have at least one input"),
        (
            lambda: model(feedback_scaling=0).fit(INPUT, TARGET).predict(INPUT, y=TARGET),
            "predict takes y only for a model with",
        ),
        (lambda: model().fit(INPUT, TARGET).predict(INPUT, y=TARGET[:9]), "y has 9 steps"),
        (lambda: model().fit(INPUT, TARGET).predict(INPUT, y=TARGET[:, 0]), "y has 1 outputs, the model was fitted with 2"),
        (lambda: model().fit(INPUT, TARGET).predict(INPUT, state=np.zeros(30)), "state must end with an axis of 80"),
        (lambda: model().fit(INPUT, TARGET).forecast(3), r"output feedback.*predict\(X, state=model.state_\)"),
        (lambda: es.ESNStepClassifier(network=es.single(9, feedback_scaling=1)).fit(INPUT, T % 2), "output feedback"),
    ],
)
def test_what_is_wrong_is_said(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
