"""What is minimised over the learned numbers: a value at every point, and its quadratic model there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale.hyper import Hyper
from echoscale.readouts.ridge import Readout
from echoscale.tuning.runs import Runs

Floats = npt.NDArray[np.float64]


class Value(NamedTuple):
    """At S points: the error on what is held out, (S,), and the readouts of the K folds that have it, (S, K, ...)."""

    error: Floats
    readout: Readout


class Model(NamedTuple):
    """E(z + s) ~ error + gradient . s + s . curvature . s / 2: (S,), (S, P) and (S, P, P), curvature positive semidefinite."""

    error: Floats
    gradient: Floats
    curvature: Floats


class Networks(NamedTuple):
    """S networks: hyper-parameters with S lanes, ridge penalties of all folds (S, K), sharpnesses (S,)."""

    hyper: Hyper
    penalties: Floats
    sharpness: Floats

    def part(self, which: slice) -> Networks:
        """Some of them."""
        return Networks(self.hyper.map(lambda leaf: leaf[which]), self.penalties[which], self.sharpness[which])


@dataclass(frozen=True, eq=False)
class Loss:
    """What `squares` and `entropy` are variants of.

    name    what their errors are called in reports
    linear  whether the error is the squared one of a linear readout, so that noise on the states has a closed form
    rough   whether its slopes say little about what lies a step away
    """

    runs: Runs
    name: ClassVar[str]
    linear: ClassVar[bool] = False
    rough: ClassVar[bool] = False

    def value(self, z: Floats) -> Value:
        """The error at points z (S, P)."""
        runs = self.runs
        return self.value_at(Networks(runs.hyper(z), runs.penalties(z), runs.space.sharpnesses(z)))

    def value_at(self, networks: Networks) -> Value:
        """The error of networks that need not be points of the search."""
        parts = [self.value_of_batch(networks.part(batch)) for batch in self.runs.batches(len(networks.penalties))]
        if len(parts) == 1:
            return parts[0]
        readouts = zip(*(part.readout for part in parts), strict=True)
        return Value(np.concatenate([part.error for part in parts]), Readout(*(np.concatenate(each) for each in readouts)))

    def value_of_batch(self, at: Networks) -> Value:
        """The error of few enough networks."""
        raise NotImplementedError

    def best_penalties(self, hyper: Hyper) -> Floats:
        """The best ridge penalty per training step by the folds, for every network, (S,)."""
        return self.runs.best_penalties(hyper)

    def model(self, z: Floats, readout: Readout) -> Model:
        """Its quadratic model at points whose readouts are known."""
        batches = self.runs.batches(len(z), len(self.runs.space.learned))
        parts = [self.model_of_batch(z[batch], readout.at(batch)) for batch in batches]
        return parts[0] if len(parts) == 1 else Model(*(np.concatenate(each) for each in zip(*parts, strict=True)))

    def model_of_batch(self, z: Floats, readout: Readout) -> Model:
        """The model at few enough points."""
        raise NotImplementedError

    @property
    def model_runs(self) -> int:
        """How many runs of a network the model at one point costs: itself, and a tangent for every learned number."""
        return 1 + len(self.runs.space.learned)

    def shown(self, error: Floats) -> Floats:
        """The error as it is reported."""
        raise NotImplementedError
