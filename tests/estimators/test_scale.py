"""Units of the data: networks see (x - mean) / spread, users see the units that they gave."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from flat import flat

import echoscale as es
from echoscale import ESNClassifier, ESNRegressor, ESNStepClassifier
from echoscale.readouts.statistics import of_rows

Array = npt.NDArray[Any]

GAIN, SHIFT = 1e4, 1e6
PRECISIONS = pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-8), ("float32", 2e-4)])


def other(x: Any) -> Any:
    """The same data in another unit, about another zero."""
    return [other(each) for each in x] if isinstance(x, list) else SHIFT + GAIN * x


def series(length: int = 240, seed: int = 0) -> tuple[Array, Array]:
    """Two inputs of different sizes, two targets that remember them."""
    u = np.random.default_rng(seed).normal(size=(length + 2, 2)) * [0.3, 40.0] + [5.0, -7.0]
    y = np.stack([u[1:-1, 0] + 0.2 * u[:-2, 1], 100 + u[1:-1, 1] * (u[:-2, 0] - 5)], axis=1)
    return u[2:], y + 0.1 * np.random.default_rng(seed + 1).normal(size=y.shape)


def model(**options: Any) -> ESNRegressor:
    """States alone, unless told otherwise."""
    defaults: dict[str, Any] = {
        "units": 25,
        "leak_rate": 0.8,
        "spectral_radius": 0.95,
        "input_scaling": 0.5,
        "bias_scaling": 0.0,
    }
    return flat(ESNRegressor, **{**defaults, "inputs": 0, "random_state": 0, "dtype": "float64", **options})


def data(kind: str) -> tuple[Any, Any]:
    if kind == "one":
        return series()
    pairs = [series(length, seed) for seed, length in enumerate((150, 150, 150) if kind == "batch" else (150, 90, 120))]
    X, y = [u for u, _ in pairs], [t for _, t in pairs]
    return (np.stack(X), np.stack(y)) if kind == "batch" else (X, y)


@pytest.mark.parametrize("kind", ["one", "batch", "list"])
@pytest.mark.parametrize("inputs", [0, 3, None])
def test_a_model_is_that_of_data_scaled_by_hand(kind: str, inputs: int | None) -> None:
    """Means and deviations of all steps of all series, column by column; the readout is in units of the targets."""
    X, y = data(kind)
    options: dict[str, Any] = {"ridge": 0.3, "inputs": inputs}
    rows, targets = (np.concatenate(list(each)) if kind != "one" else each for each in (X, y))

    def scaled(values: Any, by: Array) -> Any:
        return (
            [scaled(each, by) for each in values] if isinstance(values, list) else (values - by.mean(axis=0)) / by.std(axis=0)
        )

    fitted = model(**options).fit(X, y)
    by_hand = model(scale=None, **options).fit(scaled(X, rows), scaled(y, targets))
    np.testing.assert_allclose(fitted.scaling_.mean, rows.mean(axis=0))
    np.testing.assert_allclose(fitted.scaling_.spread, rows.std(axis=0))
    np.testing.assert_allclose(fitted.target_scaling_.mean, targets.mean(axis=0))
    found, expected = fitted.predict(X), by_hand.predict(scaled(X, rows))
    for one, two in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, targets.mean(axis=0) + targets.std(axis=0) * two, rtol=1e-9)
    np.testing.assert_allclose(fitted.statistics_.scatter, by_hand.statistics_.scatter, rtol=0, atol=1e-9)
    np.testing.assert_allclose(fitted.readout_.coef, by_hand.readout_.coef * targets.std(axis=0)[:, None], rtol=1e-6)
    if kind == "one" and inputs is False:
        states = fitted.esn_.run(scaled(X, rows))
        np.testing.assert_allclose(fitted.readout_.predict(states), found, rtol=1e-9)
    assert fitted.score(X, y) == pytest.approx(by_hand.score(scaled(X, rows), scaled(y, targets)), rel=1e-9)


@PRECISIONS
@pytest.mark.parametrize("which", ["inputs", "targets", "both"])
@pytest.mark.parametrize("options", [{}, {"inputs": None}, {"ridge": [1e-4, 1e-2, 1.0]}, {"ridge": 0.1}])
def test_units_change_no_prediction(dtype: str, tolerance: float, which: str, options: dict[str, Any]) -> None:
    X, y = series()
    given = other(X) if which != "targets" else X, other(y) if which != "inputs" else y
    one, two = model(dtype=dtype, **options).fit(X, y), model(dtype=dtype, **options).fit(*given)
    unseen, truth = series(100, seed=5)
    plain = one.predict(unseen, state=one.state_)
    found = two.predict(other(unseen) if which != "targets" else unseen, state=two.state_)
    if which != "inputs":
        found = (found - SHIFT) / GAIN
    np.testing.assert_allclose(found, plain, rtol=0, atol=tolerance * plain.std())
    assert two.ridge_ == pytest.approx(one.ridge_, rel=1e-4)
    arguments = other(unseen) if which != "targets" else unseen, other(truth) if which != "inputs" else truth
    assert two.score(*arguments) == pytest.approx(one.score(unseen, truth), abs=tolerance)


@PRECISIONS
@pytest.mark.parametrize("inputs", [0, 1, 3, None])
def test_units_change_no_forecast(dtype: str, tolerance: float, inputs: int | None) -> None:
    """After the data, after a warm-up, and for several series: outputs are fed back in units of the network."""
    t = np.arange(400.0)
    u = np.stack([3 + np.sin(0.2 * t), 50 * np.cos(0.31 * t)], axis=1)
    warmup = np.stack([u[100:160], u[50:110]])
    options: dict[str, Any] = {"dtype": dtype, "inputs": inputs, "ridge": 1e-2}
    one = model(**options).fit(u[:-1], u[1:])
    two = model(**options).fit(other(u)[:-1], other(u)[1:])
    for plain, found in (
        (one.forecast(30), two.forecast(30)),
        (one.forecast(30, warmup=warmup), two.forecast(30, warmup=other(warmup))),
    ):
        np.testing.assert_allclose((found - SHIFT) / GAIN, plain, rtol=0, atol=tolerance * 50)
        assert plain[..., 1].std() > 10, "it has not died out"


@pytest.mark.parametrize("inputs", [0, 2, 4, None])
def test_a_forecast_is_a_loop_of_predictions(inputs: int | None) -> None:
    """In units of the data: predict one step, append it, and carry the state on."""
    t = np.arange(300.0)
    u = np.stack([1e3 + np.sin(0.2 * t), 50 * np.cos(0.31 * t)], axis=1)
    fitted = model(inputs=inputs, ridge=1e-3).fit(u[:-1], u[1:])
    state, now, expected = fitted.state_, u[-1:], []
    for _ in range(20):
        now, state = fitted.predict(now, state=state, return_state=True)
        expected.append(now[0])
    np.testing.assert_allclose(fitted.forecast(20), expected, rtol=1e-9)
    np.testing.assert_allclose(fitted.forecast(20, warmup=u), expected, rtol=1e-9)


@pytest.mark.parametrize("readout", ["ridge", "softmax"])
def test_units_change_no_label(readout: str) -> None:
    """Of steps and of sequences. Classes have no units."""
    X, y = series()
    labels = np.digitize(y[:, 0], np.quantile(y[:, 0], [0.3, 0.7]))
    options: dict[str, Any] = {
        "units": 25,
        "random_state": 0,
        "dtype": "float64",
        "readout": readout,
        "epochs": 10,
        "rate": 0.05,
    }
    one, two = (flat(ESNStepClassifier, **options).fit(u, labels) for u in (X, other(X)))
    np.testing.assert_allclose(two.decision_function(other(X)), one.decision_function(X), rtol=0, atol=1e-7)
    assert two.score(other(X), labels) == one.score(X, labels) > 0.6
    batch, kinds = X.reshape(24, 10, 2), np.arange(24) % 2
    batch = batch + 20 * kinds[:, None, None]
    one, two = (flat(ESNClassifier, **options).fit(u, kinds) for u in (batch, other(batch)))
    np.testing.assert_allclose(two.decision_function(other(batch)), one.decision_function(batch), rtol=0, atol=1e-7)


def test_the_first_chunk_of_a_stream_sets_the_units() -> None:
    X, y = series()
    stream = model(washout=10, ridge=0.1).partial_fit(X[:80], y[:80]).partial_fit(X[80:], y[80:])
    mean, spread, low, wide = X[:80].mean(axis=0), X[:80].std(axis=0), y[:80].mean(axis=0), y[:80].std(axis=0)
    np.testing.assert_allclose(stream.scaling_.mean, mean)
    np.testing.assert_allclose(stream.target_scaling_.spread, wide)
    by_hand = model(washout=10, ridge=0.1, scale=None).fit((X - mean) / spread, (y - low) / wide)
    np.testing.assert_allclose(stream.predict(X), low + wide * by_hand.predict((X - mean) / spread), rtol=1e-8)
    # A fit sets its own, and what comes after it uses them.
    after = model(washout=10, ridge=0.1).fit(X[:80], y[:80]).partial_fit(X[80:], y[80:])
    np.testing.assert_allclose(after.readout_.coef, stream.readout_.coef, rtol=1e-8)


def test_a_constant_column_says_nothing() -> None:
    """It becomes 0, and the model is that of a network which hears nothing there."""
    X, y = series()
    X[:, 1] = 7.5
    fitted = model(ridge=0.1).fit(X, y)
    assert (fitted.scaling_.mean[1], fitted.scaling_.spread[1]) == (7.5, 1.0)
    moved = X.copy()
    moved[:, 1] = -3e5
    again = model(ridge=0.1).fit(moved, y)
    np.testing.assert_array_equal(again.predict(moved), fitted.predict(X))
    still = model(ridge=0.1).fit(X, np.column_stack([y[:, 0], np.full(len(y), 4.0)]))
    np.testing.assert_allclose(still.predict(X)[:, 1], 4.0, rtol=1e-12)


def test_without_scaling_the_network_sees_the_data() -> None:
    X, y = series()
    fitted = model(scale=None, ridge=0.1, washout=10, input_scaling=0.01).fit(X, y)
    assert fitted.scaling_.is_none
    assert fitted.target_scaling_.is_none
    states = fitted.esn_.run(X)[10:]
    expected = es.readouts.ridge(of_rows(states, y[10:]), 0.1)
    np.testing.assert_allclose(fitted.readout_.coef, expected.coef, rtol=1e-7)


@pytest.mark.parametrize("options", [{}, {"inputs": None}, {"scale": None, "input_scaling": 0.01}])
def test_saved_models_keep_units_curve_and_state(options: dict[str, Any], tmp_path: Path) -> None:
    X, y = series()
    fitted = model(**options).fit(X, y)
    loaded = es.load(es.save(fitted, tmp_path / "model.es"))
    unseen, _ = series(50, seed=3)
    np.testing.assert_array_equal(loaded.predict(unseen, state=loaded.state_), fitted.predict(unseen, state=fitted.state_))
    for each in (loaded, fitted):
        each.no_forecast_ = ""  # any model runs, and must do so alike
    np.testing.assert_array_equal(loaded.forecast(5), fitted.forecast(5))
    for name in ("scaling_", "target_scaling_"):
        for one, two in zip(getattr(loaded, name), getattr(fitted, name), strict=True):
            np.testing.assert_array_equal(one, two)
    assert repr(loaded.ridge_curve_) == repr(fitted.ridge_curve_)
    assert loaded.get_params() == {**fitted.get_params(), "random_state": 0}
