"""Direct readouts against a ridge that is written out, closed loops against loops that are written out."""

from __future__ import annotations

import numpy as np
import pytest

from echoscale.forecasting import networks
from echoscale.forecasting.candidates import STRUCTURES
from echoscale.forecasting.lags import Recipe
from echoscale.forecasting.networks import Net
from echoscale.forecasting.problem import Line
from echoscale.forecasting.readers import FAR, closed_loop, direct, solve
from echoscale.forecasting.rows import Origins, statistics
from echoscale.readouts import splits
from echoscale.readouts.ridge import Readout


def line_of(values: np.ndarray, known: np.ndarray | None = None, future: np.ndarray | None = None) -> Line:
    count = len(values)
    everywhere = np.ones(count, bool) if known is None else known
    return Line(values, everywhere, np.empty((count, 0)) if future is None else future, np.empty((count, 0)))


def plain_ridge(features: np.ndarray, targets: np.ndarray, relative: float) -> tuple[np.ndarray, float]:
    mean, level = features.mean(axis=0), targets.mean()
    centred = features - mean
    gram = centred.T @ centred
    unit = np.trace(gram) / len(gram)
    # The statistics are brought to a unit of 1: the same solution.
    coef = np.linalg.solve(gram + relative * unit * np.eye(len(gram)), centred.T @ (targets - level))
    return coef, float(level - coef @ mean)


def test_persistence_with_lags_equals_a_ridge_written_out() -> None:
    rng = np.random.default_rng(0)
    z = np.cumsum(rng.normal(size=80))
    known = np.ones(80, bool)
    known[[20, 41]] = False
    rows = Origins(Recipe("last", 3), line_of(z, known))
    whole = splits.total(statistics([rows], [np.array([0, 30, 80])], [1, 5]))
    readout = solve(whole, np.array([1e-2, 1e-1]))
    for k, (h, relative) in enumerate([(1, 1e-2), (5, 1e-1)]):
        origins = [t for t in range(3, 80 - h) if known[t + h]]
        features = np.array([[z[t - lag] - z[t - lag - 1] for lag in range(3)] for t in origins])
        targets = np.array([z[t + h] - z[t] for t in origins])
        coef, intercept = plain_ridge(features, targets, relative)
        last = np.array([z[79 - lag] - z[78 - lag] for lag in range(3)])
        found = direct(rows, readout, [1, 5], np.array([len(rows.at) - 1]))[0, k]
        assert found == pytest.approx(z[79] + last @ coef + intercept, rel=1e-10)


@pytest.mark.parametrize("base", ["season", "both"])
def test_seasonal_features_equal_those_written_out(base: str) -> None:
    rng = np.random.default_rng(1)
    z, m, h = rng.normal(size=60), 5, 7
    x = rng.normal(size=(70, 1))
    rows = Origins(Recipe(base, 2, (m,)), line_of(z, future=x))
    t, k = 40, 2  # two seasons reach seven steps ahead
    row = t - rows.at[0]

    def change(at: int) -> float:
        year = z[at] - z[at - m]
        return float(year if base == "season" else year - (z[at - 1] - z[at - 1 - m]))

    start = z[t + h - k * m] + (k * (z[t] - z[t - m]) if base == "both" else 0.0)
    assert rows.starts(h, np.array([row]))[0] == pytest.approx(start)
    angles = [2 * np.pi * j * t / m for j in (1, 2)]
    about = [change(min(t + h - k * m + j, t)) for j in (-1, 0, 1)]
    moved = x[t + h, 0] - x[t + h - k * m, 0] - (k * (x[t, 0] - x[t - m, 0]) if base == "both" else 0.0)
    phases = [each for angle in angles for each in (np.cos(angle), np.sin(angle))]
    expected = [change(t), change(t - 1), *phases, *about, moved]
    np.testing.assert_allclose(rows.features(h, np.array([row]))[0], expected, atol=1e-12)


def test_panel_statistics_are_those_of_all_rows() -> None:
    rng = np.random.default_rng(2)
    several = [rng.normal(size=40), rng.normal(size=55)]
    rows = [Origins(Recipe("none", 2), line_of(each)) for each in several]
    [whole] = statistics(rows, [np.array([0, 40]), np.array([0, 55])], [2])
    features = np.concatenate([np.stack([z[1:-2], z[:-3]], axis=1) for z in several])
    targets = np.concatenate([z[3:] for z in several])
    coef, intercept = plain_ridge(features, targets, 0.3)
    readout = solve(whole, np.array([0.3]))
    np.testing.assert_allclose(readout.coef[0, 0], coef, rtol=1e-10)
    assert readout.intercept[0, 0] == pytest.approx(intercept)


