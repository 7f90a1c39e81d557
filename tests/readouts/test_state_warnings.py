"""Networks that cannot be read out say so."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from flat import flat

import echoscale as es
from echoscale import ESNClassifier, ESNRegressor, ESNStepClassifier
from echoscale.estimators import StateWarning


def series(size: float = 1.0, offset: float = 0.0) -> tuple[Any, Any]:
    u, y = es.tasks.narma(400, order=5, seed=0)
    return offset + size * u, y[:, 0]


SATURATED = "saturated: the mean square of its states is .*Lower input_scaling.*scale='standard'"
STILL = "hardly moves: .*Raise input_scaling, use scale='standard'"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (series(1e3), {"scale": None}, SATURATED),
        (series(1.0, 500.0), {"scale": None}, SATURATED),
        (series(), {"input_scaling": 1e3}, SATURATED),
        (series(), {"bias_scaling": 100.0}, SATURATED),
        # Without memory, so that the start is soon forgotten.
        (series(0.0, 3.0), {"bias_scaling": 0.5, "spectral_radius": 0.3}, STILL),
        (series(0.0), {"bias_scaling": 0.0}, STILL),
        (series(1e-13), {"scale": None, "bias_scaling": 0.5, "spectral_radius": 0.3}, STILL),
    ],
)
def test_useless_states_are_named(dtype: str, data: Any, options: dict[str, Any], message: str) -> None:
    X, y = data
    with pytest.warns(StateWarning, match=message):
        flat(ESNRegressor, units=30, random_state=0, dtype=dtype, **options).fit(X, y)
    with pytest.warns(StateWarning, match=message):
        flat(ESNRegressor, units=30, random_state=0, dtype=dtype, **options).partial_fit(X, y)
    given = {"leak_rate": 1.0, "input_scaling": 0.3, **options}  # values that are left open are chosen to be of use
    with pytest.warns(StateWarning, match=message):
        flat(ESNStepClassifier, units=30, random_state=0, dtype=dtype, **given).fit(X, y > np.median(y))


@pytest.mark.parametrize("readout", ["ridge", "softmax"])
def test_labels_of_sequences_are_warned_of_too(readout: str) -> None:
    X = 1e4 * np.random.default_rng(0).normal(size=(20, 10, 1))
    options: dict[str, Any] = {"units": 30, "leak_rate": 1.0, "input_scaling": 1.0, "scale": None, "random_state": 0}
    with pytest.warns(StateWarning, match=SATURATED):
        flat(ESNClassifier, readout=readout, epochs=1, **options).fit(X, np.arange(20) % 2)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"leak_rate": 0.1},
        {"leak_rate": 0.01},
        {"input_scaling": 0.01},
        {"input_scaling": 1e-6, "dtype": "float64"},
        {"input_scaling": 3.0},
        {"spectral_radius": 0.99, "bias_scaling": 1.0},
        {"units": (20, 20, 20), "structure": "hierarchical", "leak_rate": (1.0, 0.3, 0.05)},
        {"topology": "delay_line"},
        {"topology": "ring"},
        # Linear levels have no bounds to stand at.
        {"network": es.hierarchical([20, 20], activation=["identity", "tanh"], input_scaling=[3.0, 0.1], coupling=0.1)},
    ],
)
def test_usual_networks_raise_no_alarm(options: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", StateWarning)
        for data in (series(), series(1e4, 1e6)):
            flat(ESNRegressor, random_state=0, **options).fit(*data)
