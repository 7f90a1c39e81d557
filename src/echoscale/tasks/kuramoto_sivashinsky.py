"""Kuramoto-Sivashinsky: chaos in space and time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from echoscale._internal import checks
from echoscale._internal.types import Complex, Floats

Advance = Callable[[Complex], Complex]

# Points on a circle around every eigenvalue, over which the coefficients of the integrator are averaged (Kassam and Trefethen
# 2005): their formulas are differences of nearly equal numbers.
CONTOUR = 32
ADVANCE = 0.125  # the longest step of the integrator


def kuramoto_sivashinsky(
    length: int,
    seed: int = 0,
    *,
    horizon: int = 1,
    size: float = 22.0,
    points: int = 64,
    dt: float = 0.25,
    discard: int = 1000,
) -> tuple[Floats, Floats]:
    """Kuramoto-Sivashinsky equation on a ring, chaotic in space and time: predict the whole field `horizon` samples ahead.

        dv/dt = -v dv/dx - d^2v/dx^2 - d^4v/dx^4,   u[n] = v(x_1 ... x_points, (discard + n) dt),   y[n] = u[n + horizon]

    The field begins as small random waves, and the first `discard` samples are left out. The solver uses Fourier modes in space
    and fourth-order exponential Runge-Kutta steps in time (Cox and Matthews 2002; Kassam and Trefethen 2005). The largest
    Lyapunov exponent is about 0.043 at size 22. Chaos amplifies rounding: on another machine, the same seed gives the same
    beginning, but later a different part of the same attractor.

    Parameters
    ----------
    length : int
        Number of steps.
    seed : int
        Random seed.
    horizon : int
        Number of samples to predict ahead.
    size : float
        Length of the ring. The field is chaotic for sizes above about 18.
    points : int
        Number of sample points on the ring, even.
    dt : float
        Time between two samples.
    discard : int
        Number of samples at the start that are left out.

    Returns
    -------
    (u, y)
        Input and target, each (length, points), float64.

    Examples
    --------
    >>> import echoscale as es
    >>> u, y = es.tasks.kuramoto_sivashinsky(100, points=32)
    >>> u.shape, bool((u[1:] == y[:-1]).all())
    ((100, 32), True)
    """
    length = checks.integer(length, "length", minimum=1)
    rng = np.random.default_rng(checks.integer(seed, "seed"))
    horizon = checks.integer(horizon, "horizon", minimum=1)
    discard = checks.integer(discard, "discard")
    points = checks.integer(points, "points", minimum=8)
    if points % 2:
        raise ValueError(f"points must be even, got {points}: the Fourier modes come in pairs.")
    size, dt = checks.time_step(size, "size"), checks.time_step(dt)
    parts = int(np.ceil(dt / ADVANCE))
    advance = _stepper(size, points, dt / parts)
    x = 2 * np.pi * np.arange(points) / points
    waves = rng.normal(size=(3, 1)) * np.cos(np.arange(1, 4)[:, None] * x + rng.uniform(0, 2 * np.pi, (3, 1)))
    mode = np.fft.rfft(0.5 * waves.sum(axis=0))
    field = np.empty((discard + length + horizon, points))
    for n in range(len(field)):
        for _ in range(parts):
            mode = advance(mode)
        field[n] = np.fft.irfft(mode, points)
    found = field[discard:]
    return found[:length].copy(), found[horizon:].copy()


def _stepper(size: float, points: int, dt: float) -> Advance:
    """One step of the modes (points / 2 + 1,); the mean and the highest mode are always 0."""
    wave = 2 * np.pi / size * np.arange(points // 2 + 1)
    linear = wave**2 - wave**4
    around = np.exp(1j * np.pi * (np.arange(1, CONTOUR + 1) - 0.5) / CONTOUR)
    z = dt * linear[:, None] + around
    whole, half = np.exp(dt * linear), np.exp(dt * linear / 2)
    middle = dt * np.mean((np.exp(z / 2) - 1) / z, axis=1).real
    first = dt * np.mean((-4 - z + np.exp(z) * (4 - 3 * z + z**2)) / z**3, axis=1).real
    second = dt * np.mean((2 + z + np.exp(z) * (-2 + z)) / z**3, axis=1).real
    third = dt * np.mean((-4 - 3 * z - z**2 + np.exp(z) * (4 - z)) / z**3, axis=1).real
    slope = -0.5j * wave
    slope[-1] = 0

    def bend(mode: Complex) -> Complex:
        return np.asarray(slope * np.fft.rfft(np.fft.irfft(mode, points) ** 2))

    def advance(mode: Complex) -> Complex:
        now = bend(mode)
        a = half * mode + middle * now
        at_a = bend(a)
        b = half * mode + middle * at_a
        at_b = bend(b)
        c = half * a + middle * (2 * at_b - now)
        return np.asarray(whole * mode + first * now + 2 * second * (at_a + at_b) + third * bend(c))

    return advance
