"""A forecaster beside simple ones, at the same earlier origins of the same data.

MASE = mean |y - forecast| / mean |y(t) - y(t-m)| of the data before the origin        (Hyndman and Koehler 2006)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from echoscale._internal.table import Table
from echoscale._internal.types import Floats
from echoscale.data import differencing
from echoscale.forecasting.forecast import Backtest
from echoscale.forecasting.forecaster import Forecaster
from echoscale.forecasting.model import NAIVE_NAMES, Naive
from echoscale.forecasting.problem import LEAST_STEPS, held

MOST_ORIGINS = 4
ROUNDING = 1e-6  # a smaller MASE is rounding
EXACT = "Errors are rounding errors: intervals have next to no width, and the shares inside them say nothing."


def reach(model: Forecaster, most: int = MOST_ORIGINS) -> tuple[int, int]:
    """Steps and origins that can be judged: the horizon of the model, or less where the data are few.

    A horizon that nobody asked for gives way to three origins; one that was asked for is judged from as many as there are.
    """
    shortest = min(map(len, model._values))
    horizon = min(model.horizon_, shortest // (6 if model.horizon is None else 4), shortest - LEAST_STEPS)
    if horizon < 1:
        return 0, 0
    return horizon, max(min(most, (shortest - max(LEAST_STEPS, 3 * horizon)) // horizon), 0)


def beside(model: Forecaster, own: str, backtests: Mapping[str, Backtest]) -> Table:
    """One row for every method, the best first; persistence and the seasonal naive are added."""
    judged = backtests[own]
    forecasts = {name: [each.means for each in one.forecasts] for name, one in backtests.items()}
    periods = [each for one in judged.seasons for each in one]
    for difference, name in NAIVE_NAMES.items():
        if difference == differencing.LAST or any(periods):
            forecasts[name] = _naive(model, judged, difference)
    names = model.targets_ if len(model.targets_) > 1 else ()
    rows: list[tuple[object, ...]] = []
    for name, each in forecasts.items():
        errors = _errors(judged, each)
        inside = [backtests[name].coverage(level) if name in backtests else None for level in judged.levels]
        rows.append((name, float(np.mean(errors)), *(map(float, errors) if names else ()), *inside))
    rows.sort(key=lambda row: row[1])  # type: ignore[arg-type,return-value]
    heads = ("method", "MASE", *(f"MASE {name}" for name in names), *(f"inside {level:g} %" for level in judged.levels))
    steps, count = len(judged.truths[0][0]), len(judged.truths)
    title = f"Forecasts of {steps} step{'s' * (steps != 1)} from {count} earlier origin{'s' * (count != 1)}"
    season = "a step" if not any(periods) else "a season" if all(periods) else "a season or a step"
    note = f"MASE: mean absolute error over the mean absolute change of the training data in {season}; less is better."
    notes = (note,) if float(rows[0][1]) > ROUNDING else (note, EXACT)  # type: ignore[arg-type]
    return Table(heads, tuple(rows), title, notes)


def _naive(model: Forecaster, judged: Backtest, difference: str) -> list[list[Floats]]:
    """Forecasts that need no fit, for every origin and series; the last value where no season was known at the origin."""
    found = []
    steps = len(judged.truths[0][0])
    for k, periods in enumerate(judged.seasons):
        each = []
        for values, period in zip(model._values, periods, strict=True):
            history = held(values[: len(values) - (len(judged.seasons) - k) * steps])
            each.append(Naive(difference if period else differencing.LAST, period).forecasts(history, -1, steps))
        found.append(each)
    return found


def _errors(judged: Backtest, forecasts: Sequence[Sequence[Floats]]) -> Floats:
    """MASE of every series, (B,)."""
    found = []
    for b in range(len(judged.truths[0])):
        each = [
            np.abs(truth[b] - means[b]) / scale[b]
            for truth, means, scale in zip(judged.truths, forecasts, judged.scales, strict=True)
        ]
        known = np.concatenate(each)
        known = known[~np.isnan(known)]
        found.append(known.mean() if len(known) else np.nan)
    return np.array(found)
