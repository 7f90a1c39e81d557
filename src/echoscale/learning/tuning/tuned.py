"""The result of `tune`: the tuned network, its errors, and the history of the search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from echoscale._internal.plots import new_axes
from echoscale._internal.table import Table
from echoscale.learning.tuning.verdict import Verdict
from echoscale.network import Network
from echoscale.readouts.columns import Columns
from echoscale.readouts.pooling import Pools

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

    from echoscale.estimators import ESNClassifier, ESNRegressor, ESNStepClassifier

FRAGILE = 1.1  # largest factor by which noise or rounding may raise the error without a warning


@dataclass(frozen=True, eq=False, repr=False)
class Tuned:
    """The result of `tune`: the tuned network, its errors and how they fell; print it to read all of it.

    Attributes
    ----------
    network : Network
        The description with the learned hyper-parameters of the best start; unchanged if tuning did not help.
    ridge : float
        The ridge penalty for all data, learned or as given.
    error : float
        Error of `network` on the folds: the NRMSE, or the cross-entropy in nats. The search minimised it, so it is too good.
    start_error : float
        Error on the folds before tuning, with the ridge penalty that the folds choose.
    verdict : Verdict or None
        Errors on held-out test data: `tuned` and `start`; for the tuned network also `float32`, with states in float32, and
        `noisy`, with noise of 1e-4 of the states' standard deviation and the ridge penalty chosen again (None for classes).
        None without test data.
    helped : bool
        Whether the tuned network was clearly better than before tuning, on the folds and on the test data.
    sharpness : float or None
        Factor on the outputs of a classifier before softmax; None otherwise.
    at_bound : tuple of str
        Learned hyper-parameters of the best start that ended at a bound.
    at_floor : bool
        Whether the ridge penalty of the tuned network is the least allowed one (`floor`).
    history : xarray.Dataset
        Error and parameters of every round and start, with steps and seconds so far.
    seed : int
        Random seed of the weights.
    washout : int
        Number of steps at the start of every series that did not count; 0 with labels per sequence.
    columns : Columns
        What the readout saw beside the states.
    pools : Pools or None
        Pools of the states of a sequence; None with targets or labels of every step.
    scale : "standard" or None
        Whether inputs and targets were standardised.
    dtype : str
        Precision of the states.
    classes : array or None
        Labels in the order of the outputs; None for numbers.
    folds : int
        Number of folds; 0 if a single tail was held out.
    fixed : tuple of str
        Hyper-parameters that were not learned because the data are short.

    Examples
    --------
    >>> import echoscale as es
    >>> u, y = es.tasks.narma(400, seed=0)
    >>> tuned = es.tune(es.single(10), u, y, "leak_rate", starts=2, rounds=2)
    >>> tuned.network.reservoirs[0].units
    10
    >>> tuned.table["start"]
    ('NRMSE', 'at first', 'leak_rate[0]')
    >>> tuned.plot().get_xlabel()
    'simulated steps'
    """

    network: Network
    ridge: float
    error: float
    start_error: float
    verdict: Verdict | None
    helped: bool
    sharpness: float | None
    at_bound: tuple[str, ...]
    at_floor: bool
    history: xarray.Dataset
    seed: int
    washout: int
    columns: Columns
    pools: Pools | None
    scale: str | None
    dtype: str
    classes: npt.NDArray[Any] | None
    folds: int
    fixed: tuple[str, ...]

    @property
    def start_test_error(self) -> float | None:
        """Error on held-out test data before tuning; None without test data."""
        return None if self.verdict is None else self.verdict.start

    @property
    def test_error(self) -> float | None:
        """Error of `network` on held-out test data, after a fit to the rest; None without test data."""
        return self.verdict.tuned if self.verdict is not None and self.helped else self.start_test_error

    @property
    def steps(self) -> int:
        """Number of simulated steps; a tangent counts as a network."""
        return int(self.history["steps"][-1])

    def estimator(self) -> ESNRegressor | ESNClassifier | ESNStepClassifier:
        """An estimator with the tuned hyper-parameters, the same weights and the same washout, ready for `fit`."""
        from echoscale.estimators import ESNClassifier, ESNRegressor, ESNStepClassifier

        shared: dict[str, Any] = {
            "network": self.network,
            "ridge": self.ridge,
            "washout": self.washout,
            "scale": self.scale,
            "dtype": self.dtype,
            "random_state": self.seed,
        }
        if self.pools is not None:
            return ESNClassifier(**shared, pools=self.pools)
        kind = ESNRegressor if self.classes is None else ESNStepClassifier
        return kind(**shared, columns=self.columns)

    @property
    def table(self) -> Table:
        """Errors and hyper-parameters of all starts: one column for each start, the best first."""
        last, first = self.history.isel(round=-1), self.history.isel(round=0)
        order = np.argsort(last["error"].values)
        word = str(self.history["error"].attrs["long_name"])
        rows = [(word, *map(float, last["error"].values[order])), ("at first", *map(float, first["error"].values[order]))]
        for name in self.history["parameter"].values.tolist():
            label = f"{name} (at bound)" if name in self.at_bound else name
            rows.append((label, *map(float, last["value"].sel(parameter=name).values[order])))
        rounds, seconds = self.history.sizes["round"] - 1, float(last["seconds"])
        where = f"{self.folds} held-out folds" if self.folds else "validation data"
        return Table(
            ("start", *(str(start + 1) for start in order)),
            tuple(rows),
            title=f"Tuned in {rounds} rounds, {self.steps:.3g} simulated steps, {seconds:.1f} s; {word} on {where}.",
        )

    def plot(self, axes: Axes | None = None) -> Axes:
        """The error of every start against the simulated steps, with the error before tuning.

        Parameters
        ----------
        axes : matplotlib Axes or None
            Where to plot; None: a new figure.
        """
        axes = new_axes() if axes is None else axes
        errors = self.history["error"].transpose("round", "start").values
        best = int(np.argmin(errors[-1]))
        axes.plot(self.history["steps"], errors, ".-", color="0.7")
        axes.plot(self.history["steps"], errors[:, best], ".-", color="C1", label="best start")
        axes.axhline(self.start_error, color="black", linewidth=0.8, label="before tuning")
        axes.set(xlabel="simulated steps", ylabel=str(self.history["error"].attrs["long_name"]))
        axes.legend(frameon=False, fontsize="small")
        return axes

    @property
    def reasons(self) -> tuple[str, ...]:
        """What the errors on the folds and on the test part say, in words."""
        return tuple(self._reasons(str(self.history["error"].attrs["long_name"])))

    def _reasons(self, word: str) -> Iterator[str]:
        if self.fixed:
            yield f"Not learned, since the data are short: {', '.join(self.fixed)}."
        if self.at_bound:
            yield f"At a bound in the first column: {', '.join(self.at_bound)}. Wider bounds may be better."
        if self.at_floor:
            yield "The ridge penalty is at its floor. A smaller one (floor=) would hold in float64 alone."
        yield f"Before tuning: {self.start_error:.4g} with the ridge penalty that the folds choose."
        if self.verdict is not None:
            noisy = "" if self.verdict.noisy is None else f", {self.verdict.noisy:.4g} with noise on the states"
            tuned, start = self.verdict.tuned, self.verdict.start
            sure = "" if self.verdict.sure is None else f" ({self.verdict.sure:.1f} standard errors better)"
            yield f"{word} on held-out test data: {tuned:.4g} tuned, {start:.4g} before{sure}."
            yield f"Robustness of the tuned network: {self.verdict.float32:.4g} with states in float32{noisy}."
            survives = max(self.verdict.float32, self.verdict.noisy or 0.0)
            if survives > FRAGILE * self.verdict.tuned:
                yield "Fragile: quote the larger of these errors, or tune with a larger floor= or with noise=."
        if self.helped:
            yield "The first column is the tuned network." + ("" if self.verdict else " Judge it on held-out test data.")
        else:
            yield "Tuning did not help: the network is returned unchanged, with its own ridge penalty."

    def __repr__(self) -> str:
        return "\n".join([str(self.table), "", *(f"- {reason}" for reason in self.reasons)])
