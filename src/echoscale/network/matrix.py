"""A matrix as a value: what a user's own weights become inside a `Network`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import scipy.sparse

    SparseLike: TypeAlias = scipy.sparse.sparray | scipy.sparse.spmatrix


@dataclass(frozen=True, repr=False)
class Matrix:
    """A fixed matrix W, kept as sorted triples W[rows[i], columns[i]] = values[i], so that it compares and hashes by value.

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
        The weights that are not 0.

    Examples
    --------
    >>> import echoscale as es
    >>> es.Matrix.of([[0, 1], [0.5, 0]])
    Matrix(2x2, 2 weights)
    >>> es.Matrix.of([[0, 1]]) == es.Matrix.of([[0.0, 1.0]])
    True
    """

    shape: tuple[int, int]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    values: tuple[float, ...]

    @classmethod
    def of(cls, array: npt.ArrayLike | SparseLike | Matrix, name: str = "matrix") -> Matrix:
        """The matrix of an array; zeros are dropped.

        Parameters
        ----------
        array : (post, pre)
            A dense array, nested list, data frame or scipy sparse matrix.
        name : str
            What error messages call it.
        """
        import scipy.sparse

        if isinstance(array, Matrix):
            return array
        if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
            raise ValueError(f"{name} is a masked array with {np.sum(array.mask)} masked weights. Fill them first.")
        if scipy.sparse.issparse(array):
            coo = scipy.sparse.coo_array(cast(Any, array))
            coo.sum_duplicates()
            rows, columns = np.asarray(coo.row, np.int64), np.asarray(coo.col, np.int64)
            values, shape = coo.data, coo.shape
        else:
            dense = np.asarray(array)
            if dense.ndim != 2:
                raise ValueError(f"{name} must have two axes (post, pre), got shape {dense.shape}.")
            rows, columns = (np.asarray(each, np.int64) for each in np.nonzero(dense))
            values, shape = dense[rows, columns], dense.shape
        if np.iscomplexobj(values) or not np.issubdtype(np.asarray(values).dtype, np.number):
            raise TypeError(f"{name} must hold real numbers, got dtype {np.asarray(values).dtype}.")
        numbers = np.asarray(values, dtype=np.float64)
        if not np.isfinite(numbers).all():
            where = int(np.flatnonzero(~np.isfinite(numbers))[0])
            raise ValueError(f"{name} must be finite, found {numbers[where]} at [{rows[where]}, {columns[where]}].")
        kept = numbers != 0
        rows, columns, numbers = rows[kept], columns[kept], numbers[kept]
        order = np.lexsort((columns, rows))
        return cls(
            (int(shape[0]), int(shape[1])),
            tuple(rows[order].tolist()),
            tuple(columns[order].tolist()),
            tuple(numbers[order].tolist()),
        )

    def sparse(self) -> scipy.sparse.csr_array:
        """The matrix as `scipy.sparse.csr_array` in float64."""
        import scipy.sparse

        triples: tuple[npt.NDArray[np.float64], Any] = (np.array(self.values), (self.rows, self.columns))
        return scipy.sparse.csr_array(triples, shape=self.shape)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers."""
        return {
            "shape": list(self.shape),
            "rows": list(self.rows),
            "columns": list(self.columns),
            "values": list(self.values),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Matrix:
        """The inverse of `to_dict`.

        Parameters
        ----------
        plain : dict
            What `to_dict` returned.
        """
        import scipy.sparse

        names = ("shape", "rows", "columns", "values")
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
