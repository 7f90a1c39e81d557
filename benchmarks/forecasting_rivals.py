"""What people use to forecast a series: statsmodels' ETS and SARIMAX, ridge on lags, the seasonal naive.

Every function takes a series, a horizon and the period that the data are known to have (1 for none), and gives quantiles
(5, horizon) at `QUANTILES`. Periods are told to the rivals; `es.Forecaster()` has to find them.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt
from real_data import RELATIVE, WINDOWS, blocks, lagged, ridge_forecasts

Floats = npt.NDArray[np.float64]

QUANTILES = (0.025, 0.1, 0.5, 0.9, 0.975)
NORMAL = np.array([NormalDist().inv_cdf(p) for p in QUANTILES])
# Values and periods that the state space models are given: they take minutes with more.
MOST_ETS, LONGEST_ETS = 1000, 52
MOST_SARIMAX, LONGEST_SARIMAX = 600, 25


def seasonal_naive(y: Floats, horizon: int, period: int) -> Floats:
    """As one period before; the error grows with the root of the periods."""
    ahead = np.arange(1, horizon + 1)
    periods = np.ceil(ahead / period).astype(int)
    spread = np.sqrt(np.mean((y[period:] - y[:-period]) ** 2) * periods)
    return np.asarray(y[len(y) - 1 + ahead - periods * period] + NORMAL[:, None] * spread)


def ridge_on_lags(y: Floats, horizon: int, period: int) -> Floats:
    """Window and penalty of every horizon by five blocks of time; normal intervals from their errors."""
    means, spreads = [], []
    for steps in range(1, horizon + 1):
        rows = np.arange(min(100, (len(y) - steps) // 10), len(y) - steps)
        target = np.concatenate([y[steps:], np.zeros(steps)])
        best: tuple[float, int, float] = (np.inf, 0, 0.0)
        for window in WINDOWS:
            if window > max(len(rows) // 5, 1):
                continue
            x, squares = lagged(y, window), np.zeros(len(RELATIVE))
            for train, held_out in blocks(rows, steps):
                squares += ((ridge_forecasts(x, target, train, held_out, RELATIVE) - target[held_out]) ** 2).sum(axis=1)
            place = int(np.argmin(squares))
            best = min(best, (float(squares[place]), window, float(RELATIVE[place])))
        x = lagged(y, best[1])
        means.append(ridge_forecasts(x, target, rows, np.array([len(y) - 1]), np.array([best[2]]))[0, 0])
        spreads.append(np.sqrt(best[0] / len(rows)))
    return np.asarray(np.array(means) + NORMAL[:, None] * np.array(spreads))


def ets(y: Floats, horizon: int, period: int) -> Floats:
    """Additive errors; trend, damping and season by AICc."""
    import pandas as pd
    from statsmodels.tsa.exponential_smoothing.ets import ETSModel

    series = pd.Series(y[-max(MOST_ETS, 8 * period if period > 24 else 0) :])
    best: Any = None
    seasons = (None, "add") if 1 < period <= LONGEST_ETS and len(series) >= 2 * period + 5 else (None,)
    for trend, damped in ((None, False), ("add", False), ("add", True)):
        for season in seasons:
            try:
                model = ETSModel(
                    series,
                    error="add",
                    trend=trend,
                    damped_trend=damped,
                    seasonal=season,
                    seasonal_periods=period if season else None,
                )
                found = model.fit(disp=False, maxiter=200)
            except Exception:  # of some orders the search breaks off: others are left
                continue
            best = found if best is None or found.aicc < best.aicc else best
    ahead = best.get_prediction(start=len(series), end=len(series) + horizon - 1)
    return np.asarray(np.asarray(ahead.predicted_mean) + NORMAL[:, None] * np.sqrt(np.asarray(ahead.forecast_variance)))


def sarimax(y: Floats, horizon: int, period: int) -> Floats:
    """Five orders, with and without two seasonal ones, by AICc."""
    from statsmodels.tsa.statespace.sarimax import SARIMAX

    series = y[-(MOST_SARIMAX if period <= 12 else MOST_SARIMAX * 2 // 3) :]
    seasonal = [(0, 0, 0, 0)]
    if 1 < period <= LONGEST_SARIMAX and len(series) >= 3 * period:
        seasonal += [(0, 1, 1, period), (1, 0, 1, period)]
    best: Any = None
    for order in ((1, 0, 0), (2, 0, 1), (0, 1, 1), (1, 1, 1), (2, 1, 2)):
        for each in seasonal:
            constant = "c" if order[1] + each[1] == 0 else None
            try:
                found = SARIMAX(series, order=order, seasonal_order=each, trend=constant).fit(disp=False, maxiter=50)
            except Exception:
                continue
            best = found if best is None or found.aicc < best.aicc else best
    ahead = best.get_forecast(horizon)
    return np.asarray(np.asarray(ahead.predicted_mean) + NORMAL[:, None] * np.asarray(ahead.se_mean))


RIVALS: dict[str, Callable[[Floats, int, int], Floats]] = {
    "seasonal naive": seasonal_naive,
    "ridge on lags": ridge_on_lags,
    "ETS": ets,
    "SARIMAX": sarimax,
}
NEED_STATSMODELS = ("ETS", "SARIMAX")
