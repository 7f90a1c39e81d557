"""Readouts: ridge regression from sufficient statistics, recursive least squares, and classifiers trained by minibatches.

`statistics` sums up states and targets; `ridge` and `ridge_path` solve for readouts. `Columns` and `Pools` set the features
that the readout of an estimator sees; `Softmax` and `Sigmoid` are readouts of a classifier. `logistic` trains readouts of
classes, and `features` computes snapshots of many sequences. A new readout is a file here and one line below.
"""

from echoscale.readouts import features as features
from echoscale.readouts import logistic as logistic
from echoscale.readouts.classes import Sigmoid as Sigmoid
from echoscale.readouts.classes import Softmax as Softmax
from echoscale.readouts.columns import Columns as Columns
from echoscale.readouts.pooling import Pools as Pools
from echoscale.readouts.ridge import Readout as Readout
from echoscale.readouts.ridge import normalised_errors as normalised_errors
from echoscale.readouts.ridge import ridge as ridge
from echoscale.readouts.ridge import ridge_path as ridge_path
from echoscale.readouts.statistics import Statistics as Statistics
from echoscale.readouts.statistics import statistics as statistics

# All names imported above.
__all__ = sorted(name for name, value in dict(globals()).items() if callable(value) or name in ("features", "logistic"))
