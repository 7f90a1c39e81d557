"""Problems for a regressor with nothing set: systems driven by an input, chaotic series some steps ahead, real series.

`SET` was looked at while the candidates of `ESNRegressor()` were chosen. `JUDGED` was named before its first run and chose
nothing in that run. Two seeds of its monthly sunspots had three times the error of fixed defaults, with a ridge penalty that
was too small. The rule for ties among penalties was set on `SET` after that, and `FRESH` was named then, before its first run.

A problem is a function of a random seed that gives inputs (T, F), targets (T, O) and the first step of the test. Real series
are the same for every seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from real_series import series
from scipy.integrate import solve_ivp
from scipy.signal import lfilter
from suggest_problems import channel, roessler

import echoscale as es

Floats = npt.NDArray[np.float64]
Problem = Callable[[int], tuple[Floats, Floats, int]]

STEPS, FIRST_OF_TEST = 4000, 3000
NOISE = 0.01  # of measurements, in standard deviations
TEST = 0.25  # of a real series


# ---------------------------------------------------------------------------------------------------------------- the frame


def held(steps: int, rng: np.random.Generator, mean: float, low: float = -1.0, high: float = 1.0) -> Floats:
    """A signal of steps: uniform values, each held for an exponential time."""
    lengths = 1 + rng.exponential(mean, steps).astype(int)
    return np.repeat(rng.uniform(low, high, steps), lengths)[:steps]


def smooth(steps: int, rng: np.random.Generator, memory: float) -> Floats:
    """White noise through a low-pass filter, with unit variance."""
    keep = np.exp(-1 / memory)
    return np.asarray(np.sqrt(1 - keep**2) * lfilter([1.0], [1.0, -keep], rng.standard_normal(steps)))


def driven(system: Callable[[int, np.random.Generator], tuple[Floats, Floats]]) -> Problem:
    """Inputs and measured outputs of a system."""

    def problem(seed: int) -> tuple[Floats, Floats, int]:
        rng = np.random.default_rng(seed)
        u, y = system(STEPS, rng)
        noisy = y + NOISE * y.std() * rng.standard_normal(len(y))
        return u.reshape(STEPS, -1), noisy.reshape(STEPS, -1), FIRST_OF_TEST

    return problem


def made(task: Callable[[int, int], tuple[Floats, Floats]]) -> Problem:
    """A task of a length and a seed."""
    return lambda seed: (*task(STEPS, seed), FIRST_OF_TEST)


def ahead(values: Callable[[int, np.random.Generator], Floats], horizon: int) -> Problem:
    """One variable of a chaotic system, so many samples ahead."""

    def problem(seed: int) -> tuple[Floats, Floats, int]:
        x = values(STEPS + horizon, np.random.default_rng(seed))
        return x[:-horizon, None], x[horizon:, None], FIRST_OF_TEST

    return problem


def real(name: str, horizon: int) -> Problem:
    """A real series some steps ahead; its last quarter is the test."""

    def problem(seed: int) -> tuple[Floats, Floats, int]:
        x = series(name)
        u, y = x[:-horizon, None], x[horizon:, None]
        return u, y, len(u) - int(TEST * len(u))

    return problem


def integrated(
    slope: Callable[[Floats, float], Sequence[float]], start: Sequence[float], u: Floats, dt: float, inner: int = 10
) -> Floats:
    """dx/dt = slope(x, u) with u held for a sample, by the classical Runge-Kutta method: (T, states)."""
    x, found, h = np.asarray(start, np.float64), np.empty((len(u), len(start))), dt / inner
    for t, value in enumerate(u):
        for _ in range(inner):
            a = np.asarray(slope(x, value))
            b = np.asarray(slope(x + h / 2 * a, value))
            c = np.asarray(slope(x + h / 2 * b, value))
            x = x + h / 6 * (a + 2 * b + 2 * c + np.asarray(slope(x + h * c, value)))
        found[t] = x
    return found


def sampled(
    slope: Callable[[float, Floats], Floats], start: Floats, steps: int, every: float, skipped: float = 100.0
) -> Floats:
    """Samples of an autonomous system after its transient: (T, states)."""
    times = skipped + every * np.arange(steps)
    return np.asarray(solve_ivp(slope, (0, times[-1] + every), start, t_eval=times, rtol=1e-8, atol=1e-8).y.T)


# --------------------------------------------------------------------------------------- looked at while candidates were chosen


def duffing(steps: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """x'' = -0.2 x' - x - 2 x^3 + u."""
    u = 1.5 * smooth(steps, rng, 5)
    return u, integrated(lambda x, v: (x[1], -0.2 * x[1] - x[0] - 2 * x[0] ** 3 + v), (0, 0), u, 0.3)[:, 0]


