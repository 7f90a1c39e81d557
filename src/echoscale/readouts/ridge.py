"""Ridge readouts from sufficient statistics: one penalty or the whole path, and errors on data that is long gone.

    W_out = argmin sum |y - W x - b|^2 + ridge |W|^2   =>   W_out (S_xx + ridge I) = S_yx,   b = mean_y - W_out mean_x

The penalty stands on the summed, not the averaged, Gram matrix (paper, NARMA10, with the sign corrected), and the intercept
is not penalised.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale import _checks
from echoscale.engine.machine import one_thread
from echoscale.readouts.statistics import Statistics

Floats = npt.NDArray[np.float64]


class Readout(NamedTuple):
    """y = coef x + intercept. Leading axes: penalties (of a path), then lanes.

    coef       (..., outputs, features)
    intercept  (..., outputs)
    ridge      the penalty of each, (...,)
    """

    coef: Floats
    intercept: Floats
    ridge: Floats

    def predict(self, features: Any) -> Floats:
        """(..., rows, features) -> (..., rows, outputs)."""
        return np.asarray(features) @ np.swapaxes(self.coef, -1, -2) + self.intercept[..., None, :]

    def at(self, index: Any) -> Readout:
        """One penalty of a path, or one lane."""
        return Readout(self.coef[index], self.intercept[index], self.ridge[index])


def ridge(statistics: Statistics, penalty: float | Floats, *, fit_intercept: bool = True) -> Readout:
    """The ridge solution of every lane at once, with one penalty for all, or an array with one for each."""
    gram, cross = _normal_equations(statistics, fit_intercept)
    each = _check_penalty(penalty, gram.shape[:-2])
    with _threads_for(gram):
        # Without a penalty the system may be singular, which a direct solver need not notice.
        if each.all():
            coef = np.linalg.solve(gram + each[..., None, None] * np.eye(gram.shape[-1]), cross)
        else:
            coef = _by_eigenvalues(gram, cross, each[..., None])
    return _readout(np.swapaxes(coef, -1, -2), statistics, each, fit_intercept)


def ridge_path(statistics: Statistics, penalties: Sequence[float] | Floats, *, fit_intercept: bool = True) -> Readout:
    """The solutions for all penalties from one eigendecomposition; the path is the first axis of the result."""
    path = check_path(penalties)
    gram, cross = _normal_equations(statistics, fit_intercept)
    with _threads_for(gram):
        values, vectors = np.linalg.eigh(gram)
    turned = np.swapaxes(vectors, -1, -2) @ cross
    shrunk = turned * _inverse(values, path.reshape(-1, *[1] * values.ndim))[..., None]
    coef = np.swapaxes(vectors @ shrunk, -1, -2)
    return _readout(
        coef, statistics, np.broadcast_to(path.reshape(-1, *[1] * (values.ndim - 1)), coef.shape[:-2]), fit_intercept
    )


def mean_squared_errors(readout: Readout, statistics: Statistics) -> Floats:
    """mean |y - W x - b|^2 per output, (..., outputs), on the data of the statistics; no prediction is made."""
    f = statistics.features
    scatter, mean = statistics.scatter, statistics.mean
    gram, cross, targets = scatter[..., :f, :f], scatter[..., f:, :f], scatter[..., f:, f:]
    inside = np.einsum("...of,...of->...o", readout.coef @ gram - 2 * cross, readout.coef)
    spread = np.einsum("...oo->...o", targets) + inside
    offset = mean[..., f:] - np.einsum("...of,...f->...o", readout.coef, mean[..., :f]) - readout.intercept
    errors: Floats = np.maximum(spread / statistics.count[..., None], 0) + offset**2
    return errors


def normalised_errors(readout: Readout, statistics: Statistics) -> Floats:
    """NRMSE, (...,): sqrt of mean squared error over variance, averaged over the outputs before the root."""
    f = statistics.features
    variance = np.einsum("...oo->...o", statistics.scatter[..., f:, f:]) / statistics.count[..., None]
    if not (variance > 0).all():
        raise ValueError("a target is constant on this data: its variance is 0 and errors cannot be normalised by it.")
    errors: Floats = np.sqrt((mean_squared_errors(readout, statistics) / variance).mean(axis=-1))
    return errors


def best_penalty(
    pairs: Sequence[tuple[Statistics, Statistics]], penalties: Sequence[float] | Floats, *, fit_intercept: bool = True
) -> Floats:
    """The penalty with the least squared error summed over (training, validation) pairs, per lane."""
    path = check_path(penalties)
    total = sum(
        (mean_squared_errors(ridge_path(train, path, fit_intercept=fit_intercept), held_out) * held_out.count[..., None]).sum(
            -1
        )
        for train, held_out in pairs
    )
    best: Floats = path[np.argmin(total, axis=0)]
    return best


def check_path(penalties: Any) -> Floats:
    """One penalty or several as an array, each a finite number >= 0."""
    several = list(penalties) if np.ndim(penalties) else [penalties]
    path = np.array([_checks.non_negative(each, "ridge", "A penalty of 0 is plain least squares.") for each in several])
    if not path.size:
        raise ValueError("ridge is an empty list: give at least one penalty.")
    return path


def _check_penalty(penalty: Any, lanes: tuple[int, ...]) -> Floats:
    """One number, or an array in the shape of the lanes."""
    shape = np.shape(penalty)
    if shape not in ((), lanes):
        raise ValueError(f"ridge has shape {shape}, the lanes have {lanes}: give one penalty for all, or one for each.")
    return check_path(np.ravel(penalty) if shape else penalty).reshape(shape)


def _threads_for(gram: Floats) -> AbstractContextManager[Any]:
    """Small or many systems are solved on one thread: waking others costs more than they do."""
    return one_thread() if gram.ndim > 2 or gram.shape[-1] <= 512 else nullcontext()


def _normal_equations(statistics: Statistics, fit_intercept: bool) -> tuple[Floats, Floats]:
    """S_xx (..., F, F) and S_xy (..., F, O); without an intercept the raw, uncentred ones."""
    f = statistics.features
    moments = statistics.scatter
    if not fit_intercept:
        mean = statistics.mean
        moments = moments + statistics.count[..., None, None] * mean[..., :, None] * mean[..., None, :]
    return moments[..., :f, :f], moments[..., :f, f:]


def _readout(coef: Floats, statistics: Statistics, penalty: Floats, fit_intercept: bool) -> Readout:
    f = statistics.features
    if fit_intercept:
        intercept = statistics.mean[..., f:] - np.einsum("...of,...f->...o", coef, statistics.mean[..., :f])
    else:
        intercept = np.zeros(coef.shape[:-1])
    return Readout(coef, intercept, penalty)


def _inverse(values: Floats, penalty: Any) -> Floats:
    """1 / (eigenvalue + penalty), and 0 where the sum is nothing but rounding (the minimum-norm solution)."""
    shifted = np.maximum(values, 0) + penalty
    noise = np.finfo(np.float64).eps * values.shape[-1] * np.abs(values).max(axis=-1, keepdims=True)
    usable = shifted > np.where(np.asarray(penalty) > 0, 0, noise)
    inverse: Floats = np.divide(1.0, shifted, out=np.zeros_like(shifted), where=usable)
    return inverse


def _by_eigenvalues(gram: Floats, cross: Floats, penalty: Floats) -> Floats:
    values, vectors = np.linalg.eigh(gram)
    return vectors @ (_inverse(values, penalty)[..., None] * (np.swapaxes(vectors, -1, -2) @ cross))
