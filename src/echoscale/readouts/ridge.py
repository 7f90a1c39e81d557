"""Ridge readouts from sufficient statistics: for one penalty or a whole path, with errors on data no longer in memory.

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
    """Linear readout y = coef x + intercept.

    Leading axes are penalties (of a path), then lanes.

    Attributes
    ----------
    coef : (..., outputs, features)
        Weights.
    intercept : (..., outputs)
        Constant terms.
    ridge : (...,)
        Ridge penalty of each readout.
    """

    coef: Floats
    intercept: Floats
    ridge: Floats

    def predict(self, features: npt.ArrayLike) -> Floats:
        """Returns coef x + intercept for every row.

        Parameters
        ----------
        features : (..., rows, features)
            Features of every row.

        Returns
        -------
        (..., rows, outputs)
            Outputs.
        """
        return np.asarray(features) @ np.swapaxes(self.coef, -1, -2) + self.intercept[..., None, :]

    def at(self, index: Index) -> Readout:
        """Returns the readout of one penalty of a path, or of one lane.

        Parameters
        ----------
        index : int, slice or array
            Index into the first axis; a tuple for several axes.
        """
        return Readout(self.coef[index], self.intercept[index], self.ridge[index])


def ridge(statistics: Statistics, ridge: float | Floats) -> Readout:
    """Returns the ridge readout, for every lane at once.

        W (S_xx + ridge I) = S_yx,    b = mean_y - W mean_x

    Parameters
    ----------
    statistics : Statistics
        Statistics of features and targets, with or without lanes.
    ridge : float or (lanes,)
        Penalty on the summed squares, one for all lanes or one for each. 0 gives least squares of minimum norm.

    See Also
    --------
    echoscale.readouts.statistics : Computes the statistics from a network and series.

    Examples
    --------
    >>> import echoscale as es
    >>> import numpy as np
    >>> from echoscale.readouts.statistics import of_rows
    >>> x = np.arange(6.0).reshape(-1, 1)
    >>> es.readouts.ridge(of_rows(x, 2 * x + 1), 0.0).predict([[10.0]]).round(6)
    array([[21.]])
    """
    gram, cross = _normal_equations(statistics)
    shape, lanes = np.shape(ridge), gram.shape[:-2]
    if shape not in ((), lanes):
        raise ValueError(f"ridge has shape {shape}, the lanes have {lanes}: give one penalty for all, or one for each.")
    each = check_path(np.ravel(ridge) if shape else ridge).reshape(shape)
    with threads_for(gram):
        # Without a penalty the system may be singular, and a direct solver may not detect it.
        if each.all():
            coef = np.linalg.solve(gram + each[..., None, None] * np.eye(gram.shape[-1]), cross)
        else:
            coef = _by_eigenvalues(gram, cross, each[..., None])
    return _readout(np.swapaxes(coef, -1, -2), statistics, np.array(np.broadcast_to(each, lanes)))


def ridge_path(statistics: Statistics, ridge: Sequence[float] | Floats) -> Readout:
    """Returns the ridge readouts for a path of penalties, from one eigendecomposition.

        W^T = V (L + ridge)^-1 V^T S_xy,    S_xx = V L V^T

    Parameters
    ----------
    statistics : Statistics
        Statistics of features and targets, with or without lanes.
    ridge : sequence of float
        Penalties; they are the first axis of the result.

    Examples
    --------
    >>> import echoscale as es
    >>> import numpy as np
    >>> from echoscale.readouts.statistics import of_rows
    >>> x = np.arange(6.0).reshape(-1, 1)
    >>> es.readouts.ridge_path(of_rows(x, 2 * x + 1), [1e-3, 1.0, 1e3]).coef.shape
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
    """mean |y - W x - b|^2 per output, (..., outputs), on the data of the statistics, without predictions."""
    f = statistics.features
    scatter, mean = statistics.scatter, statistics.mean
    gram, cross, targets = scatter[..., :f, :f], scatter[..., f:, :f], scatter[..., f:, f:]
    inside = np.einsum("...of,...of->...o", readout.coef @ gram - 2 * cross, readout.coef)
    spread = np.einsum("...oo->...o", targets) + inside
    offset = mean[..., f:] - np.einsum("...of,...f->...o", readout.coef, mean[..., :f]) - readout.intercept
    errors: Floats = np.maximum(spread / statistics.count[..., None], 0) + offset**2
    return errors


