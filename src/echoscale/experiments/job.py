"""One job: all lanes that share weights and series, from states to scores. The same function runs everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from echoscale.experiments.problem import Data, Protocol, Task
from echoscale.fingerprint import fingerprint
from echoscale.hyper import with_lanes
from echoscale.network import Network
from echoscale.readouts.ridge import Readout, mean_squared_errors, normalised_errors, ridge_path
from echoscale.readouts.statistics import Statistics, split_statistics
from echoscale.series import as_series, as_targets

# Raised when a change of the code changes results, so that those of older code are not taken for those of this one.
NUMERICS = 1

Results = dict[str, list[float]]


class Job(NamedTuple):
    """Everything that determines the results of some points.

    lanes  the values of the leaves that vary, one list for each axis; empty for one point
    """

    network: Network
    problem: Task | Data
    protocol: Protocol
    weights_seed: int
    task_seed: int
    lanes: Mapping[str, list[float]]

    @property
    def points(self) -> int:
        """How many points of the sweep this job computes."""
        return len(next(iter(self.lanes.values()))) if self.lanes else 1

    def describe(self) -> dict[str, Any]:
        """The same description, the same results."""
        return {
            "network": self.network,
            "problem": self.problem.describe(),
            "protocol": self.protocol,
            "weights_seed": self.weights_seed,
            "task_seed": self.task_seed,
            "lanes": self.lanes,
            "numerics": NUMERICS,
        }

    def key(self) -> str:
        """A fingerprint of the description."""
        return fingerprint(self.describe())


def run(job: Job) -> Results:
    """The scores of every point: "test", "validation", "train" at the chosen "ridge"."""
    protocol = job.protocol
    u, y = job.problem.series(protocol.length, job.task_seed)
    for name, each in (("inputs", u), ("targets", y)):
        if len(each) < protocol.length:
            raise ValueError(f"the task gave {len(each)} steps of {name}, the protocol needs {protocol.length}.")
    # Lag 0: the state that has seen u[t] predicts y[t + 1].
    u, y = np.asarray(u)[: protocol.edges[-1]], np.asarray(y)[1 - protocol.lag :][: protocol.edges[-1]]
    series = as_series(u)
    esn = job.network.build(series.features, seed=job.weights_seed, dtype=protocol.dtype)
    parts, _ = split_statistics(
        esn,
        series,
        as_targets(y, series),
        [protocol.edges],
        direct=protocol.direct,
        hyper=with_lanes(esn.hyper, job.lanes) if job.lanes else None,
    )
    path = ridge_path(parts[0], protocol.penalties)
    names = ("train", "validation", "test")
    scores = {name: _score(protocol.score, path, part) for name, part in zip(names, parts, strict=True)}
    best = np.argmin(scores["validation"], axis=0)[None]
    results = {name: np.take_along_axis(values, best, axis=0)[0] for name, values in scores.items()}
    results["ridge"] = np.asarray(protocol.penalties)[best[0]]
    return {name: np.ravel(values).tolist() for name, values in results.items()}


def _score(name: str, path: Readout, part: Statistics) -> Any:
    """Per penalty and lane."""
    if name == "mse":
        return mean_squared_errors(path, part).mean(axis=-1)
    errors = normalised_errors(path, part)
    return errors if name == "nrmse" else errors**2
