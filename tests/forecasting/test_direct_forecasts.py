"""Direct readouts against a ridge that is written out."""

from __future__ import annotations

import numpy as np
import pytest

from echoscale.forecasting.lags import Recipe
from echoscale.forecasting.problem import Line
from echoscale.forecasting.readers import direct, solve
from echoscale.forecasting.rows import Origins, statistics
from echoscale.readouts import splits


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
    rows = Origins(Recipe("last", 3, None), line_of(z, known))
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
    rows = Origins(Recipe(base, 2, m), line_of(z, future=x))
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
    rows = [Origins(Recipe("none", 2, None), line_of(each)) for each in several]
    [whole] = statistics(rows, [np.array([0, 40]), np.array([0, 55])], [2])
    features = np.concatenate([np.stack([z[1:-2], z[:-3]], axis=1) for z in several])
    targets = np.concatenate([z[3:] for z in several])
    coef, intercept = plain_ridge(features, targets, 0.3)
    readout = solve(whole, np.array([0.3]))
    np.testing.assert_allclose(readout.coef[0, 0], coef, rtol=1e-10)
    assert readout.intercept[0, 0] == pytest.approx(intercept)
