"""Mackey-Glass and Lorenz against naive integrators, their own equations, closed forms, bifurcations and reservoirpy."""

from __future__ import annotations

import math
import re
import subprocess
import sys
import tracemalloc
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import reservoirpy.datasets as peer
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicHermiteSpline

from echoscale.tasks import lorenz, mackey_glass

Floats = npt.NDArray[np.float64]

# Weights of x[n + k] - x[n - k], k = 1..4, in the central difference of order 8.
DIFFERENCE = np.array([4 / 5, -1 / 5, 4 / 105, -1 / 280])


def derivative(x: Floats, dt: float) -> Floats:
    """dx/dt at every sample but the first and the last four, with an error of dt^8 x^(9) / 630."""
    n = len(x)
    total = np.zeros_like(x[4 : n - 4])
    for k, weight in enumerate(DIFFERENCE, 1):
        total += weight * (x[4 + k : n - 4 + k] - x[4 - k : n - 4 - k])
    return total / dt


def naive_mackey_glass(
    levels: Floats, duration: float, steps: int, delay: float, beta: float, gamma: float, power: float
) -> CubicHermiteSpline:
    """Runge-Kutta of order 4 in scalars, `steps` a delay; between its own steps it looks up the cubic with the same slopes.

    The history runs straight from levels[0] at t = -delay to levels[1] at t = 0.
    """
    h = delay / steps
    x, slope = [float(levels[1])], list[float]()

    def delayed(i: int) -> tuple[float, float, float]:
        """x at the beginning, the middle and the end of step i - steps."""
        if i < steps:
            a, m, b = (levels[0] + (levels[1] - levels[0]) * (i + part) / steps for part in (0.0, 0.5, 1.0))
            return float(a), float(m), float(b)
        a, b = x[i - steps], x[i - steps + 1]
        return a, (a + b) / 2 + h * (slope[i - steps] - slope[i - steps + 1]) / 8, b

    def f(now: float, past: float) -> float:
        return float(beta * past / (1 + past**power) - gamma * now)

    for i in range(int(np.ceil(duration / h)) + 1):
        a, m, b = delayed(i)
        k1 = f(x[i], a)
        k2 = f(x[i] + h / 2 * k1, m)
        k3 = f(x[i] + h / 2 * k2, m)
        k4 = f(x[i] + h * k3, b)
        slope.append(k1)
        x.append(x[i] + h * (k1 + 2 * k2 + 2 * k3 + k4) / 6)
    return CubicHermiteSpline(h * np.arange(len(slope)), x[:-1], slope)


MACKEY_GLASS: list[dict[str, Any]] = [
    {"delay": 17.0, "beta": 0.2, "gamma": 0.1, "power": 10.0},
    {"delay": 5 * np.pi, "beta": 0.2, "gamma": 0.1, "power": 10.0},
    {"delay": 30.3, "beta": 0.2, "gamma": 0.1, "power": 10.0},
    {"delay": 2.3, "beta": 1.0, "gamma": 0.5, "power": 7.0},
    {"delay": 0.7, "beta": 4.0, "gamma": 2.0, "power": 9.65},
    {"delay": 0.3, "beta": 0.2, "gamma": 0.1, "power": 10.0},
    {"delay": 20.0, "beta": 0.2, "gamma": 0.1, "power": 30.0},
]


@pytest.mark.parametrize("constants", MACKEY_GLASS, ids=str)
def test_a_naive_integrator_of_order_4_converges_to_the_series(constants: dict[str, Any]) -> None:
    """Twice the steps, a sixteenth of its error: the series must lie where the loop is going. The samples fall anywhere."""
    dt, steps = constants["delay"] / (2 * math.e), 20 if constants["delay"] < 0.5 else 400
    levels = np.random.default_rng(5).uniform(0.5, 1.3, 2)
    u, _ = mackey_glass(40, 5, dt=dt, discard=0, **constants)
    assert u[0, 0] == pytest.approx(levels[1], rel=1e-13)
    time = dt * np.arange(40)
    coarse, fine = (naive_mackey_glass(levels, time[-1], n, **constants)(time) for n in (steps, 2 * steps))
    assert abs(fine - u[:, 0]).max() < 1e-9
    assert abs(fine - u[:, 0]).max() < 0.2 * abs(fine - coarse).max()


