"""From statistics of segments of time to a readout: which segments, which penalty, which way of solving."""

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


class Solved(NamedTuple):
    """What a fit finds, in units of the network: statistics of all data, the readout, its penalty, and what chose it."""

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


def solve(
    chosen_from: Floats | None,
    parts: Sequence[Statistics],
    rows: Rows | None,
    validation: float | int,
    *,
    gaps: bool = True,
) -> Solved:
    """The readout of all parts together, with the penalty that held-out parts choose; exact where a Gram matrix fails."""
    whole = splits.total(parts)
    ridge, curve = penalties.decide(chosen_from, pairs(validation, parts, gaps), whole)
    # A choice near the end of the path may be rounding; a penalty that was given is not to be doubted before it is lost itself.
    lost = exact.FROM if chosen_from is None and curve is not None else penalties.RELATIVE[0] / 2
    fits = float(whole.count) * whole.mean.size * 8 <= exact.MOST_BYTES
    if rows is None or not fits or ridge > lost * float(penalties.unit_of(whole)):
        return Solved(whole, solve_ridge(whole, ridge), ridge, curve)
    features, targets, groups = rows()
    factors = [exact.factor(features[each], targets[each]) for each in groups]
    all_rows = splits.total(factors)
    if chosen_from is None:
        curve = exact.choose(pairs(validation, factors, gaps), all_rows)
        ridge = curve.ridge
    return Solved(whole, exact.path(all_rows, [ridge]).at(0), ridge, curve)


def in_units_of(readout: Readout, outputs: Scaling) -> Readout:
    """The readout of targets in units of the network as one of targets in units of the data.

    Its rows lie one after the other, as those of a loaded model do: products then have the same bits.
    """
    coef = np.ascontiguousarray(readout.coef)
    if outputs.is_none:
        return readout._replace(coef=coef)
    return Readout(coef * outputs.spread[:, None], outputs.back(readout.intercept), readout.ridge)
