"""Short series of fifteen kinds, drawn: what the constants of `es.auto`'s simple methods were set on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Rng = np.random.Generator
BURN = 100


def autoregression(rng: Rng, length: int, phi: Sequence[float], freedom: float | None = None) -> Floats:
    """x(t) = sum_k phi_k x(t - k) + e(t), e normal, or of Student's distribution."""
    e = rng.standard_normal(length + BURN) if freedom is None else rng.standard_t(freedom, length + BURN)
    x = np.zeros(length + BURN)
    for t in range(len(phi), len(x)):
        x[t] = sum(each * x[t - 1 - k] for k, each in enumerate(phi)) + e[t]
    return x[BURN:]


def pattern(rng: Rng, period: int, waves: int = 3) -> Floats:
    """One season: some sines of random phase and size."""
    t = np.arange(period)
    sizes, phases = rng.normal(size=waves), rng.uniform(0, 2 * np.pi, waves)
    return np.asarray(
        sum(a * np.sin(2 * np.pi * (k + 1) * t / period + b) for k, (a, b) in enumerate(zip(sizes, phases, strict=True)))
    )


def repeated(rng: Rng, length: int, periods: Sequence[int], waves: int = 3) -> Floats:
    period = int(rng.choice(periods))
    return pattern(rng, period, waves)[np.arange(length) % period]


def walk(rng: Rng, length: int) -> Floats:
    return np.cumsum(rng.standard_normal(length))


def noisy_walk(rng: Rng, length: int) -> Floats:
    return rng.uniform(0.1, 0.6) * walk(rng, length) + rng.standard_normal(length)


def first_order(rng: Rng, length: int) -> Floats:
    return autoregression(rng, length, [rng.uniform(0.5, 0.98)])


def cycles(rng: Rng, length: int) -> Floats:
    size, turn = rng.uniform(0.8, 0.97), 2 * np.pi / rng.uniform(5, 30)
    return autoregression(rng, length, [2 * size * np.cos(turn), -(size**2)])


def growth_rates(rng: Rng, length: int) -> Floats:
    return 0.5 + 0.3 * autoregression(rng, length, [0.3, 0.15], freedom=3)


def trend(rng: Rng, length: int) -> Floats:
    return np.asarray(0.02 * rng.choice([-1, 1]) * np.arange(length) + 0.3 * autoregression(rng, length, [0.7]))


def season(rng: Rng, length: int) -> Floats:
    return 2 * repeated(rng, length, (7, 12, 24)) + autoregression(rng, length, [0.6])


def season_on_a_walk(rng: Rng, length: int) -> Floats:
    return 2 * repeated(rng, length, (4, 12), 2) + 0.3 * walk(rng, length) + 0.3 * rng.standard_normal(length)


def growing_season(rng: Rng, length: int) -> Floats:
    """exp of a line, a season of 12 steps that moves, and a walk."""
    change = 0.02 * rng.standard_normal(length + 13)
    x = np.zeros(length + 13)
    for t in range(13, len(x)):
        x[t] = x[t - 1] + x[t - 12] - x[t - 13] + change[t] - 0.4 * change[t - 1] - 0.6 * change[t - 12]
    return np.exp(0.2 * repeated(rng, length, (12,)) + 0.005 * np.arange(length) + x[13:])


def days(rng: Rng, length: int) -> Floats:
    """Nights of zeros, and days whose size differs, as of solar power."""
    period = int(rng.choice([24, 48]))
    t = np.arange(length)
    sun = np.maximum(0, np.sin(2 * np.pi * (t % period) / period - 1) - 0.1)
    size = np.exp(0.4 * autoregression(rng, length // period + 1, [0.5]))
    return np.asarray(sun * size[t // period] * np.exp(0.075 * autoregression(rng, length, [0.9])))


def moving_season(rng: Rng, length: int) -> Floats:
    period = int(rng.choice([7, 12, 24]))
    x = np.concatenate([3 * pattern(rng, period), np.zeros(length)])
    for t in range(period, len(x)):
        x[t] = x[t - period] + 0.3 * rng.standard_normal()
    return np.asarray(x[period:] + 0.3 * autoregression(rng, length, [0.5]))


def heavy_tails(rng: Rng, length: int) -> Floats:
    return autoregression(rng, length, [0.8, -0.2], freedom=3)


def two_regimes(rng: Rng, length: int) -> Floats:
    x = np.zeros(length + BURN)
    for t in range(1, len(x)):
        x[t] = (0.8 * x[t - 1] if x[t - 1] < 0.3 else 0.8 - 0.5 * x[t - 1]) + 0.5 * rng.standard_normal()
    return x[BURN:]


def counts(rng: Rng, length: int) -> Floats:
    level = 2 + 0.25 * repeated(rng, length, (12,)) + 0.1 * autoregression(rng, length, [0.8])
    return np.asarray(rng.poisson(np.exp(level)), np.float64)


def breaks(rng: Rng, length: int) -> Floats:
    """Levels that jump a few times."""
    x = autoregression(rng, length, [0.4])
    for at in rng.integers(0, length, rng.integers(2, 5)):
        x[at:] += 3 * rng.normal()
    return x


KINDS: dict[str, Callable[[Rng, int], Floats]] = {
    "random walk": walk,
    "noisy walk": noisy_walk,
    "autoregression": first_order,
    "cycles": cycles,
    "growth rates": growth_rates,
    "trend": trend,
    "season": season,
    "season on a walk": season_on_a_walk,
    "growing season": growing_season,
    "days and nights": days,
    "moving season": moving_season,
    "heavy tails": heavy_tails,
    "two regimes": two_regimes,
    "counts": counts,
    "breaks": breaks,
}


def drawn(kind: str, length: int, seed: int) -> Floats:
    """A series of a kind."""
    return np.asarray(KINDS[kind](np.random.default_rng([seed, list(KINDS).index(kind), length]), length), np.float64)
