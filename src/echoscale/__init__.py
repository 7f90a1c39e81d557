"""echoscale: echo state networks with several timescales.

Names are loaded when they are first used, so that `import echoscale` is quick and JAX is not touched before it is needed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Public name -> the module that it is loaded from.
_HOMES = {
    "Concentric": "network",
    "Coupling": "network",
    "EchoStateWarning": "network",
    "LogNormal": "network",
    "LogUniform": "network",
    "Matrix": "network",
    "Network": "network",
    "Reservoir": "network",
    "hierarchical": "network",
    "parallel": "network",
    "single": "network",
    "Hyper": "hyper",
    "ESN": "esn",
    "Matrices": "weights.block_matrices",
    "Readout": "readouts.ridge",
    "RLS": "readouts.rls",
    "Statistics": "readouts.statistics",
    "ridge": "readouts.ridge",
    "ridge_path": "readouts.ridge",
    "statistics": "readouts.statistics",
    "teacher_forced": "series",
    "nmse": "metrics",
    "nrmse": "metrics",
    "valid_time": "metrics",
    "Table": "table",
    "OnlineLearner": "online",
    "Tuned": "tuning",
    "tune": "tuning",
    "AutoModel": "automatic",
    "Found": "automatic",
    "RangeWarning": "automatic",
    "SequenceModel": "automatic",
    "auto": "automatic",
    "Backtest": "forecasting",
    "Forecast": "forecasting",
    "Forecaster": "forecasting",
    "NVAR": "estimators",
    "DelayExpansion": "estimators",
    "ESNClassifier": "estimators",
    "ESNFeatures": "estimators",
    "ESNRegressor": "estimators",
    "StateWarning": "estimators",
    "export": "exporting",
    "sweep": "sweeps",
    "load": "storage",
    "save": "storage",
    "write_report": "report",
}
_MODULES = (
    "automatic",
    "estimators",
    "experiments",
    "features",
    "forecasting",
    "gradients",
    "measures",
    "network",
    "online",
    "paper",
    "readouts",
    "sweeps",
    "tasks",
    "timescales",
    "tuning",
)
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
    from echoscale import automatic as automatic
    from echoscale import estimators as estimators
    from echoscale import experiments as experiments
    from echoscale import features as features
    from echoscale import forecasting as forecasting
    from echoscale import gradients as gradients
    from echoscale import measures as measures
    from echoscale import network as network
    from echoscale import online as online
    from echoscale import paper as paper
    from echoscale import readouts as readouts
    from echoscale import sweeps as sweeps
    from echoscale import tasks as tasks
    from echoscale import timescales as timescales
    from echoscale import tuning as tuning
    from echoscale.automatic import AutoModel as AutoModel
    from echoscale.automatic import Found as Found
    from echoscale.automatic import RangeWarning as RangeWarning
    from echoscale.automatic import SequenceModel as SequenceModel
    from echoscale.automatic import auto as auto
    from echoscale.esn import ESN as ESN
    from echoscale.estimators import NVAR as NVAR
    from echoscale.estimators import DelayExpansion as DelayExpansion
    from echoscale.estimators import ESNClassifier as ESNClassifier
    from echoscale.estimators import ESNFeatures as ESNFeatures
    from echoscale.estimators import ESNRegressor as ESNRegressor
    from echoscale.estimators import StateWarning as StateWarning
    from echoscale.exporting import export as export
    from echoscale.forecasting import Backtest as Backtest
    from echoscale.forecasting import Forecast as Forecast
    from echoscale.forecasting import Forecaster as Forecaster
    from echoscale.hyper import Hyper as Hyper
    from echoscale.metrics import nmse as nmse
    from echoscale.metrics import nrmse as nrmse
    from echoscale.metrics import valid_time as valid_time
    from echoscale.network import Concentric as Concentric
    from echoscale.network import Coupling as Coupling
    from echoscale.network import EchoStateWarning as EchoStateWarning
    from echoscale.network import LogNormal as LogNormal
    from echoscale.network import LogUniform as LogUniform
    from echoscale.network import Matrix as Matrix
    from echoscale.network import Network as Network
    from echoscale.network import Reservoir as Reservoir
    from echoscale.network import hierarchical as hierarchical
    from echoscale.network import parallel as parallel
    from echoscale.network import single as single
    from echoscale.online import OnlineLearner as OnlineLearner
    from echoscale.readouts.ridge import Readout as Readout
    from echoscale.readouts.ridge import ridge as ridge
    from echoscale.readouts.ridge import ridge_path as ridge_path
    from echoscale.readouts.rls import RLS as RLS
    from echoscale.readouts.statistics import Statistics as Statistics
    from echoscale.readouts.statistics import statistics as statistics
    from echoscale.report import write_report as write_report
    from echoscale.series import teacher_forced as teacher_forced
    from echoscale.storage import load as load
    from echoscale.storage import save as save
    from echoscale.sweeps import sweep as sweep
    from echoscale.table import Table as Table
    from echoscale.tuning import Tuned as Tuned
    from echoscale.tuning import tune as tune
    from echoscale.weights.block_matrices import Matrices as Matrices
