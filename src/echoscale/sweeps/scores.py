"""The unit of work: (network, data, hyper-parameters on lanes, protocol) -> scores.

    W(r) = argmin over W of |y - W x|^2 + r |W|^2 on the training steps,   r* = argmin over r of E_validation(W(r))

E_test(W(r*)) is reported, with the errors on training and validation steps. Every lane has its own r*. No predictions are made:
all errors follow from sufficient statistics, and one eigendecomposition gives the whole path of r.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale._internal.types import Floats
from echoscale.data.scaling import is_constant, scaling_of
from echoscale.data.series import as_series, as_targets, teacher_forced
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Hyper, with_lanes
from echoscale.network import Network
from echoscale.readouts.columns import Columns
from echoscale.readouts.penalties import least
from echoscale.readouts.ridge import Readout, mean_squared_errors, ridge_path, target_variances
from echoscale.readouts.statistics import Statistics, split_statistics
from echoscale.sweeps.jobs import Arrays
from echoscale.sweeps.problem import Data, Protocol, Task


class Scores(NamedTuple):
    """Errors at the chosen penalties, and the penalties: (lanes,), or (lanes, targets) if targets are judged separately."""

    train: Floats
    validation: Floats
    test: Floats
    ridge: Floats


@dataclass(frozen=True, eq=False)
class PathErrors:
    """Readouts of a ridge path and their validation errors; other errors are computed only for the chosen penalties.

    Parameters
    ----------
    path : Readout
        Readouts of all penalties, along the first axis.
    train, validation, test : Statistics
        Statistics of training, validation and test steps.
    errors : (penalties, lanes) or (penalties, lanes, targets)
        Errors on the validation steps.
    score : {"nrmse", "nmse", "mse"}
        Error measure.
    apart : bool
        Whether every target is judged separately and has its own penalty.
    """

    path: Readout
    train: Statistics
    validation: Statistics
    test: Statistics
    errors: Floats
    score: str
    apart: bool

    @classmethod
    def of(
        cls,
        parts: Sequence[Statistics],
        ridge: Sequence[float] | Floats,
        *,
        score: str = "nrmse",
        apart: bool = False,
    ) -> PathErrors:
        """A path from existing statistics of training, validation and test steps."""
        train, validation, test = parts
        path = ridge_path(train, ridge)
        return cls(path, train, validation, test, _errors(path, validation, score, apart), score, apart)

    def best(self, at_least: float = 0.0) -> Scores:
        """The errors of the penalty with the least validation error."""
        penalties = self.path.ridge.reshape(len(self.path.ridge), -1)[:, 0]
        allowed = np.flatnonzero(penalties >= at_least)
        if not len(allowed):
            raise ValueError(f"no penalty of the path is as large as {at_least:g}: its largest is {penalties.max():g}.")
        place = allowed[least(self.errors[allowed]).place]
        chosen = self._at(place)
        train, test = (_errors(chosen, part, self.score, self.apart) for part in (self.train, self.test))
        validation = np.take_along_axis(self.errors, place[None], axis=0)[0]
        return Scores(train, validation, test, penalties[place])

    def _at(self, place: npt.NDArray[np.int64]) -> Readout:
        """The readout with penalty number `place`, (lanes,) or (lanes, targets): one for each lane, or for each target."""
        each = place if self.apart else place[..., None]
        # In memory the features come first, as in the path, so that products have the same bits as for the whole path.
        coef = np.take_along_axis(np.swapaxes(self.path.coef, -1, -2), each[None, ..., None, :], axis=0)[0]
        intercept = np.take_along_axis(self.path.intercept, each[None], axis=0)[0]
        return Readout(np.swapaxes(coef, -1, -2), intercept, np.empty(0))


def path_errors(
    esn: ESN, u: npt.ArrayLike, y: npt.ArrayLike, protocol: Protocol, hyper: Hyper | None = None, *, apart: bool = False
) -> PathErrors:
    """Run a network over one series, fit the readouts of all ridge penalties, and compute their validation errors.

    Parameters
    ----------
    esn : ESN
        Network.
    u : (T, F)
        Inputs, with the length of the protocol.
    y : (T, O)
        Targets. A network with output feedback receives the targets of the previous step, scaled like the inputs.
    protocol : Protocol
        Division and scaling of the series, penalties and score. Its `dtype` is not used, since the network is already built.
    hyper : Hyper, optional
        Hyper-parameters on H lanes: H networks with the same weights run at once.
    apart : bool
        Whether every target is judged separately and has its own penalty.

    Returns
    -------
    PathErrors
        Validation errors of all penalties; `.best()` returns all errors of the best penalties.

    Examples
    --------
    >>> import echoscale as es
    >>> from echoscale.sweeps.scores import path_errors
    >>> from echoscale.sweeps import Protocol
    >>> esn = es.hierarchical([20, 20], input_scaling=0.2).build(1, seed=0)
    >>> u, y = es.tasks.narma(1000, order=5, seed=0)
    >>> protocol = Protocol(washout=100, train=500, validation=200, test=200)
    >>> found = path_errors(esn, u, y, protocol, esn.hyper.replace(leak_rate=[1.0, [0.2, 0.5, 1.0]])).best()
    >>> found.test.shape
    (3,)
    """
    for name, each in (("inputs", u), ("targets", y)):
        if len(np.asarray(each)) < protocol.length:
            raise ValueError(f"the task gave {len(np.asarray(each))} steps of {name}, the protocol needs {protocol.length}.")
    end = protocol.edges[-1]
    # Lag 0: the state after u[t] predicts y[t + 1].
    series = as_series(np.asanyarray(u)[:end])
    first, last = protocol.edges[:2]
    series = scaling_of(protocol.scale, as_series(series.values[0][first:last])).apply(series)
    targets = as_targets(np.asanyarray(y)[1 - protocol.lag :][:end], series)
    if esn.n_outputs:
        units = scaling_of(protocol.scale, as_series(targets.values[0][first:last]))
        series = teacher_forced(series, units.apply(targets))
    # The check uses the data: in statistics, rounding may hide constants.
    for part, (begin, stop) in zip(("training", "validation", "test"), pairwise(protocol.edges), strict=True):
        if protocol.score != "mse" and (flat := np.flatnonzero(is_constant(np.asarray(targets.values[0][begin:stop])))).size:
            raise ValueError(
                f"target {flat[0]} is constant on the {part} steps {begin} to {stop}: its variance is 0 and errors cannot be "
                "normalised by it. Use score='mse', or other steps."
            )
    parts, _ = split_statistics(esn, series, targets, [protocol.edges], columns=Columns(int(protocol.direct)), hyper=hyper)
    return PathErrors.of(parts, protocol.ridge, score=protocol.score, apart=apart)


def point_scores(
    network: Network,
    problem: Task | Data,
    protocol: Protocol,
    weights_seed: int,
    task_seed: int,
    lanes: Mapping[str, Sequence[float]],
) -> Arrays:
    """The job of a sweep: scores of all points that share weights and series."""
    u, y = problem.series(protocol.length, task_seed)
    esn = network.build(as_series(u).features, weights_seed, protocol.dtype, n_outputs=as_series(y).features)
    hyper = with_lanes(esn.hyper, lanes) if lanes else None
    found = path_errors(esn, u, y, protocol, hyper).best()
    return {name: np.ravel(values) for name, values in found._asdict().items()}


def _errors(readout: Readout, statistics: Statistics, score: str, apart: bool) -> Floats:
    """Errors (..., lanes), or (..., lanes, targets) if targets are judged separately."""
    squares = mean_squared_errors(readout, statistics)
    if score != "mse":
        squares = squares / target_variances(statistics)
    if not apart:
        squares = squares.mean(axis=-1)
    return np.asarray(np.sqrt(squares) if score == "nrmse" else squares)
