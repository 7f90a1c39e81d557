"""`Forecaster` from outside: forms, inputs, panels, streams, files, backtests."""

from __future__ import annotations

import pickle
import subprocess
import sys
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from sklearn.base import clone

import echoscale as es
from echoscale.forecasting.data import Data
from echoscale.forecasting.readers import BLOCK, Reader


def monthly(count: int = 96, seed: int = 0) -> pd.Series:
    t, noise = np.arange(count), np.random.default_rng(seed).normal(size=count)
    index = pd.date_range("2015-01-01", periods=count, freq="MS", name="month")
    return pd.Series(200 + t + 20 * np.sin(2 * np.pi * t / 12) + noise, index=index, name="sales")


def quick(**options: Any) -> es.Forecaster:
    return es.Forecaster(**{"horizon": 6, "networks": False, **options})


@pytest.fixture(scope="module")
def fitted() -> es.Forecaster:
    return quick().fit(monthly())


# ------------------------------------------------------------------------------------------------------------------ forms


def test_series_comes_back_with_its_index_and_name(fitted: es.Forecaster) -> None:
    forecast = fitted.predict(6)
    expected = pd.date_range("2023-01-01", periods=6, freq="MS", name="month")
    for each in (forecast.mean, forecast.lower(80), forecast.upper(95)):
        pd.testing.assert_index_equal(each.index, expected)
        assert each.name == "sales"
        assert each.index.freqstr == "MS"
    assert list(forecast.frame()) == ["forecast", "lower 80", "upper 80", "lower 95", "upper 95"]
    t = np.arange(96, 102)
    assert np.abs(forecast.mean - (200 + t + 20 * np.sin(2 * np.pi * t / 12))).max() < 3


def test_every_form_gives_the_same_numbers(fitted: es.Forecaster) -> None:
    y = monthly()
    expected = np.asarray(fitted.predict(6))
    array = quick().fit(y.to_numpy()).predict(6).mean
    assert isinstance(array, np.ndarray)
    np.testing.assert_array_equal(array, expected)
    period = quick().fit(y.to_period("M")).predict(6).mean
    assert str(period.index[0]) == "2023-01"
    np.testing.assert_array_equal(period, expected)
    data = quick().fit(xr.DataArray(y, dims="month", coords={"month": y.index.to_numpy()}, name="sales")).predict(6).mean
    assert data.dims == ("month",)
    assert data["month"].values[0] == np.datetime64("2023-01-01")
    np.testing.assert_array_equal(data.values, expected)
    zoned = quick().fit(y.tz_localize("Europe/Vienna")).predict(6).mean
    assert str(zoned.index.tz) == "Europe/Vienna"
    np.testing.assert_array_equal(zoned, expected)


def test_columns_are_separate_series() -> None:
    table = pd.DataFrame({"a": monthly(), "b": 3 * monthly(seed=1) + 7})
    forecast = quick().fit(table).predict(4)
    assert list(forecast.mean) == ["a", "b"]
    np.testing.assert_allclose(forecast.mean["b"], quick().fit(table["b"]).predict(4).mean)
    pd.testing.assert_index_equal(forecast.mean.index, pd.date_range("2023-01-01", periods=4, freq="MS", name="month"))
    assert forecast.frame()["a"]["upper 80"].shape == (4,)


@pytest.mark.parametrize("panel", ["each", "all"])
def test_panels_of_unequal_length(panel: str) -> None:
    several = {"a": monthly(96), "b": 5 * monthly(80, 1), "c": monthly(70, 2)}
    forecast = quick(panel=panel).fit(several).predict(3)
    assert list(forecast.mean) == ["a", "b", "c"]
    assert forecast.mean["c"].index[0] == pd.Timestamp("2020-11-01")
    for name, y in several.items():
        assert np.abs(forecast.mean[name] - y.iloc[-12:-9].to_numpy()).max() < 0.15 * y.mean()


