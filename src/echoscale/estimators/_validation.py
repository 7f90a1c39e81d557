"""Checks of data on their way into estimators, and the form of results.

scikit-learn checks one series as a table, and `as_series` checks several series. Targets may have gaps (NaN). Results have the
form of the data: one array, a stack or a list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import r2_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from echoscale._internal import checks
from echoscale._internal.types import Array, Floats
from echoscale.data.scaling import STANDARD
from echoscale.data.series import (
    Series,
    SeriesLike,
    as_series,
    as_targets,
    as_written,
    axes,
    check_labels,
    check_rows,
    is_list_of_series,
    refuse_masked,
)
from echoscale.data.stored import as_stored, is_stored, stored_targets
from echoscale.engine.esn import fresh_seed
from echoscale.readouts import penalties

RandomState = int | np.random.RandomState | None


def are_many(X: SeriesLike) -> bool:
    """Whether X is a batch or a list of series, which scikit-learn does not check."""
    return is_list_of_series(X) or axes(X) >= 3


def check_loop(model: Any, warmup: object) -> None:
    """Refuses a closed loop of a model whose outputs are not its next inputs, and one that begins after an unknown value."""
    if model.no_forecast_:
        raise ValueError(
            f"forecast makes outputs the next inputs, but {model.no_forecast_} Fit a model to predict its own next input: "
            "fit(u[:-1], u[1:])."
        )
    if warmup is None and np.isnan(model.last_target_).any():
        raise ValueError("the last target is NaN, and a forecast begins after it: give the last known values as warmup.")


def inputs(model: Any, X: SeriesLike, reset: bool, least: int = 1, *, flat: bool = True, stored: bool = False) -> Series:
    """Checked inputs without targets; sets `n_features_in_` of the model on its first fit. With `stored`, stored data stay."""
    features = None if reset else model.n_features_in_
    if stored and is_stored(X):
        series = as_stored(X, features, "X")
        if reset:
            model.n_features_in_ = series.features
            _remember_names(model, series)
        return series
    if are_many(X):
        series = as_series(X, features, name="X", columns=() if reset else getattr(model, "feature_names_in_", ()))
        if reset:
            model.n_features_in_ = series.features
            _remember_names(model, series)
        return series
    refuse_masked(X, "X")
    # as_series checks gaps, since its error names their place.
    table = as_table(X, features) if flat else X
    checked = validate_data(model, table, reset=reset, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=least)
    return as_series(checked, name="X")


def inputs_and_targets(
    model: Any, X: SeriesLike, y: Any, reset: bool, least: int = 1, *, stored: bool = False
) -> tuple[Series, Series]:
    """Checked inputs and targets, NaN where a target is unknown; on the first fit, sets `flat_targets_` of the model too."""
    if stored and is_stored(X):
        series = inputs(model, X, reset, stored=True)
        targets = stored_targets(y, series, gaps=True)
        flat = axes(y if series.kind != "list" else y[0]) == (2 if series.kind == "batch" else 1)
    elif are_many(X):
        series = inputs(model, X, reset)
        targets = as_targets(y, series, gaps=True)
        flat = axes(y) == 2 if series.kind == "batch" else all(axes(each) == 1 for each in y)
    else:
        refuse_masked(X, "X")
        check_rows(y, X)
        y, unknown = _filled(y)
        X, y = validate_data(
            model,
            as_table(X, None if reset else model.n_features_in_),
            y,
            reset=reset,
            dtype=np.float64,
            ensure_all_finite=False,
            multi_output=True,
            y_numeric=True,
            ensure_min_samples=least,
        )
        series, flat = as_series(X, name="X"), np.ndim(y) == 1
        targets = as_targets(y if unknown is None else np.where(unknown, np.nan, y), series, gaps=True)
    if reset:
        model.flat_targets_ = flat
    elif hasattr(model, "readout_") and targets.features != len(model.readout_.intercept):
        raise ValueError(f"y has {targets.features} outputs, the model was fitted with {len(model.readout_.intercept)}.")
    return series, targets


def as_table(X: SeriesLike, features: int | None = None) -> SeriesLike:
    """Data with one axis, (T,), as a table of one column if the model takes one; otherwise scikit-learn raises the error."""
    if axes(X) != 1 or features not in (None, 1) or len(X) == 0:  # type: ignore[arg-type]
        return X
    return X.to_frame() if hasattr(X, "to_frame") else np.asarray(X)[:, None]


def name_gaps(X: object, y: object) -> None:
    """Refuses labels that are missing or masked, or that have other rows than X."""
    refuse_masked(X, "X")
    refuse_masked(y, "y")
    check_rows(y, X)
    try:
        values = as_written(y)
    except ValueError:  # scikit-learn raises the error
        return
    if values.dtype.kind == "f" and values.ndim in (1, 2) and values.size:
        as_series(values, name="y")
    elif values.dtype.kind == "O" and values.ndim:
        check_labels([values])


def penalties_of(model: Any) -> Floats | None:
    """The penalties of a model as an array, or None for "auto"; its scale and its number of folds are checked."""
    checks.choice(model.scale, (STANDARD, None), "scale")
    checks.integer(model.folds, "folds", minimum=2)
    return penalties.check(model.ridge)


def seed_of(random_state: RandomState) -> int:
    """The random seed: a new one for None, a whole number as it is, or a number drawn from a generator."""
    if random_state is None:
        return fresh_seed()
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return checks.integer(random_state, "random_state")
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def as_given(values: list[Array], series: Series) -> Any:
    """One array for one series, a stack for a batch, a list for a list."""
    if series.kind == "list":
        return values
    return values[0] if series.kind == "one" else np.stack(values)


def map_given(function: Callable[[Array], Array], values: Array | list[Array]) -> Any:
    """Applies `function` to an array, or to every array of a list."""
    return [function(each) for each in values] if isinstance(values, list) else function(values)


def counted(values: Sequence[npt.ArrayLike] | Array, washout: int) -> Array:
    """The rows after the washout, of all series together."""
    return np.concatenate([np.asarray(each)[washout:] for each in values])


def last_rows(series: Series) -> Array:
    """The last step of one series, (F,), or of several, (B, F)."""
    ends = np.stack([each[-1] for each in series.values])
    return ends[0] if series.kind == "one" else ends


def explained_share(targets: Series, outputs: Sequence[Array], washout: int, sample_weight: SeriesLike | None) -> float:
    """R^2 = 1 - sum (y - y_hat)^2 / sum (y - mean)^2 over the steps after the washout that have a target."""
    truth, found = counted(targets.values, washout), counted(outputs, washout)
    known = ~np.isnan(truth).any(axis=1)
    weights: Any = sample_weight if sample_weight is None or targets.kind != "one" else [sample_weight]
    weights = None if weights is None else counted(weights, washout)[known]
    return float(r2_score(truth[known], found[known], sample_weight=weights))


def _remember_names(model: Any, series: Series) -> None:
    """Sets `feature_names_in_`, as scikit-learn does for one series."""
    if series.columns:
        model.feature_names_in_ = np.array(series.columns, dtype=object)
    elif hasattr(model, "feature_names_in_"):
        del model.feature_names_in_


def _filled(y: Any) -> tuple[Any, npt.NDArray[np.bool_] | None]:
    """Targets that pass scikit-learn's checks, and where they are unknown (NaN); None if all are known."""
    refuse_masked(y, "y")
    try:
        values = np.asarray(y)
    except ValueError:
        return y, None
    if values.dtype.kind != "f" or values.ndim not in (1, 2) or not values.size:
        return y, None
    as_series(values, name="y", gaps=True)  # says where a target is infinite
    unknown = np.isnan(values)
    return (np.where(unknown, 0.0, values), unknown) if unknown.any() else (y, None)
