"""The ridge penalty relative to the size of the states, and its choice by folds, for one network or for many candidates.

    ridge = relative * mean squared singular value of the features
    unit = trace(S_xx) / features,   ridge = r unit,   r* = argmin over r of the summed error of the folds

The unit is the mean squared singular value. The same r therefore means the same shrinkage for any number of units, any number
of steps and any size of the states.

`choose_by_group` and `fit_columns` serve the many candidates at an origin of a forecast. A candidate is a set of features of
one lane with its target: the value, or its change since now. Candidates of one lane share the statistics. Candidates with the
same features share the eigendecompositions.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from echoscale._internal.plots import new_axes
from echoscale._internal.table import Table
from echoscale._internal.types import Floats, Indices
from echoscale.engine.devices import cores, in_threads
from echoscale.readouts.ridge import Readout, check_path, ridge
from echoscale.readouts.statistics import Statistics

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from echoscale.readouts.exact import Factor


AUTO = "auto"
# Half decades. Below the smallest, the digits of a Gram matrix in float64 are rounding (see `exact`).
RELATIVE = 10.0 ** np.arange(-12, 4.5, 0.5)
# Noise on the states of 1e-4 of their standard deviation adds 1e-8 to the relative penalty. float32 rounds states by as much if
# the input scaling is about 0.001. Networks are compared with at least this penalty: a smaller one rewards digits that such
# noise destroys.
ROBUST = 1e-8
# Systems with at most this number of features are solved faster than a thread starts.
FEW_FEATURES = 128
# For series: errors within one per cent of the smallest count as equal, and then the largest penalty is chosen. A small penalty
# gives large weights, which fail outside the range of the training data. Set on one half of the problems of
# benchmarks/regressor.py. Not for classes: a large penalty hides classes with few examples.
TIE = 0.01
# Relative penalty if there is too little data to choose one.
UNCHOSEN = 1e-4
Pairs = Sequence[tuple[Statistics, Statistics]]


# A piece of data that allows ridge regression along a path of relative penalties.
Piece = TypeVar("Piece", Statistics, "Factor")
# Summed squared errors on held-out rows (penalties, ..., outputs) of (training, held out, relative penalties).
SquaresOf = Callable[[Piece, Piece, Floats], Floats]


class Least(NamedTuple):
    """The smallest error, and its place on the path."""

    place: Indices
    error: Floats


@dataclass(frozen=True, eq=False)
class RidgeCurve:
    """Error on held-out folds for every ridge penalty.

    Attributes
    ----------
    relative : (n,)
        Relative penalties r, in units of the mean squared singular value of the features.
    errors : (n,)
        Root mean squared error on the held-out folds, in standard deviations of the targets.
    unit : float
        Mean squared singular value over all data: ridge = relative * unit.
    tie : float
        Tolerance for ties: errors that exceed the smallest by at most this share count as equal, and then the largest penalty
        is chosen.
    """

    relative: Floats
    errors: Floats
    unit: float
    tie: float = 0.0

    @property
    def place(self) -> int:
        """Index of the chosen penalty: the largest one whose error ties with the smallest."""
        near = self.errors <= (1 + self.tie) * least(self.errors).error
        return int(np.argmax(np.where(near, self.relative, -1.0)))

    @property
    def ridge(self) -> float:
        """Chosen ridge penalty."""
        return float(self.relative[self.place] * self.unit)

    @property
    def table(self) -> Table:
        """Returns a table of penalties and errors."""
        rows = zip((self.relative * self.unit).tolist(), self.relative.tolist(), self.errors.tolist(), strict=True)
        why = f"the largest penalty whose error is within {self.tie:.0%} of the least" if self.tie else "the least error"
        note = f"Chosen: {self.ridge:.3g}, {why}."
        return Table(("ridge", "relative", "error"), tuple(rows), "Error of held-out folds against the ridge penalty", (note,))

    def plot(self, axes: Axes | None = None) -> Axes:
        """Plots the error against the penalty, with the chosen penalty marked."""
        axes = new_axes(4.5) if axes is None else axes
        # A logarithmic axis has no 0: least squares is plotted half a decade below the smallest penalty.
        positive = self.relative[self.relative > 0]
        lowest = positive.min() / 10**0.5 if len(positive) else 1.0
        penalties = np.where(self.relative > 0, self.relative, lowest) * self.unit
        axes.loglog(penalties, self.errors, color="C0")
        axes.plot(penalties[self.place], self.errors[self.place], "o", color="C1", label=f"chosen: {self.ridge:.2g}")
        axes.set(xlabel="ridge penalty", ylabel="error of held-out folds")
        axes.legend(frameon=False)
        return axes

    def __repr__(self) -> str:
        return str(self.table)


def in_units(statistics: Statistics) -> Statistics:
    """The same data with a mean squared singular value of 1: penalties of its ridge solutions are relative ones."""
    scatter = statistics.scatter / statistics.unit[..., None, None]
    return Statistics(statistics.count, statistics.mean, scatter, statistics.features)


def mean_squares(
    pairs: Sequence[tuple[Piece, Piece]],
    relative: Sequence[float] | Floats,
    squares_of: SquaresOf[Piece],
    workers: int | None = None,
) -> Floats:
    """Mean squared error of all held-out rows along the path, (penalties, ..., outputs); large folds are solved in threads."""
    path, found = np.asarray(relative, np.float64), [np.empty(0)] * len(pairs)

    def put(k: int) -> None:
        found[k] = squares_of(*pairs[k], path)

    if workers is None:
        workers = cores() if pairs[0][0].features > FEW_FEATURES else 1
    in_threads(put, range(len(pairs)), min(workers, len(pairs)), threading.Event())
    squares: Any = sum(found)
    count: Any = sum(held_out.count for _, held_out in pairs)
    return np.asarray(squares / np.asarray(count)[..., None])


def fold_errors(pairs: Sequence[tuple[Statistics, Statistics]], relative: Sequence[float] | Floats = RELATIVE) -> Floats:
    """Mean squared error of the held-out folds over the variance of the targets, (penalties, ..., outputs)."""
    return _over_variance(mean_squares(pairs, relative, path_squares), pairs)


def least(errors: Floats) -> Least:
    """The place of the smallest error along the first axis; NaN is worse than any number, and the first of ties counts."""
    known = np.where(np.isnan(errors), np.inf, errors)
    place = np.argmin(known, axis=0)
    return Least(np.asarray(place), np.take_along_axis(known, np.asarray(place)[None], axis=0)[0])


def path_squares(train: Statistics, held_out: Statistics, relative: Floats) -> Floats:
    """Summed squared errors on the held-out rows along the path, (R, ..., O), from one eigendecomposition.

    S_xx = V L V^T,   W(r) = V (L + r unit)^-1 V^T S_xy
    sum |y - W^T x - b|^2 = W^T G W - 2 W^T c + sum y^2 + n (mean offset)^2      G, c: of the held-out rows
    """
    f = train.features
    values, vectors = np.linalg.eigh(train.scatter[..., :f, :f])
    back = np.swapaxes(vectors, -1, -2)
    turned = back @ train.scatter[..., :f, f:]  # (..., F, O)
    apart = held_out.mean - train.mean
    shifted = np.maximum(values, 0)[..., None, :] + relative[:, None] * train.unit[..., None, None]  # (..., R, F)
    # (..., R, O, F), rows of all penalties and outputs in one product
    z = np.swapaxes(turned, -1, -2)[..., None, :, :] / shifted[..., None, :]
    rows = z.reshape(*z.shape[:-3], -1, f) @ back
    inside = ((rows @ held_out.scatter[..., :f, :f]) * rows).sum(axis=-1).reshape(z.shape[:-1])
    weights = rows.reshape(z.shape)
    inside = inside - 2 * (weights * np.swapaxes(held_out.scatter[..., :f, f:], -1, -2)[..., None, :, :]).sum(axis=-1)
    spread = np.einsum("...oo->...o", held_out.scatter[..., f:, f:])[..., None, :] + inside
    offset = apart[..., None, f:] - (weights * apart[..., None, None, :f]).sum(axis=-1)
    found = np.maximum(spread, 0) + held_out.count[..., None, None] * offset**2
    return np.asarray(np.moveaxis(found, -2, 0))


def choose(
    pairs: Sequence[tuple[Piece, Piece]],
    whole: Piece,
    relative: Sequence[float] | Floats = RELATIVE,
    squares_of: SquaresOf[Any] = path_squares,
    tie: float = 0.0,
) -> RidgeCurve:
    """The curve of errors against penalties, for one network (no lanes); its `ridge` is the choice.

    squares_of  summed squared errors along the path, from Gram matrices, or from factors of the rows with `exact.path_squares`
    """
    squares = _over_variance(mean_squares(pairs, relative, squares_of), pairs).mean(axis=-1)
    return RidgeCurve(np.asarray(relative, np.float64), np.sqrt(squares), float(whole.unit), tie)


def _over_variance(squares: Floats, pairs: Sequence[tuple[Piece, Piece]]) -> Floats:
    variance = (pairs[0][0] + pairs[0][1]).variance
    return np.asarray(squares / np.where(variance > 0, variance, 1.0))


def check(ridge: object) -> Floats | None:
    """The penalties that a user gave, as an array; None for "auto"."""
    if isinstance(ridge, str):
        if ridge != AUTO:
            raise ValueError(f"ridge must be 'auto', a number or a list of numbers, got {ridge!r}.")
        return None
    return check_path(ridge)  # type: ignore[arg-type]


def decide(
    penalties: Floats | None,
    pairs: Sequence[tuple[Statistics, Statistics]],
    whole: Statistics,
    tie: float = 0.0,
) -> tuple[float, RidgeCurve | None]:
    """The penalty for all data, and the curve that chose it: None if there was nothing to choose, or too little data.

    tie  as in `RidgeCurve`, for "auto"; of given penalties, the best one is chosen
    """
    if penalties is not None and len(penalties) == 1:
        return float(penalties[0]), None
    unit = float(whole.unit)
    if not pairs:
        if penalties is not None:
            raise ValueError(f"ridge holds {len(penalties)} penalties, but there is too little data to choose by: give one.")
        return UNCHOSEN * unit, None
    relative = RELATIVE if penalties is None else penalties / unit
    curve = choose(pairs, whole, relative, tie=tie if penalties is None else 0.0)
    return float(curve.ridge if penalties is None else penalties[curve.place]), curve


class Chosen(NamedTuple):
    """Root mean squared error on the held-out folds, and the relative penalty with this error: (..., kinds)."""

    error: Floats
    relative: Floats


def take_columns(statistics: Statistics, features: Indices, targets: Indices) -> Statistics:
    """The statistics of some features and targets only."""
    used = np.concatenate([features, targets])
    return Statistics(statistics.count, statistics.mean[..., used], statistics.scatter[..., used[:, None], used], len(features))


def choose_by_group(
    pairs: Pairs, features: Indices, kinds: Sequence[Indices], relative: Floats = RELATIVE, workers: int = 1
) -> Chosen:
    """The penalty with the smallest error over the folds, for every lane and every kind of target (columns of the outputs)."""
    targets = np.concatenate(kinds)

    def squares_of(train: Statistics, held_out: Statistics, path: Floats) -> Floats:
        return path_squares(take_columns(train, features, targets), take_columns(held_out, features, targets), path)

    squares = mean_squares(pairs, relative, squares_of, workers)
    each = np.stack([part.mean(axis=-1) for part in np.split(squares, len(kinds), axis=-1)], axis=-1)  # (R, ..., kinds)
    best = least(each)
    return Chosen(np.sqrt(best.error), relative[best.place])


def fit_columns(whole: Statistics, features: Indices, targets: Indices, relative: float) -> Readout:
    """The readout of one lane on all data known at an origin."""
    return ridge(in_units(take_columns(whole, features, targets)), float(relative))
