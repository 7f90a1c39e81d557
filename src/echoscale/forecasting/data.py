"""What a `Forecaster` was given: series, inputs and their times, checked against each other, and the scaling of the inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from echoscale._internal.types import Floats
from echoscale.data.clock import Clock
from echoscale.data.frames import LEVELS, LONG, ONE, Form, Given, clocks_of, series_of, tables_of
from echoscale.data.scaling import Scaling
from echoscale.data.series import held
from echoscale.forecasting.problem import LEAST_STEPS

# The last values of a series that are used: more take longer, and older values may mislead.
MOST_STEPS = 10_000
# Squares of smaller numbers may be 0.
SMALLEST = 1e-100


@dataclass(frozen=True, eq=False)
class Data:
    """All that is known up to now.

    Attributes
    ----------
    form : Form
        How y was given.
    clocks : list of Clock
        Where every series ends.
    columns : tuple of str
        Columns of X.
    past : tuple of int
        Places of the columns that are known only up to now.
    values : list of (T,)
        y of every series; gaps are NaN.
    tables : list of (T, K)
        X of every series.
    scaling : Scaling
        Units of X.
    """

    form: Form
    clocks: list[Clock]
    columns: tuple[str, ...]
    past: tuple[int, ...]
    values: list[Floats]
    tables: list[Floats]
    scaling: Scaling

    @classmethod
    def of(cls, y: Any, X: Any, past: Sequence[str | int]) -> Data:
        """Training data; `past` names the columns of X that are known only up to now."""
        given = series_of(y)
        clocks = clocks_of(given)
        tables, columns = _tables(X, given, clocks, [1 - len(each) for each in given.values])
        made = cls._of(given.form, clocks, columns, (), given.values, tables)
        return replace(made, past=_places(past, columns))

    @classmethod
    def _of(
        cls,
        form: Form,
        clocks: list[Clock],
        columns: tuple[str, ...],
        past: tuple[int, ...],
        values: Sequence[Floats],
        tables: Sequence[Floats],
    ) -> Data:
        """From the first value that is known, with inputs in units of these data."""
        series, beside = [], []
        for b, (each, table) in enumerate(zip(values, tables, strict=True)):
            known = np.flatnonzero(~np.isnan(each))
            if len(known) < LEAST_STEPS:
                count = f"{len(known)} value{'s' * (len(known) != 1)}"
                raise ValueError(
                    f"series {form.names[b]!r} holds {count}, at least {LEAST_STEPS} are needed to judge a forecast."
                )
            size = np.abs(each[known]).max()
            if 0 < size < SMALLEST:
                raise ValueError(
                    f"series {form.names[b]!r} reaches {size:.3g} only: squares of such numbers are too small to be added up. "
                    "Give it in other units."
                )
            first = max(int(known[0]), len(each) - MOST_STEPS)
            series.append(each[first:].copy())
            beside.append(table[first:])
        scaling = Scaling.of([_with_number(each) for each in beside]) if columns else Scaling.none(0)
        return cls(form, clocks, columns, past, series, beside, scaling)

    @property
    def shortest(self) -> int:
        """Steps of the shortest series."""
        return min(map(len, self.values))

    @property
    def known_ahead(self) -> tuple[str, ...]:
        """Columns of X whose future is known."""
        return tuple(name for k, name in enumerate(self.columns) if k not in self.past)

    def inputs(self, b: int) -> tuple[Floats, Floats]:
        """Scaled inputs of series b whose future is known, and those known up to now; gaps hold the last value."""
        return self._split(self.tables[b])

    def inputs_after(self, b: int, more: Floats) -> tuple[Floats, Floats]:
        """The same of rows that follow: a gap at their start holds the last value before."""
        if not more.shape[1]:
            return more, more
        return self._split(held(np.concatenate([held(self.tables[b])[-1:], more]))[1:])

    def _split(self, table: Floats) -> tuple[Floats, Floats]:
        scaled = held(self.scaling.forward(table)) if table.shape[1] else table
        past = list(self.past)
        return np.delete(scaled, past, axis=1), scaled[:, past]

    def until(self, back: int) -> Data:
        """The data up to `back` steps before the end. Inputs are scaled by their values up to there."""
        values, tables = ([each[: len(each) - back] for each in some] for some in (self.values, self.tables))
        return self._of(self.form, [clock.moved(-back) for clock in self.clocks], self.columns, self.past, values, tables)

    def steps_after(self, back: int, steps: int) -> tuple[list[Floats], list[Floats]]:
        """Values and inputs of some steps, the first of which is `back` steps before the end."""
        values, tables = ([each[len(each) - back :][:steps] for each in some] for some in (self.values, self.tables))
        return values, tables

    def after(self, y: Any, X: Any) -> tuple[list[Floats], list[Floats]]:
        """Values and tables of the steps right after these, checked against them."""
        given = series_of(y)
        if given.form.shape in (LONG, LEVELS) and set(given.form.names) == set(self.form.names):
            given = given.in_order(self.form.names)
        if given.form.names != self.form.names and not (given.form.shape == self.form.shape == ONE):
            raise ValueError(f"y must have the series {', '.join(self.form.names)}; got {', '.join(given.form.names)}.")
        for b, index in enumerate(given.indices):
            if index is not None:
                self.clocks[b].check(index, 1, "y")
            elif self.form.library != "array":
                raise TypeError(f"y must be of {self.form.library}, as in fit: its times are checked.")
        if X is None and self.columns:
            raise ValueError(f"X is missing: the model was fitted with inputs {', '.join(self.columns)}.")
        tables, _ = _tables(X, given, self.clocks, [1] * len(given.values), self.columns)
        return list(given.values), tables

    def continued(self, values: Sequence[Floats], tables: Sequence[Floats]) -> Data:
        """With the steps right after these."""
        return replace(
            self,
            clocks=[clock.moved(len(more)) for clock, more in zip(self.clocks, values, strict=True)],
            values=[np.concatenate(pair) for pair in zip(self.values, values, strict=True)],
            tables=[np.concatenate(pair) for pair in zip(self.tables, tables, strict=True)],
        )

    def future(self, X: Any, steps: int) -> list[Floats]:
        """The scaled known inputs of the next steps."""
        wanted = list(self.known_ahead)
        if not wanted:
            if X is not None:
                why = "all its inputs are known only up to now" if self.columns else "it was fitted without X"
                raise ValueError(f"this model takes no X for the future: {why}.")
            return [np.empty((steps, 0))] * len(self.values)
        if X is None:
            raise ValueError(f"X is missing: give the next {steps} values of {', '.join(wanted)}.")
        given = tables_of(X, self.form)
        numbered = self.columns == tuple(map(str, range(len(self.columns))))
        if numbered and given.indices[0] is None and len(given.columns) == len(wanted):
            given = replace(given, columns=tuple(wanted))  # arrays, whose columns have no names
        if list(given.columns) != wanted:
            if set(given.columns) == set(self.columns) and len(given.columns) == len(self.columns):
                raise ValueError(f"X holds {list(given.columns)}: give only {wanted}, whose future is known, in this order.")
            raise ValueError(f"X must have the columns {wanted} in this order; got {list(given.columns)}.")
        found, places = [], [k for k in range(len(self.columns)) if k not in self.past]
        for b, table in enumerate(given.values):
            what = _called(self.form, b)
            if len(table) != steps:
                raise ValueError(f"{what} has {len(table)} rows for {steps} steps: give one for each.")
            gaps = np.argwhere(np.isnan(table))
            if len(gaps):
                raise ValueError(
                    f"{what} has a gap at row {gaps[0][0]}, column {wanted[gaps[0][1]]!r}: the future must be known."
                )
            if given.indices[b] is not None and self.form.library != "array":
                self.clocks[b].check(given.indices[b], 1, what)
            found.append((table - self.scaling.mean[places]) / self.scaling.spread[places])
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


def _places(past: Sequence[str | int], columns: tuple[str, ...]) -> tuple[int, ...]:
    """The columns that are known only up to now."""
    found = set()
    for each in past:
        if isinstance(each, str) and each in columns:
            found.add(columns.index(each))
        elif isinstance(each, int) and not isinstance(each, bool) and -len(columns) <= each < len(columns):
            found.add(each % len(columns))
        else:
            raise ValueError(f"past names column {each!r}, which X does not have: its columns are {list(columns)}.")
    return tuple(sorted(found))


def _called(form: Form, b: int) -> str:
    """The inputs of a series in messages."""
    return "X" if form.shape == ONE else f"X of {form.names[b]!r}"


def _with_number(table: Floats) -> Floats:
    """A column without any number counts as 0."""
    return np.where(np.isnan(table).all(axis=0), 0.0, table)
