"""Fixed linear features of the recent past of a series, in place of a first reservoir: the paper's delayed signal."""

from __future__ import annotations

import numpy as np

from paper.types import Floats

# A spawn key that no network uses: one seed may serve this and a network.
STREAM = 1000
# Numbers in a block of windows, about 32 MB: long delays of long series fit into memory.
BLOCK = 1 << 22


class DelayExpansion:
    """x_i(t) = sum_{j=0..delay} xi_ij decay^j s(t - j),   xi_ij ~ N(0, sigma^2),   sigma^2 Var[s] sum_j decay^2j = 1.

    `fit` chooses sigma. Then the variance of x_i over time, averaged over the draws of xi, is 1 for every delay. Before a
    series begins, s is 0, as the state of a network is. A longer delay or more units keep the xi of fewer ones, up to their
    common sigma.

    In a hierarchy, 10 weights N(0, 1) a row drive the second reservoir: the variance of the drive is 10 times that of the
    states. A dense U[-1, 1] input matrix on `units` inputs of variance 1 drives it as strongly with input_scaling = sqrt(30
    / units), and both drives are nearly Gaussian. The states of a first reservoir have a variance below 1: for a drive as
    strong as theirs, multiply by their standard deviation. Fig. 9 shows the difference.
    """

    mixing: Floats  # (units, delay + 1): xi_ij decay^j
    sigma: float

    def __init__(self, delay: int = 10, units: int = 50, decay: float = 0.8, seed: int = 0) -> None:
        self.delay = delay
        self.units = units
        self.decay = decay
        self.seed = seed

    def fit(self, s: Floats) -> DelayExpansion:
        """Draw the mixing and scale it by the variance of s, (T, 1)."""
        weights = self.decay ** np.arange(self.delay + 1)
        self.sigma = 1 / (_spread(s) * float(np.linalg.norm(weights)))
        self.mixing = self.sigma * weights * _draw(self.seed, self.units, self.delay)
        return self

    def transform(self, s: Floats) -> Floats:
        """x_i(t) of every step of s (T, 1), (T, units), as products of windows (rows, lags) with (lags, units)."""
        lags = self.delay + 1
        padded = np.concatenate([np.zeros(self.delay), s[:, 0]])
        windows = np.lib.stride_tricks.sliding_window_view(padded, lags)  # (T, lags), the oldest step first
        matrix = self.mixing[:, ::-1].T.reshape(lags, self.units)
        expanded = np.empty((len(s), self.units))
        rows = max(1, BLOCK // lags)
        for start in range(0, len(s), rows):
            np.matmul(windows[start : start + rows], matrix, out=expanded[start : start + rows])
        return expanded


def _draw(seed: int, units: int, delay: int) -> Floats:
    """N(0, 1), (units, delay + 1). Each lag has a seed of its own and keeps its numbers when the delay changes."""
    children = (np.random.SeedSequence(seed, spawn_key=(STREAM, j, 0)) for j in range(delay + 1))
    return np.stack([np.random.default_rng(each).standard_normal(units) for each in children], axis=1)


def _spread(s: Floats) -> float:
    """The standard deviation of s over its steps."""
    apart = s - s.mean(axis=0)
    largest = np.abs(apart).max()
    return float(largest * np.linalg.norm(apart / largest) / len(s) ** 0.5)
