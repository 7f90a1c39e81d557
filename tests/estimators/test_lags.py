"""`direct`: the last inputs beside the states, in one piece and in streams."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import echoscale as es
from echoscale import ESNClassifier, ESNRegressor

Array = npt.NDArray[Any]

WASHOUT = 10
KINDS = pytest.mark.parametrize("kind", ["one", "batch", "list"])
DIRECT = pytest.mark.parametrize("direct", [1, 2, 5])


def model(**options: Any) -> ESNRegressor:
    defaults: dict[str, Any] = {"units": 12, "random_state": 1, "washout": WASHOUT, "ridge": 0.1, "dtype": "float64"}
    return ESNRegressor(**{**defaults, "scale": None, **options})


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


def rows(esn: es.ESN, u: Array, direct: int) -> Array:
    """States, then u(t), u(t-1), ..., with 0 before the start."""
    lagged = [np.concatenate([np.zeros((lag, u.shape[1])), u[: len(u) - lag]]) for lag in range(direct)]
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
def test_the_readout_sees_the_last_inputs(kind: str, direct: int) -> None:
    X, y = data(kind)
    fitted = model(direct=direct).fit(X, y)
    features = [rows(fitted.esn_, u, direct) for u in each(X)]
    coef, intercept = least_squares(
        np.concatenate([x[WASHOUT:] for x in features]), np.concatenate([t[WASHOUT:] for t in each(y)]), 0.1
    )
    for x, guess in zip(features, each(fitted.predict(X)), strict=True):
        np.testing.assert_allclose(guess, x @ coef + intercept, rtol=0, atol=1e-9)


def test_true_is_one() -> None:
    X, y = data("one")
    np.testing.assert_array_equal(model(direct=True).fit(X, y).predict(X), model(direct=1).fit(X, y).predict(X))


@KINDS
@DIRECT
def test_states_carry_the_last_inputs(kind: str, direct: int) -> None:
    """The state is the network's, then the last direct - 1 inputs, newest first; pieces of any length chain to the whole."""
    X, y = data(kind)
    fitted = model(direct=direct).fit(X, y)
    last = fitted.state_ if kind == "one" else fitted.state_[0]
    assert last.shape == (12 + 2 * (direct - 1),)
    np.testing.assert_array_equal(last[12:], each(X)[0][:-direct:-1].ravel())
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
    chunked, whole = model(direct=4), model(direct=4).fit(X, y)
    for a, b in pairwise(ends):
        chunked.partial_fit(X[..., a:b, :], y[..., a:b, :])
    np.testing.assert_allclose(chunked.readout_.coef, whole.readout_.coef, rtol=0, atol=1e-9)
    np.testing.assert_allclose(chunked.state_, whole.state_, rtol=0, atol=1e-12)


def test_a_new_series_forgets_the_last_inputs() -> None:
    X, y = data("batch")
    whole, chunked = model(direct=3).fit(X, y), model(direct=3)
    for u, t in zip(X, y, strict=True):
        chunked.partial_fit(u, t, new_series=True)
    np.testing.assert_allclose(chunked.readout_.coef, whole.readout_.coef, rtol=0, atol=1e-9)


@pytest.mark.parametrize("state", [np.zeros(12), np.zeros(15), np.zeros((2, 16)), np.full(16, np.nan)])
def test_a_state_without_them_is_named(state: Array) -> None:
    X, y = data("one")
    with pytest.raises(ValueError, match=r"state must have shape \(16,\)|state must be finite"):
        model(direct=3).fit(X, y).predict(X, state=state)


@pytest.mark.parametrize("readout", ["ridge", "sigmoid"])
def test_labels_of_steps_see_them(readout: str) -> None:
    """A label that is the sign of the input three steps ago, and a network without memory."""
    rng = np.random.default_rng(0)
    u = rng.normal(size=(400, 1))
    labels = np.concatenate([np.zeros(3), u[:-3, 0] > 0]).astype(int)
    network = es.single(5, leak_rate=1.0, spectral_radius=0.0)
    options: dict[str, Any] = {"network": network, "readout": readout, "rate": 0.05, "random_state": 0}
    blind, seeing = (ESNClassifier(direct=direct, **options).fit(u, labels) for direct in (3, 4))
    assert blind.score(u, labels) < 0.7
    assert seeing.score(u, labels) > 0.9
    head, state = seeing.predict(u[:200], return_state=True)
    np.testing.assert_array_equal(np.concatenate([head, seeing.predict(u[200:], state=state)]), seeing.predict(u))
