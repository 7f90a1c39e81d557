"""`Forecaster`: from a series to its future, with intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from echoscale._internal import checks, hints
from echoscale._internal.plots import new_axes
from echoscale._internal.progress import Progress, shown
from echoscale._internal.table import Table
from echoscale._internal.types import Floats
from echoscale.data import differencing
from echoscale.engine.devices import one_thread
from echoscale.forecasting import intervals
from echoscale.forecasting.data import Data
from echoscale.forecasting.fit import AUTO, Choices, default_horizon, learn, longest_horizon, periods_of
from echoscale.forecasting.forecast import Backtest, Forecast, draw_forecast, draw_history
from echoscale.forecasting.model import Core
from echoscale.forecasting.problem import LEAST_STEPS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


MODES = (AUTO, "direct", "closed loop")
PANELS = ("each", "all")
LEVELS = (80.0, 95.0)
SHOWN = 3  # forecasters, and seasons, in the repr
MOST_ORIGINS = 4  # of a backtest with nothing set


@hints.options
class Forecaster(BaseEstimator):
    """y(t+h) = sum_k w_k f_k(t, h): a weighted mean of forecasters, judged at earlier origins of the same data.

    Exponential smoothing, ridge on lags, and echo state networks beside lags; direct for every horizon or in closed loop; of
    the series, its changes, its seasonal changes, or its logarithm. Each is judged at origins in the second half of the data,
    on held-out values. The weights, and the intervals by horizon, come from these errors.

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
        Whether echo state networks take part; they need about 200 values.
    past : sequence of str or int
        Columns of X that are known only up to now. The future of all others must be given to `predict`.
    panel : "each" or "all"
        Several series: each learned by itself, or one set of readouts for all, learned together.
    seed : int
        Random seed. The same data and seed give the same forecasts.

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
        self.horizon = horizon
        self.season = season
        self.mode = mode
        self.difference = difference
        self.log = log
        self.networks = networks
        self.past = past
        self.panel = panel
        self.seed = seed

    def _check_parameters(self) -> None:
        if self.horizon is not None:
            checks.integer(self.horizon, "horizon", minimum=1)
        checks.choice(self.mode, MODES, "mode")
        checks.choice(self.difference, (AUTO, *differencing.DIFFERENCES), "difference")
        checks.choice(self.log, (AUTO, True, False), "log")
        checks.choice(self.networks, (True, False), "networks")
        if isinstance(self.past, str):
            raise TypeError(f"past must be a list of columns, got {self.past!r}: give past=[{self.past!r}].")
        checks.choice(self.panel, PANELS, "panel")
        checks.integer(self.seed, "seed")
        if not _periods(self.season) and self.difference in (differencing.SEASON, differencing.BOTH):
            raise ValueError(f"difference={self.difference!r} needs a season, and season=None says that there is none.")

    # --------------------------------------------------------------------------------------------------------- learning

    def fit(self, y: Any, X: Any = None, *, progress: bool | Progress = False) -> Forecaster:
        """Learn from series, and judge.

        Parameters
        ----------
        y : (T,), (T, B), Series, DataFrame, DataArray, or dict or list of series
            What is forecast; columns are separate series. A DataFrame in long form has a row for each name and time: columns
            of names, times and values, or a Series with an index of names and times. Gaps are NaN: they are no targets, and as
            features they hold the last value. Of more than 10,000 values, the last count.
        X : (T, F), DataFrame, DataArray, or dict or list of them, optional
            Inputs of the same steps; in long form where y is. Gaps hold the last value.
        progress : bool or function
            True shows a bar, for series that are learned one by one; a function gets (series done, series, "").

        Returns
        -------
        Forecaster
            Itself.
        """
        self._check_parameters()
        new = copy(self)
        new._data = Data.of(y, X, tuple(self.past))
        new._learn(None if self.horizon is None else int(self.horizon), progress)
        self.__dict__.update(vars(new))  # at once: a fit that fails changes nothing
        return self

    def _check_horizon(self, horizon: int) -> None:
        shortest = self._data.shortest
        longest = longest_horizon([shortest])
        if horizon > longest:
            raise ValueError(
                f"a horizon of {horizon} steps cannot be judged by {shortest} values: at most {longest}, a third of them."
            )

    def _learn(self, horizon: int | None, progress: bool | Progress = False) -> None:
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
        cores: list[Core] = []
        with one_thread(), shown(progress, "fit") as tell:  # many small products: other threads would only wait for each other
            for group, each in zip(groups, periods, strict=True):
                cores.append(learn(self._data, group, horizon, each, choices))
                tell(len(cores), len(groups), "")
        self._cores = cores

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
        self.__dict__.update(_cores=cores, _data=self._data.continued(values, tables))
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
            Levels of the intervals that `.frame()` and `.plot()` show, in percent; at most 99.

        Returns
        -------
        Forecast
            `.mean`, `.lower(80)`, `.upper(80)`, `.quantile(0.9)` in the form of y; `.frame()` all as a DataFrame; `.plot()`.
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
        quantiles = list(means)
        for core, group in zip(self._cores, self._groups, strict=True):
            found = core.forecast(steps, [future[b] for b in group])
            for place, b in enumerate(group):
                mean, size = found[place]
                means[b] = checks.finite(mean, "forecasts")
                quantiles[b] = np.maximum(mean + size * core.table[:, :steps], core.floors[place])
        return Forecast(means, quantiles, levels, tuple(data.clocks), data.form)

    def backtest(
        self,
        horizon: int | None = None,
        origins: int | None = None,
        level: Sequence[float] = LEVELS,
        *,
        progress: bool | Progress = False,
    ) -> Backtest:
        """Fit again to the data before each of some earlier origins, forecast, and compare with what came.

        Parameters
        ----------
        horizon : int, optional
            Steps of every forecast; origins are as far apart. As in `backtest_size` unless given.
        origins : int, optional
            Number of origins, the last one a horizon before the end; 4, or as many as the data allow, unless given.
        level : sequence of float
            Levels of the intervals, in percent.
        progress : bool or function
            True shows a bar; a function gets (origins done, origins, "").

        Returns
        -------
        Backtest
            `.mase()`, `.pinball()`, `.coverage(80)`; `.beside(others)`; printed, a table; `.plot()`.
        """
        self._check_fitted()
        horizon = max(self.backtest_size()[0], 1) if horizon is None else checks.integer(horizon, "horizon", minimum=1)
        origins = max(self.backtest_size(horizon)[1], 1) if origins is None else checks.integer(origins, "origins", minimum=1)
        shortest, least = self._data.shortest, max(LEAST_STEPS, 3 * horizon)
        left = shortest - horizon * origins
        if left < least:
            raise ValueError(
                f"{origins} origins with a horizon of {horizon} leave {left} of {shortest} values to learn from, at least "
                f"{least} are needed: ask for fewer origins or steps."
            )
        forecasts, truths, histories, seasons = [], [], [], []
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
                histories.append(earlier._data.values)
                tell(origins + 1 - k, origins, "")
        return Backtest(tuple(forecasts), tuple(truths), tuple(histories), tuple(seasons))

    def backtest_size(self, horizon: int | None = None) -> tuple[int, int]:
        """Steps and origins of `backtest` with nothing set; 0 where the data are too few.

        Parameters
        ----------
        horizon : int, optional
            Steps; unless given, `horizon_`, or fewer where the data are few: a horizon that nobody asked for gives way to
            three origins.
        """
        self._check_fitted()
        shortest = self._data.shortest
        if horizon is None:
            horizon = min(self.horizon_, shortest // (6 if self.horizon is None else 4), shortest - LEAST_STEPS)
        if horizon < 1:
            return 0, 0
        return horizon, max(min(MOST_ORIGINS, (shortest - max(LEAST_STEPS, 3 * horizon)) // horizon), 0)

    def plot(self, steps: int | None = None, X: Any = None, level: Sequence[float] = LEVELS, axes: Axes | None = None) -> Axes:
        """The end of the data, and the forecast with its intervals.

        Parameters
        ----------
        steps : int, optional
            `horizon_` unless given.
        X : as in `predict`, optional
            Known inputs of these steps.
        level : sequence of float
            Levels of the intervals, in percent.
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
        """All that was judged: error in mean changes of the series, and weight; means over series that were learned apart."""
        self._check_fitted()
        found: dict[str, list[tuple[float, float]]] = {}
        for core in self._cores:
            for name, error, weight in core.candidates:
                found.setdefault(name, []).append((error, weight))
        rows = [
            (name, sum(error for error, _ in each) / len(each), sum(weight for _, weight in each) / len(self._cores))
            for name, each in found.items()
        ]
        rows.sort(key=lambda row: row[1])
        return Table(("forecaster", "error", "weight"), tuple(rows), "Judged at earlier origins of the data")

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

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:  # scikit-learn's name
        text: str = super().__repr__(N_CHAR_MAX)
        if not hasattr(self, "_cores"):
            return text
        seasons = Counter(map(str, self.season_ if isinstance(self.season_, list) else [self.season_]))
        often = " or ".join(each for each, _ in seasons.most_common(SHOWN)) + " or others" * (len(seasons) > SHOWN)
        used = sorted(((row[2], row[0]) for row in self.candidates_.rows if row[2]), reverse=True)
        shares = [f"{share:.0%} {name}" for share, name in used[:SHOWN]]
        more = [f"{len(used) - SHOWN} more"] if len(used) > SHOWN else []
        series = f"{len(self.targets_)} series, " if len(self.targets_) > 1 else ""
        return f"{text}\n{series}season {often}, horizon {self.horizon_}; {'; '.join([*shares, *more])}"

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
    return tuple(intervals.checked_level(each) for each in (level if isinstance(level, Sequence) else (level,)))
