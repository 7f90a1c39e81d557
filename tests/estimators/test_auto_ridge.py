"""`ridge="auto"`: chosen by folds with gaps, carried on in streams, exact where a Gram matrix would fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from flat import flat

import echoscale as es
from echoscale import ESNClassifier, ESNRegressor
from echoscale.readouts import exact, penalties, splits

Array = npt.NDArray[Any]


def model(**options: Any) -> ESNRegressor:
    """States alone, without a bias."""
    defaults: dict[str, Any] = {"units": 30, "spectral_radius": 0.95, "input_scaling": 0.5, "bias_scaling": 0.0}
    return flat(ESNRegressor, **{**defaults, "inputs": 0, "random_state": 0, "dtype": "float64", **options})


def series(length: int = 300, noise: float = 0.3, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    u = rng.normal(size=(length + 2, 1))
    return u[2:], u[1:-1, 0] * u[:-2, 0] + noise * rng.normal(size=length)


def unit(x: Array) -> float:
    return float((np.linalg.svd(x - x.mean(axis=0), compute_uv=False) ** 2).mean())


def solved(x: Array, y: Array, ridge: float) -> tuple[Array, float]:
    below = np.sqrt(ridge) * np.eye(x.shape[1])
    rows, right = np.concatenate([x - x.mean(axis=0), below]), np.concatenate([y - y.mean(), np.zeros(len(below))])
    coef = np.linalg.lstsq(rows, right, rcond=None)[0]
    return coef, float(y.mean() - x.mean(axis=0) @ coef)


def curve_by_hand(x: Array, y: Array, blocks: list[slice], relative: Array) -> Array:
    """Root mean squared error of held-out blocks, in standard deviations of the targets."""
    inside = np.concatenate([np.arange(len(x))[block] for block in blocks])
    errors = []
    for r in relative:
        squares = 0.0
        for block in blocks:
            train = np.setdiff1d(inside, np.arange(len(x))[block])
            coef, intercept = solved(x[train], y[train], r * unit(x[train]))
            squares += ((x[block] @ coef + intercept - y[block]) ** 2).sum()
        errors.append(np.sqrt(squares / len(inside) / y[inside].var()))
    return np.array(errors)


def test_the_default_is_the_best_of_the_path_over_five_blocks_of_time() -> None:
    X, y = series()
    fitted = model(washout=50, bias_scaling=0.5).fit(X, y)
    curve = fitted.ridge_curve_
    assert curve is not None
    x = fitted.esn_.run((X - X.mean(axis=0)) / X.std(axis=0))[50:]
    # Blocks of 50 steps; a twentieth of that, 2, between them.
    blocks = [slice(0, 49), slice(51, 99), slice(101, 149), slice(151, 199), slice(201, 250)]
    expected = curve_by_hand(x, y[50:], blocks, curve.relative)
    seen = curve.relative > 1e-9  # below, the Gram matrix has lost digits
    np.testing.assert_allclose(curve.errors[seen], expected[seen], rtol=1e-5)
    assert curve.unit == pytest.approx(unit(x))
    assert curve.place == np.flatnonzero(expected <= 1.01 * expected.min())[-1], "the largest of those that count as equal"
    assert 0 < curve.place < len(curve.relative) - 1
    assert fitted.ridge_ == curve.ridge
    coef, intercept = solved(x, y[50:], fitted.ridge_)
    from_zero = fitted.predict(X, state=np.zeros_like(fitted.state_))
    np.testing.assert_allclose(from_zero[50:], x @ coef + intercept, rtol=0, atol=1e-8)


def test_noise_asks_for_more() -> None:
    quiet, loud = (model(washout=50, bias_scaling=0.5).fit(*series(noise=noise)).ridge_ for noise in (0.001, 3.0))
    assert loud > 100 * quiet


@pytest.mark.parametrize(("length", "expected"), [(30, 5), (22, 5), (19, 4), (14, 3), (8, 2), (7, 0), (3, 0)])
def test_short_data_have_fewer_folds_or_a_fixed_penalty(length: int, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the steps after the washout (a tenth), four a fold; with fewer than eight the relative penalty is 1e-4."""
    seen: list[int] = []
    original = splits.pairs

    def watched(parts: Any, held_out: Any) -> Any:
        seen.append(len(held_out))
        return original(parts, held_out)

    monkeypatch.setattr(splits, "pairs", watched)
    X, y = series(length)
    fitted = model().fit(X, y)
    assert seen == [expected]
    if not expected:
        assert fitted.ridge_curve_ is None
        assert fitted.ridge_ == pytest.approx(1e-4 * fitted.statistics_.unit)
    assert np.isfinite(fitted.predict(X)).all()


