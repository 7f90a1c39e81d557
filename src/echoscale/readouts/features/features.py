"""Features of B sequences wherever they lie, in memory, in a mapped file or on a device, and read in the same way."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from echoscale._internal import checks

if TYPE_CHECKING:
    import jax

DTYPES = {"float32": np.dtype(np.float32), "bfloat16": np.dtype(ml_dtypes.bfloat16)}


class Features:
    """phi_b = (x_b(M), x_b(2M), ..., x_b(SM)): S snapshots of N numbers for each of B sequences.

    Parameters
    ----------
    array : (B, S, N), or (B, F) as (B, 1, F)
        Any array of NumPy or JAX.

    Attributes
    ----------
    array : (B, S, N) array
        As it lies there.
    shape : (int, int, int)
        (B, S, N).
    flat : int
        S N, the features of one sequence.
    dtype : numpy.dtype
        In which they are kept.

    Examples
    --------
    >>> import numpy as np
    >>> from echoscale.readouts.features import Features
    >>> snapshots = Features(np.zeros((5, 4, 10), np.float32))
    >>> len(snapshots), snapshots.flat, snapshots.block(0, 2).shape
    (5, 40, (2, 40))
    """

    def __init__(self, array: npt.NDArray[Any] | jax.Array) -> None:
        if not hasattr(array, "dtype") or not hasattr(array, "ndim"):
            raise TypeError(f"features must be an array, got {type(array).__name__}; use np.asarray(...) first.")
        if np.ma.is_masked(array):
            raise ValueError("features are a masked array with masked values: fill or cut the gaps first.")
        if array.ndim not in (2, 3) or 0 in array.shape:
            raise ValueError(f"features must have shape (B, S, N) or (B, F), none of them 0, got {tuple(array.shape)}.")
        if array.dtype.kind not in "biuf" and array.dtype != DTYPES["bfloat16"]:
            raise TypeError(f"features must be real numbers, got an array of {array.dtype}.")
        self.array: Any = array if array.ndim == 3 else array[:, None]

    @property
    def shape(self) -> tuple[int, int, int]:
        """(B, S, N)."""
        sequences, snapshots, units = self.array.shape
        return int(sequences), int(snapshots), int(units)

    @property
    def flat(self) -> int:
        """S * N."""
        return math.prod(self.shape[1:])

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or bfloat16, or that of the array that was wrapped."""
        kept: np.dtype[Any] = np.dtype(self.array.dtype)
        return kept

    def block(self, begin: int, end: int) -> Any:
        """Sequences begin .. end - 1 as float32. Not to be written to: it may be `array` itself.

        Parameters
        ----------
        begin : int
            The first sequence.
        end : int
            The one after the last; past the last of all it means all that are left, as in a slice.

        Returns
        -------
        (rows, S N) array
            Of NumPy, or of JAX if they lie on a device.
        """
        count = self.shape[0]
        begin = checks.integer(begin, "begin")
        last = min(checks.integer(end, "end"), count)
        if begin >= last:
            raise IndexError(f"block({begin}, {end}) holds no sequence; there are {count}, and begin must lie before end.")
        rows = self.array[begin:last].reshape(last - begin, self.flat)
        return rows.astype(np.float32, copy=False) if isinstance(rows, np.ndarray) else rows.astype(np.float32)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        where = "in memory" if isinstance(self.array, np.ndarray) else "on a device"
        return f"Features(shape={self.shape}, dtype={self.dtype.name}, {where})"
