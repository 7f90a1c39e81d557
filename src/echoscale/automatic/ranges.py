"""Whether data leave the range of the data that a model was fitted to, or drift between two parts of it.

    outside(t) :  u(t) < low - MARGIN (high - low)   or   u(t) > high + MARGIN (high - low)

A few steps beyond the lowest and the highest training value are normal. Errors are to be expected where many steps are outside.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# A small margin warns of stationary data, a large one is late. Set on drawn stationary series: normal, uniform, Student's t
# with 2 and 3 degrees of freedom, Cauchy, log-normal, AR(1). With 300 training steps that hold at least 30 correlation times,
# 100 new steps are reported in at most 3 of 100 cases.
MARGIN = 0.25
SHARE, FEW = 0.05, 3
# Standard deviations of the first part, by which the mean of the second part moves. Values are clipped to these quantiles of
# the first part, since the mean of a few far values is chance.
DRIFT, QUANTILES = 1.0, (0.05, 0.95)


class RangeWarning(UserWarning):
    """Inputs leave the range of the training data: errors may be larger than expected."""


class Range(NamedTuple):
    """The lowest and the highest value of every column, (F,) each."""

    low: Floats
    high: Floats

    @classmethod
    def of(cls, values: Sequence[Floats]) -> Range:
        """The range of several series.

        Parameters
        ----------
        values : list of (T_b, F)
            Series.
        """
        rows = np.concatenate([np.asarray(each) for each in values])
        return cls(rows.min(axis=0), rows.max(axis=0))

    def left_by(self, values: Sequence[Floats]) -> Floats:
        """Share of the steps outside the extended range, (F,); 0 where these are few.

        Parameters
        ----------
        values : list of (T_b, F)
            Series.
        """
        rows, margin = np.concatenate([np.asarray(each) for each in values]), MARGIN * (self.high - self.low)
        outside = ((rows < self.low - margin) | (rows > self.high + margin)).sum(axis=0)
        share = outside / max(len(rows), 1)
        return np.where((outside >= min(FEW, len(rows))) & (share > SHARE), share, 0.0)


def warn_of_range(known: Range, values: Sequence[Floats], names: Sequence[str]) -> None:
    """Warn where inputs leave the range of the training data.

    Parameters
    ----------
    known : Range
        Range of the training data.
    values : list of (T_b, F)
        New inputs, in the same units.
    names : sequence of str
        Names of the inputs, or none.
    """
    share = known.left_by(values)
    left = [f"{called(names, f)} at {share[f]:.0%} of the steps" for f in np.flatnonzero(share).tolist()]
    if left:
        warnings.warn(
            f"X leaves the range of the training data: {', '.join(left)}. The error may be much larger than the expected one; "
            "fit again with data of this range.",
            RangeWarning,
            stacklevel=4,
        )


def drifting(before: Sequence[Floats], after: Sequence[Floats]) -> npt.NDArray[np.bool_]:
    """Which columns leave the range of an earlier part, or have another mean, (F,).

    Parameters
    ----------
    before, after : list of (T_b, F)
        Two parts of the same series; steps with a gap (NaN) do not count.
    """
    first, then = (np.concatenate([np.asarray(each) for each in part]) for part in (before, after))
    first, then = (rows[~np.isnan(rows).any(axis=1)] for rows in (first, then))
    if not len(first) or not len(then):
        return np.zeros(first.shape[1], bool)
    near = np.quantile(first, QUANTILES, axis=0)
    usual, later = np.clip(first, *near), np.clip(then, *near)
    moved = np.abs(later.mean(axis=0) - usual.mean(axis=0)) > DRIFT * usual.std(axis=0)
    return np.asarray(moved | (Range.of([first]).left_by([then]) > 0))


def called(names: Sequence[str], f: int) -> str:
    """Name of an input in messages."""
    return f"input {names[f]!r}" if names else f"input {f}"
