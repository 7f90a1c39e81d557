"""Features and targets of direct forecasts: of every origin t and horizon h, from the history that ends at t.

    z(t+h) = start(t, h) + w_h . f(t, h) + c_h
    f(t, h) = d(t), d(t-1), ...;  d about one season before t + h;  the phase of the season;  known inputs at t + h, changed as
              z is;  inputs known up to now;  states of a network

What is learned, forecast, looped and updated uses the same functions of histories, so they cannot differ.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from echoscale.forecasting import bases
from echoscale.forecasting.lines import Line

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

HARMONICS = 3
# Steps about one season before the target.
ABOUT = (-1, 0, 1)
PAST_LAGS = (0, 1, 2)


class Recipe(NamedTuple):
    """Which features.

    Attributes
    ----------
    base : str
        One of `bases.BASES`.
    window : int
        How many of the last changes.
    period : int or None
        m.
    """

    base: str
    window: int
    period: int | None

    @property
    def memory(self) -> int:
        """W, the values of a history that are looked at."""
        back = self.window - 1
        if self.period is not None:
            back = max(back, self.period + 1)
        return back + bases.reach(self.base, self.period) + 1


def histories(values: Floats, memory: int) -> Floats:
    """(T - W + 1, W): row i ends at step i + W - 1.

    Parameters
    ----------
    values : (T,)
        z.
    memory : int
        W.
    """
    return sliding_window_view(values, memory)


def common(recipe: Recipe, history: Floats, times: Indices) -> Floats:
    """The features that all horizons share but for states and inputs, (R, ...).

    Parameters
    ----------
    recipe : Recipe
        Which.
    history : (R, W)
        Ending at `times`.
    times : (R,)
        t, from the beginning of the series.
    """
    columns = [bases.change(recipe.base, recipe.period, history, lag) for lag in range(recipe.window)]
    m = recipe.period
    if m is not None:
        for k in range(1, min(HARMONICS, m // 2) + 1):
            angle = 2 * np.pi * k * times / m
            columns.append(np.cos(angle))
            if 2 * k < m:
                columns.append(np.sin(angle))
    return np.stack(columns, axis=-1)


def ahead(recipe: Recipe, history: Floats, steps: int) -> Floats:
    """The changes about one season before the target, (R, 3 or 0).

    Parameters
    ----------
    recipe : Recipe
        Which.
    history : (R, W)
        As for `common`.
    steps : int
        h.
    """
    m = recipe.period
    if m is None:
        return np.empty((len(history), 0))
    lag = -(-steps // m) * m - steps
    columns = [bases.change(recipe.base, m, history, max(lag - each, 0)) for each in ABOUT]
    return np.stack(columns, axis=-1)


def inputs(recipe: Recipe, line: Line, at: Indices, steps: int, seen: Indices | None = None) -> Floats:
    """Known inputs at t + h, changed as the series is, and the inputs known up to now with their lags, (R, K + 3 Q).

    Parameters
    ----------
    recipe : Recipe
        Which.
    line : Line
        The inputs.
    at : (R,)
        t, as places in the line.
    steps : int
        h.
    seen : (R,), optional
        Up to where the inputs that are known up to now are known; they stand still after it. t unless given.
    """
    x, base, m = line.future, recipe.base, recipe.period
    found = [np.empty((len(at), 0))]
    if x.shape[1]:
        then = x[at + steps]
        if base == bases.LAST:
            then = then - x[at]
        elif base != bases.LEVEL:
            assert m is not None
            k = -(-steps // m)
            then = then - x[at + steps - k * m]
            if base == bases.BOTH:
                then = then - k * (x[at] - x[at - m])
        found.append(then)
    if line.past.shape[1]:
        latest = at if seen is None else seen
        found += [line.past[np.maximum(np.minimum(at - lag, latest), 0)] for lag in PAST_LAGS]
    return np.concatenate(found, axis=1)


class Rows:
    """All origins of one line.

    Parameters
    ----------
    recipe : Recipe
        Which features.
    line : Line
        The series.
    states : (T, N), optional
        Of a network at every step.
    """

    def __init__(self, recipe: Recipe, line: Line, states: Floats | None = None) -> None:
        self.recipe, self.line = recipe, line
        self.history = histories(line.values, recipe.memory)
        self.at = np.arange(recipe.memory - 1, len(line))
        self.shared = common(recipe, self.history, line.first + self.at)
        if states is not None:
            self.shared = np.concatenate([states[self.at], self.shared], axis=1)

    def features(self, steps: int, rows: slice | Indices = slice(None)) -> Floats:
        """f(t, h) of some origins, (R, F).

        Parameters
        ----------
        steps : int
            h.
        rows : slice or array
            Of `at`.
        """
        history, at = self.history[rows], self.at[rows]
        return np.concatenate(
            [self.shared[rows], ahead(self.recipe, history, steps), inputs(self.recipe, self.line, at, steps)], axis=1
        )

    def starts(self, steps: int, rows: slice | Indices = slice(None)) -> Floats:
        """start(t, h) of some origins, (R,).

        Parameters
        ----------
        steps : int
            h.
        rows : slice or array
            Of `at`.
        """
        return bases.start(self.recipe.base, self.recipe.period, self.history[rows], steps)

    def learned(self, steps: int) -> tuple[Floats, Floats, Indices]:
        """Features (R, F), what has to be added to the start (R,), and the times of the targets (R,), gaps left out.

        Parameters
        ----------
        steps : int
            h.
        """
        count = max(len(self.at) - steps, 0)
        targets = self.at[:count] + steps
        use = np.flatnonzero(self.line.known[targets])
        return (
            self.features(steps, use),
            self.line.values[targets[use]] - self.starts(steps, use),
            targets[use],
        )
