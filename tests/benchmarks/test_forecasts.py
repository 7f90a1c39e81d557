"""Scores, splits and ratios of the benchmarks of forecasts and driven problems, against numbers by hand."""

from __future__ import annotations

import importlib
import json
import math
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import numpy.typing as npt
import pytest

Floats = npt.NDArray[np.float64]
FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module", autouse=True)
def importable() -> Iterator[None]:
    """benchmarks/ is no package, and not installed; its scripts import each other."""
    sys.path.insert(0, str(FOLDER))
    yield
    sys.path.remove(str(FOLDER))


def script(name: str) -> ModuleType:
    return importlib.import_module(name)


def test_scores_by_hand() -> None:
    """Seasonal changes of 2, errors of 1 and 3; the second value lies outside the 80 % interval and inside the 95 % one."""
    train = np.array([0.0, 5.0, 2.0, 7.0, 4.0, 9.0])
    quantiles = np.array([[-9.0, -9.0], [-5.0, -2.0], [0.0, 0.0], [5.0, 2.0], [9.0, 9.0]])
    mase, pinball, inside80, inside95 = script("forecasting").score(train, np.array([1.0, 3.0]), quantiles, (2,))
    losses: list[tuple[float, ...]] = [
        (0.025 * 10, 0.1 * 6, 0.5 * 1, 0.1 * 4, 0.025 * 8),
        (0.025 * 12, 0.1 * 5, 0.5 * 3, 0.9 * 1, 0.025 * 6),
    ]
    np.testing.assert_allclose([mase, pinball], [2 / 2, 2 * float(np.mean(losses)) / 2])
    assert (inside80, inside95) == (0.5, 1.0)


def test_season_that_the_data_do_not_hold_twice_is_no_scale() -> None:
    train = np.array([0.0, 1.0, 3.0, 6.0])
    mase = script("forecasting").score(train, np.array([8.0]), np.full((5, 1), 6.0), (3, 4))[0]
    assert mase == pytest.approx(2 / 2)  # changes of 1, 2 and 3


def test_median_of_quantiles(monkeypatch: pytest.MonkeyPatch) -> None:
    rivals = script("forecasting_rivals")
    levels = {"AutoETS": 1.0, "AutoARIMA": 5.0, "AutoTheta": 2.0, "MSTL": 100.0}
    methods = {name: (lambda y, horizon, seasons, level=level: np.full((5, horizon), level)) for name, level in levels.items()}
    monkeypatch.setitem(rivals.KINDS, "statistical", methods)
    found = rivals.forecasts("statistical", np.arange(30.0), 3, ())
    np.testing.assert_array_equal(found[rivals.MEDIAN][0], np.full((5, 3), 2.0))


def test_naive_stands_in_for_a_method_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    rivals = script("forecasting_rivals")

    def broken(y: object, horizon: int, seasons: object) -> None:
        raise RuntimeError("no convergence")

    y = np.tile([1.0, 4.0], 10)
    monkeypatch.setitem(rivals.KINDS, "statistical", dict.fromkeys(rivals.KINDS["statistical"], broken))
    found = rivals.forecasts("statistical", y, 4, (2,))
    np.testing.assert_array_equal(found[rivals.MEDIAN][0], np.tile([1.0, 4.0], (5, 2)))


def test_split_halves_every_part_and_repeats() -> None:
    sources = script("series_sources")
    table = {f"{source}: {k}": ("D", "", kind) for source in "ab" for kind in ("web", "energy") for k in range(7)}
    found = sources.split(table)
    assert found == sources.split(dict(reversed(table.items())))
    parts = Counter((name[0], table[name][2], group) for name, group in found.items())
    assert set(parts.values()) == {3, 4}


def test_ratio_and_its_interval() -> None:
    """Three ratios 1/2, 1, 2: the mean is 1, and t(0.975, 2) = 4.303."""
    half = math.exp(4.302653 * math.log(2) / math.sqrt(3))
    text = script("common").ratio_with_interval(np.log([0.5, 1.0, 2.0]))
    assert text == f"1.000 ({1 / half:.3f} to {half:.3f})"


def test_driven_ratios_are_paired_by_seed() -> None:
    errors = {"es.auto": (1.0, 4.0), "GRU": (2.0, 2.0), "reservoirpy": (4.0, 1.0), "ridge on lags": (2.0,)}
    results = {f"x|{method}|{seed}": {"error": error} for method, each in errors.items() for seed, error in enumerate(each)}
    raw = {"problems": {"measured": ["x"]}, "seeds": 2, "results": results}
    ratios = script("driven").log_ratios
    assert ratios(raw, ["x"], ["GRU"]) == pytest.approx([0])
    assert ratios(raw, ["x"], ["GRU", "reservoirpy"]) == pytest.approx([math.log(0.5 * 4) / 2])
    # A method without chance has one run for all seeds of measured data.
    assert ratios(raw, ["x"], ["ridge on lags"]) == pytest.approx([0])


@pytest.mark.parametrize("name", ["ridge on lags", "ridge on leaky integrals", "NVAR"])
def test_linear_rivals_find_what_they_can_express(name: str) -> None:
    rng = np.random.default_rng(0)
    u = rng.standard_normal((1200, 2))
    y = (u[:, :1] + 0.5 * np.roll(u[:, 1:], 1, axis=0)) if name != "ridge on leaky integrals" else slow_mean(u)
    noisy = y + 0.1 * y.std() * rng.standard_normal(y.shape)
    found = script("driven_rivals").RIVALS[name](u[:900], noisy[:900], u[900:], 0, 1.0)
    assert (found - y[900:, 0]).std() < 0.1 * y.std()


def slow_mean(u: Floats) -> Floats:
    """An exponential mean with a time constant of 64 steps."""
    keep, level, found = math.exp(-1 / 64), 0.0, []
    for value in u[:, 0]:
        level = keep * level + (1 - keep) * value
        found.append(level)
    return np.array(found)[:, None]


def test_methods_that_do_not_run_keep_their_scores(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Ridge on lags runs again; LightGBM keeps its scores of a problem that is measured, and of no other."""
    forecasting = script("forecasting")
    old = {"autoregression|LightGBM on lags|0": [9.0] * 5, "autoregression|ridge on lags|0": [8.0] * 5}
    (tmp_path / "forecasting.json").write_text(json.dumps({"results": {**old, "Lorenz|LightGBM on lags|0": [7.0] * 5}}))
    monkeypatch.setattr(forecasting.common, "RESULTS", tmp_path)
    monkeypatch.setattr(forecasting, "known", lambda name: forecasting.Known(np.sin(np.arange(60.0)), horizon=3))
    found = forecasting.main(["--quick", "--methods", "simple", "--keep", "--output", str(tmp_path)])["results"]
    assert found["autoregression|LightGBM on lags|0"] == [9.0] * 5
    assert found["autoregression|ridge on lags|0"] != [8.0] * 5
    assert not any(key.startswith("Lorenz") for key in found)