def start(base: str, values: np.ndarray | list[float], t: int, m: int) -> float:
    """Of the value one step after t."""
    ago = {"none": 0.0, "last": values[t], "season": values[t + 1 - m], "both": values[t + 1 - m] + values[t] - values[t - m]}
    return float(ago[base])


def change(base: str, values: list[float], t: int, m: int) -> float:
    """At t."""
    year, year_before = values[t] - values[t - m], values[t - 1] - values[t - 1 - m]
    return {"none": values[t], "last": values[t] - values[t - 1], "season": year, "both": year - year_before}[base]


@pytest.mark.parametrize("base", ["none", "last", "season", "both"])
def test_lags_equal_a_loop_written_out(base: str) -> None:
    """Beyond two seasons, with inputs that are known ahead, and others that stand still."""
    rng = np.random.default_rng(0)
    z, m, steps = np.sin(0.9 * np.arange(70)) + 0.1 * rng.normal(size=70), 5, 13
    known, seen = rng.normal(size=(90, 1)), rng.normal(size=(70, 1))
    rows = Origins(Recipe(base, 3, (m,)), Line(z, np.ones(70, bool), known, seen))
    [whole] = statistics([rows], [np.array([0, 70])], [1])
    readout = solve(whole, np.array([1e-1]))
    coef, intercept = readout.coef[0, 0], readout.intercept[0, 0]
    found = closed_loop(rows, readout, steps, np.array([30, len(rows.at) - 1]))
    for each, origin in zip(found, (int(rows.at[30]), 69), strict=True):
        values = list(z[: origin + 1])
        for step in range(steps):
            t = origin + step
            phases = [f(2 * np.pi * k * t / m) for k in (1, 2) for f in (np.cos, np.sin)]
            lags = [change(base, values, t - lag, m) for lag in (0, 1, 2, m, m - 1, m - 2)]
            ahead = known[t + 1, 0] - start(base, known[:, 0], t, m)
            features = [*lags[:3], *phases, *lags[3:], ahead, *(seen[min(t - lag, origin), 0] for lag in (0, 1, 2))]
            values.append(start(base, values, t, m) + float(np.dot(features, coef)) + intercept)
            assert each[step] == pytest.approx(values[-1], rel=1e-9, abs=1e-9)


def test_a_loop_ends_where_the_known_inputs_end_and_is_held() -> None:
    """Every forecast is -2 times the value before, up to `FAR`; the known inputs end after four steps."""
    z = np.append(np.sin(np.arange(39.0)), 1.0)
    rows = Origins(Recipe("none", 1), Line(z, np.ones(40, bool), np.ones((44, 1)), np.empty((40, 0))))
    double = Readout(np.array([[[-2.0, 0.0]]]), np.zeros((1, 1)), np.ones(1))
    [found] = closed_loop(rows, double, 6, np.array([39]))
    np.testing.assert_allclose(found, [-2, 4, -8, FAR, np.nan, np.nan])
    nothing = Readout(np.zeros((6, 1, 2)), np.zeros((6, 1)), np.ones(6))
    [found] = direct(rows, nothing, range(1, 7), np.array([39]))
    np.testing.assert_array_equal(found, [0, 0, 0, 0, np.nan, np.nan])


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_network_equals_running_it_on_its_own_forecasts(structure: str) -> None:
    rng = np.random.default_rng(1)
    z = np.sin(0.5 * np.arange(120)) + 0.05 * rng.normal(size=120)
    line = Line(z, np.ones(120, bool), np.empty((120, 0)), np.empty((120, 0)))
    recipe = Recipe("none", 2)
    esn, hyper = networks.draw_network(structure, 20, 2, 1, [3, 0])
    net = Net(esn, hyper.lane(1), 0.8)
    rows = Origins(recipe, line, networks.states([net], recipe, line)[0])
    [whole] = statistics([rows], [np.array([0, 120])], [1])
    readout = solve(whole, np.array([1e-4]))
    found = closed_loop(rows, readout, 6, np.array([len(rows.at) - 1]), net)[0]
    values = list(z)
    for step in range(6):
        state = esn.run(np.array(values)[:, None] / 0.8, hyper=hyper.lane(1))[-1]
        features = np.concatenate([state, values[-1:], values[-2:-1]])
        values.append(float(features @ readout.coef[0, 0] + readout.intercept[0, 0]))
        assert found[step] == pytest.approx(values[-1], rel=1e-8)