def wiener_hammerstein(steps: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """A filter, a saturation with an offset, and a slower filter."""
    u = rng.standard_normal(steps)
    inside = lfilter([0.3], [1, -0.7], u)
    return u, np.asarray(lfilter([0.05], [1, -0.95], np.tanh(2 * inside + 0.5)))


def bouc_wen(steps: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """An oscillator with hysteresis."""
    u = 2 * smooth(steps, rng, 10)

    def slope(x: Floats, v: float) -> Sequence[float]:
        hysteresis = x[1] - 0.8 * abs(x[1]) * x[2] - 0.5 * x[1] * abs(x[2])
        return x[1], v - 0.3 * x[1] - 0.5 * x[0] - x[2], hysteresis

    return u, integrated(slope, (0, 0, 0), u, 0.3)[:, 0]


def building(steps: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Room temperature: air with 8 hours and walls with 150, from heating, sun through a saturating blind, and weather."""
    weather, sun = smooth(steps, rng, 60), np.maximum(np.sin(2 * np.pi * np.arange(steps) / 24), 0)
    sun = sun * np.abs(smooth(steps, rng, 20))
    heating = held(steps, rng, 10, 0, 1)
    air, wall, found = 0.0, 0.0, np.empty(steps)
    for t in range(steps):
        gain = heating[t] + np.tanh(2 * sun[t])
        air, wall = air + ((wall - air) + gain) / 8 + (weather[t] - air) / 40, wall + (air - wall) / 150
        found[t] = air
    return np.stack([weather, sun, heating], axis=1), found


def slow_tanh(steps: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """tanh of an average over a hundred steps."""
    u = rng.uniform(-1, 1, steps)
    slow = lfilter([0.01], [1, -0.99], u)
    return u, np.tanh(3 * slow / slow.std())


def slow_power(steps: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """An average of squares over fifty steps, times the input."""
    u = rng.standard_normal(steps)
    return u, lfilter([0.02], [1, -0.98], u**2) * u


def logistic(steps: int, rng: np.random.Generator) -> Floats:
    """x(t+1) = 3.8 x (1 - x)."""
    x = [rng.uniform(0.2, 0.8)]
    for _ in range(steps + 99):
        x.append(3.8 * x[-1] * (1 - x[-1]))
    return np.array(x[100:])


SET: dict[str, Problem] = {
    "Duffing": driven(duffing),
    "Wiener-Hammerstein": driven(wiener_hammerstein),
    "Bouc-Wen": driven(bouc_wen),
    "building": driven(building),
    "slow tanh": driven(slow_tanh),
    "slow power": driven(slow_power),
    "NARMA10": made(lambda steps, seed: es.tasks.narma(steps, order=10, seed=seed)),
    "channel": made(channel),
    "Mackey-Glass, 84 ahead": made(lambda steps, seed: es.tasks.mackey_glass(steps, seed=seed, horizon=84)),
    "Lorenz, 10 ahead": made(lambda steps, seed: es.tasks.lorenz(steps, seed=seed, horizon=10)),
    "logistic map, 3 ahead": ahead(logistic, 3),
    "electrocardiogram, 6 ahead": real("electrocardiogram", 6),
    "electricity demand, 6 ahead": real("electricity demand", 6),
    "CO2, 6 ahead": real("CO2, weekly", 6),
    "sunspots, yearly, 1 ahead": real("sunspots, yearly", 1),
    "heart rate, 1 ahead": real("heart rate", 1),
}


# ------------------------------------------------------------------------------------------------------------ that only judge


def tanks(steps: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Two tanks, one above the other: the flow out of each follows the root of its level."""
    u = held(steps, rng, 20, 0, 1.2)

    def slope(x: Floats, v: float) -> Sequence[float]:
        out = np.sqrt(np.maximum(x, 0))
        return v - out[0], out[0] - out[1]

    return u, integrated(slope, (0.3, 0.3), u, 0.1, 2)[:, 1]


def van_der_pol(steps: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """x'' = (1 - x^2) x' - x + u."""
    u = 2 * smooth(steps, rng, 8)
    return u, integrated(lambda x, v: (x[1], (1 - x[0] ** 2) * x[1] - x[0] + v), (0.1, 0), u, 0.3)[:, 0]


def runoff(steps: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Rain on a catchment: soil that fills, a fast store, and groundwater with a memory of 100 days."""
    rain = np.where(rng.random(steps) < 0.3, rng.exponential(1.0, steps), 0)
    soil, fast, slow, found = 0.5, 0.0, 0.0, np.empty(steps)
    for t in range(steps):
        runs_off = rain[t] * soil**2
        soil = float(np.clip(soil + (rain[t] - runs_off) / 15 - 0.02 * soil, 0, 1))
        fast, slow = fast + 0.7 * runs_off - fast / 3, slow + 0.3 * runs_off - slow / 100
        found[t] = fast / 3 + slow / 100
    return rain, found


def stirred_tank(steps: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Concentration in a cooled reactor whose rate grows exponentially with its temperature."""
    u = held(steps, rng, 15)

    def slope(x: Floats, v: float) -> Sequence[float]:
        rate = 0.072 * (1 - x[0]) * np.exp(x[1] / (1 + x[1] / 20))
        return -x[0] + rate, -x[1] + 8 * rate + 0.3 * (v - x[1])

    return u, integrated(slope, (0.2, 1.0), u, 0.1, 4)[:, 0]


def battery(steps: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Voltage of a battery: its charge, two relaxations of 10 and 150 steps, and a resistance that depends on the charge."""
    u = held(steps, rng, 8)
    charge = 0.5 + 0.3 * np.tanh(lfilter([1.0], [1, -0.998], u) / 30)
    quick, slow = lfilter([0.1], [1, -0.9], u), lfilter([1 / 150], [1, -(1 - 1 / 150)], u)
    return u, 3.6 + 0.4 * charge + 0.05 * np.log(charge / (1 - charge)) + 0.05 * u / charge + 0.05 * quick + 0.1 * slow


def synapse(steps: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """A synapse with facilitation and depression (Tsodyks and Markram 1997), driven by spikes of a changing rate."""
    spikes = (rng.random(steps) < 0.15 * (1 + held(steps, rng, 50, -0.9, 0.9))).astype(float)
    use, left, current, found = 0.1, 1.0, 0.0, np.empty(steps)
    for t in range(steps):
        use += (0.1 - use) / 40 + 0.1 * (1 - use) * spikes[t]
        released = use * left * spikes[t]
        left += (1 - left) / 25 - released
        current += released - current / 5
        found[t] = current
    return spikes, found


def valve(steps: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """A valve with a dead zone, then a resonance and a slow lag."""
    u = smooth(steps, rng, 6)
    through = np.sign(u) * np.maximum(np.abs(u) - 0.5, 0)
    ringing = lfilter([0.1], [1, -1.7, 0.8], through)
    return u, np.asarray(lfilter([0.04], [1, -0.96], ringing))


def lorenz_96(steps: int, rng: np.random.Generator) -> Floats:
    """x_k' = (x_{k+1} - x_{k-2}) x_{k-1} - x_k + 8 for five sites, sampled at 0.05: the first site."""

    def slope(_: float, x: Floats) -> Floats:
        return (np.roll(x, -1) - np.roll(x, 2)) * np.roll(x, 1) - x + 8

    return sampled(slope, 8 + rng.standard_normal(5), steps, 0.05, 20.0)[:, 0]


def ikeda(steps: int, rng: np.random.Generator) -> Floats:
    """z(t+1) = 1 + 0.7 z exp(i (0.4 - 6 / (1 + |z|^2))): the real part."""
    z, found = complex(*rng.uniform(-0.1, 0.1, 2)), np.empty(steps + 100)
    for t in range(steps + 100):
        z = 1 + 0.7 * z * np.exp(1j * (0.4 - 6 / (1 + abs(z) ** 2)))
        found[t] = z.real
    return found[100:]


def chua(steps: int, rng: np.random.Generator) -> Floats:
    """Chua's circuit on its double scroll, sampled at 0.2: the first voltage."""

    def slope(_: float, x: Floats) -> Floats:
        bent = -0.714 * x[0] - 0.2145 * (abs(x[0] + 1) - abs(x[0] - 1))
        return np.array([15.6 * (x[1] - x[0] - bent), x[0] - x[1] + x[2], -28 * x[1]])

    return sampled(slope, np.array([0.7, 0, 0]) + 0.01 * rng.standard_normal(3), steps, 0.1, 50.0)[:, 0]


JUDGED: dict[str, Problem] = {
    "tanks": driven(tanks),
    "Van der Pol": driven(van_der_pol),
    "rain and runoff": driven(runoff),
    "stirred tank": driven(stirred_tank),
    "battery": driven(battery),
    "synapse": driven(synapse),
    "valve": driven(valve),
    "Rössler, 10 ahead": made(roessler),
    "Lorenz 96, 5 ahead": ahead(lorenz_96, 5),
    "Ikeda map, 2 ahead": ahead(ikeda, 2),
    "Chua, 10 ahead": ahead(chua, 10),
    "sunspots, monthly, 6 ahead": real("sunspots, monthly", 6),
    "intracranial pressure, 6 ahead": real("intracranial pressure", 6),
    "traded volume, 1 ahead": real("traded volume", 1),
    "Australian beer, 1 ahead": real("Australian beer", 1),
    "prescriptions, 1 ahead": real("prescriptions", 1),
}


# ------------------------------------------------------------------------------------------- that only judge, named last


def pendulum(steps: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """x'' = -0.3 x' - sin x + u."""
    u = 0.8 * smooth(steps, rng, 10)
    return u, integrated(lambda x, v: (x[1], -0.3 * x[1] - np.sin(x[0]) + v), (0, 0), u, 0.3)[:, 0]


def envelope(steps: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """A rectifier that charges within 2 steps and discharges within 60."""
    u, level, found = smooth(steps, rng, 4), 0.0, np.empty(steps)
    for t in range(steps):
        level += max(u[t] - level, 0) / 2 - level / 60
        found[t] = level
    return u, found


def fitzhugh_nagumo(steps: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """A neuron: v' = v - v^3 / 3 - w + u, w' = 0.08 (v + 0.7 - 0.8 w)."""
    u = held(steps, rng, 40, 0, 1)
    return u, integrated(lambda x, v: (x[0] - x[0] ** 3 / 3 - x[1] + v, 0.08 * (x[0] + 0.7 - 0.8 * x[1])), (0, 0), u, 0.5)[:, 0]


def bilinear(steps: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """x(t+1) = A x + u (B x + c) with two states."""
    u, x, found = rng.uniform(-1, 1, steps), np.zeros(2), np.empty(steps)
    A, B, c = np.array([[0.9, 0.2], [-0.2, 0.9]]), np.array([[0.1, 0.0], [0.2, -0.1]]), np.array([1.0, 0.3])
    for t in range(steps):
        x = A @ x + u[t] * (B @ x + c)
        found[t] = x[0]
    return u, found


def thermostat(steps: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """A room whose heating switches on below -0.3 and off above 0.3, in changing weather."""
    weather, heats, room, found = smooth(steps, rng, 30), False, 0.0, np.empty(steps)
    for t in range(steps):
        heats = room < -0.3 or (heats and room < 0.3)
        room += (weather[t] - 1 - room) / 30 + heats / 15
        found[t] = room
    return weather, found


def rod(steps: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Heat along eight cells; the first is heated, the last radiates."""
    u, x, found = held(steps, rng, 25, 0, 2), np.full(8, 0.5), np.empty(steps)
    for t in range(steps):
        flow = 0.3 * np.diff(x)
        x = x + np.append(flow, 0) - np.insert(flow, 0, 0)
        x[0] += 0.1 * u[t]
        x[-1] -= 0.1 * x[-1] ** 4
        found[t] = x[-1]
    return u, found


def averages(steps: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """The product of averages over 5 and 50 steps of two inputs."""
    u = rng.standard_normal((steps, 2))
    quick, slow = lfilter([0.2], [1, -0.8], u[:, 0]), lfilter([0.02], [1, -0.98], u[:, 1])
    return u, np.asarray(quick * slow)


def chemostat(steps: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Cells that grow on a substrate (Monod), with a changing inflow."""
    u = held(steps, rng, 30, 0.1, 0.5)

    def slope(x: Floats, v: float) -> Sequence[float]:
        growth = x[1] / (0.2 + x[1]) * x[0]
        return growth - v * x[0], v * (1 - x[1]) - growth

    return u, integrated(slope, (0.5, 0.3), u, 0.4, 4)[:, 0]


def henon(steps: int, rng: np.random.Generator) -> Floats:
    """x(t+1) = 1 - 1.4 x(t)^2 + 0.3 x(t-1)."""
    x = rng.uniform(-0.1, 0.1, 2).tolist()
    for _ in range(steps + 98):
        x.append(1 - 1.4 * x[-1] ** 2 + 0.3 * x[-2])
    return np.array(x[100:])


def thomas(steps: int, rng: np.random.Generator) -> Floats:
    """x' = sin y - 0.208 x, cyclically for three variables, sampled at 0.5: the first one."""
    return sampled(lambda _, x: np.sin(np.roll(x, -1)) - 0.208 * x, rng.uniform(-1, 1, 3), steps, 0.5)[:, 0]


FRESH: dict[str, Problem] = {
    "pendulum": driven(pendulum),
    "envelope": driven(envelope),
    "FitzHugh-Nagumo": driven(fitzhugh_nagumo),
    "bilinear": driven(bilinear),
    "thermostat": driven(thermostat),
    "rod": driven(rod),
    "product of averages": driven(averages),
    "chemostat": driven(chemostat),
    "Hénon map, 2 ahead": ahead(henon, 2),
    "Thomas, 10 ahead": ahead(thomas, 10),
    "El Niño, 3 ahead": real("El Niño", 3),
    "solar power, 1 ahead": real("solar power", 1),
    "wine, 1 ahead": real("wine", 1),
    "road casualties, 1 ahead": real("road casualties", 1),
    "share, 1 ahead": real("a share", 1),
    "US unemployment, 1 ahead": real("US unemployment", 1),
}
