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
from echoscale.data.clock import Clock
from echoscale.data.frames import ONE, Form, Given, clocks_of, series_of, tables_of
from echoscale.data.scaling import Scaling
from echoscale.forecasting import intervals
from echoscale.forecasting.fit import AUTO, MOST_STEPS, Choices, default_horizon, learn, longest_horizon, period_of
from echoscale.forecasting.forecast import Backtest, Forecast, scale_of
from echoscale.forecasting.model import Core
from echoscale.forecasting.problem import LEAST_STEPS, held

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
    season : int, None or "auto"
        Steps of the season; None: there is none; "auto": `es.timescales.season` looks for it.
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
    season_ : int, None, or list of them
        Of every series that was learned by itself.

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
        season: int | str | None = AUTO,
        mode: str = AUTO,
        difference: str = AUTO,
        log: bool | str = AUTO,
        networks: bool = True,
        past: Sequence[str | int] = (),
        panel: str = "each",
        seed: int = 0,
    ) -> None:
        self.horizon = None if horizon is None else checks.integer(horizon, "horizon", minimum=1)
        if season is not None and season != AUTO:
            checks.integer(season, "season", minimum=1)
        self.season = season
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
        if self.difference in (differencing.SEASON, differencing.BOTH) and season is None:
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
        given = series_of(y)
        clocks = clocks_of(given)
        tables, columns = _tables(X, given, clocks, [1 - len(each) for each in given.values])
        new = copy(self)
        new._take(given.form, clocks, columns, given.values, tables)
        new._learn(self.horizon)
        vars(self).update(vars(new))  # at once: a fit that fails changes nothing
        return self

    def _take(
        self, form: Form, clocks: list[Clock], columns: tuple[str, ...], given: Sequence[Floats], tables: Sequence[Floats]
    ) -> None:
        """Training data, and the scaling of their inputs."""
        values, kept = [], []
        for b, each in enumerate(given):
            known = np.flatnonzero(~np.isnan(each))
            what = "y" if form.shape == ONE else f"y[{form.names[b]!r}]"
            if len(known) < LEAST_STEPS:
                raise ValueError(f"{what} holds {len(known)} values, at least {LEAST_STEPS} are needed to judge a forecast.")
            first = max(int(known[0]), len(each) - MOST_STEPS)
            values.append(each[first:].copy())
            kept.append(tables[b][first:])
        self._form, self._clocks, self._columns = form, clocks, columns
        self._values, self._tables_given = values, kept
        self._places = self._past_places(columns)
        self._scaling = Scaling.of([_with_number(each) for each in kept]) if columns else Scaling.none(0)

    def _check_horizon(self, horizon: int) -> None:
        shortest = min(map(len, self._values))
        longest = longest_horizon([shortest])
        if horizon > longest:
            raise ValueError(
                f"a horizon of {horizon} steps cannot be judged by {shortest} values: at most {longest}, a third of them."
            )

    def _learn(self, horizon: int | None) -> None:
        choices = Choices(self.season, self.mode, self.difference, self.log, self.networks, self.seed)
        lengths = [len(each) for each in self._values]
        groups = [list(range(len(lengths)))] if self.panel == "all" else [[b] for b in range(len(lengths))]
        periods = [period_of([self._values[b] for b in group], choices) for group in groups]
        if choices.difference in (differencing.SEASON, differencing.BOTH) and None in periods:
            raise ValueError(f"difference={self.difference!r} needs a season, and none was found: give season=.")
        if choices.log is True and not all((each[~np.isnan(each)] > 0).all() for each in self._values):
            raise ValueError("log=True needs positive values, and y has others.")
        if horizon is None:
            horizon = min(default_horizon([lengths[b] for b in group], p) for group, p in zip(groups, periods, strict=True))
        else:
            self._check_horizon(horizon)
        self._groups, self.horizon_ = groups, horizon
        self.season_ = periods[0] if len(groups) == 1 else periods
        self._cores = []
        for group, period in zip(groups, periods, strict=True):
            inputs = [self._split(self._tables_given[b]) for b in group]
            values = [self._values[b] for b in group]
            self._cores.append(
                learn(values, [each[0] for each in inputs], [each[1] for each in inputs], horizon, period, choices)
            )

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
        given = series_of(y)
        if given.form.names != self._form.names and not (given.form.shape == self._form.shape == ONE):
            raise ValueError(f"y must have the series {', '.join(self._form.names)}; got {', '.join(given.form.names)}.")
        for b, index in enumerate(given.indices):
            if index is not None:
                self._clocks[b].check(index, 1, "y")
            elif self._form.library != "array":
                raise TypeError(f"y must be of {self._form.library}, as in fit: its times are checked.")
        if X is None and self._columns:
            raise ValueError(f"X is missing: the model was fitted with inputs {', '.join(self._columns)}.")
        tables, _ = _tables(X, given, self._clocks, [1] * len(given.values), self._columns)
        cores = []
        for core, group in zip(self._cores, self._groups, strict=True):
            inputs = [self._split(_continued(self._tables_given[b], tables[b])) for b in group]
            ahead, until_now = [each[0] for each in inputs], [each[1] for each in inputs]
            cores.append(core.updated([given.values[b] for b in group], ahead, until_now))
        # At once: a forecast in another thread is made before the update or after it.
        vars(self).update(
            _cores=cores,
            _values=[np.concatenate(pair) for pair in zip(self._values, given.values, strict=True)],
            _tables_given=[np.concatenate(pair) for pair in zip(self._tables_given, tables, strict=True)],
            _clocks=[clock.moved(len(more)) for clock, more in zip(self._clocks, given.values, strict=True)],
        )
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
        future, levels = now._future(X, steps), _levels(level)
        if steps > now.horizon_:
            now._learn(steps)
        return now._forecast(steps, future, levels)

    def _forecast(self, steps: int, future: Sequence[Floats], levels: tuple[float, ...]) -> Forecast:
        """From the scaled known inputs of these steps, at most `horizon_`."""
        means: list[Floats] = [np.empty(0)] * len(self._values)
        bounds: dict[float, list[Floats]] = {each: [np.empty(0)] * len(self._values) for each in levels}
        for core, group in zip(self._cores, self._groups, strict=True):
            found = core.forecast(steps, [future[b] for b in group])
            for place, b in enumerate(group):
                mean, size = found[place]
                means[b] = checks.finite(mean, "forecasts")
                for each in levels:
                    tails = [intervals.at(core.table, 0.5 + sign * each / 200)[:steps] for sign in (-1, 1)]
                    bounds[each][b] = np.maximum(means[b] + size * np.stack(tails), core.floors[place])
        return Forecast(means, bounds, tuple(self._clocks), self._form)

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
        shortest = min(map(len, self._values))
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
                earlier = self._until(back)
                earlier._learn(max(horizon, min(self.horizon or 0, longest_horizon([len(v) for v in earlier._values]))))
                known = [each[len(each) - back : len(each) - back + horizon] for each in self._tables_given]
                future = [earlier._split(_continued(e, more))[0] for e, more in zip(earlier._tables_given, known, strict=True)]
                forecasts.append(earlier._forecast(horizon, future, _levels(level)))
                truths.append([each[len(each) - back : len(each) - back + horizon] for each in self._values])
                seasons.append(earlier.season_ if isinstance(earlier.season_, list) else [earlier.season_] * len(self._values))
                scales.append(np.array([scale_of(v, p) for v, p in zip(earlier._values, seasons[-1], strict=True)]))
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
        from echoscale.forecasting.plots import draw_forecast, draw_history

        self._check_fitted()
        forecast = self.predict(self.horizon_ if steps is None else steps, X, level)
        axes = new_axes() if axes is None else axes
        for b, values in enumerate(self._values):
            shown = values[-5 * len(forecast) :]
            color = "black" if len(self._values) == 1 else f"C{2 * b % 10}"
            draw_history(axes, shown, self._clocks[b], self._form.names[b], color)
        draw_forecast(axes, forecast, labels=len(self._values) == 1)
        axes.legend(frameon=False)
        return axes

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
        return self._form.names

    @property
    def inputs_(self) -> tuple[str, ...]:
        """Columns of X, in the order that `fit` got them."""
        self._check_fitted()
        return self._columns

    @property
    def future_inputs_(self) -> tuple[str, ...]:
        """Those of `inputs_` whose future `predict` wants."""
        self._check_fitted()
        return tuple(name for k, name in enumerate(self._columns) if k not in self._places)

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
        found: pd.Index[Any] = self._clocks[series].index(1, checks.integer(steps, "steps", minimum=1) + 1)
        return found

    # ------------------------------------------------------------------------------------------------------------- data

    def _until(self, back: int) -> Forecaster:
        """The same settings with the data up to `back` steps before the end. Inputs are scaled by their values up to there."""
        other = copy(self)
        clocks = [clock.moved(-back) for clock in self._clocks]
        values = [each[: len(each) - back] for each in self._values]
        other._take(self._form, clocks, self._columns, values, [each[: len(each) - back] for each in self._tables_given])
        return other

    def _past_places(self, columns: tuple[str, ...]) -> tuple[int, ...]:
        found = []
        for each in self.past:
            if isinstance(each, str) and each in columns:
                found.append(columns.index(each))
            elif isinstance(each, int) and not isinstance(each, bool) and -len(columns) <= each < len(columns):
                found.append(each % len(columns))
            else:
                raise ValueError(f"past names column {each!r}, which X does not have: its columns are {list(columns)}.")
        return tuple(sorted(set(found)))

    def _split(self, table: Floats) -> tuple[Floats, Floats]:
        """Scaled inputs whose future is known, and those known up to now; gaps hold the last value."""
        scaled = held(self._scaling.forward(table)) if table.shape[1] else table
        past = list(self._places)
        return np.delete(scaled, past, axis=1), scaled[:, past]

    def _future(self, X: Any, steps: int) -> list[Floats]:
        """The scaled known inputs of the next steps."""
        wanted = list(self.future_inputs_)
        if not wanted:
            if X is not None:
                why = "all its inputs are known only up to now" if self._columns else "it was fitted without X"
                raise ValueError(f"this model takes no X for the future: {why}.")
            return [np.empty((steps, 0))] * len(self._values)
        if X is None:
            raise ValueError(f"X is missing: give the next {steps} values of {', '.join(wanted)}.")
        tables = tables_of(X, self._form)
        if list(tables.columns) != wanted:
            if set(tables.columns) == set(self._columns) and len(tables.columns) == len(self._columns):
                raise ValueError(f"X holds {list(tables.columns)}: give only {wanted}, whose future is known, in this order.")
            raise ValueError(f"X must have the columns {wanted} in this order; got {list(tables.columns)}.")
        found, places = [], [k for k in range(len(self._columns)) if k not in self._places]
        for b, table in enumerate(tables.values):
            what = _called(self._form, b)
            if len(table) != steps:
                raise ValueError(f"{what} has {len(table)} rows for {steps} steps: give one for each.")
            gaps = np.argwhere(np.isnan(table))
            if len(gaps):
                raise ValueError(
                    f"{what} has a gap at row {gaps[0][0]}, column {wanted[gaps[0][1]]!r}: the future must be known."
                )
            if tables.indices[b] is not None and self._form.library != "array":
                self._clocks[b].check(tables.indices[b], 1, what)
            found.append((table - self._scaling.mean[places]) / self._scaling.spread[places])
        return found

    def _check_fitted(self) -> None:
        if not hasattr(self, "_cores"):
            raise ValueError("this Forecaster is not fitted yet: call fit first.")

    _cores: list[Core]
    _groups: list[list[int]]
    _values: list[Floats]
    _tables_given: list[Floats]
    _clocks: list[Clock]
    _form: Form
    _columns: tuple[str, ...]
    _places: tuple[int, ...]
    _scaling: Scaling
    horizon_: int
    season_: int | list[int | None] | None


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


