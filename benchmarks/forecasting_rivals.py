"""What people use to forecast: statsforecast's automatic methods, the median of three, ridge on lags, the seasonal naive.

Every function takes a series, a horizon and the seasons that the calendar gives (shortest first, none for yearly data), and
gives quantiles (5, horizon) at `QUANTILES`. Seasons are told to the rivals; `es.Forecaster()` has dates at the most.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt
from real_data import RELATIVE, WINDOWS, blocks, lagged, ridge_forecasts

Floats = npt.NDArray[np.float64]
Seasons = Sequence[int]

QUANTILES = (0.025, 0.1, 0.5, 0.9, 0.975)
NORMAL = np.array([NormalDist().inv_cdf(p) for p in QUANTILES])
# The last values that AutoARIMA gets, by the longest season: it takes minutes with more, and hours with longer seasons, which
# are left out. Its search is the approximate one above the two limits at which R's auto.arima turns to it.
ARIMA_VALUES = {12: 1500, 24: 400, 48: 336, 52: 260}
APPROXIMATE_VALUES, APPROXIMATE_SEASON = 150, 12
LEAST_SEASONS = 2  # in the data, for a season to be used
MEDIAN = "median of the three"


def seasonal_naive(y: Floats, horizon: int, seasons: Seasons) -> Floats:
    """As one period before; the error grows with the root of the periods."""
    period = used(y, seasons)[0]
    ahead = np.arange(1, horizon + 1)
    periods = np.ceil(ahead / period).astype(int)
    spread = np.sqrt(np.mean((y[period:] - y[:-period]) ** 2) * periods)
    return np.asarray(y[len(y) - 1 + ahead - periods * period] + NORMAL[:, None] * spread)


def naive_of_longest(y: Floats, horizon: int, seasons: Seasons) -> Floats:
    """As one of the longest periods before."""
    return seasonal_naive(y, horizon, used(y, seasons)[-1:])


def ridge_on_lags(y: Floats, horizon: int, seasons: Seasons) -> Floats:
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


def used(y: Floats, seasons: Seasons) -> list[int]:
    """The seasons that the data hold at least twice; [1] where there is none."""
    return [each for each in seasons if LEAST_SEASONS * each <= len(y)] or [1]


def _quantiles(model: Any, y: Floats, horizon: int) -> Floats:
    """Of a model of statsforecast."""
    found = model.forecast(y=y, h=horizon, level=[80, 95])
    return np.stack([found[name] for name in ("lo-95", "lo-80", "mean", "hi-80", "hi-95")])


def ets(y: Floats, horizon: int, seasons: Seasons) -> Floats:
    from statsforecast.models import AutoETS

    return _quantiles(AutoETS(season_length=used(y, seasons)[0]), y, horizon)


def arima(y: Floats, horizon: int, seasons: Seasons) -> Floats:
    from statsforecast.models import AutoARIMA

    season = used(y, seasons)[0]
    most = next((values for longest, values in ARIMA_VALUES.items() if season <= longest), 0)
    recent = y[-most:] if most else y[-max(ARIMA_VALUES.values()) :]
    quick = len(recent) > APPROXIMATE_VALUES or season > APPROXIMATE_SEASON
    return _quantiles(AutoARIMA(season_length=season if most else 1, approximation=quick), recent, horizon)


def theta(y: Floats, horizon: int, seasons: Seasons) -> Floats:
    from statsforecast.models import AutoTheta

    return _quantiles(AutoTheta(season_length=used(y, seasons)[0]), y, horizon)


def mstl(y: Floats, horizon: int, seasons: Seasons) -> Floats:
    from statsforecast.models import MSTL, AutoETS

    known = used(y, seasons)
    return (
        ets(y, horizon, seasons) if known == [1] else _quantiles(MSTL(known, trend_forecaster=AutoETS(model="ZZN")), y, horizon)
    )


def boosting(y: Floats, horizon: int, seasons: Seasons) -> Floats:
    """LightGBM with its defaults on lags, one step ahead and fed back; normal intervals from errors in the last quarter.

    Lags and target are differences from the last value: trees cannot continue a trend.
    """
    reach = sorted({*range(1, min(24, len(y) // 4) + 1), *(s + k for s in seasons if 3 * s < len(y) for k in (-1, 0, 1))})

    def fitted(end: int) -> Any:
        import lightgbm as lgb

        rows = np.arange(reach[-1], end)
        x = np.stack([y[rows - lag] for lag in reach], axis=1)
        settings = {"objective": "l2", "min_data_in_leaf": min(20, max(len(rows) // 10, 2)), "num_threads": 1, "verbosity": -1}
        return lgb.train(settings, lgb.Dataset(x - x[:, :1], y[rows] - x[:, 0]), 100)

    def fed_back(model: Any, origins: npt.NDArray[np.int64]) -> Floats:
        """(origins, horizon): an origin is the first step that is not known."""
        known = np.stack([y[origin - reach[-1] : origin] for origin in origins])
        for _ in range(horizon):
            x = np.stack([known[:, -lag] for lag in reach], axis=1)
            known = np.column_stack([known, known[:, -1] + model.predict(x - x[:, :1])])
        return known[:, reach[-1] :]

    cut = max(len(y) - max(len(y) // 4, horizon), reach[-1] + 10)
    origins = np.unique(np.linspace(cut, max(len(y) - horizon, cut), 10).astype(int))
    ahead = np.minimum(origins[:, None] + np.arange(horizon), len(y) - 1)
    spread = np.sqrt(((fed_back(fitted(cut), origins) - y[ahead]) ** 2).mean(axis=0))
    return np.asarray(fed_back(fitted(len(y)), np.array([len(y)]))[0] + NORMAL[:, None] * spread)


# Rivals that run together, in one job.
KINDS: dict[str, dict[str, Callable[[Floats, int, Seasons], Floats]]] = {
    "simple": {"seasonal naive": seasonal_naive, "naive, longest season": naive_of_longest, "ridge on lags": ridge_on_lags},
    "statistical": {"AutoETS": ets, "AutoARIMA": arima, "AutoTheta": theta, "MSTL": mstl},
    "boosting": {"LightGBM on lags": boosting},
}
IN_MEDIAN = ("AutoETS", "AutoARIMA", "AutoTheta")
RIVALS = (MEDIAN, *KINDS["statistical"], *KINDS["simple"], *KINDS["boosting"])
NEEDS = {"statistical": "statsforecast", "boosting": "lightgbm"}


def forecasts(kind: str, y: Floats, horizon: int, seasons: Seasons) -> dict[str, tuple[Floats, float]]:
    """Quantiles and processor seconds of every rival of a kind. The seasonal naive stands in for a method that fails."""
    found: dict[str, tuple[Floats, float]] = {}
    for name, method in KINDS[kind].items():
        began = time.process_time()
        try:
            quantiles = method(y, horizon, seasons)
        except Exception as error:  # of some series an optimiser breaks off
            print(f"{name}: {type(error).__name__}: {error}")
            quantiles = np.full((len(QUANTILES), horizon), np.nan)
        if not np.isfinite(quantiles).all():
            quantiles = seasonal_naive(y, horizon, seasons)
        found[name] = quantiles, time.process_time() - began
    if kind == "statistical":
        members = [found[name] for name in IN_MEDIAN]
        found[MEDIAN] = np.median([each for each, _ in members], axis=0), sum(seconds for _, seconds in members)
    return found