@pytest.mark.parametrize("constants", MACKEY_GLASS, ids=str)
def test_mackey_glass_solves_its_equation(constants: dict[str, Any]) -> None:
    """dx/dt by differences of order 8, far along the series, where no history is known."""
    delay, beta, gamma, power = constants.values()
    steps = int(10 * delay * beta * power)
    dt = delay / steps
    u = mackey_glass(4000, 1, dt=dt, discard=20 * steps, **constants)[0][:, 0]
    past, now = u[4 : -4 - steps], u[4 + steps : -4]
    residual = derivative(u, dt)[steps:] - (beta * past / (1 + past**power) - gamma * now)
    assert abs(residual).max() < 1e-10 * beta


@pytest.mark.parametrize("delay", [17.0, 16.6180339])
def test_the_series_does_not_depend_on_how_it_is_sampled(delay: float) -> None:
    u, y = mackey_glass(600, 3, delay=delay, discard=100, horizon=4)
    finer, later = mackey_glass(1200, 3, delay=delay, discard=200, horizon=8, dt=0.5)
    np.testing.assert_allclose(finer[::2], u, rtol=1e-12)
    np.testing.assert_allclose(later[::2], y, rtol=1e-12)
    np.testing.assert_allclose(mackey_glass(199, 3, delay=delay, discard=34, dt=3.0)[0], u[2:599:3], rtol=1e-12)


def test_mackey_glass_17_is_the_known_attractor() -> None:
    u = mackey_glass(20_000)[0][:, 0]
    assert 0.2 < u.min() < 0.5
    assert 1.25 < u.max() < 1.4
    v = (u - u.mean()) / u.std()
    correlation = [float(np.mean(v[k:] * v[: len(v) - k])) for k in range(75)]
    assert 20 + int(np.argmax(correlation[20:])) == pytest.approx(50, abs=2)


@pytest.mark.parametrize(
    ("numbers", "point"),
    [
        ({"delay": 2.0}, 1.0),
        ({"delay": 4.5, "discard": 5000}, 1.0),
        ({"delay": 1.0, "beta": 0.3}, 2**0.1),
        ({"delay": 3.0, "beta": 0.3, "power": 2.5}, 2**0.4),
        ({"delay": 17.0, "beta": 0.05}, 0.0),
    ],
    ids=str,
)
def test_mackey_glass_settles_where_it_must(numbers: dict[str, Any], point: float) -> None:
    """beta x / (1 + x^power) = gamma x at x = (beta / gamma - 1)^(1 / power), or at 0."""
    np.testing.assert_allclose(mackey_glass(50, 2, **numbers)[0], point, rtol=1e-9, atol=1e-9)


def test_mackey_glass_begins_to_swing_at_the_hopf_bifurcation() -> None:
    """Around 1: dv/dt = -0.4 v(t - delay) - 0.1 v, unstable above delay = acos(-1/4) / w = 4.708, w^2 = 0.4^2 - 0.1^2."""
    w = np.sqrt(0.4**2 - 0.1**2)
    critical = np.arccos(-0.25) / w
    below, above, beyond = (mackey_glass(5000, delay=critical * by, discard=20_000)[0][:, 0] for by in (0.98, 1.02, 1.05))
    np.testing.assert_allclose(below, 1, rtol=1e-9)
    # The swing grows like the square root of the distance, and has the frequency of the bifurcation.
    assert np.ptp(beyond) / np.ptp(above) == pytest.approx((0.05 / 0.02) ** 0.5, rel=0.05)
    up = np.flatnonzero((above[:-1] < 1) & (above[1:] >= 1))
    assert np.diff(up).mean() == pytest.approx(2 * np.pi / w, rel=0.05)


def test_without_forcing_only_the_decay_is_left() -> None:
    u, _ = mackey_glass(200, 7, beta=0.0, gamma=0.03, discard=0, dt=0.9)
    start = np.random.default_rng(7).uniform(0.5, 1.3, 2)[1]
    np.testing.assert_allclose(u[:, 0], start * np.exp(-0.03 * 0.9 * np.arange(200)), rtol=1e-12)


