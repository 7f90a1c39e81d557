# The public names, and the modules that they are loaded from at run time.
from . import engine as engine
from . import forecasting as forecasting
from . import learning as learning
from . import measures as measures
from . import readouts as readouts
from . import sweeps as sweeps
from . import tasks as tasks
from . import timescales as timescales
from ._internal.table import Table as Table
from .app.report import write_report as write_report
from .data.metrics import nmse as nmse
from .data.metrics import nrmse as nrmse
from .data.metrics import valid_time as valid_time
from .engine.esn import ESN as ESN
from .engine.hyper import Hyper as Hyper
from .estimators import NVAR as NVAR
from .estimators import ESNClassifier as ESNClassifier
from .estimators import ESNFeatures as ESNFeatures
from .estimators import ESNRegressor as ESNRegressor
from .estimators import ESNStepClassifier as ESNStepClassifier
from .estimators import StateWarning as StateWarning
from .forecasting import Forecaster as Forecaster
from .forecasting import RangeWarning as RangeWarning
from .forecasting import auto as auto
from .learning import OnlineLearner as OnlineLearner
from .learning import tune as tune
from .network import Concentric as Concentric
from .network import Coupling as Coupling
from .network import EchoStateWarning as EchoStateWarning
from .network import LogNormal as LogNormal
from .network import LogUniform as LogUniform
from .network import Network as Network
from .network import Reservoir as Reservoir
from .network import hierarchical as hierarchical
from .network import parallel as parallel
from .network import single as single
from .storage.export import export as export
from .storage.save_load import load as load
from .storage.save_load import save as save
from .sweeps import sweep as sweep
from .timescales import suggest as suggest

__version__: str
__all__: list[str]
