"""Two groups of problems: those that the constants of `timescales.suggest` were set on, and those that only judge it.

A problem is a function of a length and a seed that gives inputs (T, F) and targets (T, O). No problem stands in both groups.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import scipy.signal

import echoscale as es

Floats = npt.NDArray[np.float64]
Pair = tuple[Floats, Floats]


def uniform(steps: int, seed: int) -> Floats:
    """White noise in [-1, 1]."""
    return np.random.default_rng(seed).uniform(-1, 1, steps)


def delayed(u: Floats, k: int) -> Floats:
    """u(t - k), zero before the series begins."""
    return np.concatenate([np.zeros(k), u[: len(u) - k]])


def columns(u: Floats, y: Floats) -> Pair:
    """(T, 1) each."""
    return u.reshape(len(u), -1), y.reshape(len(y), -1)


def ahead(x: Floats, horizon: int) -> Pair:
    """A series, and the same series so many steps later."""
    return columns(x[:-horizon], x[horizon:])


# ------------------------------------------------------------------------------------------------- the constants were set on


def delay_5(steps: int, seed: int) -> Pair:
    """y(t) = u(t-5)."""
    u = uniform(steps, seed)
    return columns(u, delayed(u, 5))


def delay_20(steps: int, seed: int) -> Pair:
    """y(t) = u(t-20)."""
    u = uniform(steps, seed)
    return columns(u, delayed(u, 20))


def product(steps: int, seed: int) -> Pair:
    """y(t) = u(t-1) u(t-3)."""
    u = uniform(steps, seed)
    return columns(u, delayed(u, 1) * delayed(u, 3))


def low_pass(steps: int, seed: int) -> Pair:
    """y(t) = 0.9 y(t-1) + u(t)."""
    u = uniform(steps, seed)
    return columns(u, scipy.signal.lfilter([1.0], [1.0, -0.9], u))


def logistic(steps: int, seed: int) -> Pair:
    """x(t+1) = 3.9 x(t) (1 - x(t)), one step ahead."""
    x = [np.random.default_rng(seed).uniform(0.2, 0.8)]
    for _ in range(steps + 100):
        x.append(3.9 * x[-1] * (1 - x[-1]))
    return ahead(np.array(x)[100 : steps + 101], 1)


def noisy_cycle(steps: int, seed: int) -> Pair:
    """An autoregression with a cycle of about 11 steps, like yearly sunspots, one step ahead: mostly noise."""
    e = np.random.default_rng(seed).standard_normal(steps + 1)
    return ahead(scipy.signal.lfilter([1.0], [1.0, -2 * 0.95 * np.cos(2 * np.pi / 11), 0.95**2], e), 1)


def narma(order: int, **more: float | bool) -> Callable[[int, int], Pair]:
    """NARMA of some order."""
    return lambda steps, seed: es.tasks.narma(steps, order=order, seed=seed, **more)  # type: ignore[arg-type]


def mackey_glass(horizon: int) -> Callable[[int, int], Pair]:
    """Mackey-Glass so many steps ahead."""
    return lambda steps, seed: es.tasks.mackey_glass(steps, seed=seed, horizon=horizon)


def lorenz(horizon: int) -> Callable[[int, int], Pair]:
    """Lorenz so many steps ahead, all three variables."""
    return lambda steps, seed: es.tasks.lorenz(steps, seed=seed, horizon=horizon)


# ------------------------------------------------------------------------------------------------------- that only judge it


def channel(steps: int, seed: int) -> Pair:
    """Equalise a nonlinear channel: symbols of -3, -1, 1, 3 from a noisy mixture of ten of them (Jaeger and Haas 2004)."""
    rng = np.random.default_rng(seed)
    d = rng.choice([-3.0, -1.0, 1.0, 3.0], steps + 2)
    taps = [0.08, -0.12, 1, 0.18, -0.1, 0.091, -0.05, 0.04, 0.03, 0.01]
    q = np.convolve(d, taps)[2 : steps + 2]
    u = q + 0.036 * q**2 - 0.011 * q**3
    u = u + rng.standard_normal(steps) * u.std() * 10 ** (-24 / 20)
    return columns(u, delayed(d[:steps], 2))


def far_product(steps: int, seed: int) -> Pair:
    """y(t) = u(t-3) u(t-8)."""
    u = uniform(steps, seed)
    return columns(u, delayed(u, 3) * delayed(u, 8))


def smoothing(steps: int, seed: int) -> Pair:
    """The mean of the last 15 inputs."""
    u = uniform(steps, seed)
    return columns(u, np.convolve(u, np.full(15, 1 / 15))[:steps])


def delay_12(steps: int, seed: int) -> Pair:
    """y(t) = u(t-12)."""
    u = uniform(steps, seed)
    return columns(u, delayed(u, 12))


def henon(steps: int, seed: int) -> Pair:
    """x(t+1) = 1 - 1.4 x(t)^2 + 0.3 x(t-1), one step ahead."""
    x = list(np.random.default_rng(seed).uniform(-0.1, 0.1, 2))
    for _ in range(steps + 100):
        x.append(1 - 1.4 * x[-1] ** 2 + 0.3 * x[-2])
    return ahead(np.array(x)[100 : steps + 101], 1)


def roessler(steps: int, seed: int) -> Pair:
    """dx = -y - z, dy = x + 0.2 y, dz = 0.2 + z (x - 5.7), sampled at 0.2: x, 10 samples ahead."""
    from scipy.integrate import solve_ivp

    start = np.random.default_rng(seed).uniform(-1, 1, 3)
    times = 100 + 0.2 * np.arange(steps + 10)
    solution = solve_ivp(
        lambda _, s: [-s[1] - s[2], s[0] + 0.2 * s[1], 0.2 + s[2] * (s[0] - 5.7)],
        (0, times[-1] + 1),
        start,
        t_eval=times,
        rtol=1e-8,
        atol=1e-8,
    )
    return ahead(solution.y[0], 10)


def bilinear(steps: int, seed: int) -> Pair:
    """y(t) = 0.5 y(t-1) + 0.3 y(t-1) u(t) + u(t-2)^2."""
    u = uniform(steps, seed)
    y = np.zeros(steps)
    for t in range(2, steps):
        y[t] = 0.5 * y[t - 1] + 0.3 * y[t - 1] * u[t] + u[t - 2] ** 2
    return columns(u, y)


def two_memories(steps: int, seed: int) -> Pair:
    """Two inputs, two targets: one that remembers two steps and multiplies, one that averages over forty."""
    u = np.stack([uniform(steps, 2 * seed), uniform(steps, 2 * seed + 1)], axis=1)
    fast = delayed(u[:, 0], 1) * delayed(u[:, 1], 2)
    slow = np.convolve(u[:, 1], np.full(40, 1 / 40))[:steps]
    return u, np.stack([fast, slow], axis=1)


def walk(steps: int, seed: int) -> Pair:
    """A random walk that is drawn back to 0, seen with noise, one step ahead: there is little to gain."""
    rng = np.random.default_rng(seed)
    x = scipy.signal.lfilter([1.0], [1.0, -0.98], rng.standard_normal(steps + 1))
    return ahead(x + 2 * rng.standard_normal(steps + 1), 1)


SET: dict[str, Callable[[int, int], Pair]] = {
    "NARMA5": narma(5),
    "NARMA10": narma(10),
    "NARMA20 (saturated, d = 0.01)": narma(20, saturate=True, d=0.01),
    "Mackey-Glass, 1 ahead": mackey_glass(1),
    "Mackey-Glass, 10 ahead": mackey_glass(10),
    "Lorenz, 1 ahead": lorenz(1),
    "Lorenz, 10 ahead": lorenz(10),
    "delay of 5": delay_5,
    "delay of 20": delay_20,
    "u(t-1) u(t-3)": product,
    "low-pass filter": low_pass,
    "logistic map": logistic,
    "noisy cycle": noisy_cycle,
}
JUDGED: dict[str, Callable[[int, int], Pair]] = {
    "channel equalisation": channel,
    "u(t-3) u(t-8)": far_product,
    "smoothing": smoothing,
    "delay of 12": delay_12,
    "Hénon": henon,
    "Rössler, 10 ahead": roessler,
    "bilinear system": bilinear,
    "two targets, two memories": two_memories,
    "noisy walk": walk,
}
GROUPS = {"set": SET, "judged": JUDGED}
