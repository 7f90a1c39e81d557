"""`Columns.inputs`: the last inputs beside the states, in one piece and in streams."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from flat import flat

import echoscale as es
from echoscale import ESNRegressor, ESNStepClassifier
from echoscale.readouts import columns

Array = npt.NDArray[Any]

WASHOUT = 10
KINDS = pytest.mark.parametrize("kind", ["one", "batch", "list"])
DIRECT = pytest.mark.parametrize("inputs", [1, 2, 5])


def model(**options: Any) -> ESNRegressor:
    defaults: dict[str, Any] = {"units": 12, "random_state": 1, "washout": WASHOUT, "ridge": 0.1, "dtype": "float64"}
    return flat(ESNRegressor, **{**defaults, "scale": None, **options})


def data(kind: str, lengths: tuple[int, ...] = (70, 50, 61)) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    lengths = {"one": lengths[:1], "batch": (60, 60, 60), "list": lengths}[kind]
    X = [rng.normal(size=(n, 2)) for n in lengths]
    y = [np.cumsum(u, axis=0)[:, :1] + rng.normal(size=(len(u), 1)) for u in X]
    if kind == "one":
        return X[0], y[0]
    return (np.stack(X), np.stack(y)) if kind == "batch" else (X, y)


def each(values: Any) -> list[Array]:
    return [values] if isinstance(values, np.ndarray) and values.ndim == 2 else list(values)


def rows(esn: es.ESN, u: Array, inputs: int) -> Array:
    """States, then u(t), u(t-1), ..., with 0 before the start."""
    lagged = [np.concatenate([np.zeros((lag, u.shape[1])), u[: len(u) - lag]]) for lag in range(inputs)]
    return np.concatenate([esn.run(u), *lagged], axis=1)


def least_squares(x: Array, y: Array, penalty: float) -> tuple[Array, Array]:
    below = np.sqrt(penalty) * np.eye(x.shape[1])
    above = (
        np.concatenate([x - x.mean(axis=0), below]),
        np.concatenate([y - y.mean(axis=0), np.zeros((len(below), y.shape[1]))]),
    )
    coef = np.linalg.lstsq(*above, rcond=None)[0]
    return coef, y.mean(axis=0) - x.mean(axis=0) @ coef


@KINDS
@DIRECT
def test_the_readout_sees_the_last_inputs(kind: str, inputs: int) -> None:
    X, y = data(kind)
    fitted = model(inputs=inputs).fit(X, y)
    features = [rows(fitted.esn_, u, inputs) for u in each(X)]
    coef, intercept = least_squares(
        np.concatenate([x[WASHOUT:] for x in features]), np.concatenate([t[WASHOUT:] for t in each(y)]), 0.1
    )
    for x, guess in zip(features, each(fitted.predict(X, state=np.zeros_like(fitted.state_))), strict=True):
        np.testing.assert_allclose(guess, x @ coef + intercept, rtol=0, atol=1e-9)


def test_true_is_one() -> None:
    X, y = data("one")
    np.testing.assert_array_equal(model(inputs=1).fit(X, y).predict(X), model(inputs=1).fit(X, y).predict(X))


@KINDS
@DIRECT
def test_states_carry_the_last_inputs(kind: str, inputs: int) -> None:
    """The state is the network's, then the last inputs - 1 inputs, newest first; pieces of any length chain to the whole."""
    X, y = data(kind)
    fitted = model(inputs=inputs).fit(X, y)
    last = fitted.state_ if kind == "one" else fitted.state_[0]
    assert last.shape == (12 + 2 * (inputs - 1),)
    np.testing.assert_array_equal(last[12:], each(X)[0][:-inputs:-1].ravel())
    pieces: list[list[Array]] = []
    state: Any = None
    for begin, end in ((0, 1), (1, 3), (3, 4), (4, 30), (30, None)):
        piece = [u[begin:end] for u in each(X)]
        guess, state = fitted.predict(piece[0] if kind == "one" else piece, state=state, return_state=True)
        pieces.append(each(guess))
    for b, whole in enumerate(each(fitted.predict(X))):
        np.testing.assert_allclose(np.concatenate([piece[b] for piece in pieces]), whole, rtol=0, atol=1e-10)
    np.testing.assert_allclose(state, fitted.state_, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["one", "batch"])
def test_chunks_equal_the_whole(kind: str) -> None:
    """Chunks may be shorter than the inputs that the readout sees."""
    X, y = data(kind)
    ends = (0, 2, 3, 25, X.shape[-2])
    chunked, whole = model(inputs=4), model(inputs=4).fit(X, y)
    for a, b in pairwise(ends):
        chunked.partial_fit(X[..., a:b, :], y[..., a:b, :])
    np.testing.assert_allclose(chunked.readout_.coef, whole.readout_.coef, rtol=0, atol=1e-9)
    np.testing.assert_allclose(chunked.state_, whole.state_, rtol=0, atol=1e-12)


