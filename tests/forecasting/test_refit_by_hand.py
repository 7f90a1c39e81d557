"""Forecasts after updates against plain Python: ridge fitted to all rows, and loops beyond two seasons."""

from __future__ import annotations

import math

import numpy as np
import pytest

import echoscale as es
from echoscale.forecasting.readers import Reader

M, HORIZON, FITTED, COUNT = 4, 9, 96, 120


def start(difference: str, z: list[float], t: int) -> float:
    """Of the value one step after t."""
    season = z[t + 1 - M]
    return {"none": 0.0, "last": z[t], "season": season, "both": season + z[t] - z[t - M]}[difference]


def change(difference: str, z: list[float], t: int) -> float:
    season, before = z[t] - z[t - M], z[t - 1] - z[t - 1 - M]
    return {"none": z[t], "last": z[t] - z[t - 1], "season": season, "both": season - before}[difference]


def features(difference: str, window: int, z: list[float], t: int) -> list[float]:
    """Of one step ahead: the last changes, the phase of the season, and the changes about a season before the target."""
    phases = [math.cos(math.pi * t / 2), math.sin(math.pi * t / 2), math.cos(math.pi * t)]
    lags = [change(difference, z, t - lag) for lag in (M, M - 1, M - 2)]
    return [*(change(difference, z, t - lag) for lag in range(window)), *phases, *lags]


def by_hand(reader: Reader, z: list[float]) -> list[float]:
    """The forecast of a reader that was fitted to all of z."""
    difference, window = reader.recipe.difference, reader.recipe.window
    origins = range(reader.recipe.memory - 1, len(z) - 1)
    rows = np.array([features(difference, window, z, t) for t in origins])
    targets = np.array([z[t + 1] - start(difference, z, t) for t in origins])
    mean, level = rows.mean(axis=0), targets.mean()
    gram = (rows - mean).T @ (rows - mean)
    penalty = reader.relative[0] * np.trace(gram) / len(gram)
    coef = np.linalg.solve(gram + penalty * np.eye(len(gram)), (rows - mean).T @ (targets - level))
    values = list(z)
    for _ in range(HORIZON):
        t = len(values) - 1
        f = np.array(features(difference, window, values, t))
        values.append(start(difference, values, t) + float((f - mean) @ coef) + level)
    return values[-HORIZON:]


@pytest.mark.parametrize("updates", [[COUNT - FITTED], [1] * (COUNT - FITTED), [3, COUNT - FITTED - 3]])
@pytest.mark.parametrize("difference", ["none", "last", "season", "both"])
def test_updated_loops_equal_a_refit_written_out(difference: str, updates: list[int]) -> None:
    rng = np.random.default_rng(0)
    y = 50 + 4 * np.sin(np.pi * np.arange(COUNT) / 2) + 0.3 * rng.normal(size=COUNT).cumsum() + rng.normal(size=COUNT)
    model = es.Forecaster(HORIZON, season=M, mode="closed loop", difference=difference, networks=False).fit(y[:FITTED])
    end = FITTED
    for count in updates:
        model.update(y[end : end + count])
        end += count
    [core] = model._cores
    assert core.parts
    expected = np.zeros(HORIZON)
    for part in core.parts:
        units = core.views[part.view].units[0]
        assert isinstance(part.method, Reader)
        expected += part.weights * units.back(np.array(by_hand(part.method, units.forward(y).tolist())))
    np.testing.assert_allclose(model.predict(HORIZON).mean, expected, rtol=1e-7)
