"""Fits a readout to statistics of segments of time; held-out segments choose the penalty, exactly where a Gram matrix fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Floats, Indices
from echoscale.data.scaling import Scaling
from echoscale.readouts import exact, penalties, splits
from echoscale.readouts.penalties import RidgeCurve
from echoscale.readouts.ridge import Readout
from echoscale.readouts.ridge import ridge as solve_ridge
from echoscale.readouts.splits import Split, Splits
from echoscale.readouts.statistics import Statistics

# Features, targets, and the rows of every segment.
Rows = Callable[[], tuple[npt.NDArray[Any], npt.NDArray[Any], list[Indices]]]


class Fitted(NamedTuple):
    """A readout with the statistics of all data, its penalty, and the curve that chose the penalty."""

    statistics: Statistics
    readout: Readout
    ridge: float
    curve: RidgeCurve | None


def splits_of(folds: int, lengths: npt.NDArray[np.int64], washout: int, several: bool) -> Splits:
    """Folds of time; one segment without splits if there is one penalty only, or too little data to choose."""
    count = splits.possible(lengths, washout, folds) if several else 0
    return splits.folds(lengths, washout, count) if count else splits.whole(lengths, washout)


def splits_by_class(folds: int, classes: Indices, several: bool) -> Splits:
    """Folds of rows, one for every sequence, with every class in each fold."""
    if several and len(classes) >= splits.FEWEST:
        return splits.by_class(classes, folds)
    return splits.whole([len(classes)], 0)


def fit_readout(
    parts: Sequence[Statistics],
    held_out: Sequence[Split],
    ridge: Floats | None,
    rows: Rows | None = None,
    tie: float = 0.0,
) -> Fitted:
    """The readout of all parts together, with the penalty that held-out parts choose; ridge=None is "auto".

    tie  as in `RidgeCurve`, for "auto"
    """
    whole = splits.total(parts)
    penalty, curve = penalties.decide(ridge, splits.pairs(parts, held_out), whole, tie)
    # A choice near the end of the path may be rounding. A given penalty is solved exactly only if it is below the path.
    lost = exact.FROM if ridge is None and curve is not None else penalties.RELATIVE[0] / 2
    fits = float(whole.count) * whole.mean.size * 8 <= exact.MOST_BYTES
    if rows is None or not fits or penalty > lost * float(whole.unit):
        return Fitted(whole, solve_ridge(whole, penalty), penalty, curve)
    features, targets, groups = rows()
    factors = [exact.factor(features[each], targets[each]) for each in groups]
    all_rows = splits.total(factors)
    if ridge is None:
        curve = penalties.choose(splits.pairs(factors, held_out), all_rows, exact.EXACT_RELATIVE, exact.path_squares, tie)
        penalty = curve.ridge
    return Fitted(whole, exact.path(all_rows, [penalty]).at(0), penalty, curve)


def fit_stream(
    before: Statistics | None,
    part: Statistics,
    folds: Sequence[Statistics] | None,
    curve: RidgeCurve | None,
    ridge: Floats | None,
    count: int,
    tie: float = 0.0,
) -> tuple[Fitted, Sequence[Statistics] | None]:
    """The readout of a stream after one more part, and its folds: the part joins the one with the fewest rows.

    A stream that continues a fit has no folds: the relative penalty of the fit, the minimum of `curve`, stays.
    """
    whole = part if before is None else before + part
    if ridge is not None:
        return Fitted(whole, solve_ridge(whole, float(ridge[0])), float(ridge[0]), None), folds
    if before is not None and folds is None:
        relative = penalties.UNCHOSEN if curve is None else max(curve.relative[curve.place], penalties.RELATIVE[0])
        penalty = float(relative * whole.unit)
        return Fitted(whole, solve_ridge(whole, penalty), penalty, curve), None
    empty = Statistics(0 * part.count, 0 * part.mean, 0 * part.scatter, part.features)
    held = [empty] * count if folds is None else list(folds)
    place = int(np.argmin([float(each.count) for each in held]))
    held[place] = held[place] + part
    filled = [k for k, each in enumerate(held) if float(each.count) > 0]
    penalty, chosen = penalties.decide(None, splits.pairs(held, splits.in_turn(filled)), whole, tie)
    return Fitted(whole, solve_ridge(whole, penalty), penalty, chosen), held


def in_units_of(readout: Readout, outputs: Scaling) -> Readout:
    """A readout of scaled targets as a readout of targets in units of the data.

    Its rows lie one after the other, as in a loaded model, so that products have the same bits.
    """
    coef = np.ascontiguousarray(readout.coef)
    if outputs.is_none:
        return readout._replace(coef=coef)
    return Readout(coef * outputs.spread[:, None], outputs.back(readout.intercept), readout.ridge)