def test_blocks_have_no_seams(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows are sampled a block at a time: blocks of one, two or all windows give one series."""
    whole, _ = mackey_glass(500, 6, dt=0.7, discard=10)
    for panels in (1, 50):
        monkeypatch.setattr(sys.modules["echoscale.tasks.mackey_glass"], "BLOCK", panels)
        np.testing.assert_allclose(mackey_glass(500, 6, dt=0.7, discard=10)[0], whole, rtol=1e-12)


def test_a_long_series_takes_little_more_than_its_own_memory() -> None:
    """Its time, panel, solution, u and y are 8 bytes a sample each; the polynomials of all samples would be 16 times that."""
    tracemalloc.start()
    mackey_glass(500_000, dt=0.001)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2 * 5 * 8 * 500_000


def test_reservoirpy_converges_to_mackey_glass() -> None:
    """From our history. Its steps are of first order, and h is missing from its forcing: a = beta h puts it there."""
    errors = []
    for steps in (340, 680):
        h = 17 / steps
        u = mackey_glass(6 * steps, 4, dt=h, discard=60 * steps)[0][:, 0]
        theirs = peer.mackey_glass(5 * steps, tau=17, a=0.2 * h, x0=u[steps], h=h, history=u[:steps])[:, 0]
        errors.append(abs(theirs - u[steps:]).max())
    assert errors[0] < 0.05
    assert errors[0] / errors[1] == pytest.approx(2, rel=0.2)


def lorenz_flow(_: float, state: Floats) -> Floats:
    x, y, z = state
    return np.array([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])


@pytest.mark.parametrize("dt", [0.004, 0.002])
def test_lorenz_solves_its_equations(dt: float) -> None:
    u, _ = lorenz(4000, 1, dt=dt)
    flow = np.array([lorenz_flow(0, state) for state in u[4:-4]])
    assert abs(derivative(u, dt) - flow).max() < 1e-7 * abs(flow).max()


@pytest.mark.parametrize("method", ["Radau", "LSODA"])
def test_other_integrators_agree_on_lorenz(method: Any) -> None:
    u, y = lorenz(150, 2)
    t = 0.02 * np.arange(151)
    theirs = solve_ivp(lorenz_flow, (0, 3), u[0], method=method, t_eval=t, rtol=1e-10, atol=1e-10).y.T
    np.testing.assert_allclose(u, theirs[:-1], atol=1e-6)
    np.testing.assert_allclose(y, theirs[1:], atol=1e-6)


def test_reservoirpy_agrees_on_lorenz() -> None:
    """It spreads n samples over n h, the end included."""
    u, _ = lorenz(150, 3, dt=0.03)
    theirs = peer.lorenz(150, x0=u[0], h=0.03 * 149 / 150, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(u, theirs, atol=1e-5)


@pytest.mark.parametrize(("sigma", "rho", "beta", "dt"), [(16.0, 45.92, 4.0, 1e-3), (10.0, 3400.0, 8 / 3, 1e-4)])
def test_other_constants_of_lorenz(sigma: float, rho: float, beta: float, dt: float) -> None:
    u, _ = lorenz(2000, 1, sigma=sigma, rho=rho, beta=beta, dt=dt)
    x, y, z = u[4:-4].T
    flow = np.stack([sigma * (y - x), x * (rho - z) - y, x * y - beta * z], axis=1)
    assert abs(derivative(u, dt) - flow).max() < 1e-7 * abs(flow).max()


def test_lorenz_is_the_known_attractor() -> None:
    """Two lobes, visited alike; the mean of z is 23.55, and over a long time the mean of x y is beta times it."""
    u, _ = lorenz(6000)
    x, y, z = u.T
    assert z.mean() == pytest.approx(23.55, abs=0.5)
    assert (x * y).mean() == pytest.approx(8 / 3 * z.mean(), rel=0.01)
    assert 0.3 < (x > 0).mean() < 0.7
    assert abs(x).max() < 21
    assert 0 < z.min() < z.max() < 50


@pytest.mark.parametrize("seed", range(4))
def test_lorenz_settles_where_it_must(seed: int) -> None:
    """rho < 1: at the origin. rho = 10: at one of x = y = +-sqrt(beta (rho - 1)), z = rho - 1."""
    np.testing.assert_allclose(lorenz(10, seed, rho=0.5, dt=0.05)[0], 0, atol=1e-8)
    u = lorenz(10, seed, rho=10.0, dt=0.05)[0]
    side = np.sign(u[0, 0])
    np.testing.assert_allclose(u, np.broadcast_to([side * 24**0.5, side * 24**0.5, 9], u.shape), rtol=1e-7)


def test_both_lobes_are_reached() -> None:
    assert {np.sign(lorenz(1, seed, rho=10.0, dt=0.05)[0][0, 0]) for seed in range(8)} == {-1, 1}


@pytest.mark.parametrize(("task", "width"), [(mackey_glass, 1), (lorenz, 3)])
@pytest.mark.parametrize("horizon", [1, 6, 84])
def test_the_target_is_the_series_later(task: Any, width: int, horizon: int) -> None:
    u, y = task(200, 1, horizon=horizon, discard=100)
    assert u.shape == y.shape == (200, width)
    np.testing.assert_array_equal(y[:-horizon], u[horizon:])
    longer, _ = task(200 + horizon, 1, discard=100)
    np.testing.assert_allclose(longer[:200], u, rtol=1e-9)
    np.testing.assert_allclose(longer[horizon:], y, rtol=1e-9)
    u[:] = 0
    assert y.any()


@pytest.mark.parametrize("task", [mackey_glass, lorenz])
def test_seeds_and_transient(task: Any) -> None:
    np.testing.assert_array_equal(task(50, 3), task(50, 3))
    np.testing.assert_array_equal(task(50), task(50, 0))
    assert (task(50, 3)[0] != task(50, 4)[0]).all()
    np.testing.assert_allclose(task(60, 3, discard=140)[0], task(200, 3, discard=0)[0][140:], rtol=1e-9)
    assert task(1, discard=0, horizon=1)[1].shape[0] == 1


def test_importing_the_tasks_loads_no_scipy() -> None:
    script = "import sys, echoscale.tasks\nassert not {'jax', 'scipy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"gamma": -2.0}, r"delay=17\.0, beta=0\.2, gamma=-2\.0, power=10\.0 runs away"),
        (
            {"beta": -0.5, "power": 9.5},
            r"beta=-0\.5.*power=9\.5.*leaves the real numbers; take gamma above 0 and beta not below 0",
        ),
    ],
    ids=str,
)
def test_a_mackey_glass_that_runs_away_is_refused(numbers: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mackey_glass(1000, **numbers)  # type: ignore[arg-type]


@pytest.mark.parametrize("numbers", [{"beta": -1.0}, {"sigma": -10.0}, {"sigma": -1e150, "rho": 1e150}], ids=str)
def test_a_lorenz_that_runs_away_is_refused(numbers: dict[str, float]) -> None:
    name, value = next(iter(numbers.items()))
    with pytest.raises(
        ValueError, match=rf"Lorenz with .*{name}={re.escape(str(value))}.* runs away; take sigma and beta above 0"
    ) as caught:
        lorenz(1000, **numbers)  # type: ignore[arg-type]
    assert all(f"{name}=" in str(caught.value) for name in ("sigma", "rho", "beta"))


BAD = [
    ({"length": 0}, ValueError, r"length must be at least 1, got 0"),
    ({"length": 2.0}, TypeError, r"length must be a whole number, got 2\.0"),
    ({"seed": -1}, ValueError, r"seed must be at least 0, got -1"),
    ({"horizon": 0}, ValueError, r"horizon must be at least 1, got 0"),
    ({"horizon": 1.5}, TypeError, r"horizon must be a whole number, got 1\.5"),
    ({"discard": -1}, ValueError, r"discard must be at least 0, got -1"),
    ({"dt": 0}, ValueError, r"dt must be above 0, got 0\.0: it is the time between two steps"),
    ({"dt": -0.1}, ValueError, r"dt must be above 0, got -0\.1"),
    ({"dt": np.inf}, ValueError, r"dt must be finite, got inf"),
    ({"beta": np.nan}, ValueError, r"beta must be finite, got nan"),
    ({"beta": "0.2"}, TypeError, r"beta must be a number, got '0\.2'"),
]


@pytest.mark.parametrize(
    ("task", "arguments", "kind", "message"),
    [
        *((task, *case) for task in (mackey_glass, lorenz) for case in BAD),
        (mackey_glass, {"delay": 0.0}, ValueError, r"delay must be above 0, got 0\.0: without a delay"),
        (mackey_glass, {"delay": -17}, ValueError, r"delay must be above 0, got -17\.0"),
        (mackey_glass, {"delay": np.inf}, ValueError, r"delay must be finite, got inf"),
        (mackey_glass, {"dt": 1e30}, ValueError, r"delay=17\.0 and dt=1e\+30 .*; take a shorter dt or a longer delay"),
        (mackey_glass, {"delay": 1e-9}, ValueError, r"delay=1e-09 and dt=1\.0 .*1\.01e\+12 delays; take a shorter dt"),
        (mackey_glass, {"beta": 1e308}, ValueError, r"too much work .*beta=1e\+308"),
        (mackey_glass, {"gamma": True}, TypeError, r"gamma must be a number, got True"),
        (mackey_glass, {"power": -np.inf}, ValueError, r"power must be finite, got -inf"),
        (lorenz, {"sigma": None}, TypeError, r"sigma must be a number, got None"),
        (lorenz, {"rho": np.nan}, ValueError, r"rho must be finite, got nan"),
    ],
)
def test_bad_arguments_are_named(task: Any, arguments: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        task(**{"length": 10, **arguments})