def test_a_new_series_forgets_the_last_inputs() -> None:
    X, y = data("batch")
    whole, chunked = model(inputs=3).fit(X, y), model(inputs=3)
    for u, t in zip(X, y, strict=True):
        chunked.partial_fit(u, t, new_series=True)
    np.testing.assert_allclose(chunked.readout_.coef, whole.readout_.coef, rtol=0, atol=1e-9)


@pytest.mark.parametrize("state", [np.zeros(12), np.zeros(15), np.zeros((2, 16)), np.full(16, np.nan)])
def test_a_state_without_them_is_named(state: Array) -> None:
    X, y = data("one")
    with pytest.raises(ValueError, match=r"state must have shape \(16,\)|state must be finite"):
        model(inputs=3).fit(X, y).predict(X, state=state)


@pytest.mark.parametrize("readout", ["ridge", "sigmoid"])
def test_labels_of_steps_see_them(readout: str) -> None:
    """A label that is the sign of the input three steps ago, and a network without memory."""
    rng = np.random.default_rng(0)
    u = rng.normal(size=(400, 1))
    labels = np.concatenate([np.zeros(3), u[:-3, 0] > 0]).astype(int)
    network = es.single(5, leak_rate=1.0, spectral_radius=0.0)
    options: dict[str, Any] = {"network": network, "readout": readout, "rate": 0.05, "random_state": 0}
    blind, seeing = (flat(ESNStepClassifier, inputs=inputs, **options).fit(u, labels) for inputs in (3, 4))
    assert blind.score(u, labels) < 0.7
    assert seeing.score(u, labels) > 0.9
    head, state = seeing.predict(u[:200], return_state=True)
    np.testing.assert_array_equal(np.concatenate([head, seeing.predict(u[200:], state=state)]), seeing.predict(u))


# The default, inputs=None.


def naive_readout(fitted: ESNRegressor, X: Any, y: Any, washout: int, penalty: float) -> list[Array]:
    """Predictions by ridge regression on states and lagged inputs, in NumPy: scaled by hand, fitted, and scaled back."""
    inputs, targets = np.concatenate(each(X)), np.concatenate(each(y))
    mean, spread, low, wide = inputs.mean(axis=0), inputs.std(axis=0), targets.mean(axis=0), targets.std(axis=0)
    features = [rows(fitted.esn_, (u - mean) / spread, int(fitted.columns_.inputs or 0)) for u in each(X)]
    wanted = np.concatenate([(t[washout:] - low) / wide for t in each(y)])
    coef, intercept = least_squares(np.concatenate([x[washout:] for x in features]), wanted, penalty)
    return [low + wide * (x @ coef + intercept) for x in features]


@pytest.mark.parametrize(
    ("lengths", "features", "expected"),
    [
        ((1000,), 1, 13),
        ((75,), 1, 13),  # 65 steps after the washout, five for each of 13 inputs
        ((74,), 1, 12),
        ((60,), 1, 10),
        ((19,), 1, 1),
        ((13,), 1, 1),  # three steps are not enough for one, which is the least
        ((140,), 2, 13),  # inputs of two columns need twice the steps
        ((139,), 2, 12),
        ((1000,), 300, 1),
        ((40, 45), 1, 13),  # the steps of all series count
        ((40, 44), 1, 12),
    ],
)
def test_the_default_is_thirteen_inputs_or_as_many_as_have_five_steps_a_column(
    lengths: tuple[int, ...], features: int, expected: int
) -> None:
    assert (columns.RECENT, columns.STEPS_PER_INPUT) == (13, 5)
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(length, features)) for length in lengths]
    y = [rng.normal(size=(length, 1)) for length in lengths]
    fitted = ESNRegressor(5, washout=WASHOUT, ridge=0.1, random_state=0).fit(*((X[0], y[0]) if len(X) == 1 else (X, y)))
    assert fitted.columns is None
    assert fitted.columns_.inputs == expected
    assert fitted.readout_.coef.shape == (1, 5 + expected * features)
    assert fitted.state_.shape[-1] == 5 + (expected - 1) * features


@KINDS
def test_the_default_is_ridge_regression_on_states_and_scaled_inputs(kind: str) -> None:
    X, y = data(kind)
    fitted = ESNRegressor(12, washout=WASHOUT, ridge=0.1, dtype="float64", random_state=1).fit(X, y)
    assert fitted.columns_.inputs == {"one": 6, "batch": 13, "list": 13}[kind]
    for guess, expected in zip(
        each(fitted.predict(X, state=np.zeros_like(fitted.state_))), naive_readout(fitted, X, y, WASHOUT, 0.1), strict=True
    ):
        np.testing.assert_allclose(guess, expected, rtol=0, atol=1e-9)


