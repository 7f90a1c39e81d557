"""Fig. 8 against a naive simulation, matrix powers, and the paper's formula as loops."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import xarray
from naive import states_of

from echoscale.sweeps import Runner
from paper import fig8_relaxation as fig8
from paper import gallery

SMOKE = fig8.SETTINGS["smoke"]


@pytest.fixture(scope="module")
def data() -> xarray.Dataset:
    return fig8.compute(fig8.SETTINGS["smoke"], "smoke", Runner())


def test_the_experiment_is_the_equation_of_the_paper() -> None:
    """x' = (1 - alpha) x + alpha tanh(gamma W_in s + rho W x), unit by unit; the pulse ends where t = 0."""
    settings = fig8.Settings(input_scalings=(0.05, 2.0), seeds=(0,), units=12, pulse=20, steps=15)
    esn = fig8.reservoir(settings, seed=0)
    states = fig8.relaxation(esn, settings.input_scalings, settings.pulse, settings.steps)
    assert states.shape == (2, 16, 12)
    hyper = esn.hyper.replace(input_scaling=[np.array(settings.input_scalings)])
    u = [[1.0]] * 20 + [[0.0]] * 15
    for lane in range(2):
        np.testing.assert_allclose(states[lane], states_of(esn, u, hyper=hyper, lane=lane)[19:], rtol=0, atol=1e-13)


def test_the_theory_is_powers_of_the_matrix() -> None:
    """v_i^T M^t x(0) with M = (1 - alpha) I + alpha rho W from the drawn matrix."""
    esn = fig8.reservoir(SMOKE, seed=1)
    matrix = (1 - SMOKE.leak_rate) * np.eye(SMOKE.units)
    matrix += SMOKE.leak_rate * SMOKE.spectral_radius * esn.drawn.recurrent[0].toarray()
    start = np.random.default_rng(0).uniform(-1, 1, SMOKE.units)
    values, left = fig8.unit_modes(esn.linearised())
    np.testing.assert_allclose(left @ matrix, values[:, None] * left, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(left, axis=1), 1)
    assert (np.diff(np.abs(values)) < 1e-9).all()
    states = np.stack([np.linalg.matrix_power(matrix, t) @ start for t in range(31)])
    measured, predicted = fig8.experiment_and_theory(states, values, left)
    np.testing.assert_allclose(measured, states @ left.T, rtol=0, atol=1e-13)
    np.testing.assert_allclose(predicted, measured, rtol=0, atol=1e-11)


def test_without_tanh_experiment_and_theory_agree() -> None:
    """The same pulse through x' = M x + gamma B s, written out: the prediction holds to rounding at any input scaling."""
    esn = fig8.reservoir(SMOKE, seed=2)
    matrices = esn.matrices()
    x = np.zeros(SMOKE.units)
    states = []
    for t in range(SMOKE.pulse + SMOKE.steps):
        s = 3.0 if t < SMOKE.pulse else 0.0
        h = matrices.W @ x + matrices.W_in[:, 0] * s
        x = (1 - SMOKE.leak_rate) * x + SMOKE.leak_rate * h
        states.append(x)
    values, left = fig8.unit_modes(esn.linearised())
    measured, predicted = fig8.experiment_and_theory(np.stack(states)[SMOKE.pulse - 1 :], values, left)
    assert np.abs(measured).max() > 0.1
    np.testing.assert_allclose(predicted, measured, rtol=0, atol=1e-10)


def test_errors_are_the_formulas_as_loops() -> None:
    rng = np.random.default_rng(0)
    measured, predicted = rng.normal(size=(2, 9, 4))
    times, modes = measured.shape
    squares, normalised = 0.0, 0.0
    for i in range(modes):
        y = [float(each) for each in measured[:, i]]
        total = 0.0
        for t in range(times):
            squares += (predicted[t, i] - y[t]) ** 2
            total += math.sqrt((predicted[t, i] - y[t]) ** 2 / (times - 1))
        normalised += total / (modes * abs(max(y) - min(y)))
    assert fig8.rmse(measured, predicted) == pytest.approx(math.sqrt(squares / (times * modes)), rel=1e-13)
    assert fig8.nrmse1(measured, predicted) == pytest.approx(normalised, rel=1e-13)
    stacked = fig8.nrmse1(np.stack([measured, 2 * measured]), np.stack([predicted, 2 * predicted]))
    np.testing.assert_allclose(stacked, normalised, rtol=1e-13)  # free of scale