def normalised_errors(readout: Readout, statistics: Statistics) -> Floats:
    """NRMSE of a readout on the rows behind some statistics, without the rows themselves.

        NRMSE = sqrt(mean over the outputs of (mean squared error / variance))

    Parameters
    ----------
    readout : Readout
        Fitted readout, or one for each lane or penalty, (...).
    statistics : Statistics
        Statistics of held-out rows.

    Returns
    -------
    array (...)
        One error for each readout.

    Examples
    --------
    >>> import echoscale as es
    >>> u, y = es.tasks.narma(600, seed=0)
    >>> esn = es.single(30, leak_rate=0.7, input_scaling=0.5).build(1, seed=0)
    >>> train = es.readouts.statistics(esn, u[:400], y[:400], washout=50)
    >>> held_out = es.readouts.statistics(esn, u[400:], y[400:], washout=50)
    >>> print(f"{es.readouts.normalised_errors(es.readouts.ridge(train, 1e-6), held_out):.1f}")
    0.5
    """
    errors: Floats = np.sqrt((mean_squared_errors(readout, statistics) / target_variances(statistics)).mean(axis=-1))
    return errors


def target_variances(statistics: Statistics) -> Floats:
    """The variances that normalise errors, (..., outputs); a constant target raises an error."""
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
    """Small systems, or many, are solved on one thread: starting the others would take longer."""
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
    """1 / (eigenvalue + penalty), and 0 if the sum is only rounding (the minimum-norm solution)."""
    shifted = np.maximum(values, 0) + penalty
    noise = np.finfo(np.float64).eps * values.shape[-1] * np.abs(values).max(axis=-1, keepdims=True)
    usable = shifted > np.where(np.asarray(penalty) > 0, 0, noise)
    inverse: Floats = np.divide(1.0, shifted, out=np.zeros_like(shifted), where=usable)
    return inverse


def _by_eigenvalues(gram: Floats, cross: Floats, penalty: Floats) -> Floats:
    values, vectors = np.linalg.eigh(gram)
    return vectors @ (_inverse(values, penalty)[..., None] * (np.swapaxes(vectors, -1, -2) @ cross))


class Turned(NamedTuple):
    """Rows in a basis of the space that they span, and the way back.

    Attributes
    ----------
    rows : (R, min(R, F))
        Rows R^T in the new basis, or the rows themselves if there are at least as many as features.
    basis : (F, R) or None
        Basis Q; None if the rows are unchanged.
    """

    rows: Floats
    basis: Floats | None

    def back(self, readout: Readout) -> Readout:
        """The readout of the features from a readout of `rows`."""
        return readout if self.basis is None else readout._replace(coef=readout.coef @ self.basis.T)


def turned(features: npt.ArrayLike) -> Turned:
    """Reduces the features to the space that the rows span, if there are fewer rows than features.

        X^T = Q R   =>   X = R^T Q^T,     W on X  =  (W on R^T) Q^T        with Q^T Q = 1

    The ridge solution is the same: the minimum-norm solution lies in the span of the rows, and a rotation changes no norm. A
    hundred sequences with a thousand features each then cost as much as a hundred features.
    """
    x = np.asarray(features, np.float64)
    if len(x) >= x.shape[1]:
        return Turned(x, None)
    with threads_for(x.T):
        q, r = np.linalg.qr(x.T)
    return Turned(np.ascontiguousarray(r.T), q)
