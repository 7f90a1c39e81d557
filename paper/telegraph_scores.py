"""Networks on the telegraph task: readouts learned online or by ridge, frozen, and scored on held-out series.

    targets  one-hot classes of the joint task (4), state (1), regime (1)

With a squared error, Adam moves every weight by itself and ridge solves every column by itself. One readout with six outputs
therefore learns the three tasks as three readouts would. A frozen readout decides by its largest output, or by an output above
1/2. An accuracy measured while the weights still learn would be too good: the updates carry the labels into the next steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from echoscale import ESN, Hyper, Network
from echoscale.learning import OnlineLearner
from echoscale.readouts import Readout, ridge, statistics
from echoscale.sweeps import Check
from echoscale.tasks import Telegraph, telegraph_filter
from paper.types import Floats

TASKS = ("joint", "state", "regime")
OUTPUTS = 6


def targets(truth: Telegraph) -> npt.NDArray[np.float32]:
    """The targets of all three tasks side by side, (..., T, 6)."""
    hot = np.eye(4, dtype=np.float32)[truth.joint]
    return np.concatenate([hot, truth.state[..., None], truth.regime[..., None]], axis=-1, dtype=np.float32)


def online(
    network: Network, hyper: Hyper, truth: Telegraph, tail: float, seed: int, check: Check, dtype: str = "float32"
) -> Readout:
    """Readouts of all lanes of `hyper`, learned by the paper's Adam along B series at once, averaged over the last share."""
    steps = truth.u.shape[-2]
    average = round(steps * (1 - tail))
    rules: dict[str, Any] = {"parameters": (), "rates": "telegraph", "starts": hyper, "washout": 200, "average": average}
    learner = OnlineLearner(network, OUTPUTS, seed=seed, dtype=dtype, **rules)
    learner.partial_fit(truth.u.astype(np.float32), targets(truth), progress=lambda *_: check())
    return learner.readout


def by_ridge(esn: ESN, hyper: Hyper, truth: Telegraph, penalty: float, washout: int) -> Readout:
    """Readouts of all lanes of `hyper` from one-hot targets of one series."""
    return ridge(statistics(esn, truth.u, targets(truth), washout=washout, hyper=hyper), penalty)


def accuracies(esn: ESN, hyper: Hyper, readouts: Sequence[Readout], truth: Telegraph, washout: int) -> Floats:
    """How often frozen readouts of all lanes (H) are right on B series (B, T), (readouts, H, 3) in the order of `TASKS`."""
    series, length = truth.joint.shape
    # All readouts side by side: the network runs only once.
    coef = np.concatenate([each.coef for each in readouts], axis=1).swapaxes(1, 2).astype(np.float32)
    shift = np.concatenate([each.intercept for each in readouts], axis=1)[:, None].astype(np.float32)
    right = np.zeros((len(readouts), len(coef) * series, len(TASKS)))
    labels = {name: getattr(truth, name) for name in TASKS}

    def product(states: Any, weights: Any) -> Any:
        if isinstance(states, np.ndarray):
            return states @ weights
        return jnp.matmul(states, weights, precision="highest")  # by default a GPU rounds to ten bits

    def count(lanes: npt.NDArray[np.int64], start: int, states: Any) -> None:
        which, b = np.divmod(lanes, series)
        outputs = np.asarray(product(states.swapaxes(0, 1), coef[which])) + shift[which]
        end = start + outputs.shape[1]
        live = np.arange(start, end) >= washout
        for place, own in zip(right, np.split(outputs, len(readouts), axis=-1), strict=True):
            decided = (own[..., :4].argmax(axis=-1), own[..., 4] > 0.5, own[..., 5] > 0.5)
            for k, (name, found) in enumerate(zip(TASKS, decided, strict=True)):
                place[lanes, k] += ((found == labels[name][b, start:end]) & live).sum(axis=1)

    esn.run_chunks(truth.u, count, hyper=hyper)
    shares: Floats = right.reshape(len(readouts), -1, series, len(TASKS)).sum(axis=2) / (series * (length - washout))
    return shares


def ceiling(truth: Telegraph, noise: float, odds: Mapping[str, float], washout: int) -> Floats:
    """The accuracies of the best causal observer on the same steps, (3,)."""
    found = telegraph_filter(truth.u, noise=noise, **odds).accuracies(truth, washout)
    return np.array([found[name] for name in TASKS])
