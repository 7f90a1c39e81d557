"""The closed loop of a fitted model against eigenvalues, finite differences, closed forms and known systems."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import echoscale as es
from echoscale.measures import closed_loop
from echoscale.readouts import Columns

SETTLED = 0.1  # share of the free steps that is left out
BLOCKS = 20


def henon(length: int) -> np.ndarray:
    u = np.zeros((length, 2))
    for t in range(length - 1):
        u[t + 1] = 1 - 1.4 * u[t, 0] ** 2 + u[t, 1], 0.3 * u[t, 0]
    return u


def waves(length: int) -> np.ndarray:
    return np.asarray(np.sin(np.arange(length)[:, None] * [0.3, 0.47]) + np.sin(0.11 * np.arange(length))[:, None])


def esn(network: es.Network, inputs: int = 1, **options: Any) -> es.ESNRegressor:
    given = {"dtype": "float64", "random_state": 0, "ridge": 1e-3, "columns": Columns(inputs), **options}
    return es.ESNRegressor(network=network, **given)


HENON = henon(3000)
NVAR = es.NVAR(lags=1, degree=2).fit(HENON[:999], HENON[1:1000])
LINEAR = es.single(6, leak_rate=0.7, spectral_radius=0.8, activation="identity", input_scaling=0.5)


def scaled_map(model: es.ESNRegressor, inputs: int) -> Any:
    """F of (states, last inputs, newest first), in units of the network, from the drawn matrices and the readout alone."""
    m, mean, spread = model.esn_.matrices(), model.scaling_.mean, model.scaling_.spread
    W, coef, b = m.W.toarray(), model.readout_.coef, model.readout_.intercept
    units, features = len(W), len(mean)
    linear = model.esn_.network.reservoirs[0].activation == "identity"

    def advance(z: np.ndarray) -> np.ndarray:
        x, window = z[:units], z[units:]
        y = (coef @ np.concatenate([x, window])[: coef.shape[1]] + b - mean) / spread
        h = W @ x + m.W_in @ y + m.bias
        x = (1 - m.leak_rate) * x + m.leak_rate * (h if linear else np.tanh(h))
        return np.concatenate([x, y, window])[: units + max(inputs, 1) * features]

    return advance


def differences(advance: Any, z: np.ndarray, size: float) -> np.ndarray:
    """dF/dz by central differences."""
    return np.stack([(advance(z + size * e) - advance(z - size * e)) / (2 * size) for e in np.eye(len(z))], axis=1)


@pytest.mark.parametrize("inputs", [0, 2])
def test_exponents_of_a_linear_loop_are_the_logs_of_its_eigenvalues(inputs: int) -> None:
    """Single exponents of a complex pair converge as 1 / T only. The volume that it spans grows alike at every step."""
    u = waves(700)[:, :1]
    model = esn(LINEAR, inputs).fit(u[:499], u[1:500])
    advance, size = scaled_map(model, inputs), 6 + max(inputs, 1)
    moduli = np.sort(np.abs(np.linalg.eigvals(differences(advance, np.zeros(size), 1.0))))[::-1]
    found = closed_loop(model, u[500:], 6, steps=4000, dt=0.5, horizon=10)
    whole = np.flatnonzero(moduli[1:7] < 0.9 * moduli[:6]) + 1  # numbers of directions that leave no pair open
    assert len(whole) >= 2
    expected = np.log(moduli[:6]) / 0.5
    np.testing.assert_allclose(np.cumsum(found.exponents)[whole - 1], np.cumsum(expected)[whole - 1], atol=1e-8)
    np.testing.assert_allclose(found.exponents, expected, atol=5e-3)


def test_exponents_and_errors_are_those_of_a_loop_with_finite_differences() -> None:
    u = waves(900) ** 3
    network = es.single(8, leak_rate=0.8, spectral_radius=0.95, input_scaling=1.2, bias_scaling=0.5)
    model, steps, k = esn(network, 2, ridge=1e-6).fit(u[:599], u[1:600]), 400, 3
    found = closed_loop(model, u[600:], k, steps=steps, seed=5)
    advance, mean, spread = scaled_map(model, 2), model.scaling_.mean, model.scaling_.spread
    warm = (u[600:630] - mean) / spread  # a tenth of u
    z = np.concatenate([model.esn_.run(warm)[-1], warm[-1], warm[-2]])
    q, logs = np.linalg.qr(np.random.default_rng(5).standard_normal((len(z), k)))[0], []
    for _ in range(steps):
        q, r = np.linalg.qr(differences(advance, z, 1e-6) @ q)
        logs.append(np.log(np.abs(np.diag(r))))
        z = advance(z)
    blocks = np.stack(logs)[int(SETTLED * steps) :].reshape(BLOCKS, -1, k).mean(axis=1)
    assert blocks.std() > 0.01  # not a fixed point
    np.testing.assert_allclose(found.exponents, np.sort(blocks.mean(axis=0))[::-1], atol=1e-6)
    order = np.argsort(-blocks.mean(axis=0))
    np.testing.assert_allclose(found.errors, (blocks.std(axis=0, ddof=1) / BLOCKS**0.5)[order], atol=1e-6)


def test_the_henon_map_contracts_areas_by_its_constant() -> None:
    """Its largest exponent is 0.4192 (Sprott 2003); the sum of both is log 0.3 at every step."""
    found = closed_loop(NVAR, HENON[1000:], 2, dt=0.1)
    np.testing.assert_allclose(found.exponents.sum(), 10 * np.log(0.3), atol=1e-6)
    assert abs(found.exponents[0] - 4.192) < 3 * found.errors[0] < 0.2
    assert found.dimension == pytest.approx(1 + found.exponents[0] / -found.exponents[1], rel=1e-12)


@pytest.mark.well
@pytest.mark.parametrize("kind", ["NVAR", "network"])
def test_all_exponents_of_lorenz(kind: str) -> None:
    """0.9056, 0, -14.5723 (Sprott 2003): within four standard errors, which are small."""
    u = es.tasks.lorenz(8000, seed=1)[0]
    network = es.single(200, leak_rate=1.0, spectral_radius=0.1, input_scaling=0.2, bias_scaling=0.7)
    model: Any = es.NVAR(lags=1, degree=4, difference="last", ridge=1e-10) if kind == "NVAR" else esn(network, ridge=1e-7)
    found = closed_loop(model.fit(u[:5999], u[1:6000]), u[6000:], 3, dt=0.02)
    off = np.abs(found.exponents - [0.9056, 0.0, -14.5723])
    assert (off < 4 * found.errors).all(), (off, found.errors)
    assert (found.errors < 0.06).all()
    assert 2.05 < float(found.dimension or 0) < 2.07


def test_forecasts_and_valid_times_are_those_of_the_model() -> None:
    u, begins = HENON[1000:], [7, 928, 1850]
    found = closed_loop(NVAR, u, 1, dt=0.5, steps=400, origins=3, horizon=150, washout=7, threshold=0.2).data
    np.testing.assert_array_equal(found["origin"], begins)
    np.testing.assert_array_equal(found.truth, u[7:157])
    truth = np.stack([u[t : t + 150] for t in begins])
    made = NVAR.forecast(150, warmup=np.stack([u[t - 7 : t] for t in begins]))
    np.testing.assert_array_equal(found.forecast[0], made[0])
    d = np.sqrt((((made - truth) / u.std(axis=0)) ** 2).mean(axis=2))
    first = [int(np.argmax(each > 0.2)) for each in d]
    np.testing.assert_array_equal(found.valid_time[0], 0.5 * np.array(first))
    assert 0 < min(first) < max(first) < 150


def test_draws_are_put_side_by_side() -> None:
    models = [
        esn(es.single(60, spectral_radius=0.1, input_scaling=0.5, bias_scaling=0.5), 0, ridge=1e-7, random_state=seed).fit(
            HENON[:999], HENON[1:1000]
        )
        for seed in range(3)
    ]
    found = closed_loop(models, HENON[1000:], 2, steps=2000)
    alone = [closed_loop(each, HENON[1000:], 2, steps=2000) for each in models]
    np.testing.assert_array_equal(found.data.exponent, [each.exponents for each in alone])
    within = np.sqrt(np.mean([each.errors**2 for each in alone], axis=0) / 3)
    between = np.std([each.exponents for each in alone], axis=0, ddof=1) / 3**0.5
    np.testing.assert_allclose(found.errors, np.maximum(within, between))
    assert found.table["spread over draws"][0] == pytest.approx(3**0.5 * between[0])
    assert set(alone[0].table["spread over draws"]) == {None}
    assert "exponent 2" in repr(found)
    assert "Closed loop of 3 models" in repr(found)
    spectrum, series, times = found.plot().axes
    assert len(series.lines) == 4  # three draws and the truth
    assert len(times.lines) == 3
    assert spectrum.get_title() == "Lyapunov exponents"


def test_a_model_at_rest_has_dimension_zero_and_no_lyapunov_time() -> None:
    u = waves(700)
    found = closed_loop(esn(LINEAR, ridge=10.0).fit(u[:499], u[1:500]), u[500:], 2, steps=400)
    assert (found.exponents < 0).all()
    assert found.dimension == 0
    assert "Lyapunov times" not in repr(found)


def test_too_few_exponents_have_no_dimension() -> None:
    found = closed_loop(NVAR, HENON[1000:], 1, steps=400)
    assert found.dimension is None
    assert "needs more exponents" in repr(found)


def test_a_loop_that_diverges_says_so() -> None:
    growing = 1.01 ** np.arange(400)[:, None]
    model = es.NVAR(lags=1, degree=1, ridge=0.0).fit(growing[:-1], growing[1:])
    with pytest.raises(ValueError, match=r"^the closed loop diverges: after 768 free steps, an output is .* Fit with a larger"):
        closed_loop(model, growing, 1)
    good = es.NVAR(lags=1, degree=1, ridge=1.0).fit(waves(400)[:-1, :1], waves(400)[1:, :1])
    with pytest.raises(ValueError, match=r"^draw 1: the closed loop diverges"):
        closed_loop([good, model], growing, 1)


def test_what_is_refused() -> None:
    u = waves(300)
    with pytest.raises(ValueError, match=r"y\[t\] is not X\[t \+ 1\]"):
        closed_loop(es.NVAR().fit(u[:-2], u[2:]), u)
    fed = esn(es.single(6, feedback_scaling=0.1)).fit(u[:-1], u[1:])
    with pytest.raises(ValueError, match="this model has output feedback"):
        closed_loop(fed, u)
    with pytest.raises(TypeError, match=r"ESNFeatures has no closed loop: give an ESNRegressor or an NVAR"):
        closed_loop(es.ESNFeatures(), u)
    with pytest.raises(ValueError, match="model is an empty list"):
        closed_loop([], u)
    with pytest.raises(ValueError, match=r"k=3 exponents of a loop with 2 states and inputs: there are at most 2"):
        closed_loop(NVAR, HENON, 3)
    with pytest.raises(ValueError, match=r"u has 100 steps, but a warm-up of 10 and a forecast of 95 need at least 105"):
        closed_loop(NVAR, HENON[:100], 1, horizon=95)
    with pytest.raises(ValueError, match="u holds 2 series, but closed_loop needs one"):
        closed_loop(NVAR, [HENON, HENON], 1)