def test_fits_of_many_series_tell_how_far_they_are_and_can_be_interrupted(fitted: es.Forecaster) -> None:
    seen, model = [], deepcopy(fitted)
    quick().fit(np.stack([monthly()] * 3, axis=1), progress=lambda *each: seen.append(each))
    assert seen == [(1, 3, ""), (2, 3, ""), (3, 3, "")]

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.fit(np.stack([monthly()] * 3, axis=1), progress=interrupt)
    pd.testing.assert_frame_equal(model.predict(6).frame(), fitted.predict(6).frame())


def test_units_of_the_data_do_not_matter() -> None:
    y = monthly().to_numpy()
    one, other = (quick(log=False).fit(each).predict(6) for each in (y, 1e6 * y + 1e7))
    np.testing.assert_allclose(other.mean, 1e6 * one.mean + 1e7, rtol=1e-6)
    np.testing.assert_allclose(other.upper(80) - other.mean, 1e6 * (one.upper(80) - one.mean), rtol=1e-3)


# ----------------------------------------------------------------------------------------------------------------- inputs


def test_known_inputs_are_used_and_inputs_of_the_past_too() -> None:
    rng = np.random.default_rng(0)
    known, leading = rng.normal(size=306), rng.normal(size=306)
    y = 2 * known[:300] + np.concatenate([[0.0], 0.5 * leading[:299]]) + 0.01 * rng.normal(size=300)
    X = pd.DataFrame({"known": known[:300], "leading": leading[:300]})
    model = quick(past=["leading"], season=None, difference="none", mode="direct").fit(pd.Series(y), X)
    future = pd.DataFrame({"known": known[300:]}, index=range(300, 306))
    found = model.predict(6, future).mean.to_numpy()
    expected = 2 * known[300:] + np.array([0.5 * leading[299], 0, 0, 0, 0, 0])
    assert abs(found[0] - expected[0]) < 0.1
    assert np.abs(found[1:] - expected[1:]).max() < 0.4  # a coefficient knows 0.5 / sqrt(300)
    wrong = quick(past=["leading"], season=None, difference="none", mode="direct").fit(pd.Series(y), X)
    assert np.abs(wrong.predict(6, -future).mean.to_numpy() - expected).max() > 2


def test_any_column_of_an_array_may_be_known_up_to_now_only() -> None:
    rng = np.random.default_rng(1)
    y, X = rng.normal(size=60).cumsum(), rng.normal(size=(63, 3))
    found = quick(past=[0]).fit(y, X[:60]).predict(3, X[60:, 1:])
    named = quick(past=["0"]).fit(pd.Series(y), pd.DataFrame(X[:60], columns=["0", "1", "2"]))
    expected = named.predict(3, pd.DataFrame(X[60:, 1:], index=range(60, 63), columns=["1", "2"]))
    np.testing.assert_array_equal(found.mean, expected.mean)
    with pytest.raises(ValueError, match=r"give only \['1', '2'\], whose future is known"):
        quick(past=[0]).fit(y, X[:60]).predict(3, X[60:])


# ---------------------------------------------------------------------------------------------------------------- seasons


def two_seasons(count: int, seed: int = 0) -> np.ndarray:
    """A pattern of 4 steps, and one of 28 that a season of 4 does not see."""
    rng = np.random.default_rng(seed)
    short, long = rng.normal(size=4), np.repeat(rng.normal(size=7), 4)
    t = np.arange(count)
    return 2 * short[t % 4] + 3 * long[t % 28] + 0.3 * rng.normal(size=count)


def test_a_calendar_proposes_and_errors_choose() -> None:
    y = two_seasons(28 * 12 + 8)
    dates = pd.date_range("2024-01-01", periods=len(y), freq="6h")  # four steps a day, 28 a week
    model = quick(horizon=8).fit(pd.Series(y[:-8], index=dates[:-8]))
    assert model.season_ in (28, (4, 28))
    day = quick(horizon=8, season=4).fit(y[:-8])
    errors = [np.abs(np.asarray(each.predict(8)) - y[-8:]).mean() for each in (model, day)]
    assert errors[0] < 0.75 * errors[1]


