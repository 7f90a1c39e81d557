"""Short names of the types that the figures use."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Complex: TypeAlias = npt.NDArray[np.complex128]
