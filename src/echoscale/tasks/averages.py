"""Averages: several timescales by construction, with the nonlinearity before the slow memory, after it, or both."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from echoscale._internal import checks
from echoscale._internal.types import Floats

# Inputs before the first step, in units of the slowest timescale: older inputs have a weight below exp(-40).
PAST = 40
# Variance and fourth cumulant, E s^4 - 3 (E s^2)^2, of s uniform in [-1, 1].
VARIANCE, FOURTH = 1 / 3, -2 / 15


def averages(
    length: int, seed: int = 0, *, timescales: float | Sequence[float] = (3.0, 30.0), inside: float = 1.0
) -> tuple[Floats, Floats]:
    """Slow averages of a fast product, squares of slow averages, or a mixture of both.

        s(t) ~ U[-1, 1],   F_k v (t) = (1 - 1 / tau_k) F_k v (t-1) + v(t) / tau_k,   k = 1 .. K
        I = sum over k of F_k p / std,         p(t) = s(t) s(t-1)     the nonlinearity lies inside the averages
        S = sum over k of (F_k s)^2 / std                             the nonlinearity lies outside, after the averages
        y = w I + (1 - w) S,                   w = inside

    Every term is divided by its standard deviation. I and S are then shifted and scaled to mean 0 and variance 1, by their
    closed forms, so that a series of any length has the same units. I needs a fast nonlinear answer, which is then remembered
    linearly. S needs linear memory, whose content is then squared. Both contain products of neighbouring inputs: with a single
    timescale of 10 steps, I and S have a correlation of 0.40.

    The expected memory is K timescales long: with one timescale, the products that are k or more steps old make up the share
    (1 - 1 / tau)^(2k) of the variance of I, which is 1 / e after about tau / 2 steps. The inputs before the first step are
    drawn too, so that y is stationary from the beginning. The inputs depend on the seed alone: targets with other timescales or
    mixtures belong to the same inputs.

    Parameters
    ----------
    length : int
        Number of steps.
    seed : int
        Random seed.
    timescales : float or sequence of float
        Timescales tau_k of the averages, in steps, each at least 1 (no average).
    inside : float
        Share w of I in the target, in [0, 1]; S has the share 1 - w.

    Returns
    -------
    (u, y)
        u[n] = s(n) and y[n] = y(n), each (length, 1), float64.

    Examples
    --------
    Two averages of the product, over 3 and over 30 steps, and a network with a fast and a slow level:

    >>> import echoscale as es
    >>> u, y = es.tasks.averages(3_000, seed=1, timescales=[3, 30])
    >>> u.shape, y.shape
    ((3000, 1), (3000, 1))
    >>> network = es.hierarchical([50, 50], leak_rate=[1.0, 0.05], input_scaling=0.5, inputs="all", bias_scaling=0.5)
    >>> model = es.ESNRegressor(network=network, random_state=0).fit(u[:2_000], y[:2_000])
    >>> print(f"{es.nrmse(y[2_000:], model.predict(u[2_000:], state=model.state_)):.1f}")
    0.2
    """
    length = checks.integer(length, "length", minimum=1)
    seed = checks.integer(seed, "seed")
    rates = [1 / tau for tau in _timescales(timescales)]
    share = checks.number(inside, "inside")
    if not 0 <= share <= 1:
        raise ValueError(f"inside must be a share from 0 (squares of averages) to 1 (averages of a product), got {share:g}.")
    s = np.random.default_rng(seed).uniform(-1, 1, length)
    past = np.random.default_rng([seed, 1]).uniform(-1, 1, math.ceil(PAST / min(rates)))[::-1]
    drive = np.concatenate([past, s])
    product = drive * np.concatenate([[0.0], drive[:-1]])
    inner = _standardised([_average(product, rate) for rate in rates], _product_covariances(rates), np.zeros(len(rates)))
    outer = _standardised([_average(drive, rate) ** 2 for rate in rates], _square_covariances(rates), _variances(rates))
    y = share * inner + (1 - share) * outer
    return s[:, None], y[len(past) :, None]


def _timescales(given: float | Sequence[float]) -> list[float]:
    values = [given] if np.ndim(given) == 0 else list(given)  # type: ignore[arg-type]
    if not values:
        raise ValueError("timescales is empty: give at least one, such as timescales=[3, 30].")
    found = [checks.number(each, "timescales") for each in values]
    if low := [each for each in found if each < 1]:
        raise ValueError(f"timescales must be at least 1 step (no average), got {low[0]:g}.")
    return found


def _average(values: Floats, rate: float) -> Floats:
    """The leaky mean from 0 on: z(t) = (1 - rate) z(t-1) + rate v(t)."""
    from scipy.signal import lfilter

    averaged: Floats = lfilter([rate], [1, rate - 1], values)
    return averaged


def _standardised(terms: list[Floats], covariances: Floats, means: Floats) -> Floats:
    """The sum of the terms, each divided by its standard deviation, with mean 0 and variance 1."""
    weights = 1 / np.sqrt(np.diag(covariances))
    total = sum((weight * (term - mean) for weight, term, mean in zip(weights, terms, means, strict=True)), 0.0)
    return np.asarray(total / np.sqrt(weights @ covariances @ weights))


def _sums(rates: Sequence[float], power: int) -> Floats:
    """Entry (j, k): sum over lags n >= 0 of (a_j b_j^n a_k b_k^n)^power, with a = rate and b = 1 - rate."""
    a = np.asarray(rates)
    return np.asarray(np.outer(a, a) ** power / (1 - np.outer(1 - a, 1 - a) ** power))


def _product_covariances(rates: Sequence[float]) -> Floats:
    """Covariances of the averages of p(t) = s(t) s(t-1). The values of p are uncorrelated; their variance is (Var s)^2."""
    return VARIANCE**2 * _sums(rates, 1)


def _variances(rates: Sequence[float]) -> Floats:
    """Variances of the averages of s, which are the means of the squared averages."""
    return np.asarray(VARIANCE * np.diag(_sums(rates, 1)))


def _square_covariances(rates: Sequence[float]) -> Floats:
    """Covariances of the squared averages of s: 2 cov^2, as for normal variables, plus their joint fourth cumulant."""
    return np.asarray(2 * (VARIANCE * _sums(rates, 1)) ** 2 + FOURTH * _sums(rates, 2))
