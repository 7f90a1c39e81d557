"""Conditional exponents against a plain loop with the Jacobian written down, and against determinants and eigenvalues."""

from __future__ import annotations

import numpy as np
import pytest

import echoscale as es
from echoscale.engine.hyper import Hyper, with_lanes
from echoscale.measures import lyapunov_exponents, noise

STEPS, WASHOUT = 300, 40
U = noise(STEPS, seed=5)
ESN = es.hierarchical([8, 4], leak_rate=[0.9, 0.3], spectral_radius=0.9, bias_scaling=0.1, input_scaling=0.3).build(1, seed=0)
GRID = with_lanes(ESN.hyper, {"spectral_radius[0]": [0.5, 1.3, 2.5]})


def jacobians(hyper: Hyper) -> np.ndarray:
    """J = 1 - A + A (1 - tanh^2 h) W along the trajectory from zero, (T, N, N)."""
    m = ESN.matrices(hyper)
    W, x, found = np.asarray(m.W.toarray()), np.zeros(12), list[np.ndarray]()
    for s in U:
        f = np.tanh(W @ x + m.W_in @ s + m.bias)
        found.append(np.diag(1 - m.leak_rate) + (m.leak_rate * (1 - f**2))[:, None] * W)
        x = (1 - m.leak_rate) * x + m.leak_rate * f
    return np.stack(found)


@pytest.fixture(scope="module")
def every_exponent() -> np.ndarray:
    return np.asarray(lyapunov_exponents(ESN, U, 12, washout=WASHOUT, hyper=GRID).exponent)


def test_exponents_are_those_of_benettins_loop(every_exponent: np.ndarray) -> None:
    for lane in range(3):
        q = np.linalg.qr(np.random.default_rng(0).standard_normal((12, 12)))[0]
        logs = np.zeros(12)
        for t, J in enumerate(jacobians(GRID.lane(lane))):
            q, r = np.linalg.qr(J @ q)
            logs += np.log(np.abs(np.diag(r))) * (t >= WASHOUT)
        np.testing.assert_allclose(every_exponent[lane], np.sort(logs / (STEPS - WASHOUT))[::-1], atol=1e-9)


def test_all_exponents_add_up_to_the_mean_log_determinant(every_exponent: np.ndarray) -> None:
    expected = [np.linalg.slogdet(jacobians(GRID.lane(k))[WASHOUT:])[1].mean() for k in range(3)]
    np.testing.assert_allclose(every_exponent.sum(axis=1), expected, atol=1e-9)


def test_some_exponents_with_fewer_decompositions() -> None:
    some = lyapunov_exponents(ESN, U, 3, every=4, washout=WASHOUT, hyper=GRID)
    q = np.linalg.qr(np.random.default_rng(0).standard_normal((12, 3)))[0]
    logs = np.zeros(3)
    J = jacobians(GRID.lane(1))
    for t in range(0, STEPS, 4):
        q, r = np.linalg.qr(J[t + 3] @ J[t + 2] @ J[t + 1] @ J[t] @ q)
        logs += np.log(np.abs(np.diag(r))) * (t >= WASHOUT)
    np.testing.assert_allclose(some.exponent[1], np.sort(logs / (STEPS - WASHOUT))[::-1], atol=1e-9)


def test_weak_input_gives_the_slowest_mode() -> None:
    esn = es.single(10, leak_rate=0.5, topology="ring", spectral_radius=0.9, input_scaling=1e-9).build(1, seed=0)
    slowest = np.log(np.abs(esn.spectrum().eigenvalues).max())
    found = lyapunov_exponents(esn, noise(2000), washout=500)
    assert float(found.exponent[0]) == pytest.approx(float(slowest), abs=1e-6)


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="at most 12"):
        lyapunov_exponents(ESN, U, 13)
    with pytest.raises(ValueError, match=r"u has 60 steps, but a Lyapunov exponent needs at least 106"):
        lyapunov_exponents(ESN, U[:60])


def test_levels_with_a_residual_matrix_and_spread_leak_rates() -> None:
    """J = (1 - A) O + A (1 - tanh^2 h) W with a leak rate for every neuron: the sum of all exponents is that of log |det J|."""
    net = es.single(5, leak_rate=es.LogUniform(0.2, 0.9), residual="orthogonal", spectral_radius=0.9)
    esn = net.build(1, seed=0)
    m = esn.matrices()
    assert m.residual is not None
    W, turn, A, x, logs = m.W.toarray(), m.residual.toarray(), m.leak_rate, np.zeros(5), []
    for s in U:
        f = np.tanh(W @ x + m.W_in @ s + m.bias)
        logs.append(np.linalg.slogdet((1 - A)[:, None] * turn + (A * (1 - f**2))[:, None] * W)[1])
        x = (1 - A) * (turn @ x) + A * f
    found = lyapunov_exponents(esn, U, 5, washout=WASHOUT)
    assert float(found.exponent.sum()) == pytest.approx(np.mean(logs[WASHOUT:]), abs=1e-9)


@pytest.mark.parametrize(("leak", "radius"), [(0.5, 0.9), (1.0, 0.95)])
def test_exponents_are_those_of_resdag_on_the_same_weights(leak: float, radius: float) -> None:
    """In float64. The seed's slowest mode is real and alone: exponents of a pair depend on the first directions."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install resdag")
    layers = pytest.importorskip("resdag.layers", reason="resdag is not installed: pip install resdag")
    metrics = pytest.importorskip("resdag.metrics", reason="resdag is not installed: pip install resdag")
    units, steps, washout = 30, 1200, 200
    network = es.single(units, leak_rate=leak, spectral_radius=radius, input_scaling=0.4, bias_scaling=0.2)
    esn = network.build(1, seed=10, dtype="float64")
    m, u = esn.matrices(), noise(steps, seed=1)
    made = {"topology": m.W.toarray(), "feedback_initializer": m.W_in, "bias_initializer": m.bias[None]}
    given = {name: lambda *_, values=values, **__: torch.tensor(values) for name, values in made.items()}
    layer = layers.ESNLayer(units, feedback_size=1, leak_rate=leak, spectral_radius=None, dtype=torch.float64, **given).eval()
    series = torch.tensor(u[None])
    np.testing.assert_allclose(layer(series)[0].numpy(), esn.run(u), rtol=0, atol=1e-12)
    # Theirs begins where a first run along u ended, and begins u anew; so does ours, with the same steps left out.
    theirs = metrics.reservoir_lyapunov(layer, series, horizon=steps - washout, transient=steps + washout, k=units)
    ours = lyapunov_exponents(esn, np.concatenate([u, u, u]), units, washout=2 * steps + washout).exponent
    assert float(ours[0]) == pytest.approx(theirs[0], abs=1e-9)
    assert float(ours.sum()) == pytest.approx(theirs.sum(), abs=1e-9)
