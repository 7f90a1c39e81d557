"""Leak rates and input scaling that are left open are chosen by held-out error."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.signal import lfilter
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import echoscale as es
from echoscale.engine import devices
from echoscale.estimators import ESNRegressor, ESNStepClassifier
from echoscale.readouts.states import StateWarning
from echoscale.timescales.candidates import FIRST, INPUT_SCALINGS, LEAK_RATES

Floats = npt.NDArray[np.float64]
UNITS = 20


def slow_average(steps: int = 2000, memory: float = 50, seed: int = 0) -> tuple[Floats, Floats]:
    """Noise, and tanh of its average over many steps."""
    u = np.random.default_rng(seed).uniform(-1, 1, (steps, 1))
    average = lfilter([1 / memory], [1, 1 / memory - 1], u, axis=0)
    return u, np.tanh(average / average.std())


def product(steps: int = 600, seed: int = 0) -> tuple[Floats, Floats]:
    """Noise, and the product of its last two values."""
    u = np.random.default_rng(seed).uniform(-1, 1, (steps, 1))
    return u, u * np.roll(u, 1, axis=0)


@pytest.fixture(scope="module")
def slow() -> ESNRegressor:
    return ESNRegressor(UNITS, random_state=0).fit(*slow_average())


def test_the_fit_is_the_fit_of_the_chosen_network(slow: ESNRegressor) -> None:
    """The choice says nothing but which network is fitted."""
    u, y = slow_average()
    same = ESNRegressor(network=slow.esn_.network, random_state=0).fit(u, y)
    np.testing.assert_array_equal(slow.predict(u), same.predict(u))
    assert slow.make_network() == slow.esn_.network
    chosen = slow.candidates_.chosen  # type: ignore[union-attr]
    expected = es.single(
        UNITS,
        leak_rate=es.LogUniform(chosen.slow, chosen.fast),
        spectral_radius=0.7,
        input_scaling=chosen.input_scaling,
        bias_scaling=0.5,
    )
    assert slow.esn_.network == expected


def test_timescales_follow_the_problem(slow: ESNRegressor) -> None:
    """A long memory asks for slow neurons, the product of the last inputs does not; both gain against fixed defaults."""
    quick = ESNRegressor(UNITS, random_state=0).fit(*product())
    assert slow.candidates_ is not None
    assert quick.candidates_ is not None
    assert slow.candidates_.chosen.slow == 0.005, "bounded by two thousand steps of data"
    assert quick.candidates_.chosen.fast == 1
    for fitted, (u, y) in ((slow, slow_average(seed=1)), (quick, product(seed=1))):
        fixed = ESNRegressor(UNITS, 1.0, input_scaling=0.1, random_state=0)
        before = fixed.fit(*(slow_average() if fitted is slow else product()))
        assert 1 - fitted.score(u, y) < 0.7 * (1 - before.score(u, y))


def test_what_is_set_is_kept() -> None:
    u, y = product()
    both = ESNRegressor(UNITS, 0.5, input_scaling=0.2, random_state=0).fit(u, y)
    assert both.candidates_ is None
    [level] = both.esn_.network.reservoirs
    assert (level.leak_rate, level.input_scaling) == (0.5, 0.2)
    leak = ESNRegressor(UNITS, 0.5, random_state=0).fit(u, y)
    assert leak.esn_.network.reservoirs[0].leak_rate == 0.5
    assert set(leak.candidates_.input_scaling) > set(INPUT_SCALINGS)  # type: ignore[union-attr]
    assert "leak rate" not in leak.candidates_.reason  # type: ignore[union-attr]
    scaling = ESNRegressor(UNITS, input_scaling=0.2, random_state=0).fit(u, y)
    assert scaling.esn_.network.reservoirs[0].input_scaling == 0.2
    assert len(scaling.candidates_) == len(LEAK_RATES)  # type: ignore[arg-type]
    given = ESNRegressor(network=es.single(UNITS), random_state=0).fit(u, y)
    assert given.candidates_ is None


def test_several_reservoirs_share_the_range() -> None:
    fitted = ESNRegressor((10, 10), random_state=0).fit(*slow_average())
    chosen = fitted.candidates_.chosen  # type: ignore[union-attr]
    assert [each.leak_rate for each in fitted.esn_.network.reservoirs] == [chosen.fast, chosen.slow]
    assert not fitted.esn_.network.spreads_leaks


@pytest.mark.parametrize("scale", ["standard", None])
def test_units_of_the_data_do_not_matter(scale: str | None) -> None:
    """Powers of two change no digit of the data. Without scale, input scalings are in units of the data, with three digits."""
    u, y = slow_average()
    one = ESNRegressor(UNITS, scale=scale, random_state=0).fit(u, y)
    other = ESNRegressor(UNITS, scale=scale, random_state=0).fit(1024 * u, y / 1024)
    assert one.candidates_ is not None
    assert other.candidates_ is not None
    if scale is None:
        np.testing.assert_allclose(other.candidates_.input_scaling, one.candidates_.input_scaling / 1024, rtol=0.01)
        np.testing.assert_allclose(other.candidates_.error, one.candidates_.error, rtol=0.02)
    else:
        np.testing.assert_array_equal(other.candidates_.errors, one.candidates_.errors)
        np.testing.assert_array_equal(1024 * other.predict(1024 * u), one.predict(u))


def test_cores_and_blocks_do_not_matter(slow: ESNRegressor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "cores", lambda: 7)
    other = ESNRegressor(UNITS, random_state=0).fit(*slow_average())
    np.testing.assert_allclose(other.candidates_.errors, slow.candidates_.errors, rtol=1e-4)  # type: ignore[union-attr]
    np.testing.assert_array_equal(other.predict(slow_average()[0]), slow.predict(slow_average()[0]))


def test_gaps_and_several_series() -> None:
    """Targets that are not known do not count; series of any lengths choose together."""
    u, y = slow_average()
    gaps = y.copy()
    gaps[::7] = np.nan
    parts = [slice(0, 700), slice(700, 1200), slice(1200, 2000)]
    for X, target in ((u, gaps), ([u[each] for each in parts], [y[each] for each in parts])):
        found = ESNRegressor(UNITS, random_state=0).fit(X, target).candidates_
        assert found is not None
        assert found.chosen.fast < 1
        assert np.isfinite(found.errors).all()


@pytest.mark.parametrize("steps", [10, 40, 99])
def test_short_data_choose_nothing(steps: int) -> None:
    u, y = product(steps)
    fitted = ESNRegressor(UNITS, random_state=0).fit(u, y)
    assert fitted.candidates_ is None
    [level] = fitted.esn_.network.reservoirs
    assert (level.leak_rate, level.input_scaling) == (FIRST.fast, FIRST.input_scaling)
    assert np.isfinite(fitted.predict(u)).all()


@pytest.mark.parametrize("scale", ["standard", None])
def test_constants_choose_the_first(scale: str | None) -> None:
    u, y = product(300)
    for X, target in ((u, np.ones_like(y)), (np.ones_like(u), y), (np.zeros_like(u), np.zeros_like(y))):
        fitted = ESNRegressor(UNITS, scale=scale, random_state=0)
        with nullcontext() if X is u else pytest.warns(StateWarning, match="the network hardly moves"):
            fitted.fit(X, target)
        assert fitted.candidates_.place == 0  # type: ignore[union-attr]
        assert np.isfinite(fitted.predict(X)).all()
        if target is not y:
            np.testing.assert_allclose(fitted.predict(X), target, rtol=0, atol=1e-6)


def test_the_first_chunk_chooses() -> None:
    u, y = slow_average()
    stream = ESNRegressor(UNITS, random_state=0).partial_fit(u[:1500], y[:1500])
    chosen = stream.candidates_
    assert chosen is not None
    assert chosen.chosen.fast < 1
    stream.partial_fit(u[1500:], y[1500:])
    assert stream.candidates_ is chosen


def test_it_is_shown(slow: ESNRegressor) -> None:
    found = slow.candidates_
    assert found is not None
    assert repr(slow).startswith("ESNRegressor(random_state=0, units=20)\nleak rates 0.005 to 0.2 and input scaling ")
    assert "chosen from 10 candidates by 3 folds; the next best has" in repr(slow)
    assert len(found.table) == len(found) == 10
    assert found.table["error"][0] == found.errors.min()
    axes = found.plot()
    assert axes.get_xlabel() == "input scaling"
    assert len(axes.get_lines()) == len(LEAK_RATES) + 1
    given = ESNRegressor(UNITS, input_scaling=0.3, random_state=0).fit(*product())
    assert given.candidates_.plot().get_xlabel() == "leak rates"  # type: ignore[union-attr]


def test_scikit_learn_searches_and_copies(slow: ESNRegressor) -> None:
    u, y = product(300)
    copy = clone(slow)
    assert copy.leak_rate is None
    assert not hasattr(copy, "candidates_")
    search = GridSearchCV(ESNRegressor(UNITS, random_state=0), {"leak_rate": [None, 1.0], "input_scaling": [0.3]}, cv=2)
    assert search.fit(u, y).best_params_["input_scaling"] == 0.3
    assert "ESNRegressor(random_state=0, units=20)" in repr(make_pipeline(StandardScaler(), slow))


def test_a_saved_model_knows_its_candidates(slow: ESNRegressor, tmp_path: Path) -> None:
    loaded: Any = es.load(es.save(slow, tmp_path / "model.es"))
    assert repr(loaded.candidates_) == repr(slow.candidates_)
    assert loaded.make_network() == slow.make_network()


def test_labels_of_steps_choose_too() -> None:
    u, y = slow_average()
    labels = np.where(y[:, 0] > 0, "above", "below")
    fitted = ESNStepClassifier(UNITS, random_state=0).fit(u[:1500], labels[:1500])
    assert fitted.candidates_ is not None
    assert fitted.candidates_.chosen.slow < 1
    assert (fitted.predict(u[1500:], state=fitted.state_) == labels[1500:]).mean() > 0.8