def test_the_choice_of_a_stream_is_that_of_its_chunks() -> None:
    """Chunk i is in fold i mod 5; nothing is chosen before the second."""
    X, y = series(400)
    stream = model(washout=0)
    for k in range(8):
        chunk = slice(50 * k, 50 * (k + 1))
        stream.partial_fit(X[chunk], y[chunk])
        if k == 0:
            assert stream.ridge_curve_ is None
            assert stream.ridge_ == pytest.approx(1e-4 * stream.statistics_.unit)
    x = stream.esn_.run(stream.scaling_.forward(X))
    curve = stream.ridge_curve_
    assert curve is not None
    errors = []
    for r in curve.relative:
        squares = 0.0
        for k in range(5):
            held_out = np.arange(400) // 50 % 5 == k
            coef, intercept = solved(x[~held_out], y[~held_out], r * unit(x[~held_out]))
            squares += ((x[held_out] @ coef + intercept - y[held_out]) ** 2).sum()
        errors.append(np.sqrt(squares / 400 / y.var()))
    seen = curve.relative > 1e-9
    np.testing.assert_allclose(curve.errors[seen], np.array(errors)[seen], rtol=1e-5)
    assert stream.ridge_ == curve.ridge


def test_a_stream_after_a_fit_keeps_its_relative_penalty() -> None:
    X, y = series(400)
    fitted = model(washout=0).fit(X[:200], y[:200])
    assert fitted.ridge_curve_ is not None
    relative = fitted.ridge_curve_.relative[fitted.ridge_curve_.place]
    fitted.partial_fit(X[200:], y[200:])
    assert fitted.ridge_ == pytest.approx(relative * fitted.statistics_.unit, rel=1e-12)


def test_a_saved_stream_goes_on_with_its_folds(tmp_path: Path) -> None:
    X, y = series(400)
    stream = model(washout=0)
    for k in range(3):
        stream.partial_fit(X[50 * k : 50 * (k + 1)], y[50 * k : 50 * (k + 1)])
    loaded = es.load(es.save(stream, tmp_path / "stream.es"))
    for each in (stream, loaded):
        each.partial_fit(X[150:], y[150:])
    assert loaded.ridge_ == stream.ridge_
    np.testing.assert_array_equal(loaded.readout_.coef, stream.readout_.coef)


def sequences(count: int = 40) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    labels = np.arange(count) % 3
    return rng.normal(size=(count, 20, 1)) + 0.5 * labels[:, None, None], labels


def test_sequences_are_folds_of_whole_sequences() -> None:
    """Dealt out class by class; a stream ends where one fit of all of them does."""
    X, labels = sequences()
    pools = es.readouts.Pools("last", changes=False, ranks=False)
    options: dict[str, Any] = {"random_state": 0, "dtype": "float64", "pools": pools}
    fitted = ESNClassifier(20, input_scaling=1.0, **options).fit(X, labels)
    x = fitted.esn_.run((X - X.mean()) / X.std())[:, -1]
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    curve = fitted.ridge_curve_
    assert curve is not None
    codes = (labels[:, None] == np.arange(3)).astype(float)
    order = np.argsort(labels, kind="stable")
    fold = np.empty(40, int)
    fold[order] = np.arange(40) % 5
    errors = np.zeros(len(curve.relative))
    for place, r in enumerate(curve.relative):
        for k in range(5):
            train = fold != k
            for c in range(3):
                coef, intercept = solved(x[train], codes[train, c], r * unit(x[train]))
                errors[place] += ((x[~train] @ coef + intercept - codes[~train, c]) ** 2).sum() / 40 / codes[:, c].var() / 3
    seen = curve.relative > 1e-9
    np.testing.assert_allclose(curve.errors[seen], np.sqrt(errors[seen]), rtol=1e-5)
    assert fitted.ridge_ == curve.ridge
    whole = ESNClassifier(20, input_scaling=1.0, scale=None, **options).fit(X, labels)
    stream = ESNClassifier(20, input_scaling=1.0, scale=None, **options)
    for group in np.split(np.arange(40), [7, 8, 20]):
        stream.partial_fit(X[group], labels[group], classes=[0, 1, 2])
    assert stream.ridge_ == pytest.approx(whole.ridge_, rel=1e-9)
    np.testing.assert_allclose(stream.readout_.coef, whole.readout_.coef, rtol=1e-7)


