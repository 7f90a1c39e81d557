"""Inputs as normal scores: the rank of a value in the training data, as a standard normal variable.

    s = Phi^-1(rank(u))        rank: the share of training values below u; Phi: the normal distribution function

With (u - mean) / std, a few huge values would compress all others; normal scores avoid this. Outside the range of the training
data, s keeps its value at the end of the range, about +-2.9.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from echoscale._internal.types import Floats
from echoscale.data.series import Series

LEVELS = 511
# A value of `changes`, beside True and False: the network receives the changes only.
ONLY = "only"


class NormalScores(NamedTuple):
    """Map of every input to normal scores, monotone and linear between quantiles of the training data.

    Attributes
    ----------
    values : (L, F)
        Quantiles.
    scores : (L, F)
        Scores of the quantiles; equal quantiles share the mean of their scores, so a constant input becomes 0.
    """

    values: Floats
    scores: Floats

    @classmethod
    def of(cls, values: Sequence[npt.NDArray[Any]] | npt.NDArray[Any]) -> NormalScores:
        """Returns the map for the steps of all series."""
        rows = np.concatenate([np.asarray(each, np.float64) for each in values])
        levels = np.arange(1, LEVELS + 1) / (LEVELS + 1)
        quantiles, normal = np.quantile(rows, levels, axis=0), ndtri(levels)
        scores = np.empty_like(quantiles)
        for f, column in enumerate(quantiles.T):
            _, tie, size = np.unique(column, return_inverse=True, return_counts=True)
            scores[:, f] = (np.bincount(tie, normal) / size)[tie]
        return cls(quantiles, scores)

    def forward(self, x: npt.NDArray[Any]) -> Floats:
        """Returns the scores of an array whose last axis is the inputs."""
        found = [np.interp(x[..., f], self.values[:, f], self.scores[:, f]) for f in range(self.values.shape[1])]
        return np.stack(found, axis=-1)

    def apply(self, series: Series) -> Series:
        """Returns the series as normal scores."""
        return series.mapped(self.forward)


def heard_of(series: Series, changes: bool | str, backwards: bool = False) -> Series:
    """(u(t), u(t) - u(t-1)) side by side, or one of both; the first change is 0."""

    def one(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        values = values[..., ::-1, :] if backwards else values
        if not changes:
            return values
        change = np.diff(values, axis=-2, prepend=values[..., :1, :])
        return change if changes == ONLY else np.concatenate([values, change], axis=-1)

    return series.mapped(one)


def columns_heard(features: int, changes: bool | str) -> int:
    """Number of columns that `heard_of` makes of this number of columns."""
    return features * (2 if changes is True else 1)
