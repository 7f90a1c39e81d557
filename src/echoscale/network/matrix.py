"""A matrix as a value: the form of the user's own weights in a `Network`.

It holds recurrent matrices, input weights W_in, and the residual matrix O of x(t+1) = (1 - alpha) O x(t) + alpha tanh(...).
With the identity, states fade in place. Any other orthogonal O turns or moves them and keeps their length.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from echoscale._internal import checks
from echoscale._internal.types import Floats

if TYPE_CHECKING:
    import scipy.sparse

    # Types that users may pass.
    SparseLike: TypeAlias = scipy.sparse.sparray | scipy.sparse.spmatrix
    ResidualLike: TypeAlias = "Residual | npt.ArrayLike | SparseLike"
    WeightsLike: TypeAlias = "Matrix | npt.ArrayLike | SparseLike"  # (units, F), or (units,) for one input

# Names of O x: the state itself, the state of neuron i - 1 (of the last for the first), or a random rotation of x.
IDENTITY, SHIFT, ORTHOGONAL = RESIDUALS = ("identity", "shift", "orthogonal")
TOLERANCE = 1e-8

Residual: TypeAlias = "str | Matrix"


@dataclass(frozen=True, repr=False)
class Matrix:
    """A fixed sparse matrix W that compares and hashes by value: sorted triples W[rows[i], columns[i]] = values[i].

    Shapes are (post, pre): `W @ x`. Make one with `Matrix.of(array)`.

    Parameters
    ----------
    shape : (int, int)
        Rows and columns.
    rows : tuple of int
        Row of each weight.
    columns : tuple of int
        Column of each weight.
    values : tuple of float
        Weights, none of them 0.

    Examples
    --------
    >>> import echoscale as es
    >>> es.engine.Matrix.of([[0, 1], [0.5, 0]])
    Matrix(2x2, 2 weights)
    >>> es.engine.Matrix.of([[0, 1]]) == es.engine.Matrix.of([[0.0, 1.0]])
    True
    """

    shape: tuple[int, int]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    values: tuple[float, ...]

    @classmethod
    def of(cls, array: npt.ArrayLike | SparseLike | Matrix, name: str = "matrix") -> Matrix:
        """Returns the matrix of an array; zeros are dropped.

        Parameters
        ----------
        array : (post, pre)
            Dense array, nested list, data frame or scipy sparse matrix.
        name : str, default "matrix"
            Name for error messages.
        """
        import scipy.sparse

        if isinstance(array, Matrix):
            return array
        if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
            raise ValueError(f"{name} is a masked array with {np.sum(array.mask)} masked weights. Fill them first.")
        given: Any = array if scipy.sparse.issparse(array) else np.asarray(array)
        if given.ndim != 2:
            raise ValueError(f"{name} must have two axes (post, pre), got shape {given.shape}.")
        if given.dtype.kind not in "iuf":
            raise TypeError(f"{name} must hold real numbers, got dtype {given.dtype}.")
        kept = scipy.sparse.coo_array(given, dtype=np.float64)
        kept.sum_duplicates()
        kept.eliminate_zeros()
        order = np.lexsort(kept.coords[::-1])
        rows, columns = (each[order].tolist() for each in kept.coords)
        values = kept.data[order]
        if not np.isfinite(values).all():
            where = int(np.flatnonzero(~np.isfinite(values))[0])
            raise ValueError(f"{name} must be finite, found {values[where]} at [{rows[where]}, {columns[where]}].")
        return cls((int(kept.shape[0]), int(kept.shape[1])), tuple(rows), tuple(columns), tuple(values.tolist()))

    def sparse(self) -> scipy.sparse.csr_array:
        """Returns the matrix as `scipy.sparse.csr_array` in float64."""
        import scipy.sparse

        triples: tuple[npt.NDArray[np.float64], Any] = (np.array(self.values), (self.rows, self.columns))
        return scipy.sparse.csr_array(triples, shape=self.shape)

    def to_dict(self) -> dict[str, Any]:
        """Returns the matrix as plain lists and numbers, for JSON."""
        return {each.name: list(getattr(self, each.name)) for each in fields(self)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Matrix:
        """Returns the matrix of a dictionary that `to_dict` made.

        Parameters
        ----------
        plain : dict
            Result of `to_dict`.
        """
        import scipy.sparse

        names = [each.name for each in fields(cls)]
        if not isinstance(plain, Mapping) or set(plain) != set(names):
            raise ValueError(f"a matrix is described by {', '.join(names)}, got {plain!r:.200}.")
        try:
            triples = (plain["values"], (plain["rows"], plain["columns"]))
            made = scipy.sparse.coo_array(triples, shape=tuple(plain["shape"]))
        except (TypeError, ValueError, OverflowError, AttributeError, IndexError) as error:
            raise ValueError(f"this describes no matrix: {error}.") from error
        return cls.of(made)

    def __repr__(self) -> str:
        return f"Matrix({self.shape[0]}x{self.shape[1]}, {len(self.values)} weights)"


def check_residual(value: ResidualLike, units: int) -> Residual:
    """Checked residual of a description: a name, or an orthogonal `Matrix` (units, units)."""
    if isinstance(value, str):
        name: str = checks.choice(value, RESIDUALS, "residual")
        return name
    kept = Matrix.of(value, "residual")
    if kept.shape != (units, units):
        raise ValueError(f"a residual matrix must have shape (units, units) = ({units}, {units}), got {kept.shape}.")
    matrix = kept.sparse()
    off = matrix.T @ matrix - np.eye(units)
    largest = float(np.abs(off).max())
    if not largest <= TOLERANCE:  # also true for NaN
        raise ValueError(
            f"a residual matrix O must be orthogonal: an entry of O^T O - I is {largest:.3g}. Take Q of numpy.linalg.qr(O), "
            'or residual="orthogonal".'
        )
    return kept


def check_input_weights(value: WeightsLike | None, units: int) -> Matrix | None:
    """Checked W_in (units, F) of a description; None: drawn."""
    if value is None:
        return None
    column = np.ndim(value) == 1 if not isinstance(value, Matrix) else False  # type: ignore[arg-type]
    kept = Matrix.of(np.asarray(value)[:, None] if column else value, "input_weights")
    if kept.shape[0] != units:
        raise ValueError(f"input_weights must have shape (units, inputs) = ({units}, inputs), got {kept.shape}.")
    return kept


def check_bias(value: npt.ArrayLike | None, units: int, scaling: float) -> tuple[float, ...] | None:
    """Checked b (units,) of a description; None: drawn."""
    if value is None:
        return None
    given = per_neuron(value, units, "bias")
    if not scaling:
        raise ValueError("a bias is given, but bias_scaling, the factor on it, is 0: set bias_scaling=1.0 to use it unscaled.")
    return tuple(given.tolist())


def per_neuron(value: npt.ArrayLike, units: int, name: str, remedy: str = "") -> Floats:
    """One finite number for every neuron, (units,)."""
    if np.ma.is_masked(value):
        raise ValueError(f"{name} is a masked array: give a number for every neuron.")
    try:
        given = np.asarray(value, np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must hold one number for every neuron, got {value!r:.80}.{remedy}") from error
    if given.shape != (units,):
        raise ValueError(f"{name} must have shape (units,) = ({units},), got {given.shape}.{remedy}")
    if not np.isfinite(given).all():
        where = int(np.flatnonzero(~np.isfinite(given))[0])
        raise ValueError(f"{name} must be finite, found {given[where]} for neuron {where}.")
    return given


def check_input_connections(value: Any, own: Matrix | None) -> int | float | None:
    """Number of inputs of each neuron, or the share in (0, 1] of neurons that receive each input; None: all."""
    if value is None:
        return None
    if own is not None:
        raise ValueError(f"input_connections={value!r} is for drawn weights, but input_weights are given: leave it out.")
    if isinstance(value, numbers.Integral):
        return checks.integer(value, "input_connections", minimum=1)
    share = checks.number(value, "input_connections")
    if not 0 < share <= 1:
        raise ValueError(
            f"input_connections must be a whole number (inputs of each neuron) or a share in (0, 1] (of the neurons that "
            f"receive each input), got {share}."
        )
    return share
