"""Results in the form of the data: one array, a stack or a list; and the steps of them that count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import r2_score

from echoscale.series import Series, SeriesLike

Array = npt.NDArray[Any]


def as_given(values: list[Array], series: Series) -> Any:
    """One array for one series, a stack for a batch, a list for a list.

    Parameters
    ----------
    values : list of arrays
        One for every series.
    series : Series
        Whose form they take.
    """
    if series.kind == "list":
        return values
    return values[0] if series.kind == "one" else np.stack(values)


def map_given(function: Callable[[Array], Array], values: Array | list[Array]) -> Any:
    """`function` of an array, or of every array of a list.

    Parameters
    ----------
    function : function of an array
        What to do.
    values : array or list of arrays
        As `as_given` returns them.
    """
    return [function(each) for each in values] if isinstance(values, list) else function(values)


def counted(values: Sequence[npt.ArrayLike] | Array, washout: int) -> Array:
    """The rows after the washout, of all series together.

    Parameters
    ----------
    values : list of (T_b, ...)
        One for every series.
    washout : int
        Steps at the start of every series that do not count.
    """
    return np.concatenate([np.asarray(each)[washout:] for each in values])


def last_rows(series: Series) -> Array:
    """The last step of one series, (F,), or of several, (B, F).

    Parameters
    ----------
    series : Series
        Inputs or targets.
    """
    ends = np.stack([each[-1] for each in series.values])
    return ends[0] if series.kind == "one" else ends


def explained_share(targets: Series, outputs: Sequence[Array], washout: int, sample_weight: SeriesLike | None) -> float:
    """R^2 = 1 - sum (y - y_hat)^2 / sum (y - mean)^2 over the steps after the washout that have a target.

    Parameters
    ----------
    targets : Series
        y.
    outputs : list of (T_b, O)
        y_hat, one array for every series.
    washout : int
        Steps at the start of every series that do not count.
    sample_weight : as the targets, or None
        How much each step counts; None: all alike.
    """
    truth, found = counted(targets.values, washout), counted(outputs, washout)
    known = ~np.isnan(truth).any(axis=1)
    weights: Any = sample_weight if sample_weight is None or targets.kind != "one" else [sample_weight]
    weights = None if weights is None else counted(weights, washout)[known]
    return float(r2_score(truth[known], found[known], sample_weight=weights))
