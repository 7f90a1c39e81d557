"""echoscale: echo state networks with several timescales.

Names are loaded when they are first used, so that `import echoscale` is quick and JAX is not touched before it is needed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "Concentric": "network",
    "Coupling": "network",
    "EchoStateWarning": "network",
    "Network": "network",
    "Reservoir": "network",
    "hierarchical": "network",
    "parallel": "network",
    "single": "network",
    "Matrix": "matrix",
    "ESN": "esn",
    "Hyper": "hyper",
    "nmse": "metrics",
    "nrmse": "metrics",
    "Readout": "readout",
    "ridge": "readout",
    "ridge_path": "readout",
    "Table": "table",
    "Statistics": "gram",
    "statistics": "gram",
    "DelayExpansion": "estimators",
    "ESNClassifier": "estimators",
    "ESNRegressor": "estimators",
    "RLS": "rls",
    "OnlineLearner": "online",
    "Tuned": "tuning",
    "tune": "tuning",
    "sweep": "sweeps",
    "load": "storage",
    "save": "storage",
}
_MODULES = ("features", "figures", "hmm", "logistic", "online", "sweeps", "tasks", "timescales", "tuning")
__all__ = sorted((*_HOMES, *_MODULES, "__version__"))


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"echoscale.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'echoscale' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"echoscale.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)


if TYPE_CHECKING:
    from echoscale import features as features
    from echoscale import figures as figures
    from echoscale import hmm as hmm
    from echoscale import logistic as logistic
    from echoscale import online as online
    from echoscale import sweeps as sweeps
    from echoscale import tasks as tasks
    from echoscale import timescales as timescales
    from echoscale import tuning as tuning
    from echoscale.esn import ESN as ESN
    from echoscale.estimators import DelayExpansion as DelayExpansion
    from echoscale.estimators import ESNClassifier as ESNClassifier
    from echoscale.estimators import ESNRegressor as ESNRegressor
    from echoscale.gram import Statistics as Statistics
    from echoscale.gram import statistics as statistics
    from echoscale.hyper import Hyper as Hyper
    from echoscale.matrix import Matrix as Matrix
    from echoscale.metrics import nmse as nmse
    from echoscale.metrics import nrmse as nrmse
    from echoscale.network import Concentric as Concentric
    from echoscale.network import Coupling as Coupling
    from echoscale.network import EchoStateWarning as EchoStateWarning
    from echoscale.network import Network as Network
    from echoscale.network import Reservoir as Reservoir
    from echoscale.network import hierarchical as hierarchical
    from echoscale.network import parallel as parallel
    from echoscale.network import single as single
    from echoscale.online import OnlineLearner as OnlineLearner
    from echoscale.readout import Readout as Readout
    from echoscale.readout import ridge as ridge
    from echoscale.readout import ridge_path as ridge_path
    from echoscale.rls import RLS as RLS
    from echoscale.storage import load as load
    from echoscale.storage import save as save
    from echoscale.sweeps import sweep as sweep
    from echoscale.table import Table as Table
    from echoscale.tuning import Tuned as Tuned
    from echoscale.tuning import tune as tune
