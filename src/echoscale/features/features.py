"""Features of B sequences wherever they lie, in memory, in a mapped file or on a device, and read in the same way."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

from echoscale import _checks

DTYPES = {"float32": np.dtype(np.float32), "bfloat16": np.dtype(ml_dtypes.bfloat16)}


class Features:
    """phi_b = (x_b(M), x_b(2M), ..., x_b(SM)): S snapshots of N numbers for each of B sequences.

    Wraps any array (B, S, N), or (B, F) as (B, 1, F), of NumPy or JAX.

    array   (B, S, N) as it lies there
    shape   (B, S, N)
    flat    S * N, the features of one sequence
    dtype   in which they are kept
    """

    def __init__(self, array: Any) -> None:
        if not hasattr(array, "dtype") or not hasattr(array, "ndim"):
            raise TypeError(f"features must be an array, got {type(array).__name__}; use np.asarray(...) first.")
        if array.ndim not in (2, 3) or 0 in array.shape:
            raise ValueError(f"features must have shape (B, S, N) or (B, F), none of them 0, got {tuple(array.shape)}.")
        if array.dtype.kind not in "biuf" and array.dtype != DTYPES["bfloat16"]:
            raise TypeError(f"features must be real numbers, got an array of {array.dtype}.")
        self.array = array if array.ndim == 3 else array[:, None]

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
        """Sequences begin .. end - 1 as float32, (rows, S * N): a NumPy array, or a JAX array if they lie on a device.

        As in a slice, an `end` past the last sequence means all that are left. Not to be written to: it may be `array` itself.
        """
        count = self.shape[0]
        begin = _checks.integer(begin, "begin")
        last = min(_checks.integer(end, "end"), count)
        if begin >= last:
            raise IndexError(f"block({begin}, {end}) holds no sequence; there are {count}, and begin must lie before end.")
        rows = self.array[begin:last].reshape(last - begin, self.flat)
        return rows.astype(np.float32, copy=False) if isinstance(rows, np.ndarray) else rows.astype(np.float32)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        where = "in memory" if isinstance(self.array, np.ndarray) else "on a device"
        return f"Features(shape={self.shape}, dtype={self.dtype.name}, {where})"
