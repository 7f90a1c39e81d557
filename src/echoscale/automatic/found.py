"""What `es.auto` returns: the fitted model, the rivals beside it, and the reasons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from echoscale.automatic.model import AutoModel
from echoscale.network import Network
from echoscale.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class Found:
    """The result of `es.auto`; printed, it says what won and why.

    Attributes
    ----------
    model : AutoModel
        Fitted to all data: `model.predict(X, state=model.state_)`.
    winner : str
        The method that was taken, a row of the table.
    error : float
        Of the winner, on data that took no part in any choice made for it: the NRMSE, or the share of wrong labels.
    table : Table
        All rivals on the same data.
    reasons : tuple of str
        What was found, in words.
    networks : tuple of Network
        Those that the model reads, with their hyper-parameters; none where a simple method won.
    rounds : int
        That were played. The same data, seed and rounds give the same model.
    seconds : float
        How long it took.
    """

    model: AutoModel | Any
    winner: str
    error: float
    table: Table
    reasons: tuple[str, ...]
    networks: tuple[Network, ...]
    rounds: int
    seconds: float

    def __repr__(self) -> str:
        return "\n".join([str(self.table), "", *(f"- {reason}" for reason in self.reasons)])
