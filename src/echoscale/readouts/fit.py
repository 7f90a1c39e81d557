"""Fit a readout to statistics of segments of time: the penalty by held-out segments, exactly where a Gram matrix fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.types import Floats, Indices
from echoscale.data.scaling import Scaling
from echoscale.readouts import exact, penalties, splits
from echoscale.readouts.penalties import RidgeCurve
from echoscale.readouts.ridge import Readout
from echoscale.readouts.ridge import ridge as solve_ridge
from echoscale.readouts.statistics import Statistics

# Features, targets, and the rows of every segment.
Rows = Callable[[], tuple[npt.NDArray[Any], npt.NDArray[Any], list[Indices]]]


class Fitted(NamedTuple):
    """A readout with the statistics of all data, its penalty, and the curve that chose the penalty."""

    statistics: Statistics
    readout: Readout
    ridge: float
    curve: RidgeCurve | None


def check_validation(validation: object) -> None:
    """A whole number >= 2 is a number of folds; a fraction in (0, 1) is the share of a validation tail."""
    if by_folds(validation) and not isinstance(validation, bool):
        checks.integer(validation, "validation, as a number of folds,", minimum=2)
    elif not 0 < checks.number(validation, "validation") < 1:
        raise ValueError(f"validation must be a fraction in (0, 1) or a number of folds from 2 on, got {validation}.")


def by_folds(validation: object) -> bool:
    """Whether a penalty is chosen by folds, and not by a tail."""
    return isinstance(validation, int | np.integer)


def segments(validation: float | int, lengths: npt.NDArray[np.int64], washout: int, several: bool) -> list[Indices]:
    """Edges of the segments of time for the statistics: fold, gap, ..., fold; training, gap, tail; or one for all."""
    count = splits.possible(lengths, washout, int(validation)) if several and by_folds(validation) else 0
    if count:
        return splits.edges(lengths, washout, count)
    if several and not by_folds(validation):
        return splits.tail_edges(lengths, washout, float(validation))
    return [np.array([washout, length]) for length in lengths]


def pairs(validation: float | int, parts: Sequence[splits.Part], gaps: bool) -> list[tuple[splits.Part, splits.Part]]:
    """(training, held out) from the segments; none where there is one segment only."""
    if len(parts) == 1:
        return []
    if by_folds(validation):
        return splits.leave_one_out(parts[::2] if gaps else parts)
    if min(float(parts[0].count), float(parts[-1].count)) < 1:
        raise ValueError(f"validation={validation} leaves nothing to train on, or nothing to validate by: use folds.")
    return [(parts[0], parts[-1])]


def fit_readout(
    parts: Sequence[Statistics],
    validation: float | int,
    ridge: Floats | None,
    rows: Rows | None = None,
    *,
    gaps: bool = True,
) -> Fitted:
    """The readout of all parts together, with the penalty that held-out parts choose; ridge=None is "auto"."""
    whole = splits.total(parts)
    penalty, curve = penalties.decide(ridge, pairs(validation, parts, gaps), whole)
    # A choice near the end of the path may be rounding; a penalty that was given is not to be doubted before it is lost itself.
    lost = exact.FROM if ridge is None and curve is not None else penalties.RELATIVE[0] / 2
    fits = float(whole.count) * whole.mean.size * 8 <= exact.MOST_BYTES
    if rows is None or not fits or penalty > lost * float(penalties.unit_of(whole)):
        return Fitted(whole, solve_ridge(whole, penalty), penalty, curve)
    features, targets, groups = rows()
    factors = [exact.factor(features[each], targets[each]) for each in groups]
    all_rows = splits.total(factors)
    if ridge is None:
        curve = exact.choose(pairs(validation, factors, gaps), all_rows)
        penalty = curve.ridge
    return Fitted(whole, exact.path(all_rows, [penalty]).at(0), penalty, curve)


def fit_stream(
    before: Statistics | None,
    part: Statistics,
    folds: Sequence[Statistics] | None,
    curve: RidgeCurve | None,
    ridge: Floats | None,
    count: int,
) -> tuple[Fitted, Sequence[Statistics] | None]:
    """The readout of a stream after one more part, and its folds: the part joins the one with the fewest rows.

    A stream that continues a fit has no folds: the relative penalty of the fit, the minimum of `curve`, stays.
    """
    whole = part if before is None else before + part
    if ridge is not None:
        return Fitted(whole, solve_ridge(whole, float(ridge[0])), float(ridge[0]), None), folds
    if before is not None and folds is None:
        relative = penalties.UNCHOSEN if curve is None else max(curve.relative[curve.place], penalties.RELATIVE[0])
        penalty = float(relative * penalties.unit_of(whole))
        return Fitted(whole, solve_ridge(whole, penalty), penalty, curve), None
    empty = Statistics(0 * part.count, 0 * part.mean, 0 * part.scatter, part.features)
    held = [empty] * count if folds is None else list(folds)
    place = int(np.argmin([float(each.count) for each in held]))
    held[place] = held[place] + part
    several = sum(float(each.count) > 0 for each in held) > 1
    penalty, chosen = penalties.decide(None, splits.leave_one_out(held) if several else [], whole)
    return Fitted(whole, solve_ridge(whole, penalty), penalty, chosen), held


def in_units_of(readout: Readout, outputs: Scaling) -> Readout:
    """The readout of targets in units of the network as one of targets in units of the data.

    Its rows lie one after the other, as those of a loaded model do: products then have the same bits.
    """
    coef = np.ascontiguousarray(readout.coef)
    if outputs.is_none:
        return readout._replace(coef=coef)
    return Readout(coef * outputs.spread[:, None], outputs.back(readout.intercept), readout.ridge)
