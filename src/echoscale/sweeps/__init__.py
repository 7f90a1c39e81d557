"""Sweeps: a network, a problem, axes and a score; batched on lanes, kept in a ledger, spread by an executor.

Names are loaded when they are first used: the ledger alone needs nothing heavy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOMES = {
    "Cluster": "cluster",
    "Data": "problem",
    "InProcess": "executors",
    "Ledger": "ledger",
    "LedgerError": "ledger",
    "Protocol": "problem",
    "Record": "ledger",
    "SweepWarning": "driver",
    "Task": "problem",
    "recall": "archive",
    "sweep": "driver",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'echoscale.sweeps' has no attribute {name!r}")
    return getattr(importlib.import_module(f"echoscale.sweeps.{_HOMES[name]}"), name)


if TYPE_CHECKING:
    from echoscale.sweeps.archive import recall as recall
    from echoscale.sweeps.cluster import Cluster as Cluster
    from echoscale.sweeps.driver import SweepWarning as SweepWarning
    from echoscale.sweeps.driver import sweep as sweep
    from echoscale.sweeps.executors import InProcess as InProcess
    from echoscale.sweeps.ledger import Ledger as Ledger
    from echoscale.sweeps.ledger import LedgerError as LedgerError
    from echoscale.sweeps.ledger import Record as Record
    from echoscale.sweeps.problem import Data as Data
    from echoscale.sweeps.problem import Protocol as Protocol
    from echoscale.sweeps.problem import Task as Task
