"""Driven problems that only judge: measured systems, and made ones that stand in no other group of problems here.

A problem is a function of a random seed that gives inputs (T, F), outputs (T, 1) and the first step of the test. Measured data
are the same for every seed. All problems were named before the first run of `driven.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from more_series import measured
from regressor_problems import TEST, Problem, driven, held, integrated, smooth
from scipy.signal import lfilter

Floats = npt.NDArray[np.float64]


def neutralisation(steps: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Acidity of a stirred tank in which acid and a changing flow of base meet: an average over 15 steps, then titration."""
    base = held(steps, rng, 12, 0.6, 1.4)
    excess = lfilter([1 / 15], [1, -14 / 15], base - 1)
    return base, np.asarray(7 + 2 * np.arcsinh(40 * excess))


def exchanger(steps: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Temperature at the end of a pipe behind a heater: gain that falls with the flow, a delay of 25 steps, a lag of 12."""
    heat, flow = held(steps, rng, 15, 0, 1), 1 + 0.4 * np.tanh(smooth(steps, rng, 30))
    warmed = np.concatenate([np.zeros(25), (heat / flow)[:-25]])
    return np.stack([heat, flow], axis=1), np.asarray(lfilter([1 / 12], [1, -11 / 12], warmed))


def backlash(steps: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """A gear with play, and a flywheel behind it."""
    u, gear, found = smooth(steps, rng, 12), 0.0, np.empty(steps)
    for t in range(steps):
        gear = min(max(gear, u[t] - 0.6), u[t] + 0.6)
        found[t] = gear
    return u, np.asarray(lfilter([0.3], [1, -0.7], found))


def glucose(steps: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Blood sugar after meals and insulin (the minimal model of Bergman): insulin acts for a hundred steps."""
    meals = np.where(rng.random(steps) < 0.02, rng.uniform(0.5, 1.5, steps), 0)
    doses = np.where(rng.random(steps) < 0.03, rng.uniform(0.2, 1, steps), 0)
    gut, plasma = lfilter([0.1], [1, -0.9], meals), lfilter([0.2], [1, -0.8], doses)
    action, sugar, found = 0.0, 1.0, np.empty(steps)
    for t in range(steps):
        action += plasma[t] / 40 - action / 100
        sugar += 0.01 * (1 - sugar) - action * sugar + 0.5 * gut[t]
        found[t] = sugar
    return np.stack([meals, doses], axis=1), found


def quarter_car(steps: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Body of a car on a rough road: a stiffening spring, and a damper that resists rebound more than compression."""
    road = smooth(steps, rng, 4)

    def slope(x: Floats, v: float) -> Sequence[float]:
        stretch, speed = x[0] - x[2], x[1] - x[3]
        force = 1.5 * stretch + stretch**3 + (0.6 if speed > 0 else 0.2) * speed
        return x[1], -force, x[3], 6 * (force - 8 * (x[2] - v) - 0.3 * x[3])

    return road, integrated(slope, (0, 0, 0, 0), road, 0.3)[:, 0]


def two_paths(steps: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Two paths side by side: a fast filter that saturates, and the square of a filter with a memory of 120 steps."""
    u = rng.standard_normal(steps)
    fast, slow = lfilter([0.4], [1, -0.6], u), lfilter([1 / 120], [1, -119 / 120], u)
    slow = slow / slow.std()
    return u, np.asarray(np.tanh(1.5 * fast) + 0.4 * (slow**2 - 1))


def epidemic(steps: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Share of the infected when contacts change: an infection lasts 10 steps, immunity 150."""
    contacts = held(steps, rng, 30, 0.15, 0.5)

    def slope(x: Floats, v: float) -> Sequence[float]:
        infections = v * x[0] * x[1] + 1e-4
        return (1 - x[0] - x[1]) / 150 - infections, infections - x[1] / 10

    return contacts, integrated(slope, (0.5, 0.05), contacts, 1.0, 2)[:, 1]


def friction(steps: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Speed of a motor whose dry friction falls as it starts to turn (Stribeck)."""
    u = 1.5 * smooth(steps, rng, 8)

    def slope(x: Floats, v: float) -> Sequence[float]:
        return (v - np.tanh(20 * x[0]) * (0.4 + 0.5 * np.exp(-((x[0] / 0.3) ** 2))) - 0.3 * x[0],)

    return u, integrated(slope, (0,), u, 0.3)[:, 0]


def of_record(name: str) -> Problem:
    """A measured system; the last quarter of the record is the test."""

    def problem(seed: int) -> tuple[Floats, Floats, int]:
        u, y = measured(name)
        return u, y, len(u) - int(TEST * len(u))

    return problem


MADE: dict[str, Problem] = {
    "neutralisation": driven(neutralisation),
    "heat exchanger": driven(exchanger),
    "backlash": driven(backlash),
    "glucose": driven(glucose),
    "quarter car": driven(quarter_car),
    "two paths": driven(two_paths),
    "epidemic": driven(epidemic),
    "friction": driven(friction),
}
# Weather, clock or air in, what people or nature make of it out.
REAL: dict[str, Problem] = {
    name: of_record(name)
    for name in (
        "bicycles from weather and clock",
        "road traffic from weather and clock",
        "Beijing dust from weather",
        "gas of a house from weather",
        "electricity demand from weather and clock",
        "inflow of a lake from weather",
        "deaths from weather and air",
        "new fish from air pressure",
    )
}