def test_the_penalty_of_the_default_is_that_of_states_and_inputs() -> None:
    """With everything left as it is but the precision: the chosen penalty, and the readout that it gives."""
    X, y = data("one", (700,))
    fitted = ESNRegressor(dtype="float64", random_state=1).fit(X, y)
    assert (fitted.washout_, fitted.columns_.inputs) == (70, 13)
    assert fitted.ridge_curve_ is not None
    x = rows(fitted.esn_, (X - X.mean(axis=0)) / X.std(axis=0), 13)[70:]
    singular = np.linalg.svd(x - x.mean(axis=0), compute_uv=False)
    assert fitted.ridge_curve_.unit == pytest.approx((singular**2).mean(), rel=1e-9)
    [expected] = naive_readout(fitted, X, y, 70, fitted.ridge_)
    np.testing.assert_allclose(fitted.predict(X, state=np.zeros_like(fitted.state_)), expected, rtol=0, atol=1e-7 * y.std())


def test_a_stream_takes_thirteen_and_keeps_them() -> None:
    """Its end is not known at the first chunk; after a `fit` it goes on with the inputs of that."""
    X, y = data("one", (300,))
    stream, whole = model(inputs=None), model(inputs=13).fit(X, y)
    for begin, end in pairwise((0, 15, 16, 120, 300)):
        stream.partial_fit(X[begin:end], y[begin:end])
        assert stream.columns_.inputs == 13
    np.testing.assert_allclose(stream.readout_.coef, whole.readout_.coef, rtol=0, atol=1e-9)
    np.testing.assert_allclose(stream.state_, whole.state_, rtol=0, atol=1e-12)
    after = model(inputs=None).fit(X[:50], y[:50])
    assert after.columns_.inputs == 4
    after.partial_fit(X[50:], y[50:])
    assert after.columns_.inputs == 4
    np.testing.assert_allclose(after.readout_.coef, model(inputs=4).fit(X, y).readout_.coef, rtol=0, atol=1e-9)
    assert after.fit(X, y).columns_.inputs == 13


@pytest.mark.parametrize(("length", "inputs"), [(400, 13), (81, 7)])
def test_a_forecast_by_default_is_a_loop(length: int, inputs: int) -> None:
    """One step at a time in NumPy: the readout of the state and the last inputs is the next input."""
    t = np.arange(length)[:, None]
    u = 5 + 3 * np.sin(0.3 * t + [0.0, 1.0]) + 0.1 * np.random.default_rng(0).normal(size=(length, 2))
    fitted = ESNRegressor(20, ridge=1e-2, dtype="float64", random_state=2).fit(u[:-1], u[1:])
    assert fitted.columns_.inputs == inputs
    mean, spread = u[:-1].mean(axis=0), u[:-1].std(axis=0)

    def loop(shown: Array) -> Array:
        known = list((shown - mean) / spread)
        state, outputs = fitted.esn_.run(np.array(known))[-1], []
        for _ in range(30):
            past = [known[-1 - lag] if lag < len(known) else np.zeros(2) for lag in range(inputs)]
            outputs.append(fitted.readout_.coef @ np.concatenate([state, *past]) + fitted.readout_.intercept)
            known.append((outputs[-1] - mean) / spread)
            state = fitted.esn_.step(known[-1], state)
        return np.array(outputs)

    expected = loop(u)
    assert expected[15:].std() > 1, "it has not died out"
    np.testing.assert_allclose(fitted.forecast(30), expected, rtol=0, atol=1e-9)
    # Of a warm-up that is shorter than the inputs that the readout sees, too.
    for warmup in (u[40:70], u[40:43]):
        np.testing.assert_allclose(fitted.forecast(30, warmup=warmup), loop(warmup), rtol=0, atol=1e-9)


@pytest.mark.parametrize("streamed", [False, True])
def test_a_saved_default_predicts_and_goes_on_with_the_same_bits(streamed: bool, tmp_path: Path) -> None:
    X, y = data("one", (200,))
    u = np.concatenate([X, y], axis=1)
    begun = ESNRegressor(15, random_state=0)
    begun = begun.partial_fit(u[:149], u[1:150]) if streamed else begun.fit(u[:59], u[1:60])
    loaded = es.load(es.save(begun, tmp_path / "model.es"))
    assert loaded.columns is None
    assert loaded.columns_.inputs == begun.columns_.inputs == (13 if streamed else 3)
    np.testing.assert_array_equal(loaded.predict(u[150:], state=loaded.state_), begun.predict(u[150:], state=begun.state_))
    np.testing.assert_array_equal(loaded.forecast(20), begun.forecast(20))
    for one in (begun, loaded):
        one.partial_fit(u[150:-1], u[151:])
    np.testing.assert_array_equal(loaded.readout_.coef, begun.readout_.coef)