@pytest.mark.parametrize("frequency", ["6h", "D"])
def test_a_wrong_calendar_does_no_harm(frequency: str) -> None:
    """The series has another season than its dates have, or none."""
    rng = np.random.default_rng(2)
    for y in (np.resize(rng.normal(size=9), 180) + 0.3 * rng.normal(size=180), rng.normal(size=180).cumsum()):
        dated = pd.Series(y, index=pd.date_range("2024-01-01", periods=180, freq=frequency))
        found, expected = (np.asarray(quick().fit(each).predict(6)) for each in (dated, y))
        assert np.abs(found - expected).mean() < 0.2


def test_several_seasons_by_hand_are_saved_and_updated(tmp_path: Path) -> None:
    y = two_seasons(28 * 8 + 10)
    model = quick(season=[28, 4], networks=True, horizon=5).fit(y[:-10])
    assert model.season_ == (4, 28)
    kept = es.load(es.save(model, tmp_path / "f.safetensors"))
    assert kept.season_ == (4, 28)
    for each in (model, kept):
        each.update(y[-10:-5])
    np.testing.assert_array_equal(np.asarray(kept.predict(5)), np.asarray(model.predict(5)))
    assert np.abs(np.asarray(model.predict(5)) - y[-5:]).mean() < 1
    assert quick(season=[28, 4], horizon=5).fit({"a": y, "b": y[5:]}).season_ == [(4, 28), (4, 28)]
    assert quick(season=(1,)).fit(y).season_ is None


def test_gaps_are_skipped() -> None:
    y = monthly(120)
    y.iloc[[17, 50, 51, 90]] = np.nan
    whole = monthly(126).iloc[120:]
    forecast = quick().fit(y).predict(6)
    assert np.abs(forecast.mean - whole).max() < 8
    assert np.isfinite(forecast.frame().to_numpy()).all()


# ---------------------------------------------------------------------------------------------------------------- streams


@pytest.fixture(scope="module")
def long_series() -> np.ndarray:
    rng = np.random.default_rng(3)
    y = np.zeros(260)
    for t in range(2, 260):
        y[t] = 1.5 * y[t - 1] - 0.8 * y[t - 2] + np.tanh(y[t - 2]) + rng.normal()
    return y


@pytest.fixture(scope="module")
def with_network(long_series: np.ndarray) -> es.Forecaster:
    model = es.Forecaster(4).fit(long_series[:220])
    assert any(isinstance(part.method, Reader) and part.method.net is not None for part in model._cores[0].parts)
    return model


def test_single_updates_equal_one_and_equal_statistics_of_all(
    with_network: es.Forecaster, long_series: np.ndarray, tmp_path: Path
) -> None:
    path = es.save(with_network, tmp_path / "f.safetensors")
    one, many = es.load(path), es.load(path)
    one.update(long_series[220:])
    for value in long_series[220:]:
        many.update([value])
    np.testing.assert_allclose(np.asarray(many.predict(4)), np.asarray(one.predict(4)), rtol=1e-8)
    # The same choices fitted to all data at once.
    from echoscale.forecasting import networks
    from echoscale.forecasting.rows import Origins, statistics

    [core] = one._cores
    for part in core.parts:
        reader = part.method
        if not isinstance(reader, Reader):
            continue
        line, recipe = core.views[part.view].lines[0], reader.recipe
        states = None if reader.net is None else networks.states([reader.net], recipe, line)[0]
        [whole] = statistics([Origins(recipe, line, states)], [np.array([0, 260])], reader.horizons)
        np.testing.assert_allclose(reader.statistics.count, whole.count)
        np.testing.assert_allclose(reader.statistics.scatter, whole.scatter, rtol=1e-7, atol=1e-7)


def test_saved_forecasters_go_on_in_another_process(
    with_network: es.Forecaster, long_series: np.ndarray, tmp_path: Path
) -> None:
    path = es.save(with_network, tmp_path / "f.safetensors")
    script = (
        "import sys, numpy as np, echoscale as es\n"
        f"model = es.load({str(path)!r})\n"
        f"model.update(np.load({str(tmp_path / 'more.npy')!r}))\n"
        f"np.save({str(tmp_path / 'found.npy')!r}, model.predict(4).frame().to_numpy())\n"
    )
    np.save(tmp_path / "more.npy", long_series[220:230])
    subprocess.run([sys.executable, "-c", script], check=True)
    again = es.load(path).update(long_series[220:230])
    np.testing.assert_array_equal(again.predict(4).frame().to_numpy(), np.load(tmp_path / "found.npy"))


