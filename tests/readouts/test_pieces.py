"""Stored data give what the same data give in memory: statistics, fits, predictions and features, in turn or spread."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import echoscale as es
from echoscale.data import scaling, stored
from echoscale.readouts import features, pieces

da = pytest.importorskip("dask.array")

RNG = np.random.default_rng(0)
U = RNG.normal(size=(1500, 2)) * [1.0, 3.0] + [5.0, 0.0]
Y = np.column_stack([np.roll(U[:, 0], 2), U[:, 1] ** 2]) + 0.1 * RNG.normal(size=(1500, 2))
BATCH = RNG.normal(size=(6, 120, 2))
SETTINGS: dict[str, Any] = {"units": 15, "leak_rate": 0.5, "input_scaling": 0.3, "dtype": "float64", "random_state": 0}


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "BLOCK_BYTES", 4096)
    monkeypatch.setattr(stored, "RUN_BYTES", 2048)
    for module in (pieces, scaling):
        monkeypatch.setattr(module, "PIECE_BYTES", 1 << 13)


@pytest.fixture(scope="module")
def esn() -> es.ESN:
    return es.hierarchical([8, 6], leak_rate=[1.0, 0.5]).build(n_inputs=2, seed=0, dtype="float64")


def chunked(values: Any) -> Any:
    """A Dask array whose chunks are ragged in time."""
    time = values.ndim - 2
    cuts = (50, 7, values.shape[time] - 57)
    return da.from_array(values, chunks=tuple(cuts if axis == time else 2 for axis in range(values.ndim)))


def same(one: es.readouts.Statistics, other: es.readouts.Statistics, rtol: float = 1e-11) -> None:
    np.testing.assert_array_equal(one.count, other.count)
    np.testing.assert_allclose(one.mean, other.mean, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(one.scatter, other.scatter, rtol=rtol, atol=rtol * abs(other.scatter).max())


@pytest.mark.parametrize("form", ["one", "batch", "list"])
def test_statistics_in_pieces(esn: es.ESN, form: str) -> None:
    forms: dict[str, Any] = {
        "one": (U, Y),
        "batch": (BATCH, BATCH[..., 0]),
        "list": ([U[:300], U[300:400]], [Y[:300], Y[300:400]]),
    }
    u, y = forms[form]
    given = [chunked(each) for each in u] if form == "list" else chunked(u)
    state = RNG.normal(size=() if form == "one" else (len(u), 1)) + np.zeros(esn.units)
    hyper = es.Hyper.of(esn.network)
    lanes = hyper._replace(spectral_radius=tuple(np.array([0.5, 0.9]) for _ in hyper.spectral_radius))
    for options in ({}, {"direct": True, "washout": 60}, {"state": state, "washout": 0}, {"hyper": lanes}):
        same(es.readouts.statistics(esn, given, y, **options), es.readouts.statistics(esn, u, y, **options))


@pytest.mark.parametrize("given", [BATCH, chunked(BATCH), list(BATCH), [chunked(each) for each in BATCH]])
def test_series_over_workers_are_those_of_one_run(esn: es.ESN, given: Any) -> None:
    expected = es.readouts.statistics(esn, BATCH, BATCH[..., 0])
    y = list(BATCH[..., 0]) if isinstance(given, list) else BATCH[..., 0]
    with ThreadPoolExecutor(2) as executor:
        same(es.readouts.statistics(esn, given, y, executor=executor), expected)


def test_pieces_of_a_long_series_forget_their_start(esn: es.ESN) -> None:
    with ThreadPoolExecutor(2) as executor:
        for given in (U, chunked(U)):
            near = es.readouts.statistics(esn, given, Y, washout=200, executor=executor)
            same(near, es.readouts.statistics(esn, U, Y, washout=200))
        rough = es.readouts.statistics(esn, U, Y, washout=5, executor=executor)
    whole = es.readouts.statistics(esn, U, Y, washout=5)
    assert rough.count == whole.count
    assert 1e-6 < abs(rough.scatter - whole.scatter).max() / abs(whole.scatter).max() < 1e-1, "five steps are too few"


@pytest.mark.parametrize("spread", [False, True])
def test_a_fit_is_that_of_data_in_memory(spread: bool) -> None:
    y = Y.copy()
    y[100:130, 0] = np.nan
    y[-1] = np.nan
    model = es.ESNRegressor(**{**SETTINGS, "leak_rate": None}, washout=200)
    expected = es.ESNRegressor(**{**SETTINGS, "leak_rate": None}, washout=200).fit(U, y)
    with ThreadPoolExecutor(2) as executor:
        model.fit(chunked(U), chunked(y), executor=executor if spread else None)
    assert model.candidates_ is not None
    assert expected.candidates_ is not None
    assert str(model.candidates_.chosen) == str(expected.candidates_.chosen)
    np.testing.assert_allclose(model.ridge_, expected.ridge_, rtol=1e-10)
    np.testing.assert_allclose(model.readout_.coef, expected.readout_.coef, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(model.state_, expected.state_, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model.last_target_, expected.last_target_)
    assert model.no_forecast_ == expected.no_forecast_
    np.testing.assert_allclose(model.score(chunked(U), chunked(y)), expected.score(U, y), rtol=1e-9)


@pytest.mark.parametrize(
    "options",
    [
        {"difference": "last", "noise": 1e-2},
        {"network": es.single(15, leak_rate=0.5, feedback_scaling=0.2), "units": 100, "leak_rate": None, "input_scaling": None},
        {"scale": None, "columns": es.readouts.Columns(3, squares=True), "ridge": 1e-3},
    ],
)
def test_options_of_a_fit(options: dict[str, Any]) -> None:
    expected = es.ESNRegressor(**{**SETTINGS, **options}).fit(U, Y)
    model = es.ESNRegressor(**{**SETTINGS, **options}).fit(chunked(U), Y)
    np.testing.assert_allclose(model.readout_.coef, expected.readout_.coef, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(model.state_, expected.state_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("form", ["one", "batch", "list"])
def test_predictions_in_pieces(form: str) -> None:
    model = es.ESNRegressor(**SETTINGS).fit(U, Y[:, 0])
    u: Any = {"one": U[:400], "batch": BATCH, "list": [U[:300], U[300:400]]}[form]
    expected, last = model.predict(u, return_state=True)
    found, end = model.predict([chunked(each) for each in u] if form == "list" else chunked(u), return_state=True)
    np.testing.assert_allclose(end, last, rtol=1e-9, atol=1e-12)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_features_of_stored_sequences(tmp_path: Path) -> None:
    small = es.single(10).build(n_inputs=2, seed=0)
    expected = features.compute(small, BATCH, 30, path=tmp_path / "f.npy")
    before = (tmp_path / "f.npy").stat().st_mtime_ns
    found = features.compute(small, chunked(BATCH), 30, path=tmp_path / "f.npy")
    np.testing.assert_array_equal(found.array, expected.array)
    assert (tmp_path / "f.npy").stat().st_mtime_ns == before, "the same inputs have the same fingerprint"
    np.testing.assert_array_equal(features.compute(small, chunked(BATCH), 30).array, expected.array)


def test_what_is_refused(esn: es.ESN) -> None:
    model = es.ESNRegressor(**SETTINGS).fit(U, Y)
    kept = dict(vars(model))
    bad = U.copy()
    bad[1400, 0] = np.nan
    with pytest.raises(ValueError, match=r"X\[57:1500\] must be finite, found NaN at step 1343, feature 0"):
        model.fit(chunked(bad), Y)
    with pytest.raises(ValueError, match=r"X must be .* time before features, but it has 1500 features and 2 steps"):
        model.fit(da.from_array(U.T), Y)
    with pytest.raises(ValueError, match="leaves 1 step with a target after washout=10"):
        model.set_params(washout=10).fit(da.from_array(U[:11]), Y[:11])
    with pytest.raises(TypeError, match=r"executor must be an Executor of concurrent.futures, got 4"):
        model.set_params(washout=None).fit(U, Y, executor=4)
    assert vars(model).keys() == kept.keys()
    assert model.readout_ is kept["readout_"]
    with (
        ThreadPoolExecutor(1) as executor,
        pytest.raises(ValueError, match="with an executor every piece starts from the zero state"),
    ):
        es.readouts.statistics(esn, U, Y, state=np.zeros(esn.units), executor=executor)


def test_memory_is_that_of_pieces() -> None:
    script = """
import tracemalloc
import dask.array as da
import echoscale as es
rng = da.random.default_rng(0)
u = rng.random((1_000_000, 40), chunks=(20_000, 40))
y = u[:, :1] + rng.random((1_000_000, 1), chunks=(20_000, 1))  # with noise: no exact solution, which needs all rows
model = es.ESNRegressor(3, 0.5, 0.5, 0.1, columns=es.readouts.Columns(1), random_state=0)
tracemalloc.start()
model.fit(u, y)
peak = tracemalloc.get_traced_memory()[1]
assert model.statistics_.count == 999_900
assert u.nbytes == 320_000_000
assert peak < 120_000_000, peak
"""
    subprocess.run([sys.executable, "-c", script], check=True)
