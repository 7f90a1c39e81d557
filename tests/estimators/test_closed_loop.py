"""Closed loop: `forecast` against a loop written by hand, and against signals that go on."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from flat import flat

from echoscale import ESNRegressor

Array = npt.NDArray[Any]

NETWORKS: dict[str, dict[str, Any]] = {
    "single": {"units": 15, "leak_rate": 0.7, "bias_scaling": 0.2},
    "hierarchical": {"units": (9, 6), "structure": "hierarchical", "leak_rate": (0.9, 0.4)},
    "no delay": {"units": (9, 6), "structure": "hierarchical", "coupling_delay": 0},
}


def model(name: str = "single", **parameters: Any) -> ESNRegressor:
    """A small network in float64; the readout sees its states alone."""
    defaults: dict[str, Any] = {"dtype": "float64", "random_state": 2, "washout": 20, "scale": None, "ridge": 1e-3}
    hyper: dict[str, Any] = {"spectral_radius": 0.95, "input_scaling": 1.0, "bias_scaling": 0.0, "inputs": 0}
    return flat(ESNRegressor, **{**hyper, **NETWORKS[name], **defaults, **parameters})


def waves(seed: int, length: int = 121) -> Array:
    """Two noisy oscillations, (length, 2)."""
    rng = np.random.default_rng(seed)
    phases = np.arange(length)[:, None] * np.array([0.3, 0.47]) + rng.uniform(0, 6, 2)
    noisy: Array = np.sin(phases) + 0.1 * rng.normal(size=(length, 2))
    return noisy


def loop(fitted: ESNRegressor, series: Array, steps: int) -> Array:
    """Run over the series from zero, then read out, feed back, and so on, one step at a time."""
    esn, (coef, intercept) = fitted.esn_, (fitted.readout_.coef, fitted.readout_.intercept)
    state, u, outputs = esn.run(series)[-1], series[-1], []
    for _ in range(steps):
        y = coef @ (np.concatenate([state, u]) if fitted.columns_.inputs else state) + intercept
        outputs.append(y)
        state, u = esn.step(y, state), y
    return np.array(outputs)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("inputs", [0, 1])
def test_forecast_is_a_loop_of_readout_and_step(name: str, inputs: int) -> None:
    u = waves(0)
    fitted = model(name, inputs=inputs).fit(u[:-1], u[1:])
    expected = loop(fitted, u, 37)
    assert expected[20:].std() > 0.1  # it has not died out
    np.testing.assert_allclose(fitted.forecast(37), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("inputs", [0, 1])
def test_forecast_begins_after_the_warmup(inputs: int) -> None:
    """One series or a batch, whatever the model was fitted on."""
    u, others = waves(0), np.stack([waves(1, 50), waves(2, 50)])
    fitted = model(inputs=inputs).fit(u[:-1], u[1:])
    expected = [loop(fitted, each, 37) for each in others]
    np.testing.assert_allclose(fitted.forecast(37, warmup=others[0]), expected[0], rtol=0, atol=1e-10)
    np.testing.assert_allclose(fitted.forecast(37, warmup=others), expected, rtol=0, atol=1e-10)
    np.testing.assert_allclose(fitted.forecast(5, warmup=others[0][:1]), loop(fitted, others[0][:1], 5), rtol=0, atol=1e-10)


@pytest.mark.parametrize("inputs", [0, 1])
@pytest.mark.parametrize("lengths", [(121, 121, 121), (90, 121, 60)])
def test_forecast_continues_every_series_of_the_training_data(lengths: tuple[int, ...], inputs: int) -> None:
    """A batch, or a list of unequal lengths; with a warm-up of one series, one forecast."""
    series = [waves(seed, length) for seed, length in enumerate(lengths)]
    X, y = [u[:-1] for u in series], [u[1:] for u in series]
    equal = len(set(lengths)) == 1
    fitted = model(inputs=inputs).fit(np.stack(X) if equal else X, np.stack(y) if equal else y)
    np.testing.assert_allclose(fitted.forecast(37), [loop(fitted, each, 37) for each in series], rtol=0, atol=1e-10)
    alone = waves(9, 50)
    np.testing.assert_allclose(fitted.forecast(37, warmup=alone), loop(fitted, alone, 37), rtol=0, atol=1e-10)


def test_forecast_continues_the_last_chunk() -> None:
    u = waves(0)
    chunked = model().partial_fit(u[:70], u[1:71]).partial_fit(u[70:-1], u[71:])
    np.testing.assert_allclose(chunked.forecast(37), loop(chunked, u, 37), rtol=0, atol=1e-10)


def test_forecast_begins_after_the_last_value_that_was_shown() -> None:
    """The last target counts as shown, so that the first row is the first unknown one."""
    u = waves(0)
    fitted = model().fit(u[:-1], u[1:])
    np.testing.assert_allclose(fitted.forecast(1)[0], fitted.predict(u)[-1], rtol=0, atol=1e-10)
    np.testing.assert_allclose(fitted.forecast(1, warmup=u)[0], fitted.predict(u)[-1], rtol=0, atol=1e-10)


def test_forecast_keeps_no_state_and_a_longer_one_only_adds() -> None:
    u = waves(0)
    fitted = model().fit(u[:-1], u[1:])
    long = fitted.forecast(37)
    for steps in (1, 2, 5, 16, 33):
        np.testing.assert_array_equal(fitted.forecast(steps), long[:steps])


def test_a_flat_target_gives_a_column() -> None:
    u = waves(0)[:, :1]
    fitted = model().fit(u[:-1], u[1:, 0])
    np.testing.assert_allclose(fitted.forecast(37), loop(fitted, u, 37), rtol=0, atol=1e-10)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["one sine", "sum of sines", "two sines"])
def test_oscillations_go_on(name: str, dtype: str) -> None:
    """200 steps, eight periods, from the step after the last target on.

    On an orbit that neither attracts nor repels, errors add up: after n steps they may reach n times the error of one step,
    which is known from the training data. That bound must itself be small for the test to say something.
    """
    t = np.arange(1002.0)[:, None]
    series = {
        "one sine": np.sin(2 * np.pi * t / 25.3),
        "sum of sines": np.sin(0.25 * t) + 0.5 * np.sin(0.311 * t),
        "two sines": np.hstack([np.sin(0.25 * t), 0.5 * np.cos(0.311 * t)]),
    }[name]
    X, y, future = series[:800], series[1:801], series[801:1001]
    fitted = flat(
        ESNRegressor,
        units=100,
        leak_rate=0.5,
        spectral_radius=0.95,
        input_scaling=0.5,
        bias_scaling=0.0,
        washout=100,
        scale=None,
        ridge=1e-8,
        inputs=0,
        dtype=dtype,
        random_state=0,
    ).fit(X, y)
    one_step = np.abs(fitted.predict(X) - y)[100:].max()
    steps = np.arange(1, 201)[:, None]
    assert 200 * one_step < 0.02
    assert (np.abs(fitted.forecast(200) - future) <= steps * one_step).all()


@pytest.mark.parametrize(("X", "y"), [(waves(0), waves(1)[:, :1]), (waves(0)[:, :1], waves(1))])
def test_forecast_needs_as_many_outputs_as_inputs(X: Array, y: Array) -> None:
    message = (
        rf"{y.shape[1]} outputs and {X.shape[1]} inputs. Fit a model to predict its own next input: fit\(u\[:-1\], u\[1:\]\)"
    )
    with pytest.raises(ValueError, match=message):
        model().fit(X, y).forecast(3)


@pytest.mark.parametrize(
    ("steps", "error", "message"),
    [
        (0, ValueError, "steps must be at least 1, got 0"),
        (-3, ValueError, "steps must be at least 1, got -3"),
        (2.5, TypeError, "steps must be a whole number, got 2.5"),
    ],
)
def test_a_bad_horizon_is_named(steps: Any, error: type[Exception], message: str) -> None:
    u = waves(0)
    with pytest.raises(error, match=message):
        model().fit(u[:-1], u[1:]).forecast(steps)


@pytest.mark.parametrize(
    ("warmup", "message"),
    [(waves(0)[:, :1], "1 features, but ESNRegressor is expecting 2"), (waves(0) * np.nan, "NaN"), (waves(0)[:0], "0 sample")],
)
def test_a_bad_warmup_is_named(warmup: Array, message: str) -> None:
    u = waves(0)
    fitted = model().fit(u[:-1], u[1:])
    with pytest.raises(ValueError, match=message):
        fitted.forecast(3, warmup=warmup)
