"""Exponential smoothing of level, slope and season, with many smoothing factors at once on lanes.

    e(t)   = z(t) - l - phi b - s(t mod m)
    l <- l + phi b + alpha e,   b <- phi b + alpha beta e,   s(t mod m) <- s(t mod m) + (1 - alpha) gamma e
    z(t+h) = l + (phi + ... + phi^h) b + s((t+h) mod m)

(Holt 1957; Winters 1960; Gardner and McKenzie 1985). One pass over a series gives the forecasts of every origin. Lanes are
averaged with weights n^k exp(-n/2 log sum e^2), k the penalty of Akaike: no lane is chosen, and none is fitted by a search.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

ALPHAS = (0.01, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 0.999)
BETAS = (0.01, 0.05, 0.15, 0.4)
PHIS = (0.8, 0.9, 0.97)
GAMMAS = (0.001, 0.05, 0.15, 0.4)
NO_TREND, DAMPED, LINEAR = "smoothing", "damped trend", "linear trend"
TRENDS = (NO_TREND, DAMPED, LINEAR)
# Lanes of less weight are left out of a forecast.
LEAST_WEIGHT = 1e-3
# Errors before the forecast are forgotten over so many steps, at least; of few more count than there are.
MEMORY = 500


@dataclass(eq=False)
class Smoothing:
    """All lanes at one time.

    Attributes
    ----------
    period : int
        m; 1 without a season.
    time : int
        Steps so far, by which the phase is known.
    factors : (5, L)
        alpha, beta, phi, gamma, and which of `TRENDS`.
    level, slope : (L,)
        l and b.
    seasons : (m, L)
        s.
    squares : (L,)
        Sum of e^2, the older ones fading.
    count : float
        What the sum counts.
    skip : int
        Steps at the start whose errors do not count.
    """

    period: int
    time: int
    factors: Floats
    level: Floats
    slope: Floats
    seasons: Floats
    squares: Floats
    count: float
    skip: int

    def step(self, value: float) -> None:
        """Take one more value; a gap (NaN) moves all on as forecast.

        Parameters
        ----------
        value : float
            z(t).
        """
        alpha, beta, phi, gamma, _ = self.factors
        phase = self.time % self.period
        slope = phi * self.slope
        self.level = self.level + slope
        self.slope = slope
        if value == value:
            error = value - self.level - self.seasons[phase]
            if self.time >= self.skip:
                fade = 1 - 1 / MEMORY
                self.squares = fade * self.squares + error**2
                self.count = fade * self.count + 1
            self.level = self.level + alpha * error
            self.slope = slope + alpha * beta * error
            self.seasons[phase] += (1 - alpha) * gamma * error
        self.time += 1

    def forecasts(self, steps: int) -> Floats:
        """z(t+1), ..., z(t+steps) for every one of `TRENDS`, (trends, steps): means over its lanes.

        Parameters
        ----------
        steps : int
            How many.
        """
        weights = self.weights()
        used = np.flatnonzero(weights.max(axis=0) > 0)
        ahead = np.arange(1, steps + 1)[:, None]
        phi = self.factors[2, used]
        sums = np.where(phi < 1, phi * (1 - phi**ahead) / np.where(phi < 1, 1 - phi, 1), ahead)
        found = self.level[used] + sums * self.slope[used] + self.seasons[(self.time + ahead[:, 0] - 1) % self.period][:, used]
        return np.asarray(weights[:, used] @ found.T)

    def weights(self) -> Floats:
        """Of every lane within each of `TRENDS`, (trends, L)."""
        kinds = self.factors[4]
        seasonal = self.factors[3] > 0
        size = np.maximum(self.squares, 1e-12 * max(self.count, 1.0))
        score = -0.5 * self.count * np.log(size) - np.where(seasonal, self.period, 0)
        found = np.zeros((len(TRENDS), len(score)))
        for k in range(len(TRENDS)):
            mine = np.flatnonzero(kinds == k)
            each = np.exp(score[mine] - score[mine].max())
            each = np.where(each > LEAST_WEIGHT, each, 0)
            found[k, mine] = each / each.sum()
        return found


def begin(values: Floats, period: int | None) -> Smoothing:
    """Lanes before the first value, with levels, slopes and seasons from the first few of them.

    Parameters
    ----------
    values : (T,)
        A series without gaps; only its start is looked at.
    period : int or None
        m.
    """
    m = period or 1
    gammas = (0.0, *GAMMAS) if m > 1 else (0.0,)
    lanes = [(a, 0.0, 1.0, g, 0.0) for a in ALPHAS for g in gammas]
    lanes += [(a, b, p, g, 1.0) for a in ALPHAS for b in BETAS for p in PHIS for g in gammas]
    lanes += [(a, b, 1.0, g, 2.0) for a in ALPHAS for b in BETAS for g in gammas]
    factors = np.array(lanes).T
    first = values[: max(2 * m, 6)]
    times = np.arange(len(first)) - (len(first) - 1) / 2
    slope = float(times @ first / (times @ times)) if len(first) > 2 else 0.0
    if m > 1:
        # A line through two whole seasons sees their rise, but hardly their form.
        cycles = [first[:m].mean(), first[m : 2 * m].mean()] if len(first) >= 2 * m else [first.mean()] * 2
        slope = (cycles[1] - cycles[0]) / m
    line = first.mean() + slope * times
    rest = first - line
    seasons = np.array([rest[phase::m].mean() if m > 1 else 0.0 for phase in range(m)])
    seasonal = factors[3] > 0
    trending = factors[4] > 0
    level = np.where(seasonal, line[0] - slope, np.where(trending, line[0] - slope, first[: max(len(first) // 2, 1)].mean()))
    return Smoothing(
        m,
        0,
        factors,
        level,
        np.where(trending, slope, 0.0),
        np.where(seasonal, seasons[:, None], 0.0),
        np.zeros(factors.shape[1]),
        0.0,
        min(len(first), len(values) // 4),
    )
