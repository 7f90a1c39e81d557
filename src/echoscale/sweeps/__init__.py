"""Sweeps: a network, a problem, axes and a score; batched on lanes, kept in a ledger, spread by an executor.

Names are loaded when they are first used: the ledger alone needs nothing heavy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOMES = {
    "Cluster": "experiments.cluster",
    "Data": "experiments.problem",
    "InProcess": "experiments.executors",
    "Ledger": "experiments.ledger",
    "LedgerError": "experiments.ledger",
    "Protocol": "experiments.evaluation",
    "Record": "experiments.ledger",
    "SweepWarning": "sweeps.grid",
    "Task": "experiments.problem",
    "export": "sweeps.archive",
    "recall": "sweeps.archive",
    "sweep": "sweeps.grid",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'echoscale.sweeps' has no attribute {name!r}")
    return getattr(importlib.import_module(f"echoscale.{_HOMES[name]}"), name)


if TYPE_CHECKING:
    from echoscale.experiments.cluster import Cluster as Cluster
    from echoscale.experiments.evaluation import Protocol as Protocol
    from echoscale.experiments.executors import InProcess as InProcess
    from echoscale.experiments.ledger import Ledger as Ledger
    from echoscale.experiments.ledger import LedgerError as LedgerError
    from echoscale.experiments.ledger import Record as Record
    from echoscale.experiments.problem import Data as Data
    from echoscale.experiments.problem import Task as Task
    from echoscale.sweeps.archive import export as export
    from echoscale.sweeps.archive import recall as recall
    from echoscale.sweeps.grid import SweepWarning as SweepWarning
    from echoscale.sweeps.grid import sweep as sweep
