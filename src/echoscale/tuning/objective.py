"""What is minimised over the learned numbers: a value at every point, and its quadratic model there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale.readouts.ridge import Readout
from echoscale.tuning.runs import Runs

Floats = npt.NDArray[np.float64]


class Value(NamedTuple):
    """At S points: the error on validation data (S,), and the readouts that have it."""

    error: Floats
    readout: Readout


class Model(NamedTuple):
    """E(z + s) ~ error + gradient . s + s . curvature . s / 2: (S,), (S, P) and (S, P, P), curvature positive semidefinite."""

    error: Floats
    gradient: Floats
    curvature: Floats


@dataclass(frozen=True, eq=False)
class Loss:
    """What `squares` and `entropy` are variants of. `name` is what their errors are called in reports."""

    runs: Runs
    name: ClassVar[str]

    def value(self, z: Floats) -> Value:
        """The error at points z (S, P)."""
        raise NotImplementedError

    def model(self, z: Floats, readout: Readout) -> Model:
        """Its quadratic model at points whose readouts are known."""
        raise NotImplementedError

    def shown(self, error: Floats) -> Floats:
        """The error as it is reported."""
        raise NotImplementedError
