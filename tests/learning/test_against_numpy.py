"""The online learner against two forms of its rule in NumPy, those that benchmarks/online.py times: the same numbers."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import echoscale as es
from echoscale.learning import PRESETS, Adam, OnlineLearner

SEQUENCES, STEPS, OUTPUTS = 10, 400, 4


def numpy_rule(name: str = "online_numpy") -> Any:
    """A module of the benchmark: benchmarks/ is no package, and not installed."""
    path = Path(__file__).parents[2] / "benchmarks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def learner(parameters: Any, rates: Adam) -> OnlineLearner:
    network = es.hierarchical([50, 50], leak_rate=[0.5, 0.05], spectral_radius=0.95, input_scaling=0.2)
    rules: dict[str, Any] = {"readout": PRESETS["telegraph"].readout, "rates": rates, "washout": 0, "record": STEPS // 2}
    return OnlineLearner(network, OUTPUTS, parameters=parameters, dtype="float64", **rules)


def whole(model: OnlineLearner) -> Any:
    """W_out with the intercept last, (O, F)."""
    return np.concatenate([model.readout.coef, model.readout.intercept[:, None]], axis=1)


# The paper's rate, and one at which the leak rates go far: they act back on the states, and on their traces.
@pytest.mark.parametrize("rate", [5e-6, 1e-3])
@pytest.mark.parametrize("sparse", [False, True])
def test_leak_rates_readout_and_loss(rate: float, sparse: bool) -> None:
    """Both sides round differently, some 1e-16 a step; Adam's quotient magnifies that where a gradient is next to 0."""
    rule = numpy_rule()
    series = es.tasks.telegraph(STEPS, seed=0, sequences=SEQUENCES)
    y = np.eye(OUTPUTS)[series.joint]
    ours = learner("leak_rate", Adam(rate, beta1=0.99))
    ours.stream = ours.begin(SEQUENCES, 1)
    first, leaks = whole(ours), ours.values[0]
    parts = rule.parts_of(ours.esn)
    theirs = rule.NumpyLearner(parts, first, leaks, SEQUENCES, np.float64, leak_rate=rate, sparse=sparse)
    losses = [theirs.partial_fit(series.u[:, half], y[:, half]) for half in (slice(0, 200), slice(200, 400))]
    ours.partial_fit(series.u, y)
    np.testing.assert_allclose(ours.values[0], theirs.leaks, rtol=1e-11)
    np.testing.assert_allclose(whole(ours), theirs.W_out, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(ours.history.loss[0], losses, rtol=1e-11)
    np.testing.assert_allclose(ours.state, theirs.S[0, :, :-1], rtol=1e-9, atol=1e-12)
    # And all of it moved, by tens of Adam's steps.
    assert np.median(np.abs(whole(ours) - first)) > 10e-3
    assert (np.abs(ours.values[0] - leaks) > 10 * rate).all()


@pytest.mark.parametrize("rate", [5e-6, 1e-3])
def test_the_rule_as_one_writes_it_down(rate: float) -> None:
    series = es.tasks.telegraph(STEPS, seed=0, sequences=SEQUENCES)
    y = np.eye(OUTPUTS)[series.joint]
    ours = learner("leak_rate", Adam(rate, beta1=0.99))
    ours.stream = ours.begin(SEQUENCES, 1)
    first, leaks = whole(ours), ours.values[0]
    parts = numpy_rule().parts_of(ours.esn)
    theirs = numpy_rule("online_plain").PlainLearner(parts, first, leaks, SEQUENCES, np.float64, leak_rate=rate)
    losses = [theirs.partial_fit(series.u[:, half], y[:, half]) for half in (slice(0, 200), slice(200, 400))]
    ours.partial_fit(series.u, y)
    np.testing.assert_allclose(ours.values[0], [each.value for each in theirs.leaks], rtol=1e-11)
    np.testing.assert_allclose(ours.readout.coef, theirs.W_out.value, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(ours.readout.intercept, theirs.intercept.value[:, 0], rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(ours.history.loss[0], losses, rtol=1e-11)
    np.testing.assert_allclose(ours.state, np.concatenate([theirs.x1, theirs.x2]).T, rtol=1e-9, atol=1e-12)
    assert np.median(np.abs(whole(ours) - first)) > 10e-3
    assert (np.abs(ours.values[0] - leaks) > 10 * rate).all()


def test_the_readout_alone() -> None:
    rule = numpy_rule()
    series = es.tasks.telegraph(STEPS, seed=1, sequences=SEQUENCES)
    y = np.eye(OUTPUTS)[series.joint]
    ours = learner((), PRESETS["telegraph"].learned)
    ours.stream = ours.begin(SEQUENCES, 1)
    theirs = rule.NumpyLearner(rule.parts_of(ours.esn), whole(ours), (0.5, 0.05), SEQUENCES, np.float64, learn_leaks=False)
    theirs.partial_fit(series.u, y)
    ours.partial_fit(series.u, y)
    np.testing.assert_allclose(whole(ours), theirs.W_out, rtol=1e-9, atol=1e-11)
    np.testing.assert_array_equal(theirs.leaks, [0.5, 0.05])
