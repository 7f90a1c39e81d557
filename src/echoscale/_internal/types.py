"""Short names of the types that many modules use."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Floats: TypeAlias = npt.NDArray[np.float64]
Indices: TypeAlias = npt.NDArray[np.int64]
Complex: TypeAlias = npt.NDArray[np.complex128]
Labels: TypeAlias = npt.NDArray[np.int8]
Flags: TypeAlias = npt.NDArray[np.bool_]

# A number of steps, or an array of them.
AnyInt = TypeVar("AnyInt", int, Indices)
