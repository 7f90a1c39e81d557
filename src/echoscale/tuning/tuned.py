"""What `tune` returns: the tuned network, how it was found, and a report that prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from echoscale.network import Network
from echoscale.table import Table

if TYPE_CHECKING:
    import xarray

    from echoscale.estimators import ESNClassifier, ESNRegressor


@dataclass(frozen=True, eq=False, repr=False)
class Tuned:
    """The result of `tune`; printed, it is its report.

    Attributes
    ----------
    network : Network
        The description with the learned hyper-parameters of the best start.
    ridge : float
        The ridge penalty, learned or as given.
    error : float
        On validation data: the NRMSE, or the cross-entropy in nats.
    sharpness : float or None
        What outputs of a classifier are multiplied by before softmax; None otherwise.
    history : xarray.Dataset
        Per round and start: error and parameters; steps and seconds so far.
    steps : int
        Simulated in all, tangents counted as steps of a network.
    seed : int
        Draws the weights.
    washout : int
        Steps at the start of every series that did not count; 0 with labels per sequence.
    direct : bool
        Whether the readout saw the inputs too.
    dtype : str
        The precision of states.
    loss : str
        "mse" or "cross_entropy".
    classes : array or None
        The labels, in the order of the outputs; None for numbers.
    per_sequence : bool
        Whether there was one label per sequence.
    """

    network: Network
    ridge: float
    error: float
    sharpness: float | None
    history: xarray.Dataset
    steps: int
    seed: int
    washout: int
    direct: bool
    dtype: str
    loss: str
    classes: npt.NDArray[Any] | None
    per_sequence: bool

    def estimator(self) -> ESNRegressor | ESNClassifier:
        """An estimator with the tuned hyper-parameters, the same weights and the same washout, ready for `fit`."""
        from echoscale.estimators import ESNClassifier, ESNRegressor

        shared: dict[str, Any] = {
            "network": self.network,
            "ridge": self.ridge,
            "washout": self.washout,
            "direct": self.direct,
            "dtype": self.dtype,
            "random_state": self.seed,
        }
        return ESNRegressor(**shared) if self.classes is None else ESNClassifier(**shared)

    def report(self) -> Table:
        """Errors and hyper-parameters of all starts, a column each, the best first."""
        last, first = self.history.isel(round=-1), self.history.isel(round=0)
        order = np.argsort(last["error"].values)
        word = str(self.history["error"].attrs["long_name"])
        rows = [(word, *map(float, last["error"].values[order])), ("at first", *map(float, first["error"].values[order]))]
        for name in self.history["parameter"].values:
            rows.append((str(name), *map(float, last["value"].sel(parameter=name).values[order])))
        rounds, seconds = self.history.sizes["round"] - 1, float(last["seconds"])
        return Table(
            ("start", *(str(start + 1) for start in order)),
            tuple(rows),
            title=f"Tuned in {rounds} rounds, {self.steps:.3g} simulated steps, {seconds:.1f} s; {word} on validation data.",
            notes=("The first column is the tuned network. Judge it on held-out test data.",),
        )

    def __repr__(self) -> str:
        return str(self.report())
