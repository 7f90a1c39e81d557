"""The study of learned timescales: what it records, and that tuning finds the timescale of the task."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import xarray

import echoscale as es
from echoscale.sweeps import Runner
from paper import learned_timescales as study

SMOKE = study.SETTINGS["smoke"]


@pytest.fixture(scope="module")
def data() -> xarray.Dataset:
    return study.compute(SMOKE, "smoke", Runner())


def test_everything_is_recorded_and_drawn(data: xarray.Dataset) -> None:
    assert dict(data.sizes) == {"timescale": 2, "seed": 2, "start": 4, "level": 2}
    for name in ("tuned", "online"):
        rates, errors = data[name].values, data[f"{name}_error"].values
        assert ((rates > 0) & (rates <= 1)).all()
        assert (errors > 0).all()
    assert len(study.draw(data).axes) == 2
    at = data.sel(timescale=10.0)
    *_, row = study.table(data).splitlines()
    cells = row.strip("| ").split(" | ")
    assert cells[0] == "10"
    assert cells[1].startswith(f"{float(10 * at['tuned'].sel(level=2).median()):.2f} (")
    assert cells[4] == f"{float((at['online_error'] / at['oracle_error']).median()):.2f}"


def test_the_oracle_has_the_timescale_of_the_task(data: xarray.Dataset) -> None:
    """Its error again, through the regressor with the penalty that is best on the validation part."""
    parts, tau, seed = SMOKE.judged, 10.0, 11
    at = data.sel(timescale=tau, seed=seed)
    known, length = parts.washout + parts.train, parts.washout + parts.train + parts.validation + parts.test
    u, y = es.tasks.averages(length, seed, timescales=tau)
    found = []
    for start in range(4):  # the oracle has the first leak rate of the start that was best on the folds
        network = study.network_of(SMOKE.units)
        esn = network.build(1, seed=seed, dtype="float64")
        rates = [float(at["tuned"][start, 0]), 1 / tau]
        x = esn.run(u, hyper=esn.hyper.replace(leak_rate=rates))
        mean, level = x[parts.washout : known].mean(axis=0), y[parts.washout : known].mean()
        z, target = x[parts.washout : known] - mean, y[parts.washout : known, 0] - level
        errors = []
        for ridge in np.geomspace(10, 1e-8, 19):
            gram = z.T @ z + ridge * (z**2).sum() / z.shape[1] * np.eye(z.shape[1])
            guess = (x[known:] - mean) @ np.linalg.solve(gram, z.T @ target) + level
            squares = (guess - y[known:, 0]) ** 2
            errors.append((squares[: parts.validation].mean(), squares[parts.validation :].mean()))
        chosen = min(errors)[1] / y[known + parts.validation :].var()
        found.append(np.sqrt(chosen))
    assert np.isclose(found, float(at["oracle_error"]), rtol=1e-3).any()


def test_tuning_finds_the_timescale_of_the_task() -> None:
    parts = replace(SMOKE.judged, washout=200, train=1500, validation=500, test=500)
    found = study.learned(replace(SMOKE, judged=parts, rounds=15, steps=600, units=30), 10.0, 3)
    assert found["tuned"][:, 1].min() * 10 > 0.6
    assert found["tuned"][:, 1].max() * 10 < 1.6
