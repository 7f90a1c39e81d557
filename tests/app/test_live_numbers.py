"""The numbers of the page are those of the library, of the equations, and of the program that can be copied from it."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from itertools import islice

import naive
import numpy as np
import pytest

import echoscale as es
from echoscale.app.live.controls import Controls, Level
from echoscale.app.live.data import TASKS, LabData
from echoscale.app.live.numbers import (
    CELLS,
    PIECE,
    RATE,
    TIMES,
    Seen,
    as_python,
    axis,
    density,
    look,
    online,
    order,
    rows,
    tuned,
)

SMALL = Controls((Level(12, 0.7), Level(8, 0.2, 0.9, 0.1, 0.3, 0.5)))


@pytest.fixture(scope="module")
def data() -> LabData:
    return TASKS["NARMA10"]()


@pytest.fixture(scope="module")
def view(data: LabData) -> Seen:
    return look(SMALL, data)


def test_errors_are_those_of_the_copied_program(data: LabData, view: Seen) -> None:
    with redirect_stdout(io.StringIO()) as printed:
        exec(as_python(SMALL, data), {})
    assert float(printed.getvalue()) == pytest.approx(view.errors["test"], rel=1e-9)


def test_states_and_prediction_are_those_of_the_equations(data: LabData, view: Seen) -> None:
    """States by the scalar loops, W_out by the normal equations of the training steps."""
    washout, trained, validated, _ = data.cuts
    scaled = (data.u - data.u[:trained].mean()) / data.u[:trained].std()
    states = naive.states_of(view.model.esn_, scaled)
    for k, own in enumerate((slice(0, 12), slice(12, 20))):
        np.testing.assert_allclose(view.states[k], states[data.shown, own][:, :3], atol=2e-5)
    y, scale = data.y[:, 0], data.y[:trained].std()
    X = states[washout:trained] - states[washout:trained].mean(axis=0)
    target = (y[washout:trained] - y[washout:trained].mean()) / scale
    W = np.linalg.solve(X.T @ X + SMALL.ridge * np.eye(20), X.T @ target) * scale
    prediction = y[washout:trained].mean() + (states - states[washout:trained].mean(axis=0)) @ W
    np.testing.assert_allclose(view.prediction, prediction[data.shown], atol=1e-3)
    error = np.sqrt(((prediction - y)[validated:] ** 2).mean()) / y[validated:].std()
    assert view.errors["test"] == pytest.approx(error, rel=1e-3)


def test_curves_of_the_linear_regime(view: Seen) -> None:
    """Eigenvalues of every level from its own block; the response by stepping x <- M x from x = B."""
    matrices = view.model.esn_.matrices()
    W, B = matrices.W.toarray(), matrices.W_in
    leak = np.repeat([0.7, 0.2], [12, 8])
    slopes = 1 - np.tanh(matrices.bias) ** 2
    M = np.diag(1 - leak) + leak[:, None] * slopes[:, None] * W
    x = (leak * slopes)[:, None] * B
    for step in range(4):
        for k, own in enumerate((slice(0, 12), slice(12, 20))):
            assert view.responses[k][step] == pytest.approx(np.sqrt((x[own, 0] ** 2).mean()), abs=1e-6)
        x = M @ x
    values = np.linalg.eigvals(M[:12, :12])
    np.testing.assert_allclose(np.sort(view.eigenvalues[0].real), np.sort(values.real), atol=1e-6)


def test_the_density_has_its_bounds() -> None:
    """Of the eigenvalues 1 - alpha + alpha rho z with |z| <= 1: timescales between 1 / (alpha (1 +- rho))."""
    found = density(0.5, 0.8)
    assert found.max() == 1
    inside = (TIMES > 1 / (0.5 * 1.8)) & (TIMES < 1 / (0.5 * 0.2))
    assert (found[inside] > 0).all()
    assert not found[~inside].any()
    assert not len(density(0.5, 1.2))
    assert not len(density(0.5, 0.0))


def test_telegraph_is_measured_beside_its_ceiling() -> None:
    data = TASKS["Telegraph"]()
    found, ceiling = look(SMALL, data).accuracies, data.baseline().ceiling
    assert set(found) == set(ceiling) == {"state", "regime", "joint"}
    assert found["joint"] <= min(found["state"], found["regime"])
    assert 0.6 < found["state"] <= ceiling["state"] + 0.02
    *_, begin, _ = data.cuts
    decided = es.tasks.telegraph_filter(data.u, p3=0.005).decisions["joint"]
    assert data.telegraph is not None
    assert ceiling["joint"] == (decided == data.telegraph.joint)[begin:].mean()


def test_what_the_library_warns_of_is_shown(data: LabData) -> None:
    assert any("may not forget" in each for each in look(SMALL.changed("spectral_radius[0]", 1.2), data).notes)
    assert not look(SMALL, data).notes


# The map


def test_every_row_comes_once_from_coarse_to_fine() -> None:
    assert sorted(order()) == list(range(CELLS))
    first = np.sort(order()[:5])
    assert np.diff(first).min() >= 4


@pytest.mark.parametrize("names", [("leak_rate[0]", "leak_rate[1]"), ("coupling[0]", "input_scaling[0]")])
def test_cells_are_errors_of_their_networks(names: tuple[str, str]) -> None:
    data, (across, up) = TASKS["NARMA10"](), map(axis, names)
    row, errors = next(rows(SMALL, data, across, up))
    for column in (0, 7, CELLS - 1):
        there = SMALL.changed(across.name, float(across.values[column])).changed(up.name, float(up.values[row]))
        assert errors[column] == pytest.approx(look(there, data).errors["validation"], rel=1e-5)


# Learning

ONE = Controls((Level(12, 0.15, input_scaling=0.05),))
NAMES = ["leak_rate[0]", "input_scaling[0]"]


def error(values: np.ndarray) -> float:
    there = ONE.changed(NAMES[0], float(values[0])).changed(NAMES[1], float(values[1]))
    return look(there, TASKS["NARMA10"]()).errors["validation"]


def test_tune_walks_downhill_and_rests() -> None:
    path = list(islice(tuned(ONE, TASKS["NARMA10"](), NAMES), 60))
    assert 1 <= len(path) < 60
    assert error(path[-1]) < error(np.array([0.15, 0.05])) - 0.01


def test_online_moves_within_its_rate() -> None:
    """Adam moves at most about its rate at every step of the stream; the first 100 are the washout."""
    path = np.array(list(islice(online(ONE, TASKS["NARMA10"](), NAMES), 12)))
    steps = np.abs(np.diff(np.concatenate([[[0.15, 0.05]], path]), axis=0))
    assert 0 < steps.max() < 1.5 * PIECE * RATE
    assert (steps.sum(axis=0) > 1e-3).all()