@pytest.mark.parametrize("count", [4, 5, 7])
def test_fewer_sequences_than_folds(count: int) -> None:
    X, labels = sequences(count)
    fitted = ESNClassifier(20, random_state=0).fit(X, labels)
    assert fitted.ridge_curve_ is not None
    assert np.isfinite(fitted.decision_function(X)).all()
    with pytest.raises(ValueError, match="one class only"):
        ESNClassifier(20).fit(X[:1], labels[:1])


def test_trained_readouts_have_a_fixed_penalty() -> None:
    X, labels = sequences()
    fitted = ESNClassifier(20, random_state=0, readout=es.readouts.Softmax(epochs=2)).fit(X, labels)
    assert fitted.ridge_ == 1e-5
    assert fitted.ridge_curve_ is None


def sines(count: int, length: int = 801) -> Array:
    """Superposed sines, each of them alone as in the literature (MSO)."""
    frequencies = [0.2, 0.311, 0.42, 0.51, 0.63, 0.74, 0.85, 0.97][:count]
    return np.asarray(np.sin(np.arange(length)[:, None] * frequencies).sum(axis=1, keepdims=True))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_eight_sines_are_solved_exactly(dtype: str) -> None:
    """400 steps to learn from; lags are float64 whatever the states are, in open and in closed loop.

    A Gram matrix ends near 1e-4; its choice of the smallest penalty calls for more digits.
    """
    u = sines(8)
    options: dict[str, Any] = {"units": 100, "inputs": 20, "washout": 100, "dtype": dtype}
    fitted = model(**options).fit(u[:500], u[1:501])
    curve = fitted.ridge_curve_
    assert curve is not None
    assert curve.relative[curve.place] < penalties.RELATIVE[0]
    unit_of = float(fitted.statistics_.unit)
    gram = model(**options, ridge=(penalties.RELATIVE * unit_of).tolist()).fit(u[:500], u[1:501])
    truth = u[501:801]
    errors = [es.nrmse(truth, each.predict(u[500:800], state=each.state_)) for each in (fitted, gram)]
    assert errors[0] < 1e-9
    assert errors[0] < 1e-4 * errors[1]
    assert es.nrmse(truth, fitted.forecast(300)) < 1e-5


def test_a_penalty_below_rounding_is_solved_exactly() -> None:
    """Given by the user: the solution is that of least squares on the rows."""
    u = sines(3)
    fitted = model(units=60, washout=100, ridge=0.0).fit(u[:500], u[1:501])
    x = fitted.esn_.run(fitted.scaling_.forward(u[:500]))[100:]
    truth = u[101:501, 0]
    centred = x - x.mean(axis=0)
    coef = np.linalg.lstsq(centred, truth - truth.mean(), rcond=np.finfo(float).eps * 60)[0]
    np.testing.assert_allclose(fitted.predict(u[:500])[100:, 0], centred @ coef + truth.mean(), rtol=0, atol=1e-11)


def test_rows_that_do_not_fit_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "MOST_BYTES", 1000)
    monkeypatch.setattr(exact, "factor", None)
    u = sines(8)
    fitted = model(inputs=20, washout=100).fit(u[:500], u[1:501])
    assert fitted.ridge_curve_ is not None
    np.testing.assert_array_equal(fitted.ridge_curve_.relative, penalties.RELATIVE)