def test_saved_forecasters_are_small(long_series: np.ndarray, tmp_path: Path) -> None:
    """At most 300 bytes a row: a readout for every horizon, and no statistics of its many features."""
    model = es.Forecaster(12, mode="direct", difference="last").fit(long_series[:220])
    assert any(isinstance(part.method, Reader) and part.method.net is not None for part in model._cores[0].parts)
    assert es.save(model, tmp_path / "f.safetensors").stat().st_size < 300 * 220


@pytest.mark.parametrize("panel", [False, True])
def test_updates_after_loading_are_those_without_saving(panel: bool, with_network: es.Forecaster, tmp_path: Path) -> None:
    """Bit for bit, whatever the sizes of the updates: within a block, up to its end, over several."""
    rng = np.random.default_rng(4)
    if panel:
        y = {"a": rng.normal(size=60).cumsum(), "b": rng.normal(size=70).cumsum()}
        kept = quick(panel="all", past=[0]).fit(y, {name: np.roll(each, 1)[:, None] for name, each in y.items()})
    else:
        kept = deepcopy(with_network)
    loaded = pieces = es.load(es.save(kept, tmp_path / "f.safetensors"))
    everything = deepcopy(loaded)
    updates = [rng.normal(size=count) for count in (1, 3, BLOCK - 4, 1, 2 * BLOCK + 5, 2)]

    def update(model: es.Forecaster, more: np.ndarray) -> None:
        if panel:  # one series runs ahead of the other
            y = {"a": more, "b": more[: (len(more) + 1) // 2]}
            model.update(y, {name: 2 * each[:, None] for name, each in y.items()})
        else:
            model.update(more)

    for more in updates:
        again = es.load(es.save(pieces, tmp_path / "f.safetensors"))
        for model in (kept, loaded, again):
            update(model, more)
        pieces = again
        for model in (loaded, again):
            np.testing.assert_array_equal(model.predict(4).frame().to_numpy(), kept.predict(4).frame().to_numpy())
    if not panel:
        update(everything, np.concatenate(updates))
        np.testing.assert_array_equal(everything.predict(4).frame().to_numpy(), kept.predict(4).frame().to_numpy())


def test_saved_dates_and_inputs(tmp_path: Path) -> None:
    y, X = monthly(), pd.DataFrame({"x": np.arange(96.0)}, index=monthly().index)
    model = quick().fit(y, X)
    future = pd.DataFrame({"x": np.arange(96.0, 99.0)}, index=pd.date_range("2023-01-01", periods=3, freq="MS"))
    again = es.load(es.save(model, tmp_path / "f.safetensors"))
    pd.testing.assert_frame_equal(again.predict(3, future).frame(), model.predict(3, future).frame())


def test_the_same_seed_gives_the_same_forecasts(with_network: es.Forecaster, long_series: np.ndarray) -> None:
    again = es.Forecaster(4).fit(long_series[:220])
    np.testing.assert_array_equal(np.asarray(again.predict(4)), np.asarray(with_network.predict(4)))


# -------------------------------------------------------------------------------------------------------------- backtests


def test_backtest_is_fitting_to_what_was_known(fitted: es.Forecaster) -> None:
    y = monthly()
    found = fitted.backtest(6, 2)
    for k, end in enumerate((84, 90)):
        by_hand = quick().fit(y.iloc[:end]).predict(6)
        np.testing.assert_allclose(found.forecasts[k].means[0], by_hand.mean, rtol=1e-9)
        np.testing.assert_array_equal(found.truths[k][0], y.iloc[end : end + 6])
    errors = [np.abs(t[0] - f.means[0]) for t, f in zip(found.truths, found.forecasts, strict=True)]
    scales = [np.abs(y.to_numpy()[12:end] - y.to_numpy()[: end - 12]).mean() for end in (84, 90)]
    assert found.mase() == pytest.approx(np.mean([e / s for e, s in zip(errors, scales, strict=True)]))
    inside = [
        (t[0] >= f.bounds[80][0][0]) & (t[0] <= f.bounds[80][0][1]) for t, f in zip(found.truths, found.forecasts, strict=True)
    ]
    assert found.coverage(80) == pytest.approx(np.mean(inside))
    assert "MASE" in repr(found)
    assert found.plot().lines


def later(y: np.ndarray, X: np.ndarray, now: int, ahead: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Other data from an origin on; inputs whose future is known differ after the last forecast step only."""
    found = {}
    for name, column, first, value in (
        ("y below 0, without a season", None, now, -1e3),
        ("gaps in y", None, now, np.nan),
        ("known input", 0, ahead, 1e6),
        ("known input that was constant", 2, ahead, 5.0),
        ("past input", 1, now, 1e6),
        ("past input ends", 1, now, np.nan),
    ):
        found[name] = y.copy(), X.copy()
        if column is None:
            found[name][0][first:] = value
        else:
            found[name][1][first:, column] = value
    found["all"] = found["gaps in y"][0], np.where(np.arange(len(X))[:, None] >= [ahead, now, ahead], 1e6, X)
    return found


@pytest.mark.parametrize(
    ("options", "changes"),
    [
        ({}, None),
        ({"panel": "all", "season": None}, None),
        ({"networks": True, "mode": "direct", "difference": "last"}, ["all"]),
    ],
    ids=["each", "panel", "networks"],
)
def test_backtest_knows_nothing_from_after_its_origin(options: dict[str, Any], changes: list[str] | None) -> None:
    rng = np.random.default_rng(5)
    count, horizon = 172 if "networks" in options else 72, 4
    X = np.column_stack([rng.normal(size=(count, 2)).cumsum(axis=0), np.ones(count)])
    y = (40 + 3 * X[:, 0] + np.roll(X[:, 1], 1) + 5 * np.sin(2 * np.pi * np.arange(count) / 4))[:, None]
    y = y + rng.normal(size=(count, 2 if "panel" in options else 1))

    def first_origin(y: np.ndarray, X: np.ndarray) -> bytes:
        found = quick(horizon=horizon, past=[1], **options).fit(y, X).backtest(horizon, 2)
        bounds = [each for level in found.levels for each in found.forecasts[0].bounds[level]]
        return np.concatenate([np.ravel(each) for each in (*found.forecasts[0].means, *bounds, found.scales[0])]).tobytes()

    before, others = first_origin(y, X), later(y, X, count - 2 * horizon, count - horizon)
    for change in changes or others:
        assert first_origin(*others[change]) == before, change


@pytest.mark.parametrize("steps", [3, 10])
def test_predict_leaves_the_forecaster_as_it_was(steps: int) -> None:
    model = quick().fit(monthly())
    short = model.predict(3)  # fills the caches
    before = pickle.dumps(vars(model))
    assert len(model.predict(steps)) == steps
    assert pickle.dumps(vars(model)) == before
    assert model.horizon_ == 6
    np.testing.assert_array_equal(np.asarray(model.predict(3)), np.asarray(short))


def test_longer_forecasts_equal_those_of_a_longer_horizon(fitted: es.Forecaster) -> None:
    longer = quick(horizon=10).fit(monthly())
    pd.testing.assert_frame_equal(fitted.predict(10).frame(), longer.predict(10).frame(), check_exact=True)


@pytest.mark.parametrize(("steps", "level"), [(10, 80), (3, 120)], ids=["longer", "refused"])
def test_an_update_during_a_forecast_is_kept(steps: int, level: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The update of another thread, put where it hurts: between the first and the last look of `predict` at its data."""
    model, alone, more = quick().fit(monthly()), quick().fit(monthly()), monthly(97).iloc[-1:]
    expected, future = alone.predict(10, level=[80]).frame(), Data.future

    def interrupted(self: Data, X: Any, steps: int) -> Any:
        monkeypatch.undo()
        model.update(more)
        return future(self, X, steps)

    monkeypatch.setattr(Data, "future", interrupted)
    if level < 100:
        pd.testing.assert_frame_equal(model.predict(steps, level=[level]).frame(), expected, check_exact=True)
    else:
        with pytest.raises(ValueError, match="between 0 and 100"):
            model.predict(steps, level=[level])
    assert len(model._data.values[0]) == 97
    pd.testing.assert_frame_equal(model.predict(3).frame(), alone.update(more).predict(3).frame(), check_exact=True)


# ----------------------------------------------------------------------------------------------------------- scikit-learn


def test_parameters_are_those_of_scikit_learn() -> None:
    past = ["a"]
    model = es.Forecaster(6, networks=False, past=past)
    assert model.get_params()["past"] is past
    assert repr(model) == "Forecaster(horizon=6, networks=False, past=['a'])"
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    y, X = monthly(), pd.DataFrame({"a": np.arange(96.0)}, index=monthly().index)
    np.testing.assert_array_equal(copied.fit(y, X).predict(3), model.fit(y, X).predict(3))
    assert not hasattr(clone(model), "horizon_")
    with pytest.raises(ValueError, match="Invalid parameter 'periods'"):
        model.set_params(periods=12).fit(y)
    with pytest.raises(ValueError, match="mode must be"):
        model.set_params(mode="loop").fit(y)


def test_a_fitted_forecaster_tells_what_it_uses(fitted: es.Forecaster) -> None:
    first, second = repr(fitted).splitlines()
    assert first == "Forecaster(horizon=6, networks=False)"
    [core] = fitted._cores
    name, _, weight = max(core.candidates, key=lambda each: each[2])
    used = sum(each[2] > 0 for each in core.candidates)
    assert second.startswith(f"season 12, horizon 6; {weight:.0%} {name}; ")
    assert second.endswith(f"; {used - 3} more")
    noise = np.random.default_rng(0).normal(size=(96, 2))
    several = quick(season=None).fit({"a": monthly().to_numpy(), "b": noise[:, 0], "c": noise[:, 1]})
    assert repr(several).splitlines()[1].startswith("3 series, season None, horizon 6; ")
    for name, error, weight in several.candidates_.rows:
        each = [row for core in several._cores for row in core.candidates if row[0] == name]
        assert error == pytest.approx(np.mean([row[1] for row in each]))
        assert weight == pytest.approx(sum(row[2] for row in each) / 3)


@pytest.mark.parametrize("level", [80, 95, 50, 61.7])
def test_quantiles_are_the_bounds_of_intervals(level: float, fitted: es.Forecaster) -> None:
    forecast = fitted.predict(6, level=[80])
    for side, probability in ((forecast.lower, 0.5 - level / 200), (forecast.upper, 0.5 + level / 200)):
        pd.testing.assert_series_equal(side(level), forecast.quantile(probability))
    pd.testing.assert_series_equal(forecast.quantile(0.5), forecast.mean)
    several = np.array([forecast.quantile(each) for each in np.linspace(0.005, 0.995, 67)])
    assert (np.diff(several, axis=0) >= 0).all()
    assert list(forecast.frame()) == ["forecast", "lower 80", "upper 80"]
    for probability in (0.0, 0.004, 1.0, np.nan):
        with pytest.raises(ValueError, match="probability must"):
            forecast.quantile(probability)


def test_modes_differences_and_plots(fitted: es.Forecaster) -> None:
    for mode in ("direct", "closed loop"):
        model = quick(mode=mode, difference="season", season=12).fit(monthly())
        names = [name for name, _, weight in model._cores[0].candidates if weight > 0]
        assert all(name.endswith(f"season, {mode}") for name in names)
    assert fitted.plot().collections


# -------------------------------------------------------------------------------------------------------------- bad input


def bad_inputs() -> list[tuple[str, Any, str]]:
    y = monthly()
    X = pd.DataFrame({"x": np.arange(96.0)}, index=y.index)
    ahead = pd.date_range("2023-01-01", periods=3, freq="MS")
    future = pd.DataFrame({"x": np.arange(3.0)}, index=ahead)

    @cache
    def plain() -> es.Forecaster:
        return quick().fit(y)

    @cache
    def with_x() -> es.Forecaster:
        return quick().fit(y, X)

    twice = y.copy()
    twice.index = y.index[:50].append(y.index[49:95])
    mixed = pd.Series(
        np.arange(20.0),
        index=pd.Index(
            [pd.Timestamp("2020-01-01", tz="UTC") + pd.Timedelta(days=k) for k in range(19)]
            + [pd.Timestamp("2020-01-20", tz="Asia/Tokyo")],
            dtype=object,
        ),
    )
    return [
        ("horizon beyond", lambda: quick(horizon=40).fit(y), "cannot be judged by 96 values: at most 32"),
        ("steps beyond", lambda: plain().predict(40), "cannot be judged"),
        ("steps beyond all numbers", lambda: plain().predict(2**70), "cannot be judged"),
        ("length", lambda: with_x().predict(4, future), "3 rows for 4 steps"),
        ("gaps", lambda: with_x().predict(3, future.where(future > 0)), "gap at row 0, column 'x'"),
        ("columns", lambda: with_x().predict(3, future.rename(columns={"x": "z"})), "columns ['x'] in this order; got ['z']"),
        ("missing X", lambda: with_x().predict(3), "X is missing: give the next 3 values of x"),
        ("X in vain", lambda: plain().predict(3, future), "fitted without X"),
        ("misaligned future", lambda: with_x().predict(3, future.shift(1, freq="MS")), "row 0 is 2023-02-01"),
        ("misaligned X", lambda: quick().fit(y, X.shift(1, freq="MS")), "not aligned: row 0 is 2015-02-01"),
        ("X length", lambda: quick().fit(y, X.iloc[1:]), "X has 95 rows, y has 96"),
        ("season", lambda: quick(season=48).fit(y), "season=48 is too long for 96 values"),
        ("one of two seasons", lambda: quick(season=[12, 60]).fit(y), "season=60 is too long for 96 values"),
        ("word for a season", lambda: quick(season="week").fit(y), "season"),
        ("half a season", lambda: quick(season=[4, 1.5]).fit(y), "season"),
        ("empty panel", lambda: quick().fit({}), "empty panel"),
        ("empty table", lambda: quick().fit(pd.DataFrame(index=y.index)), "empty panel"),
        ("twice", lambda: quick().fit(twice), "twice, again at row 50"),
        ("unsorted", lambda: quick().fit(y.iloc[::-1]), "not sorted: 2022-11-01 00:00:00 at row 1"),
        ("uneven", lambda: quick().fit(y.drop(y.index[40])), "not evenly spaced: 2018-04-01 00:00:00 at row 39"),
        ("mixed zones", lambda: quick().fit(mixed), "mixes time zones"),
        (
            "zones of X",
            lambda: quick().fit(y.tz_localize("UTC"), X.tz_localize("Asia/Tokyo")),
            "time zone Asia/Tokyo, y in UTC",
        ),
        ("zones of a panel", lambda: quick().fit({"a": y, "b": y.tz_localize("UTC")}), "different time zones: None and UTC"),
        ("short", lambda: quick().fit(y.iloc[:9]), "9 values, at least 12"),
        ("huge", lambda: quick().fit(1e200 * y), "y holds 2e+202 at row 0: squares of such numbers are too large"),
        ("tiny", lambda: quick().fit(-1e-200 * y), "squares of such numbers are too small to be added up"),
        ("huge update", lambda: plain().update(y.iloc[:1] * 1e200), "squares of such numbers are too large"),
        ("two values", lambda: quick().fit(y.iloc[:2]), "series 'sales' holds 2 values, at least 12"),
        ("infinite", lambda: quick().fit(np.append(np.inf, np.arange(50.0))), "infinite value at row 0"),
        (
            "later update",
            lambda: quick().fit(y.iloc[:90]).update(y.iloc[91:]),
            "row 0 is 2022-08-01 00:00:00, expected 2022-07-01",
        ),
        ("past", lambda: quick(past=["z"]).fit(y, X), "column 'z', which X does not have"),
        ("level", lambda: plain().predict(3, level=[120]), "between 0 and 100"),
        ("origins", lambda: plain().backtest(6, 14), "leave 12 of 96 values"),
        ("log", lambda: quick(log=True).fit(y - 250), "positive values"),
        ("not fitted", lambda: quick().predict(3), "not fitted yet"),
        ("backtest before fit", lambda: quick().backtest(3, 2), "not fitted yet"),
    ]


@pytest.mark.parametrize(("call", "words"), [pytest.param(c, w, id=n) for n, c, w in bad_inputs()])
def test_bad_input_is_named(call: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert words in str(caught.value)


@pytest.mark.parametrize("factor", [1e-90, 1e90, -1e90])
def test_units_may_be_tiny_or_large(factor: float) -> None:
    y = monthly().to_numpy()
    one, other = (quick(log=False).fit(each).predict(6) for each in (y * np.sign(factor), y * factor))
    np.testing.assert_allclose(other.mean / abs(factor), one.mean, rtol=1e-6)
    np.testing.assert_allclose(other.upper(95) / abs(factor), one.upper(95), rtol=1e-3)


@pytest.mark.parametrize("value", [0.0, 5.0, -1e90])
def test_constants_are_forecast_without_width(value: float) -> None:
    forecast = es.Forecaster(4).fit(np.full(200, value)).predict(4)
    np.testing.assert_allclose(forecast.frame(), value, rtol=1e-14)


def test_gaps_anywhere_leave_finite_forecasts_and_errors() -> None:
    for gaps in (slice(0, 30), slice(40, 60), slice(84, 90), slice(90, 96), slice(0, 96, 2)):
        y = monthly()
        y.iloc[gaps] = np.nan
        model = quick().fit({"gaps": y, "whole": monthly()})
        assert np.isfinite(model.predict(6).frame()).all(axis=None)
        judged = model.backtest(6, 2)
        assert np.isfinite([judged.mase(), judged.pinball(), judged.coverage(80)]).all()
    nothing = quick().fit(monthly().where(monthly().index < "2022")).backtest(6, 2)
    assert np.isnan([nothing.mase(), nothing.pinball(), nothing.coverage(80)]).all()


def test_labels_come_back_as_they_were(tmp_path: Path) -> None:
    y = monthly()
    nameless = quick().fit(y.rename(None))
    assert nameless.predict(2).mean.name is None
    numbered = quick().fit(pd.DataFrame({1: y, 2: 2 * y}))
    assert list(numbered.predict(2).mean.columns) == [1, 2]
    assert list(es.load(es.save(numbered, tmp_path / "f.safetensors")).predict(2).mean.columns) == [1, 2]
    assert list(quick().fit({3: y, "b": y}).predict(2).mean) == [3, "b"]


def test_a_season_of_three_cycles_is_used() -> None:
    rng = np.random.default_rng(0)
    y = 5 * np.tile(rng.normal(size=12), 5) + 0.2 * rng.normal(size=60)
    model = es.Forecaster().fit(y[:38])
    assert model.season_ == 12
    assert np.abs(model.predict(12).mean - y[38:50]).mean() < 1


def test_short_series_are_read_in_closed_loop_alone_unless_there_are_inputs() -> None:
    rng = np.random.default_rng(1)
    y, X = np.cumsum(rng.normal(size=300)), rng.normal(size=(300, 1))

    def direct(model: es.Forecaster) -> bool:
        return any(name.endswith("direct") for name, _, _ in model.candidates_.rows)

    assert not direct(es.Forecaster(networks=False).fit(y[:60]))
    assert direct(es.Forecaster(networks=False).fit(y[:60], X[:60]))
    assert direct(es.Forecaster(networks=False).fit(y))
    assert direct(es.Forecaster(networks=False, mode="direct").fit(y[:60]))