def test_only_the_error_of_moduli_is_free_of_phases() -> None:
    rng = np.random.default_rng(1)
    measured, predicted = rng.normal(size=(2, 9, 4)) + 1j * rng.normal(size=(2, 9, 4))
    total = 0.0
    for i in range(4):
        largest = max(abs(each) for each in measured[:, i])
        total += sum(abs(predicted[t, i] - measured[t, i]) for t in range(9)) / largest / math.sqrt(8) / 4
    assert fig8.modulus(measured, predicted) == pytest.approx(total, rel=1e-13)
    phases = np.exp(1j * rng.uniform(0, 2 * np.pi, 4))
    assert fig8.modulus(measured * phases, predicted * phases) == pytest.approx(total, rel=1e-13)
    real = fig8.nrmse1(measured.real, predicted.real)
    assert abs(fig8.nrmse1((measured * phases).real, (predicted * phases).real) / real - 1) > 1e-2


def test_errors_are_those_of_naive_states(data: xarray.Dataset) -> None:
    """One network and input scaling from the naive simulation to the error, eigenvectors computed here."""
    gamma, seed = 0.5, 1
    esn = fig8.reservoir(SMOKE, seed)
    hyper = esn.hyper.replace(input_scaling=[gamma])
    u = [[1.0]] * SMOKE.pulse + [[0.0]] * SMOKE.steps
    states = states_of(esn, u, hyper=hyper)[SMOKE.pulse - 1 :]
    matrix = (1 - SMOKE.leak_rate) * np.eye(SMOKE.units) + SMOKE.leak_rate * esn.matrices().W.toarray()
    values, right = np.linalg.eig(matrix)
    left = np.linalg.inv(right)
    left /= np.linalg.norm(left, axis=1, keepdims=True)
    y = states @ left.T
    theory = y[0] * values ** np.arange(len(y))[:, None]
    difference = (theory - y).real
    expected = math.sqrt((difference**2).mean())
    assert float(data["rmse"].sel(gamma=gamma, seed=seed)) == pytest.approx(expected, rel=1e-8)
    expected = np.mean(np.abs(difference).sum(axis=0) / np.ptp(y.real, axis=0)) / math.sqrt(SMOKE.steps)
    assert float(data["nrmse1"].sel(gamma=gamma, seed=seed)) == pytest.approx(expected, rel=1e-8)


def test_the_theory_fails_more_the_stronger_the_input(data: xarray.Dataset) -> None:
    for name in ("rmse", "nrmse1", "modulus"):
        mean = data[name].mean("seed").values
        assert (np.diff(mean) > 0).all()
    assert float(data["nrmse1"].sel(gamma=0.05).max()) < 0.02


def test_small_errors_grow_with_the_cube_of_the_input() -> None:
    """tanh h = h - h^3 / 3 + ...: twice the input, eight times the error."""
    settings = fig8.Settings(input_scalings=(1e-3, 2e-3), seeds=(0,), units=SMOKE.units)
    small, double = fig8.errors_of(settings, 0)["rmse"]
    assert double / small == pytest.approx(8, rel=1e-2)


def test_the_modes_shown_are_the_slowest(data: xarray.Dataset) -> None:
    values = data["eigenvalue_real"].values + 1j * data["eigenvalue_imag"].values
    matrix = fig8.reservoir(SMOKE, SMOKE.shown_seed).linearised().M.toarray()
    every = np.linalg.eigvals(matrix)
    upper = every[every.imag > -1e-12]
    np.testing.assert_allclose(np.abs(values), np.sort(np.abs(upper))[::-1][: len(values)], rtol=1e-10)
    np.testing.assert_allclose(data["timescale"], -1 / np.log(np.abs(values)))
    predicted = data["predicted"].values
    np.testing.assert_array_equal(predicted[:, 0], data["measured"].isel(time=0))
    # The real part of c lambda^t obeys y(t+2) = 2 Re(lambda) y(t+1) - |lambda|^2 y(t), whatever c.
    follows = 2 * values.real[:, None] * predicted[:, 1:-1] - np.abs(values[:, None]) ** 2 * predicted[:, :-2]
    np.testing.assert_allclose(predicted[:, 2:], follows, rtol=0, atol=1e-14)


def test_the_figure_and_its_file(data: xarray.Dataset, tmp_path: Path) -> None:
    made = gallery.make(8, "smoke", tmp_path)
    again = gallery.make(8, "smoke", tmp_path)
    assert (made.reused, again.reused) == (False, True)
    for name in data.data_vars:
        np.testing.assert_array_equal(again.data[name], data[name])
        assert again.data[name].attrs == data[name].attrs
    assert made.picture.stat().st_size > 10_000
    figure = fig8.draw(data)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["A1", "A2", "A3", "A4", "B"]
    assert figure.get_suptitle().startswith("Fig. 8")


def test_every_scale_is_plain_numbers() -> None:
    assert set(fig8.SETTINGS) == {"smoke", "quick", "paper"}
    for settings in fig8.SETTINGS.values():
        assert all(type(each) is float for each in settings.input_scalings)
        assert settings.shown_input_scaling == 0.05
        assert 0.05 in settings.input_scalings