def _tables(
    X: Any, given: Given, clocks: Sequence[Clock], first: Sequence[int], columns: tuple[str, ...] | None = None
) -> tuple[list[Floats], tuple[str, ...]]:
    """X of the steps of y, the first of which are at these times of the clocks; tables without columns where there is no X."""
    if X is None:
        return [np.empty((len(each), 0)) for each in given.values], ()
    tables = tables_of(X, given.form)
    if columns is not None and tables.columns != columns:
        raise ValueError(f"X must have the columns {list(columns)} in this order; got {list(tables.columns)}.")
    for b, table in enumerate(tables.values):
        what = _called(given.form, b)
        if len(table) != len(given.values[b]):
            raise ValueError(f"{what} has {len(table)} rows, y has {len(given.values[b])}: give one for every step.")
        if tables.indices[b] is not None and given.indices[b] is not None:
            clocks[b].check(tables.indices[b], first[b], what)
    return [each.copy() for each in tables.values], tables.columns


def _called(form: Form, b: int) -> str:
    """The inputs of a series in messages."""
    return "X" if form.shape == ONE else f"X of {form.names[b]!r}"


def _with_number(table: Floats) -> Floats:
    """A column without any number counts as 0."""
    return np.where(np.isnan(table).all(axis=0), 0.0, table)


def _continued(before: Floats, more: Floats) -> Floats:
    """Rows that follow others: a gap at their start holds the last value before."""
    if not more.shape[1]:
        return more
    return held(np.concatenate([held(before)[-1:], more]))[1:]
