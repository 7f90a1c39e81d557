"""Targets that are NaN take no part in tuning: its error and its gradient are those on the known rows alone."""

from __future__ import annotations

import naive
import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

import echoscale as es
from echoscale.learning.tuning.losses import Squares
from echoscale.learning.tuning.space import Space
from echoscale.learning.tuning.split import prepare

Floats = npt.NDArray[np.float64]

RNG = np.random.default_rng(0)
U = RNG.uniform(-1, 1, (240, 1))
Y = np.convolve(U[:, 0], [0.5, -0.3, 0.4])[:240, None] ** 2 + U
GAPS = Y.copy()
GAPS[[0, 3, 60, 61, 62, 200]] = np.nan
GAPS[100:130] = np.nan
NETWORK = es.hierarchical([6, 5], leak_rate=[0.9, 0.4], bias_scaling=0.2, coupling=0.6)


def loss_of(names: list[str], noise: float) -> Squares:
    data = prepare(U, GAPS, "mse", 20, 3, 0.0, "standard").tuned
    esn = NETWORK.build(1, seed=1, dtype="float64")
    return Squares(esn, Space.of(names, esn.hyper, {}, False, data.rows), data, 1e-2, noise=noise)


def error_by_hand(task: Squares, z: Floats) -> float:
    """The NMSE of the folds, from states by loops and ridge solutions by numpy, on known rows."""
    data, hyper = task.data, task.networks(z[None]).hyper
    y, edges = data.targets.values[0], data.edges[0]
    known = ~np.isnan(y[:, 0])
    states = naive.states_of(task.esn, data.series.values[0], hyper=hyper, lane=0)
    squares, rows = 0.0, []
    for fold in data.folds:
        train = np.concatenate([np.arange(edges[s], edges[s + 1]) for s in fold.train])
        test = np.concatenate([np.arange(edges[s], edges[s + 1]) for s in fold.held_out])
        train, test = train[known[train]], test[known[test]]
        x, mean = states[train] - states[train].mean(axis=0), y[train].mean()
        share = len(train) / data.rows
        penalty = share * float(task.space.penalties(z[None], 1e-2)[0]) + task.noise**2 * len(train)
        coef = np.linalg.solve(x.T @ x + penalty * np.eye(x.shape[1]), x.T @ (y[train] - mean))
        squares += float(((mean + (states[test] - states[train].mean(axis=0)) @ coef - y[test]) ** 2).sum())
        rows.append(test)
    held_out = y[np.concatenate(rows)]
    return squares / float(((held_out - held_out.mean()) ** 2).sum())


@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize("names", [["leak_rate", "input_scaling", "ridge"], ["leak_rate[1]"]], ids=str)
def test_the_error_and_its_gradient_are_those_of_known_rows(names: list[str], noise: float) -> None:
    task = loss_of(names, noise)
    data = task.data
    assert data.rows == sum(
        int((~np.isnan(GAPS[a:b])).sum()) for a, b in zip(data.edges[0][::2], data.edges[0][1::2], strict=True)
    )
    z = np.stack([task.space.point(task.esn.hyper, 1e-2) - 0.1 * k for k in range(4)])  # lanes that share runs
    value = task.value(z)
    slopes = task.model(z, value.readout).gradient
    for place in (0, 3):
        assert value.error[place] == pytest.approx(error_by_hand(task, z[place]), rel=1e-8)
        for p in range(z.shape[1]):
            h = 1e-5 * np.eye(z.shape[1])[p]
            expected = (error_by_hand(task, z[place] + h) - error_by_hand(task, z[place] - h)) / 2e-5
            assert slopes[place, p] == pytest.approx(expected, rel=1e-5, abs=1e-9)


def test_tune_goes_downhill_and_judges_known_rows() -> None:
    tuned = es.tune(NETWORK, U, GAPS, ["leak_rate", "ridge"], starts=2, rounds=3)
    assert np.isfinite([tuned.error, tuned.start_error, tuned.ridge]).all()
    assert tuned.test_error is not None
    assert np.isfinite(tuned.test_error)
    last, first = tuned.history.error.values[-1], tuned.history.error.values[0]
    assert (last <= first).all()
    assert np.isfinite(tuned.estimator().fit(U, GAPS).predict(U)).all()


def test_data_of_one_axis_and_of_pandas_are_one_column() -> None:
    """In tune, suggest, sweep and run, as in the estimators."""
    options = {"parameters": "leak_rate", "starts": 1, "rounds": 1}
    expected = es.tune(NETWORK, U, Y, **options).error  # type: ignore[arg-type]
    for u, y in ((U[:, 0], Y[:, 0]), (pd.Series(U[:, 0]), pd.Series(Y[:, 0])), (U[:, 0].tolist(), Y[:, 0].tolist())):
        assert es.tune(NETWORK, u, y, **options).error == expected  # type: ignore[arg-type]
        assert repr(es.timescales.suggest(u, y)) == repr(es.timescales.suggest(U, Y))
        protocol = es.sweeps.Protocol(washout=20, train=100, validation=60, test=60, ridge=(1e-3,))
        axes = {"leak_rate[0]": [0.5, 1.0]}
        both = [es.sweep(NETWORK, es.sweeps.Data(*pair), axes, protocol=protocol) for pair in ((u, y), (U, Y))]
        np.testing.assert_array_equal(both[0].test.values, both[1].test.values)
        esn = NETWORK.build(1)
        np.testing.assert_array_equal(esn.run(u), esn.run(U))
