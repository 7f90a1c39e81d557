"""Where a series begins whose past is not known."""

from __future__ import annotations

from typing import Any

import naive
import numpy as np
import pytest
from flat import flat

import echoscale as es
from echoscale.data.series import as_series
from echoscale.engine.hyper import with_lanes
from echoscale.readouts.states import STEPS, at_rest


def test_rest_is_the_end_of_a_long_time_at_the_mean_input() -> None:
    esn = es.hierarchical([5, 4], leak_rate=[1.0, 0.3], bias_scaling=0.5).build(2, seed=0, dtype="float64")
    found = at_rest(esn)
    assert found is not None
    np.testing.assert_allclose(found, naive.states_of(esn, np.zeros((STEPS, 2)))[-1], atol=1e-12)
    np.testing.assert_allclose(esn.step(np.zeros(2), found), found, atol=1e-12)  # it stays there
    lanes = at_rest(esn, with_lanes(esn.hyper, {"bias_scaling": [0.5, 0.1]}))
    assert lanes is not None
    np.testing.assert_array_equal(lanes[0], found)


def test_without_a_bias_rest_is_zero() -> None:
    esn = es.single(5).build(1, seed=0)
    assert at_rest(esn) is None
    assert not esn.run(np.zeros((3, 1))).any()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_predictions_of_a_new_series_are_those_of_a_past_at_the_mean(dtype: str) -> None:
    """To the letter; and none of the first ones is far outside of the targets, as from the zero state."""
    u, y = es.tasks.narma(1400, seed=1)
    model = es.ESNRegressor(60, ridge=1e-9, dtype=dtype, random_state=0).fit(u[:1000], y[:1000])
    new = model.predict(u[1000:])
    past = np.tile(u[:1000].mean(axis=0), (STEPS, 1))
    np.testing.assert_allclose(new, model.predict(np.concatenate([past, u[1000:]]))[STEPS:], rtol=1e-3, atol=1e-3)
    far = model.predict(u[1000:], state=np.zeros_like(model.state_))
    assert np.abs(new - y[1000:]).max() < 0.2 * np.abs(far - y[1000:]).max()
    assert es.nrmse(y[1000:], new) < 1


def test_a_linear_level_rests_at_its_fixed_point_or_where_it_grows_at_zero() -> None:
    """x* = (I - M)^-1 b below a spectral radius of 1; above it, states grow and leave the range of float32, soon or later."""
    esn = es.single(6, leak_rate=0.5, topology="ring", activation="identity", bias_scaling=0.5).build(1, seed=0)
    lanes = at_rest(esn, with_lanes(esn.hyper, {"spectral_radius": [0.9, 1.05, 1.2, 3.0]}))
    assert lanes is not None
    m = esn.matrices(esn.hyper.replace(spectral_radius=[0.9]))
    np.testing.assert_allclose(lanes[0], np.linalg.solve(np.eye(6) - m.W.toarray(), m.bias), rtol=1e-4)
    assert not lanes[1:].any()


def test_predictions_of_a_network_that_grows_begin_at_zero() -> None:
    """Its states stay within float32 along the series, but not for as long as it takes to come to rest."""
    u, y = es.tasks.narma(300, seed=1)
    with pytest.warns(es.EchoStateWarning, match="grow without bound"):
        network = es.single(6, topology="ring", activation="identity", spectral_radius=1.1, bias_scaling=0.5)
    model = es.ESNRegressor(network=network, dtype="float32", random_state=0).fit(u[:200], y[:200])
    assert not model.rest_.any()
    np.testing.assert_array_equal(model.predict(u[200:]), model.predict(u[200:], state=np.zeros_like(model.rest_)))


def test_rest_of_an_estimator_is_a_state_that_predict_takes() -> None:
    u, y = es.tasks.narma(400, seed=1)
    model = es.ESNRegressor(20, columns=es.readouts.Columns(3), random_state=0).fit(u[:300], y[:300])
    assert model.rest_.shape == model.state_.shape == (22,)
    np.testing.assert_array_equal(model.predict(u[300:]), model.predict(u[300:], state=model.rest_))


@pytest.mark.parametrize(
    ("parameters", "zero"),
    [({}, False), ({"bias_scaling": 0.0}, True), ({"scale": None}, True), ({"feedback_scaling": 0.1}, True)],
)
def test_where_predict_begins_is_what_the_pages_say(parameters: dict[str, Any], zero: bool) -> None:
    """At rest; the zero state without biases, without a mean input, and with output feedback."""
    u, y = es.tasks.narma(400, seed=1)
    model = flat(es.ESNRegressor, units=20, random_state=0, **parameters).fit(u[:300], y[:300])
    assert model.rest_.any() != zero
    np.testing.assert_array_equal(model.predict(u[300:]), model.predict(u[300:], state=model.rest_))


def test_a_classifier_of_sequences_begins_at_zero() -> None:
    rng = np.random.default_rng(0)
    kinds = np.repeat([0, 1], 10)
    u = rng.normal(size=(20, 30, 1)) + kinds[:, None, None]
    model = es.ESNClassifier(20, random_state=0).fit(u, kinds)
    rows = model.transformer_.pool(as_series(u), np.zeros(model.esn_.units))
    scores = model.readout_.predict(rows)
    np.testing.assert_array_equal(model.decision_function(u), scores[:, 1] - scores[:, 0])
