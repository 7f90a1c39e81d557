"""What users pass as y and X, brought into one form, and results brought back into theirs: arrays, pandas, xarray, panels.

    (T,) array, list, Series, DataArray       one series
    (T, B) array, DataFrame, DataArray        B series, a column each
    dict or list of series                    a panel: as many series, of any lengths
    DataFrame with columns of names, times and values, or Series with an index of names and times:
                                              a panel in long form

Columns are separate series. What acts on another series is passed as X.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from echoscale._internal.types import Floats
from echoscale.data.clock import Clock
from echoscale.data.series import as_numbers, axes, refuse_twice

ONE, COLUMNS, DICT, LIST = "one", "columns", "dict", "list"
LONG, LEVELS = "long", "levels"
ARRAY, PANDAS, XARRAY = "array", "pandas", "xarray"
# Squares of larger numbers may be infinite in a sum.
LARGEST = 1e100
# Columns of names and times that long frames have in statsforecast and others.
NAMES, TIMES = "unique_id", "ds"
# What pandas.api.types.infer_dtype calls columns of dates, and of names.
DATES, TEXTS = ("datetime64", "datetime", "date", "period"), ("string", "categorical")


@dataclass(frozen=True, eq=False)
class Form:
    """How y was given.

    Attributes
    ----------
    shape : "one", "columns", "dict", "list", "long" or "levels"
        One series, columns of a table, or a panel: a dict, a list, columns of names, times and values, or an index of names
        and times.
    library : "array", "pandas" or "xarray"
        What it was made of.
    names : tuple of str
        Names of the series, for errors and pictures.
    labels : tuple
        The same as the user wrote them: any keys; None for a series without a name.
    dims : tuple
        Dimensions of a DataArray; of a long form, what the names, the times and the values are called.
    """

    shape: str
    library: str
    names: tuple[str, ...]
    labels: tuple[Any, ...]
    dims: tuple[Any, ...] = ()


@dataclass(frozen=True, eq=False)
class Given:
    """Series of y, or tables of X.

    Attributes
    ----------
    values : list of (T_b,) or (T_b, F)
        Numbers; gaps are NaN.
    indices : list
        pandas indices; None for arrays.
    form : Form
        How they were given.
    columns : tuple of str
        Names of the columns of X; without use for y.
    """

    values: list[Floats]
    indices: list[Any]
    form: Form
    columns: tuple[str, ...] = ()

    def in_order(self, names: Sequence[str]) -> Given:
        """The same series in another order."""
        order = [self.form.names.index(each) for each in names]
        values, indices = ([some[b] for b in order] for some in (self.values, self.indices))
        form = replace(self.form, names=tuple(names), labels=tuple(self.form.labels[b] for b in order))
        return replace(self, values=values, indices=indices, form=form)


def library_of(value: object) -> str:
    """What an object is made of: its own library is asked for nothing else."""
    home = type(value).__module__.split(".")[0]
    return home if home in (PANDAS, XARRAY) else ARRAY


def series_of(y: Any, name: str = "y") -> Given:
    """y as series."""
    library = library_of(y)
    if isinstance(y, Mapping) and library == ARRAY:
        if not y:
            raise ValueError(f"{name} is an empty panel: give at least one series.")
        return _panel(list(y), list(y.values()), DICT, name)
    if isinstance(y, list | tuple) and (not len(y) or any(axes(each) >= 1 for each in y)):
        if not len(y):
            raise ValueError(f"{name} is empty: give at least one series.")
        return _panel(list(range(len(y))), list(y), LIST, name)
    long = _long_form(y, name)
    if long is not None:
        shape, dims = long
        parts = _parts(y, shape, dims, name)
        series = [part[dims[2]] if shape == LONG else part for part in parts.values()]
        panel = _panel(list(parts), series, shape, name)
        return replace(panel, form=replace(panel.form, dims=dims))
    values = _numbers(y, name)
    index, dims = _index_of(y), _dims_of(y)
    if values.ndim == 1:
        given = None if library == ARRAY else y.name
        _check(values, name)
        return Given([values], [index], Form(ONE, library, ("y" if given is None else str(given),), (given,), dims))
    if values.ndim != 2:
        raise ValueError(f"{name} must be one series (T,), columns (T, B), or a dict or list of series; got {values.shape}.")
    if values.shape[1] == 0:
        raise ValueError(f"{name} has no columns: it is an empty panel. Give at least one series.")
    names = _columns_of(y, values.shape[1])
    refuse_twice(names, name)
    labels = tuple(y.columns) if library == PANDAS else tuple(names)
    columns = [np.ascontiguousarray(values[:, b]) for b in range(values.shape[1])]
    for each, label in zip(columns, names, strict=True):
        _check(each, f"{name}[{label!r}]")
    return Given(columns, [index] * len(columns), Form(COLUMNS, library, tuple(names), labels, dims))


def tables_of(X: Any, form: Form, name: str = "X") -> Given:
    """X as one table for every series: the same for all, or a dict or list of tables as y is one."""
    count = len(form.names)
    several: list[Any] | None = None
    if form.shape in (LONG, LEVELS):
        X = _parts(X, form.shape, form.dims, name)
    if form.shape in (DICT, LONG, LEVELS) and isinstance(X, Mapping) and library_of(X) == ARRAY:
        if set(map(str, X)) != set(form.names):
            raise ValueError(f"{name} must have the series of y, {', '.join(form.names)}; got {', '.join(map(str, X))}.")
        by_name = {str(key): value for key, value in X.items()}
        several = [by_name[each] for each in form.names]
    elif form.shape == LIST and isinstance(X, list | tuple) and len(X) and all(axes(each) >= 1 for each in X):
        if len(X) != count:
            raise ValueError(f"{name} holds {len(X)} tables for the {count} series of y: give one for each.")
        several = list(X)
    tables = several if several is not None else [X]
    values, indices, columns = [], [], []
    for b, each in enumerate(tables):
        what = name if several is None else f"{name}[{form.names[b]!r}]"
        table = _numbers(each, what)
        table = table[:, None] if table.ndim == 1 else table
        if table.ndim != 2 or table.shape[1] == 0:
            raise ValueError(f"{what} must be (T, F), a row for every step; got shape {table.shape}.")
        bad = np.argwhere(np.isinf(table))
        if len(bad):
            raise ValueError(f"{what} must be finite, found an infinite value at row {bad[0][0]}, column {bad[0][1]}.")
        values.append(table)
        indices.append(_index_of(each))
        columns.append(tuple(_columns_of(each, table.shape[1])))
        refuse_twice(columns[-1], what)
    if len(set(columns)) > 1:
        other = next(each for each in columns if each != columns[0])
        raise ValueError(f"all tables of {name} must have the same columns: {list(columns[0])} and {list(other)} differ.")
    if several is None:
        values, indices = values * count, indices * count
    return Given(values, indices, form, columns[0])


def clocks_of(given: Given, name: str = "y") -> list[Clock]:
    """The times of every series."""
    found = []
    for values, index, label in zip(given.values, given.indices, given.form.names, strict=True):
        what = name if given.form.shape == ONE else f"{name}[{label!r}]"
        found.append(Clock.counted(len(values)) if index is None else Clock.of(index, what))
    zones = {clock.zone for clock in found}
    if len(zones) > 1:
        first, other = next((a, b) for a, b in pairwise(found) if a.zone != b.zone)
        raise ValueError(f"the series of {name} are in different time zones: {first.zone} and {other.zone}. Use tz_convert.")
    return found


def returned(values: Sequence[Floats], clocks: Sequence[Clock], form: Form) -> Any:
    """Forecasts of every series, (steps,) each, in the form of y."""

    def one(b: int) -> Any:
        if form.library == ARRAY:
            return values[b]
        named = form.labels[b] if form.shape == ONE else form.dims[2] if form.shape in (LONG, LEVELS) else form.names[b]
        return _series(values[b], clocks[b], named, form)

    if form.shape == ONE:
        return one(0)
    if form.shape in (DICT, LIST):
        each = [one(b) for b in range(len(values))]
        return dict(zip(form.labels, each, strict=True)) if form.shape == DICT else each
    if form.shape in (LONG, LEVELS):
        return joined([one(b) for b in range(len(values))], form)
    table = np.stack(values, axis=1)
    if form.library == ARRAY:
        return table
    index = clocks[0].index(1, len(table) + 1)
    if form.library == XARRAY:
        import xarray as xr

        time, name = form.dims
        return xr.DataArray(table, {time: _stamps(index), name: list(form.names)}, form.dims)
    import pandas as pd

    return pd.DataFrame(table, index=index, columns=list(form.labels))


def joined(each: Sequence[Any], form: Form) -> Any:
    """Pandas objects of all series, one below the other, in the long form of y."""
    import pandas as pd

    found = pd.concat(each, keys=list(form.labels), names=list(form.dims[:2]))
    return found.reset_index() if form.shape == LONG else found


def _series(values: Floats, clock: Clock, name: object, form: Form) -> Any:
    index = clock.index(1, len(values) + 1)
    if form.library == XARRAY:
        import xarray as xr

        [time] = form.dims[:1] or ("time",)
        return xr.DataArray(values, {time: _stamps(index)}, (time,), name=name)
    import pandas as pd

    return pd.Series(values, index=index, name=name)


def _stamps(index: Any) -> Any:
    """What a coordinate of xarray holds: time stamps without their frequency."""
    return index.to_timestamp() if hasattr(index, "to_timestamp") else index


def _long_form(y: Any, name: str) -> tuple[str, tuple[Any, ...]] | None:
    """The kind of the long form of y, and the names of its columns of names, times and values; None for other tables."""
    from pandas.api.types import infer_dtype

    if library_of(y) != PANDAS or not hasattr(y, "index"):
        return None
    if y.index.nlevels == 2:
        if infer_dtype(y.index.levels[0]) in DATES:
            raise ValueError(f"the rows of {name} are indexed by times, then names: use {name}.swaplevel().")
        if y.ndim == 2:
            first = y.columns[0] if y.shape[1] else "value"
            raise ValueError(
                f"{name} is a DataFrame with an index of two levels: give one of its columns, {name}[{first!r}]"
                f"{'' if y.shape[1] < 2 else ', and inputs among the others as X'}."
            )
        return LEVELS, (*y.index.names, y.name)
    if y.ndim == 1 or y.columns.nlevels > 1:
        return None
    if {NAMES, TIMES} <= set(y.columns):
        names, times = NAMES, TIMES
    else:
        refuse_twice([str(label) for label in y.columns], name)
        kinds = {label: infer_dtype(y[label]) for label in y.columns if y[label].dtype.kind not in "iufb"}
        found = [[label for label, kind in kinds.items() if kind in some] for some in (TEXTS, DATES)]
        if [len(each) for each in found] != [1, 1]:
            return None
        [[names], [times]] = found
    others = [label for label in y.columns if label not in (names, times)]
    if len(others) > 1:
        raise ValueError(
            f"{name} is in long form, a row for each {names!r} and {times!r}, and has {len(others)} columns of values. Inputs "
            f"are passed as X, with the same two columns; y is one column beside them, {name}[{[names, times, others[-1]]!r}]."
        )
    return (LONG, (names, times, others[0])) if others else None


def _parts(value: Any, shape: str, dims: tuple[Any, ...], what: str) -> dict[Any, Any]:
    """The rows of every series of a table in long form, with their times as the index."""
    import pandas as pd

    names, times = dims[:2]
    if shape == LEVELS:
        if library_of(value) != PANDAS or value.index.nlevels != 2:
            raise TypeError(f"{what} must have an index of names and times, as y.")
        rest, keys, index = value, value.index.get_level_values(0), value.index.get_level_values(1)
    else:
        if library_of(value) != PANDAS or value.ndim != 2 or not {names, times} <= set(value.columns):
            raise TypeError(f"{what} must be in long form, with the columns {names!r} and {times!r}, as y.")
        rest, keys, index = value.drop(columns=[names, times]), pd.Index(value[names]), pd.Index(value[times])
    if not len(keys):
        raise ValueError(f"{what} is empty.")
    for row in np.flatnonzero(keys.isna())[:1]:
        raise ValueError(f"row {row} of {what} belongs to no series: its name is missing.")
    codes, labels = pd.factorize(keys)
    rows = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    return {label: rest.iloc[each].set_axis(index[each]) for label, each in zip(labels, rows, strict=True)}


def _panel(labels: list[Any], each: list[Any], shape: str, name: str) -> Given:
    names = [str(label) for label in labels]
    if len(set(names)) < len(names):
        raise ValueError(f"{name} has two series of the same name: {names}.")
    libraries = sorted({library_of(one) for one in each})
    if len(libraries) > 1:
        raise TypeError(f"the series of {name} must be of one kind, got {', '.join(libraries)}.")
    values = []
    for label, one in zip(names, each, strict=True):
        what = f"{name}[{label!r}]"
        found = _numbers(one, what)
        found = found[:, 0] if found.ndim == 2 and found.shape[1] == 1 else found
        if found.ndim != 1:
            raise ValueError(f"{what} must be one series (T,), got shape {found.shape}.")
        _check(found, what)
        values.append(found)
    form = Form(shape, libraries[0], tuple(names), tuple(labels), _dims_of(each[-1]))
    return Given(values, [_index_of(one) for one in each], form)


def _numbers(value: Any, what: str) -> Floats:
    library = library_of(value)
    if library == PANDAS and hasattr(value, "to_numpy"):
        _refuse_levels(value, what)
        _refuse_columns(value, what)
        try:
            value = value.to_numpy(dtype=np.float64, na_value=np.nan)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"{what} cannot be read as numbers: {error}. Read dates with pandas.to_datetime, "
                "and use pivot where a column names the series."
            ) from error
    elif library == XARRAY and value.ndim == 2 and _is_time(value, 1) and not _is_time(value, 0):
        other, time = value.dims
        raise ValueError(
            f"{what} has the dimensions {value.dims}: time comes first. Use {what}.transpose({time!r}, {other!r})."
        )
    elif type(value).__module__.startswith("polars.") and hasattr(value, "schema"):
        # NumPy gets the dates of polars as numbers.
        dates = [name for name, dtype in value.schema.items() if dtype.is_temporal()]
        if dates:
            raise TypeError(
                f"column {dates[0]!r} of {what} holds times, not numbers. Use {what}.drop({dates[0]!r}), which numbers the "
                f"steps; or {what}.to_pandas().set_index({dates[0]!r}), which keeps the times."
            )
    return np.asarray(as_numbers(value, what, np.float64))


def _is_time(value: Any, axis: int) -> bool:
    """Whether a dimension of a DataArray is time: by its dates, or by its name."""
    index = value.indexes.get(value.dims[axis])
    return value.dims[axis] == "time" or (index is not None and index.dtype.kind == "M")


def _refuse_levels(value: Any, what: str) -> None:
    """Raise where the rows or columns of a pandas object have several levels."""
    from pandas.api.types import infer_dtype

    if value.index.nlevels > 1:
        level = next((k for k, each in enumerate(value.index.levels) if infer_dtype(each) not in DATES), 0)
        level = level if value.index.names[level] is None else value.index.names[level]
        raise ValueError(
            f"the rows of {what} have an index of {value.index.nlevels} levels, {list(value.index.names)}: give a dict of "
            f"series, {{name: part.droplevel({level!r}) for name, part in {what}.groupby(level={level!r})}}."
        )
    if value.ndim == 2 and value.columns.nlevels > 1:
        raise ValueError(
            f"the columns of {what} have {value.columns.nlevels} levels, {value.columns[0]!r} is the first: give each one "
            f"name, {what}.set_axis(['_'.join(map(str, each)) for each in {what}.columns], axis=1)."
        )


def _refuse_columns(value: Any, what: str) -> None:
    """Raise where pandas would turn dates, durations or complex values into real numbers, or a table is in long form."""
    from pandas.api.types import infer_dtype

    columns = [value] if value.ndim == 1 else [value.iloc[:, k] for k in range(value.shape[1])]
    kinds = {k: infer_dtype(each) for k, each in enumerate(columns) if each.dtype.kind in "mMcO"}
    for k, kind in kinds.items():
        column, label = columns[k], columns[k].name
        called = what if value.ndim == 1 else f"column {label!r} of {what}"
        if kind in DATES and value.ndim == 1:
            raise TypeError(f"{what} holds dates, not numbers: dates are its index, numbers its values.")
        if kind in DATES:
            others = [j for j in range(len(columns)) if j != k and kinds.get(j) not in DATES]
            if len(others) > 1 and (column.duplicated().any() or any(kinds.get(j) in TEXTS for j in others)):
                # Series have names, or at least fewer numbers than values.
                order = sorted(others, key=lambda j: (kinds.get(j) not in TEXTS, columns[j].nunique()))
                name, number = (columns[j].name for j in (order[0], order[-1]))
                remedy = f"one column for each series, {what}.pivot(index={label!r}, columns={name!r}, values={number!r})"
            elif value.index.dtype.kind == "M":
                remedy = f"the index has dates already, {what}.drop(columns={label!r})"
            else:
                remedy = f"make it the index, {what}.set_index({label!r})"
            raise TypeError(f"{called} holds dates, not numbers: {remedy}.")
        if kind.startswith("timedelta"):
            raise TypeError(f"{called} holds durations, not numbers: count them in seconds, with .dt.total_seconds().")
        if kind == "complex":
            raise TypeError(f"{called} is complex: give real and imaginary part as two columns.")


def _check(values: Floats, what: str) -> None:
    if not len(values):
        raise ValueError(f"{what} is empty.")
    bad = np.flatnonzero(np.isinf(values))
    if len(bad):
        raise ValueError(f"{what} must be finite, found an infinite value at row {bad[0]}; gaps are NaN.")
    large = np.flatnonzero(np.abs(values) > LARGEST)
    if len(large):
        raise ValueError(
            f"{what} holds {values[large[0]]:.3g} at row {large[0]}: squares of such numbers are too large to be added up. "
            "Give it in other units."
        )


def _index_of(value: Any) -> Any:
    library = library_of(value)
    if library == PANDAS:
        return value.index
    if library == XARRAY:
        return value.indexes.get(value.dims[0])
    return None


def _dims_of(value: Any) -> tuple[str, ...]:
    return tuple(str(each) for each in value.dims) if library_of(value) == XARRAY else ()


def _columns_of(value: Any, count: int) -> list[str]:
    library = library_of(value)
    if library == PANDAS and value.ndim == 2:
        return [str(each) for each in value.columns]
    if library == PANDAS and value.name is not None:
        return [str(value.name)]
    if library == XARRAY and value.ndim == 2 and value.dims[1] in value.coords:
        return [str(each) for each in value.coords[value.dims[1]].values]
    return [str(k) for k in range(count)]
