"""Closed loops against loops that are written out."""

from __future__ import annotations

import numpy as np
import pytest

from echoscale.forecasting import networks
from echoscale.forecasting.lags import Recipe
from echoscale.forecasting.networks import Net
from echoscale.forecasting.problem import Line
from echoscale.forecasting.readers import closed_loop, solve
from echoscale.forecasting.rows import Origins, statistics


def test_lags_equal_a_loop_written_out() -> None:
    rng = np.random.default_rng(0)
    z, m = np.sin(0.9 * np.arange(70)) + 0.1 * rng.normal(size=70), 7
    line = Line(z, np.ones(70, bool), np.empty((70, 0)), np.empty((70, 0)))
    rows = Origins(Recipe("last", 3, m), line)
    [whole] = statistics([rows], [np.array([0, 70])], [1])
    readout = solve(whole, np.array([1e-3]))
    coef, intercept = readout.coef[0, 0], readout.intercept[0, 0]
    found = closed_loop(rows, readout, 9, np.array([30, 60]))
    for each, row in zip(found, (30, 60), strict=True):
        t = int(rows.at[row])
        values = list(z[: t + 1])
        for step in range(9):
            now = t + step
            change = [values[-1 - lag] - values[-2 - lag] for lag in range(10)]
            phases = [f(2 * np.pi * k * now / m) for k in (1, 2, 3) for f in (np.cos, np.sin)]
            features = [*change[:3], *phases, change[m], change[m - 1], change[m - 2]]
            values.append(values[-1] + float(np.dot(features, coef)) + intercept)
            assert each[step] == pytest.approx(values[-1], rel=1e-9, abs=1e-9)


def test_network_equals_running_it_on_its_own_forecasts() -> None:
    rng = np.random.default_rng(1)
    z = np.sin(0.5 * np.arange(120)) + 0.05 * rng.normal(size=120)
    line = Line(z, np.ones(120, bool), np.empty((120, 0)), np.empty((120, 0)))
    recipe = Recipe("none", 2, None)
    esn, hyper = networks.draw_network("hierarchical", 20, 2, 1, [3, 0])
    net = Net(esn, hyper, 1, 0.8)
    rows = Origins(recipe, line, net.states(recipe, line))
    [whole] = statistics([rows], [np.array([0, 120])], [1])
    readout = solve(whole, np.array([1e-4]))
    found = closed_loop(rows, readout, 6, np.array([len(rows.at) - 1]), net)[0]
    values = list(z)
    for step in range(6):
        state = esn.run(np.array(values)[:, None] / 0.8, hyper=hyper.lane(1))[-1]
        features = np.concatenate([state, values[-1:], values[-2:-1]])
        values.append(float(features @ readout.coef[0, 0] + readout.intercept[0, 0]))
        assert found[step] == pytest.approx(values[-1], rel=1e-8)
