"""`Forecaster`: from a series to its future, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from echoscale._internal import checks
from echoscale._internal.plots import new_axes
from echoscale._internal.progress import Progress, shown
from echoscale._internal.table import Table
from echoscale._internal.types import Floats
from echoscale.data import differencing
from echoscale.engine.devices import one_thread
from echoscale.forecasting import intervals
from echoscale.forecasting.data import Data
from echoscale.forecasting.fit import AUTO, Choices, default_horizon, learn, longest_horizon, periods_of
from echoscale.forecasting.forecast import Backtest, Forecast, draw_forecast, draw_history, scale_of
from echoscale.forecasting.model import Core
from echoscale.forecasting.problem import LEAST_STEPS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


MODES = (AUTO, "direct", "closed loop")
PANELS = ("each", "all")
LEVELS = (80.0, 95.0)


class Forecaster:
    """y(t+h) = sum_k w_k f_k(t, h): a weighted mean of forecasters, judged at earlier origins of the same data.

    Exponential smoothing, ridge on lags, and echo state networks beside lags; direct for every horizon or in closed loop; of
    the series, its changes, its seasonal changes, or its logarithm. Each is judged at origins in the second half of the data,
    on values that took no part in fitting it. The weights, and the intervals by horizon, come from these errors.

    Parameters
    ----------
    horizon : int or None
        The steps ahead that are judged together. None: 24, or a season where that is longer, as far as the data can judge it.
    season : int, sequence of int, None or "auto"
        Steps of the season, or of several, as [24, 168] for a day and a week of hours; None: there is none; "auto": the data
        show which.
    mode : "auto", "direct" or "closed loop"
        One readout for every horizon, or one step fed back; "auto" weighs both, with exponential smoothing beside them.
    difference : "auto", "none", "last", "season" or "both"
        What forecasts start from: the mean, the last value, the value a season ago, or both; "auto" weighs all.
    log : bool or "auto"
        Whether the logarithm is forecast; "auto" weighs it beside the series itself, where all values are positive.
    networks : bool
        Whether echo state networks take part; they need about 160 values.
    past : sequence of str or int
        Columns of X that are known only up to now. The future of all others must be given to `predict`.
    panel : "each" or "all"
        Several series: each learned by itself, or one set of readouts for all, learned together.
    seed : int
        Of all that is drawn. The same data and seed give the same forecasts.

    Attributes
    ----------
    horizon_ : int
        Steps ahead that were judged.
    season_ : int, tuple of int, None, or list of them
        Steps of the season, a tuple of several, or None; a list where several series were learned each by itself.

    Examples
    --------
    >>> import echoscale as es, numpy as np
    >>> t, noise = np.arange(96), np.random.default_rng(0).normal(size=96)
    >>> y = 100 + t + 10 * np.sin(2 * np.pi * t / 12) + noise
    >>> forecast = es.Forecaster(networks=False).fit(y).predict(12)
    >>> truth = 100 + np.arange(96, 108) + 10 * np.sin(2 * np.pi * np.arange(96, 108) / 12)
    >>> bool(np.abs(forecast.mean - truth).max() < 3)
    True
    >>> bool(((forecast.lower(95) < truth) & (truth < forecast.upper(95))).all())
    True
    """

    def __init__(
        self,
        horizon: int | None = None,
        *,
        season: int | Sequence[int] | str | None = AUTO,
        mode: str = AUTO,
        difference: str = AUTO,
        log: bool | str = AUTO,
        networks: bool = True,
        past: Sequence[str | int] = (),
        panel: str = "each",
        seed: int = 0,
    ) -> None:
        self.horizon = None if horizon is None else checks.integer(horizon, "horizon", minimum=1)
        periods, self.season = _periods(season), season
        self.mode = checks.choice(mode, MODES, "mode")
        self.difference = checks.choice(difference, (AUTO, *differencing.DIFFERENCES), "difference")
        checks.choice(log, (AUTO, True, False), "log")
        self.log = log
        self.networks = checks.choice(networks, (True, False), "networks")
        if isinstance(past, str):
            raise TypeError(f"past must be a list of columns, got {past!r}: give past=[{past!r}].")
        self.past = tuple(past)
        self.panel = checks.choice(panel, PANELS, "panel")
        self.seed = checks.integer(seed, "seed")
        if self.difference in (differencing.SEASON, differencing.BOTH) and not periods:
            raise ValueError(f"difference={difference!r} needs a season, and season=None says that there is none.")

    # --------------------------------------------------------------------------------------------------------- learning

    def fit(self, y: Any, X: Any = None) -> Forecaster:
        """Learn from series, and judge.

        Parameters
        ----------
        y : (T,), (T, B), Series, DataFrame, DataArray, or dict or list of series
            What is forecast; columns are separate series. Gaps are NaN: they are no targets, and as features they hold the
            last value. Of more than 10,000 values, the last count.
        X : (T, F), DataFrame, DataArray, or dict or list of them, optional
            Inputs of the same steps. Gaps hold the last value.

        Returns
        -------
        Forecaster
            Itself.
        """
        new = copy(self)
        new._data = Data.of(y, X, self.past)
        new._learn(self.horizon)
        vars(self).update(vars(new))  # at once: a fit that fails changes nothing
        return self

    def _check_horizon(self, horizon: int) -> None:
        shortest = self._data.shortest
        longest = longest_horizon([shortest])
        if horizon > longest:
            raise ValueError(
                f"a horizon of {horizon} steps cannot be judged by {shortest} values: at most {longest}, a third of them."
            )

    def _learn(self, horizon: int | None) -> None:
        choices = Choices(_periods(self.season), self.mode, self.difference, self.log, self.networks, self.seed)
        values = self._data.values
        groups = [list(range(len(values)))] if self.panel == "all" else [[b] for b in range(len(values))]
        periods = [periods_of(self._data, group, horizon, choices) for group in groups]
        if choices.difference in (differencing.SEASON, differencing.BOTH) and () in periods:
            raise ValueError(f"difference={self.difference!r} needs a season, and none was found: give season=.")
        if choices.log is True and not all((each[~np.isnan(each)] > 0).all() for each in values):
            raise ValueError("log=True needs positive values, and y has others.")
        if horizon is None:
            lengths = [[len(values[b]) for b in group] for group in groups]
            horizon = min(map(default_horizon, lengths, periods))
        else:
            self._check_horizon(horizon)
        self._groups, self.horizon_ = groups, horizon
        with one_thread():  # many small products: other threads would only wait for each other
            self._cores = [
                learn(self._data, group, horizon, each, choices) for group, each in zip(groups, periods, strict=True)
            ]

    def update(self, y: Any, X: Any = None) -> Forecaster:
        """Take the next values: states and statistics move on, and what was chosen is kept.

        A stream of updates equals one update with all of them, to rounding: the structure, the penalties, the weights and
        the intervals of `fit` stay.

        Parameters
        ----------
        y : as in `fit`
            The steps right after those that are known.
        X : as in `fit`, optional
            Inputs of these steps.

        Returns
        -------
        Forecaster
            Itself.
        """
        self._check_fitted()
        values, tables = self._data.after(y, X)
        cores = []
        for core, group in zip(self._cores, self._groups, strict=True):
            future, past = zip(*(self._data.inputs_after(b, tables[b]) for b in group), strict=True)
            cores.append(core.updated([values[b] for b in group], future, past))
        # At once: a forecast in another thread is made before the update or after it.
        vars(self).update(_cores=cores, _data=self._data.continued(values, tables))
        return self

    # ------------------------------------------------------------------------------------------------------ forecasting

    def predict(self, steps: int, X: Any = None, level: Sequence[float] = LEVELS) -> Forecast:
        """Forecast the next values, with intervals. The forecaster itself stays as it is.

        Parameters
        ----------
        steps : int
            Number of steps. A forecast of more than `horizon_` steps learns from all data again, which takes as long as `fit`
            at every call: set `Forecaster(horizon=steps)` before `fit` to learn once.
        X : (steps, K), DataFrame, DataArray, or dict or list of them, optional
            The inputs of these steps whose future is known.
        level : sequence of float
            Levels of the intervals, in percent; at most 99.

        Returns
        -------
        Forecast
            `.mean`, `.lower(80)`, `.upper(80)` in the form of y; `.frame()` all as a DataFrame; `.plot()`.
        """
        self._check_fitted()
        steps, now = checks.integer(steps, "steps", minimum=1), copy(self)
        if steps > now.horizon_:
            now._check_horizon(steps)
        future, levels = now._data.future(X, steps), _levels(level)
        if steps > now.horizon_:
            now._learn(steps)
        return now._forecast(steps, future, levels)

    def _forecast(self, steps: int, future: Sequence[Floats], levels: tuple[float, ...]) -> Forecast:
        """From the scaled known inputs of these steps, at most `horizon_`."""
        data = self._data
        means: list[Floats] = [np.empty(0)] * len(data.values)
        bounds: dict[float, list[Floats]] = {each: [np.empty(0)] * len(data.values) for each in levels}
        for core, group in zip(self._cores, self._groups, strict=True):
            found = core.forecast(steps, [future[b] for b in group])
            for place, b in enumerate(group):
                mean, size = found[place]
                means[b] = checks.finite(mean, "forecasts")
                for each in levels:
                    tails = [intervals.at(core.table, 0.5 + sign * each / 200)[:steps] for sign in (-1, 1)]
                    bounds[each][b] = np.maximum(means[b] + size * np.stack(tails), core.floors[place])
        return Forecast(means, bounds, tuple(data.clocks), data.form)

    def backtest(
        self, horizon: int, origins: int = 4, level: Sequence[float] = LEVELS, *, progress: bool | Progress = False
    ) -> Backtest:
        """Fit again to the data before each of some earlier origins, forecast, and compare with what came.

        Parameters
        ----------
        horizon : int
            Steps of every forecast; origins are as far apart.
        origins : int
            How many, the last one a horizon before the end.
        level : sequence of float
            Of the intervals, in percent.
        progress : bool or function
            True shows a bar; a function gets (origins done, origins, "").

        Returns
        -------
        Backtest
            `.mase()`, `.pinball()`, `.coverage(80)`; printed, a table; `.plot()`.
        """
        self._check_fitted()
        horizon = checks.integer(horizon, "horizon", minimum=1)
        origins = checks.integer(origins, "origins", minimum=1)
        shortest = self._data.shortest
        left = shortest - horizon * origins
        if left < max(LEAST_STEPS, 3 * horizon):
            raise ValueError(
                f"{origins} origins with a horizon of {horizon} leave {left} of {shortest} values to learn from, at least "
                f"{max(LEAST_STEPS, 3 * horizon)} are needed: ask for fewer origins or steps."
            )
        forecasts, truths, scales, seasons = [], [], [], []
        with shown(progress, "backtest") as tell:
            for k in range(origins, 0, -1):
                back = horizon * k
                earlier = copy(self)
                earlier._data = self._data.until(back)
                earlier._learn(max(horizon, min(self.horizon or 0, longest_horizon([earlier._data.shortest]))))
                values, tables = self._data.steps_after(back, horizon)
                future = [earlier._data.inputs_after(b, each)[0] for b, each in enumerate(tables)]
                forecasts.append(earlier._forecast(horizon, future, _levels(level)))
                truths.append(values)
                found = [earlier._cores[0 if len(earlier._cores) == 1 else b].periods for b in range(len(values))]
                seasons.append([min(each, default=None) for each in found])
                scales.append(np.array([scale_of(v, p) for v, p in zip(earlier._data.values, seasons[-1], strict=True)]))
                tell(origins + 1 - k, origins, "")
        return Backtest(tuple(forecasts), tuple(truths), tuple(scales), tuple(seasons))

    def plot(self, steps: int | None = None, X: Any = None, level: Sequence[float] = LEVELS, axes: Axes | None = None) -> Axes:
        """The end of the data, and the forecast with its intervals.

        Parameters
        ----------
        steps : int, optional
            `horizon_` unless given.
        X : as in `predict`, optional
            Known inputs of these steps.
        level : sequence of float
            Of the intervals, in percent.
        axes : matplotlib.axes.Axes, optional
            Where to draw; a new figure unless given.
        """
        self._check_fitted()
        forecast = self.predict(self.horizon_ if steps is None else steps, X, level)
        axes = new_axes() if axes is None else axes
        data = self._data
        for b, values in enumerate(data.values):
            color = "black" if len(data.values) == 1 else f"C{2 * b % 10}"
            draw_history(axes, values[-5 * len(forecast) :], data.clocks[b], data.form.names[b], color)
        draw_forecast(axes, forecast, labels=len(data.values) == 1)
        axes.legend(frameon=False)
        return axes

    @property
    def season_(self) -> Any:
        """Steps of the season, a tuple of several, or None; a list where several series were learned each by itself."""
        self._check_fitted()
        found = [core.periods if len(core.periods) > 1 else next(iter(core.periods), None) for core in self._cores]
        return found[0] if len(found) == 1 else found

    @property
    def candidates_(self) -> Table:
        """All that was judged: error in mean changes of the series, and weight; of the first series where each has its own."""
        self._check_fitted()
        rows = tuple((name, error, weight) for name, error, weight in self._cores[0].candidates)
        return Table(("forecaster", "error", "weight"), rows, "Judged at earlier origins of the data")

    @property
    def targets_(self) -> tuple[str, ...]:
        """Names of the series."""
        self._check_fitted()
        return self._data.form.names

    @property
    def inputs_(self) -> tuple[str, ...]:
        """Columns of X, in the order that `fit` got them."""
        self._check_fitted()
        return self._data.columns

    @property
    def future_inputs_(self) -> tuple[str, ...]:
        """Those of `inputs_` whose future `predict` wants."""
        self._check_fitted()
        return self._data.known_ahead

    def times(self, steps: int, series: int = 0) -> pd.Index[Any]:
        """The times of the next steps.

        Parameters
        ----------
        steps : int
            How many.
        series : int
            Which, from 0.
        """
        self._check_fitted()
        found: pd.Index[Any] = self._data.clocks[series].index(1, checks.integer(steps, "steps", minimum=1) + 1)
        return found

    def _check_fitted(self) -> None:
        if not hasattr(self, "_cores"):
            raise ValueError("this Forecaster is not fitted yet: call fit first.")

    _data: Data
    _cores: list[Core]
    _groups: list[list[int]]
    horizon_: int


def _periods(season: Any) -> tuple[int, ...] | str:
    """The periods of a season, the shortest first; none for a season of one step."""
    if season is None or (isinstance(season, str) and season == AUTO):
        return AUTO if season is not None else ()
    several = [season] if isinstance(season, (int, np.integer, str)) else list(season)
    return tuple(sorted({checks.integer(each, "season", minimum=1) for each in several} - {1}))


def _levels(level: Sequence[float]) -> tuple[float, ...]:
    several = level if isinstance(level, Sequence) else (level,)
    found = tuple(checks.number(each, "level") for each in several)
    for each in found:
        if not 0 < each < 100:
            raise ValueError(f"level must lie between 0 and 100 percent, got {each:g}.")
        if each > intervals.MOST_LEVEL:
            raise ValueError(
                f"level must be at most {intervals.MOST_LEVEL:g} percent, got {each}: the errors at judged origins are too few "
                f"to show rarer ones; give level={intervals.MOST_LEVEL:g} or less."
            )
    return found
