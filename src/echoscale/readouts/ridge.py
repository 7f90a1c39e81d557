"""Ridge readouts from sufficient statistics: for one penalty or a whole path, with errors on data that is no longer in memory.

    W_out = argmin sum |y - W x - b|^2 + ridge |W|^2   =>   W_out (S_xx + ridge I) = S_yx,   b = mean_y - W_out mean_x

The penalty is added to the summed Gram matrix, not to the averaged one (paper, NARMA10, with the sign corrected). The intercept
is not penalised. If there are more features than rows, `turned` reduces the features to as many as rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from types import EllipsisType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.types import Floats
from echoscale.engine.devices import one_thread
from echoscale.readouts.statistics import Statistics

One = int | slice | EllipsisType | npt.NDArray[Any]
Index = One | tuple[One, ...]


class Readout(NamedTuple):
    """y = coef x + intercept. Leading axes: penalties (of a path), then lanes.

    Attributes
    ----------
    coef : (..., outputs, features)
        Weights.
    intercept : (..., outputs)
        What is added.
    ridge : (...,)
        The penalty of each.
    """

    coef: Floats
    intercept: Floats
    ridge: Floats

    def predict(self, features: npt.ArrayLike) -> Floats:
        """coef x + intercept of every row.

        Parameters
        ----------
        features : (..., rows, features)
            What the readout sees.

        Returns
        -------
        (..., rows, outputs)
            Outputs.
        """
        return np.asarray(features) @ np.swapaxes(self.coef, -1, -2) + self.intercept[..., None, :]

    def at(self, index: Index) -> Readout:
        """One penalty of a path, or one lane.

        Parameters
        ----------
        index : int, slice or array
            Into the first axis; a tuple for several axes.
        """
        return Readout(self.coef[index], self.intercept[index], self.ridge[index])


def ridge(statistics: Statistics, ridge: float | Floats) -> Readout:
    """W (S_xx + ridge I) = S_yx, b = mean_y - W mean_x: the ridge solution of every lane at once.

    Parameters
    ----------
    statistics : Statistics
        Of features and targets, with or without lanes.
    ridge : float or (lanes,)
        The penalty, one for all lanes or one for each; 0 is plain least squares (of the least norm).

    Examples
    --------
    >>> import echoscale as es
    >>> import numpy as np
    >>> from echoscale.readouts.statistics import of_rows
    >>> x = np.arange(6.0).reshape(-1, 1)
    >>> es.ridge(of_rows(x, 2 * x + 1), 0.0).predict([[10.0]]).round(6)
    array([[21.]])
    """
    gram, cross = _normal_equations(statistics)
    shape, lanes = np.shape(ridge), gram.shape[:-2]
    if shape not in ((), lanes):
        raise ValueError(f"ridge has shape {shape}, the lanes have {lanes}: give one penalty for all, or one for each.")
    each = check_path(np.ravel(ridge) if shape else ridge).reshape(shape)
    with threads_for(gram):
        # Without a penalty the system may be singular, which a direct solver need not notice.
        if each.all():
            coef = np.linalg.solve(gram + each[..., None, None] * np.eye(gram.shape[-1]), cross)
        else:
            coef = _by_eigenvalues(gram, cross, each[..., None])
    return _readout(np.swapaxes(coef, -1, -2), statistics, np.array(np.broadcast_to(each, lanes)))


def ridge_path(statistics: Statistics, ridge: Sequence[float] | Floats) -> Readout:
    """V (L + ridge)^-1 V^T S_xy with S_xx = V L V^T: the solutions for all penalties from one eigendecomposition.

    Parameters
    ----------
    statistics : Statistics
        Of features and targets, with or without lanes.
    ridge : sequence of float
        The penalties; they are the first axis of the result.

    Examples
    --------
    >>> import echoscale as es
    >>> import numpy as np
    >>> from echoscale.readouts.statistics import of_rows
    >>> x = np.arange(6.0).reshape(-1, 1)
    >>> es.ridge_path(of_rows(x, 2 * x + 1), [1e-3, 1.0, 1e3]).coef.shape
    (3, 1, 1)
    """
    path = check_path(ridge)
    gram, cross = _normal_equations(statistics)
    with threads_for(gram):
        values, vectors = np.linalg.eigh(gram)
    turned = np.swapaxes(vectors, -1, -2) @ cross
    shrunk = turned * _inverse(values, path.reshape(-1, *[1] * values.ndim))[..., None]
    coef = np.swapaxes(vectors @ shrunk, -1, -2)
    return _readout(coef, statistics, np.broadcast_to(path.reshape(-1, *[1] * (values.ndim - 1)), coef.shape[:-2]))


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
    errors: Floats = np.sqrt((mean_squared_errors(readout, statistics) / target_variances(statistics)).mean(axis=-1))
    return errors


def target_variances(statistics: Statistics) -> Floats:
    """What errors are normalised by, (..., outputs); an error where a target is constant."""
    variances = statistics.variance
    if not (variances > 0).all():
        raise ValueError("a target is constant on this data: its variance is 0 and errors cannot be normalised by it.")
    return variances


def check_path(ridge: npt.ArrayLike) -> Floats:
    """One penalty or several as an array, each a finite number >= 0."""
    if isinstance(ridge, np.ndarray) and ridge.dtype == np.float64 and ridge.size and ((ridge >= 0) & (ridge < np.inf)).all():
        return ridge.reshape(-1)
    several: list[Any] = list(ridge) if np.ndim(ridge) else [ridge]  # type: ignore[arg-type]
    path = np.array([checks.non_negative(each, "ridge", "A penalty of 0 is plain least squares.") for each in several])
    if not path.size:
        raise ValueError("ridge is an empty list: give at least one penalty.")
    return path


def threads_for(gram: Floats) -> AbstractContextManager[Any]:
    """Small or many systems are solved on one thread: waking others costs more than they do."""
    return one_thread() if gram.ndim > 2 or gram.shape[-1] <= 512 else nullcontext()


def _normal_equations(statistics: Statistics) -> tuple[Floats, Floats]:
    """S_xx (..., F, F) and S_xy (..., F, O)."""
    f = statistics.features
    return statistics.scatter[..., :f, :f], statistics.scatter[..., :f, f:]


def _readout(coef: Floats, statistics: Statistics, penalty: Floats) -> Readout:
    f = statistics.features
    intercept = statistics.mean[..., f:] - np.einsum("...of,...f->...o", coef, statistics.mean[..., :f])
    return Readout(coef, intercept, penalty)


def _inverse(values: Floats, penalty: Floats) -> Floats:
    """1 / (eigenvalue + penalty), and 0 where the sum is nothing but rounding (the minimum-norm solution)."""
    shifted = np.maximum(values, 0) + penalty
    noise = np.finfo(np.float64).eps * values.shape[-1] * np.abs(values).max(axis=-1, keepdims=True)
    usable = shifted > np.where(np.asarray(penalty) > 0, 0, noise)
    inverse: Floats = np.divide(1.0, shifted, out=np.zeros_like(shifted), where=usable)
    return inverse


def _by_eigenvalues(gram: Floats, cross: Floats, penalty: Floats) -> Floats:
    values, vectors = np.linalg.eigh(gram)
    return vectors @ (_inverse(values, penalty)[..., None] * (np.swapaxes(vectors, -1, -2) @ cross))


class Turned(NamedTuple):
    """Rows, and the way back.

    Attributes
    ----------
    rows : (R, min(R, F))
        R^T, or the rows themselves where there are enough of them.
    basis : (F, R) or None
        Q; None where the rows were left as they are.
    """

    rows: Floats
    basis: Floats | None

    def back(self, readout: Readout) -> Readout:
        """A readout of `rows` as one of the features."""
        return readout if self.basis is None else readout._replace(coef=readout.coef @ self.basis.T)


def turned(features: npt.ArrayLike) -> Turned:
    """The rows turned into the space that they span, where that is the smaller one.

        X^T = Q R   =>   X = R^T Q^T,     W on X  =  (W on R^T) Q^T        with Q^T Q = 1

    Ridge regression sees no difference: the least-norm solution lies in the span of the rows, and turning it changes no norm. A
    hundred sequences with a thousand features each cost as much as a hundred features.
    """
    x = np.asarray(features, np.float64)
    if len(x) >= x.shape[1]:
        return Turned(x, None)
    with threads_for(x.T):
        q, r = np.linalg.qr(x.T)
    return Turned(np.ascontiguousarray(r.T), q)
