"""What `es.auto` returns: the fitted model, the errors of all methods on the same data, and the reasons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from echoscale._internal.plots import new_axes
from echoscale._internal.table import Table
from echoscale.forecasting.model import AutoModel
from echoscale.network import Network

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Found:
    """The result of `es.auto`: a fitted model, its expected error and the reasons for it; print it to read them.

    Attributes
    ----------
    model : AutoModel or SequenceModel
        The model, fitted to all data: `model.predict(X, state=model.state_)`.
    winner : str
        The chosen method, a row of the table.
    error : float
        Error of the chosen method on data that were not used to choose it: the NRMSE, or the share of wrong labels.
    table : Table
        Errors of all methods on the same data.
    reasons : tuple of str
        Why this method, in words.
    networks : tuple of Network
        The networks in the model, with their hyper-parameters; empty where a simple method won.
    rounds : int
        Number of rounds of the search. The same data, seed and rounds give the same model.
    seconds : float
        Time that the search took.

    Examples
    --------
    >>> import echoscale as es
    >>> u, _ = es.tasks.mackey_glass(600, seed=0)
    >>> found = es.auto(u[:-6], u[6:], rounds=1)
    >>> len(found.networks) > 0
    True
    >>> found.plot().get_xlabel()
    'NRMSE'
    """

    model: AutoModel | Any
    winner: str
    error: float
    table: Table
    reasons: tuple[str, ...]
    networks: tuple[Network, ...]
    rounds: int
    seconds: float

    def plot(self, axes: Axes | None = None) -> Axes:
        """The errors of all methods, the best at the top; the chosen one has another colour.

        Parameters
        ----------
        axes : matplotlib Axes or None
            Where to plot; None: a new figure.
        """
        methods = [(name, error) for name, error, *_ in reversed(self.table.rows) if error is not None]
        axes = new_axes(height=0.8 + 0.25 * len(methods)) if axes is None else axes
        colors = ["C1" if name == self.winner else "C0" for name, _ in methods]
        bars = axes.barh([name for name, _ in methods], [error for _, error in methods], color=colors, height=0.6)
        axes.bar_label(bars, fmt="%.3g", padding=3)  # the best bar may be too short to be seen
        axes.margins(x=0.15)
        axes.set_xlabel(self.table.columns[1].replace("_", " "))
        return axes

    def __repr__(self) -> str:
        return "\n".join([str(self.table), "", *(f"- {reason}" for reason in self.reasons)])
